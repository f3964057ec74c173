/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run-private.h"
#include "sim/strings.h"

#define NOTES_MAX 1000

const GPtrArray *
run_notes(const Run *self)
{
    return self->notes;
}

void
run_note(Run *self, const ScenarioAction *action, const char *format, ...)
{
    char at[SIM_TIME_BUFFER];

    if (self->notes->len == NOTES_MAX)
        return;
    FORMATTED(text, format);
    g_ptr_array_add(self->notes,
                    g_strdup_printf("%s:%u: at %s: %s", action->file, action->line,
                                    sim_time_format(sim_now(self->sim) / SIM_MS * SIM_MS, at),
                                    text));
}

void
run_note_missing(Run *self, const ScenarioAction *action)
{
    if (action->volume_of_claim != NULL)
        run_note(self, action, "there is no volume of the claim %s", action->volume_of_claim);
    else if (action->zone != NULL)
        run_note(self, action, "there is no node in zone %s", action->zone);
    else
        run_note(self, action, "there is no pod like %s on a node",
                 action->node_of_pod != NULL ? action->node_of_pod : action->pod_of_instance);
}
