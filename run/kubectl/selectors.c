/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cluster.h"
#include "models/api/fields.h"

/* Splits at commas outside of parentheses. (owned) */
static GPtrArray *
split_requirements(const char *selector)
{
    GPtrArray *parts = g_ptr_array_new_with_free_func(g_free);
    int depth = 0;

    for (const char *start = selector;; selector++) {
        if (*selector == '(')
            depth++;
        else if (*selector == ')')
            depth--;
        if (*selector != '\0' && (*selector != ',' || depth > 0))
            continue;
        g_ptr_array_add(parts, g_strstrip(g_strndup(start, (gsize)(selector - start))));
        if (*selector == '\0')
            return parts;
        start = selector + 1;
    }
}

/* "key in (a,b)", "key notin (a,b)". @rest: the text after the key. Returns: FALSE: neither */
static gboolean
match_set(const char *rest, const char *value, gboolean *matches)
{
    gboolean is_in = g_str_has_prefix(rest, "in "), is_found = FALSE;
    const char *open = strchr(rest, '('), *close = strrchr(rest, ')');

    if ((!is_in && !g_str_has_prefix(rest, "notin ")) || open == NULL || close == NULL ||
        close < open)
        return FALSE;
    g_autofree char *inside = g_strndup(open + 1, (gsize)(close - open - 1));
    g_auto(GStrv) words = g_strsplit(inside, ",", -1);
    for (unsigned i = 0; words[i] != NULL; i++)
        is_found = is_found || (value != NULL && strcmp(g_strstrip(words[i]), value) == 0);
    *matches = is_in ? is_found : !is_found;
    return TRUE;
}

static gboolean
match_requirement(const char *text, json_t *labels, gboolean *matches)
{
    gboolean is_negated = *text == '!';
    const char *start = is_negated ? text + 1 : text;
    gsize length = strcspn(start, " =!");
    g_autofree char *key = g_strndup(start, length);
    const char *value = json_string_value(json_object_get(labels, key));
    const char *rest = start + length + strspn(start + length, " ");

    if (length == 0 || name_fault_qualified(key) != NULL)
        return FALSE;
    if (*rest == '\0') {
        *matches = (value != NULL) != is_negated;
        return TRUE;
    }
    if (is_negated)
        return FALSE;
    if (g_str_has_prefix(rest, "!=")) {
        *matches = value == NULL || strcmp(value, rest + 2 + strspn(rest + 2, " ")) != 0;
        return TRUE;
    }
    if (*rest == '=') {
        rest += rest[1] == '=' ? 2 : 1;
        *matches = value != NULL && strcmp(value, rest + strspn(rest, " ")) == 0;
        return TRUE;
    }
    return match_set(rest, value, matches);
}

gboolean
label_selector_text_matches(const char *selector, json_t *labels, gboolean *matches, char **fault)
{
    g_autoptr(GPtrArray) parts = split_requirements(selector);

    *matches = TRUE;
    for (unsigned i = 0; i < parts->len && *selector != '\0'; i++) {
        gboolean one;

        if (!match_requirement(parts->pdata[i], labels, &one)) {
            *fault =
                g_strdup_printf("unable to parse requirement: \"%s\"", (char *)parts->pdata[i]);
            return FALSE;
        }
        *matches = *matches && one;
    }
    return TRUE;
}

gboolean
field_selector_text_matches(const char *selector, json_t *object)
{
    g_auto(GStrv) parts = g_strsplit(selector, ",", -1);

    for (unsigned i = 0; parts[i] != NULL; i++) {
        char *equals = strchr(parts[i], '=');
        g_autoptr(GString) value = g_string_new(NULL);

        if (equals == NULL)
            continue;
        gboolean is_unequal = equals > parts[i] && equals[-1] == '!';
        const char *wanted = equals[1] == '=' ? equals + 2 : equals + 1;
        equals[is_unequal ? -1 : 0] = '\0';
        json_t *found = value_at(object, parts[i]);
        if (found == NULL && strcmp(parts[i], "reportingController") == 0)
            found = value_at(object, "reportingComponent");
        if (found != NULL)
            value_append_go(value, found);
        if ((strcmp(value->str, wanted) == 0) == is_unequal)
            return FALSE;
    }
    return TRUE;
}
