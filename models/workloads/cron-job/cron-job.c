/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CronJob controller: cronjob_controllerv2.go. A sync deletes old Jobs, brings the list of
 * active ones up to date, makes the Job that is due, and writes the status once, at its end. A rule
 * table decides about the due time: leave, miss, forbid, replace or create. The sync works on a
 * copy of the status, and the time that is due is computed from that copy.
 *
 * Jobs that are listed as active but missing in the cache are asked for at the API server, and the
 * stored status is read if the cache of Jobs is ahead of the cache of CronJobs. A Job's name
 * contains its time, so the same time never gets two Jobs. */
#include "models/workloads/cron-job/cron-job.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/release.h"
#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/workloads/cron-job/due.h"
#include "models/workloads/pods.h"

#define SCHEDULED_TIMESTAMP "batch.kubernetes.io/cronjob-scheduled-timestamp"

typedef struct {
    Component base;
    Informer *cron_jobs, *jobs;
    InformerIndex *jobs_by_controller;
    Workers *workers;
} CronJobController;

/* One sync. It works on a copy of the status, as in Kubernetes. */
typedef struct {
    const CronJob *cron; /* the version that the status is written over; kept by the plan */
    GPtrArray *jobs;     /* of const Object, kept by the plan: its Jobs by name */
    GPtrArray *active;   /* of const char *, interned: see CronJob.active */
    SimTime scheduled_at, successful_at;
    gboolean is_changed;
    int first_step;    /* of the requests that the next decide function reads */
    GPtrArray *asked;  /* of const char *: items of @active, one for each such request */
    SimTime due;       /* the time whose Job is made */
    const char *fault; /* interned: the sync has failed with it; NULL: not */
} CronSync;

static void
cron_job_sync_clear(void *data)
{
    CronSync *sync = data;

    g_clear_pointer(&sync->jobs, g_ptr_array_unref);
    g_clear_pointer(&sync->active, g_ptr_array_unref);
    g_clear_pointer(&sync->asked, g_ptr_array_unref);
}

static SimTime
starts(const CronJobController *self)
{
    return sim_start(self->base.sim);
}

/* A CronJob that the API server took has a schedule that can be parsed. */
static CronSchedule
schedule_of(const CronJob *cron)
{
    CronSchedule schedule;

    cron_schedule_parse(cron->schedule, cron->time_zone, &schedule, NULL);
    return schedule;
}

/* ---- The list of active Jobs ---- */

static void
take_status(Plan *plan, CronSync *sync, const CronJob *cron)
{
    sync->cron = CRON_JOB_CONST(plan_keep(plan, &cron->meta));
    g_ptr_array_set_size(sync->active, 0);
    for (unsigned i = 0; cron->active != NULL && i < cron->active->n_items; i++)
        g_ptr_array_add(sync->active, (char *)cron->active->items[i]);
    sync->scheduled_at = cron->scheduled_at;
    sync->successful_at = cron->successful_at;
}

/* Returns: the place in the list; -1: it is not there */
static int
find_active(const CronSync *sync, ObjectUid uid)
{
    const char *name;

    for (unsigned i = 0; i < sync->active->len; i++)
        if (object_uid_equal(cron_active_split(sync->active->pdata[i], &name), uid))
            return (int)i;
    return -1;
}

static void
drop_active(CronSync *sync, ObjectUid uid)
{
    int at = find_active(sync, uid);

    if (at >= 0)
        g_ptr_array_remove_index(sync->active, (guint)at);
}

static void
add_active(Plan *plan, CronSync *sync, const Object *job)
{
    g_autofree char *item = cron_active_new(job);

    g_ptr_array_add(sync->active, (char *)plan_internf(plan, "%s", item));
    sync->scheduled_at = sync->due;
    sync->is_changed = TRUE;
}

static ObjectKey *
job_key(const CronJobController *self, const CronSync *sync, const char *name)
{
    return objects_key(self->base.objects, KIND_JOB, sync->cron->meta.key->namespace, name);
}

/* ---- The end: one write of the status ---- */

