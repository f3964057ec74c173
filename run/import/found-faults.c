/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "found-faults.h"

#include <string.h>

/* From the death of a kubelet to NotReady: node-monitor-grace-period (50 s since 1.32) since the
 * last renewal of its lease, which is 0 to 10 s before the death, and 0 to 5 s until the next look.
 */
#define SILENCE_UNTIL_NOT_READY (47 * SIM_SECOND + 500 * SIM_MS)
/* Failures further apart are two phases: a sidecar's longest back-off is 5 min, but a phase has
 * several objects. */
#define PHASE_GAP (2 * SIM_MINUTE)
/* Before the first failure that was told, its call took some seconds. */
#define PHASE_LEAD (10 * SIM_SECOND)

static json_t *
since(SimTime at, SimTime start)
{
    char text[48];
    SimTime time = MAX(at - start, 0);

    g_snprintf(text, sizeof text, "%" G_GINT64_FORMAT ".%03" G_GINT64_FORMAT "s", time / SIM_SECOND,
               time % SIM_SECOND / SIM_MS);
    return json_string(text);
}

static double
seconds(SimTime at, SimTime start)
{
    return (double)(at - start) / (double)SIM_SECOND;
}

/* ---- Kubelets ---- */

static const KubeletSeen *
find_kubelet(const Writes *writes, const char *node)
{
    for (unsigned i = 0; i < writes->kubelets->len; i++) {
        const KubeletSeen *seen = writes->kubelets->pdata[i];
        if (g_str_equal(seen->node, node))
            return seen;
    }
    return NULL;
}

/* The last request up to @at, and the first after it. TIME_UNSET: none */
static void
find_silence(const KubeletSeen *seen, SimTime at, SimTime *last, SimTime *next)
{
    *last = *next = TIME_UNSET;
    for (unsigned i = 0; i < seen->requests->len; i++) {
        SimTime time = g_array_index(seen->requests, SimTime, i);
        if (time <= at && (*last == TIME_UNSET || time > *last))
            *last = time;
        if (time > at && (*next == TIME_UNSET || time < *next))
            *next = time;
    }
}

static void
add_outage(json_t *faults, const Write *write, const KubeletSeen *seen, SimTime start)
{
    SimTime last, next, from = write->at - SILENCE_UNTIL_NOT_READY;

    find_silence(seen, write->at, &last, &next);
    from = MAX(from, last);
    g_autofree char *evidence = g_strdup_printf(
        "the node was NotReady at %.1f s; its kubelet's last request before was at %.1f s",
        seconds(write->at, start), last == TIME_UNSET ? 0 : seconds(last, start));
    json_t *item = json_pack("{s:s, s:o, s:s, s:s}", "#", evidence, "at", since(from, start), "do",
                             "stop-kubelet", "node", write->name);
    if (next != TIME_UNSET)
        json_object_set_new(item, "restartAfter", since(next, from));
    json_array_append_new(faults, item);
}

json_t *
found_outages(const Writes *writes, SimTime start, ImportReport *report)
{
    json_t *faults = json_array();
    g_autoptr(GHashTable) until = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < writes->writes->len; i++) {
        const Write *write = writes->writes->pdata[i];
        if (write->kind->model != KIND_NODE || write->at < start || write->code >= 400 ||
            write->name == NULL || !g_str_equal(write->sender->name, "node-controller") ||
            !g_str_equal(write->verb, "update") || !g_str_equal(write->subresource, "status"))
            continue;
        const KubeletSeen *seen = find_kubelet(writes, write->name);
        if (seen == NULL || !g_hash_table_add(until, (char *)write->name))
            continue;
        add_outage(faults, write, seen, start);
        import_report_count(report, REPORT_GUESSED,
                            "Kubelets that fell silent until the node was NotReady: stop-kubelet",
                            write->name);
    }
    return faults;
}

/* ---- Drivers ---- */

/* What a call leaves behind when it goes well. */
typedef struct {
    const char *method;
    RecordedKind kind;
    RecordedTime time;
} Success;

static const Success successes[] = {
    {"CreateVolume",              RECORDED_VOLUME,     RECORDED_CREATED },
    {"DeleteVolume",              RECORDED_VOLUME,     RECORDED_DELETED },
    {"ControllerPublishVolume",   RECORDED_ATTACHMENT, RECORDED_ATTACHED},
    {"ControllerUnpublishVolume", RECORDED_ATTACHMENT, RECORDED_DETACHED},
    {"ControllerExpandVolume",    RECORDED_VOLUME,     RECORDED_GROWN   },
    {"NodeStageVolume",           RECORDED_POD,        RECORDED_READY   },
    {"NodePublishVolume",         RECORDED_POD,        RECORDED_READY   },
};

