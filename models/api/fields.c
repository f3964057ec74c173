/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes structs by tables of fields: a path in the document, a type, and an offset. All
 * kinds use these tables for parsing, printing, comparing, copying and freeing, so a new member
 * needs one row. Printing merges the members into the document that the object came from, so
 * members that no model reads survive.
 *
 * Invariant: a shared value (FIELD_SHARED and lists) is counted and never changed once it is
 * shared; an object's copy costs references only. */
#include "fields.h"

#include <string.h>

/* A step of a path: "conditions[Ready]" is the key "conditions" and the item "Ready". Both are
 * parts of the path. */
typedef struct {
    const char *key, *item; /* item: NULL: no list */
    size_t key_length, item_length;
} PathStep;

/* Returns: the rest of the path, NULL after the last step */
static const char *
path_step(const char *path, PathStep *step)
{
    const char *end = path;

    while (*end != '\0' && *end != '.' && *end != '[')
        end++;
    *step = (PathStep){.key = path, .key_length = (size_t)(end - path)};
    if (*end == '[') {
        step->item = end + 1;
        step->item_length = strcspn(step->item, "]");
        end = step->item + step->item_length + 1;
    }
    return *end == '.' ? end + 1 : NULL;
}

static json_t *
list_find(const json_t *list, const PathStep *step, size_t *index)
{
    for (*index = 0; *index < json_array_size(list); ++*index) {
        json_t *item = json_array_get(list, *index);
        const json_t *type = json_object_get(item, "type");
        if (json_is_string(type) && json_string_length(type) == step->item_length &&
            memcmp(json_string_value(type), step->item, step->item_length) == 0)
            return item;
    }
    return NULL;
}

static json_t *
step_get(const json_t *object, const PathStep *step)
{
    json_t *value = json_object_getn(object, step->key, step->key_length);
    size_t index;

    if (value != NULL && step->item != NULL)
        return list_find(value, step, &index);
    return value;
}

const json_t *
json_path_get(const json_t *object, const char *path)
{
    PathStep step;

    while (path != NULL && object != NULL) {
        path = path_step(path, &step);
        object = step_get(object, &step);
    }
    return json_is_null(object) ? NULL : object;
}

const char *
json_path_string(const json_t *object, const char *path)
{
    return json_string_value(json_path_get(object, path));
}

const char *
json_path_text(const json_t *object, const char *path)
{
    const char *text = json_path_string(object, path);

    return text == NULL ? "" : text;
}

void
json_set_missing(json_t *object, const char *name, json_t *value)
{
    if (json_object_get(object, name) == NULL)
        json_object_set_new(object, name, value);
    else
        json_decref(value);
}

gboolean
json_list_has(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (g_strcmp0(json_string_value(json_array_get(list, i)), text) == 0)
            return TRUE;
    return FALSE;
}

json_t *
json_list_find(const json_t *list, const char *path, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (g_strcmp0(json_path_string(json_array_get(list, i), path), text) == 0)
            return json_array_get(list, i);
    return NULL;
}

/* Sets the step's value and returns it. @value: (taken): NULL: an object, the present one if there
 * is one */
static json_t *
step_set(json_t *object, const PathStep *step, json_t *value)
{
    json_t *old = step_get(object, step);

    if (value == NULL && json_is_object(old))
        return old;
    if (value == NULL)
        value = json_object();
    if (step->item == NULL) {
        json_object_setn_new(object, step->key, step->key_length, value);
        return value;
    }

    json_t *list = json_object_getn(object, step->key, step->key_length);
    size_t index;
    if (!json_is_array(list)) {
        list = json_array();
        json_object_setn_new(object, step->key, step->key_length, list);
    }
    if (json_is_object(value))
        json_object_set_new(value, "type", json_stringn(step->item, step->item_length));
    if (list_find(list, step, &index) != NULL)
        json_array_set_new(list, index, value);
    else
        json_array_append_new(list, value);
    return value;
}

