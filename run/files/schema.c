/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schema.h"

#include <inttypes.h>
#include <string.h>

#include "models/api/fields.h"

#define COUNT_MAX 1000000.0
#define INTEGER_MAX 9007199254740992.0 /* 2^53: exact in a double, as JSON has it */

void
format_reader_init(FormatReader *self, YamlPositions *positions, GPtrArray *faults)
{
    *self = (FormatReader){
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
format_reader_clear(FormatReader *self)
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
    *self = (FormatReader){0};
}

/* ---- Where the reader is, and faults there ---- */

FormatPlace
format_enter_member(FormatReader *self, const json_t *object, const char *key)
{
    FormatPlace place = {self->path->len, self->at};

    g_string_append_printf(self->path, "%s%s", self->path->len > 0 ? "." : "", key);
    yaml_positions_member(self->positions, object, key, &self->at);
    return place;
}

FormatPlace
format_enter_item(FormatReader *self, const json_t *array, gsize index)
{
    FormatPlace place = {self->path->len, self->at};

    g_string_append_printf(self->path, "[%zu]", index);
    yaml_positions_item(self->positions, array, index, &self->at);
    return place;
}

void
format_leave(FormatReader *self, FormatPlace place)
{
    g_string_truncate(self->path, place.path_length);
    self->at = place.at;
}

FormatJump
format_go(FormatReader *self, const YamlPosition *at, const char *path)
{
    FormatJump jump = {self->path, self->at};

    self->path = g_string_new(path);
    self->at = *at;
    return jump;
}

FormatJump
format_go_file(FormatReader *self, const json_t *value)
{
    YamlPosition at = self->at;

    yaml_positions_find(self->positions, value, &at);
    return format_go(self, &at, "");
}

void
format_come_back(FormatReader *self, FormatJump jump)
{
    g_string_free(self->path, TRUE);
    self->path = jump.path;
    self->at = jump.at;
}

void
format_fault(FormatReader *self, const char *hint, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    file_faults_add(self->faults, &self->at, self->path->str, message, hint);
}

void
format_fault_member(FormatReader *self,
                    const json_t *object,
                    const char *key,
                    const char *hint,
                    const char *format,
                    ...)
{
    va_list arguments;
    FormatPlace place = format_enter_member(self, object, key);

    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    yaml_positions_key(self->positions, object, key, &self->at);
    file_faults_add(self->faults, &self->at, self->path->str, message, hint);
    format_leave(self, place);
}

char *
format_nearest(const char *text, const char *const *known, unsigned n_known)
{
    const char *nearest = name_nearest(text, known, n_known);
    return nearest != NULL ? g_strdup_printf("did you mean \"%s\"?", nearest) : NULL;
}

void *
format_alloc(FormatReader *self, gsize size)
{
    void *block = g_malloc0(MAX(size, 1));
    g_ptr_array_add(self->blocks, block);
    return block;
}

const char *
format_intern(FormatReader *self, const char *text)
{
    return strings_intern(self->strings, text);
}

const char *
format_json_words(const json_t *value)
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
format_scalar_text(const json_t *value)
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
fault_not(FormatReader *self, const FormatType *type, const json_t *value)
{
    g_autofree char *text = json_is_null(value) ? NULL : format_scalar_text(value);

    if (text != NULL)
        format_fault(self, type->hint, "\"%s\" is not %s", text, type->wanted);
    else
        format_fault(self, type->hint, "must be %s, not %s", type->wanted,
                     format_json_words(value));
}

void
format_read(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    type->read(self, type, value, target);
}

/* ---- Scalars ---- */

static void
read_text(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value);

    if (text != NULL && (*text != '\0' || type == &format_text)) {
        *(const char **)target = format_intern(self, text);
        return;
    }
    if (text != NULL)
        format_fault(self, NULL, "must not be empty");
    else if (json_is_boolean(value) || json_is_number(value))
        format_fault(self, "put it in quotes", "must be text, not %s", format_json_words(value));
    else
        fault_not(self, type, value);
}

static void
read_bool(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    if (json_is_boolean(value))
        *(int *)target = json_is_true(value);
    else
        fault_not(self, type, value);
}

static gboolean
read_whole(FormatReader *self, const FormatType *type, const json_t *value, int64_t *number)
{
    if (!json_is_integer(value)) {
        fault_not(self, type, value);
        return FALSE;
    }
    *number = json_integer_value(value);
    if ((double)*number >= type->min && (double)*number <= type->max)
        return TRUE;
    if ((double)*number < type->min)
        format_fault(self, NULL, "%" PRId64 " is too small: at least %.0f", *number, type->min);
    else
        format_fault(self, NULL, "%" PRId64 " is too big: at most %.0f", *number, type->max);
    return FALSE;
}

