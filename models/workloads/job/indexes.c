/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/job/private.h"

#include <string.h>

/* Completion indexes: indexed_job_utils.go. */

void
index_set_clear(IndexSet *self)
{
    g_clear_pointer(&self->bits, g_array_unref);
    self->n = 0;
}

gboolean
index_set_has(const IndexSet *self, int32_t index)
{
    return self->bits != NULL && index >= 0 && (unsigned)index < self->bits->len &&
           g_array_index(self->bits, gboolean, index);
}

void
index_set_add(IndexSet *self, int32_t index)
{
    if (index < 0 || index_set_has(self, index))
        return;
    if (self->bits == NULL)
        self->bits = g_array_new(FALSE, TRUE, sizeof(gboolean));
    if ((unsigned)index >= self->bits->len)
        g_array_set_size(self->bits, (unsigned)index + 1);
    g_array_index(self->bits, gboolean, index) = TRUE;
    self->n++;
}

int32_t
index_set_common(const IndexSet *a, const IndexSet *b)
{
    int32_t n = 0;

    for (int32_t i = 0; a->bits != NULL && i < (int32_t)a->bits->len; i++)
        n += index_set_has(a, i) && index_set_has(b, i);
    return n;
}

void
index_set_parse(IndexSet *self, const char *text, int32_t below)
{
    for (const char *at = text; at != NULL && *at != '\0';) {
        char *end;
        long first = (long)g_ascii_strtoll(at, &end, 10), last = first;
        if (end == at)
            return; /* not a number: somebody else wrote it */
        if (*end == '-')
            last = (long)g_ascii_strtoll(end + 1, &end, 10);
        for (long i = first; i <= last && i < below; i++)
            index_set_add(self, (int32_t)i);
        at = *end == ',' ? end + 1 : end + strlen(end);
    }
}

const char *
index_set_format(const IndexSet *self, Strings *strings)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (int32_t i = 0; self->bits != NULL && i < (int32_t)self->bits->len; i++) {
        int32_t last = i;
        if (!index_set_has(self, i))
            continue;
        while (index_set_has(self, last + 1))
            last++;
        g_string_append_printf(text, "%s%d", text->len == 0 ? "" : ",", i);
        if (last > i)
            g_string_append_printf(text, "%c%d", last == i + 1 ? ',' : '-', last);
        i = last;
    }
    return text->len == 0 ? NULL : strings_intern(strings, text->str);
}

int32_t
pod_job_index(const Pod *pod)
{
    return (int32_t)annotated_number(&pod->meta, INDEX_OF_JOB, 0, -1);
}
