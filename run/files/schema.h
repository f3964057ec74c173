/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "file-fault.h"
#include "sim/distribution.h"
#include "sim/strings.h"
#include "yaml.h"

/* Files described by tables. One table of fields reads a file into structs, finds its faults, hints
 * at the right name, and makes the JSON Schema and the reference: a new field is a line in its
 * table and a member of its struct. */

typedef struct SchemaType SchemaType;
typedef struct SchemaReader SchemaReader;

typedef enum {
    SCHEMA_REQUIRED = 1 << 0,
} SchemaFlags;

/* A field of a mapping. Ends with a NULL name in tables. */
typedef struct {
    const char *name;
    const SchemaType *type;
    gsize offset; /* in the struct */
    SchemaFlags flags;
    const char
        *default_text; /* for the reference; NULL: none. The struct has it before it is read */
    const char *help;  /* one line */
} SchemaField;

struct SchemaType {
    const char *name;   /* in the reference: "duration" */
    const char *wanted; /* "a duration": what else would be wrong */
    const char *hint;   /* what a right one looks like; NULL: none */
    /* Reads a value that stands at the reader's place into @target; faults are reported. */
    void (*read)(SchemaReader *reader, const SchemaType *type, const json_t *value, void *target);
    /* Returns: (owned): JSON Schema */
    json_t *(*schema)(const SchemaType *type);
    const SchemaField *fields; /* of a mapping */
    gsize size;                /* of the target */
    const SchemaType *item;    /* of a list, or of a mapping's values */
    const char *const
        *words;      /* of an enumeration, ends with NULL; the target is an index, an int */
    double min, max; /* of numbers, inclusive; of text, the least length: 0 or 1 */
    void (*init)(void *target); /* what a struct is before it is read; NULL: zero */
    /* What single fields cannot tell. NULL: nothing */
    void (*check)(SchemaReader *reader, const json_t *value, void *target);
};

/* What a list is read into; in structs two members side by side: Item *items; unsigned n_items. */
typedef struct {
    void *items;
    unsigned n;
} SchemaList;

/* Where the reader is, to come back to. */
typedef struct {
    gsize path_length;
    YamlPosition at;
} SchemaPlace;

typedef struct {
    GString *path;
    YamlPosition at;
} SchemaJump;

struct SchemaReader {
    YamlPositions *positions;
    GPtrArray *faults; /* of FileFault */
    GString *path;
    YamlPosition at;
    /* What all structs read lead to, freed with them: */
    Strings *strings;
    GPtrArray *blocks; /* g_free() */
    GPtrArray *dists;  /* sim_dist_unref() */
    GPtrArray *tables; /* g_hash_table_unref() */
    GPtrArray *maps;   /* string_map_unref() */
    GPtrArray *lists;  /* string_list_unref() */
};

void schema_reader_init(SchemaReader *self, YamlPositions *positions, GPtrArray *faults);
void schema_reader_clear(SchemaReader *self);

