/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/local/volume-filling.h"
#include "models/csi/csi-backend.h"
#include "sim/distribution.h"

/* A CSI driver whose back end is a model: it remembers its volumes, snapshots, attachments and
 * mounts, answers after drawn latencies, has limits, and fails as configured. It keeps the rules of
 * the CSI spec: it accepts repeats and refuses incompatible ones, and the effect of a call stays
 * when its caller gives up. */
typedef struct CsiModelledDriver CsiModelledDriver;

/* Latencies: one for each method, by CsiMethod, and some for special cases of a method. */
typedef enum {
    CSI_LATENCY_CREATE_FROM_SNAPSHOT = CSI_N_METHODS, /* else CreateVolume's */
    CSI_LATENCY_CREATE_FROM_VOLUME,                   /* else CreateVolume's */
    /* not the volume's first stage, so no mkfs; default NodeStageVolume's */
    CSI_LATENCY_STAGE_FORMATTED,
    CSI_LATENCY_SNAPSHOT_READY, /* from the cut until ready_to_use; default at once */
    CSI_LATENCY_REPEAT,         /* a repeat with nothing left to do; default as the first time */
    CSI_LATENCY_REFUSAL,        /* the driver itself refuses; default at once */
    CSI_N_LATENCIES,
} CsiLatency;

#define CSI_SLOWDOWN_MAX 4

/* "CreateVolume" and all other methods, "CreateVolumeFromSnapshot", "CreateVolumeFromVolume",
 * "NodeStageVolumeFormatted", "SnapshotReady", "Repeat", "Refusal". */
const char *csi_latency_name(CsiLatency latency);
gboolean csi_latency_parse(const char *name, CsiLatency *latency);

/* An injected error. Strings are interned, the distribution outlives the driver. All conditions
 * must hold. */
typedef struct {
    CsiMethod method; /* CSI_N_METHODS: any */
    CsiCode code;
    const char *message; /* NULL: "injected error" */
    double probability;  /* of each call: (0, 1] */
    unsigned count;      /* at most this many times; 0: without end */
    gboolean per_volume; /* @count holds for each volume alone */
    const char *zone;    /* NULL, or a value in the first preferred topology of CreateVolume */
    const char *node;    /* NULL, or the name of the node that serves the call or gets the volume */
    SimTime from, until; /* [from, until); until 0: without end */
    const SimDist *latency; /* of the failing call; NULL: as if it succeeded */
    gboolean after_effect;  /* the work is done; only the answer is an error */
} CsiModelledError;

/* How often a volume may change; another change is refused (CSI-85). */
typedef struct {
    unsigned calls; /* 0: no limit */
    SimTime within;
    CsiCode code;        /* of the refusal */
    const char *message; /* {volume} stands for the volume's id; NULL: in our words */
} CsiModelledQuota;

/* A limit on calls: a call takes a token, then a server of each limit that applies to it, in the
 * order given, and keeps its servers to the end. */
typedef struct {
    /* mask of 1 << CsiMethod; 0: all controller calls that reach the back end */
    uint32_t methods;
    /* each node has its own: the node that serves the call, or whose attachment changes */
    gboolean per_node;
    unsigned concurrent; /* calls served at once; 0: no limit */
    double qps;          /* calls a second; 0: no limit */
    unsigned burst;
    CsiModelledQuota per_volume;
} CsiModelledLimit;

/* Room for volumes. It bounds all volumes whose topology contains @segments; a place without a pool
 * has no bound. */
typedef struct {
    const StringMap *segments; /* NULL: everywhere */
    int64_t bytes;
} CsiModelledPool;

typedef enum {
    CSI_LOCK_VOLUME, /* one controller call a volume, one node call a volume and node (CSI-46) */
    /* the same, but attaching to two nodes at once is allowed, as in the EBS driver */
    CSI_LOCK_VOLUME_AND_NODE,
    CSI_LOCK_NONE,
} CsiModelledLock;

/* How calls slow each other down. If n calls of any methods are served at once and n is larger than
 * @undisturbed, each goes on at (n / undisturbed)^-exponent of the pace that it has alone.
 * @undisturbed is, say, the number of processors or disks. */
typedef struct {
    double exponent;    /* 0: no slowdown; from -CSI_SLOWDOWN_MAX to CSI_SLOWDOWN_MAX */
    double undisturbed; /* at least 1; 0 is 1 */
} CsiSlowdown;

/* Returns: how many times as long a call takes while @n calls are served, itself included: at least
 * 1 unless the exponent is negative */
double csi_slowdown_factor(CsiSlowdown slowdown, unsigned n);