typedef struct {
    StringList *active;
    SimTime scheduled_at, successful_at;
} CronStatus;

static void
status_free(void *data)
{
    CronStatus *status = data;

    string_list_unref(status->active);
    g_free(status);
}

static gboolean
cron_job_edit_status(Object *object, const void *arg)
{
    const CronStatus *status = arg;
    CronJob *cron = CRON_JOB(object);

    if (string_list_equal(cron->active, status->active) &&
        cron->scheduled_at == status->scheduled_at && cron->successful_at == status->successful_at)
        return FALSE;
    string_list_unref(cron->active);
    cron->active = string_list_ref(status->active);
    cron->scheduled_at = status->scheduled_at;
    cron->successful_at = status->successful_at;
    return TRUE;
}

static void
decide_fault(const void *data, Plan *plan)
{
    const CronSync *sync = plan_notes(plan);

    (void)data;
    plan_fail(plan, "%s", sync->fault);
}

/* CRJ-12. @again: whether the CronJob is looked at at its next time. */
static void
cron_job_plan_end(const CronJobController *self, Plan *plan, CronSync *sync, gboolean again)
{
    CronSchedule schedule = schedule_of(sync->cron);
    CronStatus *status = g_new(CronStatus, 1);
    g_autoptr(Object) changed = object_edit(&sync->cron->meta);
    SimTime wait;

    status->active = string_list_new((const char *const *)sync->active->pdata, sync->active->len);
    status->scheduled_at = sync->scheduled_at;
    status->successful_at = sync->successful_at;
    plan_own(plan, status, status_free);
    plan_because(plan, "CRJ-12");
    if (sync->is_changed)
        plan_update_status(plan, &sync->cron->meta, cron_job_edit_status, status, PLAN_STOP);
    if (sync->fault != NULL) {
        plan_then(plan, decide_fault);
        return;
    }
    cron_job_edit_status(changed, status);
    wait = cron_job_wait(CRON_JOB_CONST(changed), &schedule, starts(self), plan_now(plan));
    if (again && wait != SIM_TIME_MAX)
        plan_requeue_after(plan, wait);
}

static void
plan_fault(const CronJobController *self, Plan *plan, CronSync *sync, const char *message)
{
    sync->fault = message;
    cron_job_plan_end(self, plan, sync, FALSE);
}

/* ---- The Job that is due ---- */

static void
decide_existing(const void *data, Plan *plan)
{
    CronSync *sync = plan_notes(plan);
    const Object *job = plan_object(plan, plan_last_step(plan));

    if (job == NULL) {
        plan_fault(data, plan, sync, plan_last_message(plan));
        return;
    }
    if (!object_is_controlled_by(job, &sync->cron->meta) || find_active(sync, job->uid) >= 0) {
        cron_job_plan_end(data, plan, sync, FALSE);
        return;
    }
    add_active(plan, sync, job);
    cron_job_plan_end(data, plan, sync, TRUE);
}

static void
decide_created(const void *data, Plan *plan)
{
    CronSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) == API_EXISTS) {
        plan_because(plan, "CRJ-9");
        g_autofree char *name = cron_job_job_name(sync->cron, starts(data), sync->due);
        plan_get(plan, job_key(data, sync, name), PLAN_DECIDE);
        plan_then(plan, decide_existing);
        return;
    }
    plan_because(plan, "CRJ-8");
    if (plan_has_failed(plan)) {
        plan_event(plan, &sync->cron->meta, "Warning", "FailedCreate", "Error creating job: %s",
                   plan_last_message(plan));
        plan_fault(data, plan, sync, plan_last_message(plan));
        return;
    }
    const Object *job = plan_object(plan, step);
    plan_event(plan, &sync->cron->meta, "Normal", "SuccessfulCreate", "Created job %s",
               object_name(job));
    add_active(plan, sync, job);
    cron_job_plan_end(data, plan, sync, TRUE);
}

