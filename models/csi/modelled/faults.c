/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A modelled driver in trouble: it hangs, is slow or is away, and its back end loses or keeps
 * volumes. Calls that come or would end while it hangs wait in the order of their arrival, and go
 * on when it recovers. If a plugin on a node dies, the work of its calls ends; if the controller's
 * plugin dies, the back end goes on, and only the answers are lost. */
#include "modelled-private.h"

#define REFUSED_AFTER (1 * SIM_MS) /* the answer of a socket without a listener */

struct DriverTrouble {
    gboolean is_hung;
    double slowness;
    gboolean is_away;    /* the controller's plugin */
    GPtrArray *away;     /* of interned names of nodes whose plugins are away */
    GQueue new_calls;    /* of ModelledCall that came while it hung */
    GQueue ending_calls; /* ... and of those that would have ended */
};

static DriverTrouble *
trouble_of(CsiModelledDriver *self)
{
    if (self->trouble == NULL) {
        self->trouble = g_new0(DriverTrouble, 1);
        self->trouble->slowness = 1;
        self->trouble->away = g_ptr_array_new();
        g_queue_init(&self->trouble->new_calls);
        g_queue_init(&self->trouble->ending_calls);
    }
    return self->trouble;
}

void
modelled_trouble_free(DriverTrouble *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->away);
    g_queue_clear(&self->new_calls);
    g_queue_clear(&self->ending_calls);
    g_free(self);
}

static gboolean
is_away(const DriverTrouble *self, const CsiRequest *request)
{
    if (request->served_by == NULL)
        return self->is_away;
    return g_ptr_array_find(self->away, request->served_by, NULL);
}

gboolean
modelled_trouble_on_arrival(CsiModelledDriver *self, ModelledCall *call)
{
    DriverTrouble *trouble = self->trouble;

    if (is_away(trouble, call->base.request)) {
        modelled_fail(call, CSI_UNAVAILABLE, "connection error: desc = \"connection refused\"",
                      REFUSED_AFTER);
        return TRUE;
    }
    if (trouble->is_hung)
        g_queue_push_tail(&trouble->new_calls, call);
    return trouble->is_hung;
}

gboolean
modelled_trouble_at_end(CsiModelledDriver *self, ModelledCall *call)
{
    if (self->trouble->is_hung)
        g_queue_push_tail(&self->trouble->ending_calls, call);
    return self->trouble->is_hung;
}

void
modelled_trouble_forget(CsiModelledDriver *self, const ModelledCall *call)
{
    g_queue_remove(&self->trouble->new_calls, call);
    g_queue_remove(&self->trouble->ending_calls, call);
}

double
modelled_trouble_slowness(const CsiModelledDriver *self)
{
    return self->trouble->slowness;
}

void
csi_modelled_driver_set_slowness(CsiModelledDriver *self, double factor)
{
    trouble_of(self)->slowness = factor;
}

void
csi_modelled_driver_set_hung(CsiModelledDriver *self, gboolean is_hung)
{
    DriverTrouble *trouble = trouble_of(self);
    ModelledCall *call;

    trouble->is_hung = is_hung;
    while (!trouble->is_hung && (call = g_queue_pop_head(&trouble->ending_calls)) != NULL)
        modelled_end(self->base.sim, call);
    while (!trouble->is_hung && (call = g_queue_pop_head(&trouble->new_calls)) != NULL)
        modelled_begin(call);
}

void
csi_modelled_driver_set_away(CsiModelledDriver *self, const char *node, gboolean away)
{
    DriverTrouble *trouble = trouble_of(self);

    if (node == NULL)
        trouble->is_away = away;
    else if (!away)
        g_ptr_array_remove(trouble->away, (void *)node); /* only compared */
    else if (!g_ptr_array_find(trouble->away, node, NULL))
        g_ptr_array_add(trouble->away, (void *)node);
}

/* A node's plugin does the work itself, so its death ends the work. The controller's plugin asks
 * the back end, which goes on. */
void
csi_modelled_driver_cut_calls(CsiModelledDriver *self, const char *node)
{
    static const CsiResponse broken = {.code = CSI_UNAVAILABLE,
                                       .message = "error reading from server: EOF"};
    g_autoptr(GArray) ids = csi_driver_calls(&self->base);

    for (unsigned i = 0; i < ids->len; i++) {
        CsiCall *call = csi_driver_find_call(&self->base, g_array_index(ids, CsiCallId, i));
        if (call == NULL || !strings_same(call->request->served_by, node))
            continue;
        if (node != NULL)
            modelled_fail_now((ModelledCall *)call, broken.code, broken.message);
        else
            csi_call_disconnect(call, &broken);
    }
}

static void
forget_on_node(BackendVolume *volume, VolumeNode *on)
{
    modelled_unpublish(volume, on);
    on->staging_path = NULL;
    modelled_targets_clear(on);
}

gboolean
csi_modelled_driver_lose_volume(CsiModelledDriver *self, const char *volume_id)
{
    BackendVolume *volume = modelled_find_volume(self, volume_id);

    if (volume == NULL)
        return FALSE;
    for (VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        forget_on_node(volume, on);
    modelled_volume_end(self, volume);
    return TRUE;
}

void
csi_modelled_driver_set_keeps_volumes(CsiModelledDriver *self, gboolean keeps)
{
    self->keeps_volumes = keeps;
}