typedef struct {
    const char *name;           /* CSI-6: a domain name of at most 63 characters */
    const char *vendor_version; /* NULL: "1.0.0" */
    CsiWaits waits;
    /* in ns; NULL: see CsiLatency, otherwise 0. Outlive the driver */
    const SimDist *latency[CSI_N_LATENCIES];
    CsiSlowdown slowdown[CSI_N_LATENCIES];
    const CsiModelledError *errors; /* copied; the first that applies counts */
    unsigned n_errors;
    const CsiModelledLimit *limits; /* copied; at most 32 */
    unsigned n_limits;
    const CsiModelledPool *pools; /* copied */
    unsigned n_pools;
    int64_t volume_bytes_min, volume_bytes_max; /* 0: none */
    int64_t volume_bytes_step;    /* sizes are rounded up to a multiple; 0: any size */
    int64_t volume_bytes_default; /* if the caller names none */
    VolumeFilling usage;          /* of volumes without their own */

    CsiPluginCapabilities plugin_capabilities;
    /* PUBLISH_UNPUBLISH: attachment is required */
    CsiControllerCapabilities controller_capabilities;
    CsiNodeCapabilities node_capabilities;
    CsiGroupCapabilities group_capabilities;
    /* the number of places of a volume: 2 for a disk in two zones */
    unsigned topologies_per_volume;
    int attach_limit; /* the most volumes of a node, also max_volumes_per_node; 0: no limit */
    int attach_limit_reported;      /* max_volumes_per_node if that differs; 0: the same */
    const StringList *volume_keys;  /* of a volume's place; NULL: all keys of the wanted place */
    const StringList *mutable_keys; /* of mutable parameters */
    const StringMap *volume_context, *publish_context; /* given to the callers */

    /* Of each file system once it is filled (CSI-90): the number of its files, 0: not modelled, and
     * the time to change one's owner, and its SELinux label */
    int64_t n_files;
    SimTime per_file, per_label;

    CsiModelledLock lock;
    gboolean lock_waits;    /* a second call waits for the first one, instead of being ABORTED */
    SimTime ready_at;       /* Probe answers "not ready" until then */
    gboolean needs_secrets; /* calls that can carry secrets must have them (CSI-46) */
    gboolean random_ids;    /* ids are drawn; otherwise a volume's id is its name */
    /* a volume that was never created is taken for a pre-provisioned one (CSI-39) */
    gboolean adopts_unknown_volumes;
    /* DeleteVolume fails also while a node has it staged or mounted, as lvremove does */
    gboolean checks_mounts;
    /* DeleteVolume fails while the volume has snapshots (CSI-17) */
    gboolean keeps_snapshot_sources;
    gboolean snapshots_take_room; /* in the pools of their source */
    /* a call ends without effect when its caller is gone; CSI wants it to go on (CSI-5) */
    gboolean aborts_with_caller;
} CsiModelledOptions;

/* Options of most drivers: create, attach, stage, publish, expand online, stats, topology; no
 * latency, no limits. */
void csi_modelled_options_init(CsiModelledOptions *options);
/* The same options for a driver whose strings are in another table. Distributions and limits are
 * borrowed from @options. Returns: (owned): csi_modelled_options_clear() */
CsiModelledOptions csi_modelled_options_copy(Strings *strings, const CsiModelledOptions *options);
void csi_modelled_options_clear(CsiModelledOptions *copy);

/**
 * csi_modelled_driver_new:
 * @sim, @strings: (borrowed): outlive the driver
 * @options: copied; it takes references to maps and lists, and borrows distributions
 * Returns: (owned), to be freed as a CsiDriver: %NULL with %SIM_ERROR_INVALID if the options
 * contradict each other or CSI
 */
CsiModelledDriver *csi_modelled_driver_new(Sim *sim,
                                           Strings *strings,
                                           const CsiModelledOptions *options,
                                           GError **error);
CsiDriver *csi_modelled_driver_base(CsiModelledDriver *self);
/* Returns: @driver, or NULL if it has another back end */
CsiModelledDriver *csi_modelled_driver_cast(CsiDriver *driver);

/* The node plugin runs on node @name, which the driver calls @node_id; or it has moved or has new
 * segments. Strings are interned. */
void csi_modelled_driver_add_node(CsiModelledDriver *self,
                                  const char *name,
                                  const char *node_id,
                                  const StringMap *segments);
/* The machine restarts: attachments stay, mounts are gone. */
void csi_modelled_driver_reboot_node(CsiModelledDriver *self, const char *name);
/* The plugin of this node (NULL: of the controller) died: calls under way to it end as UNAVAILABLE,
 * without effect. */
void csi_modelled_driver_cut_calls(CsiModelledDriver *self, const char *node);
/* The plugin is away: its calls fail as above, until a call with @is_away FALSE. */
void csi_modelled_driver_set_away(CsiModelledDriver *self, const char *node, gboolean is_away);
/* The driver hangs: no call is answered or carried out until it goes on. Then the calls that have
 * come are. */
void csi_modelled_driver_set_hung(CsiModelledDriver *self, gboolean is_hung);
/* Later calls take @factor times as long; 1: the usual time. */
void csi_modelled_driver_set_slowness(CsiModelledDriver *self, double factor);
/* The back end loses the volume. Returns: FALSE if it has no such volume */
gboolean csi_modelled_driver_lose_volume(CsiModelledDriver *self, const char *volume_id);
/* The volume's file system will have, or has, so many files instead of the options' number.
 * Returns: FALSE if the back end has no such volume */
