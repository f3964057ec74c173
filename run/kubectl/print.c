/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <yaml.h>

#include "print.h"

static void
print_json_text(GString *out, const char *text)
{
    static const char plain[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";

    g_string_append_c(out, '"');
    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        gunichar c = g_utf8_get_char(text);
        const char *found = c < 0x80 ? strchr(plain, (int)c) : NULL;

        if (found != NULL)
            g_string_append_printf(out, "\\%c", escaped[found - plain]);
        else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x2028 || c == 0x2029)
            g_string_append_printf(out, "\\u%04x", c);
        else
            g_string_append_unichar(out, c);
    }
    g_string_append_c(out, '"');
}

static void
new_line(GString *out, unsigned indent, unsigned level)
{
    if (indent == 0)
        return;
    g_string_append_printf(out, "\n%*s", (int)(indent * level), "");
}

static void
print_json_level(GString *out, json_t *value, unsigned indent, unsigned level)
{
    if (json_is_object(value)) {
        g_auto(GStrv) keys = value_keys(value);

        g_string_append_c(out, '{');
        for (unsigned i = 0; keys[i] != NULL; i++) {
            if (i > 0)
                g_string_append_c(out, ',');
            new_line(out, indent, level + 1);
            print_json_text(out, keys[i]);
            g_string_append(out, indent > 0 ? ": " : ":");
            print_json_level(out, json_object_get(value, keys[i]), indent, level + 1);
        }
        if (keys[0] != NULL)
            new_line(out, indent, level);
        g_string_append_c(out, '}');
    } else if (json_is_array(value)) {
        json_t *item;
        gsize i;

        g_string_append_c(out, '[');
        json_array_foreach(value, i, item)
        {
            if (i > 0)
                g_string_append_c(out, ',');
            new_line(out, indent, level + 1);
            print_json_level(out, item, indent, level + 1);
        }
        if (json_array_size(value) > 0)
            new_line(out, indent, level);
        g_string_append_c(out, ']');
    } else if (json_is_string(value)) {
        print_json_text(out, json_string_value(value));
    } else if (json_is_null(value) || value == NULL) {
        g_string_append(out, "null");
    } else {
        value_append_go(out, value);
    }
}

void
print_json(GString *out, json_t *value, unsigned indent)
{
    print_json_level(out, value, indent, 0);
}

static const char *
skip_digits(const char *text)
{
    while (g_ascii_isdigit(*text) || *text == '_')
        text++;
    return text;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? with underscores; also all decimal integers.
 */
static gboolean
is_number(const char *text)
{
    const char *start;

    if (*text == '-' || *text == '+')
        text++;
    start = text;
    text = skip_digits(text);
    if (text == start) {
        if (*text != '.' || skip_digits(text + 1) == text + 1)
            return FALSE;
        text = skip_digits(text + 1);
    } else if (*text == '.') {
        text = skip_digits(text + 1);
    }
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '-' || *text == '+')
            text++;
        if (skip_digits(text) == text)
            return FALSE;
        text = skip_digits(text);
    }
    return *text == '\0' && *start != '_';
}

/* 0x1f, 0b101, 0o17: as Go's strconv.ParseInt() takes with base 0. */
static gboolean
is_based_number(const char *text)
{
    const char *digits;

    if (*text == '-' || *text == '+')
        text++;
    if (*text != '0' || text[1] == '\0' || text[2] == '\0')
        return FALSE;
    switch (g_ascii_tolower(text[1])) {
    case 'x':
        digits = "0123456789abcdefABCDEF_";
        break;
    case 'b':
        digits = "01_";
        break;
    case 'o':
        digits = "01234567_";
        break;
    default:
        return FALSE;
    }
    return text[2 + strspn(text + 2, digits)] == '\0';
}

/* 12:30:45.5, a number to base 60 for YAML 1.1 only: Go quotes it for the sake of others. */
static gboolean
is_base60(const char *text)
{
    unsigned n_parts = 0;

    if (*text == '-' || *text == '+')
        text++;
    if (!g_ascii_isdigit(*text))
        return FALSE;
    text = skip_digits(text);
    for (; *text == ':'; n_parts++) {
        text++;
        if (!g_ascii_isdigit(*text))
            return FALSE;
        if (g_ascii_isdigit(text[1])) {
            if (*text > '5')
                return FALSE;
            text++;
        }
        text++;
    }
    if (*text == '.')
        text = skip_digits(text + 1);
    return n_parts > 0 && *text == '\0';
}

/* 1 or 2 digits, then @end. Returns: behind it; NULL: something else */
static const char *
skip_part(const char *text, const char *ends)
{
    if (text == NULL || !g_ascii_isdigit(*text))
        return NULL;
    text++;
    if (g_ascii_isdigit(*text))
        text++;
    return *text != '\0' && strchr(ends, *text) != NULL ? text + 1 : NULL;
}

/* 2026-1-2, 2026-01-02T03:04:05.6Z, 2026-01-02 03:04:05: what go-yaml reads as a time. */
static gboolean
is_time(const char *text)
{
    for (unsigned i = 0; i < 4; i++)
        if (!g_ascii_isdigit(text[i]))
            return FALSE;
    if (text[4] != '-')
        return FALSE;

    g_autofree char *rest = g_strconcat(text + 5, " ", NULL);
    const char *time = skip_part(skip_part(rest, "-"), "Tt ");
    if (time == NULL)
        return FALSE;
    if (*time == '\0')
        return time[-1] == ' ';
    time = skip_part(skip_part(time, ":"), ":");
    if (time == NULL || !g_ascii_isdigit(*time))
        return FALSE;
    time += strspn(time, "0123456789");
    if (*time == '.')
        time += 1 + strspn(time + 1, "0123456789");
    return strchr("Z+- ", *time) != NULL;
}

