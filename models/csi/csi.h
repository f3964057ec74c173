/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/sim.h"
#include "sim/strings.h"

/* The Container Storage Interface as C: one request struct and one response struct for all calls of
 * the Identity, Controller and Node services, and a driver that answers in virtual time. Callers
 * cannot tell which back end it has (modelled/modelled-driver.h, loop/loop-driver.h; csi-backend.h
 * is for other ones). All strings are interned in the Strings of the run; NULL is the empty
 * string. */

typedef enum {
    /* Identity */
    CSI_GET_PLUGIN_INFO,
    CSI_GET_PLUGIN_CAPABILITIES,
    CSI_PROBE,
    /* Controller */
    CSI_CREATE_VOLUME,
    CSI_DELETE_VOLUME,
    CSI_CONTROLLER_PUBLISH_VOLUME,
    CSI_CONTROLLER_UNPUBLISH_VOLUME,
    CSI_VALIDATE_VOLUME_CAPABILITIES,
    CSI_LIST_VOLUMES,
    CSI_GET_CAPACITY,
    CSI_CONTROLLER_GET_CAPABILITIES,
    CSI_CREATE_SNAPSHOT,
    CSI_DELETE_SNAPSHOT,
    CSI_LIST_SNAPSHOTS,
    CSI_GET_SNAPSHOT,
    CSI_CONTROLLER_EXPAND_VOLUME,
    CSI_CONTROLLER_GET_VOLUME,
    CSI_CONTROLLER_MODIFY_VOLUME,
    /* Node */
    CSI_NODE_STAGE_VOLUME,
    CSI_NODE_UNSTAGE_VOLUME,
    CSI_NODE_PUBLISH_VOLUME,
    CSI_NODE_UNPUBLISH_VOLUME,
    CSI_NODE_GET_VOLUME_STATS,
    CSI_NODE_EXPAND_VOLUME,
    CSI_NODE_GET_CAPABILITIES,
    CSI_NODE_GET_INFO,
    /* Group controller */
    CSI_GROUP_CONTROLLER_GET_CAPABILITIES,
    CSI_CREATE_VOLUME_GROUP_SNAPSHOT,
    CSI_DELETE_VOLUME_GROUP_SNAPSHOT,
    CSI_GET_VOLUME_GROUP_SNAPSHOT,
    CSI_N_METHODS,
} CsiMethod;

typedef enum {
    CSI_IDENTITY,
    CSI_CONTROLLER,
    CSI_NODE,
    CSI_GROUP_CONTROLLER,
} CsiService;

const char *csi_method_name(CsiMethod method); /* "CreateVolume" */
/* "/csi.v1.Controller/CreateVolume", as in metrics */
const char *csi_method_full_name(CsiMethod method);
CsiService csi_method_service(CsiMethod method);
/* of "CreateVolume"; FALSE: no such method */
gboolean csi_method_parse(const char *name, CsiMethod *method);

/* gRPC status codes by their numbers. */
typedef enum {
    CSI_OK,
    CSI_CANCELLED,
    CSI_UNKNOWN,
    CSI_INVALID_ARGUMENT,
    CSI_DEADLINE_EXCEEDED,
    CSI_NOT_FOUND,
    CSI_ALREADY_EXISTS,
    CSI_PERMISSION_DENIED,
    CSI_RESOURCE_EXHAUSTED,
    CSI_FAILED_PRECONDITION,
    CSI_ABORTED,
    CSI_OUT_OF_RANGE,
    CSI_UNIMPLEMENTED,
    CSI_INTERNAL,
    CSI_UNAVAILABLE,
    CSI_DATA_LOSS,
    CSI_UNAUTHENTICATED,
    CSI_N_CODES,
} CsiCode;

const char *csi_code_name(CsiCode code);    /* "INTERNAL", as in scenarios and metrics of gRPC */
const char *csi_code_go_name(CsiCode code); /* "Internal", as Go prints it in Events and logs */
/* either spelling; FALSE: no such code */
gboolean csi_code_parse(const char *name, CsiCode *code);

/* Access modes by the CSI spec's numbers (CSI-42). */
typedef enum {
    CSI_MODE_UNKNOWN,
    CSI_SINGLE_NODE_WRITER,
    CSI_SINGLE_NODE_READER_ONLY,
    CSI_MULTI_NODE_READER_ONLY,
    CSI_MULTI_NODE_SINGLE_WRITER,
    CSI_MULTI_NODE_MULTI_WRITER,
    CSI_SINGLE_NODE_SINGLE_WRITER,
    CSI_SINGLE_NODE_MULTI_WRITER,
    CSI_N_MODES,
} CsiAccessMode;

gboolean csi_access_mode_is_single_node(CsiAccessMode mode);

