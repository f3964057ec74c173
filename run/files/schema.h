/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "file-fault.h"
#include "sim/distribution.h"
#include "sim/strings.h"
#include "yaml.h"

/* Files described by tables. One table of fields reads a file into structs, finds its faults, hints
 * at the right name, and makes the JSON Schema and the reference: a new field is a line in its
 * table and a member of its struct. */

typedef struct FormatType FormatType;
typedef struct FormatReader FormatReader;

typedef enum {
    FORMAT_REQUIRED = 1 << 0,
} FormatFlags;

/* A field of a mapping. Ends with a NULL name in tables. */
typedef struct {
    const char *name;
    const FormatType *type;
    gsize offset; /* in the struct */
    FormatFlags flags;
    const char
        *default_text; /* for the reference; NULL: none. The struct has it before it is read */
    const char *help;  /* one line */
} FormatField;

struct FormatType {
    const char *name;   /* in the reference: "duration" */
    const char *wanted; /* "a duration": what else would be wrong */
    const char *hint;   /* what a right one looks like; NULL: none */
    /* Reads a value that stands at the reader's place into @target; faults are reported. */
    void (*read)(FormatReader *reader, const FormatType *type, const json_t *value, void *target);
    /* Returns: (owned): JSON Schema */
    json_t *(*schema)(const FormatType *type);
    const FormatField *fields; /* of a mapping */
    gsize size;                /* of the target */
    const FormatType *item;    /* of a list, or of a mapping's values */
    const char *const
        *words;      /* of an enumeration, ends with NULL; the target is an index, an int */
    double min, max; /* of numbers, inclusive */
    void (*init)(void *target); /* what a struct is before it is read; NULL: zero */
    /* What single fields cannot tell. NULL: nothing */
    void (*check)(FormatReader *reader, const json_t *value, void *target);
};

/* What a list is read into; in structs two members side by side: Item *items; unsigned n_items. */
typedef struct {
    void *items;
    unsigned n;
} FormatList;

/* Where the reader is, to come back to. */
typedef struct {
    gsize path_length;
    YamlPosition at;
} FormatPlace;

typedef struct {
    GString *path;
    YamlPosition at;
} FormatJump;

struct FormatReader {
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

void format_reader_init(FormatReader *self, YamlPositions *positions, GPtrArray *faults);
void format_reader_clear(FormatReader *self);

FormatPlace format_enter_member(FormatReader *self, const json_t *object, const char *key);
FormatPlace format_enter_item(FormatReader *self, const json_t *array, gsize index);
void format_leave(FormatReader *self, FormatPlace place);
/* To a place found before, and back. */
FormatJump format_go(FormatReader *self, const YamlPosition *at, const char *path);
/* To another file's top value. */
FormatJump format_go_file(FormatReader *self, const json_t *value);
void format_come_back(FormatReader *self, FormatJump jump);
/* A fault at the place, or at a member's key. @hint: NULL: none */
void format_fault(FormatReader *self, const char *hint, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
void format_fault_member(FormatReader *self,
                         const json_t *object,
                         const char *key,
                         const char *hint,
                         const char *format,
                         ...) G_GNUC_PRINTF(5, 6);
/* Whether the value that stands at the reader's place is of that kind; else a fault. */
gboolean
format_expect(FormatReader *self, const FormatType *type, const json_t *value, json_type wanted);
/* "did you mean "x"?" for the nearest of @known. Returns: (owned): NULL: none is near */
char *format_nearest(const char *text, const char *const *known, unsigned n_known);
/* Memory that lasts as long as the reader's. Returns: (borrowed): zeroed */
void *format_alloc(FormatReader *self, gsize size);
const char *format_intern(FormatReader *self, const char *text);

void format_read(FormatReader *self, const FormatType *type, const json_t *value, void *target);
/* Only what @value has; what @target has beside it stays. Required fields may be missing if
 * @is_part. */
void format_read_fields(FormatReader *self,
                        const FormatField *fields,
                        const json_t *value,
                        void *target,
                        gboolean is_part);
/* "a number", of a value that should be something else. */
const char *format_json_words(const json_t *value);
/* The text of a scalar as the file has it: flags and the like. Returns: (owned): NULL if it is none
 */
char *format_scalar_text(const json_t *value);

/* The target is what stands behind each. */
extern const FormatType format_string;      /* const char *, interned, not empty */
extern const FormatType format_text;        /* const char *, interned */
extern const FormatType format_bool;        /* gboolean */
extern const FormatType format_tristate;    /* int: 0, 1; -1 must be there before: not given */
extern const FormatType format_count;       /* unsigned: 1 to a million */
extern const FormatType format_natural;     /* unsigned: 0 to a million */
extern const FormatType format_integer;     /* int64_t: 0 to 2^53 */
extern const FormatType format_probability; /* double: 0 to 1, 0 excluded */
extern const FormatType format_quantile;    /* double: 0 to 1 */
extern const FormatType format_rate;        /* double: 0 to a million */
extern const FormatType format_exponent;    /* double: -4 to 4 */
extern const FormatType format_duration;    /* SimTime, not negative */
extern const FormatType format_dist;        /* SimDist *, borrowed from the reader */
extern const FormatType format_quantity;    /* int64_t: bytes, not negative */
extern const FormatType format_strings;     /* char **: NULL-terminated */
extern const FormatType format_any;         /* const json_t *, borrowed from the file */
extern const FormatType format_object;      /* const json_t *: a mapping */
extern const FormatType format_list_any;    /* const json_t *: a list */
extern const FormatType format_string_map;  /* const json_t *: a mapping of strings */
extern const FormatType format_resources;   /* const json_t *: a mapping of quantities */
extern const FormatType format_bool_map;    /* const json_t *: a mapping of true and false */

/* For types made elsewhere. */
void
format_read_struct(FormatReader *reader, const FormatType *type, const json_t *value, void *target);
void format_read_list(FormatReader *reader,
                      const FormatType *type,
                      const json_t *value,
                      void *target); /* a FormatList */
void format_read_enum(FormatReader *reader,
                      const FormatType *type,
                      const json_t *value,
                      void *target); /* an int */
void format_read_integer(FormatReader *reader,
                         const FormatType *type,
                         const json_t *value,
                         void *target);
json_t *format_schema_strings(const FormatType *type);
json_t *format_schema_struct(const FormatType *type);
json_t *format_schema_list(const FormatType *type);
json_t *format_schema_enum(const FormatType *type);
json_t *format_schema_any(const FormatType *type);
json_t *format_schema_integer(const FormatType *type);

#define FORMAT_STRUCT(type_name, table, struct_type, ...)                                          \
    {                                                                                              \
        .name = (type_name), .wanted = "a mapping", .read = format_read_struct,                    \
        .schema = format_schema_struct, .fields = (table), .size = sizeof(struct_type),            \
        __VA_ARGS__                                                                                \
    }
#define FORMAT_LIST(of)                                                                            \
    {                                                                                              \
        .name = "list", .wanted = "a list", .read = format_read_list,                              \
        .schema = format_schema_list, .item = &(of), .size = sizeof(FormatList)                    \
    }
#define FORMAT_ENUM(of_words)                                                                      \
    {                                                                                              \
        .name = "word", .wanted = "a word", .read = format_read_enum,                              \
        .schema = format_schema_enum, .words = (of_words), .size = sizeof(int)                     \
    }

/* The JSON Schema of a whole document. (owned) */
json_t *format_schema_document(const FormatType *type, const char *title);
/* The fields in Markdown, each table once, as its sections of a reference. */
void format_reference(const FormatType *type, const char *title, unsigned level, GString *text);
