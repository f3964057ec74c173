/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "yaml.h"

/* How readers fill the table of positions. */

typedef struct {
    uint32_t line, column;
} YamlMark;

typedef struct {
    uint32_t file;       /* from yaml_positions_add_file() */
    YamlMark value, key; /* key: of a member; line 0: none */
    gboolean is_alias;   /* the value has its place already */
} YamlMarks;

uint32_t yaml_positions_add_file(YamlPositions *self, const char *file);
/* @key: of a member; NULL: an item, at @index */
void yaml_positions_set(YamlPositions *self,
                        const json_t *parent,
                        const char *key,
                        gsize index,
                        const json_t *value,
                        const YamlMarks *marks);
