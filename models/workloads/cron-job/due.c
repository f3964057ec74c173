/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/cron-job/due.h"

#include "models/api/field.h"

/* nextScheduleDelta: a timer may be early, and the time must have come. */
#define MARGIN (100 * SIM_MS)
#define MANY_MISSED 100

typedef struct {
    SimTime since;  /* times before it do not count */
    SimTime latest; /* TIME_UNSET: none */
    int64_t n_missed;
} Missed;

/* mostRecentScheduleTime(). If several times have passed, their number is estimated by the distance
 * of the first two. @deadline: startingDeadlineSeconds counts. */
static Missed
due_look(const CronJob *self,
         const CronSchedule *schedule,
         SimTime start,
         SimTime now,
         gboolean deadline)
{
    Missed found = {.since = self->scheduled_at != TIME_UNSET ? self->scheduled_at
                                                              : self->meta.created_at,
                    .latest = TIME_UNSET};

    if (deadline && self->starting_deadline_s >= 0)
        found.since = MAX(found.since, now - self->starting_deadline_s * SIM_SECOND);
    SimTime first = cron_schedule_next(schedule, start, found.since);
    if (first > now)
        return found;
    SimTime second = cron_schedule_next(schedule, start, first);
    found.latest = first;
    if (second > now)
        return found;
    int64_t period_s = MAX((second - first) / SIM_SECOND, 1);
    found.n_missed = (now - first) / SIM_SECOND / period_s + 1;
    found.latest = TIME_UNSET;
    SimTime at = first + (found.n_missed - 2) * period_s * SIM_SECOND;
    for (at = cron_schedule_next(schedule, start, at); at <= now;
         at = cron_schedule_next(schedule, start, at))
        found.latest = at;
    return found;
}

SimTime
cron_job_due(const CronJob *self,
             const CronSchedule *schedule,
             SimTime start,
             SimTime now,
             gboolean *is_many)
{
    Missed found = due_look(self, schedule, start, now, TRUE);

    *is_many = found.n_missed > MANY_MISSED;
    return found.latest;
}

SimTime
cron_job_wait(const CronJob *self, const CronSchedule *schedule, SimTime start, SimTime now)
{
    Missed found = due_look(self, schedule, start, now, FALSE);
    SimTime from = found.latest != TIME_UNSET ? found.latest
                   : found.n_missed > 0       ? now
                                              : found.since;
    SimTime next = cron_schedule_next(schedule, start, from);

    return next == SIM_TIME_MAX ? SIM_TIME_MAX : next + MARGIN - now;
}

char *
cron_job_job_name(const CronJob *self, SimTime start, SimTime due)
{
    return g_strdup_printf("%s-%" G_GINT64_FORMAT, object_name(&self->meta),
                           (gint64)(api_time_unix(start, due) / SIM_SECOND / 60));
}
