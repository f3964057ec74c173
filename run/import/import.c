/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim import as a whole: dumps, audit logs, metrics and manifests become a scenario, its
 * objects, its workload and a recording. t = 0 is the instant of the first dump, made exact by the
 * log through resource versions; the run ends with the log. Measured values replace a profile's,
 * and errors with times replace those that were only counted. Members are printed in a fixed order
 * with comments for the reader who edits them. */
#include <string.h>

#include "anonymize.h"
#include "drivers.h"
#include "dump.h"
#include "found-faults.h"
#include "import.h"
#include "models/api/field.h"
#include "models/api/fields.h"
#include "owners.h"
#include "prune.h"
#include "recorded.h"
#include "recording.h"
#include "report.h"
#include "run/files/packed.h"
#include "run/files/result-file.h"
#include "run/import/flags/flags.h"
#include "run/import/scrapes/scrapes.h"
#include "run/import/start/migrated.h"
#include "run/import/start/missing.h"
#include "run/import/start/priorities.h"
#include "run/scenario/scenario.h"
#include "sim/append.h"
#include "sim/strings.h"
#include "timing.h"
#include "workload.h"
#include "writes.h"
#include "yaml-print.h"

#define OBJECTS_FILE "objects.json.xz"
#define RECORDED_FILE "recorded.json"
#define WORKLOAD_FILE "workload.json"
#define TIMING_FILE "timing.yaml"

/* Without an audit log nobody says how long the recording is: 10 min show what is under way. */
#define UNTIL_DEFAULT (10 * SIM_MINUTE)

typedef struct {
    const ImportOptions *options;
    ImportReport *report;   /* (owned) */
    Pruner *pruner;         /* (owned) */
    GPtrArray *dumps;       /* (owned): of Dump, the oldest first */
    const Dump *first;      /* the start state (borrowed) */
    SimTime start;          /* t = 0, as api_time_parse() gives it */
    SimTime until;          /* length of the run */
    json_t *spec;           /* (owned): of the scenario; see yaml-print.h for comments */
    json_t *drivers;        /* of spec (borrowed) */
    json_t *objects;        /* (owned): an array: the start state, pruned */
    Anonymizer *anonymizer; /* (owned): NULL: names stay */
    Recorded *recorded;     /* (owned): NULL: no audit log */
    Writes *writes;         /* (owned): of the audit log; NULL: none */
    char *timing;           /* (owned): of timing.yaml; NULL: the usual one */
    json_t *workload;       /* (owned): of workload.json; NULL: no audit log */
} Import;

static void
import_clear(Import *self)
{
    g_clear_pointer(&self->report, import_report_free);
    g_clear_pointer(&self->pruner, pruner_free);
    g_clear_pointer(&self->dumps, g_ptr_array_unref);
    g_clear_pointer(&self->recorded, recorded_free);
    json_decref(self->spec);
    json_decref(self->workload);
    g_clear_pointer(&self->writes, writes_free);
    g_free(self->timing);
    json_decref(self->objects);
    g_clear_pointer(&self->anonymizer, anonymizer_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Import, import_clear)

/* ---- Steps ---- */

static gboolean
find_start(Import *self, GError **error)
{
    const char *text = self->options->start;

    self->until = UNTIL_DEFAULT;
    if (text != NULL && !api_time_parse(text, &self->start)) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "--start: \"%s\" is not a time as in 2026-01-31T12:00:00Z", text);
        return FALSE;
    }
    if (text == NULL)
        self->start = self->first->newest != TIME_UNSET ? self->first->newest : 0;
    return TRUE;
}

static gboolean
read_dumps(Import *self, GError **error)
{
    self->dumps = dumps_read(self->options->dumps, self->report, error);
    if (self->dumps == NULL)
        return FALSE;
    self->first = self->dumps->pdata[0];
    for (unsigned i = 0; i < self->dumps->len; i++) {
        const Dump *dump = self->dumps->pdata[i];
        char buffer[API_TIME_BUFFER];
        g_autofree char *base = self->options->anonymize
                                    ? g_strdup("a file")
                                    : g_path_get_basename(dump->files->pdata[0]);
        import_report_say(
            self->report, REPORT_TAKEN,
            "Dump %u of %u (%s%s): %u object%s, newest time stamp %s%s.", i + 1, self->dumps->len,
            base, dump->files->len > 1 ? ", …" : "", dump->objects->len, plural(dump->objects->len),
            dump->newest != TIME_UNSET ? api_time_format(dump->newest, FALSE, buffer) : "none",
            i == 0 ? ": the start state" : "");
        migrated_translate(dump, i == 0 ? self->report : NULL);
    }
    if (self->first->objects->len > 0) {
        owners_complete(self->dumps->pdata[0], self->report);
        priorities_complete(self->dumps->pdata[0], self->report);
        return find_start(self, error) && missing_tell(self->first, self->report, error);
    }
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: no object that matters for storage",
                self->options->dumps[0]);
    return FALSE;
}

