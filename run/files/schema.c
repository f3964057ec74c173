/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads values by tables of fields (schema.h). The reader has a place, the path and the position of
 * the value at hand, and each fault is told there: schema_enter_member() and schema_leave() move
 * it. A type reads one value, however deep; a fault leaves the target as it was and reading goes
 * on, so that a user sees all faults at once. The reader owns all that it reads, as one arena:
 * structs have no free functions. */
#include "schema-private.h"

#include "models/api/fields.h"
#include "sim/strings.h"

void
schema_reader_init(SchemaReader *self, YamlPositions *positions, GPtrArray *faults)
{
    *self = (SchemaReader){
        .positions = positions,
        .faults = faults,
        .path = g_string_new(NULL),
        .strings = strings_new(),
        .blocks = g_ptr_array_new_with_free_func(g_free),
        .dists = g_ptr_array_new_with_free_func((GDestroyNotify)sim_dist_unref),
        .tables = g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref),
        .maps = g_ptr_array_new_with_free_func((GDestroyNotify)string_map_unref),
        .lists = g_ptr_array_new_with_free_func((GDestroyNotify)string_list_unref),
    };
}

void
schema_reader_clear(SchemaReader *self)
{
    if (self->strings == NULL)
        return;
    g_string_free(self->path, TRUE);
    g_ptr_array_unref(self->lists);
    g_ptr_array_unref(self->maps);
    g_ptr_array_unref(self->tables);
    g_ptr_array_unref(self->dists);
    g_ptr_array_unref(self->blocks);
    strings_free(self->strings);
    *self = (SchemaReader){0};
}

/* ---- Where the reader is, and faults there ---- */

SchemaPlace
schema_enter_member(SchemaReader *self, const json_t *object, const char *key)
{
    SchemaPlace place = {self->path->len, self->at};

    g_string_append_printf(self->path, "%s%s", self->path->len > 0 ? "." : "", key);
    yaml_positions_member(self->positions, object, key, &self->at);
    return place;
}

SchemaPlace
schema_enter_item(SchemaReader *self, const json_t *array, gsize index)
{
    SchemaPlace place = {self->path->len, self->at};

    g_string_append_printf(self->path, "[%zu]", index);
    yaml_positions_item(self->positions, array, index, &self->at);
    return place;
}

void
schema_leave(SchemaReader *self, SchemaPlace place)
{
    g_string_truncate(self->path, place.path_length);
    self->at = place.at;
}

SchemaJump
schema_go(SchemaReader *self, const YamlPosition *at, const char *path)
{
    SchemaJump jump = {self->path, self->at};

    self->path = g_string_new(path);
    self->at = *at;
    return jump;
}

SchemaJump
schema_go_file(SchemaReader *self, const json_t *value)
{
    YamlPosition at = self->at;

    yaml_positions_find(self->positions, value, &at);
    return schema_go(self, &at, "");
}

void
schema_come_back(SchemaReader *self, SchemaJump jump)
{
    g_string_free(self->path, TRUE);
    self->path = jump.path;
    self->at = jump.at;
}

void
schema_fault(SchemaReader *self, const char *hint, const char *format, ...)
{
    FORMATTED(message, format);
    file_faults_add(self->faults, &self->at, self->path->str, message, hint);
}

void
schema_fault_member(SchemaReader *self,
                    const json_t *object,
                    const char *key,
                    const char *hint,
                    const char *format,
                    ...)
{
    SchemaPlace place = schema_enter_member(self, object, key);

    FORMATTED(message, format);
    yaml_positions_key(self->positions, object, key, &self->at);
    file_faults_add(self->faults, &self->at, self->path->str, message, hint);
    schema_leave(self, place);
}

void *
schema_alloc(SchemaReader *self, gsize size)
{
    void *block = g_malloc0(MAX(size, 1));
    g_ptr_array_add(self->blocks, block);
    return block;
}

const char *
schema_intern(SchemaReader *self, const char *text)
{
    return strings_intern(self->strings, text);
}

const char *
schema_value_words(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "a mapping";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "nothing";
    }
    return "?";
}

