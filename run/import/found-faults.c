/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults of a recording: nodes and processes that went silent or started again, and phases in which
 * a driver failed. A kubelet's death is the last of its requests and watches before NotReady; a
 * start is recognised by the lists of several kinds within seconds. Failures close to each other
 * are one phase, which ends with the last of them, and successes within it give the share of calls
 * that failed. */
#include "found-faults.h"
#include "models/api/fields.h"

#include <string.h>

/* From the death of a kubelet to NotReady: node-monitor-grace-period (50 s since 1.32) since the
 * last renewal of its lease, which is 0 to 10 s before the death, and 0 to 5 s until the next look.
 */
#define SILENCE_UNTIL_NOT_READY (47 * SIM_SECOND + 500 * SIM_MS)
#define SILENCE_SPREAD (8 * SIM_SECOND)
/* A process that starts reads at least so many kinds of objects, within so much time. */
#define START_KINDS 3
#define START_LASTS (15 * SIM_SECOND)
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
found_faults_seconds(SimTime at, SimTime start)
{
    return (double)(at - start) / (double)SIM_SECOND;
}

/* ---- Processes ---- */

static const ProcessWrites *
find_kubelet(const Writes *writes, const char *node)
{
    for (unsigned i = 0; i < writes->processes->len; i++) {
        const ProcessWrites *seen = writes->processes->pdata[i];
        if (g_strcmp0(seen->node, node) == 0)
            return seen;
    }
    return NULL;
}

/* The last request before @at, and the first from then on. TIME_UNSET: none */
static void
find_silence(const ProcessWrites *seen, SimTime at, SimTime *last, SimTime *next)
{
    *last = *next = TIME_UNSET;
    for (unsigned i = 0; i < seen->requests->len && *next == TIME_UNSET; i++) {
        SimTime time = g_array_index(seen->requests, SimTime, i);
        *(time < at ? last : next) = time;
    }
}

/* The death of a process closes its watches, and it asks for none again. A machine without power,
 * or without network, closes nothing: the API server finds out later. Returns: TIME_UNSET: no watch
 * ended within [@from, @until] */
static SimTime
find_death(const ProcessWrites *seen, SimTime from, SimTime until)
{
    for (unsigned i = 0; i < seen->ends->len; i++) {
        SimTime end = g_array_index(seen->ends, SimTime, i);
        if (end >= from && end <= until)
            return end;
    }
    return TIME_UNSET;
}

static void
add_outage(json_t *faults, const RecordedWrite *write, const ProcessWrites *seen, SimTime start)
{
    SimTime last, next, from = write->at - SILENCE_UNTIL_NOT_READY;

    find_silence(seen, write->at, &last, &next);
    SimTime death = find_death(seen, MAX(last, from - SILENCE_SPREAD), from + SILENCE_SPREAD);
    from = MAX(death != TIME_UNSET ? death : MAX(from, last), start);
    g_autofree char *evidence = g_strdup_printf(
        "the node was NotReady at %.1f s; its kubelet's last request before was at %.1f s",
        found_faults_seconds(write->at, start),
        last == TIME_UNSET ? 0 : found_faults_seconds(last, start));
    json_t *item = json_pack("{s:s, s:o, s:s, s:s}", "#", evidence, "at", since(from, start), "do",
                             "stop-kubelet", "node", write->name);
    if (next != TIME_UNSET)
        json_object_set_new(item, "restartAfter", since(next, from));
    json_array_append_new(faults, item);
}

static gboolean
is_not_ready(const RecordedWrite *write)
{
    return write->kind->model == KIND_NODE && write->code < 400 && write->name != NULL &&
           g_str_equal(write->sender->name, "node-controller") &&
           g_str_equal(write->verb, "update") && g_str_equal(write->subresource, "status");
}

/* A process that lists all kinds of objects again was restarted. Controllers list them when their
 * replica becomes the leader. */