static void
set_found(json_t *object, const char *member, json_t *value)
{
    if (value != NULL)
        json_object_set_new(object, member, value);
}

/* Returns: 32 for "v1.32.5-eks-1"; 0: no release of Kubernetes, as virtual kubelets report */
static unsigned
minor_of(const char *version)
{
    char *end;

    if (version == NULL || !g_str_has_prefix(version, "v1."))
        return 0;
    guint64 minor = g_ascii_strtoull(version + strlen("v1."), &end, 10);
    return *end == '.' && minor < 100 ? (unsigned)minor : 0;
}

/* The newest of the kubelets': the API server is of the same release, or newer. In an upgrade and
 * on virtual nodes there are older ones. */
static void
find_version(Import *self)
{
    const json_t *node;
    guint i = 0;
    unsigned newest = 0, oldest = G_MAXUINT;

    while ((node = dump_next(self->first, "Node", &i)) != NULL) {
        unsigned minor = minor_of(json_path_string(node, "status.nodeInfo.kubeletVersion"));
        newest = MAX(newest, minor);
        oldest = minor > 0 ? MIN(oldest, minor) : oldest;
    }
    if (newest == 0)
        return;
    unsigned taken = CLAMP(newest, SCENARIO_MINOR_MIN, SCENARIO_MINOR_MAX);
    g_autofree char *minor = g_strdup_printf("1.%u", taken);
    json_t *kubernetes = json_pack("{s:s}", "version", minor);
    set_found(kubernetes, "featureGates", flags_feature_gates(self->first));
    json_object_set_new(self->spec, "kubernetes", kubernetes);
    if (taken != newest)
        import_report_say(self->report, REPORT_GUESSED,
                          "Kubernetes 1.%u is not modelled: taken as %s.", newest, minor);
    else if (oldest == newest)
        import_report_say(self->report, REPORT_TAKEN, "Kubernetes %s, as the nodes say.", minor);
    else
        import_report_say(self->report, REPORT_GUESSED,
                          "Kubernetes %s, as the newest kubelet; the oldest is of 1.%u.", minor,
                          oldest);
}

/* ---- The audit log ---- */

/* Time stamps have whole seconds. The log dates the last write that the dump has by its resource
 * version: t = 0 is not before it. */
static void
refine_start(Import *self)
{
    const GPtrArray *writes = self->writes != NULL ? self->writes->writes : NULL;
    SimTime last = self->start;
    char buffer[API_TIME_BUFFER];

    if (self->options->start != NULL)
        return;
    for (unsigned i = 0; writes != NULL && i < writes->len; i++) {
        const RecordedWrite *write = writes->pdata[i];
        if (write->resource_version > 0 && write->resource_version <= self->first->resource_version)
            last = MAX(last, write->at);
    }
    import_report_say(self->report, REPORT_GUESSED, "t = 0 is %s, %s; --start sets another.",
                      api_time_format(last, last % SIM_SECOND != 0, buffer),
                      last > self->start ? "when the audit log has the dump's last write"
                                         : "the newest time stamp of the dump");
    self->start = last;
}

/* The run ends with the log. */
static gboolean
add_audit(Import *self, GError **error)
{
    const Writes *writes;
    char buffer[API_TIME_BUFFER];

    if (*self->options->audit == NULL) {
        refine_start(self);
        return TRUE;
    }
    self->recorded = recorded_new();
    self->writes =
        writes_read(self->options->audit, self->start, self->recorded, self->report, error);
    if (self->writes == NULL)
        return FALSE;
    writes = self->writes;
    if (writes->summary.last <= self->start + SIM_SECOND) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "the audit log ends before the dump begins, at %s: it is not of this dump",
                    api_time_format(writes->summary.last, FALSE, buffer));
        return FALSE;
    }
    refine_start(self);
    self->until = writes->summary.last - self->start;
    recording_make(self->recorded, writes, self->dumps, self->start, self->report);
    self->workload = workload_make(writes, self->dumps, self->start, self->pruner, self->report);
    recorded_set_span(self->recorded, api_time_format(self->start, TRUE, buffer), self->until);
    return TRUE;
}

