/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a scenario as YAML that people like to edit: short values in one line, comments above
 * members, texts quoted only where YAML would read them as something else. Comments are members of
 * the JSON with a mark, so they stay with their member. A value goes into one line if it fits and
 * has no comment inside. */
#include "yaml-print.h"

#include <string.h>

#define LINE_MAX_COLUMNS 118u

static gboolean
is_comment(const char *member)
{
    return member[0] == '#';
}

/* Whether YAML 1.1 and ours read the plain word as this text. */
static gboolean
yaml_print_is_plain(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n",  NULL};
    g_autofree char *lower = g_ascii_strdown(text, -1);

    if (!g_ascii_isalpha(text[0]) || g_strv_contains(words, lower))
        return FALSE;
    for (; *text != '\0'; text++)
        if (!g_ascii_isalnum(*text) && strchr("._/-", *text) == NULL)
            return FALSE;
    return TRUE;
}

/* Durations and quantities have digits first and a unit last: "1m30.5s", "10Gi". */
static gboolean
is_measure(const char *text)
{
    gsize length = strlen(text);

    if (length < 2 || !g_ascii_isdigit(text[0]) || !g_ascii_isalpha(text[length - 1]) ||
        strchr("eExXoO", text[1]) != NULL)
        return FALSE;
    for (; *text != '\0'; text++)
        if (!g_ascii_isalnum(*text) && *text != '.')
            return FALSE;
    return TRUE;
}

static void
print_text(GString *out, const char *text)
{
    if (yaml_print_is_plain(text) || is_measure(text)) {
        g_string_append(out, text);
        return;
    }
    json_auto_t *value = json_string(text);
    g_autofree char *quoted = json_dumps(value, JSON_ENCODE_ANY);
    g_string_append(out, quoted);
}

static void
print_flow(GString *out, const json_t *value)
{
    const char *key;
    json_t *member;
    gsize i;
    gboolean goes_on = FALSE;

    if (json_is_string(value)) {
        print_text(out, json_string_value(value));
    } else if (json_is_object(value)) {
        g_string_append_c(out, '{');
        json_object_foreach((json_t *)value, key, member) {
            if (is_comment(key))
                continue;
            g_string_append(out, goes_on ? ", " : "");
            print_text(out, key);
            g_string_append(out, ": ");
            print_flow(out, member);
            goes_on = TRUE;
        }
        g_string_append_c(out, '}');
    } else if (json_is_array(value)) {
        g_string_append_c(out, '[');
        json_array_foreach(value, i, member) {
            g_string_append(out, i > 0 ? ", " : "");
            print_flow(out, member);
        }
        g_string_append_c(out, ']');
    } else {
        g_autofree char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        g_string_append(out, text);
    }
}

static void
print_comment(GString *out, const json_t *comment, unsigned indent)
{
    if (!json_is_string(comment))
        return;
    g_auto(GStrv) lines = g_strsplit(json_string_value(comment), "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++)
        g_string_append_printf(out, "%*s# %s\n", (int)indent, "", lines[i]);
}

/* Whether a comment stands somewhere inside. */
static gboolean
has_comment(const json_t *value)
{
    const char *key;
    json_t *member;
    gsize i;

    json_object_foreach((json_t *)value, key, member) {
        if (is_comment(key) || has_comment(member))
            return TRUE;
    }
    json_array_foreach(value, i, member) {
        if (has_comment(member))
            return TRUE;
    }
    return FALSE;
}

static gboolean
yaml_print_is_empty(const json_t *value)
{
    return json_object_size(value) + json_array_size(value) == 0;
}

/* Prints the value behind "key: " or "- " in the line if it fits. */
static gboolean
print_in_line(GString *out, const json_t *value, gsize column)
{
    gsize length = out->len;

    print_flow(out, value);
    if (column + out->len - length <= LINE_MAX_COLUMNS || yaml_print_is_empty(value) ||
        !(json_is_object(value) || json_is_array(value))) {
        g_string_append_c(out, '\n');
        return TRUE;
    }
    g_string_truncate(out, length);
    return FALSE;
}

/* Whether a comment stands somewhere inside, but for that of the item itself. */
static gboolean
has_inner_comment(const json_t *item)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)item, key, member) {
        if (strcmp(key, "#") != 0 && (is_comment(key) || has_comment(member)))
            return TRUE;
    }
    return FALSE;
}

static void
print_item(GString *out, const json_t *item, unsigned indent)
{
    g_autoptr(GString) members = g_string_new(NULL);

    print_comment(out, json_object_get(item, "#"), indent);
    g_string_append_printf(out, "%*s- ", (int)indent, "");
    if (!has_inner_comment(item) && print_in_line(out, item, indent + 2))
        return;
    yaml_print_members(members, item, indent + 2);
    g_string_append(out, members->str + indent + 2); /* the first one stands behind "- " */
}

void
yaml_print_members(GString *text, const json_t *value, unsigned indent)
{
    const char *key;
    json_t *member, *item;
    gsize i;

    json_object_foreach((json_t *)value, key, member) {
        if (is_comment(key))
            continue;
        g_autofree char *comment = g_strconcat("# ", key, NULL);
        print_comment(text, json_object_get(value, comment), indent);
        gsize start = text->len;
        g_string_append_printf(text, "%*s", (int)indent, "");
        print_text(text, key);
        g_string_append(text, ": ");
        if (!has_comment(member) && print_in_line(text, member, text->len - start))
            continue;
        g_string_truncate(text, text->len - 1);
        g_string_append_c(text, '\n');
        if (json_is_object(member))
            yaml_print_members(text, member, indent + 2);
        json_array_foreach(member, i, item) {
            print_item(text, item, indent);
        }
    }
}
