/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mergeMap() and mergeSlice() of k8s.io/apimachinery's strategicpatch/patch.go, for the server's
 * side: lists beside a list ($deleteFromPrimitiveList) are obeyed, and nulls of the patch remove.
 */
#include <string.h>

#include "patch-private.h"
#include "sim/order.h"
#include "sim/strings.h"

#define DIRECTIVE "$patch"
#define DELETE_FROM "$deleteFromPrimitiveList"
#define ELEMENT_ORDER "$setElementOrder"
#define RETAIN_KEYS "$retainKeys"

static gboolean merge_object(json_t *object, json_t *patch, const SchemaType *type, GError **error);

static gboolean G_GNUC_PRINTF(3, 4) fail(GError **error, PatchError code, const char *format, ...)
{
    FORMATTED(message, format);
    g_set_error_literal(error, PATCH_ERROR, (int)code, message);
    return FALSE;
}

/* Prints @value as Go's %v does: map[a:1 b:[x y]]. */
static void
print_go(GString *text, const json_t *value)
{
    g_autoptr(GPtrArray) keys = NULL;
    const char *key;
    json_t *item;
    gsize i;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        keys = g_ptr_array_new();
        json_object_foreach((json_t *)value, key, item) {
            g_ptr_array_add(keys, (char *)key);
        }
        g_ptr_array_sort(keys, strings_compare);
        g_string_append(text, "map[");
        for (i = 0; i < keys->len; i++) {
            key = g_ptr_array_index(keys, i);
            g_string_append_printf(text, "%s%s:", i > 0 ? " " : "", key);
            print_go(text, json_object_get(value, key));
        }
        g_string_append_c(text, ']');
        return;
    case JSON_ARRAY:
        g_string_append_c(text, '[');
        json_array_foreach((json_t *)value, i, item) {
            if (i > 0)
                g_string_append_c(text, ' ');
            print_go(text, item);
        }
        g_string_append_c(text, ']');
        return;
    case JSON_STRING:
        g_string_append(text, json_string_value(value));
        return;
    case JSON_NULL:
        g_string_append(text, "<nil>");
        return;
    case JSON_INTEGER:
    case JSON_REAL:
    case JSON_TRUE:
    case JSON_FALSE:
        break;
    }
    char *plain = json_dumps(value, JSON_ENCODE_ANY);
    g_string_append(text, plain);
    free(plain);
}

static gboolean
fail_no_key(GError **error, const json_t *item, const char *key)
{
    g_autoptr(GString) text = g_string_new(NULL);

    print_go(text, item);
    return fail(error, PATCH_FAILED, "map: %s does not contain declared merge key: %s", text->str,
                key);
}

static gboolean
fail_directive(GError **error, const json_t *directive, const json_t *patch)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GString) word = g_string_new(NULL);

    print_go(text, patch);
    print_go(word, directive);
    return fail(error, PATCH_FAILED, "unknown patch type: %s in map: %s", word->str, text->str);
}

static gboolean
is_directive(const json_t *value, const char *directive)
{
    return g_strcmp0(json_string_value(value), directive) == 0;
}

/* Returns: the name of the list that @key is a directive about; NULL: it is none of @prefix */
static const char *
directive_target(const char *key, const char *prefix)
{
    gsize length = strlen(prefix);

    return strncmp(key, prefix, length) == 0 && key[length] == '/' ? key + length + 1 : NULL;
}

/* Takes directives out of a new value. Returns: FALSE if the value is one itself. */
static gboolean
remove_directives(json_t *value)
{
    const char *key;
    json_t *member;
    void *next;

    if (json_object_get(value, DIRECTIVE) != NULL)
        return FALSE;
    json_object_foreach_safe(value, next, key, member)
    {
        if (json_is_null(member) || !remove_directives(member))
            json_object_del(value, key);
    }
    for (gsize i = json_array_size(value); i-- > 0;)
        if (!remove_directives(json_array_get(value, i)))
            json_array_remove(value, i);
    return TRUE;
}

static void
set_new_member(json_t *object, const char *key, json_t *value)
{
    if (remove_directives(value))
        json_object_set(object, key, value);
    else
        json_object_del(object, key);
}

/* Returns: (owned): equal for items of a list that are the same one; NULL: @item lacks @key. @key:
 * NULL: of values that are no objects */