gboolean
csi_modelled_driver_set_files(CsiModelledDriver *self, const char *volume_id, int64_t n_files);
/* Returns: (borrowed): as long as the driver lives; NULL: no such volume, or its files are not
 * modelled */
CsiFiles *csi_modelled_driver_files(const CsiModelledDriver *self, const char *volume_id);
/* DeleteVolume reports success and keeps the volume. */
void csi_modelled_driver_set_keeps_volumes(CsiModelledDriver *self, gboolean keeps);
/* This node takes @limit volumes instead of the options' limit, and NodeGetInfo reports that. 0:
 * the options' limit; negative: no limit. */
void csi_modelled_driver_set_node_limit(CsiModelledDriver *self, const char *name, int limit);

/* Calls of @methods (mask of 1 << CsiMethod) at the controller's socket go to @serve: a component
 * is the driver's controller. It calls csi_modelled_driver_answer() later. @serve NULL: the
 * component has died; new calls and the calls that it had end as UNAVAILABLE. */
void csi_modelled_driver_set_server(CsiModelledDriver *self,
                                    uint32_t methods,
                                    CsiServe serve,
                                    void *server);
/* An OK to CreateVolume gets its fields from the volume that somebody has made on a node meanwhile.
 * The call may have ended. */
void csi_modelled_driver_answer(CsiModelledDriver *self, CsiCallId id, const CsiResponse *response);

/* A volume of the back end. */
typedef struct {
    const char *id, *name; /* name: NULL if CreateVolume did not make it */
    int64_t capacity_bytes;
    int64_t filesystem_bytes; /* its file system may have to grow yet */
    SimTime created_at;
    const StringMap *const *topologies; /* none: everywhere */
    unsigned n_topologies;
    unsigned n_published; /* nodes it is attached to */
    CsiSourceKind source_kind;
    const char *source_id;
    int64_t n_files; /* 0: the options' number */
    /* Told only */
    int64_t used_bytes;    /* of data */
    gboolean is_full;      /* no room for more, perhaps for want of inodes (CSI-93) */
    const char *condition; /* an abnormal one; NULL: normal */
} CsiModelledVolume;

/* Adds a volume that was made before, perhaps by hand, unless it exists. It is not attached.
 * @filesystem_bytes 0: all of it */
void csi_modelled_driver_add_volume(CsiModelledDriver *self, const CsiModelledVolume *volume);

/* A snapshot that was taken before. */
typedef struct {
    const char *id, *name; /* name: NULL: by hand, not by CreateSnapshot */
    const char *source_id; /* of its volume; NULL: unknown */
    int64_t size_bytes;    /* 0: its volume's */
    SimTime created_at;
    gboolean
        is_ready; /* else it will be, when the driver's time for that since @created_at is over */
} CsiModelledSnapshot;

/* Adds the snapshot, unless it exists. */
void csi_modelled_driver_add_snapshot(CsiModelledDriver *self, const CsiModelledSnapshot *snapshot);

/* Adds a group of snapshots that was taken before, unless it exists. @name: NULL: by hand.
 * @members: their ids; each snapshot exists */
void csi_modelled_driver_add_group(CsiModelledDriver *self,
                                   const char *id,
                                   const char *name,
                                   const char *const *members,
                                   unsigned n_members);

/* Sets the condition that ListVolumes and NodeGetVolumeStats report (CSI-72). Returns: FALSE if
 * there is no such volume */
gboolean csi_modelled_driver_set_condition(CsiModelledDriver *self,
                                           const char *volume_id,
                                           gboolean abnormal,
                                           const char *message);

/* Changes at run time. Calls in flight keep their draws and the limits that they wait for; counts
 * of errors restart. */
void csi_modelled_driver_set_pools(CsiModelledDriver *self,
                                   const CsiModelledPool *pools,
                                   unsigned n_pools);
/* This volume fills in its own way from now on; NULL: as the driver's others. Returns: FALSE: no
 * such volume */
gboolean csi_modelled_driver_set_usage(CsiModelledDriver *self,
                                       const char *volume_id,
                                       const VolumeFilling *usage);
/* Changes these options, the sizes and usage of volumes and @ready_at; the other options stay. */
void csi_modelled_driver_set(CsiModelledDriver *self, const CsiModelledOptions *options);

/* Returns: the time until which Probe answers "not ready" */
SimTime csi_modelled_driver_ready_at(const CsiModelledDriver *self);
unsigned csi_modelled_driver_n_volumes(const CsiModelledDriver *self);
/* Returns: FALSE: no such volume; @volume may be NULL */
gboolean csi_modelled_driver_get_volume(const CsiModelledDriver *self,
                                        const char *volume_id,
                                        CsiModelledVolume *volume);
/* Mounts of a volume in pods of a node. */
unsigned csi_modelled_driver_n_targets(const CsiModelledDriver *self,
                                       const char *volume_id,
                                       const char *node_name);
