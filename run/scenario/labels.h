/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/strings.h"

/* @text: requirements as of kubectl get -l, without sets: "app=web,tier!=front,canary,!old".
 * Returns: whether @labels (nullable) meets all of them */
gboolean labels_match(const char *text, const StringMap *labels);
/* Returns: (static): what is wrong with the text; NULL: nothing */
const char *labels_text_fault(const char *text);