static char *
item_identity(const json_t *item, const char *key)
{
    const json_t *value = key != NULL ? json_object_get(item, key) : item;

    return value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS)
                         : NULL;
}

/* The places of the items of a list by their identities: of two with one identity, the first. */
static GHashTable *
places_new(const json_t *list, const char *key)
{
    GHashTable *places = g_hash_table_new_full(g_str_hash, g_str_equal, free, NULL);

    for (gsize i = json_array_size(list); i-- > 0;) {
        char *identity = item_identity(json_array_get(list, i), key);

        if (identity != NULL)
            g_hash_table_replace(places, identity, GSIZE_TO_POINTER(i + 1));
    }
    return places;
}

/* Returns: -1: it is not there */
static gssize
strategic_merge_place_of(GHashTable *places, const json_t *item, const char *key)
{
    char *identity = item_identity(item, key);
    gssize place =
        identity != NULL ? (gssize)GPOINTER_TO_SIZE(g_hash_table_lookup(places, identity)) : 0;

    free(identity);
    return place - 1;
}

/* An item of a list that is put in order: its places in the lists that give the order. */
typedef struct {
    json_t *item;
    gssize wanted; /* in the patch's order; -1: the patch does not name it */
    gssize before; /* in the stored list; -1: it was not there */
} OrderedItem;

static int
by_order(const void *a, const void *b)
{
    const OrderedItem *x = *(OrderedItem *const *)a, *y = *(OrderedItem *const *)b;
    gssize left = x->wanted >= 0 ? x->wanted : x->before;
    gssize right = y->wanted >= 0 ? y->wanted : y->before;

    return ORDER(left, right);
}

/* normalizeElementOrder(): the patch's items take the order of @wanted, the others keep the order
 * of @before; both are merged by their places before the patch, and new items come first. Returns:
 * (owned) */
static json_t *
put_in_order(const json_t *list, const json_t *wanted, const json_t *before, const char *key)
{
    g_autofree OrderedItem *items = g_new(OrderedItem, json_array_size(list) + 1);
    g_autoptr(GPtrArray) patched = g_ptr_array_new();
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    g_autoptr(GHashTable) wanted_places = places_new(wanted, key);
    g_autoptr(GHashTable) places = places_new(before, key);
    json_t *ordered = json_array(), *item;
    gsize i;
    guint next_patched = 0, next_other = 0;

    json_array_foreach((json_t *)list, i, item) {
        items[i] = (OrderedItem){item, strategic_merge_place_of(wanted_places, item, key),
                                 strategic_merge_place_of(places, item, key)};
        g_ptr_array_add(items[i].wanted >= 0 ? patched : others, &items[i]);
    }
    g_ptr_array_sort(patched, by_order);
    g_ptr_array_sort(others, by_order);
    while (next_patched < patched->len || next_other < others->len) {
        const OrderedItem *left = next_other < others->len ? others->pdata[next_other] : NULL;
        const OrderedItem *right =
            next_patched < patched->len ? patched->pdata[next_patched] : NULL;
        gboolean take_left = right == NULL || (left != NULL && left->before >= 0 &&
                                               right->before >= 0 && left->before < right->before);

        json_array_append(ordered, take_left ? left->item : right->item);
        *(take_left ? &next_other : &next_patched) += 1;
    }
    return ordered;
}

/* Items of a list of the API are all objects, or all values of one type. */
static gboolean
check_items(const json_t *a, const json_t *b, GError **error)
{
    const json_t *lists[] = {a, b}, *first = NULL;

    for (gsize n = 0; n < G_N_ELEMENTS(lists); n++)
        for (gsize i = 0; i < json_array_size(lists[n]); i++) {
            const json_t *item = json_array_get(lists[n], i);

            if (json_is_array(item))
                return patch_refuse(error); /* lists of lists */
            if (first == NULL)
                first = item;
            if (json_typeof(item) == json_typeof(first) ||
                (json_is_boolean(item) && json_is_boolean(first)))
                continue;
            g_autoptr(GString) text = g_string_new(NULL);
            print_go(text, a);
            g_string_append_c(text, ' ');
            print_go(text, b);
            return fail(error, PATCH_FAILED, "list element types are not identical: [%s]",
                        text->str);
        }
    return TRUE;
}