/* RFC 3339 by the clock of spec.timeZone: "2026-01-01T02:30:00+01:00" */
static const char *
local_time(const CronJobController *self, Plan *plan, const CronSync *sync)
{
    const char *name = sync->cron->time_zone;
    int offset_min = (int)time_zone_offset(name == NULL ? NULL : time_zone_find(name),
                                           api_time_unix(starts(self), sync->due) / SIM_SECOND) /
                     60;
    char text[API_TIME_BUFFER];

    api_time_format(starts(self) + sync->due + offset_min * SIM_MINUTE, FALSE, text);
    if (offset_min == 0)
        return plan_internf(plan, "%s", text);
    text[strlen(text) - 1] = '\0'; /* the Z */
    return plan_internf(plan, "%s%c%02d:%02d", text, offset_min < 0 ? '-' : '+',
                        ABS(offset_min) / 60, ABS(offset_min) % 60);
}

static void
plan_job(const CronJobController *self, Plan *plan, CronSync *sync)
{
    g_autofree char *name = cron_job_job_name(sync->cron, starts(self), sync->due);
    Object *job = object_edit_as(sync->cron->job_template, job_key(self, sync, name));

    object_set_owner(job, &sync->cron->meta, TRUE, TRUE);
    if (release_has_gate(cluster_release(self->base.cluster), "CronJobsScheduledAnnotation"))
        object_set_annotation(job, plan_internf(plan, SCHEDULED_TIMESTAMP),
                              local_time(self, plan, sync));
    plan_because(plan, "CRJ-8");
    plan_create(plan, job, PLAN_DECIDE);
    plan_then(plan, decide_created);
}

/* Each active Job was asked for, and is deleted if it is there. */
static void
decide_replaced(const void *data, Plan *plan)
{
    CronSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);
    const char *name;
    ObjectUid uid = cron_active_split(sync->active->pdata[0], &name);

    plan_because(plan, "CRJ-7");
    if (plan_code(plan, step) != API_OK) {
        plan_event(plan, &sync->cron->meta, "Warning", "FailedDelete", "Deleted job: %s",
                   plan_message(plan, step));
        plan_fault(data, plan, sync,
                   plan_internf(plan, "could not replace job %s/%s",
                                sync->cron->meta.key->namespace, name));
        return;
    }
    plan_event(plan, &sync->cron->meta, "Normal", "SuccessfulDelete", "Deleted job %s", name);
    drop_active(sync, uid);
    sync->is_changed = TRUE;
    if (sync->active->len == 0) {
        plan_job(data, plan, sync);
        return;
    }
    cron_active_split(sync->active->pdata[0], &name);
    plan_delete(plan, job_key(data, sync, name), (ObjectUid){0}, -1, PLAN_DECIDE);
    plan_then(plan, decide_replaced);
}

/* "Thu, 01 Jan 2026 02:30:00 +0000": the same words everywhere. */
static const char *
rfc1123(Plan *plan, SimTime start, SimTime at)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    g_autoptr(GDateTime) time =
        g_date_time_new_from_unix_utc(api_time_unix(start, at) / SIM_SECOND);

    return plan_internf(plan, "%s, %02d %s %d %02d:%02d:%02d +0000",
                        days[g_date_time_get_day_of_week(time) - 1],
                        g_date_time_get_day_of_month(time), months[g_date_time_get_month(time) - 1],
                        g_date_time_get_year(time), g_date_time_get_hour(time),
                        g_date_time_get_minute(time), g_date_time_get_second(time));
}

enum {
    DELETED = 1 << 0,
    SUSPENDED = 1 << 1,
    DUE = 1 << 2,
    LATE = 1 << 3, /* after startingDeadlineSeconds */
    DONE = 1 << 4, /* a Job of this time is active, or the last one */
    BUSY = 1 << 5, /* there are active Jobs */
    FORBIDS = 1 << 6,
    REPLACES = 1 << 7,
    DUE_FACTS_END = 1 << 8,
};

typedef enum {
    CRON_LEAVE, /* until it changes */
    CRON_NEXT,  /* the next time */
    CRON_MISS,
    CRON_BUSY,
    CRON_REPLACE_JOBS,
    CRON_CREATE,
} CronAction;

