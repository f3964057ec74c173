/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"

/* Walks over tables of fields, of a kind and of the structs in it. Private to models/api.
 *
 * Paths are as in JSON ("spec.resources.requests.storage"); "status.conditions[Ready]" is the
 * element of the list whose "type" is Ready. */

/* Rows of a table; the functions of a FIELD_WHOLE get the whole struct.
 * FIELD_FROM: with an initial value */
#define FIELD(path, type, Struct, member, flags) FIELD_FROM(path, type, Struct, member, flags, 0)
#define FIELD_FROM(path, type, Struct, member, flags, initial)                                     \
    {                                                                                              \
        (path), &(type), offsetof(Struct, member), (flags), (initial)                              \
    }
#define FIELD_WHOLE(path, type, flags)                                                             \
    {                                                                                              \
        (path), &(type), 0, (flags), 0                                                             \
    }
#define FIELDS_END                                                                                 \
    {                                                                                              \
        NULL, NULL, 0, FIELD_SPEC, 0                                                               \
    }

/* The data of FieldTypes. */
#define FIELD_WORDS(...)                                                                           \
    .size = sizeof(uint32_t), .words = (const char *const[])                                       \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
/* A pointer to a counted struct, by @prefix_unref() and @prefix_equal(). */
#define FIELD_SHARED(prefix)                                                                       \
    .size = sizeof(void *), .unref = (GDestroyNotify)prefix##_unref,                               \
    .same = (GEqualFunc)prefix##_equal
/* A pointer to an object within the object. */
#define FIELD_OBJECT                                                                               \
    .size = sizeof(Object *), .unref = (GDestroyNotify)object_unref,                               \
    .same = (GEqualFunc)object_equal, .refs = offsetof(Object, refs)
#define FIELD_STRUCT(Struct, struct_fields) .size = sizeof(Struct), .fields = (struct_fields)
/* A pointer to a counted struct of these fields. */
#define FIELD_COUNTED(Struct, struct_fields)                                                       \
    .size = sizeof(void *), .whole = &(const FieldType)                                            \
    {                                                                                              \
        FIELD_STRUCT(Struct, struct_fields)                                                        \
    }
/* A pointer to a shared list; typed by REF_LIST_DEFINE(). */
#define FIELD_LIST_OF(item_type) .size = sizeof(void *), .item = &(item_type)
#define FIELD_LIST(Item, item_fields)                                                              \
    .size = sizeof(void *), .item = &(const FieldType)                                             \
    {                                                                                              \
        FIELD_STRUCT(Item, item_fields)                                                            \
    }
#define FIELD_INITIAL(Type, value)                                                                 \
    .initial = &(Type const)                                                                       \
    {                                                                                              \
        value                                                                                      \
    }

/* Sets the initial values of fields in a struct of zeros. */
void fields_init(const Field *fields, void *target);
void fields_ref(const Field *fields, void *target);
void fields_clear(const Field *fields, void *target);
gboolean fields_equal(const Field *fields, const void *a, const void *b);

/* Reads @fields of @object into @target. */
void fields_parse(ApiParser *parser, const json_t *object, const Field *fields, void *target);
/* Writes the fields of @from into @into, over existing members. @start: as in FieldType.print */
void fields_print(const Field *fields, const void *from, json_t *into, SimTime start);
/* Returns: (owned): a copy of @manifest (nullable) with the fields of @from over it; NULL if that
 * is empty */
json_t *
fields_to_json_at(const Field *fields, const void *from, const json_t *manifest, SimTime start);
/* The same for fields without times. */
json_t *fields_to_json(const Field *fields, const void *from, const json_t *manifest);

/* Lists of structs. Returns: (owned): @n items of @size, free with g_free() */
void *
items_parse(ApiParser *parser, const json_t *array, const Field *fields, size_t size, unsigned *n);
gboolean items_equal(
    const Field *fields, const void *a, unsigned n_a, const void *b, unsigned n_b, size_t size);

/* Returns: (borrowed): the list's item whose string at @path is @text; NULL: there is none */
json_t *json_list_find(const json_t *list, const char *path, const char *text);
gboolean json_list_has(const json_t *list, const char *text);
/* Returns: (owned): @fresh (taken, nullable): each item keeps the other members of the item of
 * @manifest that has the same member @key */
json_t *keyed_items_over(json_t *fresh, const char *key, const json_t *manifest);

/* Returns: (borrowed): the value at @path; NULL if there is none, or null */
const json_t *json_path_get(const json_t *object, const char *path);
/* Returns: (borrowed): the string at @path, NULL if there is none */
const char *json_path_string(const json_t *object, const char *path);
/* The same, "" if there is none */
const char *json_path_text(const json_t *object, const char *path);
/* Sets a member that is not there. @value: (taken) */
void json_set_missing(json_t *object, const char *name, json_t *value);
/* Reads a quantity, which may be a number in JSON. @canonical: of QUANTITY_BUFFER. Returns: FALSE
 * if @value (nullable) is none */
