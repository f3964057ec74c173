/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what was measured; nothing of a run comes here */
/* Errors of a driver from its counted failures. Failures between two scrapes are a phase; a
 * recording makes it exact, since a call that took longer than usual by a retry has failed at least
 * once. Without a recording the share of failed calls of the interval counts. Codes that the model
 * makes itself (time-outs, locks) are left out, and many intervals without a pause become one
 * entry, since a scenario is to be edited. */
#include <math.h>
#include <string.h>

#include "models/api/field.h"
#include "scrapes-private.h"
#include "sim/order.h"

/* Scrapes of several processes this close together are one round of them. */
#define SCRAPED_TOGETHER (2 * SIM_SECOND)
#define ENTRIES_MAX 8
/* A call is tried again after 1 s at the earliest (the sidecars' --retry-interval-start): what took
 * so much longer than the usual call has failed at least once. */
#define RETRY_S 1.0
#define USUAL_S_MAX 1e6 /* no call takes longer; a broken sum may say so */
/* How long before the first failure the errors began, at most, if nothing tells. */
#define LEAD (10 * SIM_SECOND)

/* ---- Phases ---- */

/* A call of the driver as a recording shows it: from the request to its success. */
typedef struct {
    SimTime start, end; /* end: TIME_UNSET: it never succeeded */
} Span;

static void
add_span(GArray *spans, SimTime start, SimTime end)
{
    Span span = {start, end};

    if (start != TIME_UNSET)
        g_array_append_val(spans, span);
}

/* Returns: (owned): name -> RecordedObject (borrowed), of volumes */
static GHashTable *
volumes_of(const GPtrArray *objects)
{
    GHashTable *volumes = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *object = objects->pdata[i];
        if (object->kind == RECORDED_VOLUME)
            g_hash_table_insert(volumes, (char *)object->name, (void *)object);
    }
    return volumes;
}

/* Spans of the driver's calls; a call whose driver is not known counts, too. */
static GArray *
find_spans(const Recorded *recorded, const char *driver, CsiLatency kind)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(Span));
    const GPtrArray *objects = recorded_objects(recorded);
    g_autoptr(GHashTable) volumes = volumes_of(objects);

    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *object = objects->pdata[i];
        const RecordedObject *volume =
            object->volume != NULL ? g_hash_table_lookup(volumes, object->volume) : NULL;
        if (volume != NULL && volume->driver != NULL && strcmp(volume->driver, driver) != 0)
            continue;
        if (kind == (CsiLatency)CSI_CREATE_VOLUME && object->kind == RECORDED_CLAIM)
            add_span(spans, object->at[RECORDED_ASKED],
                     volume != NULL ? volume->at[RECORDED_CREATED] : TIME_UNSET);
        else if (kind == (CsiLatency)CSI_CONTROLLER_PUBLISH_VOLUME &&
                 object->kind == RECORDED_ATTACHMENT)
            add_span(spans, object->at[RECORDED_ATTACH_REQUESTED], object->at[RECORDED_ATTACHED]);
        else if (kind == (CsiLatency)CSI_CONTROLLER_UNPUBLISH_VOLUME &&
                 object->kind == RECORDED_ATTACHMENT)
            add_span(spans, object->at[RECORDED_DETACH_REQUESTED], object->at[RECORDED_DETACHED]);
    }
    return spans;
}

static gboolean
errors_has_failed(const Span *span, SimTime usual)
{
    return span->end == TIME_UNSET ||
           span->end - span->start > usual + usual / 2 + (SimTime)(RETRY_S * SIM_SECOND);
}

/* The first span that failed within [@from, @until]. Returns: FALSE: none */
static gboolean
first_failure(const GArray *spans, SimTime usual, SimTime from, SimTime until, SimTime *first)
{
    *first = TIME_UNSET;
    for (unsigned i = 0; i < spans->len; i++) {
        const Span *span = &g_array_index(spans, Span, i);
        if (errors_has_failed(span, usual) && span->start >= from - usual && span->start <= until &&
            (*first == TIME_UNSET || span->start < *first))
            *first = span->start;
    }
    return *first != TIME_UNSET;
}