static json_t *
import_time_text(SimTime time)
{
    char buffer[API_TIME_BUFFER];

    return json_string(api_time_format(time, time % SIM_SECOND != 0, buffer));
}

static json_t *
duration_text(SimTime duration)
{
    char buffer[SIM_TIME_BUFFER];

    return json_string(sim_time_format(duration, buffer));
}

/* Measured values replace the profile's. */
static gboolean
add_scrapes(Import *self, GError **error)
{
    g_autoptr(Scrapes) scrapes = NULL;
    json_t *driver;
    gsize i;

    if (*self->options->metrics == NULL)
        return TRUE;
    scrapes = scrapes_read(self->options->metrics, self->report, error);
    if (scrapes == NULL)
        return FALSE;
    json_array_foreach(self->drivers, i, driver) {
        const char *name = json_path_string(driver, "name");
        set_found(driver, "latency", scrapes_latency(scrapes, name, self->report));
        set_found(driver, "errors",
                  scrapes_errors(scrapes, name, self->start, self->recorded, self->report));
    }
    return TRUE;
}

/* The Event of a failure comes after the call, which is what "until" is about. A phase out of
 * scrapes ends before the first call that succeeded. */
static void
end_sooner(json_t *error, const json_t *scraped)
{
    const json_t *values[] = {json_object_get(error, "from"), json_object_get(scraped, "until"),
                              json_object_get(error, "until")};
    SimTime times[G_N_ELEMENTS(values)];
    gboolean ok = json_object_get(scraped, "count") == NULL;

    for (unsigned i = 0; ok && i < G_N_ELEMENTS(values); i++)
        ok = json_is_string(values[i]) &&
             sim_time_parse(json_string_value(values[i]), &times[i], NULL) &&
             (i == 0 || times[i] > times[i - 1]);
    if (ok)
        json_object_set(error, "until", (json_t *)values[1]);
}

/* The log has the times of errors, a scrape only counts them: an entry of the log replaces one of a
 * scrape. */
static void
add_errors(Import *self, json_t *driver)
{
    const char *name = json_path_string(driver, "name");
    json_t *errors =
        found_errors(self->writes, self->recorded, self->first, name, self->start, self->report);
    json_t *scraped = json_object_get(driver, "errors"), *other, *error;
    gsize i, k;

    if (errors == NULL)
        return;
    json_array_foreach(scraped, i, other) {
        gboolean is_found = FALSE;
        json_array_foreach(errors, k, error) {
            if (!json_equal(json_object_get(error, "method"), json_object_get(other, "method")))
                continue;
            is_found = TRUE;
            end_sooner(error, other);
        }
        if (!is_found)
            json_array_append(errors, other);
    }
    json_object_set_new(driver, "errors", errors);
}

static void
add_faults(Import *self)
{
    json_t *driver, *outages;
    gsize i;

    if (self->writes == NULL)
        return;
    json_array_foreach(self->drivers, i, driver)
        add_errors(self, driver);
    outages = found_outages(self->writes, (unsigned)json_array_size(self->drivers),
                            self->dumps->pdata[0], self->start, self->report);
    if (json_array_size(outages) > 0)
        json_object_set(self->spec, "faults", outages);
    json_decref(outages);
}

/* ---- The scenario ---- */