/* Whether YAML would read the bare word as something else than a string. */
static gboolean
is_another_type(const char *text)
{
    static const char *const words[] = {
        "",     "~",    "null", "Null",  "NULL",  "y",     "Y",     "yes",   "Yes",   "YES",
        "true", "True", "TRUE", "on",    "On",    "ON",    "n",     "N",     "no",    "No",
        "NO",   "off",  "Off",  "OFF",   "false", "False", "FALSE", ".nan",  ".NaN",  ".NAN",
        ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", "<<"};

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(text, words[i]) == 0)
            return TRUE;
    return is_number(text) || is_based_number(text) || is_base60(text) || is_time(text);
}

/* go-yaml sorts names as people do: numbers in them by value, letters after other signs. */
static int
compare_names(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    gboolean in_digits = FALSE;

    for (; *left != '\0' && *right != '\0'; left++, right++) {
        if (*left == *right) {
            in_digits = g_ascii_isdigit(*left);
            continue;
        }

        gboolean left_letter = g_ascii_isalpha(*left), right_letter = g_ascii_isalpha(*right);
        if (left_letter && right_letter)
            return (guchar)*left < (guchar)*right ? -1 : 1;
        if (left_letter || right_letter)
            return in_digits == left_letter ? -1 : 1;

        /* The one with more digits is the greater number; zeros in front make no difference. */
        gsize left_digits = strspn(left, "0123456789"), right_digits = strspn(right, "0123456789");
        if (left_digits > 0 && right_digits > 0) {
            gint64 x = g_ascii_strtoll(left, NULL, 10), y = g_ascii_strtoll(right, NULL, 10);

            if (in_digits && left_digits != right_digits)
                return left_digits < right_digits ? -1 : 1;
            if (x != y)
                return x < y ? -1 : 1;
            if (left_digits != right_digits)
                return left_digits < right_digits ? -1 : 1;
        }
        return (guchar)*left < (guchar)*right ? -1 : 1;
    }
    return *left != '\0' ? 1 : *right != '\0' ? -1 : 0;
}

static int
write_yaml(void *data, unsigned char *bytes, size_t length)
{
    g_string_append_len(data, (const char *)bytes, (gssize)length);
    return 1;
}

static void
emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    if (!yaml_emitter_emit(emitter, event))
        g_error("YAML: %s", emitter->problem); /* only for events in a wrong order */
}

static void
emit_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;

    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text),
                                 1, 1, style);
    emit(emitter, &event);
}

static void
emit_text(yaml_emitter_t *emitter, const char *text)
{
    emit_scalar(emitter, text,
                strchr(text, '\n') != NULL ? YAML_LITERAL_SCALAR_STYLE
                : is_another_type(text)    ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                           : YAML_PLAIN_SCALAR_STYLE);
}

static void
emit_value(yaml_emitter_t *emitter, json_t *value)
{
    yaml_event_t event;

    if (json_is_object(value)) {
        g_auto(GStrv) keys = value_keys(value);

        qsort(keys, g_strv_length(keys), sizeof *keys, compare_names);
        yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);
        emit(emitter, &event);
        for (unsigned i = 0; keys[i] != NULL; i++) {
            emit_text(emitter, keys[i]);
            emit_value(emitter, json_object_get(value, keys[i]));
        }
        yaml_mapping_end_event_initialize(&event);
        emit(emitter, &event);
    } else if (json_is_array(value)) {
        json_t *item;
        gsize i;

        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE);
        emit(emitter, &event);
        json_array_foreach(value, i, item) emit_value(emitter, item);
        yaml_sequence_end_event_initialize(&event);
        emit(emitter, &event);
    } else if (json_is_string(value)) {
        emit_text(emitter, json_string_value(value));
    } else {
        g_autoptr(GString) text = g_string_new(NULL);

        print_json(text, value, 0);
        emit_scalar(emitter, text->str, YAML_PLAIN_SCALAR_STYLE);
    }
}

void
print_yaml(GString *out, json_t *value)
{
    yaml_emitter_t emitter;
    yaml_event_t event;
    gsize start = out->len;

    yaml_emitter_initialize(&emitter);
    yaml_emitter_set_output(&emitter, write_yaml, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(&emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    emit(&emitter, &event);
    emit_value(&emitter, value);
    yaml_document_end_event_initialize(&event, 1);
    emit(&emitter, &event);
    yaml_stream_end_event_initialize(&event);
    emit(&emitter, &event);
    yaml_emitter_flush(&emitter);
    yaml_emitter_delete(&emitter);
    /* libyaml ends a document that ends in kept line breaks, or in a bare word, with dots; Go does
     * not. */
    if (out->len >= start + 4 && strcmp(out->str + out->len - 4, "...\n") == 0)
        g_string_truncate(out, out->len - 4);
}

void
print_escaped(GString *out, const char *text, gssize length)
{
    for (const char *end = text + (length < 0 ? (gssize)strlen(text) : length); text < end;
         text++) {
        if (*text == '\033')
            g_string_append(out, "^[");
        else if (*text == '\r')
            g_string_append(out, "\\r");
        else
            g_string_append_c(out, *text);
    }
}
