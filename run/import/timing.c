/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what was measured; nothing of a run comes here */
#include "timing.h"

#include <math.h>
#include <string.h>

#include "run/measure/fit.h"
#include "sim/strings.h"

#define PROFILE "timing-1.32.yaml"
/* The faster writes did not wait for others, which is a part of the model of its own (TIM-4). */
#define FAST 0.25
#define WRITES_MIN 100 /* of all verbs */
#define VERB_MIN 30    /* of one */
#define DIFFERS 1.25   /* a smaller difference is left */

/* TIM-1 and TIM-2 in PROFILE: a write is a shift of 1 ms and a lognormal of median 2.5 ms and sigma
 * 0.75, times the factor of its verb. */
#define SHIFT_MS 1.0
#define MEDIAN_MS 2.5
#define SIGMA 0.75
#define NORMAL_QUARTILE (-0.6745)

static const struct {
    const char *verb, *field;
    double factor;
} verbs[] = {
    {"create", "createFactor", 1.0 },
    {"update", "updateFactor", 0.85},
    {"patch",  "patchFactor",  1.1 },
    {"delete", "deleteFactor", 1.15},
};

/* Milliseconds of the writes of one verb that were carried out. Returns: (owned): sorted */
static GArray *
durations_of(const Writes *writes, const char *verb, SimTime start)
{
    GArray *durations = g_array_new(FALSE, FALSE, sizeof(double));

    for (unsigned i = 0; i < writes->writes->len; i++) {
        const RecordedWrite *write = writes->writes->pdata[i];
        double ms = (double)(write->done - write->received) / (double)SIM_MS;
        if (write->received >= start && write->code >= 200 && write->code < 300 && ms > 0 &&
            g_str_equal(write->verb, verb))
            g_array_append_val(durations, ms);
    }
    g_array_sort(durations, fit_compare);
    return durations;
}

static double
fast_of(const GArray *sorted)
{
    return fit_quantile((const double *)sorted->data, sorted->len, FAST);
}

/* The fast quantile of all writes, each by the factor of its verb. Returns: 0: too few */
static double
base_of(GArray *const *durations)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++)
        for (unsigned k = 0; k < durations[i]->len; k++) {
            double ms = g_array_index(durations[i], double, k) / verbs[i].factor;
            g_array_append_val(all, ms);
        }
    g_array_sort(all, fit_compare);
    return all->len < WRITES_MIN ? 0 : fast_of(all);
}

/* Puts another value behind "field:" at the begin of a line. */
static void set_field(GString *text, const char *field, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
static void
set_field(GString *text, const char *field, const char *format, ...)
{
    g_autofree char *begin = g_strdup_printf("\n%s:", field);
    const char *at = strstr(text->str, begin);

    if (at == NULL)
        return;
    gsize from = (gsize)(at - text->str) + strlen(begin);
    FORMATTED(value, format);
    g_string_erase(text, (gssize)from, (gssize)strcspn(text->str + from, "\n"));
    g_string_insert(text, (gssize)from, value);
}

static char *
make_profile(const char *profile, GArray *const *durations, double base)
{
    GString *text =
        g_string_new("# Made by kvolsim import: `write` and its factors are those of an "
                     "audit log.\n");
    double usual = SHIFT_MS + MEDIAN_MS * exp(NORMAL_QUARTILE * SIGMA), scale = base / usual;

    g_string_append(text, profile);
    set_field(text, "write", " {lognormal: {median: %.2fms, sigma: %.2f, shift: %.2fms}}",
              MEDIAN_MS * scale, SIGMA, SHIFT_MS * scale);
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (durations[i]->len >= VERB_MIN)
            set_field(text, verbs[i].field, " %.2f", fast_of(durations[i]) / base);
    return g_string_free(text, FALSE);
}

char *
timing_of_log(
    const Writes *writes, const char *data_dir, SimTime start, ImportReport *report, GError **error)
{
    g_autofree char *file = g_build_filename(data_dir, "models", "profiles", PROFILE, NULL);
    g_autofree char *profile = NULL;
    GArray *durations[G_N_ELEMENTS(verbs)];
    char *text = NULL;

    if (!g_file_get_contents(file, &profile, NULL, error))
        return NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++)
        durations[i] = durations_of(writes, verbs[i].verb, start);
    double base = base_of(durations);
    double usual = SHIFT_MS + MEDIAN_MS * exp(NORMAL_QUARTILE * SIGMA), ratio = base / usual;
    if (base > 0 && (ratio > DIFFERS || ratio < 1 / DIFFERS)) {
        text = make_profile(profile, durations, base);
        import_report_say(report, REPORT_TAKEN,
                          "Writes to the API server take %.2g times as long as usual: a quarter of "
                          "them less than %.2g ms (timing.yaml).",
                          ratio, base);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++)
        g_array_unref(durations[i]);
    return text;
}