static void
read_unsigned(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    int64_t number;

    if (read_whole(self, type, value, &number))
        *(unsigned *)target = (unsigned)number;
}

void
format_read_integer(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    int64_t number;

    if (read_whole(self, type, value, &number))
        *(int64_t *)target = number;
}

static void
read_number(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    double number = json_number_value(value);

    if (json_is_number(value) && number >= type->min && number <= type->max)
        *(double *)target = number;
    else
        fault_not(self, type, value);
}

/* Returns: FALSE, and a fault, if it is none. 0 needs no unit */
static gboolean
value_duration(FormatReader *self, const FormatType *type, const json_t *value, SimTime *time)
{
    g_autoptr(GError) error = NULL;

    if (json_is_integer(value) && json_integer_value(value) == 0) {
        *time = 0;
        return TRUE;
    }
    if (json_is_number(value)) {
        g_autofree char *text = format_scalar_text(value);
        g_autofree char *hint = g_strdup_printf("\"%ss\"?", text);
        format_fault(self, hint, "%s has no unit", text);
        return FALSE;
    }
    if (!json_is_string(value) || !sim_time_parse(json_string_value(value), time, &error)) {
        fault_not(self, type, value);
        return FALSE;
    }
    return TRUE;
}

static void
read_duration(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    SimTime time;

    if (!value_duration(self, type, value, &time))
        return;
    if (time < 0)
        format_fault(self, NULL, "\"%s\" is negative", json_string_value(value));
    else
        *(SimTime *)target = time;
}

static void
read_quantity(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    g_autofree char *text =
        json_is_string(value) || json_is_number(value) ? format_scalar_text(value) : NULL;
    int64_t number;

    if (text == NULL || !quantity_parse(text, &number, NULL, NULL))
        fault_not(self, type, value);
    else if (number < 0)
        format_fault(self, NULL, "\"%s\" is negative", text);
    else if (target != NULL)
        *(int64_t *)target = number;
}

void
format_read_enum(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value);
    unsigned n = 0;

    for (; type->words[n] != NULL; n++)
        if (g_strcmp0(type->words[n], text) == 0) {
            *(int *)target = (int)n;
            return;
        }
    g_autofree char *nearest = text != NULL ? format_nearest(text, type->words, n) : NULL;
    g_autofree char *all = g_strjoinv(", ", (char **)type->words);
    g_autofree char *known = g_strdup_printf("one of %s", all);
    if (text != NULL)
        format_fault(self, nearest != NULL ? nearest : known, "\"%s\" is not known here", text);
    else
        format_fault(self, known, "must be a word, not %s", format_json_words(value));
}

/* ---- Lists and mappings ---- */

gboolean
format_expect(FormatReader *self, const FormatType *type, const json_t *value, json_type wanted)
{
    if (json_typeof(value) == wanted)
        return TRUE;
    fault_not(self, type, value);
    return FALSE;
}

static void
read_strings(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    if (!format_expect(self, type, value, JSON_ARRAY))
        return;

    gsize n = json_array_size(value);
    const char **strings = format_alloc(self, (n + 1) * sizeof *strings);
    for (gsize i = 0; i < n; i++) {
        FormatPlace place = format_enter_item(self, value, i);
        strings[i] = "";
        format_read(self, &format_string, json_array_get(value, i), &strings[i]);
        format_leave(self, place);
    }
    *(const char ***)target = strings;
}

static void
read_json(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    const char *key;
    json_t *member;

    if (type == &format_any ||
        format_expect(self, type, value, type == &format_list_any ? JSON_ARRAY : JSON_OBJECT))
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
        FormatPlace place = format_enter_member(self, value, key);
        format_read(self, type->item, member, &scratch);
        format_leave(self, place);
    }
}

void
format_read_list(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    FormatList *list = target;

    if (!format_expect(self, type, value, JSON_ARRAY))
        return;
    list->n = (unsigned)json_array_size(value);
    list->items = format_alloc(self, list->n * type->item->size);
    for (unsigned i = 0; i < list->n; i++) {
        FormatPlace place = format_enter_item(self, value, i);
        format_read(self, type->item, json_array_get(value, i),
                    (char *)list->items + i * type->item->size);
        format_leave(self, place);
    }
}

