/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values with a type of the schema: their fields, the difference of two, merging, removing,
 * checking; structured-merge-diff of Kubernetes over JSON. Items of lists are found by their keys,
 * with the defaults of missing keys. An atomic value is one field, and a value without a type is,
 * too. A merged list keeps the applied order; items that were not applied stay before the applied
 * item that follows them. */
#include "typed.h"
#include "sim/strings.h"

#include <string.h>

static gboolean
is_list_type(const SchemaType *type)
{
    return type != NULL && type->shape == SCHEMA_LIST;
}

static gboolean
has_items(const SchemaType *type)
{
    return is_list_type(type) && type->merge != SCHEMA_ATOMIC;
}

/* Whether objects of the type have members; values of no type have. */
static gboolean
has_members(const SchemaType *type)
{
    if (type == NULL || type->shape == SCHEMA_ANY)
        return TRUE;
    return (type->shape == SCHEMA_STRUCT || type->shape == SCHEMA_MAP) &&
           type->merge == SCHEMA_GRANULAR;
}

/* Returns: (owned): "f:NAME" */
static char *
member_step(const char *name)
{
    return g_strconcat("f:", name, NULL);
}

/* Returns: (owned): the value of a key of an item, or its default; NULL: it has none */
static json_t *
key_value(const json_t *item, const SchemaType *element, const char *key)
{
    json_t *value = json_object_get(item, key);
    const SchemaField *field = schema_field(element, key);

    if (value != NULL && !json_is_null(value)) /* no stored item has a null for a key */
        return json_incref(value);
    return field != NULL && field->fallback != NULL
               ? json_loads(field->fallback, JSON_DECODE_ANY, NULL)
               : NULL;
}

/* Returns: (owned): the step to an item of a list; NULL: it has none, and @fault (out) (owned)
 * (nullable) says why */
