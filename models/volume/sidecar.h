/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/storage.h"
#include "models/client/process.h"
#include "models/model.h"

/* How the sidecar of a CSI driver starts (EA-10, PROV-1): it asks the driver until it is ready, then once what it can
 * do, waits for its informers, and works. With the cluster's start the informers are synced. */
typedef struct Sidecar Sidecar;

typedef struct {
    Component *component; /* borrowed */
    SimTime probe_timeout_ns;
    unsigned n_sync_polls; /* waits for informers to sync, 100 ms each (CGO-17), after a crash */
    void (*ready)(void *self); /* the component: may subscribe and make its queues now */
    const char *identity; /* in leader election; NULL: the host's name. Interned */
    /* Asks what the node service can do too, unless the controller can do this; 0: does not ask (RSZ-20) */
    CsiControllerCapabilities node_unless;
} SidecarOptions;

/* Returns: (owned): options->ready is called in a later event, perhaps of this instant */
Sidecar *sidecar_new(const SidecarOptions *options);
void sidecar_free(Sidecar *self); /* calls under way are abandoned */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sidecar, sidecar_free)

/* The name of the pod that the component's replica runs in. Returns: (borrowed): interned */
const char *sidecar_host_name(const Component *component);

/* As asked once (CSI-12): what the driver grants later is not seen. 0 until ready. */
CsiPluginCapabilities sidecar_plugin_capabilities(const Sidecar *self);
CsiControllerCapabilities sidecar_controller_capabilities(const Sidecar *self);
CsiNodeCapabilities sidecar_node_capabilities(const Sidecar *self);

/* A gate of --feature-gates: "Topology=true,Other=false". */
gboolean sidecar_feature_gate(const char *gates, const char *name, gboolean default_value);

/* VolumeAttachments by spec.source.persistentVolumeName; value: the interned name. */
void index_attachments_by_volume(InformerIndex *index, const Object *object, Objects *objects);
