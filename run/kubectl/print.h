/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "value.h"

/* JSON and YAML as kubectl prints them, members in order of their names. */

/* As Go's json.MarshalIndent() with @indent blanks a level; 0: in one line, as json.Marshal().
 * Escapes <, > and &. */
void print_json(GString *out, json_t *value, unsigned indent);
/* As sigs.k8s.io/yaml: the layout of libyaml, with quotes around words that YAML would not read as
 * strings. */
void print_yaml(GString *out, json_t *value);
/* Makes control characters visible: ESC as ^[, CR as \r. @length: bytes; -1: all */
void print_escaped(GString *out, const char *text, gssize length);
