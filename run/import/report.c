/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of an import: objects and requests that were taken, guessed, left out or are missing,
 * as lines with numbers and up to three examples. A reason is one line however often it comes, in
 * the order of first appearance, so a report stays short for any dump. It also carries the question
 * whether the import may go on. */
#include "report.h"

#include "run/files/printable.h"
#include "run/import/import-test.h"
#include "sim/strings.h"

#define N_EXAMPLES 3

typedef struct {
    char *text;
    guint64 n; /* 0: a sentence, which is not counted */
    GPtrArray *examples;
} ReportLine;

struct ImportReport {
    GPtrArray *lines[REPORT_N_PARTS];  /* of Line */
    GHashTable *found[REPORT_N_PARTS]; /* text -> Line (borrowed) */
    gboolean (*go_on)(void *data, const char *doing);
    void *data;
};

static void
line_free(void *data)
{
    ReportLine *line = data;

    g_free(line->text);
    g_ptr_array_unref(line->examples);
    g_free(line);
}

ImportReport *
import_report_new(void)
{
    ImportReport *self = g_new0(ImportReport, 1);

    for (unsigned i = 0; i < REPORT_N_PARTS; i++) {
        self->lines[i] = g_ptr_array_new_with_free_func(line_free);
        self->found[i] = g_hash_table_new(g_str_hash, g_str_equal);
    }
    return self;
}

void
import_report_free(ImportReport *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < REPORT_N_PARTS; i++) {
        g_hash_table_unref(self->found[i]);
        g_ptr_array_unref(self->lines[i]);
    }
    g_free(self);
}

void
import_report_watch(ImportReport *self,
                    gboolean (*go_on)(void *data, const char *doing),
                    void *data)
{
    self->go_on = go_on;
    self->data = data;
}

gboolean
import_report_go_on(ImportReport *self, const char *doing, GError **error)
{
    if (self->go_on == NULL || self->go_on(self->data, doing))
        return TRUE;
    g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INTR, "interrupted");
    return FALSE;
}

static ReportLine *
get_line(ImportReport *self, ReportPart part, const char *text)
{
    ReportLine *line = g_hash_table_lookup(self->found[part], text);

    if (line == NULL) {
        line = g_new0(ReportLine, 1);
        line->text = g_strdup(text);
        line->examples = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(self->lines[part], line);
        g_hash_table_insert(self->found[part], line->text, line);
    }
    return line;
}

void
import_report_say(ImportReport *self, ReportPart part, const char *format, ...)
{
    FORMATTED(text, format);
    get_line(self, part, text);
}

void
import_report_count(ImportReport *self, ReportPart part, const char *reason, const char *example)
{
    ReportLine *line = get_line(self, part, reason);

    line->n++;
    if (example != NULL && line->examples->len < N_EXAMPLES)
        g_ptr_array_add(line->examples, g_strdup(example));
}

guint64
import_report_counted(const ImportReport *self, ReportPart part, const char *reason)
{
    const ReportLine *line = g_hash_table_lookup(self->found[part], reason);

    return line != NULL ? line->n : 0;
}

gboolean
import_report_has(const ImportReport *self, ReportPart part)
{
    return self->lines[part]->len > 0;
}

static void
print_line(GString *text, const ReportLine *line, gboolean with_examples)
{
    unsigned n = with_examples ? line->examples->len : 0;

    g_autofree char *shown = printable(line->text, "");

    g_string_append_printf(text, "- %s", shown);
    if (line->n > 0)
        g_string_append_printf(text, ": %" G_GUINT64_FORMAT, line->n);
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *example = printable(line->examples->pdata[i], "");

        g_string_append_printf(text, "%s`%s`", i == 0 ? " (" : ", ", example);
    }
    if (n > 0)
        g_string_append(text, line->n > n ? ", …)" : ")");
    g_string_append_c(text, '\n');
}

char *
import_report_text(const ImportReport *self, gboolean with_examples)
{
    static const char *const titles[] = {"Taken", "Guessed", "Left out", "Missing"};
    GString *text = g_string_new("# Import\n");

    for (unsigned part = 0; part < REPORT_N_PARTS; part++) {
        if (part == REPORT_MISSING && !import_report_has(self, part))
            continue;
        g_string_append_printf(text, "\n## %s\n\n", titles[part]);
        for (unsigned i = 0; i < self->lines[part]->len; i++)
            print_line(text, self->lines[part]->pdata[i], with_examples);
        if (self->lines[part]->len == 0)
            g_string_append(text, "Nothing.\n");
    }
    return g_string_free(text, FALSE);
}
