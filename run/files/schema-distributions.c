/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "schema-private.h"

static SimDist *dist_from_json(SchemaReader *self, const json_t *value);

typedef struct {
    GPtrArray *blocks; /* lists of arguments */
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
    return schema_duration_value(self, &schema_duration, value, &arg->time);
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

/* [1s, 5s] has two arguments by position; a list of lists or parts is one argument. */
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

    if (json_is_array(value) && json_array_size(value) == 0) {
        schema_fault(self, NULL, "is an empty list");
        return FALSE;
    }
    if (json_is_array(value) && !is_one_argument(value)) {
        for (gsize i = 0; i < json_array_size(value); i++) {
            SimDistArg arg = {0};
            SchemaPlace place = schema_enter_item(self, value, i);
            ok &= arg_from_json(self, json_array_get(value, i), &arg, memory);
            schema_leave(self, place);
            g_array_append_val(args, arg);
        }
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, member) {
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
    g_autofree char *hint =
        name_hint_or_list(kind, (const char *const *)kinds, g_strv_length(kinds));

    schema_fault_member(self, value, kind, hint, "unknown distribution");
}

/* 1.2s, or {lognormal: {p50: 1.2s, p99: 4s}}. Returns: (owned): NULL after a fault */
static SimDist *
dist_from_json(SchemaReader *self, const json_t *value)
{
    if (!json_is_object(value)) {
        SimTime time;
        if (!schema_duration_value(self, &schema_dist, value, &time))
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
read_dist(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    SimDist *dist = dist_from_json(self, value);

    (void)type;
    if (dist == NULL)
        return;
    g_ptr_array_add(self->dists, dist);
    *(SimDist **)target = dist;
}

const FileType schema_dist =
    SCHEMA_TYPE("distribution",
                "a duration or a distribution",
                read_dist,
                schema_json_ref,
                SimDist *,
                .hint = "such as 1.5s or {lognormal: {p50: 1.2s, p99: 4s}}");
