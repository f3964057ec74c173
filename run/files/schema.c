/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schema.h"

#include <inttypes.h>
#include <string.h>

#include "models/api/fields.h"

#define COUNT_MAX 1000000.0
#define INTEGER_MAX 9007199254740992.0 /* 2^53: exact in a double, as JSON has it */

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
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
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
    va_list arguments;
    SchemaPlace place = schema_enter_member(self, object, key);

    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    yaml_positions_key(self->positions, object, key, &self->at);
    file_faults_add(self->faults, &self->at, self->path->str, message, hint);
    schema_leave(self, place);
}

char *
schema_nearest(const char *text, const char *const *known, unsigned n_known)
{
    const char *nearest = name_nearest(text, known, n_known);
    return nearest != NULL ? g_strdup_printf("did you mean \"%s\"?", nearest) : NULL;
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

/* "is "5 minutes", not a duration": scalars are quoted, the rest is named. */
static void
fault_not(SchemaReader *self, const SchemaType *type, const json_t *value)
{
    g_autofree char *text = json_is_null(value) ? NULL : schema_scalar_text(value);

    if (text != NULL)
        schema_fault(self, type->hint, "\"%s\" is not %s", text, type->wanted);
    else
        schema_fault(self, type->hint, "must be %s, not %s", type->wanted,
                     schema_value_words(value));
}

void
schema_read(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    type->read(self, type, value, target);
}

/* ---- Scalars ---- */

static void
read_text(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value);

    if (text != NULL && (*text != '\0' || type == &schema_text)) {
        *(const char **)target = schema_intern(self, text);
        return;
    }
    if (text != NULL)
        schema_fault(self, NULL, "must not be empty");
    else if (json_is_boolean(value) || json_is_number(value))
        schema_fault(self, "put it in quotes", "must be text, not %s", schema_value_words(value));
    else
        fault_not(self, type, value);
}

static void
read_bool(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    if (json_is_boolean(value))
        *(int *)target = json_is_true(value);
    else
        fault_not(self, type, value);
}

static gboolean
read_whole(SchemaReader *self, const SchemaType *type, const json_t *value, int64_t *number)
{
    if (!json_is_integer(value)) {
        fault_not(self, type, value);
        return FALSE;
    }
    *number = json_integer_value(value);
    if ((double)*number >= type->min && (double)*number <= type->max)
        return TRUE;
    if ((double)*number < type->min)
        schema_fault(self, NULL, "%" PRId64 " is too small: at least %.0f", *number, type->min);
    else
        schema_fault(self, NULL, "%" PRId64 " is too big: at most %.0f", *number, type->max);
    return FALSE;
}

static void
read_unsigned(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    int64_t number;

    if (read_whole(self, type, value, &number))
        *(unsigned *)target = (unsigned)number;
}

void
schema_read_integer(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    int64_t number;

    if (read_whole(self, type, value, &number))
        *(int64_t *)target = number;
}

static void
read_number(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    double number = json_number_value(value);

    if (json_is_number(value) && number >= type->min && number <= type->max)
        *(double *)target = number;
    else
        fault_not(self, type, value);
}

/* Returns: FALSE, and a fault, if it is none. 0 needs no unit */
static gboolean
value_duration(SchemaReader *self, const SchemaType *type, const json_t *value, SimTime *time)
{
    g_autoptr(GError) error = NULL;

    if (json_is_integer(value) && json_integer_value(value) == 0) {
        *time = 0;
        return TRUE;
    }
    if (json_is_number(value)) {
        g_autofree char *text = schema_scalar_text(value);
        g_autofree char *hint = g_strdup_printf("\"%ss\"?", text);
        schema_fault(self, hint, "%s has no unit", text);
        return FALSE;
    }
    if (!json_is_string(value) || !sim_time_parse(json_string_value(value), time, &error)) {
        fault_not(self, type, value);
        return FALSE;
    }
    return TRUE;
}

