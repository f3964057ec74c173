/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volume manager of a node: its lists and its two loops, made with the first pod or the first
 * volume. */
#include "volume-manager.h"

void
volume_manager_ensure(Kubelet *self)
{
    if (self->volume_manager != NULL)
        return;
    VolumeManager *volumes = self->volume_manager = g_new0(VolumeManager, 1);
    self->drivers = process_informer(self->base.process, KIND_CSI_DRIVER, NULL);
    volumes->volumes = g_ptr_array_new_with_free_func(node_volume_free);
    volumes->unprocessed = g_ptr_array_new();
    volumes->populating = g_ptr_array_new();
    volumes->stopping = g_ptr_array_new();
    volumes->due = g_ptr_array_new();
    volumes->passing = g_ptr_array_new();
    volumes->populator = kubelet_make_loop(self, "kubelet/populator", LOOP_POPULATOR, 100 * SIM_MS,
                                           volume_populator_pass); /* KVM-1 */
    volumes->reconciler =
        kubelet_make_loop(self, "kubelet/reconciler", LOOP_RECONCILER, 100 * SIM_MS,
                          volume_reconciler_pass); /* KVM-2, TIM-43 */
    volumes->reconciler_label = sim_label(self->base.sim, "kubelet/reconciler");
    informer_add_handler(self->drivers, volume_populator_on_driver, self);
}

void
volume_manager_free(VolumeManager *self)
{
    if (self == NULL)
        return;
    sim_ticker_free(self->populator);
    sim_ticker_free(self->reconciler);
    sim_ticker_free(self->stats_analyzer);
    g_ptr_array_unref(self->volumes);
    g_ptr_array_unref(self->unprocessed);
    g_ptr_array_unref(self->populating);
    g_ptr_array_unref(self->stopping);
    g_ptr_array_unref(self->due);
    g_ptr_array_unref(self->passing);
    g_free(self);
}
