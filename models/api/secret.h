/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"

/* Secret. Models do not read the data, only whether there is any. */
typedef struct {
    Object meta;
    uint32_t n_keys; /* of data and stringData */
} Secret;

#define SECRET(object) ((Secret *)(object))