static void
read_duration(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    SimTime time;

    if (!value_duration(self, type, value, &time))
        return;
    if (time < 0)
        schema_fault(self, NULL, "\"%s\" is negative", json_string_value(value));
    else
        *(SimTime *)target = time;
}

static void
read_quantity(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    g_autofree char *text =
        json_is_string(value) || json_is_number(value) ? schema_scalar_text(value) : NULL;
    int64_t number;

    if (text == NULL || !quantity_parse(text, &number, NULL, NULL))
        fault_not(self, type, value);
    else if (number < 0)
        schema_fault(self, NULL, "\"%s\" is negative", text);
    else if (target != NULL)
        *(int64_t *)target = number;
}

void
schema_read_enum(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value);
    unsigned n = 0;

    for (; type->words[n] != NULL; n++)
        if (g_strcmp0(type->words[n], text) == 0) {
            *(int *)target = (int)n;
            return;
        }
    g_autofree char *nearest = text != NULL ? schema_nearest(text, type->words, n) : NULL;
    g_autofree char *all = g_strjoinv(", ", (char **)type->words);
    g_autofree char *known = g_strdup_printf("one of %s", all);
    if (text != NULL)
        schema_fault(self, nearest != NULL ? nearest : known, "\"%s\" is not known here", text);
    else
        schema_fault(self, known, "must be a word, not %s", schema_value_words(value));
}

/* ---- Lists and mappings ---- */

gboolean
schema_expect(SchemaReader *self, const SchemaType *type, const json_t *value, json_type wanted)
{
    if (json_typeof(value) == wanted)
        return TRUE;
    fault_not(self, type, value);
    return FALSE;
}

static void
read_strings(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    if (!schema_expect(self, type, value, JSON_ARRAY))
        return;

    gsize n = json_array_size(value);
    const char **strings = schema_alloc(self, (n + 1) * sizeof *strings);
    for (gsize i = 0; i < n; i++) {
        SchemaPlace place = schema_enter_item(self, value, i);
        strings[i] = "";
        schema_read(self, &schema_string, json_array_get(value, i), &strings[i]);
        schema_leave(self, place);
    }
    *(const char ***)target = strings;
}

static void
read_json(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    const char *key;
    json_t *member;

    if (type == &schema_any ||
        schema_expect(self, type, value, type == &schema_list_any ? JSON_ARRAY : JSON_OBJECT))
        *(const json_t **)target = value;
    if (type->item == NULL || !json_is_object(value))
        return;
    json_object_foreach((json_t *)value, key, member)
    {
        union {
            int64_t number;
            int truth;
            const char *text;
        } scratch;
        SchemaPlace place = schema_enter_member(self, value, key);
        schema_read(self, type->item, member, &scratch);
        schema_leave(self, place);
    }
}

void
schema_read_list(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
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

static const SchemaField *
field_find(const SchemaField *fields, const char *name)
{
    for (; fields->name != NULL; fields++)
        if (g_str_equal(fields->name, name))
            return fields;
    return NULL;
}

static void
fault_unknown_field(SchemaReader *self,
                    const SchemaField *fields,
                    const json_t *object,
                    const char *key)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (; fields->name != NULL; fields++)
        g_ptr_array_add(names, (char *)fields->name);
    g_autofree char *nearest = schema_nearest(key, (const char *const *)names->pdata, names->len);
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    g_autofree char *known = g_strdup_printf("known: %s", all);
    schema_fault_member(self, object, key, nearest != NULL ? nearest : known, "unknown field");
}

void
schema_read_fields(SchemaReader *self,
                   const SchemaField *fields,
                   const json_t *value,
                   void *target,
                   gboolean is_part)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)value, key, member)
    {
        const SchemaField *field = field_find(fields, key);
        if (field == NULL) {
            fault_unknown_field(self, fields, value, key);
            continue;
        }
        SchemaPlace place = schema_enter_member(self, value, key);
        schema_read(self, field->type, member, (char *)target + field->offset);
        schema_leave(self, place);
    }
    for (const SchemaField *field = fields; field->name != NULL && !is_part; field++)
        if ((field->flags & SCHEMA_REQUIRED) != 0 && json_object_get(value, field->name) == NULL)
            schema_fault(self, field->help, "\"%s\" is missing", field->name);
}