char *
schema_scalar_text(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return g_strdup(json_string_value(value));
    case JSON_INTEGER:
        return g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL: {
        char buffer[G_ASCII_DTOSTR_BUF_SIZE];
        return g_strdup(g_ascii_formatd(buffer, sizeof buffer, "%.15g", json_real_value(value)));
    }
    case JSON_TRUE:
        return g_strdup("true");
    case JSON_FALSE:
        return g_strdup("false");
    case JSON_NULL:
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    return NULL;
}

void
schema_fault_not(SchemaReader *self, const FileType *type, const json_t *value)
{
    g_autofree char *text = json_is_null(value) ? NULL : schema_scalar_text(value);

    if (text != NULL)
        schema_fault(self, type->hint, "\"%s\" is not %s", text, type->wanted);
    else
        schema_fault(self, type->hint, "must be %s, not %s", type->wanted,
                     schema_value_words(value));
}

void
schema_read(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    type->read(self, type, value, target);
}

/* ---- Lists and mappings ---- */

gboolean
schema_expect(SchemaReader *self, const FileType *type, const json_t *value, json_type wanted)
{
    if (json_typeof(value) == wanted)
        return TRUE;
    schema_fault_not(self, type, value);
    return FALSE;
}

void
schema_read_list(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    SchemaList *list = target;

    if (!schema_expect(self, type, value, JSON_ARRAY))
        return;
    list->n = (unsigned)json_array_size(value);
    list->items = schema_alloc(self, list->n * type->item->size);
    for (unsigned i = 0; i < list->n; i++) {
        SchemaPlace place = schema_enter_item(self, value, i);
        schema_read(self, type->item, json_array_get(value, i),
                    (char *)list->items + i * type->item->size);
        schema_leave(self, place);
    }
}

static const FileField *
field_find(const FileField *fields, const char *name)
{
    for (; fields->name != NULL; fields++)
        if (g_str_equal(fields->name, name))
            return fields;
    return NULL;
}

/* What people look for where it is not. */
static const struct {
    const char *key, *hint;
} elsewhere[] = {
    {"replications", "an option: kvolsim run --replications N; a sweep has the field"},
    {"jobs",         "an option: kvolsim sweep -j N"                                 },
    {"out",          "an option: kvolsim run --out DIR"                              },
};

static const char *
hint_elsewhere(const char *key)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(elsewhere); i++)
        if (g_str_equal(elsewhere[i].key, key))
            return elsewhere[i].hint;
    return NULL;
}

static void
fault_unknown_field(SchemaReader *self,
                    const FileField *fields,
                    const json_t *object,
                    const char *key)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (; fields->name != NULL; fields++)
        g_ptr_array_add(names, (char *)fields->name);
    g_autofree char *hint = name_hint_or_list(key, (const char *const *)names->pdata, names->len);
    const char *place = hint_elsewhere(key);
    schema_fault_member(self, object, key, place != NULL ? place : hint, "unknown field");
}

void
schema_read_fields(SchemaReader *self,
                   const FileField *fields,
                   const json_t *value,
                   void *target,
                   gboolean is_part)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)value, key, member) {
        const FileField *field = field_find(fields, key);
        if (field == NULL) {
            fault_unknown_field(self, fields, value, key);
            continue;
        }
        SchemaPlace place = schema_enter_member(self, value, key);
        schema_read(self, field->type, member, (char *)target + field->offset);
        schema_leave(self, place);
    }
    for (const FileField *field = fields; field->name != NULL && !is_part; field++)
        if ((field->flags & SCHEMA_REQUIRED) != 0 && json_object_get(value, field->name) == NULL)
            schema_fault(self, field->help, "\"%s\" is missing", field->name);
}

void
schema_read_struct(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    if (type->init != NULL)
        type->init(target);
    if (!schema_expect(self, type, value, JSON_OBJECT))
        return;
    schema_read_fields(self, type->fields, value, target, FALSE);
    if (type->check != NULL)
        type->check(self, value, target);
}

void
schema_read_mapping(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    if (json_is_object(value))
        *(const json_t **)target = value;
    else
        schema_fault(self, type->hint, "must be a mapping, not %s", schema_value_words(value));
}