static char *
item_step(const json_t *item, const SchemaType *list, char **fault)
{
    json_t *keys;
    char *text, *step, *reason = NULL;

    if (list->merge == SCHEMA_SET) {
        if (json_is_object(item))
            reason = g_strdup("associative list without keys has an element that's a map type");
        else if (json_is_array(item))
            reason = g_strdup("not supported: associative list with lists as elements");
        else if (json_is_null(item))
            reason =
                g_strdup("associative list without keys has an element that's an explicit null");
        keys = json_incref((json_t *)item);
    } else {
        if (json_is_null(item))
            reason = g_strdup("associative list with keys may not have a null element");
        else if (!json_is_object(item))
            reason = g_strdup("associative list with keys may not have non-map elements");
        keys = json_object();
        for (const char *const *key = list->keys; reason == NULL && *key != NULL; key++) {
            json_t *value = key_value(item, list->element, *key);

            if (value != NULL)
                json_object_set_new(keys, *key, value);
            else
                reason = g_strdup_printf("associative list with keys has an element that omits key "
                                         "field \"%s\" (and doesn't have default value)",
                                         *key);
        }
    }
    text =
        reason == NULL ? json_dumps(keys, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
    step = text != NULL ? g_strconcat(list->merge == SCHEMA_SET ? "v:" : "k:", text, NULL) : NULL;
    free(text);
    json_decref(keys);
    if (fault != NULL)
        *fault = reason;
    else
        g_free(reason);
    return step;
}

/* The items of a list by their steps: {STEP: [item, ...]}, in the order of the list. Returns:
 * (owned); items without a step are left out */
static json_t *
items_by_step(const json_t *list, const SchemaType *type)
{
    json_t *groups = json_object(), *item;
    gsize i;

    json_array_foreach((json_t *)list, i, item) {
        g_autofree char *step = item_step(item, type, NULL);

        if (step == NULL)
            continue;
        if (json_object_get(groups, step) == NULL)
            json_object_set_new(groups, step, json_array());
        json_array_append(json_object_get(groups, step), item);
    }
    return groups;
}

/* NULL, null, {} and [] have nothing in them. */
static gboolean
typed_is_empty(const json_t *value)
{
    return json_object_size(value) == 0 && json_array_size(value) == 0;
}

static const SchemaType *
step_type(const SchemaType *type, const char *step)
{
    if (*step == 'f')
        return schema_member(type, step + 2);
    return type != NULL ? type->element : NULL;
}

/* ---- The fields of a value ---- */

static void
insert(json_t *set, GPtrArray *steps, const char *step)
{
    g_ptr_array_add(steps, (char *)step);
    field_set_insert(set, steps);
    g_ptr_array_set_size(steps, (gint)steps->len - 1);
}

static void add_fields(json_t *set, GPtrArray *steps, const json_t *value, const SchemaType *type);

static void
add_member_fields(json_t *set, GPtrArray *steps, const json_t *value, const SchemaType *type)
{
    const char *name;
    json_t *member;

    json_object_foreach((json_t *)value, name, member) {
        g_autofree char *step = member_step(name);

        g_ptr_array_add(steps, step);
        add_fields(set, steps, member, schema_member(type, name));
        if (json_is_null(member) || (json_is_object(member) && typed_is_empty(member)) ||
            schema_field(type, name) == NULL)
            field_set_insert(set, steps);
        g_ptr_array_set_size(steps, (gint)steps->len - 1);
    }
}

static void
add_item_fields(json_t *set, GPtrArray *steps, const json_t *value, const SchemaType *type)
{
    json_t *groups = items_by_step(value, type), *items;
    const char *step;

    json_object_foreach(groups, step, items) {
        g_ptr_array_add(steps, (char *)step);
        if (json_array_size(items) == 1)
            add_fields(set, steps, json_array_get(items, 0), type->element);
        field_set_insert(set, steps);
        g_ptr_array_set_size(steps, (gint)steps->len - 1);
    }
    json_decref(groups);
}

static void
add_fields(json_t *set, GPtrArray *steps, const json_t *value, const SchemaType *type)
{
    if (has_items(type))
        add_item_fields(set, steps, value, type);
    else if (has_members(type) && json_is_object(value))
        add_member_fields(set, steps, value, type);
    else if (!has_members(type) || !json_is_null(value) || type == NULL)
        field_set_insert(set, steps);
}

json_t *
typed_field_set(const json_t *value, const SchemaType *type)
{
    json_t *set = json_object();
    g_autoptr(GPtrArray) steps = g_ptr_array_new();

    add_fields(set, steps, value, type);
    return set;
}

/* ---- Two values compared ---- */

/* Adds the members that a struct of Go prints even if nothing is in them. */
static void
typed_complete(json_t *value, const SchemaType *type)
{
    json_t *member;
    const char *name;
    gsize i;

    if (type == NULL)
        return;
    if (type->shape == SCHEMA_STRUCT && json_is_object(value))
        for (const SchemaField *field = type->fields; field->name != NULL; field++) {
            gboolean is_struct = g_strcmp0(field->fallback, "{}") == 0;

            if (json_object_get(value, field->name) == NULL && (is_struct || field->required))
                json_object_set_new(value, field->name, is_struct ? json_object() : json_null());
        }
    json_object_foreach(value, name, member) {
        typed_complete(member, schema_member(type, name));
    }
    json_array_foreach(value, i, member) {
        typed_complete(member, type->element);
    }
}

static void typed_compare(TypedComparison *self,
                          GPtrArray *steps,
                          const json_t *before,
                          const json_t *after,
                          const SchemaType *type);

static void
compare_member(TypedComparison *self,
               GPtrArray *steps,
               const char *name,
               const json_t *before,
               const json_t *after,
               const SchemaType *type)
{
    g_autofree char *step = member_step(name);

    g_ptr_array_add(steps, step);
    typed_compare(self, steps, before, after, schema_member(type, name));
    g_ptr_array_set_size(steps, (gint)steps->len - 1);
}

static void
compare_members(TypedComparison *self,
                GPtrArray *steps,
                const json_t *before,
                const json_t *after,
                const SchemaType *type)
{
    const char *name;
    json_t *member;

    json_object_foreach((json_t *)before, name, member) {
        compare_member(self, steps, name, member, json_object_get(after, name), type);
    }
    json_object_foreach((json_t *)after, name, member) {
        if (json_object_get(before, name) == NULL)
            compare_member(self, steps, name, NULL, member, type);
    }
}

/* Items with one step: of a step that several items have, only that it has them is known. */
static void
compare_items_at(TypedComparison *self,
                 GPtrArray *steps,
                 const char *step,
                 const json_t *before,
                 const json_t *after,
                 const SchemaType *element)
{
    gsize n_before = json_array_size(before), n_after = json_array_size(after);
    const json_t *old = n_before == 1 ? json_array_get(before, 0) : NULL;
    const json_t *new = n_after == 1 ? json_array_get(after, 0) : NULL;

    if (n_before > 1 && n_after > 1 && !json_equal((json_t *)before, (json_t *)after))
        insert(self->modified, steps, step);
    else if (n_before > 1 && n_after <= 1)
        insert(self->removed, steps, step);
    else if (n_after > 1 && n_before <= 1)
        insert(self->added, steps, step);
    if (old == NULL && new == NULL)
        return;
    g_ptr_array_add(steps, (char *)step);
    typed_compare(self, steps, old, new, element);
    g_ptr_array_set_size(steps, (gint)steps->len - 1);
}

static void
compare_items(TypedComparison *self,
              GPtrArray *steps,
              const json_t *before,
              const json_t *after,
              const SchemaType *type)
{
    json_t *old = items_by_step(before, type), *new = items_by_step(after, type), *items;
    const char *step;

    json_object_foreach(old, step, items) {
        compare_items_at(self, steps, step, items, json_object_get(new, step), type->element);
    }
    json_object_foreach(new, step, items) {
        if (json_object_get(old, step) == NULL)
            compare_items_at(self, steps, step, NULL, items, type->element);
    }
    json_decref(old);
    json_decref(new);
}

/* @before, @after: one may be NULL */
static void
typed_compare(TypedComparison *self,
              GPtrArray *steps,
              const json_t *before,
              const json_t *after,
              const SchemaType *type)
{
    gboolean nothing = typed_is_empty(before) && typed_is_empty(after);
    gboolean objects = json_is_object(before) || json_is_object(after);
    gboolean inside = !nothing && (has_items(type) || (has_members(type) && objects));

    if (!inside) {
        if (before != NULL && after != NULL && !json_equal(before, after))
            field_set_insert(self->modified, steps);
    } else if (has_items(type)) {
        compare_items(self, steps, before, after, type);
    } else {
        compare_members(self, steps, before, after, type);
    }
    if (before == NULL)
        field_set_insert(self->added, steps);
    else if (after == NULL)
        field_set_insert(self->removed, steps);
}

void
comparison_init(TypedComparison *self,
                const json_t *before,
                const json_t *after,
                const SchemaType *type)
{
    json_t *old = json_deep_copy(before), *new = json_deep_copy(after);
    g_autoptr(GPtrArray) steps = g_ptr_array_new();

    *self = (TypedComparison){json_object(), json_object(), json_object()};
    typed_complete(old, type);
    typed_complete(new, type);
    typed_compare(self, steps, old, new, type);
    json_decref(old);
    json_decref(new);
}

void
comparison_clear(TypedComparison *self)
{
    g_clear_pointer(&self->added, json_decref);
    g_clear_pointer(&self->modified, json_decref);
    g_clear_pointer(&self->removed, json_decref);
}

/* ---- Merging ---- */

static json_t *
merge_members(const json_t *live, const json_t *applied, const SchemaType *type)
{
    json_t *merged = json_object(), *member;
    const char *name;

    json_object_foreach((json_t *)live, name, member) {
        json_object_set_new(
            merged, name,
            typed_merge(member, json_object_get(applied, name), schema_member(type, name)));
    }
    json_object_foreach((json_t *)applied, name, member) {
        if (json_object_get(live, name) == NULL)
            json_object_set_new(merged, name, typed_merge(NULL, member, schema_member(type, name)));
    }
    return merged;
}

/* Returns: (borrowed): the only item at @step; NULL: none, or several */
static const json_t *
only_item(const json_t *groups, const char *step)
{
    const json_t *items = json_object_get(groups, step);

    return json_array_size(items) == 1 ? json_array_get(items, 0) : NULL;
}

/* Both lists have items with these steps; the applied one gives the order of the shared items. */
typedef struct {
    const SchemaType *type;
    json_t *live_groups, *applied_groups;
    json_t *merged;
    GHashTable *done; /* steps of applied items that are merged */
} ListMerge;

static void
merge_item(ListMerge *self, const char *step)
{
    const json_t *item = json_array_get(json_object_get(self->applied_groups, step), 0);

    g_hash_table_add(self->done, (char *)step);
    json_array_append_new(
        self->merged, typed_merge(only_item(self->live_groups, step), item, self->type->element));
}

/* visitListItems() in typed/merge.go: items of @live that are not applied stay before the applied
 * item that follows them. */
static json_t *
merge_items(const json_t *live, const json_t *applied, const SchemaType *type)
{
    ListMerge merge = {type, items_by_step(live, type), items_by_step(applied, type), json_array(),
                       g_hash_table_new(g_str_hash, g_str_equal)};
    g_autoptr(GPtrArray) live_steps = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) shared = g_ptr_array_new();
    void *next = json_object_iter(merge.applied_groups);
    gsize place = 0;
    guint next_shared = 0;
    json_t *items;
    const char *step;

    for (gsize i = 0; i < json_array_size(live); i++)
        g_ptr_array_add(live_steps, item_step(json_array_get(live, i), type, NULL));
    json_object_foreach(merge.applied_groups, step, items) {
        if (json_object_get(merge.live_groups, step) != NULL)
            g_ptr_array_add(shared, (char *)step);
    }
    while (place < live_steps->len || next != NULL) {
        const char *old = place < live_steps->len ? live_steps->pdata[place] : NULL;
        const char *new = next != NULL ? json_object_iter_key(next) : NULL;
        gboolean is_applied = old != NULL && json_object_get(merge.applied_groups, old) != NULL;
        const char *wanted = next_shared < shared->len ? shared->pdata[next_shared] : NULL;

        if (place < live_steps->len && !is_applied) {
            json_array_append_new(merge.merged, json_deep_copy(json_array_get(live, place++)));
        } else if (old != NULL && new != NULL && strcmp(old, new) != 0 &&
                   wanted != NULL &&strcmp(wanted, old) != 0) {
            place++; /* shared, but a later one: it comes when its turn is */
        } else if (old != NULL && (g_hash_table_contains(merge.done, old) || new == NULL)) {
            place++;
        } else {
            merge_item(&merge, new);
            next_shared += wanted != NULL && strcmp(wanted, new) == 0;
            place += old != NULL && strcmp(old, new) == 0;
            next = json_object_iter_next(merge.applied_groups, next);
        }
    }
    g_hash_table_unref(merge.done);
    json_decref(merge.live_groups);
    json_decref(merge.applied_groups);
    return merge.merged;
}

