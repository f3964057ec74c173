/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The report of an import, import.md: what was taken, guessed, left out, and what is missing. */
typedef struct ImportReport ImportReport;

typedef enum {
    REPORT_TAKEN,
    REPORT_GUESSED, /* with the reason */
    REPORT_LEFT_OUT,
    REPORT_MISSING, /* objects that others name; this part is there only if it has lines */
    REPORT_N_PARTS,
} ReportPart;

ImportReport *import_report_new(void);
void import_report_free(ImportReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportReport, import_report_free)

/* @go_on is told what is done, now and then; %FALSE: the import is to end. */
void import_report_watch(ImportReport *self,
                         gboolean (*go_on)(void *data, const char *doing),
                         void *data);
/* Tells it. Returns: %FALSE with %G_FILE_ERROR_INTR: the import is to end */
gboolean import_report_go_on(ImportReport *self, const char *doing, GError **error);

/* Adds a line, a whole sentence. A line that is there already is not added again. */
void import_report_say(ImportReport *self, ReportPart part, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* Counts one more of @reason ("Secrets: only their names"), and keeps the first three examples.
 * @example: (nullable) */
void
import_report_count(ImportReport *self, ReportPart part, const char *reason, const char *example);
/* Whether the part has lines. */
gboolean import_report_has(const ImportReport *self, ReportPart part);
/* The report in Markdown, in the order in which lines and reasons came. (owned) */
char *import_report_text(const ImportReport *self, gboolean with_examples);
