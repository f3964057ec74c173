/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "run/scenario/scenario-test.h"
#include "scenario-private.h"

/* The time of t = 0. */

/* "creationTimestamp", "lastTransitionTime", "renewTime", "startedAt"; "time" of managed fields and
 * of a volume's errors; "timeAdded" of a taint. */
static gboolean
is_time_key(const char *key)
{
    return g_str_has_suffix(key, "Timestamp") || g_str_has_suffix(key, "Time") ||
           g_str_has_suffix(key, "At") || strcmp(key, "time") == 0 || strcmp(key, "timeAdded") == 0;
}

/* A deletionTimestamp lies ahead by the grace period (API-50). */
static SimTime
grace_in(const json_t *object, const char *key)
{
    json_int_t grace_s = json_integer_value(json_object_get(object, "deletionGracePeriodSeconds"));

    return strcmp(key, "deletionTimestamp") == 0 ? CLAMP(grace_s, 0, G_MAXINT32) * SIM_SECOND : 0;
}

static void
find_newest(const json_t *value, SimTime *newest)
{
    const char *key;
    json_t *member;
    SimTime time;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, member)
            find_newest(member, newest);
        return;
    }
    json_object_foreach((json_t *)value, key, member) {
        if (!json_is_string(member))
            find_newest(member, newest);
        else if (is_time_key(key) && api_time_parse(json_string_value(member), &time))
            *newest = MAX(*newest, sim_time_add(time, -grace_in(value, key)));
    }
}

gboolean
scenario_newest_time(const json_t *object, SimTime *newest)
{
    *newest = TIME_UNSET;
    find_newest(object, newest);
    return *newest != TIME_UNSET;
}

void
loader_see_times(Loader *self, const json_t *manifest)
{
    if (json_object_get(json_object_get(manifest, "metadata"), "uid") != NULL)
        find_newest(manifest, &self->newest);
}

void
loader_read_start(Loader *self)
{
    const char *text = self->fields.spec.start;
    SchemaPlace place = schema_enter_member(&self->reader, self->document, "spec");

    self->scenario.start = self->newest == TIME_UNSET ? 0 : self->newest;
    if (text != NULL && !api_time_parse(text, &self->scenario.start))
        schema_fault_member(&self->reader, json_object_get(self->document, "spec"), "start",
                            "write it as in \"2026-01-01T00:00:00Z\"",
                            "must be a time as in RFC 3339");
    schema_leave(&self->reader, place);
}