/* A CronJob has one policy: FORBIDS goes before REPLACES, which no CronJob has beside it. */
/* clang-format off */
static const Rule due_table[] = {
    {"CRJ-5",   DELETED,               0,                                                      CRON_LEAVE},
    {"CRJ-5",   SUSPENDED,             DELETED,                                                CRON_LEAVE},
    {"CRJ-10",  0,                     DELETED | SUSPENDED | DUE,                              CRON_NEXT},
    {"CRJ-6.1", DUE | LATE,            DELETED | SUSPENDED,                                    CRON_MISS},
    {"CRJ-6.2", DUE | DONE,            DELETED | SUSPENDED | LATE,                             CRON_NEXT},
    {"CRJ-6.3", DUE | BUSY | FORBIDS,  DELETED | SUSPENDED | LATE | DONE,                      CRON_BUSY},
    {"CRJ-7",   DUE | BUSY | REPLACES, DELETED | SUSPENDED | LATE | DONE | FORBIDS,            CRON_REPLACE_JOBS},
    {"CRJ-8",   DUE | BUSY,            DELETED | SUSPENDED | LATE | DONE | FORBIDS | REPLACES, CRON_CREATE},
    {"CRJ-8",   DUE,                   DELETED | SUSPENDED | LATE | DONE | BUSY,               CRON_CREATE},
};
/* clang-format on */

static const RuleTable due_rules = RULE_TABLE("due CronJobs", DUE_FACTS_END, due_table);

static unsigned
due_facts(const CronJobController *self, const CronSync *sync, SimTime now)
{
    const CronJob *cron = sync->cron;
    g_autofree char *due_name = NULL;
    unsigned facts = (object_is_deleted(&cron->meta) ? DELETED : 0) |
                     (cron->suspend ? SUSPENDED : 0) | (sync->active->len > 0 ? BUSY : 0) |
                     (cron->concurrency == CRON_FORBID ? FORBIDS : 0) |
                     (cron->concurrency == CRON_REPLACE ? REPLACES : 0);
    const char *name;

    if (sync->due == TIME_UNSET)
        return facts;
    facts |= DUE | (sync->due == sync->scheduled_at ? DONE : 0);
    if (cron->starting_deadline_s >= 0 && sync->due + cron->starting_deadline_s * SIM_SECOND < now)
        facts |= LATE;
    due_name = cron_job_job_name(cron, starts(self), sync->due);
    for (unsigned i = 0; i < sync->active->len; i++) {
        cron_active_split(sync->active->pdata[i], &name);
        if (strcmp(name, due_name) == 0)
            facts |= DONE;
    }
    return facts;
}

/* The time that is due is told from the status as the sync has it by now. */
static void
find_due(const CronJobController *self, Plan *plan, CronSync *sync)
{
    CronSchedule schedule = schedule_of(sync->cron);
    gboolean is_idle = sync->cron->suspend || object_is_deleted(&sync->cron->meta), is_many;

    if (!is_idle && strstr(sync->cron->schedule, "TZ") != NULL)
        plan_event(plan, &sync->cron->meta, "Warning", "UnsupportedSchedule",
                   "CRON_TZ or TZ used in schedule \"%s\" is not officially supported, see "
                   "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more "
                   "details",
                   sync->cron->schedule);
    sync->due = cron_job_due(sync->cron, &schedule, starts(self), plan_now(plan), &is_many);
    if (sync->due == TIME_UNSET || !is_many || is_idle)
        return;
    plan_because(plan, "CRJ-10");
    plan_event(plan, &sync->cron->meta, "Warning", "TooManyMissedTimes",
               "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
               "check clock skew");
}

