/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/storage.h"
#include "models/client/process.h"
#include "models/cluster/model.h"
#include "models/csi/uses.h"

/* The start of a CSI driver's sidecar (EA-10, PROV-1): it asks until the driver is ready, then asks
 * once for its capabilities, waits for its informers, and works. If it starts with the cluster, the
 * informers are synced. */
typedef struct Sidecar Sidecar;

typedef struct {
    Component *component;      /* borrowed */
    unsigned n_sync_polls;     /* after a crash: of 100 ms, until informers are synced (CGO-17) */
    void (*ready)(void *self); /* the component: component_start(), or it calls that */
    const char *identity;      /* in leader election; NULL: the host's name. Interned */
    gboolean asks_node;        /* NodeGetInfo of component->node_name */
    gboolean asks_groups;      /* GroupControllerGetCapabilities: its answer only warns (SNAP-90) */
    /* Asks for the node service's capabilities, too, unless the controller has this one; 0: never
     * (RSZ-20) */
    CsiControllerCapabilities node_unless;
} SidecarOptions;

/* Returns: (owned): options->ready is called in a later event, perhaps of this instant */
Sidecar *sidecar_new(const SidecarOptions *options);
void sidecar_free(Sidecar *self); /* once the component's plans are over or abandoned */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sidecar, sidecar_free)

/* The name of the pod that the component's replica runs in. Returns: (borrowed): interned */
const char *sidecar_host_name(const Component *component);

/* Asked once (CSI-12): later changes are not seen. 0 until ready. */
CsiPluginCapabilities sidecar_plugin_capabilities(const Sidecar *self);
CsiControllerCapabilities sidecar_controller_capabilities(const Sidecar *self);
/* Whether the driver's capabilities allow the call. */
gboolean sidecar_offers(const Sidecar *self, CsiUse use);
/* With asks_node: the node's own topology; NULL: it has none. */
const StringMap *sidecar_node_segment(const Sidecar *self);

/* The flags of all sidecars: the first member of their options. */
typedef struct {
    double kube_api_qps;
    int32_t kube_api_burst;
    SimTime retry_interval_start, retry_interval_max;
    int32_t n_workers;
    SimTime timeout;     /* of each call of the driver */
    const char *version; /* its release: "v4.9"; empty: the release that docs/rules describes */
} SidecarFlags;

/* Whether its release is @major.@minor or later. @of_books: what holds for the one of the books. */
gboolean
sidecar_is_since(const SidecarFlags *flags, unsigned major, unsigned minor, gboolean of_books);

/* ... as rows of a sidecar's table. */
#define SIDECAR_FLAG(name, type, member, value, help)                                              \
    PROCESS_FLAG(name, type, SidecarFlags, member, value, help)
#define SIDECAR_CLIENT_FLAGS                                                                       \
    SIDECAR_FLAG("kube-api-qps", FLAG_NUMBER, kube_api_qps, "5",                                   \
                 "Requests per second to the API server, events included (PROV-40)"),              \
        SIDECAR_FLAG("kube-api-burst", FLAG_INT, kube_api_burst, "10",                             \
                     "Requests that may exceed that rate at once")
#define SIDECAR_FLAGS(workers_name, workers, workers_help, timeout_value, timeout_help)            \
    SIDECAR_CLIENT_FLAGS,                                                                          \
        SIDECAR_FLAG("retry-interval-start", FLAG_DURATION, retry_interval_start, "1s",            \
                     "Wait after a first failure; doubles with each (EA-2, PROV-12, RSZ-24)"),     \
        SIDECAR_FLAG("retry-interval-max", FLAG_DURATION, retry_interval_max, "5m",                \
                     "Longest wait after a failure"),                                              \
        SIDECAR_FLAG(workers_name, FLAG_INT, n_workers, workers, workers_help),                    \
        SIDECAR_FLAG("timeout", FLAG_DURATION, timeout, timeout_value, timeout_help),              \
        SIDECAR_FLAG("version", FLAG_STRING, version, "",                                          \
                     "Release whose defaults and behaviour it has (SREL-1)")

/* The members of a ProcessClass that all sidecars have. */
#define SIDECAR_PROCESS(process_name, Options, flag_rows, process_election)                        \
    .name = process_name, .scope = PER_DRIVER, .options_size = sizeof(Options),                    \
    .flags = flag_rows, .election = &process_election

/* The members of a ModelClass that all sidecars have. */
#define SIDECAR_MODEL(model_name, model_process)                                                   \
    .name = model_name, .process = &model_process, .client_qps = sidecar_client_qps,               \
    .starts_late = TRUE

/* For ModelClass.client_qps. @options: of a sidecar */
double sidecar_client_qps(const void *options, unsigned *burst);
/* The wait after a failure, for WorkersOptions.limit_of. @options: of a sidecar */
RateLimit sidecar_rate_limit(const void *options);
/* As many workers as the flags say, and their limit; in a row of parts. */
#define SIDECAR_WORKERS .n_flag = offsetof(SidecarFlags, n_workers), .limit_of = sidecar_rate_limit

/* --extra-create-metadata, --extra-modify-metadata: @parameters with the names of claim and volume.
 * Returns: (owned) */
StringMap *sidecar_metadata_parameters(const StringMap *parameters,
                                       const ObjectKey *claim,
                                       const char *volume_name,
                                       Strings *strings);

/* VolumeAttachments by spec.source.persistentVolumeName; value: the interned name. */
void index_attachments_by_volume(InformerIndex *index, const Object *object, Objects *objects);
