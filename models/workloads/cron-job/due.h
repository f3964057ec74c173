/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/api/workloads/cron-schedule.h"

/* Which time of a CronJob is due, and when it is looked at next: pkg/controller/cronjob/utils.go.
 * Pure. All times are since the start of the run, which is @start in the calendar. */

/* CRJ-10. @is_many: (out): more than a hundred times were missed. Returns: the latest time at which
 * a Job should have begun; %TIME_UNSET: none since the last one */
SimTime cron_job_due(const CronJob *self,
                     const CronSchedule *schedule,
                     SimTime start,
                     SimTime now,
                     gboolean *is_many);
/* CRJ-11. Returns: until the next time, with 100 ms more; %SIM_TIME_MAX: there is none */
SimTime
cron_job_wait(const CronJob *self, const CronSchedule *schedule, SimTime start, SimTime now);
/* CRJ-4. The name of the Job of this time: "backup-29404922". (owned) */
char *cron_job_job_name(const CronJob *self, SimTime start, SimTime due);