void
schema_read_struct(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    if (type->init != NULL)
        type->init(target);
    if (!schema_expect(self, type, value, JSON_OBJECT))
        return;
    schema_read_fields(self, type->fields, value, target, FALSE);
    if (type->check != NULL)
        type->check(self, value, target);
}

/* ---- Distributions ---- */

static SimDist *dist_from_json(SchemaReader *self, const json_t *value);

typedef struct {
    GPtrArray *blocks; /* of what the arguments lead to */
    GPtrArray *dists;
} ArgMemory;

static gboolean
arg_from_scalar(SchemaReader *self, const json_t *value, SimDistArg *arg)
{
    if (json_is_number(value)) {
        arg->number = json_number_value(value);
        return TRUE;
    }
    arg->is_time = TRUE;
    return value_duration(self, &schema_duration, value, &arg->time);
}

/* A part of a mixture: {weight: 3, lognormal: {...}}. */
static gboolean
arg_from_part(SchemaReader *self, const json_t *value, SimDistArg *arg, ArgMemory *memory)
{
    const json_t *weight = json_object_get(value, "weight");
    json_auto_t *rest = json_copy((json_t *)value);

    arg->number = 1;
    if (weight != NULL)
        schema_read(self, &schema_rate, weight, &arg->number);
    json_object_del(rest, "weight");
    yaml_positions_copy(self->positions, value, rest);
    SimDist *dist = dist_from_json(self, rest);
    if (dist == NULL)
        return FALSE;
    g_ptr_array_add(memory->dists, dist);
    arg->dist = dist;
    return TRUE;
}

static gboolean
arg_from_json(SchemaReader *self, const json_t *value, SimDistArg *arg, ArgMemory *memory)
{
    gboolean ok = TRUE;

    if (json_is_object(value))
        return arg_from_part(self, value, arg, memory);
    if (!json_is_array(value))
        return arg_from_scalar(self, value, arg);

    SimDistArg *items = g_new0(SimDistArg, json_array_size(value) + 1);
    g_ptr_array_add(memory->blocks, items);
    arg->items = items;
    arg->n_items = (unsigned)json_array_size(value);
    for (gsize i = 0; i < json_array_size(value); i++) {
        SchemaPlace place = schema_enter_item(self, value, i);
        ok &= arg_from_json(self, json_array_get(value, i), &items[i], memory);
        schema_leave(self, place);
    }
    return ok;
}

/* [1s, 5s] are two arguments by their places; a list of lists or parts is one argument. */
static gboolean
is_one_argument(const json_t *list)
{
    const json_t *first = json_array_get(list, 0);
    return json_is_array(first) || json_is_object(first);
}

static gboolean
args_from_json(SchemaReader *self, const json_t *value, GArray *args, ArgMemory *memory)
{
    const char *key;
    json_t *member;
    gboolean ok = TRUE;

    if (json_is_array(value) && !is_one_argument(value)) {
        for (gsize i = 0; i < json_array_size(value); i++) {
            SimDistArg arg = {0};
            SchemaPlace place = schema_enter_item(self, value, i);
            ok &= arg_from_json(self, json_array_get(value, i), &arg, memory);
            schema_leave(self, place);
            g_array_append_val(args, arg);
        }
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, member)
        {
            SimDistArg arg = {.name = key};
            SchemaPlace place = schema_enter_member(self, value, key);
            ok &= arg_from_json(self, member, &arg, memory);
            schema_leave(self, place);
            g_array_append_val(args, arg);
        }
    } else {
        SimDistArg arg = {0};
        ok = arg_from_json(self, value, &arg, memory);
        g_array_append_val(args, arg);
    }
    return ok;
}