static void
json_path_set_new(json_t *object, const char *path, json_t *value)
{
    PathStep step;

    while ((path = path_step(path, &step)) != NULL)
        object = step_set(object, &step, NULL);
    step_set(object, &step, value);
}

static gboolean
json_is_empty(const json_t *value)
{
    return (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

/* Removes the value at @path, and containers that become empty. */
static void
json_path_delete(json_t *object, const char *path)
{
    PathStep step;
    const char *rest = path_step(path, &step);
    json_t *value = step_get(object, &step);

    if (value == NULL || (rest != NULL && json_is_empty(value))) /* {} as it was given stays */
        return;
    if (rest != NULL) {
        json_path_delete(value, rest);
        if (!json_is_empty(value))
            return;
    }
    if (step.item != NULL) {
        json_t *list = json_object_getn(object, step.key, step.key_length);
        size_t index;
        if (list_find(list, &step, &index) != NULL)
            json_array_remove(list, index);
        if (!json_is_empty(list))
            return;
    }
    json_object_deln(object, step.key, step.key_length);
}

/* Returns: (owned): the object's keys, in order; free with g_free() */
static const char **
object_keys(const json_t *object, size_t *n)
{
    const char **keys = g_new(const char *, json_object_size(object) + 1), *key;
    const json_t *value;

    *n = 0;
    json_object_foreach((json_t *)object, key, value)
        keys[(*n)++] = key;
    qsort(keys, *n, sizeof keys[0], strings_compare);
    return keys;
}

void
json_merge_patch(json_t *target, const json_t *patch)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)patch, key, value) {
        if (json_is_null(value)) {
            json_object_del(target, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(json_object_get(target, key)))
                json_object_set_new(target, key, json_object());
            json_merge_patch(json_object_get(target, key), value);
        } else {
            json_object_set(target, key, value);
        }
    }
}

json_t *
json_sorted(const json_t *value)
{
    if (json_is_array(value)) {
        json_t *array = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            json_array_append_new(array, json_sorted(json_array_get(value, i)));
        return array;
    }
    if (!json_is_object(value))
        return json_incref((json_t *)value); /* scalars never change */

    size_t n;
    g_autofree const char **keys = object_keys(value, &n);
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, keys[i], json_sorted(json_object_get(value, keys[i])));
    return object;
}

static void *
field_in(const Field *field, void *target)
{
    return (char *)target + field->offset;
}

static const void *
field_of(const Field *field, const void *target)
{
    return (const char *)target + field->offset;
}

/* ---- Shared structs ---- */

/* Typed lists have their items where this struct ends. */
typedef struct {
    RefCount refs;
    unsigned n_items;
} SharedList;

static inline gboolean
fields_is_shared(const FieldType *type)
{
    return type->unref != NULL || type->item != NULL || type->whole != NULL;
}

/* Returns: (nullable): the struct that a field points to, of whatever type */
static void *
shared_of(const void *field)
{
    void *shared;

    memcpy(&shared, field, sizeof shared);
    return shared;
}

static void field_clear(const FieldType *type, void *field);

static void
value_clear(const FieldType *type, void *value)
{
    if (type->fields != NULL)
        fields_clear(type->fields, value);
    else if (fields_is_shared(type))
        field_clear(type, value);
}

static void *
list_item(const FieldType *type, const void *list, unsigned i)
{
    return (char *)list + sizeof(SharedList) + i * type->item->size;
}

static void
shared_unref(const FieldType *type, void *shared)
{
    if (type->unref != NULL) {
        type->unref(shared);
        return;
    }
    if (!ref_count_drop(shared)) /* it begins with its count */
        return;
    if (type->whole != NULL)
        value_clear(type->whole, shared);
    for (unsigned i = 0; type->item != NULL && i < ((SharedList *)shared)->n_items; i++)
        value_clear(type->item, list_item(type, shared, i));
    g_free(shared);
}

static void
field_clear(const FieldType *type, void *field)
{
    void *shared = shared_of(field);

    if (shared == NULL)
        return;
    shared_unref(type, shared);
    memset(field, 0, sizeof shared);
}