static void
add_restart(json_t *faults,
            const ProcessWrites *seen,
            const char *driver,
            SimTime at,
            unsigned n,
            SimTime start)
{
    SimTime last, next;

    find_silence(seen, at, &last, &next);
    if (last == TIME_UNSET)
        return;
    SimTime death = find_death(seen, last, at);
    last = MAX(death != TIME_UNSET ? death : last, start);
    g_autofree char *evidence =
        g_strdup_printf("it read %u kinds of objects anew at %.1f s; its last %s at %.1f s", n,
                        found_faults_seconds(at, start),
                        death != TIME_UNSET ? "watch before ended" : "request before was",
                        found_faults_seconds(last, start));
    json_t *item = json_pack(
        "{s:s, s:o, s:s, s:s, s:o}", "#", evidence, "at", since(last, start), "do",
        seen->node != NULL ? "stop-kubelet" : "crash", seen->node != NULL ? "node" : "component",
        seen->node != NULL ? seen->node : seen->name, "restartAfter", since(at, last));
    if (driver != NULL)
        json_object_set_new(item, "driver", json_string(driver));
    json_array_append_new(faults, item);
}

/* Whether a process has no requests before it starts but those of the seconds in which it waits for
 * its election. */
static gboolean
begins_with(const ProcessWrites *seen, SimTime at)
{
    return g_array_index(seen->requests, SimTime, 0) > at - START_LASTS;
}

/* @outages: ends of outages, which explain a start */
static void
find_restarts(json_t *faults,
              const ProcessWrites *seen,
              const char *driver,
              SimTime start,
              const GArray *outages)
{
    const GArray *starts = seen->starts;

    for (unsigned i = 0; i < starts->len;) {
        SimTime at = g_array_index(starts, SimTime, i);
        unsigned n = 1;
        /* A log that begins with the process has its start; one that begins later has none. */
        gboolean is_known = at < start || begins_with(seen, at);
        while (i + n < starts->len && g_array_index(starts, SimTime, i + n) <= at + START_LASTS)
            n++;
        for (unsigned k = 0; k < outages->len; k++)
            is_known |= ABS(g_array_index(outages, SimTime, k) - at) < START_LASTS;
        if (n >= START_KINDS && !is_known)
            add_restart(faults, seen, driver, at, n, start);
        i += n;
    }
}

/* The ends of the outages of a node. @not_ready: of RecordedWrite. (owned) */
static GArray *
outage_ends(const GPtrArray *not_ready, const ProcessWrites *seen)
{
    GArray *ends = g_array_new(FALSE, FALSE, sizeof(SimTime));
    SimTime last, next;

    for (unsigned i = 0; i < not_ready->len; i++) {
        const RecordedWrite *write = not_ready->pdata[i];
        if (g_strcmp0(write->name, seen->node) != 0)
            continue;
        find_silence(seen, write->at, &last, &next);
        if (next != TIME_UNSET)
            g_array_append_val(ends, next);
    }
    return ends;
}

/* The drivers that need a sidecar, by objects that name them. */
typedef struct {
    const char *sidecar, *kind, *section, *key;
    const char *needs; /* "attachRequired": not false; "allowVolumeExpansion": true; NULL: always */
} SidecarNeed;

static const SidecarNeed sidecar_needs[] = {
    {"external-attacher",    "CSIDriver",           "metadata", "name",        "attachRequired"      },
    {"external-provisioner", "StorageClass",        NULL,       "provisioner", NULL                  },
    {"external-resizer",     "StorageClass",        NULL,       "provisioner", "allowVolumeExpansion"},
    {"external-snapshotter", "VolumeSnapshotClass", NULL,       "driver",      NULL                  },
};

static gboolean
needs_sidecar(const SidecarNeed *row, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");

    return row->needs == NULL || json_is_true(json_object_get(object, row->needs)) ||
           (spec != NULL && !json_is_false(json_object_get(spec, row->needs)));
}