static void
decide_due(const void *data, Plan *plan)
{
    const CronJobController *self = data;
    CronSync *sync = plan_notes(plan);
    const char *name;

    find_due(self, plan, sync);
    const Rule *rule = rules_find(&due_rules, due_facts(self, sync, plan_now(plan)), NULL);
    plan_because(plan, rule->id);
    switch ((CronAction)rule->then) {
    case CRON_LEAVE:
        cron_job_plan_end(self, plan, sync, FALSE);
        return;
    case CRON_NEXT:
        cron_job_plan_end(self, plan, sync, TRUE);
        return;
    case CRON_MISS:
        plan_event(plan, &sync->cron->meta, "Warning", "MissSchedule",
                   "Missed scheduled time to start a job: %s",
                   rfc1123(plan, starts(self), sync->due));
        cron_job_plan_end(self, plan, sync, TRUE);
        return;
    case CRON_BUSY:
        plan_event(plan, &sync->cron->meta, "Normal", "JobAlreadyActive",
                   "Not starting job because prior execution is running and concurrency policy is "
                   "Forbid");
        cron_job_plan_end(self, plan, sync, TRUE);
        return;
    case CRON_REPLACE_JOBS:
        cron_active_split(sync->active->pdata[0], &name);
        plan_delete(plan, job_key(self, sync, name), (ObjectUid){0}, -1, PLAN_DECIDE);
        plan_then(plan, decide_replaced);
        return;
    case CRON_CREATE:
        plan_job(self, plan, sync);
        return;
    }
    g_assert_not_reached();
}

/* ---- Active Jobs ---- */

/* Jobs of the list that the cache lacks were asked for. */
static void
decide_missing(const void *data, Plan *plan)
{
    CronSync *sync = plan_notes(plan);

    plan_because(plan, "CRJ-3");
    for (unsigned i = 0; i < sync->asked->len; i++) {
        const char *name;
        ObjectUid uid = cron_active_split(sync->asked->pdata[i], &name);
        int step = sync->first_step + (int)i;
        if (plan_code(plan, step) == API_OK)
            continue;
        if (plan_code(plan, step) != API_NOT_FOUND) {
            plan_fault(data, plan, sync, plan_message(plan, step));
            return;
        }
        plan_event(plan, &sync->cron->meta, "Normal", "MissingJob", "Active job went missing: %s",
                   name);
        drop_active(sync, uid);
        sync->is_changed = TRUE;
    }
    decide_due(data, plan);
}

static void
ask_for_missing(const CronJobController *self, Plan *plan, CronSync *sync)
{
    g_ptr_array_set_size(sync->asked, 0);
    plan_because(plan, "CRJ-3");
    for (unsigned i = 0; i < sync->active->len; i++) {
        const char *name;
        ObjectUid uid = cron_active_split(sync->active->pdata[i], &name);
        gboolean is_known = FALSE;
        for (unsigned k = 0; k < sync->jobs->len; k++)
            is_known |= object_uid_equal(((const Object *)sync->jobs->pdata[k])->uid, uid);
        if (is_known)
            continue;
        int step = plan_get(plan, job_key(self, sync, name), PLAN_GO_ON);
        if (sync->asked->len == 0)
            sync->first_step = step;
        g_ptr_array_add(sync->asked, sync->active->pdata[i]);
    }
    if (sync->asked->len > 0)
        plan_then(plan, decide_missing);
    else
        decide_due(self, plan);
}

/* CRJ-2 */
static void
see_finished(Plan *plan, CronSync *sync, const Job *job)
{
    gboolean is_complete = job->complete.status == CONDITION_TRUE;

    plan_because(plan, "CRJ-2");
    if (find_active(sync, job->meta.uid) >= 0) {
        drop_active(sync, job->meta.uid);
        plan_event(plan, &sync->cron->meta, "Normal", "SawCompletedJob",
                   "Saw completed job: %s, condition: %s", object_name(&job->meta),
                   is_complete ? "Complete" : "Failed");
        sync->is_changed = TRUE;
    }
    if (is_complete && job->completed_at != TIME_UNSET &&
        (sync->successful_at == TIME_UNSET || job->completed_at > sync->successful_at)) {
        sync->successful_at = job->completed_at;
        sync->is_changed = TRUE;
    }
}

