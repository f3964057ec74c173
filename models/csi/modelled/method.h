/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "call.h"

/* The methods of CSI: methods.c, volumes.c, attachments.c, lists.c, snapshots.c, groups.c and
 * node.c. */

/* Beside CsiNeeds. */
typedef enum {
    TAKES_SECRETS = 1 << 8,
    REACHES_BACK_END = 1 << 9, /* limits without a list of methods apply */
    ADOPTS = 1 << 10,          /* CsiModelledOptions.adopts_unknown_volumes */
} MethodFlags;

typedef enum {
    SUBJECT_NONE,
    SUBJECT_NEW_VOLUME,   /* by request.name */
    SUBJECT_VOLUME,       /* by request.volume_id */
    SUBJECT_VOLUME_NODE,  /* and request.node_id */
    SUBJECT_NEW_SNAPSHOT, /* by request.name; @volume is its source */
    SUBJECT_SNAPSHOT,     /* by request.snapshot_id */
    SUBJECT_NODE,         /* the serving node */
    SUBJECT_MOUNT,        /* a volume on the serving node */
    SUBJECT_NEW_GROUP,    /* by request.name */
    SUBJECT_GROUP,        /* by request.group_snapshot_id */
} MethodSubject;

/* A method of CSI: its needs, its refusals, its effect and its answer (CSI-13 to CSI-37, CSI-46). A
 * check changes only the call's refusal; it runs as the call arrives, and again as the back end is
 * done. */
typedef struct {
    uint32_t flags;
    MethodSubject subject;
    gboolean locks; /* one call at a time about its subject */
    /* a capability of its service; without it the method is UNIMPLEMENTED; 0: always there */
    uint32_t capability;
    /* pure except for call->refusal; NULL: VERDICT_GO */
    CallVerdict (*check)(const CsiModelledDriver *driver, ModelledCall *call);
    void (*apply)(CsiModelledDriver *driver, ModelledCall *call); /* NULL: no effect */
    void (*answer)(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response);
} MethodClass;

extern const MethodClass modelled_create_volume;
extern const MethodClass modelled_delete_volume;
extern const MethodClass modelled_controller_publish_volume;
extern const MethodClass modelled_controller_unpublish_volume;
extern const MethodClass modelled_validate_volume_capabilities;
extern const MethodClass modelled_list_volumes;
extern const MethodClass modelled_get_capacity;
extern const MethodClass modelled_create_snapshot;
extern const MethodClass modelled_delete_snapshot;
extern const MethodClass modelled_list_snapshots;
extern const MethodClass modelled_get_snapshot;
extern const MethodClass modelled_controller_expand_volume;
extern const MethodClass modelled_controller_get_volume;
extern const MethodClass modelled_controller_modify_volume;
extern const MethodClass modelled_node_stage_volume;
extern const MethodClass modelled_node_unstage_volume;
extern const MethodClass modelled_node_publish_volume;
extern const MethodClass modelled_node_unpublish_volume;
extern const MethodClass modelled_node_get_volume_stats;
extern const MethodClass modelled_node_expand_volume;
extern const MethodClass modelled_node_get_capabilities;
extern const MethodClass modelled_node_get_info;
extern const MethodClass modelled_group_get_capabilities;
extern const MethodClass modelled_create_group;
extern const MethodClass modelled_delete_group;
extern const MethodClass modelled_get_group;

const MethodClass *modelled_method(CsiMethod method);
/* The answer of NodeGetInfo; @response is empty. */
void
modelled_node_info(const CsiModelledDriver *driver, const BackendNode *node, CsiResponse *response);
/* Sets the refusal. Returns: VERDICT_REFUSE */
CallVerdict modelled_refuse(ModelledCall *call, CsiCode code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* Checks the form of the request, before look-ups. */
CallVerdict modelled_check_request(const CsiModelledDriver *driver, ModelledCall *call);

/* Checks that several methods use. */
gboolean modelled_volume_is_there(const ModelledCall *call);
CallVerdict modelled_refuse_unknown_volume(ModelledCall *call); /* VERDICT_REFUSE */
CallVerdict modelled_check_volume_exists(const CsiModelledDriver *driver, ModelledCall *call);
/* Whether @wanted exceeds the capabilities that the volume was made for: many nodes, writing, or
 * the other access type. */
gboolean modelled_capability_exceeds(const BackendVolume *volume, const CsiCapability *wanted);
gboolean modelled_any_capability_exceeds(const BackendVolume *volume, const CsiRequest *request);
/* Whether a volume may have @bytes, by the request's limit and the driver's. */
CallVerdict modelled_check_size(const CsiModelledDriver *driver, ModelledCall *call, int64_t bytes);
gboolean modelled_has_topology(const CsiModelledDriver *driver);
gboolean modelled_expands_offline_only(const CsiModelledDriver *driver);
int modelled_attach_limit(const CsiModelledDriver *driver, const BackendNode *node);
/* NodePublish of an inline volume of a pod: the mount makes it, and its end deletes it. */
gboolean modelled_is_ephemeral(const CsiRequest *request);
/* Adds an entry to the answer of a list. */
CsiEntry modelled_snapshot_entry(const CsiModelledDriver *driver, const Snapshot *snapshot);
void modelled_add_entry(ModelledCall *call, CsiEntry entry, CsiResponse *response);