/* The only driver that has a sidecar; NULL: none, or several */
static const char *
only_driver(const Dump *first, const char *sidecar)
{
    const char *found = NULL;
    const json_t *object;

    for (unsigned i = 0; i < G_N_ELEMENTS(sidecar_needs); i++) {
        const SidecarNeed *row = &sidecar_needs[i];
        for (guint k = 0; g_str_equal(row->sidecar, sidecar) &&
                          (object = dump_next(first, row->kind, &k)) != NULL;) {
            const json_t *part =
                row->section != NULL ? json_object_get(object, row->section) : object;
            const char *driver = json_string_value(json_object_get(part, row->key));
            if (driver == NULL || strstr(driver, "no-provisioner") != NULL ||
                !needs_sidecar(row, object))
                continue;
            if (found != NULL && !g_str_equal(found, driver))
                return NULL;
            found = driver;
        }
    }
    return found;
}

json_t *
found_outages(const Writes *writes,
              unsigned n_drivers,
              const Dump *first,
              SimTime start,
              ImportReport *report)
{
    json_t *faults = json_array();
    g_autoptr(GHashTable) seen_at = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) not_ready = g_ptr_array_new();

    for (unsigned i = 0; i < writes->writes->len; i++) {
        const RecordedWrite *write = writes->writes->pdata[i];
        if (!is_not_ready(write) || write->at < start)
            continue;
        g_ptr_array_add(not_ready, (void *)write);
        const ProcessWrites *seen = find_kubelet(writes, write->name);
        const RecordedWrite *before = g_hash_table_lookup(seen_at, write->name);
        g_hash_table_insert(seen_at, (char *)write->name, (void *)write);
        if (seen == NULL || (before != NULL && write->at < before->at + SIM_MINUTE))
            continue;
        add_outage(faults, write, seen, start);
        import_report_count(report, REPORT_GUESSED,
                            "Kubelets that fell silent until the node was NotReady: stop-kubelet",
                            write->name);
    }
    gsize n = json_array_size(faults);
    gboolean is_clear = n_drivers == 1; /* the log does not tell the drivers' sidecars apart */
    for (unsigned i = 0; i < writes->processes->len; i++) {
        const ProcessWrites *seen = writes->processes->pdata[i];
        const char *driver = NULL;
        if (!is_clear && g_str_has_prefix(seen->name, "external-") &&
            (driver = only_driver(first, seen->name)) == NULL)
            continue;
        g_autoptr(GArray) ends = outage_ends(not_ready, seen);
        find_restarts(faults, seen, driver, start, ends);
    }
    for (; n < json_array_size(faults); n++) {
        const json_t *item = json_array_get(faults, n);
        const char *name = json_path_string(item, "component");
        import_report_count(report, REPORT_GUESSED,
                            "Components that read everything anew: taken for restarts",
                            name != NULL ? name : json_path_string(item, "node"));
    }
    return faults;
}

/* ---- Drivers ---- */

/* The trace of a successful call. */
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
    g_autofree char *evidence = g_strdup_printf(
        "%u failures of %s from %.1f s to %.1f s (%s), %u successes meanwhile", n, first->method,
        found_faults_seconds(begin, 0), found_faults_seconds(end, 0), first->code, within);
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
        const RecordedWrite *write = writes->writes->pdata[i];
        if (write->body.driver != NULL && write->name != NULL)
            g_hash_table_insert(drivers, (char *)write->name, (char *)write->body.driver);
    }
    for (unsigned i = 0; i < writes->failures->len; i++) {
        DriverFailure *failure = &g_array_index(writes->failures, DriverFailure, i);
        if (failure->driver != NULL || failure->volume == NULL)
            continue;
        const json_t *volume = dump_find(first, "PersistentVolume", NULL, failure->volume);
        const json_t *csi = json_object_get(json_object_get(volume, "spec"), "csi");
        const char *driver = json_path_string(csi, "driver");
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
