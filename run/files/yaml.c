/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives libyaml's events to the builder of values. libyaml alone knows the syntax; what YAML has
 * and JSON has not, such as a list as a key, an unknown tag or a NUL character, is a fault at its
 * place. Reading goes on after such a fault and ends at a syntax fault, because libyaml cannot find
 * its way back. */
#include "yaml.h"

#include <string.h>
#include <yaml.h>

#include "yaml-private.h"

/* Gives libyaml's events to the builder. */
typedef struct {
    yaml_parser_t parser;
    const char *text;
    gsize length;
    YamlBuilder builder;
} YamlReader;

static YamlMark
mark_from(const yaml_mark_t *mark)
{
    return (YamlMark){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

static gboolean
tag_is_known(const char *tag)
{
    static const char *const known[] = {
        "!",           YAML_STR_TAG, YAML_INT_TAG, YAML_FLOAT_TAG,     YAML_BOOL_TAG,
        YAML_NULL_TAG, YAML_SEQ_TAG, YAML_MAP_TAG, YAML_TIMESTAMP_TAG,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        if (g_str_equal(known[i], tag))
            return TRUE;
    return FALSE;
}

static void
reader_check_tag(YamlReader *self, const yaml_event_t *event, const yaml_char_t *tag)
{
    if (tag == NULL || tag_is_known((const char *)tag))
        return;
    g_autofree char *message = g_strdup_printf("unknown tag \"%s\"", (const char *)tag);
    yaml_builder_fault(&self->builder, mark_from(&event->start_mark), message, NULL);
}

static void
reader_scalar(YamlReader *self, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    gsize length = event->data.scalar.length;
    YamlMark mark = mark_from(&event->start_mark);
    const char *tag = (const char *)event->data.scalar.tag;
    gboolean is_plain =
        event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        (tag == NULL || (!g_str_equal(tag, YAML_STR_TAG) && !g_str_equal(tag, "!")));

    reader_check_tag(self, event, event->data.scalar.tag);
    if (memchr(text, '\0', length) != NULL) {
        yaml_builder_fault(&self->builder, mark, "text with a NUL character", NULL);
        length = strlen(text);
    }
    yaml_builder_scalar(&self->builder, text, length, is_plain, mark,
                        (const char *)event->data.scalar.anchor);
}

static void
reader_open(YamlReader *self, const yaml_event_t *event)
{
    gboolean is_mapping = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag =
        is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const yaml_char_t *anchor =
        is_mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;

    reader_check_tag(self, event, tag);
    yaml_builder_open(&self->builder, is_mapping, mark_from(&event->start_mark),
                      (const char *)anchor);
}

/* ---- Documents ---- */

/* Whether a key is a list, a mapping or an alias: keys of JSON are strings. */
static gboolean
reader_key_is_odd(YamlReader *self, const yaml_event_t *event)
{
    return yaml_builder_wants_key(&self->builder) &&
           (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT ||
            event->type == YAML_ALIAS_EVENT);
}

/* Returns: FALSE: stop reading */
static gboolean
reader_take(YamlReader *self, const yaml_event_t *event)
{
    if (reader_key_is_odd(self, event)) {
        yaml_builder_fault(&self->builder, mark_from(&event->start_mark), "a key must be a word",
                           NULL);
        return FALSE;
    }
    if ((event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT) &&
        yaml_builder_is_full(&self->builder)) {
        yaml_builder_fault(&self->builder, mark_from(&event->start_mark), "nested too deeply",
                           NULL);
        return FALSE;
    }

    switch (event->type) {
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        reader_open(self, event);
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        yaml_builder_close(&self->builder);
        break;
    case YAML_SCALAR_EVENT:
        reader_scalar(self, event);
        break;
    case YAML_ALIAS_EVENT:
        yaml_builder_alias(&self->builder, (const char *)event->data.alias.anchor,
                           mark_from(&event->start_mark));
        break;
    case YAML_DOCUMENT_START_EVENT:
        yaml_builder_begin_document(&self->builder);
        break;
    case YAML_STREAM_END_EVENT:
        return FALSE;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return TRUE;
}

/* Counts @c before the byte that cannot be read. @since: bytes after the last @c, from 1. */
static unsigned
count_before(const YamlReader *self, char c, unsigned *since)
{
    unsigned n = 0;

    *since = 1;
    for (gsize i = 0; i < MIN(self->parser.problem_offset, self->length); i++) {
        n += self->text[i] == c;
        *since = self->text[i] == c ? 1 : *since + 1;
    }
    return n;
}

static void
reader_syntax_fault(YamlReader *self)
{
    const yaml_parser_t *parser = &self->parser;
    g_autofree char *message = NULL;
    YamlMark mark;

    if (parser->error == YAML_READER_ERROR) {
        message = g_strdup_printf("not UTF-8 text: %s (byte %zu)", parser->problem,
                                  parser->problem_offset);
        mark.line = 1 + count_before(self, '\n', &mark.column);
    } else {
        message = parser->context != NULL
                      ? g_strdup_printf("%s, %s", parser->problem, parser->context)
                      : g_strdup(parser->problem != NULL ? parser->problem : "not YAML");
        mark = mark_from(&parser->problem_mark);
    }
    yaml_builder_syntax_fault(&self->builder, mark, message);
}

/* Clears the reader's builder at the end. */
static gboolean
yaml_read_all(YamlReader *self)
{
    gboolean more = TRUE;

    if (!yaml_parser_initialize(&self->parser))
        g_error("out of memory");
    yaml_parser_set_input_string(&self->parser, (const unsigned char *)self->text, self->length);
    while (more) {
        yaml_event_t event;
        if (!yaml_parser_parse(&self->parser, &event)) {
            reader_syntax_fault(self);
            break;
        }
        more = reader_take(self, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&self->parser);
    yaml_builder_clear(&self->builder);
    return !self->builder.failed;
}

gboolean
yaml_read(YamlPositions *positions,
          const char *file,
          const char *text,
          gsize length,
          GPtrArray *faults,
          GPtrArray *documents)
{
    YamlReader self = {.text = text, .length = length};

    yaml_builder_init(&self.builder, positions, file, faults, documents);
    return yaml_read_all(&self);
}

gboolean
yaml_read_words(YamlPositions *positions,
                const char *file,
                const char *text,
                gsize length,
                GPtrArray *faults,
                GPtrArray *documents)
{
    YamlReader self = {.text = text, .length = length};

    yaml_builder_init(&self.builder, positions, file, faults, documents);
    self.builder.is_words = TRUE;
    return yaml_read_all(&self);
}

gboolean
yaml_read_json(const char *text, gsize length, GPtrArray *documents)
{
    if (length == 0 || (*text != '{' && *text != '['))
        return FALSE;
    json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    if (document == NULL)
        return FALSE;
    g_ptr_array_add(documents, document);
    return TRUE;
}
