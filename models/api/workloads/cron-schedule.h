/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workloads/time-zones.h"

/* When a CronJob is due: the five fields and the descriptors ("@daily", "@every 90m") that
 * github.com/robfig/cron v3 parses with ParseStandard(). */

typedef struct {
    uint64_t minutes, hours, days, months, weekdays; /* a bit for each value */
    gboolean any_day, any_weekday; /* "*" or "?": the other of the two decides alone */
    SimTime every;                 /* of "@every"; 0: the fields above */
    const TimeZone *zone;          /* NULL: UTC */
} CronSchedule;

/**
 * cron_schedule_parse:
 * @text: spec.schedule; may begin with "TZ=Europe/Berlin " or "CRON_TZ=..."
 * @time_zone: (nullable): spec.timeZone; unknown ones are UTC
 * @self: (out)
 * Returns: %FALSE with the fault in @error
 */
gboolean
cron_schedule_parse(const char *text, const char *time_zone, CronSchedule *self, GError **error);
/* @start: of the run, see sim_start(). Returns: the first time after @after (since the run's start)
 * that is due; %SIM_TIME_MAX: there is none within five years */
SimTime cron_schedule_next(const CronSchedule *self, SimTime start, SimTime after);