/* Removes from @list what @places names. */
static void
remove_items(json_t *list, GHashTable *places, const char *key)
{
    json_t *rest = json_array(), *item;
    gsize i;

    json_array_foreach(list, i, item) {
        if (strategic_merge_place_of(places, item, key) < 0)
            json_array_append(rest, item);
    }
    json_array_clear(list);
    json_array_extend(list, rest);
    json_decref(rest);
}

/* Carries out the directives among the items of @patch, and leaves the other items in it.
 * @replaces: (out): the list is to be replaced by them */
static gboolean
obey_items(json_t *list, json_t *patch, const char *key, gboolean *replaces, GError **error)
{
    json_t *deleted = json_array(), *rest = json_array(), *item;
    gsize i;
    gboolean done = TRUE;

    *replaces = FALSE;
    json_array_foreach(patch, i, item) {
        const json_t *directive = json_object_get(item, DIRECTIVE);

        if (directive == NULL)
            json_array_append(rest, item);
        else if (is_directive(directive, "merge"))
            done = fail(error, PATCH_FAILED, "merging lists cannot yet be specified in the patch");
        else if (is_directive(directive, "replace"))
            *replaces = TRUE;
        else if (!is_directive(directive, "delete"))
            done = fail_directive(error, directive, item);
        else if (json_object_get(item, key) == NULL)
            done = fail_no_key(error, item, key);
        else
            json_array_append(deleted, item);
        if (!done)
            break;
    }
    g_autoptr(GHashTable) places = places_new(deleted, key);
    remove_items(list, places, key);
    json_array_clear(patch);
    json_array_extend(patch, rest);
    json_decref(deleted);
    json_decref(rest);
    return done;
}

/* Merges the objects of @patch into @list. */
static gboolean
merge_items(json_t *list, json_t *patch, const SchemaType *type, GError **error)
{
    const char *key = type->patch_merge_key;
    g_autoptr(GHashTable) places = places_new(list, key);
    json_t *item;
    gsize i;

    json_array_foreach(list, i, item) {
        if (json_object_get(item, key) == NULL)
            return fail_no_key(error, item, key);
    }
    json_array_foreach(patch, i, item) {
        gssize place = strategic_merge_place_of(places, item, key);

        if (json_object_get(item, key) == NULL)
            return fail_no_key(error, item, key);
        if (place >= 0) {
            if (!merge_object(json_array_get(list, (gsize)place), item, type->element, error))
                return FALSE;
            continue;
        }
        json_array_append(list, item);
        g_hash_table_insert(places, item_identity(item, key),
                            GSIZE_TO_POINTER(json_array_size(list)));
    }
    return TRUE;
}

/* Adds the values of @patch that @list lacks. */
static void
merge_values(json_t *list, const json_t *patch)
{
    g_autoptr(GHashTable) places = places_new(list, NULL);
    json_t *item;
    gsize i;

    json_array_foreach((json_t *)patch, i, item) {
        if (strategic_merge_place_of(places, item, NULL) >= 0)
            continue;
        json_array_append(list, item);
        g_hash_table_insert(places, item_identity(item, NULL),
                            GSIZE_TO_POINTER(json_array_size(list)));
    }
}

/* Merges @patch into a list. @wanted: (nullable): the order of the result; NULL: the patch's order.
 * Returns: (owned); NULL: the patch is faulty */
static json_t *
merge_list(const json_t *before,
           json_t *patch,
           const SchemaType *type,
           const json_t *wanted,
           GError **error)
{
    const char *key = type->patch_merge_key;
    gboolean replaces = FALSE, done = TRUE;
    json_t *list, *ordered = NULL;

    if (!check_items(before, patch, error))
        return NULL;
    const json_t *first = json_array_get(json_array_size(before) > 0 ? before : patch, 0);
    if (json_is_object(first) && key == NULL) {
        fail(error, PATCH_FAILED, "cannot merge lists without merge key for %s",
             type->element->name != NULL ? strrchr(type->element->name, '.') + 1 : "");
        return NULL;
    }
    list = json_deep_copy(before);
    if (json_is_object(first)) {
        done = obey_items(list, patch, key, &replaces, error) &&
               (replaces || merge_items(list, patch, type, error));
    } else {
        key = NULL;
        merge_values(list, patch);
    }
    if (done && replaces)
        ordered = put_in_order(patch, wanted != NULL ? wanted : patch, patch, key);
    else if (done)
        ordered = put_in_order(list, wanted != NULL ? wanted : patch, before, key);
    json_decref(list);
    return ordered;
}