static void
look_at_jobs(const CronJobController *self, Plan *plan, CronSync *sync)
{
    for (unsigned i = 0; i < sync->jobs->len; i++) {
        const Job *job = sync->jobs->pdata[i];
        if (job_is_finished(job))
            see_finished(plan, sync, job);
        else if (find_active(sync, job->meta.uid) < 0) {
            plan_because(plan, "CRJ-2");
            plan_event(plan, &sync->cron->meta, "Warning", "UnexpectedJob",
                       "Saw a job that the controller did not create or forgot: %s",
                       object_name(&job->meta));
        }
    }
    ask_for_missing(self, plan, sync);
}

/* The cache of Jobs may be ahead of the cache of CronJobs: the stored status counts. */
static void
decide_live(const void *data, Plan *plan)
{
    CronSync *sync = plan_notes(plan);
    const Object *live = plan_object(plan, plan_last_step(plan));

    if (live == NULL) {
        plan_fault(data, plan, sync, plan_last_message(plan));
        return;
    }
    take_status(plan, sync, CRON_JOB_CONST(live));
    look_at_jobs(data, plan, sync);
}

static gboolean
knows_all(const CronSync *sync)
{
    for (unsigned i = 0; i < sync->jobs->len; i++) {
        const Job *job = sync->jobs->pdata[i];
        if (!job_is_finished(job) && find_active(sync, job->meta.uid) < 0)
            return FALSE;
    }
    return TRUE;
}

static void
sync_jobs(const CronJobController *self, Plan *plan, CronSync *sync)
{
    if (knows_all(sync)) {
        look_at_jobs(self, plan, sync);
        return;
    }
    plan_because(plan, "CRJ-2");
    plan_get(plan, sync->cron->meta.key, PLAN_DECIDE);
    plan_then(plan, decide_live);
}

/* ---- Old Jobs ---- */

/* byJobStartTime: Jobs that have not begun last. */
static int
compare_starts(const void *a, const void *b)
{
    const Job *one = *(const Job *const *)a, *other = *(const Job *const *)b;

    if (one->started_at != other->started_at) {
        if (one->started_at == TIME_UNSET || other->started_at == TIME_UNSET)
            return one->started_at == TIME_UNSET ? 1 : -1;
        return one->started_at < other->started_at ? -1 : 1;
    }
    return strcmp(object_name(&one->meta), object_name(&other->meta));
}

/* Asks for the deletion of all but the newest @n_kept Jobs that ended so. */
static void
delete_oldest(
    const CronJobController *self, Plan *plan, CronSync *sync, gboolean is_complete, int32_t n_kept)
{
    g_autoptr(GPtrArray) ended = g_ptr_array_new();

    for (unsigned i = 0; i < sync->jobs->len; i++) {
        const Job *job = sync->jobs->pdata[i];
        if (job_is_finished(job) && (job->complete.status == CONDITION_TRUE) == is_complete)
            g_ptr_array_add(ended, (Job *)job);
    }
    g_ptr_array_sort(ended, compare_starts);
    for (int i = 0; i < (int)ended->len - n_kept; i++) {
        const Object *job = ended->pdata[i];
        g_autofree char *item = cron_active_new(job);
        int step = plan_delete(plan, job_key(self, sync, object_name(job)), (ObjectUid){0}, -1,
                               PLAN_GO_ON);
        if (sync->asked->len == 0)
            sync->first_step = step;
        g_ptr_array_add(sync->asked, (char *)plan_internf(plan, "%s", item));
    }
}

static void
decide_cleaned(const void *data, Plan *plan)
{
    CronSync *sync = plan_notes(plan);

    plan_because(plan, "CRJ-1");
    for (unsigned i = 0; i < sync->asked->len; i++) {
        const char *name;
        ObjectUid uid = cron_active_split(sync->asked->pdata[i], &name);
        int step = sync->first_step + (int)i;
        if (plan_code(plan, step) != API_OK) {
            plan_event(plan, &sync->cron->meta, "Warning", "FailedDelete", "Deleted job: %s",
                       plan_message(plan, step));
            continue;
        }
        plan_event(plan, &sync->cron->meta, "Normal", "SuccessfulDelete", "Deleted job %s", name);
        drop_active(sync, uid);
        sync->is_changed = TRUE;
    }
    sync_jobs(data, plan, sync);
}