void
fields_ref(const Field *fields, void *target)
{
    for (const Field *field = fields; field->path != NULL && fields_is_shared(field->type);
         field++) {
        char *shared = shared_of(field_of(field, target));
        if (shared != NULL)
            ref_count_add((RefCount *)(void *)(shared + field->type->refs));
    }
}

void
fields_clear(const Field *fields, void *target)
{
    for (const Field *field = fields; field->path != NULL && fields_is_shared(field->type); field++)
        field_clear(field->type, field_in(field, target));
}

void
field_copy(const FieldType *type, void *to, const void *from)
{
    if (!fields_is_shared(type)) {
        memmove(to, from, type->size);
        return;
    }
    char *shared = shared_of(from);
    if (shared == shared_of(to))
        return;
    field_clear(type, to);
    memcpy(to, from, type->size);
    if (shared != NULL)
        ref_count_add((RefCount *)(void *)(shared + type->refs));
}

/* ---- All types ---- */

static void
value_init(const FieldType *type, void *value)
{
    if (type->initial != NULL)
        memcpy(value, type->initial, type->size);
    else if (type->fields != NULL)
        fields_init(type->fields, value);
}

void
fields_init(const Field *fields, void *target)
{
    for (const Field *field = fields; field->path != NULL; field++)
        if (field->initial != 0)
            *(int32_t *)field_in(field, target) = field->initial;
        else
            value_init(field->type, field_in(field, target));
}

static gboolean
is_all_zero(const FieldType *type, const void *field)
{
    const char *bytes = field;

    for (size_t i = 0; i < type->size; i++)
        if (bytes[i] != 0)
            return FALSE;
    return TRUE;
}

static gboolean
struct_is_absent(const FieldType *type, const void *target)
{
    return is_all_zero(type->fields->type, field_of(type->fields, target));
}

static gboolean
value_equal(const FieldType *type, const void *a, const void *b)
{
    return type->fields != NULL ? fields_equal(type->fields, a, b) : field_equal(type, a, b);
}

static gboolean
shared_equal(const FieldType *type, const void *a, const void *b)
{
    if (type->same != NULL || type->whole != NULL)
        return type->same != NULL ? type->same(a, b) : value_equal(type->whole, a, b);
    const SharedList *one = a, *other = b;
    if (one->n_items != other->n_items)
        return FALSE;
    for (unsigned i = 0; i < one->n_items; i++)
        if (!value_equal(type->item, list_item(type, a, i), list_item(type, b, i)))
            return FALSE;
    return TRUE;
}

gboolean
field_equal(const FieldType *type, const void *a, const void *b)
{
    if (type->equal != NULL)
        return type->equal(a, b);
    if (fields_is_shared(type)) {
        const void *x = shared_of(a), *y = shared_of(b);
        return x == y || (x != NULL && y != NULL && shared_equal(type, x, y));
    }
    if (type->fields != NULL)
        return (struct_is_absent(type, a) && struct_is_absent(type, b)) ||
               fields_equal(type->fields, a, b);
    return memcmp(a, b, type->size) == 0;
}

gboolean
fields_equal(const Field *fields, const void *a, const void *b)
{
    for (const Field *field = fields; field->path != NULL; field++)
        if (!field_equal(field->type, field_of(field, a), field_of(field, b)))
            return FALSE;
    return TRUE;
}

static void
word_parse(const FieldType *type, ApiParser *parser, const json_t *value, void *field)
{
    if (!api_parser_expect(parser, value, JSON_STRING))
        return;
    for (uint32_t i = 0; type->words[i] != NULL; i++)
        if (strcmp(json_string_value(value), type->words[i]) == 0) {
            *(uint32_t *)field = i;
            return;
        }
    api_parser_unsupported(parser, value, type->words + (type->words[0][0] == '\0' ? 1 : 0));
}

