/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "modelled-private.h"

/* The driver's controller is a component of the cluster: it gets the sidecars' calls, and the
 * agents on the nodes call the back end. */

static void
end_unserved(ModelledCall *call)
{
    modelled_fail(call, CSI_UNAVAILABLE, "connection error: desc = \"connection refused\"", 0);
}

gboolean
modelled_hand_over(CsiModelledDriver *self, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    if (request->served_by != NULL || (self->served_methods >> request->method & 1) == 0)
        return FALSE;
    call->is_served = self->serve != NULL;
    if (self->serve != NULL)
        self->serve(self->server, call->base.record.id, request);
    else
        end_unserved(call);
    return TRUE;
}

void
csi_modelled_driver_set_server(CsiModelledDriver *self,
                               uint32_t methods,
                               CsiServe serve,
                               void *server)
{
    g_autoptr(GArray) calls = csi_driver_calls(&self->base);

    self->served_methods = methods;
    self->serve = serve;
    self->server = server;
    for (unsigned i = 0; serve == NULL && i < calls->len; i++) {
        ModelledCall *call =
            (ModelledCall *)csi_driver_find_call(&self->base, g_array_index(calls, CsiCallId, i));
        if (call->is_served)
            end_unserved(call);
        call->is_served = FALSE;
    }
}

void
csi_modelled_driver_answer(CsiModelledDriver *self, CsiCallId id, const CsiResponse *given)
{
    ModelledCall *call = (ModelledCall *)csi_driver_find_call(&self->base, id);
    CsiResponse response = *given;

    if (call == NULL || !call->is_served)
        return;
    if (given->code == CSI_OK && call->base.request->method == CSI_CREATE_VOLUME) {
        call->volume = modelled_volume_by_name(self, call->base.request->name);
        modelled_create_volume.answer(self, call, &response);
    }
    csi_call_finish(&call->base, &response);
}