static const FormatField *
field_find(const FormatField *fields, const char *name)
{
    for (; fields->name != NULL; fields++)
        if (g_str_equal(fields->name, name))
            return fields;
    return NULL;
}

static void
fault_unknown_field(FormatReader *self,
                    const FormatField *fields,
                    const json_t *object,
                    const char *key)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (; fields->name != NULL; fields++)
        g_ptr_array_add(names, (char *)fields->name);
    g_autofree char *nearest = format_nearest(key, (const char *const *)names->pdata, names->len);
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    g_autofree char *known = g_strdup_printf("known: %s", all);
    format_fault_member(self, object, key, nearest != NULL ? nearest : known, "unknown field");
}

void
format_read_fields(FormatReader *self,
                   const FormatField *fields,
                   const json_t *value,
                   void *target,
                   gboolean is_part)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)value, key, member)
    {
        const FormatField *field = field_find(fields, key);
        if (field == NULL) {
            fault_unknown_field(self, fields, value, key);
            continue;
        }
        FormatPlace place = format_enter_member(self, value, key);
        format_read(self, field->type, member, (char *)target + field->offset);
        format_leave(self, place);
    }
    for (const FormatField *field = fields; field->name != NULL && !is_part; field++)
        if ((field->flags & FORMAT_REQUIRED) != 0 && json_object_get(value, field->name) == NULL)
            format_fault(self, field->help, "\"%s\" is missing", field->name);
}

void
format_read_struct(FormatReader *self, const FormatType *type, const json_t *value, void *target)
{
    if (type->init != NULL)
        type->init(target);
    if (!format_expect(self, type, value, JSON_OBJECT))
        return;
    format_read_fields(self, type->fields, value, target, FALSE);
    if (type->check != NULL)
        type->check(self, value, target);
}

/* ---- Distributions ---- */

static SimDist *dist_from_json(FormatReader *self, const json_t *value);

typedef struct {
    GPtrArray *blocks; /* of what the arguments lead to */
    GPtrArray *dists;
} ArgMemory;

static gboolean
arg_from_scalar(FormatReader *self, const json_t *value, SimDistArg *arg)
{
    if (json_is_number(value)) {
        arg->number = json_number_value(value);
        return TRUE;
    }
    arg->is_time = TRUE;
    return value_duration(self, &format_duration, value, &arg->time);
}

/* A part of a mixture: {weight: 3, lognormal: {...}}. */
static gboolean
arg_from_part(FormatReader *self, const json_t *value, SimDistArg *arg, ArgMemory *memory)
{
    const json_t *weight = json_object_get(value, "weight");
    json_auto_t *rest = json_copy((json_t *)value);

    arg->number = 1;
    if (weight != NULL)
        format_read(self, &format_rate, weight, &arg->number);
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
arg_from_json(FormatReader *self, const json_t *value, SimDistArg *arg, ArgMemory *memory)
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
        FormatPlace place = format_enter_item(self, value, i);
        ok &= arg_from_json(self, json_array_get(value, i), &items[i], memory);
        format_leave(self, place);
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
args_from_json(FormatReader *self, const json_t *value, GArray *args, ArgMemory *memory)
{
    const char *key;
    json_t *member;
    gboolean ok = TRUE;

    if (json_is_array(value) && !is_one_argument(value)) {
        for (gsize i = 0; i < json_array_size(value); i++) {
            SimDistArg arg = {0};
            FormatPlace place = format_enter_item(self, value, i);
            ok &= arg_from_json(self, json_array_get(value, i), &arg, memory);
            format_leave(self, place);
            g_array_append_val(args, arg);
        }
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, member)
        {
            SimDistArg arg = {.name = key};
            FormatPlace place = format_enter_member(self, value, key);
            ok &= arg_from_json(self, member, &arg, memory);
            format_leave(self, place);
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
dist_of_kind(FormatReader *self, const char *kind, const json_t *value)
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
            format_fault(self, NULL, "%s", error->message);
    }
    g_ptr_array_unref(memory.blocks);
    g_ptr_array_unref(memory.dists);
    return dist;
}

static void
fault_dist_kind(FormatReader *self, const json_t *value, const char *kind)
{
    g_auto(GStrv) kinds = g_strsplit(sim_dist_kinds(), ", ", -1);
    g_autofree char *nearest =
        format_nearest(kind, (const char *const *)kinds, g_strv_length(kinds));
    g_autofree char *known = g_strdup_printf("known: %s", sim_dist_kinds());

    format_fault_member(self, value, kind, nearest != NULL ? nearest : known,
                        "unknown distribution");
}

/* 1.2s, or {lognormal: {p50: 1.2s, p99: 4s}}. Returns: (owned): NULL after a fault */
static SimDist *
dist_from_json(FormatReader *self, const json_t *value)
{
    if (!json_is_object(value)) {
        SimTime time;
        if (!value_duration(self, &format_dist, value, &time))
            return NULL;
        if (time < 0) {
            format_fault(self, NULL, "\"%s\" is negative", json_string_value(value));
            return NULL;
        }
        return sim_dist_new_constant(time);
    }
    if (json_object_size(value) != 1) {
        format_fault(self, format_dist.hint, "must have one key, the kind of distribution");
        return NULL;
    }

    const char *kind = json_object_iter_key(json_object_iter((json_t *)value));
    if (sim_dist_kind_args(kind) == NULL) {
        fault_dist_kind(self, value, kind);
        return NULL;
    }
    FormatPlace place = format_enter_member(self, value, kind);
    SimDist *dist = dist_of_kind(self, kind, json_object_get(value, kind));
    format_leave(self, place);
    return dist;
}

static void
read_dist(FormatReader *self, const FormatType *type, const json_t *value, void *target)
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
format_schema_any(const FormatType *type)
{
    (void)type;
    return json_object();
}

static json_t *
schema_string(const FormatType *type)
{
    if (type == &format_text)
        return json_pack("{s:s}", "type", "string");
    return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
}

static json_t *
schema_bool(const FormatType *type)
{
    (void)type;
    return json_pack("{s:s}", "type", "boolean");
}

json_t *
format_schema_integer(const FormatType *type)
{
    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)type->min,
                     "maximum", (json_int_t)type->max);
}

