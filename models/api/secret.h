/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"

/* Secret. What is in it no model reads: it is there, or it is not. */
typedef struct {
    Object meta;
} Secret;

extern const KindClass secret_kind;