static int
cron_job_compare_names(const void *a, const void *b)
{
    return strcmp(object_name(*(const Object *const *)a), object_name(*(const Object *const *)b));
}

static void
decide_cron_job(const void *data, Plan *plan)
{
    const CronJobController *self = data;
    const Object *cron = informer_get(self->cron_jobs, plan_key(plan));
    unsigned n;

    if (cron == NULL)
        return;
    CronSync *sync = plan_new_notes(plan, CronSync, cron_job_sync_clear);
    const Object *const *jobs = informer_index_get(self->jobs_by_controller, cron->key, &n);
    sync->jobs = g_ptr_array_new();
    sync->active = g_ptr_array_new();
    sync->asked = g_ptr_array_new();
    for (unsigned i = 0; i < n; i++)
        g_ptr_array_add(sync->jobs, (Object *)plan_keep(plan, jobs[i]));
    g_ptr_array_sort(sync->jobs, cron_job_compare_names);
    take_status(plan, sync, CRON_JOB_CONST(cron));
    plan_because(plan, "CRJ-1");
    delete_oldest(self, plan, sync, TRUE, sync->cron->successful_limit);
    delete_oldest(self, plan, sync, FALSE, sync->cron->failed_limit);
    if (sync->asked->len > 0)
        plan_then(plan, decide_cleaned);
    else
        sync_jobs(self, plan, sync);
}

/* ---- Handlers ---- */

/* CRJ-13: a new schedule counts from its next time on; any other change is handled at once. */
static void
cron_job_changed(void *data, const Object *before, const Object *after)
{
    const CronJobController *self = data;
    const CronJob *was = CRON_JOB_CONST(before), *is = CRON_JOB_CONST(after);

    if (before == NULL || after == NULL ||
        (g_strcmp0(was->schedule, is->schedule) == 0 &&
         g_strcmp0(was->time_zone, is->time_zone) == 0)) {
        workers_add(self->workers, after == NULL ? before->key : after->key);
        return;
    }
    CronSchedule schedule = schedule_of(is);
    SimTime wait = cron_job_wait(is, &schedule, starts(self), sim_now(self->base.sim));
    if (wait != SIM_TIME_MAX)
        work_queue_add_after(workers_queue(self->workers), (ObjectKey *)after->key, MAX(wait, 0));
}

static void
wake_owner(const CronJobController *self, const Object *job)
{
    const ObjectKey *key = controller_of_kind(job, KIND_CRON_JOB);
    const Object *cron = key == NULL ? NULL : informer_get(self->cron_jobs, key);

    if (cron != NULL && object_is_controlled_by(job, cron))
        workers_add(self->workers, key);
}

static void
job_changed(void *data, const Object *before, const Object *after)
{
    const CronJobController *self = data;

    if (before != NULL && (after == NULL || before->owners != after->owners))
        wake_owner(self, before);
    if (after != NULL)
        wake_owner(self, after);
}

#define SELF CronJobController
static const ComponentPart parts[] = {
    HAS_INFORMER(cron_jobs, KIND_CRON_JOB),
    HAS_INFORMER(jobs,
                 KIND_JOB,
                 WITH_INDEX(jobs_by_controller, index_by_controller),
                 .changed = job_changed),
    HAS_INFORMER(cron_jobs, KIND_CRON_JOB, .changed = cron_job_changed),
    HAS_WORKERS(workers, "cronjob", decide_cron_job, KCM_SYNCS(KIND_CRON_JOB)),
};

const ModelClass cron_job_controller_class = {
    KCM_MODEL("cronjob-controller"),
    .event_source = "cronjob-controller",
    PARTS(parts),
    .rule_tables = RULE_TABLES(&due_rules),
};
