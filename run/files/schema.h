/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "file-fault.h"
#include "sim/distribution.h"
#include "sim/strings.h"
#include "yaml.h"

/* Files described by tables. One table of fields reads a file into structs, finds its faults,
 * suggests the right names, and makes the JSON Schema and the reference. A new field is a line in
 * its table and a member of its struct. */

typedef struct FileType FileType;
typedef struct SchemaReader SchemaReader;

typedef enum {
    SCHEMA_REQUIRED = 1 << 0,
} SchemaFlags;

/* A field of a mapping. A table ends with a NULL name. */
typedef struct {
    const char *name;
    const FileType *type;
    gsize offset; /* in the struct */
    SchemaFlags flags;
    const char *default_text; /* for the reference; NULL: none. The struct has this value before it
                                 is read */
    const char *help;         /* one line */
} FileField;

struct FileType {
    const char *name;   /* in the reference: "duration" */
    const char *wanted; /* "a duration": for messages */
    const char *hint;   /* an example for messages; NULL: none */
    /* Reads the value at the reader's place into @target, and reports its faults. */
    void (*read)(SchemaReader *reader, const FileType *type, const json_t *value, void *target);
    /* Returns: (owned): JSON Schema */
    json_t *(*schema)(const FileType *type);
    const char *schema_text; /* that, if it is always the same; @schema is NULL then */
    const FileField *fields; /* of a mapping */
    gsize size;              /* of the target */
    const FileType *item;    /* of a list, or of a mapping's values */
    const char *const
        *words;      /* of an enumeration, ends with NULL; the target is an index, an int */
    double min, max; /* of numbers, inclusive; of text, the least length: 0 or 1 */
    void (*init)(void *target); /* sets defaults before the struct is read; NULL: all zero */
    /* Checks several fields together. NULL: none */
    void (*check)(SchemaReader *reader, const json_t *value, void *target);
};

/* The target of a list; in structs two members side by side: Item *items; unsigned n_items. */
typedef struct {
    void *items;
    unsigned n;
} SchemaList;

/* A place of the reader, to return to. */
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
    /* Memory of all structs that were read: */
    Strings *strings;
    GPtrArray *blocks; /* g_free() */
    GPtrArray *dists;  /* sim_dist_unref() */
    GPtrArray *tables; /* g_hash_table_unref() */
    GPtrArray *maps;   /* string_map_unref() */
    GPtrArray *lists;  /* string_list_unref() */
    /* Is told of notes that are not faults, at the reader's place. NULL: nobody is told */
    void (*warn)(SchemaReader *reader, const char *message);
    void *warn_data; /* of its owner */
};

void schema_reader_init(SchemaReader *self, YamlPositions *positions, GPtrArray *faults);
void schema_reader_clear(SchemaReader *self);

