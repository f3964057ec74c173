/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

#include "status.h"

Exchange *
exchange_ref(Exchange *self)
{
    self->refs++;
    return self;
}

const char *
exchange_query(const Exchange *self, const char *name)
{
    return g_hash_table_lookup(self->request.query, name);
}

gboolean
exchange_flag(const Exchange *self, const char *name)
{
    static const char *const words[] = {"1", "t", "T", "true", "True", "TRUE", NULL};
    const char *text = exchange_query(self, name);

    return text != NULL && g_strv_contains(words, text);
}

void
exchange_header(Exchange *self, const char *name, const char *value)
{
    g_ptr_array_add(self->headers, g_strdup(name));
    g_ptr_array_add(self->headers, g_strdup(value));
}

void
exchange_warn(Exchange *self, const char *text)
{
    g_autoptr(GString) value = g_string_new("299 - \"");

    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_c(value, '\\');
        if ((unsigned char)*text >= ' ' && *text != 0x7f)
            g_string_append_c(value, *text);
    }
    g_string_append_c(value, '"');
    exchange_header(self, "Warning", value->str);
}

void
exchange_answer(Exchange *self, unsigned code, const char *content_type, GBytes *body)
{
    if (self->is_over)
        return;
    self->is_over = TRUE;
    self->class->answer(self, code, content_type, body);
}

void
exchange_answer_text(Exchange *self, unsigned code, const char *text)
{
    g_autoptr(GBytes) body = g_bytes_new(text, strlen(text));

    exchange_answer(self, code, "text/plain; charset=utf-8", body);
}

void
exchange_answer_json(Exchange *self, unsigned code, json_t *json)
{
    json_auto_t *taken = json;
    char *text = json_dumps(taken, JSON_COMPACT | JSON_ENCODE_ANY);
    gsize length = strlen(text);

    text[length] = '\n'; /* in place of the end */
    g_autoptr(GBytes) body = g_bytes_new_with_free_func(text, length + 1, free, text);
    unsigned own = status_code(taken);
    exchange_answer(self, own != 200 ? own : code, "application/json", body);
}

void
exchange_refuse(Exchange *self, unsigned code, const char *text)
{
    exchange_answer_json(self, code, status_format(code, "%s", text));
}

void
exchange_stream(Exchange *self,
                const char *content_type,
                const ExchangeStreamClass *class,
                void *data)
{
    if (self->is_over) {
        class->end(data);
        return;
    }
    self->stream_class = class;
    self->stream_data = data;
    self->class->stream(self, content_type);
}

void
exchange_wake(Exchange *self)
{
    if (!self->is_over)
        self->class->wake(self);
}
