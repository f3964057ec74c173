/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Reads YAML (and so JSON) into jansson's values, as Kubernetes' own tools do. A side table has the
 * position of each value. Keys are strings; scalars resolve as in YAML 1.1: "yes" is true and "010"
 * is 8. */

typedef struct {
    const char *file;      /* as long as the table lives */
    unsigned line, column; /* from 1; 0: of the file as a whole */
} YamlPosition;

/* Positions of values, by address. jansson has only one true, false and null, so these are found by
 * parent and key. */
typedef struct YamlPositions YamlPositions;

YamlPositions *yaml_positions_new(void);
void yaml_positions_free(YamlPositions *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(YamlPositions, yaml_positions_free)

/* Each returns FALSE, and does not set @found, if the position is not known. */
gboolean yaml_positions_find(YamlPositions *self, const json_t *value, YamlPosition *found);
gboolean yaml_positions_member(YamlPositions *self,
                               const json_t *object,
                               const char *key,
                               YamlPosition *found);
gboolean
yaml_positions_item(YamlPositions *self, const json_t *array, gsize index, YamlPosition *found);
/* The position of the key, not of the value. */
gboolean
yaml_positions_key(YamlPositions *self, const json_t *object, const char *key, YamlPosition *found);
/* Follows a path such as "spec.accessModes[0]" as far as it exists. */
gboolean
yaml_positions_path(YamlPositions *self, const json_t *root, const char *path, YamlPosition *found);

/* Gives @copy, a shallow copy of @value, the position of @value. */
void yaml_positions_copy(YamlPositions *self, const json_t *value, const json_t *copy);

/* Sets the position of @value at @key or @index of @parent, if it is true, false or null. */
void yaml_positions_place(YamlPositions *self,
                          const json_t *parent,
                          const char *key,
                          gsize index,
                          const json_t *value,
                          const YamlPosition *at);

/**
 * yaml_read:
 * @file: what to call it
 * @faults: (nullable): of FileFault
 * @documents: gets a json_t (owned) for each document that is sound in itself; empty documents are
 * left out All faults are reported: text that is no YAML (the rest is not read then), duplicate
 * keys, numbers that JSON has not, unknown aliases and tags, and documents that only aliases make
 * big. Returns: whether there was none
 */
gboolean yaml_read(YamlPositions *positions,
                   const char *file,
                   const char *text,
                   gsize length,
                   GPtrArray *faults,
                   GPtrArray *documents);
/* The same for words of a command line: the position is @file as a whole. */
gboolean yaml_read_words(YamlPositions *positions,
                         const char *file,
                         const char *text,
                         gsize length,
                         GPtrArray *faults,
                         GPtrArray *documents);

/**
 * yaml_read_json:
 * @documents: gets the json_t (owned) that the whole text is
 * Reads JSON with jansson, five times as fast as yaml_read(), but keeps no positions.
 * Returns: %FALSE if @text is no JSON object or list, or has a fault: yaml_read() reports it
 */
gboolean yaml_read_json(const char *text, gsize length, GPtrArray *documents);