/* The items of a patched list must stand in @order, in the same order. */
static gboolean
check_order(const json_t *order, const json_t *patch, const char *key, GError **error)
{
    gsize place = 0, i;
    json_t *item;

    if (json_array_size(order) == 0)
        return TRUE;
    json_array_foreach((json_t *)patch, i, item) {
        gboolean found = json_object_get(item, DIRECTIVE) != NULL;
        char *identity = item_identity(item, key);

        while (!found && place < json_array_size(order)) {
            char *other = item_identity(json_array_get(order, place++), key);
            found = identity != NULL && g_strcmp0(identity, other) == 0;
            free(other);
        }
        free(identity);
        if (found)
            continue;
        g_autoptr(GString) given = g_string_new(NULL);
        g_autoptr(GString) wanted = g_string_new(NULL);
        print_go(given, patch);
        print_go(wanted, order);
        return fail(error, PATCH_FAILED,
                    "The order in patch list:\n%s\n doesn't match " ELEMENT_ORDER " list:\n%s\n",
                    given->str, wanted->str);
    }
    return TRUE;
}

static gboolean
check_is_list(const json_t *value, GError **error)
{
    static const char *const words[] = {
        [JSON_OBJECT] = "map[string]interface {}",
        [JSON_STRING] = "string",
        [JSON_INTEGER] = "int64",
        [JSON_REAL] = "float64",
        [JSON_TRUE] = "bool",
        [JSON_FALSE] = "bool",
        [JSON_NULL] = "%!s(<nil>)",
    };

    if (json_is_array(value))
        return TRUE;
    return fail(error, PATCH_FAILED, "expected a []interface {}, but received a %s",
                words[json_typeof(value)]);
}

/* Carries out "$setElementOrder/NAME": merges the list, puts it in order, and takes it out of
 * @patch. */
static gboolean
obey_order(json_t *object,
           json_t *patch,
           const SchemaType *type,
           const char *name,
           const json_t *order,
           GError **error)
{
    const SchemaType *list_type = schema_member(type, name);
    json_t *before = json_object_get(object, name), *change = json_object_get(patch, name);
    json_t *ordered;

    if (!check_is_list(order, error) || (change != NULL && !check_is_list(change, error)) ||
        (before != NULL && !check_is_list(before, error)))
        return FALSE;
    if (list_type == NULL || list_type->shape != SCHEMA_LIST)
        return fail(error, PATCH_FAILED,
                    "unable to find api field in struct %s for the json field \"%s\"",
                    type != NULL && type->name != NULL ? strrchr(type->name, '.') + 1 : "", name);
    if (!check_order(order, change, list_type->patch_merge_key, error))
        return FALSE;
    if (before == NULL && change == NULL)
        return TRUE;
    if (before != NULL && change != NULL && list_type->patch_merges) {
        ordered = merge_list(before, change, list_type, order, error);
    } else {
        json_t *list = change != NULL ? change : before;

        remove_directives(list);
        ordered = put_in_order(list, order, before, list_type->patch_merge_key);
    }
    if (ordered == NULL)
        return FALSE;
    json_object_set_new(object, name, ordered);
    json_object_del(patch, name);
    return TRUE;
}

static gboolean
obey_orders(json_t *object, json_t *patch, const SchemaType *type, GError **error)
{
    json_t *orders = json_object(), *order;
    const char *key;
    gboolean done = TRUE;

    json_object_foreach(patch, key, order) {
        if (directive_target(key, ELEMENT_ORDER) != NULL)
            json_object_set(orders, key, order);
    }
    json_object_foreach(orders, key, order) {
        done = done &&
               obey_order(object, patch, type, directive_target(key, ELEMENT_ORDER), order, error);
        json_object_del(patch, key);
    }
    json_decref(orders);
    return done;
}

