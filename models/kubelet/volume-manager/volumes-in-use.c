/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the Node's status lists as in use: GetVolumesInUse() and MarkVolumesAsReportedInUse() of
 * volume_manager.go. */
#include "volume-manager.h"

/* Whether a volume is in use for the Node: KVM-29. */
static gboolean
is_in_use(const NodeVolume *volume)
{
    return volume->attachable && (volume->n_desired > 0 || volume->in_actual);
}

StringList *
volume_manager_in_use(const Kubelet *self)
{
    unsigned n = 0;

    if (self->volume_manager == NULL || self->volume_manager->volumes->len == 0)
        return NULL;
    g_autofree const char **names = g_new(const char *, self->volume_manager->volumes->len);
    for (unsigned i = 0; i < self->volume_manager->volumes->len; i++) {
        const NodeVolume *volume = self->volume_manager->volumes->pdata[i];
        if (is_in_use(volume))
            names[n++] = volume->name;
    }
    qsort(names, n, sizeof *names, strings_compare);
    return n == 0 ? NULL : string_list_new(names, n);
}

/* KVM-30: desired state learns which volumes the Node lists. */
void
volume_manager_mark_in_use(Kubelet *self, const StringList *reported)
{
    Sim *sim = self->base.sim;
    SimCauseId cause = sim_cause(sim);

    for (unsigned i = 0; self->volume_manager != NULL && i < self->volume_manager->volumes->len;
         i++) {
        NodeVolume *volume = self->volume_manager->volumes->pdata[i];
        gboolean is_reported =
            volume->n_desired > 0 && string_list_has_interned(reported, volume->name);
        if (is_reported && !volume->reported_in_use && !volume->in_actual) {
            sim_resume(sim, volume->told_by, WAIT_API, API_PATCH_STATUS + 1);
            volume_manager_due(volume);
        }
        volume->reported_in_use = is_reported;
    }
    sim_set_cause(sim, cause);
}

void
volume_manager_note_round(Kubelet *self, uint16_t label)
{
    Sim *sim = self->base.sim;
    SimCauseId cause = sim_cause(sim);

    for (unsigned i = 0; self->volume_manager != NULL && i < self->volume_manager->volumes->len;
         i++) {
        NodeVolume *volume = self->volume_manager->volumes->pdata[i];
        if (!volume->reported_in_use && volume->n_desired > 0)
            volume->told_by = sim_resume(sim, volume->wanted_by, WAIT_POLL, label);
    }
    sim_set_cause(sim, cause);
}