json_t *
typed_merge(const json_t *live, const json_t *applied, const SchemaType *type)
{
    gboolean nothing = typed_is_empty(live) && typed_is_empty(applied);

    if (applied == NULL)
        return json_deep_copy(live);
    if (live == NULL || nothing)
        return json_deep_copy(applied);
    if (has_items(type) && json_is_array(live) && (json_is_array(applied) || json_is_null(applied)))
        return merge_items(live, applied, type);
    if (has_members(type) && json_is_object(live) &&
        (json_is_object(applied) || (json_is_null(applied) && type != NULL)))
        return merge_members(live, applied, type);
    return json_deep_copy(applied);
}

/* ---- Removing ---- */

/* Returns: (owned): what is left of the member or item at @step; NULL: nothing */
static json_t *
rest_of(const json_t *value, const char *step, const json_t *set, const SchemaType *type)
{
    const json_t *below = field_set_below(set, step);

    if (field_set_has(set, step))
        return NULL;
    if (below == NULL)
        return json_incref((json_t *)value);
    json_t *rest = typed_remove(value, below, type);
    return rest != NULL ? rest : json_null();
}

static json_t *
remove_members(const json_t *value, const json_t *set, const SchemaType *type)
{
    json_t *rest = json_object(), *member;
    const char *name;

    json_object_foreach((json_t *)value, name, member) {
        g_autofree char *step = member_step(name);
        json_t *left = rest_of(member, step, set, schema_member(type, name));

        if (left != NULL)
            json_object_set_new(rest, name, left);
    }
    return rest;
}