static SimDist *
dist_of_kind(SchemaReader *self, const char *kind, const json_t *value)
{
    ArgMemory memory = {
        g_ptr_array_new_with_free_func(g_free),
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_dist_unref),
    };
    g_autoptr(GArray) args = g_array_new(FALSE, TRUE, sizeof(SimDistArg));
    g_autoptr(GError) error = NULL;
    SimDist *dist = NULL;

    if (args_from_json(self, value, args, &memory)) {
        dist = sim_dist_new(kind, (const SimDistArg *)args->data, args->len, &error);
        if (dist == NULL)
            schema_fault(self, NULL, "%s", error->message);
    }
    g_ptr_array_unref(memory.blocks);
    g_ptr_array_unref(memory.dists);
    return dist;
}

static void
fault_dist_kind(SchemaReader *self, const json_t *value, const char *kind)
{
    g_auto(GStrv) kinds = g_strsplit(sim_dist_kinds(), ", ", -1);
    g_autofree char *nearest =
        schema_nearest(kind, (const char *const *)kinds, g_strv_length(kinds));
    g_autofree char *known = g_strdup_printf("known: %s", sim_dist_kinds());

    schema_fault_member(self, value, kind, nearest != NULL ? nearest : known,
                        "unknown distribution");
}

/* 1.2s, or {lognormal: {p50: 1.2s, p99: 4s}}. Returns: (owned): NULL after a fault */
static SimDist *
dist_from_json(SchemaReader *self, const json_t *value)
{
    if (!json_is_object(value)) {
        SimTime time;
        if (!value_duration(self, &schema_dist, value, &time))
            return NULL;
        if (time < 0) {
            schema_fault(self, NULL, "\"%s\" is negative", json_string_value(value));
            return NULL;
        }
        return sim_dist_new_constant(time);
    }
    if (json_object_size(value) != 1) {
        schema_fault(self, schema_dist.hint, "must have one key, the kind of distribution");
        return NULL;
    }

    const char *kind = json_object_iter_key(json_object_iter((json_t *)value));
    if (sim_dist_kind_args(kind) == NULL) {
        fault_dist_kind(self, value, kind);
        return NULL;
    }
    SchemaPlace place = schema_enter_member(self, value, kind);
    SimDist *dist = dist_of_kind(self, kind, json_object_get(value, kind));
    schema_leave(self, place);
    return dist;
}

static void
read_dist(SchemaReader *self, const SchemaType *type, const json_t *value, void *target)
{
    SimDist *dist = dist_from_json(self, value);

    (void)type;
    if (dist == NULL)
        return;
    g_ptr_array_add(self->dists, dist);
    *(SimDist **)target = dist;
}

/* ---- JSON Schema ---- */

json_t *
schema_json_any(const SchemaType *type)
{
    (void)type;
    return json_object();
}

static json_t *
schema_json_string(const SchemaType *type)
{
    if (type == &schema_text)
        return json_pack("{s:s}", "type", "string");
    return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
}

static json_t *
schema_json_bool(const SchemaType *type)
{
    (void)type;
    return json_pack("{s:s}", "type", "boolean");
}

json_t *
schema_json_integer(const SchemaType *type)
{
    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)type->min,
                     "maximum", (json_int_t)type->max);
}

static json_t *
schema_json_number(const SchemaType *type)
{
    return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", type->min, "maximum",
                     type->max);
}

static json_t *
schema_json_ref(const SchemaType *type)
{
    g_autofree char *ref = g_strdup_printf("#/$defs/%s", type->name);
    return json_pack("{s:s}", "$ref", ref);
}

static json_t *
schema_json_map(const SchemaType *type)
{
    json_t *schema = json_pack("{s:s}", "type", "object");

    if (type->item != NULL)
        json_object_set_new(schema, "additionalProperties", type->item->schema(type->item));
    return schema;
}

static json_t *
schema_json_array(const SchemaType *type)
{
    (void)type;
    return json_pack("{s:s}", "type", "array");
}