/**
 * find_phase:
 * @from, @until: the scrapes before the first and after the last failure
 * Returns: FALSE: the recording shows no failed call there, or calls that succeeded in between
 */
static gboolean
find_phase(const GArray *spans, SimTime usual, SimTime *from, SimTime *until)
{
    SimTime first, last_good = MAX(*from, 0), good_again = *until, later;

    if (!first_failure(spans, usual, *from, *until, &first))
        return FALSE;
    for (unsigned i = 0; i < spans->len; i++) {
        const Span *span = &g_array_index(spans, Span, i);
        SimTime success = span->end == TIME_UNSET ? TIME_UNSET : span->end - usual;
        if (!errors_has_failed(span, usual) && span->start < first)
            last_good = MAX(last_good, span->start);
        if (success != TIME_UNSET && success > first)
            good_again = MIN(good_again, success);
    }
    if (first_failure(spans, usual, good_again, *until, &later))
        return FALSE;
    *from = MAX(last_good + (first - last_good) / 2, first - LEAD);
    *until = MAX(good_again - (SimTime)(RETRY_S * SIM_SECOND), first + (good_again - first) / 2);
    return *until - *from > SIM_SECOND;
}

/* ---- Entries ---- */

/* Codes that the model makes itself: the caller's time-out, or a lock of the driver. */
static gboolean
is_made_by_model(CsiCode code)
{
    return code == CSI_CANCELLED || code == CSI_DEADLINE_EXCEEDED || code == CSI_ABORTED;
}

typedef struct {
    const ScrapedCalls *calls;
    SimTime start;
    SimTime usual;       /* of a call without a failure */
    const GArray *spans; /* of the recording; NULL: there is none */
    ImportReport *report;
    json_t *errors;
} Entries;

/* @n: 0: all calls fail */
static void
errors_append(const Entries *self, double n, SimTime from, SimTime until)
{
    char begin[SIM_TIME_BUFFER], end[SIM_TIME_BUFFER];
    json_t *error = json_pack("{s:s, s:s}", "method", csi_latency_name(self->calls->kind), "code",
                              csi_code_name(self->calls->code));

    if (n > 0)
        json_object_set_new(error, "count", json_integer((json_int_t)n));
    json_object_set_new(error, "from", json_string(sim_time_format(MAX(from, 0), begin)));
    json_object_set_new(error, "until", json_string(sim_time_format(until, end)));
    json_array_append_new(self->errors, error);
}

static int
by_begin(const void *a, const void *b)
{
    const ScrapedMean *x = a, *y = b;

    return ORDER(x->from, y->from);
}

/* The intervals from @first on that follow each other with no more than @gap between them, as one.
 * Returns: the first that does not */
static unsigned
join(const GArray *means, unsigned first, SimTime gap, ScrapedMean *joined)
{
    unsigned next = first + 1;

    *joined = g_array_index(means, ScrapedMean, first);
    for (; next < means->len; next++) {
        const ScrapedMean *more = &g_array_index(means, ScrapedMean, next);
        if (joined->from == TIME_UNSET || joined->to == TIME_UNSET || more->from > joined->to + gap)
            break;
        joined->to = MAX(joined->to, more->to);
        joined->n += more->n;
    }
    return next;
}

/* Intervals without a pause between them, as one phase. Returns: FALSE: the recording shows none */
static gboolean
append_phase(const Entries *self, const ScrapedMean *window)
{
    const ScrapedCalls *calls = self->calls;
    SimTime from = window->from - self->start, until = window->to - self->start;

    if (self->spans == NULL || window->from == TIME_UNSET || window->to == TIME_UNSET ||
        !find_phase(self->spans, self->usual, &from, &until))
        return FALSE;
    from -= from % (SIM_SECOND / 10);
    until -= until % (SIM_SECOND / 10);
    errors_append(self, 0, from, until);
    import_report_say(self->report, REPORT_GUESSED,
                      "%s: all calls of %s failed with %s for a while (%.0f are counted): from "
                      "before the first object that had to wait until others had not.",
                      calls->driver, csi_latency_name(calls->kind), csi_code_name(calls->code),
                      window->n);
    return TRUE;
}

