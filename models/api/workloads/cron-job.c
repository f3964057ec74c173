/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CronJobs: fields and ValidateCronJobCreate(). The template of its Jobs is an object within the
 * object; defaults of Jobs are left out when it is printed, because the API server gives them to
 * Jobs and not to templates. status.active is a list of texts made of uid, namespace and name. A
 * schedule with TZ is refused from 1.29 on, unless the object was stored before. */
#include <string.h>

#include "models/api/workloads/cron-schedule.h"
#include "workload-private.h"

static const FieldType concurrency_type = {FIELD_WORDS("Allow", "Forbid", "Replace")};

/* ---- spec.jobTemplate: an object within the object ---- */

/* Its Jobs stand in the CronJob's namespace. */
static void
template_parse(ApiParser *parser, const json_t *value, void *field)
{
    ObjectKey *key = objects_key(parser->objects, KIND_JOB, parser->key->namespace, "");

    object_unref(*(Object **)field);
    *(Object **)field = api_parser_template(parser, value, key);
}

/* The API server gives a Job these defaults when it is made, and leaves the template alone. */
static const char *const defaults[] = {
    "backoffLimit", "completionMode", "completions",          "parallelism",
    "suspend",      "manualSelector", "podReplacementPolicy", NULL};

static json_t *
template_to_json(const void *field)
{
    const Object *job = *(Object *const *)field;
    json_t *full = object_to_json(job), *part = json_object();
    json_t *metadata = json_object_get(full, "metadata"), *spec = json_object_get(full, "spec");
    const json_t *given = json_path_get(job->manifest, "spec");

    for (unsigned i = 0; defaults[i] != NULL; i++)
        if (json_object_get(given, defaults[i]) == NULL)
            json_object_del(spec, defaults[i]);

    template_metadata_tidy(job, metadata);
    json_object_set(part, "metadata", metadata);
    json_object_set(part, "spec", spec);
    json_decref(full);
    return part;
}

static const FieldType template_type = {
    FIELD_OBJECT,
    .parse = template_parse,
    .to_json = template_to_json,
};

/* ---- status.active ---- */

static char *
active_text(const char *uid, const char *namespace, const char *name)
{
    return g_strdup_printf("%s %s %s", uid, namespace, name);
}

char *
cron_active_new(const Object *job)
{
    char uid[OBJECT_UID_BUFFER];

    return active_text(object_uid_format(job->uid, uid), job->key->namespace, object_name(job));
}

ObjectUid
cron_active_split(const char *item, const char **name)
{
    ObjectUid uid = {0};
    g_autofree char *first = g_strndup(item, strcspn(item, " "));

    object_uid_parse(first, &uid);
    *name = strrchr(item, ' ') + 1;
    return uid;
}

static void
active_parse(ApiParser *parser, const json_t *value, void *field)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    size_t i;
    const json_t *item;

    if (!api_parser_expect(parser, value, JSON_ARRAY))
        return;
    json_array_foreach(value, i, item) {
        const char *uid = json_path_string(item, "uid"), *name = json_path_string(item, "name");
        const char *namespace = json_path_string(item, "namespace");
        if (uid == NULL || name == NULL || strchr(name, ' ') != NULL || strchr(uid, ' ') != NULL)
            continue;
        g_autofree char *text =
            active_text(uid, namespace == NULL ? parser->key->namespace : namespace, name);
        g_ptr_array_add(items, (char *)api_parser_intern(parser, text));
    }
    string_list_unref(*(StringList **)field);
    *(StringList **)field = string_list_new((const char *const *)items->pdata, items->len);
}

static json_t *
active_to_json(const void *field)
{
    const StringList *active = *(StringList *const *)field;
    json_t *array;

    if (active == NULL)
        return NULL;
    array = json_array();
    for (unsigned i = 0; i < active->n_items; i++) {
        g_auto(GStrv) parts = g_strsplit(active->items[i], " ", 3);
        json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:s, s:s}", "apiVersion",
                                               "batch/v1", "kind", "Job", "name", parts[2],
                                               "namespace", parts[1], "uid", parts[0]));
    }
    return array;
}

static json_t *
active_over(const void *field, const json_t *manifest)
{
    return keyed_items_over(active_to_json(field), "uid", manifest);
}

static const FieldType active_type = {
    FIELD_SHARED(string_list),
    .parse = active_parse,
    .over = active_over,
};

/* ---- The kind ---- */

