/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "modelled-driver.h"
#include "sim/pointer-map.h"
#include "sim/station.h"
#include "sim/token-bucket.h"

/* Shared by modelled-driver.c (calls and time), modelled-state.c (what the back end remembers) and
 * modelled-methods.c with modelled-volumes.c, -attachments.c, -lists.c, -snapshots.c and -node.c
 * (what each method may and does). */

/* What a call is about, and whose draws it takes. */
typedef struct {
    uint64_t hash;
    uint32_t n_calls[CSI_N_METHODS];
} Subject;

typedef struct Limits Limits; /* those in force at a time; modelled-driver.c */

typedef struct {
    Subject subject;
    const char *name, *id;
    StringMap *segments;
    int attach_limit; /* 0: the driver's */
    unsigned n_published;
    gboolean exists;
} Node;

typedef struct Target Target;
struct Target {
    Target *next;
    const char *path;
    gboolean readonly;
    CsiCapability capability;
};

/* A volume as seen from one node: attached, staged, mounted. Mostly it is on one, and mounted there
 * once: hence lists. */
typedef struct VolumeNode VolumeNode;
struct VolumeNode {
    VolumeNode *next;
    Node *node;
    gboolean is_published, readonly;
    CsiCapability published;
    const char *staging_path; /* NULL: not staged */
    CsiCapability staged;
    Target *targets;                     /* (owned): as they came */
    gboolean controller_busy, node_busy; /* a call is in flight */
    unsigned n_calls;                    /* in flight about it: it stays until they end */
};

/* A volume, or the memory of one that was only asked for, or is deleted: records are kept, so that
 * repeats find them. */
typedef struct {
    Subject subject;
    const char *name, *id;
    gboolean exists, was_known;
    gboolean busy; /* a controller call is in flight */
    gboolean is_formatted, is_ephemeral, is_abnormal;
    const char *condition_message;
    int64_t capacity_bytes, filesystem_bytes;
    SimTime created_at;
    uint64_t sequence;     /* order of creation */
    uint32_t modes, types; /* masks of what it was made for; 0: anything */
    StringMap *parameters, *mutable_parameters;
    CsiSourceKind source_kind;
    const char *source_id;
    StringMap **topologies; /* NULL: everywhere */
    unsigned n_topologies;
    VolumeNode *nodes; /* (owned): as they came */
    unsigned n_published, n_snapshots, n_creations;
    GList link; /* in the driver's list of volumes */
} Volume;

typedef struct {
    Subject subject;
    const char *name, *id;
    gboolean exists, busy;
    unsigned n_users; /* volumes being made of it */
    Volume *source;
    const char *source_id;
    int64_t size_bytes;
    SimTime created_at, ready_at;
    uint64_t sequence;
    unsigned n_creations;
    StringMap **room; /* where it takes room */
    unsigned n_room;
    GList link;
} Snapshot;

typedef struct {
    StringMap *segments;
    int64_t bytes, used_bytes;
} Pool;

typedef struct {
    CsiModelledError error;
    unsigned n_times;
    GHashTable *n_times_of; /* Subject -> times, with per_volume; NULL until used */
} ErrorState;

typedef struct DriverTrouble DriverTrouble; /* modelled-faults.c */
typedef struct Sharing Sharing;             /* modelled-slowdown.c */

struct CsiModelledDriver {
    CsiDriver base;
    CsiModelledOptions options; /* without its arrays, which follow */
    Limits *limits;
    ErrorState *errors;
    unsigned n_errors;
    Pool *pools;
    unsigned n_pools;
    Subject subject; /* of calls about nothing in particular */
    SimStream latency_streams[CSI_N_LATENCIES], error_streams[CSI_N_METHODS], id_stream;
    PointerMap nodes_by_name, nodes_by_id; /* interned -> Node; the first owns */
    /* interned -> Volume, owned by @all_volumes; one table if ids are names */
    PointerMap volumes_by_id, volumes_with_name;
    PointerMap *volumes_by_name; /* either of them */
    GHashTable *snapshots_by_id, *snapshots_by_name;
    GPtrArray *all_volumes, *all_snapshots; /* records, also of what is no more */
    GQueue volumes, snapshots;              /* that exist, in order of creation */
    uint64_t last_sequence;
    int64_t used_bytes;
    gboolean closing;
    gboolean keeps_volumes; /* DeleteVolume does nothing */
    DriverTrouble *trouble; /* (owned): NULL: there was none yet */
    Sharing *sharing;       /* (owned): NULL: calls leave each other alone */
};

