/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results.h"

#include <string.h>

/* The last lines of a run, from its summary. */

#define LINES_MAX 10
#define STUCK_MAX 5     /* causes */
#define REFUSED_MAX 3   /* failed actions */
#define LIMIT_SHARE 0.3 /* of the pods' time, from which on a limit is told */

typedef struct {
    GString *text;
    unsigned n_lines, n_more;
} Notices;

static const char *
notices_member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

static void
append_stuck(Notices *self, const json_t *finding)
{
    json_int_t n = json_integer_value(json_object_get(finding, "objects"));

    g_string_append_printf(self->text, "stuck: %s", notices_member(finding, "first"));
    if (n > 1)
        g_string_append_printf(self->text, " and %" JSON_INTEGER_FORMAT " more", n - 1);
    g_string_append_printf(self->text, ": %s: %s %s. %s\n", notices_member(finding, "cause"),
                           notices_member(finding, "fault"), notices_member(finding, "text"),
                           notices_member(finding, "unblock"));
}

static void
append_refused(Notices *self, const json_t *item)
{
    g_string_append_printf(self->text, "failed: %s\n", json_string_value(item));
}

static void
append_warning(Notices *self, const json_t *item)
{
    g_string_append_printf(self->text, "warning: %s\n", json_string_value(item));
}

/* A limit that the pods waited for most of all: tokens, workers, places. */
static void
append_limit(Notices *self, const json_t *summary)
{
    static const char *const limits[] = {
        "client throttling",      "all workers busy",    "driver throttling", "unschedulable",
        "change of files' group", "SELinux relabelling", "image pull"};
    const json_t *stage = json_object_get(json_object_get(summary, "attribution"), "pod-start");
    const json_t *bottleneck = json_object_get(stage, "bottleneck");
    double share = json_number_value(json_object_get(bottleneck, "share"));

    if (share < LIMIT_SHARE || self->n_lines == LINES_MAX - 1)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++) {
        if (strcmp(notices_member(bottleneck, "wait"), limits[i]) != 0)
            continue;
        g_string_append_printf(self->text, "limit: %.0f %% of pod-start: %s%s%s; %s\n", share * 100,
                               limits[i], *notices_member(bottleneck, "detail") != '\0' ? ": " : "",
                               notices_member(bottleneck, "detail"),
                               notices_member(bottleneck, "limit"));
        self->n_lines++;
    }
}

/* No more than @max items of the list; the others are counted. */
static void
append_list(Notices *self,
            const json_t *list,
            unsigned max,
            void (*append)(Notices *self, const json_t *item))
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item) {
        if (i >= max || self->n_lines == LINES_MAX - 1) {
            self->n_more++;
            continue;
        }
        append(self, item);
        self->n_lines++;
    }
}

void
results_append_notices(const json_t *summary, GString *text)
{
    const json_t *ignored = json_object_get(summary, "ignored");
    Notices self = {.text = text};

    append_list(&self, json_object_get(summary, "findings"), STUCK_MAX, append_stuck);
    append_list(&self, json_object_get(summary, "refused"), REFUSED_MAX, append_refused);
    append_limit(&self, summary);
    append_list(&self, json_object_get(summary, "warnings"), LINES_MAX, append_warning);
    if (self.n_more > 0)
        g_string_append_printf(text, "... and %u more, in summary.json and --format json\n",
                               self.n_more);
    else if (json_array_size(ignored) == 1)
        g_string_append_printf(text, "ignored: 1 object that does not matter to storage, %s\n",
                               json_string_value(json_array_get(ignored, 0)));
    else if (json_array_size(ignored) > 0)
        g_string_append_printf(
            text, "ignored: %zu objects that do not matter to storage, the first %s\n",
            json_array_size(ignored), json_string_value(json_array_get(ignored, 0)));
}