static json_t *
remove_items(const json_t *value, const json_t *set, const SchemaType *type)
{
    json_t *rest = json_array(), *item;
    gsize i;

    json_array_foreach((json_t *)value, i, item) {
        g_autofree char *step = item_step(item, type, NULL);
        json_t *left = step != NULL ? rest_of(item, step, set, type->element) : json_incref(item);

        if (left != NULL)
            json_array_append_new(rest, left);
    }
    return rest;
}

json_t *
typed_remove(const json_t *value, const json_t *set, const SchemaType *type)
{
    json_t *rest;

    if (json_is_array(value))
        rest = has_items(type) ? remove_items(value, set, type) : NULL;
    else if (json_is_object(value))
        rest = has_members(type) ? remove_members(value, set, type) : NULL;
    else
        return json_incref((json_t *)value);
    if (rest != NULL && typed_is_empty(rest))
        g_clear_pointer(&rest, json_decref);
    return rest;
}

json_t *
typed_with_named(const json_t *set, const SchemaType *type)
{
    json_t *named = json_object(), *node;
    const char *step;

    json_object_foreach((json_t *)set, step, node) {
        if (strcmp(step, ".") == 0)
            continue;
        json_t *below = typed_with_named(node, step_type(type, step));
        gboolean is_named = *step == 'f' && schema_field(type, step + 2) != NULL;

        if (json_object_size(below) > 0 && (is_named || json_object_get(node, ".") != NULL))
            json_object_set_new(below, ".", json_object());
        json_object_set_new(named, step, below);
    }
    return named;
}

