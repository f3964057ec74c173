/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "tests/lib/test.h"

/* A run's objects and a parser that collects faults. Manifests in tests are written with ' for " */
typedef struct {
    Objects *objects;
    ApiParser parser;
    GString *faults; /* a line each: "path: message [hint]" */
} ApiTest;

ApiTest *api_test_new(void);
void api_test_free(ApiTest *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ApiTest, api_test_free)

/* Returns: (owned): JSON; a bad one fails the test */
json_t *api_test_json(const char *text);
json_t *api_test_load(const char *file); /* of tests/api/data */
/* Returns: (owned): the object or NULL, as the parser returns it; faults are added to @faults */
Object *api_test_read(ApiTest *self, const char *text);
Object *api_test_read_json(ApiTest *self, const json_t *manifest);
/* Reads a value with a field's type. */
void api_test_read_field(ApiTest *self, const FieldType *type, const char *text, void *field);
/* Returns: (owned): labels "a=b,c=d" */
StringMap *api_test_labels(ApiTest *self, const char *text);
