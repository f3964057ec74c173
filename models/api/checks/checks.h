/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/field.h"

/* What an API server asks of an object beside its types: validation.go of each group. A constraint
 * of one field is a word in kubernetes.types; a rule over several fields is a row in pods.c,
 * workloads.c and their neighbours, named after Kubernetes' function. Words, paths and reasons are
 * those of Kubernetes 1.32.
 *
 * Objects need not have their defaults: a field that has a default may be absent. */

typedef struct {
    const json_t *old;       /* the stored object that it replaces; NULL: it is new */
    const char *subresource; /* "status", "resize", "ephemeralcontainers"; NULL: none */
} ApiCheckOptions;

/**
 * api_check_object:
 * @parser: reports; its path is empty; @minor is the release that judges (0: 1.32)
 * @object: with apiVersion and kind; other kinds than those of kubernetes.types have only metadata
 * @options: (nullable): %NULL: a new object
 * Reports all faults of @object. Parsing it with @parser afterwards is silent about fields that
 * were told here. Returns: the number of faults
 */
unsigned api_check_object(ApiParser *parser, const json_t *object, const ApiCheckOptions *options);

/* Reports what the API server's decoder says of a value of another type than its field's. Returns:
 * whether all fit */
gboolean api_check_types(ApiParser *parser, const json_t *object);

struct SchemaType;
/* Reports members of @value (of @type, nullable) that the type does not have, and values in place
 * of structs. Call it before the value is read. */
void unknown_fields_report(ApiParser *parser, const struct SchemaType *type, const json_t *value);