typedef enum {
    VERDICT_GO,
    VERDICT_REPEAT, /* all done already: answer as the first time */
    VERDICT_REFUSE,
} Verdict;

typedef struct {
    CsiCall base;
    Volume *volume;     /* NULL: the method is about none */
    Snapshot *snapshot; /* what it is about, or the source of CreateVolume */
    Node *node;         /* on which, or to which */
    VolumeNode *volume_node;
    Volume *source_volume; /* of a clone */
    Subject *subject;
    uint64_t entity;
    uint32_t n; /* how often this method was called for this subject before */
    gboolean *lock;
    gboolean uses_snapshot;
    gboolean fails; /* an error is injected */
    CsiCode error_code;
    const char *error_message;
    gboolean error_after_effect;
    SimTime latency;
    gboolean is_sharing; /* being served beside others, with a Sharing only: */
    CsiSlowdown slowdown;
    double work_left; /* ns it would still take alone */
    SimCauseId served_cause;
    CsiCode refusal_code;
    const char *refusal;
    SimEventId event;   /* token, or service */
    Limits *limits;     /* that were in force as it came */
    unsigned limit;     /* that it passes now */
    gboolean has_token; /* of that limit */
    SimStation *queue;  /* waits in it */
    uint32_t held;      /* mask of limits whose server it has */
    GArray *entries;    /* of CsiEntry */
} ModelledCall;

/* ---- modelled-faults.c: of a driver in trouble ---- */

/* A call comes. Returns: whether it has been taken care of */
gboolean modelled_trouble_on_arrival(CsiModelledDriver *self, ModelledCall *call);
/* The back end would be done with it. Returns: whether it has to wait */
gboolean modelled_trouble_at_end(CsiModelledDriver *self, ModelledCall *call);
/* It ends, for whatever reason. */
void modelled_trouble_forget(CsiModelledDriver *self, const ModelledCall *call);
double modelled_trouble_slowness(const CsiModelledDriver *self);
void modelled_trouble_free(DriverTrouble *self);

/* ---- modelled-slowdown.c: calls that are served at once ---- */

/* (owned) NULL: no method is slowed down */
Sharing *modelled_sharing_new(const CsiModelledOptions *options);
void modelled_sharing_free(Sharing *self);
/* The call, of some latency, is served from now on. */
void modelled_share(CsiModelledDriver *self, ModelledCall *call);
void modelled_share_no_more(CsiModelledDriver *self, ModelledCall *call); /* again is fine */

/* ---- modelled-driver.c, for the same ---- */

/* The back end will be done then. */
void modelled_schedule_end(ModelledCall *call, SimTime at);

void modelled_begin(ModelledCall *call); /* it is served from now on */
void modelled_end(Sim *sim, void *call); /* the back end is done */
/* Its caller is answered with this after @delay, and nothing is done. */
void modelled_fail(ModelledCall *call, CsiCode code, const char *message, SimTime delay);
void modelled_fail_now(ModelledCall *call, CsiCode code, const char *message);

/* What a request must have. */
typedef enum {
    NEEDS_NAME = 1 << 0,
    NEEDS_VOLUME = 1 << 1,
    NEEDS_NODE = 1 << 2,
    NEEDS_CAPABILITY = 1 << 3,
    NEEDS_STAGING_PATH = 1 << 4,
    NEEDS_TARGET_PATH = 1 << 5,
    NEEDS_RANGE = 1 << 6,
    NEEDS_SNAPSHOT = 1 << 7,
    TAKES_SECRETS = 1 << 8,
    REACHES_BACK_END = 1 << 9, /* limits without a list of methods hold */
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
} MethodSubject;

/* What a method of CSI needs, may refuse, does and answers: CSI-13 to CSI-37, CSI-46. A check
 * changes nothing but the call's refusal; it is asked as the call arrives and again as the back end
 * is done. */
