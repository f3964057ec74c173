/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Label selectors: matchLabels and matchExpressions in one list of requirements, all of which have
 * to hold. A selector that is absent matches nothing, an empty one everything. Requirements that
 * still mean the same as the manifest are printed as the manifest writes them. */
#include "selector-private.h"

#include <string.h>

/* GCC and clang make enumerations without negative values unsigned. */
_Static_assert(sizeof(SelectOperator) == sizeof(uint32_t), "read as uint32_t");

static const FieldType operator_type = {
    FIELD_WORDS("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
};

static const Field requirement_fields[] = {
    FIELD("values", field_string_list, SelectRequirement, values, FIELD_SPEC),
    FIELD("key", field_string, SelectRequirement, key, FIELD_SPEC),
    FIELD("operator", operator_type, SelectRequirement, operator, FIELD_REQUIRED),
    FIELDS_END,
};

/* LabelSelectors are such lists. */
static const FieldType requirements_type = {FIELD_LIST(SelectRequirement, requirement_fields)};

/* Requirements are zeroed. */
static LabelSelector *
label_selector_alloc(unsigned n)
{
    LabelSelector *self = g_malloc0(sizeof *self + n * sizeof self->requirements[0]);

    self->refs = REF_COUNT_ONE;
    self->n_requirements = n;
    return self;
}

LabelSelector *
label_selector_new(const SelectRequirement *requirements, unsigned n)
{
    LabelSelector *self = label_selector_alloc(n);

    if (n > 0)
        memcpy(self->requirements, requirements, n * sizeof requirements[0]);
    return self;
}

/* key In {value} */
static SelectRequirement
requirement_of_pair(const StringPair *pair)
{
    SelectRequirement requirement = {.key = pair->key};

    requirement.operator= SELECT_IN;
    requirement.values = string_list_new(&pair->value, 1);
    return requirement;
}

LabelSelector *
label_selector_with_pairs(const LabelSelector *self, const StringMap *pairs)
{
    unsigned n_own = self == NULL ? 0 : self->n_requirements;
    unsigned n_pairs = pairs == NULL ? 0 : pairs->n_pairs;
    LabelSelector *both = label_selector_alloc(n_own + n_pairs);

    for (unsigned i = 0; i < n_own; i++) {
        SelectRequirement *own = &both->requirements[i];
        *own = self->requirements[i];
        own->values = own->values == NULL ? NULL : string_list_ref(own->values);
    }
    for (unsigned i = 0; i < n_pairs; i++)
        both->requirements[n_own + i] = requirement_of_pair(&pairs->pairs[i]);
    return both;
}

static void
label_selector_free(LabelSelector *self)
{
    for (unsigned i = 0; i < self->n_requirements; i++)
        string_list_unref(self->requirements[i].values);
    g_free(self);
}

REF_COUNTED_DEFINE(LabelSelector, label_selector, label_selector_free)

gboolean
label_selector_equal(const LabelSelector *a, const LabelSelector *b)
{
    return field_equal(&requirements_type, &a, &b);
}

/* As strconv.ParseInt(text, 10, 64). */
static gboolean
parse_integer(const char *text, int64_t *number)
{
    gint64 value;

    if (text == NULL ||
        !g_ascii_string_to_signed(text + (*text == '+'), 10, INT64_MIN, INT64_MAX, &value, NULL))
        return FALSE;
    *number = value;
    return TRUE;
}

static gboolean
values_compare(const StringList *values, const char *value, gboolean greater)
{
    int64_t wanted, given;

    if (values == NULL || values->n_items != 1 || !parse_integer(values->items[0], &wanted) ||
        !parse_integer(value, &given))
        return FALSE;
    return greater ? given > wanted : given < wanted;
}

static gboolean
requirement_matches(const SelectRequirement *requirement, const StringMap *labels)
{
    const char *value = string_map_get(labels, requirement->key);

    switch (requirement->operator) {
    case SELECT_IN:
        return value != NULL && string_list_has(requirement->values, value);
    case SELECT_NOT_IN: /* an object without the key matches, too */
        return value == NULL || !string_list_has(requirement->values, value);
    case SELECT_EXISTS:
        return value != NULL;
    case SELECT_DOES_NOT_EXIST:
        return value == NULL;
    case SELECT_GT:
        return values_compare(requirement->values, value, TRUE);
    case SELECT_LT:
        return values_compare(requirement->values, value, FALSE);
    }
    g_assert_not_reached();
}

gboolean
label_selector_matches(const LabelSelector *self, const StringMap *labels)
{
    if (self == NULL)
        return FALSE;
    for (unsigned i = 0; i < self->n_requirements; i++)
        if (!requirement_matches(&self->requirements[i], labels))
            return FALSE;
    return TRUE;
}

/* Checks the values against the operator. The words are Kubernetes' for node and label
 * selectors. */
static void
check_requirement(ApiParser *parser, const json_t *item, const SelectRequirement *requirement)
{
    unsigned n = requirement->values == NULL ? 0 : requirement->values->n_items;

    switch (requirement->operator) {
    case SELECT_IN:
    case SELECT_NOT_IN:
        if (n == 0)
            api_parser_required_at(parser, item, "values",
                                   "must be specified when `operator` is 'In' or 'NotIn'");
        return;
    case SELECT_EXISTS:
    case SELECT_DOES_NOT_EXIST:
        if (n > 0)
            api_parser_fault_at(
                parser, json_path_get(item, "values"), "values", NULL,
                "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        return;
    case SELECT_GT:
    case SELECT_LT:
        if (n != 1)
            api_parser_required_at(
                parser, item, "values",
                "must be specified single value when `operator` is 'Lt' or 'Gt'");
        return;
    }
    g_assert_not_reached();
}

static void
check_label_key(ApiParser *parser, const json_t *where, const char *key)
{
    const char *fault = name_fault_qualified(key == NULL ? "" : key);

    if (fault == NULL || (key == NULL && json_path_get(where, "key") != NULL)) /* told already */
        return;
    api_parser_fault_at(parser, where, "key", NULL, "Invalid value: \"%s\": %s",
                        key == NULL ? "" : key, fault);
}

void
select_requirements_take(const SelectRequirement *items, unsigned n, GArray *found)
{
    for (unsigned i = 0; i < n; i++)
        if (items[i].key != NULL)
            g_array_append_val(found, items[i]);
        else
            string_list_unref(items[i].values);
}

void
select_requirements_parse(ApiParser *parser, const json_t *array, const char *path, GArray *found)
{
    unsigned n;
    gsize length = api_parser_enter(parser, path);
    g_autofree SelectRequirement *items =
        items_parse(parser, array, requirement_fields, sizeof *items, &n);

    for (unsigned i = 0; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        gsize inner = api_parser_enter_index(parser, i);
        check_label_key(parser, item, items[i].key);
        if (json_is_object(item) && json_path_string(item, "operator") != NULL)
            check_requirement(parser, item, &items[i]);
        api_parser_leave(parser, inner);
    }
    select_requirements_take(items, n, found);
    api_parser_leave(parser, length);
}

/* matchLabels: each becomes In with one value, in order of the keys. */
static void
match_labels_parse(ApiParser *parser, const json_t *labels, GArray *found)
{
    StringMap *map = NULL;
    gsize length = api_parser_enter(parser, "matchLabels");

    field_labels.parse(parser, labels, &map);
    for (unsigned i = 0; map != NULL && i < map->n_pairs; i++) {
        SelectRequirement requirement = requirement_of_pair(&map->pairs[i]);
        g_array_append_val(found, requirement);
    }
    string_map_unref(map);
    api_parser_leave(parser, length);
}

static void
label_selector_parse(ApiParser *parser, const json_t *value, void *field)
{
    LabelSelector **selector = field;
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(SelectRequirement));

    const json_t *labels = json_path_get(value, "matchLabels");
    const json_t *expressions = json_path_get(value, "matchExpressions");
    if (labels != NULL)
        match_labels_parse(parser, labels, found);
    if (expressions != NULL)
        select_requirements_parse(parser, expressions, "matchExpressions", found);
    label_selector_unref(*selector);
    *selector = label_selector_new((const SelectRequirement *)(void *)found->data, found->len);
}

json_t *
select_requirements_to_json(const LabelSelector *self)
{
    return field_type_to_json(&requirements_type, &self, NULL, 0);
}

static gboolean
is_match_label(const SelectRequirement *requirement)
{
    return requirement->operator== SELECT_IN && requirement->values != NULL &&
        requirement->values->n_items == 1;
}

static json_t *
label_selector_to_json(const void *field)
{
    const LabelSelector *selector = *(LabelSelector *const *)field;

    if (selector == NULL)
        return NULL;
    json_t *object = json_object(), *labels = json_object(), *expressions = json_array();
    for (unsigned i = 0; i < selector->n_requirements; i++) {
        const SelectRequirement *requirement = &selector->requirements[i];
        if (is_match_label(requirement) && json_object_get(labels, requirement->key) == NULL)
            json_object_set_new(labels, requirement->key,
                                json_string(requirement->values->items[0]));
        else
            json_array_append_new(expressions,
                                  fields_to_json(requirement_fields, requirement, NULL));
    }
    if (json_object_size(labels) > 0)
        json_object_set(object, "matchLabels", labels);
    if (json_array_size(expressions) > 0)
        json_object_set(object, "matchExpressions", expressions);
    json_decref(labels);
    json_decref(expressions);
    return object;
}

/* Returns: (owned): the selector as a list of requirements only, the same for all ways to write
 * it */
static json_t *
selector_expand(const json_t *selector)
{
    json_t *array = json_array();
    json_t *labels = json_sorted(json_object_get(selector, "matchLabels"));
    const json_t *expressions = json_object_get(selector, "matchExpressions");
    const char *key;
    json_t *value;

    json_object_foreach(labels, key, value)
        json_array_append_new(
            array, json_pack("{s:s, s:s, s:[O]}", "key", key, "operator", "In", "values", value));
    for (size_t i = 0; i < json_array_size(expressions); i++)
        json_array_append(array, json_array_get(expressions, i));
    json_decref(labels);
    return array;
}

/* matchLabels and an expression may mean the same; the manifest's way stays. */
static json_t *
label_selector_over(const void *field, const json_t *manifest)
{
    json_t *fresh = label_selector_to_json(field);

    if (fresh == NULL || !json_is_object(manifest))
        return fresh;
    json_t *a = selector_expand(manifest), *b = selector_expand(fresh);
    gboolean same = json_equal(a, b);
    json_decref(a);
    json_decref(b);
    if (!same)
        return fresh;
    json_decref(fresh);
    return json_incref((json_t *)manifest); /* only counted */
}

const FieldType field_label_selector = {
    FIELD_SHARED(label_selector),
    .parse = label_selector_parse,
    .to_json = label_selector_to_json,
    .over = label_selector_over,
};