/* Carries out "$retainKeys": members that it does not name are removed. */
static gboolean
obey_retain_keys(json_t *object, json_t *patch, GError **error)
{
    const json_t *names = json_object_get(patch, RETAIN_KEYS);
    const char *key;
    json_t *value;
    void *next;

    if (names == NULL)
        return TRUE;
    if (!json_is_array(names))
        return fail(error, PATCH_BAD_REQUEST, "invalid patch format of retainKeys");
    g_autoptr(GHashTable) places = places_new(names, NULL);
    json_object_foreach_safe(patch, next, key, value)
    {
        json_t *text = json_string(key);
        gboolean is_named = strategic_merge_place_of(places, text, NULL) >= 0;

        json_decref(text);
        if (!is_named && !json_is_null(value) && strcmp(key, RETAIN_KEYS) != 0 &&
            directive_target(key, DELETE_FROM) == NULL &&
            directive_target(key, ELEMENT_ORDER) == NULL)
            return fail(error, PATCH_BAD_REQUEST, "invalid patch format of retainKeys");
    }
    json_object_foreach_safe(object, next, key, value)
    {
        json_t *text = json_string(key);

        if (strategic_merge_place_of(places, text, NULL) < 0)
            json_object_del(object, key);
        json_decref(text);
    }
    json_object_del(patch, RETAIN_KEYS);
    return TRUE;
}

/* Carries out "$deleteFromPrimitiveList/NAME". */
static gboolean
obey_deletion(json_t *object, const char *name, const json_t *values, GError **error)
{
    json_t *list = json_object_get(object, name);

    if (!json_is_array(list) || !json_is_array(values))
        return TRUE; /* nothing to delete from */
    if (!check_items(list, values, error))
        return FALSE;
    g_autoptr(GHashTable) places = places_new(values, NULL);
    remove_items(list, places, NULL);
    return TRUE;
}

/* Merges one member of @patch, which is no directive. */
static gboolean
merge_member(
    json_t *object, const char *name, json_t *value, const SchemaType *type, GError **error)
{
    json_t *before = json_object_get(object, name), *merged;

    if (json_is_null(value)) {
        json_object_del(object, name);
        return TRUE;
    }
    if (json_is_object(before) && json_is_object(value) && !(type != NULL && type->patch_replaces))
        return merge_object(before, value, type, error);
    if (!json_is_array(before) || !json_is_array(value) || type == NULL || !type->patch_merges) {
        /* A value that replaces one of its kind keeps its directives: unknown fields by then. */
        if (json_typeof(value) == (before != NULL ? json_typeof(before) : JSON_NULL))
            json_object_set(object, name, value);
        else
            set_new_member(object, name, value);
        return TRUE;
    }
    merged = merge_list(before, value, type, NULL, error);
    return merged != NULL && json_object_set_new(object, name, merged) == 0;
}

/* Merges @patch into @object; both are changed. */
static gboolean
merge_object(json_t *object, json_t *patch, const SchemaType *type, GError **error)
{
    const json_t *directive = json_object_get(patch, DIRECTIVE);
    const char *key, *target;
    json_t *value;

    if (directive != NULL && !is_directive(directive, "replace") &&
        !is_directive(directive, "delete"))
        return fail_directive(error, directive, patch);
    if (directive != NULL) {
        gboolean replaces = is_directive(directive, "replace");

        json_object_clear(object);
        json_object_del(patch, DIRECTIVE);
        return !replaces || json_object_update(object, patch) == 0;
    }
    if (!obey_retain_keys(object, patch, error) || !obey_orders(object, patch, type, error))
        return FALSE;
    json_object_foreach(patch, key, value) {
        target = directive_target(key, DELETE_FROM);
        if (target != NULL ? !obey_deletion(object, target, value, error)
                           : !merge_member(object, key, value, schema_member(type, key), error))
            return FALSE;
    }
    return TRUE;
}

json_t *
strategic_merge_apply(const json_t *object,
                      const json_t *patch,
                      const SchemaType *type,
                      GError **error)
{
    if (type == NULL || type->custom) {
        fail(error, PATCH_UNSUPPORTED,
             "the body of the request was in an unknown format - accepted media types include: "
             "application/json-patch+json, application/merge-patch+json, "
             "application/apply-patch+yaml");
        return NULL;
    }
    if (!json_is_object(patch)) {
        patch_wrong_type(error, "", patch, "map[string]interface {}");
        return NULL;
    }
    json_t *merged = json_deep_copy(object), *change = json_deep_copy(patch);
    gboolean done = merge_object(merged, change, type, error);

    json_decref(change);
    if (!done) {
        json_decref(merged);
        return NULL;
    }
    patch_drop_nulls(merged);
    return merged;
}
