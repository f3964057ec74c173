/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON and YAML as kubectl prints them. Keys are sorted, for YAML as go-yaml sorts names: numbers
 * in them by value, letters after other characters. A plain text that YAML would read as another
 * type is quoted. libyaml's marks at the end of a document, which go-yaml does not write, are taken
 * off. Control characters are escaped for a terminal. */
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
        json_array_foreach(value, i, item) {
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

/* Plain scalars that YAML reads as something else than a string: null, booleans, NaN and infinity,
 * numbers, numbers to base 60 (in YAML 1.1 only, but go-yaml quotes them too), and times. */
static const char other_types[] =
    "^(?:|~|null|Null|NULL|y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON"
    "|off|Off|OFF|<<|\\.(?:nan|NaN|NAN)|[-+]?\\.(?:inf|Inf|INF)"
    "|[-+]?(?:\\.[0-9_]+|[0-9][0-9_]*(?:\\.[0-9_]*)?)(?:[eE][-+]?[0-9_]+)?"
    "|[-+]?0(?:[xX][0-9a-fA-F_]+|[bB][01_]+|[oO][0-7_]+)"
    "|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\\.[0-9_]*)?"
    "|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    "(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]+(?:\\.[0-9]*)?(?:[-+Z ].*)?)?)$";

/* go-yaml sorts names as people do: numbers in them by value, letters after other characters. */
static int
print_compare_names(const void *a, const void *b)
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

        /* Numbers compare by value; at equal values, fewer digits come first. */
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

typedef struct {
    yaml_emitter_t emitter;
    GRegex *other_types;
} Printer;

static void
emit(Printer *self, yaml_event_t *event)
{
    if (!yaml_emitter_emit(&self->emitter, event))
        g_error("YAML: %s", self->emitter.problem); /* only if events come in a wrong order */
}

static void
emit_scalar(Printer *self, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;

    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text),
                                 1, 1, style);
    emit(self, &event);
}

static void
emit_text(Printer *self, const char *text)
{
    emit_scalar(self, text,
                strchr(text, '\n') != NULL                        ? YAML_LITERAL_SCALAR_STYLE
                : g_regex_match(self->other_types, text, 0, NULL) ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                                                  : YAML_PLAIN_SCALAR_STYLE);
}

static void
emit_value(Printer *self, json_t *value)
{
    yaml_event_t event;

    if (json_is_object(value)) {
        g_auto(GStrv) keys = value_keys(value);

        qsort(keys, g_strv_length(keys), sizeof *keys, print_compare_names);
        yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);
        emit(self, &event);
        for (unsigned i = 0; keys[i] != NULL; i++) {
            emit_text(self, keys[i]);
            emit_value(self, json_object_get(value, keys[i]));
        }
        yaml_mapping_end_event_initialize(&event);
        emit(self, &event);
    } else if (json_is_array(value)) {
        json_t *item;
        gsize i;

        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE);
        emit(self, &event);
        json_array_foreach(value, i, item)
            emit_value(self, item);
        yaml_sequence_end_event_initialize(&event);
        emit(self, &event);
    } else if (json_is_string(value)) {
        emit_text(self, json_string_value(value));
    } else {
        g_autoptr(GString) text = g_string_new(NULL);

        print_json(text, value, 0);
        emit_scalar(self, text->str, YAML_PLAIN_SCALAR_STYLE);
    }
}

void
print_yaml(GString *out, json_t *value)
{
    g_autoptr(GRegex) regex = g_regex_new(other_types, G_REGEX_RAW, 0, NULL);
    Printer self = {.other_types = regex};
    yaml_emitter_t *emitter = &self.emitter;
    yaml_event_t event;
    gsize start = out->len;

    yaml_emitter_initialize(emitter);
    yaml_emitter_set_output(emitter, write_yaml, out);
    yaml_emitter_set_unicode(emitter, 1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(&self, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    emit(&self, &event);
    emit_value(&self, value);
    yaml_document_end_event_initialize(&event, 1);
    emit(&self, &event);
    yaml_stream_end_event_initialize(&event);
    emit(&self, &event);
    yaml_emitter_flush(emitter);
    yaml_emitter_delete(emitter);
    /* Unlike Go, libyaml writes dots after a document that ends in kept breaks or a bare word. */
    if (out->len >= start + 4 && strcmp(out->str + out->len - 4, "...\n") == 0)
        g_string_truncate(out, out->len - 4);
}

void
print_escaped(GString *out, const char *text, gssize length)
{
    for (const char *end = text + (length < 0 ? (gssize)strlen(text) : length); text < end;
         text++) {
        unsigned char letter = (unsigned char)*text;

        if (letter == '\r')
            g_string_append(out, "\\r");
        else if ((letter < ' ' && letter != '\n' && letter != '\t' && letter != '\f') ||
                 letter == 0x7f)
            g_string_append_printf(out, "^%c", letter ^ 0x40);
        else if (letter == 0xc2 && text + 1 < end && (unsigned char)text[1] < 0xa0) /* U+0080 ... */
            g_string_append_printf(out, "\\x%02x", (unsigned char)*++text);
        else
            g_string_append_c(out, *text);
    }
}
