/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "value.h"

/* JSON and YAML as kubectl prints them. Members stand in order of their names. */

/* As Go's json.Marshal(): compact; @indent blanks a level: as json.MarshalIndent(), 0: in one line.
 * <, > and & are escaped. */
void print_json(GString *out, json_t *value, unsigned indent);
/* As sigs.k8s.io/yaml writes a document: libyaml's layout, and quotes where a word would not be
 * read back as the same string. */
void print_yaml(GString *out, json_t *value);
/* What could take over a terminal is shown instead: ESC as ^[, CR as \r. */
void print_escaped(GString *out, const char *text, gssize length);