static const Field cron_job_fields[] = {
    /* clang-format off */
    FIELD("spec.jobTemplate", template_type, CronJob, job_template, FIELD_REQUIRED),
    FIELD("status.active", active_type, CronJob, active, FIELD_STATUS),
    FIELD("spec.schedule", field_string, CronJob, schedule, FIELD_REQUIRED),
    FIELD("spec.timeZone", field_string, CronJob, time_zone, FIELD_SPEC),
    FIELD("spec.startingDeadlineSeconds", field_int_or_unset, CronJob, starting_deadline_s, FIELD_NATURAL),
    FIELD("spec.concurrencyPolicy", concurrency_type, CronJob, concurrency, FIELD_SPEC),
    FIELD("spec.suspend", field_bool, CronJob, suspend, FIELD_SPEC),
    FIELD_FROM("spec.successfulJobsHistoryLimit", field_int, CronJob, successful_limit, FIELD_NATURAL, 3),
    FIELD_FROM("spec.failedJobsHistoryLimit", field_int, CronJob, failed_limit, FIELD_NATURAL, 1),
    FIELD("status.lastScheduleTime", field_time, CronJob, scheduled_at, FIELD_STATUS),
    FIELD("status.lastSuccessfulTime", field_time, CronJob, successful_at, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

/* A Job's name has eleven characters more, and must fit into a label. */
#define NAME_MAX_LENGTH 52
/* Kubernetes 1.29: CHANGELOG-1.29.md, "TZ or CRON_TZ in .spec.schedule" */
#define TZ_REFUSED_SINCE 29

/* ValidateCronJobCreate(). A CronJob with a uid was stored by a release that took TZ in schedules.
 */
static void
check_schedule(ApiParser *parser, const json_t *manifest, const CronJob *self)
{
    const json_t *schedule = json_path_get(manifest, "spec.schedule");
    gboolean has_zone = self->schedule != NULL && strstr(self->schedule, "TZ") != NULL;
    gboolean is_refused = (parser->minor == 0 || parser->minor >= TZ_REFUSED_SINCE) &&
                          json_path_get(manifest, "metadata.uid") == NULL;
    g_autoptr(GError) error = NULL;
    CronSchedule parsed;
    gsize length = api_parser_enter(parser, "spec.schedule");

    if (has_zone && self->time_zone != NULL)
        api_parser_invalid(parser, schedule, NULL,
                           "cannot use both timeZone field and TZ or CRON_TZ in schedule");
    else if (has_zone && is_refused)
        api_parser_invalid(parser, schedule, NULL,
                           "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    else if (self->schedule != NULL && !cron_schedule_parse(self->schedule, NULL, &parsed, &error))
        api_parser_invalid(parser, schedule, NULL, error->message);
    api_parser_leave(parser, length);
}

/* validateTimeZone() */
static void
check_time_zone(ApiParser *parser, const json_t *manifest, const CronJob *self)
{
    const json_t *time_zone = json_path_get(manifest, "spec.timeZone");
    g_autofree char *unknown = NULL;

    if (self->time_zone == NULL || time_zone_find(self->time_zone) != NULL)
        return;
    gsize length = api_parser_enter(parser, "spec.timeZone");
    unknown = g_strdup_printf("unknown time zone %s", self->time_zone);
    api_parser_invalid(parser, time_zone, "\"Europe/Berlin\", as the IANA database has it",
                       *self->time_zone == '\0' ? "timeZone must be nil or non-empty string"
                       : g_ascii_strcasecmp(self->time_zone, "Local") == 0
                           ? "timeZone must be an explicit time zone as defined in "
                             "https://www.iana.org/time-zones"
                           : unknown);
    api_parser_leave(parser, length);
}

static void
cron_job_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const CronJob *self = CRON_JOB_CONST(object);

    check_schedule(parser, manifest, self);
    check_time_zone(parser, manifest, self);
    if (strlen(object_name(object)) > NAME_MAX_LENGTH)
        api_parser_invalid_at(parser, manifest, "metadata.name", NULL,
                              "must be no more than 52 characters");
}

static const WorkloadClass cron_job_workload = {
    .controller = "cronjob-controller",
};

const KindClass cron_job_kind = {
    .kind = "CronJob",
    .api_version = "batch/v1",
    .resource = "cronjobs",
    .size = sizeof(CronJob),
    .fields = cron_job_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .workload = &cron_job_workload,
    .check = cron_job_check,
};