/* Returns: (owned): @n values, free with g_free() */
static void *
values_parse(const FieldType *type, ApiParser *parser, const json_t *array, unsigned *n)
{
    *n = 0;
    if (!api_parser_expect(parser, array, JSON_ARRAY))
        return NULL;

    char *values = g_malloc0_n(json_array_size(array), type->size);
    for (size_t i = 0; i < json_array_size(array); i++) {
        gsize length = api_parser_enter_index(parser, (unsigned)i);
        value_init(type, values + i * type->size);
        field_type_parse(type, parser, json_array_get(array, i), values + i * type->size);
        api_parser_leave(parser, length);
    }
    *n = (unsigned)json_array_size(array);
    return values;
}

static void *
list_parse(const FieldType *type, ApiParser *parser, const json_t *array)
{
    unsigned n;
    g_autofree void *items = values_parse(type->item, parser, array, &n);

    if (type->finish != NULL)
        type->finish(parser, array, items, n);
    if (n == 0)
        return NULL;
    SharedList *list = g_malloc(sizeof *list + n * type->item->size);
    *list = (SharedList){REF_COUNT_ONE, n};
    memcpy(list_item(type, list, 0), items, n * type->item->size);
    return list;
}

static void *
whole_parse(const FieldType *type, ApiParser *parser, const json_t *value)
{
    if (!api_parser_expect(parser, value, JSON_OBJECT))
        return NULL;
    void *whole = g_malloc0(type->size);
    *(RefCount *)whole = REF_COUNT_ONE;
    value_init(type, whole);
    fields_parse(parser, value, type->fields, whole);
    return whole;
}

void
field_type_parse(const FieldType *type, ApiParser *parser, const json_t *value, void *field)
{
    if (type->parse != NULL) {
        type->parse(parser, value, field);
    } else if (type->words != NULL) {
        word_parse(type, parser, value, field);
    } else if (type->fields != NULL) {
        fields_parse(parser, value, type->fields, field);
    } else {
        void *shared = type->item != NULL ? list_parse(type, parser, value)
                                          : whole_parse(type->whole, parser, value);
        field_clear(type, field);
        memcpy(field, &shared, sizeof shared);
    }
}

/* Returns: (borrowed) (nullable): what the document has of an item */
static const json_t *
list_find_old(const FieldType *type, const SharedList *list, unsigned i, const json_t *manifest)
{
    if (!type->keyed)
        return json_array_size(manifest) == list->n_items ? json_array_get(manifest, i) : NULL;
    const Field *key = type->item->fields;
    return json_list_find(manifest, key->path,
                          *(const char *const *)field_of(key, list_item(type, list, i)));
}

static json_t *
value_to_json(const FieldType *type, const void *value, const json_t *manifest, SimTime start)
{
    if (type->fields == NULL)
        return field_type_to_json(type, value, manifest, start);
    json_t *object = fields_to_json_at(type->fields, value, manifest, start);
    return object == NULL ? json_object() : object;
}

static json_t *
shared_to_json(const FieldType *type, const void *shared, const json_t *manifest, SimTime start)
{
    if (shared == NULL || type->whole != NULL)
        return shared == NULL ? NULL : value_to_json(type->whole, shared, manifest, start);
    const SharedList *list = shared;
    json_t *array = json_array();
    for (unsigned i = 0; i < list->n_items; i++)
        json_array_append_new(array, value_to_json(type->item, list_item(type, list, i),
                                                   list_find_old(type, list, i, manifest), start));
    return array;
}

json_t *
field_type_to_json(const FieldType *type, const void *field, const json_t *manifest, SimTime start)
{
    if (type->print != NULL)
        return type->print(field, manifest, start);
    if (type->over != NULL)
        return type->over(field, manifest);
    if (type->to_json != NULL)
        return type->to_json(field);
    if (type->words != NULL)
        return json_string(type->words[*(const uint32_t *)field]);
    if (type->fields == NULL)
        return shared_to_json(type, shared_of(field), manifest, start);
    return struct_is_absent(type, field) ? NULL
                                         : fields_to_json_at(type->fields, field, manifest, start);
}

#define PATH_LENGTH_MAX 256

gboolean
word_is_among(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, text) == 0)
            return TRUE;
    return FALSE;
}

/* The object of the latest field, kept for the next one: in tables, fields of one object stand
 * together. */