gboolean json_quantity(const json_t *value, int64_t *units, int64_t *milli, char *canonical);
/* RFC 7386: members of @patch replace members of @target, by reference; null removes a member. */
void json_merge_patch(json_t *target, const json_t *patch);
/* Returns: (owned): a deep copy with the keys of all objects in order, as kubectl prints them */
json_t *json_sorted(const json_t *value);
/* @words ends with NULL */
gboolean word_is_among(const char *text, const char *const *words);

/* Faults in Kubernetes' words. */
void api_parser_invalid(ApiParser *self, const json_t *value, const char *hint, const char *detail);
void
api_parser_required(ApiParser *self, const json_t *where, const char *detail); /* NULL: no detail */
void
api_parser_required_at(ApiParser *self, const json_t *where, const char *path, const char *detail);
/* The same below the current path. */
void api_parser_fault_at(ApiParser *self,
                         const json_t *where,
                         const char *path,
                         const char *hint,
                         const char *format,
                         ...) G_GNUC_PRINTF(5, 6);
/* ... of the value that @object has at @path. */
void api_parser_invalid_at(
    ApiParser *self, const json_t *object, const char *path, const char *hint, const char *detail);
/* Reports the text that @object has at @path unless it is one of @words, which ends with NULL. */
void api_parser_check_word(ApiParser *self,
                           const json_t *object,
                           const char *path,
                           const char *const *words);
/* @words ends with NULL */
void api_parser_unsupported(ApiParser *self, const json_t *value, const char *const *words);
/* Reads a quantity: @units are rounded up; @canonical (of QUANTITY_BUFFER) is the API server's
 * form. Returns: FALSE after reporting a fault */
gboolean api_parser_quantity(ApiParser *self, const json_t *value, int64_t *units, char *canonical);
/* Reports @quantity unless it is positive. @value: the text that was read; its own faults are
 * reported already. */
void api_parser_check_positive(ApiParser *self, const json_t *value, int64_t quantity);
/* Returns: FALSE after reporting a fault, if @value is not of this type */
gboolean api_parser_expect(ApiParser *self, const json_t *value, json_type type);
/* Checks a name that is not empty. Returns: NULL if it is valid; else the fault in Kubernetes'
 * words */
const char *name_fault_subdomain(const char *text);
const char *name_fault_dns_label(const char *text);
const char *name_fault_path(const char *text); /* a part of a URL's path */
const char *name_fault_qualified(const char *text);
const char *name_fault_label_value(const char *text);
/* Reports the fault that @fault_of finds in the member @key of @object, which is @name; NULL and ""
 * have none. */
void api_parser_check_name(ApiParser *self,
                           const json_t *object,
                           const char *key,
                           const char *name,
                           const char *(*fault_of)(const char *text));
/* Returns: (borrowed): the word of @known that is most like @text, NULL if none is similar */
const char *name_nearest(const char *text, const char *const *known, unsigned n_known);
/* Returns: (owned): the hint `did you mean "x"?` at that word; NULL: none is similar */
char *name_hint(const char *text, const char *const *known, unsigned n_known);
/* The same, but a list of all words if none is similar: "known: a, b". NULL: there are no words */
char *name_hint_or_list(const char *text, const char *const *known, unsigned n_known);

/* For types that differ from field_string and the like in a few functions. */
json_t *field_int64_to_json(const void *field);
void field_string_map_parse(ApiParser *parser, const json_t *value, void *field);
json_t *field_map_to_json(const void *field);
json_t *field_uid_to_json(const void *field);

extern const FieldType field_word;         /* const char *, interned; NULL and "": absent */
extern const FieldType field_text;         /* const char *, interned or "", which is absent */
extern const FieldType field_full_text;    /* the same, but "" is printed */
extern const FieldType field_flag;         /* gboolean; FALSE: absent */
extern const FieldType field_count;        /* int32_t; 0: absent */
extern const FieldType field_int_or_unset; /* int32_t; negative: absent */
extern const FieldType field_size;         /* int64_t: quantity; 0: absent */
extern const FieldType field_int64;        /* int64_t; negative: absent */
extern const FieldType field_null;         /* nothing; printed as null */
extern const FieldType field_blank;        /* nothing; printed as "" */
extern const FieldType field_labels;       /* StringMap *: with the syntax of labels */
extern const FieldType field_names;        /* StringList *: [{name}] */

/* @metadata: of a template that was printed: what its document does not tell goes. */
void template_metadata_tidy(const Object *template, json_t *metadata);
/* An object within another: a claim template. Reads metadata's labels and annotations, and the
 * kind's fields. Returns: (owned): the object with the key @key */
Object *api_parser_template(ApiParser *self, const json_t *manifest, ObjectKey *key);