/* @before: (out): the last success before @first; @within: (out): successes up to @last */
static void
find_successes(const Recorded *recorded,
               const char *method,
               SimTime first,
               SimTime last,
               SimTime *before,
               unsigned *within)
{
    const GPtrArray *objects = recorded_objects(recorded);
    const Success *success = NULL;

    *before = 0;
    *within = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(successes); i++)
        if (g_str_equal(successes[i].method, method))
            success = &successes[i];
    for (unsigned i = 0; success != NULL && i < objects->len; i++) {
        const RecordedObject *object = objects->pdata[i];
        SimTime at = object->at[success->time];
        if (object->kind != (int)success->kind || at == TIME_UNSET)
            continue;
        if (at < first)
            *before = MAX(*before, at);
        else if (at <= last)
            ++*within;
    }
}

/* "ResourceExhausted" is "RESOURCE_EXHAUSTED" in scenarios. (owned) */
static char *
code_word(const char *code)
{
    GString *word = g_string_new(NULL);

    for (const char *at = code; *at != '\0'; at++) {
        if (at > code && g_ascii_isupper(*at))
            g_string_append_c(word, '_');
        g_string_append_c(word, g_ascii_toupper(*at));
    }
    return g_string_free(word, FALSE);
}

static gboolean
is_like(const DriverFailure *a, const DriverFailure *b)
{
    return a->method == b->method && a->code == b->code && g_strcmp0(a->driver, b->driver) == 0;
}

/* The phase that begins with failure @first. @n: (out): its failures. Returns: the last one's time
 */
static SimTime
phase_end(const GArray *failures, unsigned first, gboolean *is_done, unsigned *n)
{
    const DriverFailure *begin = &g_array_index(failures, DriverFailure, first);
    SimTime last = begin->at;

    *n = 0;
    for (unsigned i = first; i < failures->len; i++) {
        const DriverFailure *failure = &g_array_index(failures, DriverFailure, i);
        if (failure->at > last + PHASE_GAP)
            break;
        if (!is_like(begin, failure) || is_done[i])
            continue;
        last = failure->at;
        is_done[i] = TRUE;
        ++*n;
    }
    return last;
}

static json_t *
phase(const Recorded *recorded, const DriverFailure *first, SimTime last, unsigned n, SimTime start)
{
    SimTime before, begin = first->at - start, end = last - start;
    unsigned within;
    g_autofree char *code = code_word(first->code);

    find_successes(recorded, first->method, begin, end, &before, &within);
    g_autofree char *evidence =
        g_strdup_printf("%u failures of %s from %.1f s to %.1f s (%s), %u successes meanwhile", n,
                        first->method, seconds(begin, 0), seconds(end, 0), first->code, within);
    json_t *item = json_pack("{s:s, s:s, s:s, s:o, s:o}", "#", evidence, "method", first->method,
                             "code", code, "from", since(MAX(before, begin - PHASE_LEAD), 0),
                             "until", since(end + SIM_SECOND, 0));
    if (within > 0)
        json_object_set_new(item, "probability", json_real((double)n / (double)(n + within)));
    return item;
}

/* The attach/detach controller and kubelets name the volume, not the driver. */
static void
set_drivers(const Writes *writes, const Dump *first)
{
    g_autoptr(GHashTable) drivers = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < writes->writes->len; i++) {
        const Write *write = writes->writes->pdata[i];
        if (write->body.driver != NULL && write->name != NULL)
            g_hash_table_insert(drivers, (char *)write->name, (char *)write->body.driver);
    }
    for (unsigned i = 0; i < writes->failures->len; i++) {
        DriverFailure *failure = &g_array_index(writes->failures, DriverFailure, i);
        if (failure->driver != NULL || failure->volume == NULL)
            continue;
        const json_t *volume = dump_find(first, "PersistentVolume", NULL, failure->volume);
        const json_t *csi = json_object_get(json_object_get(volume, "spec"), "csi");
        const char *driver = json_string_value(json_object_get(csi, "driver"));
        failure->driver = driver != NULL ? strings_intern(writes->strings, driver)
                                         : g_hash_table_lookup(drivers, failure->volume);
    }
}

json_t *
found_errors(const Writes *writes,
             const Recorded *recorded,
             const Dump *first,
             const char *driver,
             SimTime start,
             ImportReport *report)
{
    const GArray *failures = writes->failures;
    g_autofree gboolean *is_done = g_new0(gboolean, failures->len + 1);
    json_t *errors = json_array();

    set_drivers(writes, first);
    for (unsigned i = 0; i < failures->len; i++) {
        const DriverFailure *failure = &g_array_index(failures, DriverFailure, i);
        unsigned n;
        if (is_done[i] || g_strcmp0(failure->driver, driver) != 0)
            continue;
        SimTime last = phase_end(failures, i, is_done, &n);
        json_array_append_new(errors, phase(recorded, failure, last, n, start));
        g_autofree char *example = g_strdup_printf("%s of %s: %u", failure->method, driver, n);
        import_report_count(report, REPORT_GUESSED,
                            "Phases in which calls of a driver failed: errors of the driver",
                            example);
    }
    if (json_array_size(errors) > 0)
        return errors;
    json_decref(errors);
    return NULL;
}