/* So many failures between two scrapes; most of the time must be after t = 0. */
static void
append_counted(const Entries *self, const ScrapedMean *span)
{
    const ScrapedCalls *calls = self->calls;
    gboolean is_placed = span->from != TIME_UNSET && span->to != TIME_UNSET &&
                         span->to - span->from > SCRAPED_TOGETHER && span->to > self->start &&
                         span->to - self->start >= self->start - span->from;

    if (!is_placed) {
        import_report_say(self->report, REPORT_LEFT_OUT,
                          "%s: %.0f calls of %s failed with %s, but it is not known when.",
                          calls->driver, span->n, csi_latency_name(calls->kind),
                          csi_code_name(calls->code));
        return;
    }
    errors_append(self, span->n, span->from - self->start, span->to - self->start);
    import_report_say(self->report, REPORT_TAKEN,
                      "%s: calls of %s that failed with %s, as errors between the scrapes before "
                      "and after them.",
                      calls->driver, csi_latency_name(calls->kind), csi_code_name(calls->code));
}

/* One entry for each phase, or for each interval between scrapes; processes that are scraped
 * together share theirs. Many intervals without a pause between them are one entry: a scenario is
 * to be edited. */
static void
append_all(const Entries *self)
{
    GArray *means = self->calls->means;
    SimTime gap = means->len > ENTRIES_MAX ? SCRAPED_TOGETHER : -SCRAPED_TOGETHER;
    ScrapedMean window, span;

    g_array_sort(means, by_begin);
    for (unsigned i = 0, end; i < means->len; i = end) {
        end = join(means, i, SCRAPED_TOGETHER, &window);
        if (append_phase(self, &window))
            continue;
        for (unsigned k = i; k < end;) {
            k = join(means, k, gap, &span);
            append_counted(self, &span);
        }
    }
}

/* The mean of the successful calls; of the failed ones if there are none. */
static SimTime
usual_latency(const Scrapes *scrapes, const ScrapedCalls *failed)
{
    const ScrapedCalls *good = scrapes_find(scrapes, failed->driver, failed->kind, CSI_OK);
    const ScrapedCalls *calls = good != NULL && scraped_count(good) > 0 ? good : failed;
    double mean = calls->sum / MAX(scraped_count(calls), 1);

    return (SimTime)(MIN(mean, USUAL_S_MAX) * SIM_SECOND);
}

static void
append_method(const Scrapes *self,
              const ScrapedCalls *calls,
              const Recorded *recorded,
              SimTime start,
              ImportReport *report,
              json_t *errors)
{
    g_autoptr(GArray) spans =
        recorded != NULL ? find_spans(recorded, calls->driver, calls->kind) : NULL;
    const Entries entries = {
        calls, start, usual_latency(self, calls), spans, report, errors,
    };

    append_all(&entries);
}

json_t *
scrapes_errors(const Scrapes *self,
               const char *driver,
               SimTime start,
               const Recorded *recorded,
               ImportReport *report)
{
    json_t *errors = json_array();

    for (CsiLatency kind = 0; kind < (CsiLatency)CSI_N_METHODS; kind++)
        for (CsiCode code = CSI_OK + 1; code < CSI_N_CODES; code++) {
            const ScrapedCalls *calls = scrapes_find(self, driver, kind, code);
            if (calls == NULL)
                continue;
            if (is_made_by_model(code))
                import_report_say(report, REPORT_LEFT_OUT,
                                  "%s: %.0f calls of %s ended with %s, which the simulation "
                                  "makes itself where a call is too long or a volume is busy.",
                                  driver, scraped_count(calls), csi_latency_name(kind),
                                  csi_code_name(code));
            else
                append_method(self, calls, recorded, start, report, errors);
        }
    if (json_array_size(errors) > 0)
        return errors;
    json_decref(errors);
    return NULL;
}
