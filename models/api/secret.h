/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"

/* Secret. What is in it no model reads, only whether anything is. */
typedef struct {
    Object meta;
    uint32_t n_keys; /* of data and stringData */
} Secret;

#define SECRET(object) ((Secret *)(object))

extern const KindClass secret_kind;