/* ---- Checking ---- */

static void
check_value(const json_t *value, const SchemaType *type, GString *path, GPtrArray *faults);

static void G_GNUC_PRINTF(3, 4)
    add_fault(GPtrArray *faults, const GString *path, const char *format, ...)
{
    FORMATTED(text, format);
    g_ptr_array_add(faults, g_strdup_printf("%s%s%s", path->str, path->len > 0 ? ": " : "", text));
}

static void
check_items(const json_t *value, const SchemaType *type, GString *path, GPtrArray *faults)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize length = path->len, i;
    json_t *item;

    json_array_foreach((json_t *)value, i, item) {
        g_autofree char *fault = NULL, *shown = g_strdup_printf("[%zu]", i);
        char *step = has_items(type) ? item_step(item, type, &fault) : NULL;

        if (fault != NULL) {
            add_fault(faults, path, "element %zu: %s", i, fault);
            return;
        }
        if (step != NULL) {
            g_free(shown);
            shown = field_step_text(step);
            if (!g_hash_table_add(seen, step))
                add_fault(faults, path, "duplicate entries for key %s", shown);
        }
        g_string_append(path, shown);
        check_value(item, type->element, path, faults);
        g_string_truncate(path, length);
    }
}

static void
check_members(const json_t *value, const SchemaType *type, GString *path, GPtrArray *faults)
{
    gsize length = path->len;
    const char *name;
    json_t *member;

    json_object_foreach((json_t *)value, name, member) {
        g_string_append_printf(path, ".%s", name);
        if (type->shape == SCHEMA_STRUCT && schema_field(type, name) == NULL)
            add_fault(faults, path, "field not declared in schema");
        else
            check_value(member, schema_member(type, name), path, faults);
        g_string_truncate(path, length);
    }
}

static void
check_scalar(const json_t *value, const SchemaType *type, GString *path, GPtrArray *faults)
{
    g_autofree char *text = NULL;
    char *plain = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    text = g_strdup(plain);
    free(plain);
    switch ((int)type->shape) {
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
        if (!json_is_string(value))
            add_fault(faults, path, "expected string, got %s", text);
        return;
    case SCHEMA_BOOL:
        if (!json_is_boolean(value))
            add_fault(faults, path, "expected boolean, got %s", text);
        return;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        if (!json_is_number(value))
            add_fault(faults, path, "expected numeric (int or float), got %s",
                      json_is_string(value)    ? "string"
                      : json_is_boolean(value) ? "bool"
                                               : text);
        return;
    default: /* times and quantities: any scalar */
        if (json_is_object(value) || json_is_array(value))
            add_fault(faults, path, "expected any scalar, got %s", text);
    }
}

static void
check_value(const json_t *value, const SchemaType *type, GString *path, GPtrArray *faults)
{
    if (type == NULL || type->shape == SCHEMA_ANY || json_is_null(value))
        return;
    if (type->shape == SCHEMA_LIST) {
        if (json_is_array(value))
            check_items(value, type, path, faults);
        else
            add_fault(faults, path, "expected list, got %s",
                      json_is_object(value) ? "map" : "scalar");
    } else if (type->shape == SCHEMA_STRUCT || type->shape == SCHEMA_MAP) {
        if (json_is_object(value))
            check_members(value, type, path, faults);
        else
            add_fault(faults, path, "expected map, got %s",
                      json_is_array(value) ? "list" : "scalar");
    } else {
        check_scalar(value, type, path, faults);
    }
}

void
typed_check(const json_t *value, const SchemaType *type, GPtrArray *faults)
{
    g_autoptr(GString) path = g_string_new(NULL);

    check_value(value, type, path, faults);
}