json_t *
schema_json_strings(const SchemaType *type)
{
    (void)type;
    return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
}

json_t *
schema_json_list(const SchemaType *type)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", type->item->schema(type->item));
}

json_t *
schema_json_enum(const SchemaType *type)
{
    json_t *words = json_array();

    for (unsigned i = 0; type->words[i] != NULL; i++)
        json_array_append_new(words, json_string(type->words[i]));
    return json_pack("{s:o}", "enum", words);
}

json_t *
schema_json_struct(const SchemaType *type)
{
    json_t *properties = json_object();
    json_t *required = json_array();

    for (const SchemaField *field = type->fields; field->name != NULL; field++) {
        json_t *schema = field->type->schema(field->type);
        if (field->help != NULL)
            json_object_set_new(schema, "description", json_string(field->help));
        json_object_set_new(properties, field->name, schema);
        if ((field->flags & SCHEMA_REQUIRED) != 0)
            json_array_append_new(required, json_string(field->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

json_t *
schema_json_document(const SchemaType *type, const char *title)
{
    json_t *schema = type->schema(type);
    json_t *definitions = json_pack(
        "{s:{s:[s,s], s:s, s:s}, s:{s:[s,s], s:s}, s:{s:[{s:s}, {s:s, s:i, s:i}], s:s}}",
        "duration", "type", "string", "integer", "pattern", "^([0-9.]+(ns|us|ms|s|m|h))+$|^0$",
        "description", "as Go writes it: 1h2m3.5s", "quantity", "type", "string", "number",
        "description", "as Kubernetes writes it: 10Gi, 500m", "distribution", "anyOf", "$ref",
        "#/$defs/duration", "type", "object", "minProperties", 1, "maxProperties", 1, "description",
        "a duration, or {kind: arguments}");

    json_object_set_new(schema, "$schema",
                        json_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_set_new(schema, "title", json_string(title));
    json_object_set_new(schema, "$defs", definitions);
    return schema;
}

/* ---- The reference ---- */

/* The struct below a type, through lists. NULL: none */
static const SchemaType *
struct_below(const SchemaType *type)
{
    while (type != NULL && type->fields == NULL)
        type = type->item;
    return type;
}

static void
append_type(const SchemaType *type, GString *text)
{
    if (type->words != NULL) {
        g_autofree char *words = g_strjoinv("`, `", (char **)type->words);
        g_string_append_printf(text, "`%s`", words);
    } else if (type->item != NULL && type->read == schema_read_list) {
        g_string_append(text, "list of ");
        append_type(type->item, text);
    } else {
        g_string_append(text, type->name);
    }
}

void
schema_reference(const SchemaType *type, const char *title, unsigned level, GString *text)
{
    g_string_append_printf(text, "\n%.*s `%s`\n\n", (int)MIN(level, 6), "######", title);
    g_string_append(text, "| field | what | default | meaning |\n|---|---|---|---|\n");
    for (const SchemaField *field = type->fields; field->name != NULL; field++) {
        g_string_append_printf(text, "| `%s` | ", field->name);
        append_type(field->type, text);
        g_string_append_printf(text, " | %s | %s |\n",
                               (field->flags & SCHEMA_REQUIRED) != 0 ? "required"
                               : field->default_text != NULL         ? field->default_text
                                                                     : "",
                               field->help != NULL ? field->help : "");
    }
    for (const SchemaField *field = type->fields; field->name != NULL; field++) {
        const SchemaType *below = struct_below(field->type);
        if (below == NULL)
            continue;
        g_autofree char *path = g_strdup_printf("%s.%s%s", title, field->name,
                                                field->type->read == schema_read_list ? "[]" : "");
        schema_reference(below, path, level + 1, text);
    }
}

/* ---- The types ---- */

/* clang-format off */
#define WHOLE(type_name, low, high) { \
    .name = (type_name), .wanted = "a whole number", .read = read_unsigned, .schema = schema_json_integer, \
    .size = sizeof(unsigned), .min = (low), .max = (high)}
#define NUMBER(type_name, what, low, high) { \
    .name = (type_name), .wanted = (what), .read = read_number, .schema = schema_json_number, .size = sizeof(double), \
    .min = (low), .max = (high)}
#define MAPPING(type_name, of) { \
    .name = (type_name), .wanted = "a mapping", .read = read_json, .schema = schema_json_map, .item = (of), \
    .size = sizeof(json_t *)}
/* clang-format on */

const SchemaType schema_string = {.name = "text",
                                  .wanted = "text",
                                  .read = read_text,
                                  .schema = schema_json_string,
                                  .size = sizeof(char *)};
const SchemaType schema_text = {.name = "text",
                                .wanted = "text",
                                .read = read_text,
                                .schema = schema_json_string,
                                .size = sizeof(char *)};
const SchemaType schema_bool = {.name = "true or false",
                                .wanted = "true or false",
                                .read = read_bool,
                                .schema = schema_json_bool,
                                .size = sizeof(gboolean)};
const SchemaType schema_tristate = {.name = "true or false",
                                    .wanted = "true or false",
                                    .read = read_bool,
                                    .schema = schema_json_bool,
                                    .size = sizeof(int)};
const SchemaType schema_count = WHOLE("count", 1, COUNT_MAX);
const SchemaType schema_natural = WHOLE("whole number", 0, COUNT_MAX);
const SchemaType schema_integer = {.name = "whole number",
                                   .wanted = "a whole number",
                                   .read = schema_read_integer,
                                   .schema = schema_json_integer,
                                   .size = sizeof(int64_t),
                                   .min = 0,
                                   .max = INTEGER_MAX};
const SchemaType schema_probability =
    NUMBER("probability", "a probability: more than 0, at most 1", 1e-12, 1);
const SchemaType schema_quantile = NUMBER("quantile", "a quantile: from 0 to 1", 0, 1);
const SchemaType schema_rate = NUMBER("number", "a number from 0 to 1000000", 0, COUNT_MAX);
const SchemaType schema_exponent = NUMBER("exponent", "an exponent from -4 to 4", -4, 4);
const SchemaType schema_duration = {.name = "duration",
                                    .wanted = "a duration",
                                    .hint = "such as 1.5s, 250ms or 1h30m",
                                    .read = read_duration,
                                    .schema = schema_json_ref,
                                    .size = sizeof(SimTime)};
const SchemaType schema_dist = {.name = "distribution",
                                .wanted = "a duration or a distribution",
                                .hint = "such as 1.5s or {lognormal: {p50: 1.2s, p99: 4s}}",
                                .read = read_dist,
                                .schema = schema_json_ref,
                                .size = sizeof(SimDist *)};
const SchemaType schema_quantity = {.name = "quantity",
                                    .wanted = "a quantity",
                                    .hint = "such as 10Gi",
                                    .read = read_quantity,
                                    .schema = schema_json_ref,
                                    .size = sizeof(int64_t)};
const SchemaType schema_strings = {.name = "list of text",
                                   .wanted = "a list",
                                   .hint = "such as [a, b]",
                                   .read = read_strings,
                                   .schema = schema_json_strings,
                                   .size = sizeof(char **)};
const SchemaType schema_any = {.name = "anything",
                               .wanted = "a value",
                               .read = read_json,
                               .schema = schema_json_any,
                               .size = sizeof(json_t *)};
const SchemaType schema_list_any = {.name = "list",
                                    .wanted = "a list",
                                    .read = read_json,
                                    .schema = schema_json_array,
                                    .size = sizeof(json_t *)};
const SchemaType schema_object = MAPPING("mapping", NULL);
const SchemaType schema_string_map = MAPPING("mapping of text", &schema_text);
const SchemaType schema_resources = MAPPING("mapping of quantities", &schema_quantity);
const SchemaType schema_bool_map = MAPPING("mapping of true or false", &schema_bool);
