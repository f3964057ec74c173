/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/* kubernetes.numbers as a table. */

typedef struct {
    unsigned number;    /* 0: the end */
    const char *field;  /* NULL: a message whose fields are the type's own: */
    const char *inside; /* ... its name, "core.VolumeSource" */
} FieldNumber;

typedef struct {
    const char *type; /* "core.Volume"; NULL: the end */
    const FieldNumber *fields;
} TypeNumbers;

/* Sorted by type. */
extern const TypeNumbers type_numbers[];
