/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "made.h"
#include "models/api/field.h"
#include "models/api/fields.h"
#include "run/results/snapshot.h"

/* kubectl counts the ages in the output of describe and events itself, from its machine's clock,
 * which knows nothing of the cluster's: they would be years, or "<invalid>". Its requests tell the
 * command (Kubectl-Command, since 1.22), so those of these commands alone get the times that become
 * ages as far back from the machine's present as they are from the cluster's. */

gboolean
ages_are_the_clients(const Target *target)
{
    const char *command = target->exchange->request.command;

    return command != NULL &&
           (g_str_has_suffix(command, " describe") || g_str_has_suffix(command, " events"));
}

static void
shift(json_t *object, const char *member, int64_t by)
{
    const char *text = json_string_value(json_object_get(object, member));
    char moved[API_TIME_BUFFER];
    SimTime time;

    if (text != NULL && api_time_parse(text, &time))
        json_object_set_new(
            object, member,
            json_string(api_time_format(time + by, strchr(text, '.') != NULL, moved)));
}

/* Replaces a member, which others may share, by a copy. Returns: (borrowed) (nullable) */
static json_t *
own_member(json_t *object, const char *name)
{
    json_t *member = json_object_get(object, name);

    if (json_is_object(member))
        json_object_set_new(object, name, member = json_copy(member));
    return member;
}

/* Whole seconds, and the same for all objects of an answer: they stay in order. */
static int64_t
count_shift(const Target *target)
{
    Exchange *exchange = target->exchange;
    gint64 now = g_get_real_time();

    if (exchange->ages_counted_us == 0 || now - exchange->ages_counted_us > G_USEC_PER_SEC) {
        exchange->ages_counted_us = now;
        exchange->ages_moved_ns =
            (now * 1000 - snapshot_now(target->api->options.run)) / SIM_SECOND * SIM_SECOND;
    }
    return exchange->ages_moved_ns;
}

void
ages_shift(const Target *target, json_t *object)
{
    static const char *const times[] = {"firstTimestamp", "lastTimestamp", "eventTime",
                                        "deprecatedFirstTimestamp", "deprecatedLastTimestamp"};
    /* Others print when their deletion was asked for, as it is. */
    static const char *const lasting[] = {"Pod", "PersistentVolumeClaim", "PersistentVolume", NULL};
    int64_t by = count_shift(target);

    if (strcmp(target->row->kind, "Event") == 0) {
        for (gsize i = 0; i < G_N_ELEMENTS(times); i++)
            shift(object, times[i], by);
        shift(own_member(object, "series"), "lastObservedTime", by);
    } else if (g_strv_contains(lasting, target->row->kind)) {
        shift(own_member(object, "metadata"), "deletionTimestamp", by);
    }
}
