/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "file-fault.h"

/* Private to the reader of YAML: the table of positions while it is filled, and the builder of
 * values. */

typedef struct {
    uint32_t line, column;
} YamlMark;

typedef struct {
    uint32_t file;       /* from yaml_positions_add_file() */
    YamlMark value, key; /* key: of a member; line 0: none */
    gboolean is_alias;   /* the value has its position already */
    gboolean is_sought;  /* its position is needed even without a fault */
} YamlMarks;

uint32_t yaml_positions_add_file(YamlPositions *self, const char *file);
const char *yaml_positions_file(const YamlPositions *self, uint32_t file);
/* @key: of a member; NULL: an item, at @index */
void yaml_positions_set(YamlPositions *self,
                        const json_t *parent,
                        const char *key,
                        gsize index,
                        const json_t *value,
                        const YamlMarks *marks);

#define YAML_DEPTH_MAX 100

/* A list or mapping that is being read. */
typedef struct {
    json_t *container; /* owned */
    gboolean is_mapping, has_key;
    GString *key;       /* kept for the next mapping of this depth */
    uint64_t keys_seen; /* a bit for each key, shared by several: a key with a clear bit is new */
    YamlMark key_mark, mark;
    char *anchor;
    GPtrArray *merged; /* of json_t (borrowed): values of "<<"; NULL: none */
    uint64_t n_values; /* values in it, with aliases written out */
    unsigned height;
} YamlFrame;

/* Makes values from the parser's events, and records their positions. */
typedef struct {
    YamlPositions *positions;
    uint32_t file;
    GPtrArray *faults;    /* of FileFault; NULL: nobody reads them */
    GPtrArray *documents; /* of json_t (owned): finished documents */
    YamlFrame frames[YAML_DEPTH_MAX];
    unsigned n_frames;
    GHashTable *anchors;
    uint64_t n_aliased;
    gboolean failed;         /* there was a fault */
    gboolean is_words;       /* of a command line: without lines and columns */
    gboolean document_fails; /* an alias has a fault: the document is dropped */
} YamlBuilder;

void yaml_builder_init(YamlBuilder *self,
                       YamlPositions *positions,
                       const char *file,
                       GPtrArray *faults,
                       GPtrArray *documents);
void yaml_builder_clear(YamlBuilder *self);
void yaml_builder_begin_document(YamlBuilder *self);
/* @anchor: nullable. At most %YAML_DEPTH_MAX may be open at once. */
void yaml_builder_open(YamlBuilder *self, gboolean is_mapping, YamlMark mark, const char *anchor);
void yaml_builder_close(YamlBuilder *self);
/* Adds a key where one is expected, else a value. @text: ends with NUL if @is_plain: then it may be
 * a number, true or null */
void yaml_builder_scalar(YamlBuilder *self,
                         const char *text,
                         gsize length,
                         gboolean is_plain,
                         YamlMark mark,
                         const char *anchor);
void yaml_builder_alias(YamlBuilder *self, const char *name, YamlMark mark);
void yaml_builder_fault(YamlBuilder *self, YamlMark mark, const char *message, const char *hint);
/* The same at no value: the text is no YAML. */
void yaml_builder_syntax_fault(YamlBuilder *self, YamlMark mark, const char *message);
gboolean yaml_builder_wants_key(const YamlBuilder *self);
gboolean yaml_builder_is_full(const YamlBuilder *self);