typedef enum {
    CSI_ACCESS_MOUNT, /* volumeMode: Filesystem */
    CSI_ACCESS_BLOCK,
} CsiAccessType;

typedef struct {
    CsiAccessMode mode;
    CsiAccessType type;
    const char *fs_type;            /* MOUNT: NULL: the driver's choice */
    const StringList *mount_flags;  /* MOUNT */
    const char *volume_mount_group; /* MOUNT */
} CsiCapability;

gboolean csi_capability_equal(const CsiCapability *a, const CsiCapability *b);

/* Masks of capabilities: bit n is the capability numbered n in the CSI spec (CSI-8 to CSI-10). */
typedef enum {
    CSI_PLUGIN_CONTROLLER_SERVICE = 1 << 1,
    CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS = 1 << 2,
    CSI_PLUGIN_GROUP_CONTROLLER_SERVICE = 1 << 3,
    CSI_PLUGIN_EXPANSION_ONLINE = 1 << 16, /* the expansion group: 16 + its number - 1 */
    CSI_PLUGIN_EXPANSION_OFFLINE = 1 << 17,
} CsiPluginCapabilities;

typedef enum {
    CSI_CONTROLLER_CREATE_DELETE_VOLUME = 1 << 1,
    CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME = 1 << 2,
    CSI_CONTROLLER_LIST_VOLUMES = 1 << 3,
    CSI_CONTROLLER_GET_CAPACITY = 1 << 4,
    CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT = 1 << 5,
    CSI_CONTROLLER_LIST_SNAPSHOTS = 1 << 6,
    CSI_CONTROLLER_CLONE_VOLUME = 1 << 7,
    CSI_CONTROLLER_PUBLISH_READONLY = 1 << 8,
    CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY = 1 << 9,
    CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES = 1 << 10,
    CSI_CONTROLLER_VOLUME_CONDITION = 1 << 11,
    CSI_CONTROLLER_GET_VOLUME_CAPABILITY = 1 << 12,
    CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER = 1 << 13,
    CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY = 1 << 14,
    CSI_CONTROLLER_GET_SNAPSHOT_CAPABILITY = 1 << 15,
} CsiControllerCapabilities;

typedef enum {
    CSI_NODE_STAGE_UNSTAGE_VOLUME = 1 << 1,
    CSI_NODE_GET_VOLUME_STATS_CAPABILITY = 1 << 2,
    CSI_NODE_EXPAND_VOLUME_CAPABILITY = 1 << 3,
    CSI_NODE_VOLUME_CONDITION = 1 << 4,
    CSI_NODE_SINGLE_NODE_MULTI_WRITER = 1 << 5,
    CSI_NODE_VOLUME_MOUNT_GROUP = 1 << 6,
} CsiNodeCapabilities;

typedef enum {
    CSI_GROUP_SNAPSHOT = 1 << 1, /* CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT */
} CsiGroupCapabilities;

typedef enum {
    CSI_SOURCE_NONE,
    CSI_SOURCE_SNAPSHOT,
    CSI_SOURCE_VOLUME, /* a clone */
} CsiSourceKind;

/* Fields that a method does not have are ignored and stay 0. Pointers need to be valid only during
 * csi_driver_call(), which copies. */
typedef struct {
    CsiMethod method;
    /* the node (by name) on whose plugin the call is made; NULL: the controller's socket */
    const char *served_by;
    SimTime timeout_ns; /* the caller's deadline, from now; 0: none */
    SimTime deadline;   /* instead of @timeout_ns the instant, for calls that share one; 0: none */

    const char *name;      /* CreateVolume, CreateSnapshot, of a group: the key of idempotency */
    const char *volume_id; /* also CreateSnapshot's and ListSnapshots' source volume */
    const char *node_id;   /* ControllerPublish, ControllerUnpublish (NULL: all nodes) */
    const char *snapshot_id;
    const StringList *volume_ids;        /* sources of a group's snapshots */
    const char *group_snapshot_id;       /* Delete, Get of a group */
    const StringList *snapshot_ids;      /* ... and its snapshots */
    int64_t required_bytes, limit_bytes; /* the capacity range; 0: unset */
    /* CreateVolume, Validate and GetCapacity have any number; others have one */
    const CsiCapability *capabilities;
    unsigned n_capabilities;
    const StringMap *parameters;
    const StringMap *mutable_parameters;
    /* the topology requirement, or GetCapacity's one topology */
    const StringMap *const *requisite;
    unsigned n_requisite;
    const StringMap *const *preferred;
    unsigned n_preferred;
    const char *source_id; /* of the snapshot or volume to copy */
    CsiSourceKind source_kind;
    const char *staging_path; /* Stage, Unstage, NodePublish, Stats, NodeExpand */
    /* NodePublish, NodeUnpublish; volume_path of Stats and NodeExpand */
    const char *target_path;
    gboolean readonly;
    gboolean has_secrets;
    gboolean is_in_process; /* the call stands for work of Kubernetes itself (INT-3) */
    const StringMap *publish_context;
    const StringMap *volume_context;
    unsigned max_entries;       /* List*: 0: all */
    const char *starting_token; /* List* */
} CsiRequest;

