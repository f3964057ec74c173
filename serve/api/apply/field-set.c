/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of fields as managedFields have them (FieldsV1): a tree of steps, where "." marks a node
 * that is a member and has members below. Union, difference and intersection go over two trees at
 * once. Steps have one form, so a set that is read and printed again is equal. A field that gets
 * fields below it keeps its mark. */
#include "field-set.h"

#include <string.h>

#include "models/api/fields.h"

/* Deeper sets are not read: no kind has such fields. */
#define DEPTH_MAX 200

static gboolean
is_member(const json_t *node)
{
    return node != NULL && (json_object_size(node) == 0 || json_object_get(node, ".") != NULL);
}

static gboolean
has_children(const json_t *node)
{
    return json_object_size(node) > (json_object_get(node, ".") != NULL ? 1 : 0);
}

gboolean
field_set_is_empty(const json_t *set)
{
    return json_object_size(set) == 0;
}

gboolean
field_set_has(const json_t *set, const char *step)
{
    return is_member(json_object_get(set, step));
}

const json_t *
field_set_below(const json_t *set, const char *step)
{
    const json_t *node = json_object_get(set, step);

    return has_children(node) ? node : NULL;
}

static gboolean
combine_members(gboolean a, gboolean b, FieldSetOperation operation)
{
    switch (operation) {
    case FIELD_SET_UNION:
        return a || b;
    case FIELD_SET_DIFFERENCE:
        return a && !b;
    case FIELD_SET_INTERSECTION:
        return a && b;
    }
    g_assert_not_reached();
}

/* Puts a node into @into, if there is anything in it. @children: (owned): of combine_children() */
static void
put_node(json_t *into, const char *step, gboolean member, json_t *children)
{
    if (member && json_object_size(children) > 0)
        json_object_set_new(children, ".", json_object());
    if (member || json_object_size(children) > 0)
        json_object_set_new(into, step, children);
    else
        json_decref(children);
}

json_t *
field_set_combine(const json_t *a, const json_t *b, FieldSetOperation operation)
{
    json_t *combined = json_object(), *node;
    const char *step;

    json_object_foreach((json_t *)a, step, node) {
        const json_t *other = json_object_get(b, step);

        if (strcmp(step, ".") != 0)
            put_node(combined, step, combine_members(is_member(node), is_member(other), operation),
                     field_set_combine(node, other, operation));
    }
    json_object_foreach((json_t *)b, step, node) {
        if (operation == FIELD_SET_UNION && strcmp(step, ".") != 0 &&
            json_object_get(a, step) == NULL)
            json_object_set(combined, step, node);
    }
    return combined;
}

json_t *
field_set_exclude(const json_t *set, const json_t *without)
{
    json_t *rest = json_object(), *node;
    const char *step;

    json_object_foreach((json_t *)set, step, node) {
        if (strcmp(step, ".") != 0 && !field_set_has(without, step))
            put_node(rest, step, is_member(node),
                     field_set_exclude(node, json_object_get(without, step)));
    }
    return rest;
}

void
field_set_insert(json_t *set, const GPtrArray *steps)
{
    for (guint i = 0; i < steps->len; i++) {
        const char *step = g_ptr_array_index(steps, i);
        json_t *node = json_object_get(set, step);
        gboolean is_last = i + 1 == steps->len;

        if (node == NULL) {
            node = json_object();
            json_object_set_new(set, step, node);
        } else if ((json_object_size(node) == 0) != is_last) {
            /* a field gets fields below it, or fields above become one */
            json_object_set_new(node, ".", json_object());
        }
        set = node;
    }
}

/* Returns: (owned): the step in its one form; NULL: it is none */
static char *
read_step(const char *step)
{
    json_t *value;
    char *text = NULL;

    if (step[0] == '\0' || step[1] != ':')
        return NULL;
    if (*step == 'f')
        return g_strdup(step);
    value = json_loads(step + 2, JSON_DECODE_ANY, NULL);
    if ((*step == 'k' && json_is_object(value) && json_object_size(value) > 0) ||
        (*step == 'v' && value != NULL) || (*step == 'i' && json_is_integer(value))) {
        char *plain = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
        text = g_strdup_printf("%c:%s", *step, plain);
        free(plain);
    }
    json_decref(value);
    return text;
}

static json_t *
read_node(const json_t *fields, unsigned depth)
{
    json_t *set = json_object(), *node;
    const char *key;

    if (!json_is_object(fields) || depth > DEPTH_MAX)
        g_clear_pointer(&set, json_decref);
    json_object_foreach((json_t *)fields, key, node) {
        g_autofree char *step = read_step(key);
        gboolean is_dot = strcmp(key, ".") == 0;

        if (set == NULL)
            break;
        json_t *below = is_dot || step != NULL ? read_node(node, depth + 1) : NULL;
        if (below == NULL)
            g_clear_pointer(&set, json_decref);
        else if (is_dot || !has_children(below)) {
            json_object_set_new(set, is_dot ? "." : step, json_object());
            json_decref(below);
        } else {
            json_object_set_new(set, step, below);
        }
    }
    return set;
}

json_t *
field_set_read(const json_t *fields)
{
    json_t *set = read_node(fields, 0);

    if (set != NULL)
        json_object_del(set, ".");
    return set;
}

/* Appends a step as PathElement.String() shows it. */
static void
append_step(GString *path, const char *step)
{
    json_t *value, *member;
    const char *name, *before = "[";

    if (*step == 'f') {
        g_string_append_printf(path, ".%s", step + 2);
        return;
    }
    if (*step != 'k') {
        g_string_append_printf(path, *step == 'v' ? "[=%s]" : "[%s]", step + 2);
        return;
    }
    value = json_loads(step + 2, 0, NULL);
    json_object_foreach(value, name, member) {
        char *plain = json_dumps(member, JSON_COMPACT | JSON_ENCODE_ANY);
        g_string_append_printf(path, "%s%s=%s", before, name, plain);
        free(plain);
        before = ",";
    }
    g_string_append_c(path, ']');
    json_decref(value);
}

static void
apply_field_set_walk(const json_t *set,
                     GString *path,
                     void (*visit)(const char *path, void *data),
                     void *data)
{
    gsize length = path->len;
    json_t *node;
    const char *step;

    json_object_foreach((json_t *)set, step, node) {
        if (strcmp(step, ".") == 0)
            continue;
        append_step(path, step);
        if (is_member(node))
            visit(path->str, data);
        apply_field_set_walk(node, path, visit, data);
        g_string_truncate(path, length);
    }
}

char *
field_step_text(const char *step)
{
    GString *text = g_string_new(NULL);

    append_step(text, step);
    return g_string_free(text, FALSE);
}

void
field_set_walk(const json_t *set, void (*visit)(const char *path, void *data), void *data)
{
    g_autoptr(GString) path = g_string_new(NULL);
    json_t *sorted = json_sorted(set);

    apply_field_set_walk(sorted, path, visit, data);
    json_decref(sorted);
}
