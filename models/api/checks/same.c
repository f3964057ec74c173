/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks-private.h"

#include <string.h>

/* Equality as Kubernetes' apiequality.Semantic.DeepEqual() sees two decoded values. */

/* A struct without members is there all the same: emptyDir. */
static gboolean
is_zero(const SchemaType *type, const json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_false(value) ||
           (json_is_string(value) && *json_string_value(value) == '\0') ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0 &&
            (type == NULL || type->shape != SCHEMA_STRUCT)) ||
           (json_is_integer(value) && json_integer_value(value) == 0);
}

static gboolean
is_same_quantity(const json_t *a, const json_t *b)
{
    char x[QUANTITY_BUFFER], y[QUANTITY_BUFFER];
    int64_t units;

    if (!json_quantity(a, &units, NULL, x) || !json_quantity(b, &units, NULL, y))
        return json_equal(a, b);
    return strcmp(x, y) == 0;
}

/* Walks the members of @a beside the members of @b; then the other way round, for members that only
 * @b has. */
static gboolean
has_members(const SchemaType *type, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *item;

    json_object_foreach((json_t *)a, key, item)
        if (!api_check_same(schema_member(type, key), item, json_object_get(b, key)))
            return FALSE;
    return TRUE;
}

gboolean
api_check_same(const SchemaType *type, const json_t *value, const json_t *other)
{
    if (is_zero(type, value) && is_zero(type, other))
        return TRUE;
    if (type != NULL && type->shape == SCHEMA_QUANTITY && value != NULL && other != NULL)
        return is_same_quantity(value, other);
    if (json_is_array(value) && json_is_array(other)) {
        if (json_array_size(value) != json_array_size(other))
            return FALSE;
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!api_check_same(type == NULL ? NULL : type->element, json_array_get(value, i),
                                json_array_get(other, i)))
                return FALSE;
        return TRUE;
    }
    if ((json_is_object(value) || is_zero(type, value)) &&
        (json_is_object(other) || is_zero(type, other)))
        return has_members(type, value, other) && has_members(type, other, value);
    return value != NULL && other != NULL && json_equal(value, other);
}