static json_t *
schema_number(const FormatType *type)
{
    return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", type->min, "maximum",
                     type->max);
}

static json_t *
schema_ref(const FormatType *type)
{
    g_autofree char *ref = g_strdup_printf("#/$defs/%s", type->name);
    return json_pack("{s:s}", "$ref", ref);
}

static json_t *
schema_map(const FormatType *type)
{
    json_t *schema = json_pack("{s:s}", "type", "object");

    if (type->item != NULL)
        json_object_set_new(schema, "additionalProperties", type->item->schema(type->item));
    return schema;
}

static json_t *
schema_array(const FormatType *type)
{
    (void)type;
    return json_pack("{s:s}", "type", "array");
}

json_t *
format_schema_strings(const FormatType *type)
{
    (void)type;
    return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
}

json_t *
format_schema_list(const FormatType *type)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", type->item->schema(type->item));
}

json_t *
format_schema_enum(const FormatType *type)
{
    json_t *words = json_array();

    for (unsigned i = 0; type->words[i] != NULL; i++)
        json_array_append_new(words, json_string(type->words[i]));
    return json_pack("{s:o}", "enum", words);
}

json_t *
format_schema_struct(const FormatType *type)
{
    json_t *properties = json_object();
    json_t *required = json_array();

    for (const FormatField *field = type->fields; field->name != NULL; field++) {
        json_t *schema = field->type->schema(field->type);
        if (field->help != NULL)
            json_object_set_new(schema, "description", json_string(field->help));
        json_object_set_new(properties, field->name, schema);
        if ((field->flags & FORMAT_REQUIRED) != 0)
            json_array_append_new(required, json_string(field->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

json_t *
format_schema_document(const FormatType *type, const char *title)
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
static const FormatType *
struct_below(const FormatType *type)
{
    while (type != NULL && type->fields == NULL)
        type = type->item;
    return type;
}

static void
append_type(const FormatType *type, GString *text)
{
    if (type->words != NULL) {
        g_autofree char *words = g_strjoinv("`, `", (char **)type->words);
        g_string_append_printf(text, "`%s`", words);
    } else if (type->item != NULL && type->read == format_read_list) {
        g_string_append(text, "list of ");
        append_type(type->item, text);
    } else {
        g_string_append(text, type->name);
    }
}

void
format_reference(const FormatType *type, const char *title, unsigned level, GString *text)
{
    g_string_append_printf(text, "\n%.*s `%s`\n\n", (int)MIN(level, 6), "######", title);
    g_string_append(text, "| field | what | default | meaning |\n|---|---|---|---|\n");
    for (const FormatField *field = type->fields; field->name != NULL; field++) {
        g_string_append_printf(text, "| `%s` | ", field->name);
        append_type(field->type, text);
        g_string_append_printf(text, " | %s | %s |\n",
                               (field->flags & FORMAT_REQUIRED) != 0 ? "required"
                               : field->default_text != NULL         ? field->default_text
                                                                     : "",
                               field->help != NULL ? field->help : "");
    }
    for (const FormatField *field = type->fields; field->name != NULL; field++) {
        const FormatType *below = struct_below(field->type);
        if (below == NULL)
            continue;
        g_autofree char *path = g_strdup_printf("%s.%s%s", title, field->name,
                                                field->type->read == format_read_list ? "[]" : "");
        format_reference(below, path, level + 1, text);
    }
}

/* ---- The types ---- */

/* clang-format off */
#define WHOLE(type_name, low, high) { \
    .name = (type_name), .wanted = "a whole number", .read = read_unsigned, .schema = format_schema_integer, \
    .size = sizeof(unsigned), .min = (low), .max = (high)}
#define NUMBER(type_name, what, low, high) { \
    .name = (type_name), .wanted = (what), .read = read_number, .schema = schema_number, .size = sizeof(double), \
    .min = (low), .max = (high)}
#define MAPPING(type_name, of) { \
    .name = (type_name), .wanted = "a mapping", .read = read_json, .schema = schema_map, .item = (of), \
    .size = sizeof(json_t *)}
/* clang-format on */

const FormatType format_string = {.name = "text",
                                  .wanted = "text",
                                  .read = read_text,
                                  .schema = schema_string,
                                  .size = sizeof(char *)};
const FormatType format_text = {.name = "text",
                                .wanted = "text",
                                .read = read_text,
                                .schema = schema_string,
                                .size = sizeof(char *)};
const FormatType format_bool = {.name = "true or false",
                                .wanted = "true or false",
                                .read = read_bool,
                                .schema = schema_bool,
                                .size = sizeof(gboolean)};
const FormatType format_tristate = {.name = "true or false",
                                    .wanted = "true or false",
                                    .read = read_bool,
                                    .schema = schema_bool,
                                    .size = sizeof(int)};
const FormatType format_count = WHOLE("count", 1, COUNT_MAX);
const FormatType format_natural = WHOLE("whole number", 0, COUNT_MAX);
const FormatType format_integer = {.name = "whole number",
                                   .wanted = "a whole number",
                                   .read = format_read_integer,
                                   .schema = format_schema_integer,
                                   .size = sizeof(int64_t),
                                   .min = 0,
                                   .max = INTEGER_MAX};
const FormatType format_probability =
    NUMBER("probability", "a probability: more than 0, at most 1", 1e-12, 1);
const FormatType format_quantile = NUMBER("quantile", "a quantile: from 0 to 1", 0, 1);
const FormatType format_rate = NUMBER("number", "a number from 0 to 1000000", 0, COUNT_MAX);
const FormatType format_exponent = NUMBER("exponent", "an exponent from -4 to 4", -4, 4);
const FormatType format_duration = {.name = "duration",
                                    .wanted = "a duration",
                                    .hint = "such as 1.5s, 250ms or 1h30m",
                                    .read = read_duration,
                                    .schema = schema_ref,
                                    .size = sizeof(SimTime)};
const FormatType format_dist = {.name = "distribution",
                                .wanted = "a duration or a distribution",
                                .hint = "such as 1.5s or {lognormal: {p50: 1.2s, p99: 4s}}",
                                .read = read_dist,
                                .schema = schema_ref,
                                .size = sizeof(SimDist *)};
const FormatType format_quantity = {.name = "quantity",
                                    .wanted = "a quantity",
                                    .hint = "such as 10Gi",
                                    .read = read_quantity,
                                    .schema = schema_ref,
                                    .size = sizeof(int64_t)};
const FormatType format_strings = {.name = "list of text",
                                   .wanted = "a list",
                                   .hint = "such as [a, b]",
                                   .read = read_strings,
                                   .schema = format_schema_strings,
                                   .size = sizeof(char **)};
const FormatType format_any = {.name = "anything",
                               .wanted = "a value",
                               .read = read_json,
                               .schema = format_schema_any,
                               .size = sizeof(json_t *)};
const FormatType format_list_any = {.name = "list",
                                    .wanted = "a list",
                                    .read = read_json,
                                    .schema = schema_array,
                                    .size = sizeof(json_t *)};
const FormatType format_object = MAPPING("mapping", NULL);
const FormatType format_string_map = MAPPING("mapping of text", &format_text);
const FormatType format_resources = MAPPING("mapping of quantities", &format_quantity);
const FormatType format_bool_map = MAPPING("mapping of true or false", &format_bool);