/* Fields that a method's request must have (CSI-46). */
typedef enum {
    NEEDS_NAME = 1 << 0,
    NEEDS_VOLUME = 1 << 1,
    NEEDS_NODE = 1 << 2,
    NEEDS_CAPABILITY = 1 << 3,
    NEEDS_STAGING_PATH = 1 << 4,
    NEEDS_TARGET_PATH = 1 << 5,
    NEEDS_RANGE = 1 << 6,
    NEEDS_SNAPSHOT = 1 << 7,
    NEEDS_VOLUMES = 1 << 16,
    NEEDS_GROUP = 1 << 17,
} CsiNeeds;

/* Returns: (static): the first needed field that @request lacks: "volume id"; NULL: none. @needs
 * may have other flags beside CsiNeeds. */
const char *csi_request_missing(const CsiRequest *request, uint32_t needs);
/* The node whose plugin serves the call, or which the call is about; NULL: none. */
static inline const char *
csi_request_node(const CsiRequest *request)
{
    return request->served_by != NULL ? request->served_by : request->node_id;
}

static inline gboolean
csi_is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

/* A row of ListVolumes and ControllerGetVolume, or of ListSnapshots and GetSnapshot, or a snapshot
 * of a group. */
typedef struct {
    const char *volume_id; /* of a snapshot: its source */
    int64_t capacity_bytes;
    const StringList *published_node_ids; /* with LIST_VOLUMES_PUBLISHED_NODES */
    gboolean abnormal;                    /* with VOLUME_CONDITION */
    const char *condition_message;
    const char *snapshot_id;
    const char *group_snapshot_id; /* of the group that the snapshot belongs to; NULL: none */
    SimTime creation_time;         /* of the snapshot */
    gboolean ready_to_use;
} CsiEntry;

typedef enum {
    CSI_FILES_IDLE,
    CSI_FILES_GROUP, /* files get another group */
    CSI_FILES_LABEL, /* ... SELinux label */
} CsiFilesWork;

/* What is in the file system of a volume, for processes of a node that walk it: no part of CSI. The
 * driver owns it and keeps it as long as it lives; a process changes @group and @work. */
typedef struct {
    int64_t count;     /* of files and directories besides the root */
    SimTime per_file;  /* a process needs so long to change the owner and the mode of one */
    SimTime per_label; /* ... or its SELinux label */
    int64_t group;     /* of the root, once a walk has changed all; -1: the one that mkfs gave it */
    CsiFilesWork work; /* a walk under way */
} CsiFiles;

/* Valid during the reply only; keep interned strings, take references to maps and lists. */
typedef struct {
    CsiCode code;
    const char *message; /* not NULL unless OK (CSI-7) */

    const char *plugin_name, *vendor_version;  /* GetPluginInfo */
    CsiPluginCapabilities plugin_capabilities; /* GetPluginCapabilities */
    CsiControllerCapabilities controller_capabilities;
    CsiNodeCapabilities node_capabilities;
    CsiGroupCapabilities group_capabilities;
    gboolean ready; /* Probe */

    const char *volume_id;
    int64_t capacity_bytes; /* of the volume; CreateVolume, both Expand calls */
    /* CreateVolume: any of these; NodeGetInfo: one */
    const StringMap *const *accessible_topology;
    unsigned n_accessible_topology;
    const StringMap *volume_context;
    const StringMap *publish_context;
    const char *source_id; /* CreateVolume: as asked */
    CsiSourceKind source_kind;
    gboolean node_expansion_required; /* ControllerExpand */
    gboolean confirmed;               /* ValidateVolumeCapabilities */

    CsiFiles *files; /* NodePublishVolume; not copied; NULL: nothing is known about them */

    const char *node_id;          /* NodeGetInfo */
    int64_t max_volumes_per_node; /* 0: no limit known */

    int64_t available_bytes; /* GetCapacity: of the pool; Stats: in the volume */
    int64_t maximum_volume_bytes, minimum_volume_bytes; /* GetCapacity; 0: unknown */

    int64_t total_bytes, used_bytes; /* NodeGetVolumeStats */
    int64_t total_inodes, used_inodes, available_inodes;
    gboolean abnormal; /* the volume's condition, from the node */
    const char *condition_message;

    const char *snapshot_id;       /* CreateSnapshot */
    const char *group_snapshot_id; /* Create, Get of a group */
    int64_t size_bytes;
    SimTime creation_time;
    gboolean ready_to_use;

    /* List*, the snapshots of a group, and the one of ControllerGetVolume and GetSnapshot */
    const CsiEntry *entries;
    unsigned n_entries;
    const char *next_token; /* NULL: the end */
} CsiResponse;