SchemaPlace schema_enter_member(SchemaReader *self, const json_t *object, const char *key);
SchemaPlace schema_enter_item(SchemaReader *self, const json_t *array, gsize index);
void schema_leave(SchemaReader *self, SchemaPlace place);
/* To a place found before, and back. */
SchemaJump schema_go(SchemaReader *self, const YamlPosition *at, const char *path);
/* To another file's top value. */
SchemaJump schema_go_file(SchemaReader *self, const json_t *value);
void schema_come_back(SchemaReader *self, SchemaJump jump);
/* A fault at the place, or at a member's key. @hint: NULL: none */
void schema_fault(SchemaReader *self, const char *hint, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
void schema_fault_member(SchemaReader *self,
                         const json_t *object,
                         const char *key,
                         const char *hint,
                         const char *format,
                         ...) G_GNUC_PRINTF(5, 6);
/* Whether the value that stands at the reader's place is of that kind; else a fault. */
gboolean
schema_expect(SchemaReader *self, const SchemaType *type, const json_t *value, json_type wanted);
/* "did you mean "x"?" for the nearest of @known. Returns: (owned): NULL: none is near */
char *schema_nearest(const char *text, const char *const *known, unsigned n_known);
/* Memory that lasts as long as the reader's. Returns: (borrowed): zeroed */
void *schema_alloc(SchemaReader *self, gsize size);
const char *schema_intern(SchemaReader *self, const char *text);

void schema_read(SchemaReader *self, const SchemaType *type, const json_t *value, void *target);
/* Only what @value has; what @target has beside it stays. Required fields may be missing if
 * @is_part. */
void schema_read_fields(SchemaReader *self,
                        const SchemaField *fields,
                        const json_t *value,
                        void *target,
                        gboolean is_part);
/* "a number", of a value that should be something else. */
const char *schema_value_words(const json_t *value);
/* The text of a scalar as the file has it: flags and the like. Returns: (owned): NULL if it is none
 */
char *schema_scalar_text(const json_t *value);

/* The target is what stands behind each. */
extern const SchemaType schema_string;      /* const char *, interned, not empty */
extern const SchemaType schema_text;        /* const char *, interned */
extern const SchemaType schema_bool;        /* gboolean */
extern const SchemaType schema_tristate;    /* int: 0, 1; -1 must be there before: not given */
extern const SchemaType schema_count;       /* unsigned: 1 to a million */
extern const SchemaType schema_natural;     /* unsigned: 0 to a million */
extern const SchemaType schema_integer;     /* int64_t: 0 to 2^53 */
extern const SchemaType schema_probability; /* double: 0 to 1, 0 excluded */
extern const SchemaType schema_quantile;    /* double: 0 to 1 */
extern const SchemaType schema_rate;        /* double: 0 to a million */
extern const SchemaType schema_exponent;    /* double: -4 to 4 */
extern const SchemaType schema_duration;    /* SimTime, not negative */
extern const SchemaType schema_dist;        /* SimDist *, borrowed from the reader */
extern const SchemaType schema_quantity;    /* int64_t: bytes, not negative */
extern const SchemaType schema_strings;     /* char **: NULL-terminated */
extern const SchemaType schema_any;         /* const json_t *, borrowed from the file */
extern const SchemaType schema_object;      /* const json_t *: a mapping */
extern const SchemaType schema_list_any;    /* const json_t *: a list */
extern const SchemaType schema_string_map;  /* const json_t *: a mapping of strings */
extern const SchemaType schema_resources;   /* const json_t *: a mapping of quantities */
extern const SchemaType schema_bool_map;    /* const json_t *: a mapping of true and false */

/* For types made elsewhere. */
void
schema_read_struct(SchemaReader *reader, const SchemaType *type, const json_t *value, void *target);
void schema_read_list(SchemaReader *reader,
                      const SchemaType *type,
                      const json_t *value,
                      void *target); /* a SchemaList */
void schema_read_enum(SchemaReader *reader,
                      const SchemaType *type,
                      const json_t *value,
                      void *target); /* an int */
/* A mapping that is read later: the target is a const json_t *. */
void schema_read_mapping(SchemaReader *reader,
                         const SchemaType *type,
                         const json_t *value,
                         void *target);
void schema_read_integer(SchemaReader *reader,
                         const SchemaType *type,
                         const json_t *value,
                         void *target);
json_t *schema_json_strings(const SchemaType *type);
json_t *schema_json_struct(const SchemaType *type);
json_t *schema_json_list(const SchemaType *type);
json_t *schema_json_enum(const SchemaType *type);
json_t *schema_json_any(const SchemaType *type);
json_t *schema_json_integer(const SchemaType *type);

/* A type whose values one function reads and another one describes. */
#define SCHEMA_TYPE(type_name, what, reader, json, c_type, ...)                                    \
    {                                                                                              \
        .name = (type_name), .wanted = (what), .read = (reader), .schema = (json),                 \
        .size = sizeof(c_type), __VA_ARGS__                                                        \
    }
#define SCHEMA_STRUCT(type_name, table, struct_type, ...)                                          \
    {                                                                                              \
        .name = (type_name), .wanted = "a mapping", .read = schema_read_struct,                    \
        .schema = schema_json_struct, .fields = (table), .size = sizeof(struct_type), __VA_ARGS__  \
    }
#define SCHEMA_LIST(of)                                                                            \
    {                                                                                              \
        .name = "list", .wanted = "a list", .read = schema_read_list, .schema = schema_json_list,  \
        .item = &(of), .size = sizeof(SchemaList)                                                  \
    }
#define SCHEMA_ENUM(of_words)                                                                      \
    {                                                                                              \
        .name = "word", .wanted = "a word", .read = schema_read_enum, .schema = schema_json_enum,  \
        .words = (of_words), .size = sizeof(int)                                                   \
    }

/* The JSON Schema of a whole document. (owned) */
json_t *schema_json_document(const SchemaType *type, const char *title);
/* The fields in Markdown, each table once, as its sections of a reference. */
void schema_reference(const SchemaType *type, const char *title, unsigned level, GString *text);