typedef struct {
    uint32_t flags;
    MethodSubject subject;
    gboolean locks; /* one at a time about its subject */
    /* of its service, without which it is UNIMPLEMENTED; 0: always there */
    uint32_t capability;
    /* pure but for call->refusal; NULL: go */
    Verdict (*check)(const CsiModelledDriver *driver, ModelledCall *call);
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

const MethodClass *modelled_method(CsiMethod method);
/* The answer of NodeGetInfo; @response is empty. */
void modelled_node_info(const CsiModelledDriver *driver, const Node *node, CsiResponse *response);
/* Sets the refusal. Returns: VERDICT_REFUSE */
Verdict modelled_refuse(ModelledCall *call, CsiCode code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* The request's form, before anything is looked up. */
Verdict modelled_check_request(const CsiModelledDriver *driver, ModelledCall *call);

static inline gboolean
is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

/* What several methods ask. */
gboolean modelled_volume_is_there(const ModelledCall *call);
Verdict modelled_refuse_unknown_volume(ModelledCall *call); /* VERDICT_REFUSE */
Verdict modelled_check_volume_exists(const CsiModelledDriver *driver, ModelledCall *call);
/* Whether somebody wants more of the volume than it was made for: many nodes, writing, or the other
 * access type. */
gboolean modelled_capability_exceeds(const Volume *volume, const CsiCapability *wanted);
gboolean modelled_any_capability_exceeds(const Volume *volume, const CsiRequest *request);
/* Whether a volume may have @bytes, by the request's limit and the driver's. */
Verdict modelled_check_size(const CsiModelledDriver *driver, ModelledCall *call, int64_t bytes);
gboolean modelled_has_topology(const CsiModelledDriver *driver);
gboolean modelled_expands_offline_only(const CsiModelledDriver *driver);
int modelled_attach_limit(const CsiModelledDriver *driver, const Node *node);
/* One more entry of a list's answer. */
CsiEntry modelled_snapshot_entry(const CsiModelledDriver *driver, const Snapshot *snapshot);
void modelled_add_entry(ModelledCall *call, CsiEntry entry, CsiResponse *response);

Node *modelled_node_by_id(const CsiModelledDriver *self, const char *id);
Node *modelled_node_by_name(const CsiModelledDriver *self, const char *name);
/* The record, made if there is none. */
Volume *modelled_volume_by_name(CsiModelledDriver *self, const char *name);
Volume *modelled_volume_by_id(CsiModelledDriver *self, const char *id);
Snapshot *modelled_snapshot_by_name(CsiModelledDriver *self, const char *name);
Snapshot *modelled_snapshot_by_id(CsiModelledDriver *self, const char *id);
Snapshot *modelled_find_snapshot(const CsiModelledDriver *self, const char *id);
Volume *modelled_find_volume(const CsiModelledDriver *self, const char *id);
/* Whether the id still names the volume of this record. */
gboolean modelled_volume_is(const Volume *volume, const char *id);

VolumeNode *modelled_volume_node(Volume *volume, Node *node); /* made if there is none */
VolumeNode *modelled_find_volume_node(const Volume *volume, const Node *node); /* NULL: none */
void modelled_drop_idle_node(Volume *volume, VolumeNode *on); /* if nothing is known any more */

/* Room for @bytes more in this place: INT64_MAX without a pool. */
int64_t modelled_room(const CsiModelledDriver *self, const StringMap *topology);
int64_t modelled_room_anywhere(const CsiModelledDriver *self);
void modelled_take_room(CsiModelledDriver *self,
                        StringMap *const *topologies,
                        unsigned n_topologies,
                        int64_t bytes);

/* The volume is there from now on; the caller has set what it is like. */
void modelled_volume_begin(CsiModelledDriver *self, Volume *volume, const char *id);
void modelled_volume_end(CsiModelledDriver *self, Volume *volume);
void modelled_snapshot_begin(CsiModelledDriver *self, Snapshot *snapshot);
void modelled_snapshot_end(CsiModelledDriver *self, Snapshot *snapshot);
void modelled_publish(Volume *volume,
                      VolumeNode *on,
                      const CsiCapability *capability,
                      gboolean readonly);
void modelled_unpublish(Volume *volume, VolumeNode *on);
/* with references */
void modelled_capability_set(CsiCapability *place, const CsiCapability *capability);
void modelled_target_add(VolumeNode *on, const CsiRequest *request);
void modelled_target_remove(VolumeNode *on, Target *target);
void modelled_targets_clear(VolumeNode *on);
StringList *modelled_published_ids(const Volume *volume);

void modelled_state_init(CsiModelledDriver *self);
void modelled_state_clear(CsiModelledDriver *self);