/* Returns: (owned): a deep copy in memory from @memory; see csi_response_free() */
CsiResponse *csi_response_copy(SimMemory *memory, const CsiResponse *response);
void csi_response_free(SimMemory *memory, CsiResponse *response);
CsiRequest *csi_request_copy(SimMemory *memory, const CsiRequest *request);
void csi_request_free(SimMemory *memory, CsiRequest *request);

/* "rpc error: code = Internal desc = …", as callers log it and write it into Events; interned in
 * @strings. */
const char *csi_response_error(const CsiResponse *response, Strings *strings);

typedef struct CsiDriver CsiDriver;
typedef uint64_t CsiCallId; /* 0: none. Never used twice by a driver */
typedef void (*CsiReply)(void *data, const CsiResponse *response);
/* A call for a server that is no part of the back end. @request: valid during this call */
typedef void (*CsiServe)(void *server, CsiCallId id, const CsiRequest *request);

/**
 * csi_driver_call:
 * @reply: called once, in a later event, perhaps of this instant; may be %NULL. After
 * request->timeout_ns, or at request->deadline, the caller gets %CSI_DEADLINE_EXCEEDED. The back
 * end goes on with the call, and its effect stays (CSI-5), unless it ends calls with their callers
 * (CsiModelledOptions.aborts_with_caller). A past deadline ends the call at this instant.
 */
CsiCallId csi_driver_call(CsiDriver *driver, const CsiRequest *request, CsiReply reply, void *data);
/* The caller died: there will be no reply; the back end goes on as above. The call may have
 * ended. */
void csi_driver_abandon(CsiDriver *driver, CsiCallId id);

/* The answers of NodeGetInfo and NodeGetCapabilities on @node_name, at once and without a call: for
 * the state that a cluster starts with. @response: (out): borrowed from the driver. Returns: FALSE
 * if the back end cannot know them beforehand */
gboolean
csi_driver_foresee_node_info(CsiDriver *driver, const char *node_name, CsiResponse *response);
/* For the state that a cluster starts with: a ControllerPublish, NodeStage or NodePublish with this
 * request has been answered before. There is no call. Returns: FALSE if there is no such volume or
 * node, or if the back end is real: it knows what it has */
gboolean csi_driver_adopt(CsiDriver *driver, const CsiRequest *request);
/* The node plugin runs on node @name, which the driver calls @node_id; or it has moved or has new
 * segments. Strings are interned. */
void csi_driver_add_node(CsiDriver *driver,
                         const char *name,
                         const char *node_id,
                         const StringMap *segments);
const char *csi_driver_name(const CsiDriver *driver);
/* volumes that exist in the back end, as far as it is known */
unsigned csi_driver_n_volumes(const CsiDriver *driver);
/* calls in the back end, with or without a caller */
unsigned csi_driver_in_flight(const CsiDriver *driver);
/* NULL is fine. Calls in flight vanish without a reply; the Sim still exists. */
void csi_driver_free(CsiDriver *driver);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsiDriver, csi_driver_free)

/* A call as observers see it. */
typedef struct {
    const CsiDriver *driver;
    CsiCallId id;
    const CsiRequest *request;
    SimTime started_at;
    SimCauseId cause; /* the cause of the call */
    /* At the end: */
    const CsiResponse *response; /* the back end's answer */
    SimTime ended_at;
    SimTime answered_at; /* when the caller had an answer; SIM_TIME_MAX: the caller died */
    /* the caller's answer: DEADLINE_EXCEEDED if the back end was too slow */
    CsiCode answer;
} CsiCallRecord;

typedef struct {
    void (*started)(void *data, const CsiCallRecord *record); /* may be NULL */
    /* the caller gets @answer; may be NULL */
    void (*answered)(void *data, const CsiCallRecord *record);
    /* the back end is done; may be NULL */
    void (*ended)(void *data, const CsiCallRecord *record);
    void *data;
} CsiObserver;

/* The calls in flight; their order has no meaning. @place: 0 at first. Returns: (borrowed): the
 * next call, valid until it ends; NULL: there are no more */
const CsiCallRecord *csi_driver_next_call(const CsiDriver *driver, unsigned *place);

/* @observer is copied; called in the order added, before the caller's reply. */
void csi_driver_add_observer(CsiDriver *driver, const CsiObserver *observer);