/* A comment above a member, see yaml-print.h. */
static void comment(json_t *object, const char *member, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
static void
comment(json_t *object, const char *member, const char *format, ...)
{
    g_autofree char *key = g_strconcat("# ", member, NULL);

    FORMATTED(text, format);
    json_object_set_new(object, key, json_string(text));
}

static void
comment_drivers(const Import *self)
{
    json_t *driver;
    gsize i;

    json_array_foreach(self->drivers, i, driver) {
        if (json_object_get(driver, "latency") != NULL)
            comment(driver, "latency", "measured; other calls are as in the profile");
        else if (g_strcmp0(json_path_string(driver, "profile"), "generic") == 0)
            comment(driver, "profile", "no profile fits this driver: set its latencies");
    }
}

/* Explains the members to the reader who edits the file. */
static void
add_comments(Import *self)
{
    json_t *spec = self->spec;

    comment(spec, "until",
            self->writes != NULL ? "the end of the audit log"
                                 : "without an audit log: choose any length");
    comment(spec, "timing", "the default timing, with the writes as the audit log has them");
    comment(spec, "manifests", "the start: %u object%s", self->first->objects->len,
            plural(self->first->objects->len));
    comment(spec, "components", "flags of the control plane, by their real names");
    comment(spec, "workload", "what people and tools did: %" G_GSIZE_FORMAT " request%s",
            json_array_size(self->workload), plural(json_array_size(self->workload)));
    comment(spec, "faults", "found in the audit log; to leave them out: faults: []");
    comment_drivers(self);
}

static gboolean
add_timing(Import *self, GError **error)
{
    GError *fault = NULL;

    if (self->writes != NULL)
        self->timing =
            timing_of_log(self->writes, self->options->data_dir, self->start, self->report, &fault);
    if (self->timing != NULL)
        json_object_set_new(self->spec, "timing", json_string(TIMING_FILE));
    if (fault != NULL)
        g_propagate_error(error, fault);
    return fault == NULL;
}

/* The members in the order in which they are printed. */
static gboolean
make_spec(Import *self, GError **error)
{
    if (!add_audit(self, error))
        return FALSE;
    self->spec = json_object();
    json_object_set_new(self->spec, "start", import_time_text(self->start));
    json_object_set_new(self->spec, "until", duration_text(self->until));
    find_version(self);
    if (!add_timing(self, error))
        return FALSE;
    json_object_set_new(self->spec, "manifests", json_string(OBJECTS_FILE));
    set_found(self->spec, "components", flags_of_components(self->first, self->report));
    self->drivers = drivers_of_dump(self->first, self->report);
    json_object_set_new(self->spec, "drivers", self->drivers);
    if (self->workload != NULL)
        json_object_set_new(self->spec, "workload", json_pack("[{s:s}]", "from", WORKLOAD_FILE));
    if (!flags_of_drivers(self->drivers, self->first, self->options->driver_manifests, self->report,
                          error) ||
        !add_scrapes(self, error))
        return FALSE;
    add_faults(self);
    add_comments(self);
    return TRUE;
}

/* ---- Files ---- */

static gboolean
write_scenario(const Import *self, const char *folder, GError **error)
{
    g_autoptr(GString) text = g_string_new(
        "# Made by kvolsim import; import.md tells what was taken, guessed and left out.\n"
        "# Change what you like: flags, limits, latencies, the workload.\n"
        "apiVersion: kvolsim.io/v1\n"
        "kind: Scenario\n"
        "metadata: {name: imported}\n"
        "spec:\n");

    yaml_print_members(text, self->spec, 2);
    return result_file_write(folder, "scenario.yaml", text->str, error);
}

static int
import_append(const char *buffer, size_t size, void *data)
{
    g_string_append_len(data, buffer, (gssize)size);
    return 0;
}

/* One object a line. */
static gboolean
write_objects(const Import *self, const char *folder, GError **error)
{
    g_autoptr(GString) text =
        g_string_new("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n");
    g_autoptr(GBytes) packed = NULL;
    g_autofree char *path = g_build_filename(folder, OBJECTS_FILE, NULL);
    gsize length;

    for (gsize i = 0; i < json_array_size(self->objects); i++) {
        g_string_append(text, i > 0 ? ",\n" : "");
        json_dump_callback(json_array_get(self->objects, i), import_append, text, JSON_COMPACT);
    }
    g_string_append(text, "\n]}\n");
    if (!import_report_go_on(self->report, OBJECTS_FILE, error))
        return FALSE;
    packed = packed_xz(text->str, text->len, error);
    if (packed == NULL)
        return FALSE;
    const char *bytes = g_bytes_get_data(packed, &length);
    return g_file_set_contents(path, bytes, (gssize)length, error);
}

/* ---- Names ---- */

static void
replace_in_place(Anonymizer *anonymizer, json_t **value)
{
    json_t *replaced = *value != NULL ? anonymizer_replace(anonymizer, *value) : NULL;

    json_decref(*value);
    *value = replaced;
}

static void
see_attachments(Anonymizer *anonymizer, const Dump *dump)
{
    const json_t *attachment;
    guint i = 0;

    while ((attachment = dump_next(dump, "VolumeAttachment", &i)) != NULL) {
        const char *volume = json_path_string(attachment, "spec.source.persistentVolumeName");
        const json_t *found =
            volume != NULL ? dump_find(dump, "PersistentVolume", NULL, volume) : NULL;
        const char *handle = json_path_string(found, "spec.csi.volumeHandle");
        const char *driver = json_path_string(attachment, "spec.attacher");
        const char *node = json_path_string(attachment, "spec.nodeName");
        if (handle != NULL && driver != NULL && node != NULL)
            anonymizer_see_attachment(anonymizer, dump_meta(attachment, "name"), handle, driver,
                                      node);
    }
}

/* Drivers that anybody may have keep their names. */
static void
keep_drivers(const Import *self)
{
    const json_t *driver;
    gsize i;

    json_array_foreach(self->drivers, i, driver) {
        const char *profile = json_path_string(driver, "profile");
        if (g_strcmp0(profile, "generic") != 0)
            anonymizer_keep(self->anonymizer, json_path_string(driver, "name"));
    }
}

/* @recording: (inout): the contents of recorded.json; NULL: none */
static void
anonymize(Import *self, json_t **recording)
{
    self->anonymizer = anonymizer_new();
    keep_drivers(self);
    anonymizer_see(self->anonymizer, self->objects);
    anonymizer_see(self->anonymizer, self->spec);
    anonymizer_see(self->anonymizer, self->workload);
    anonymizer_see(self->anonymizer, *recording);
    for (unsigned i = 0; i < self->dumps->len; i++)
        see_attachments(self->anonymizer, self->dumps->pdata[i]);
    replace_in_place(self->anonymizer, &self->objects);
    replace_in_place(self->anonymizer, &self->spec);
    replace_in_place(self->anonymizer, &self->workload);
    replace_in_place(self->anonymizer, recording);
}

static void
prune_objects(Import *self)
{
    self->objects = json_array();
    for (unsigned i = 0; i < self->first->objects->len; i++) {
        pruner_object(self->pruner, self->first->objects->pdata[i]);
        json_array_append(self->objects, self->first->objects->pdata[i]);
    }
}

/* Replaces the names in recorded.json, too, which stands in the folder already. */
static gboolean
anonymize_all(Import *self, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, RECORDED_FILE, NULL);
    json_t *recording = self->recorded != NULL ? json_load_file(path, 0, NULL) : NULL;
    gboolean done = TRUE;

    anonymize(self, &recording);
    if (recording != NULL) {
        g_autofree char *text = json_dumps(recording, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
        done = result_file_write(folder, RECORDED_FILE, text, error);
    }
    json_decref(recording);
    return done;
}

static gboolean
write_report(const Import *self, const char *folder, GError **error)
{
    g_autofree char *report = import_report_text(self->report, self->anonymizer == NULL);
    g_autofree char *plain =
        self->anonymizer != NULL ? anonymizer_sentence(self->anonymizer, report) : NULL;

    return result_file_write(folder, "import.md", plain != NULL ? plain : report, error);
}

/* One item a line. */
static gboolean
write_workload(const Import *self, const char *folder, GError **error)
{
    g_autoptr(GString) text = g_string_new("[");
    const json_t *item;
    gsize i;

    json_array_foreach(self->workload, i, item) {
        g_string_append(text, i == 0 ? "\n" : ",\n");
        json_dump_callback(item, import_append, text, JSON_COMPACT);
    }
    g_string_append(text, "\n]\n");
    return result_file_write(folder, WORKLOAD_FILE, text->str, error);
}

gboolean
import_make(const char *folder, const ImportOptions *options, GError **error)
{
    g_auto(Import) self = {.options = options, .report = import_report_new()};

    import_report_watch(self.report, options->go_on, options->data);
    self.pruner = pruner_new(self.report);
    if (!read_dumps(&self, error) || !make_spec(&self, error))
        return FALSE;
    if (options->is_incomplete != NULL)
        *options->is_incomplete = import_report_has(self.report, REPORT_MISSING);
    prune_objects(&self);
    if (self.recorded != NULL && !recorded_write(self.recorded, folder, error))
        return FALSE;
    if (options->anonymize && !anonymize_all(&self, folder, error))
        return FALSE;
    return write_objects(&self, folder, error) && write_scenario(&self, folder, error) &&
           (self.workload == NULL || write_workload(&self, folder, error)) &&
           (self.timing == NULL || result_file_write(folder, TIMING_FILE, self.timing, error)) &&
           write_report(&self, folder, error);
}