SchemaPlace schema_enter_member(SchemaReader *self, const json_t *object, const char *key);
SchemaPlace schema_enter_item(SchemaReader *self, const json_t *array, gsize index);
void schema_leave(SchemaReader *self, SchemaPlace place);
/* Goes to a known place; schema_come_back() returns from it. */
SchemaJump schema_go(SchemaReader *self, const YamlPosition *at, const char *path);
/* Goes to the top value of another file. */
SchemaJump schema_go_file(SchemaReader *self, const json_t *value);
void schema_come_back(SchemaReader *self, SchemaJump jump);
/* Reports a fault at the reader's place, or at a member's key. @hint: NULL: none */
void schema_fault(SchemaReader *self, const char *hint, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
void schema_fault_member(SchemaReader *self,
                         const json_t *object,
                         const char *key,
                         const char *hint,
                         const char *format,
                         ...) G_GNUC_PRINTF(5, 6);
/* Checks the type of the value at the reader's place, and reports a fault if it is wrong. */
gboolean
schema_expect(SchemaReader *self, const FileType *type, const json_t *value, json_type wanted);
/* Memory that the reader frees. Returns: (borrowed): zeroed */
void *schema_alloc(SchemaReader *self, gsize size);
const char *schema_intern(SchemaReader *self, const char *text);

void schema_read(SchemaReader *self, const FileType *type, const json_t *value, void *target);
/* Reads the members of @value only; other fields of @target stay. Required fields may be missing if
 * @is_part. */
void schema_read_fields(SchemaReader *self,
                        const FileField *fields,
                        const json_t *value,
                        void *target,
                        gboolean is_part);
/* The type of a value in words: "a number". */
const char *schema_value_words(const json_t *value);
/* The text of a scalar, for flags and the like. Returns: (owned): NULL: it is no scalar */
char *schema_scalar_text(const json_t *value);

/* Each comment tells the type of the target. */
extern const FileType schema_string;      /* const char *, interned, not empty, no control
                                              characters but tabs and line breaks */
extern const FileType schema_line;        /* the same, one line without tabs */
extern const FileType schema_dns_label;   /* the same, "quick-start": it can be a file's name */
extern const FileType schema_text;        /* const char *, interned */
extern const FileType schema_bool;        /* gboolean */
extern const FileType schema_tristate;    /* int: 0 or 1; the default of -1 means: not given */
extern const FileType schema_count;       /* unsigned: 1 to a million */
extern const FileType schema_natural;     /* unsigned: 0 to a million */
extern const FileType schema_integer;     /* int64_t: 0 to 2^53 */
extern const FileType schema_probability; /* double: 0 to 1, 0 excluded */
extern const FileType schema_part;        /* double: 0 to 1 */
extern const FileType schema_quantile;    /* double: 0 to 1 */
extern const FileType schema_rate;        /* double: 0 to a million */
extern const FileType schema_exponent;    /* double: -4 to 4 */
extern const FileType schema_duration;    /* SimTime, not negative */
extern const FileType schema_dist;        /* SimDist *, borrowed from the reader */
extern const FileType schema_quantity;    /* int64_t: bytes, not negative */
extern const FileType schema_strings;     /* char **: NULL-terminated */
extern const FileType schema_any;         /* const json_t *, borrowed from the file */
extern const FileType schema_object;      /* const json_t *: a mapping */
extern const FileType schema_list_any;    /* const json_t *: a list */
extern const FileType schema_string_map;  /* const json_t *: a mapping of strings */
extern const FileType schema_resources;   /* const json_t *: a mapping of quantities */
extern const FileType schema_bool_map;    /* const json_t *: a mapping of true and false */

/* For types that other files define. */
void
schema_read_struct(SchemaReader *reader, const FileType *type, const json_t *value, void *target);
void schema_read_list(SchemaReader *reader,
                      const FileType *type,
                      const json_t *value,
                      void *target); /* a SchemaList */
void schema_read_enum(SchemaReader *reader,
                      const FileType *type,
                      const json_t *value,
                      void *target); /* an int */
/* The same word as a text: the target is a const char *. */
void
schema_read_word(SchemaReader *reader, const FileType *type, const json_t *value, void *target);
/* Keeps a mapping that is read later: the target is a const json_t *. */
void
schema_read_mapping(SchemaReader *reader, const FileType *type, const json_t *value, void *target);
void
schema_read_integer(SchemaReader *reader, const FileType *type, const json_t *value, void *target);
json_t *schema_json_struct(const FileType *type);
json_t *schema_json_list(const FileType *type);
json_t *schema_json_enum(const FileType *type);
/* The JSON Schema of a type. (owned) */
json_t *schema_json(const FileType *type);
json_t *schema_json_integer(const FileType *type);

#define SCHEMA_OF_STRINGS "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"
/* A type: one function reads its values, another one makes their JSON Schema. */
#define SCHEMA_TYPE(type_name, what, reader, json, c_type, ...)                                    \
    {                                                                                              \
        .name = (type_name), .wanted = (what), .read = (reader), .schema = (json),                 \
        .size = sizeof(c_type), __VA_ARGS__                                                        \
    }
/* The same; all of the JSON Schema is given. */
#define SCHEMA_TEXT(type_name, what, reader, json_text, c_type, ...)                               \
    {                                                                                              \
        .name = (type_name), .wanted = (what), .read = (reader), .schema_text = (json_text),       \
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

/* The JSON Schema of a whole document. @kind: a word for its id and title. (owned) */
json_t *schema_json_document(const FileType *type, const char *kind);
/* Appends the fields in Markdown: a section for each table. */
void schema_reference(const FileType *type, const char *title, unsigned level, GString *text);