typedef struct {
    const json_t *root, *parent; /* parent: nullable */
    const char *path;            /* of the parent, and of a field below it */
    size_t path_length;          /* of the parent's */
} FieldFinder;

/* Returns: (borrowed): as json_path_get() */
static const json_t *
field_find(FieldFinder *self, const char *path)
{
    const char *dot = strrchr(path, '.');
    size_t length = dot == NULL ? 0 : (size_t)(dot - path);
    char parent_path[PATH_LENGTH_MAX];

    if (strchr(path, '[') != NULL || length >= sizeof parent_path)
        return json_path_get(self->root, path);
    if (length != self->path_length || memcmp(path, self->path, length) != 0) {
        memcpy(parent_path, path, length);
        parent_path[length] = '\0';
        self->parent = length == 0 ? self->root : json_path_get(self->root, parent_path);
        self->path = path;
        self->path_length = length;
    }
    const json_t *value = json_object_get(self->parent, dot == NULL ? path : dot + 1);
    return json_is_null(value) ? NULL : value;
}

void
fields_parse(ApiParser *parser, const json_t *object, const Field *fields, void *target)
{
    FieldFinder finder = {.root = object, .parent = object, .path = ""};

    if (!api_parser_expect(parser, object, JSON_OBJECT))
        return;
    for (const Field *field = fields; field->path != NULL; field++) {
        if ((field->flags & FIELD_INTERNAL) != 0)
            continue;
        const json_t *value = field_find(&finder, field->path);
        if (value == NULL) {
            if ((field->flags & FIELD_REQUIRED) != 0)
                api_parser_required_at(parser, object, field->path, NULL);
            continue;
        }
        gsize length = api_parser_enter(parser, field->path);
        if ((field->flags & FIELD_REQUIRED) != 0 && json_is_string(value) &&
            json_string_length(value) == 0)
            api_parser_required(parser, value, NULL);
        else
            field_type_parse(field->type, parser, value, field_in(field, target));
        if ((field->flags & FIELD_NATURAL) != 0 && json_integer_value(value) < 0)
            api_parser_invalid(parser, value, NULL, "must be greater than or equal to 0");
        api_parser_leave(parser, length);
    }
}

void
fields_print(const Field *fields, const void *from, json_t *into, SimTime start)
{
    for (const Field *field = fields; field->path != NULL; field++) {
        if ((field->flags & FIELD_INTERNAL) != 0)
            continue;
        const json_t *old = json_path_get(into, field->path);
        if (old == NULL && (field->flags & FIELD_OPTIONAL) != 0 &&
            is_all_zero(field->type, field_of(field, from)))
            continue;
        json_t *value = field_type_to_json(field->type, field_of(field, from), old, start);
        if (value == NULL && (field->flags & FIELD_OR_NULL) != 0)
            value = json_null();
        if (value != NULL)
            json_path_set_new(into, field->path, value);
        else
            json_path_delete(into, field->path);
    }
}

json_t *
fields_to_json_at(const Field *fields, const void *from, const json_t *manifest, SimTime start)
{
    json_t *object = json_is_object(manifest) ? json_deep_copy(manifest) : json_object();

    fields_print(fields, from, object, start);
    if (json_object_size(object) == 0)
        g_clear_pointer(&object, json_decref);
    return object;
}

json_t *
fields_to_json(const Field *fields, const void *from, const json_t *manifest)
{
    return fields_to_json_at(fields, from, manifest, 0);
}

void *
items_parse(ApiParser *parser, const json_t *array, const Field *fields, size_t size, unsigned *n)
{
    return values_parse(&(const FieldType){.size = size, .fields = fields}, parser, array, n);
}

gboolean
items_equal(
    const Field *fields, const void *a, unsigned n_a, const void *b, unsigned n_b, size_t size)
{
    if (n_a != n_b)
        return FALSE;
    for (unsigned i = 0; i < n_a; i++)
        if (!fields_equal(fields, (const char *)a + i * size, (const char *)b + i * size))
            return FALSE;
    return TRUE;
}
