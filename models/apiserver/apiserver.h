/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "models/api/release.h"
#include "models/timing/timing.h"
#include "models/timing/waits.h"
#include "sim/sim.h"

/* The API server: the one store of objects, its rules (docs/rules/api-server.md), its watches */
typedef struct ApiServer ApiServer;

typedef enum {
    API_GET,
    API_LIST, /* of a kind: costs a request; the caller reads the store */
    API_CREATE,
    API_UPDATE, /* PUT: the object's resource version must be the stored one, unless 0 (API-11,
                   API-12) */
    API_UPDATE_STATUS, /* PUT .../status */
    API_PATCH,         /* an edit of the stored version (API-13) */
    API_PATCH_STATUS,
    API_DELETE,
    API_BIND,  /* POST pods/binding (API-22) */
    API_EVICT, /* POST pods/eviction (WL-113) */
    N_API_VERBS,
} ApiVerb;

typedef enum {
    API_OK = 200,
    API_FORBIDDEN = 403,
    API_NOT_FOUND = 404,
    API_CONFLICT = 409,
    API_EXISTS = 1409, /* 409 AlreadyExists: another reason, the same code */
    API_INVALID = 422,
    API_ERROR = 500,
    API_TOO_MANY = 429, /* with Retry-After: the client tries again by itself (CGO-42) */
    /* no answer: the connection was refused or broke; the request may have been carried out */
    API_UNREACHABLE = 503,
    API_TIMEOUT = 504,
} ApiCode;

/* Changes @object, a copy that nobody else holds. Returns: whether it changed something */
typedef gboolean (*ObjectEdit)(Object *object, const void *arg);

/* Priority levels, each with its share of the server (API-90). */
typedef enum {
    API_LEVEL_GLOBAL_DEFAULT, /* users */
    API_LEVEL_SYSTEM,         /* kubelets */
    API_LEVEL_NODE_HIGH,      /* their heartbeats */
    API_LEVEL_LEADER_ELECTION,
    API_LEVEL_WORKLOAD_HIGH, /* the control plane */
    API_LEVEL_WORKLOAD_LOW,  /* sidecars */
    API_N_LEVELS,
} ApiLevel;

/* What becomes of the objects that a deleted one owns: propagationPolicy. */
typedef enum {
    API_BACKGROUND, /* they go later, unless the object has one of the finalizers below */
    API_FOREGROUND, /* they go first */
    API_ORPHAN,     /* they stay */
} ApiPropagation;

/* The finalizers of objects whose dependents go first, or stay (API-55). */
#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN "orphan"

typedef struct {
    ApiVerb verb;
    ObjectKey *key;
    const Object *object;      /* CREATE, UPDATE*: the whole new object; borrowed until the reply */
    ObjectEdit edit;           /* PATCH* */
    const void *arg;           /* of the edit; borrowed until the reply */
    ObjectUid uid;             /* DELETE, PATCH*, BIND: precondition; unset: none */
    uint64_t resource_version; /* PATCH*, DELETE: precondition; 0: none */
    int32_t grace_s;           /* DELETE, EVICT: gracePeriodSeconds; -1: the object's own */
    const char *node_name;     /* BIND */
    ApiPropagation propagation; /* DELETE */
    ApiLevel level;             /* the share that it takes of a server that is short of seats */
    const char *client;         /* its name, "persistent-volume-binder"; static or interned */
    uint64_t client_hash;       /* of the name, for draws */
} ApiRequest;

typedef struct {
    ApiCode code;
    /* the stored version after the write or read; borrowed for the reply; NULL on error */
    const Object *object;
    const char *message; /* Kubernetes' words on error; borrowed for the reply */
} ApiResponse;

typedef void (*ApiReply)(void *data, const ApiResponse *response);

typedef struct {
    Sim *sim; /* all borrowed */
    Objects *objects;
    const Timing *timing;
    /* requests of claims never shrink: RecoverVolumeExpansionFailure is off (API-132) */
    gboolean keeps_requests;
    gboolean refuses_defaults; /* several default classes are an error: before 1.26 (API-121) */
    /* Its gates drop fields of claims (API-180). Only read by api_server_new(); NULL: the default
     * release */
    const Release *release;
} ApiServerOptions;

ApiServer *api_server_new(const ApiServerOptions *options);
void api_server_free(ApiServer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ApiServer, api_server_free)

/**
 * api_server_request:
 * @drop: called instead of @reply if the run ends before; may be NULL
 * A request arrives now. It is committed and answered in virtual time; @reply always comes, once.
 * The client throttles, not the server: see models/client/api-client.h.
 */
void api_server_request(
    ApiServer *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data);

/**
 * api_server_commit:
 * Carries @request out at this instant, without latency: for the initial state, and for tests.
 * @response: (out): its object is borrowed until the next write; its message is interned
 */
void api_server_commit(ApiServer *self, const ApiRequest *request, ApiResponse *response);
/**
 * api_server_try:
 * Carries @request out at this instant without storing anything (dryRun): nobody is told, and no
 * trace stays. The key of a new object may be aside: objects_new_aside().
 * @response: (out): its object is owned; its message is interned
 */
void api_server_try(ApiServer *self, const ApiRequest *request, ApiResponse *response);
/* From now on a new pod may name only accounts that are stored (API-196), and this one (nullable).
 */
void api_server_check_accounts(ApiServer *self, const char *namespace, const char *name);
/* Returns: (nullable) (borrowed): the ServiceAccount of a pod */
const Object *api_server_account(const ApiServer *self, const Pod *pod);
/* Stores an imported object as it is, with uid, version and status, and without admission. Takes
 * @object. */
void api_server_import(ApiServer *self, Object *object);
/* Stores an object of the cluster's beginning that no model reads, without admission, and without a
 * new resource version unless it has a later one. Takes @object. */
void api_server_place(ApiServer *self, Object *object);
/* Makes a namespace that exists from the cluster's beginning, with the objects that controllers
 * make in each namespace, unless it exists. (A namespace that is created later brings its own.) */
void api_server_add_namespace(ApiServer *self, const char *name);
/* For observers: whether the write that they see is the import of an object with a uid, which is
 * older than the run. */
gboolean api_server_is_importing(const ApiServer *self);

/* For observers: the request whose write they see; %NULL: an import, or a write of the server's own
 */
const ApiRequest *api_server_committing(const ApiServer *self);

/* Returns: (nullable) (borrowed): the stored version: for tests, results, and answers to GET and
 * LIST in a plan */
const Object *api_server_get(const ApiServer *self, const ObjectKey *key);
/* Live objects of a kind are found by walking slots 0 .. objects_n_keys() - 1. */
unsigned api_server_count(const ApiServer *self, ObjectKind kind);
uint64_t api_server_resource_version(const ApiServer *self);
Objects *
api_server_objects(const ApiServer *self); /* (borrowed): the strings and keys of the run */

typedef enum {
    WATCH_ADDED,
    WATCH_MODIFIED,
    WATCH_DELETED, /* with the last state */
    WATCH_RELIST,  /* events were lost; @object is NULL: list the store (API-71) */
} WatchType;

/* A watch of one kind by one process: all versions, in order, each after its own delay
 * (API-70..72). */
typedef struct ApiWatch ApiWatch;
typedef void (*ApiWatchEvent)(void *data, WatchType type, const Object *object);
/**
 * api_server_watch:
 * @filter: NULL: all; of pods: only those with this spec.nodeName; of other kinds: only that name.
 * Interned
 * @entity: of the watcher, for draws; watches of the same entity share a connection (TIM-9)
 * Events come for writes from now on; read the present state with api_server_get().
 * Returns: (owned): end it with api_watch_free(); events under way are dropped then
 */
ApiWatch *api_server_watch(ApiServer *self,
                           ObjectKind kind,
                           const char *filter,
                           uint64_t entity,
                           ApiWatchEvent event,
                           void *data);
void api_watch_free(ApiWatch *self);

/* Sees every committed write at its instant, before any watch: milestones, invariants; several are
 * called in the order added. @before: NULL for a new object;
 * @after: NULL when it is gone. sim_cause() is the cause of the write. */
typedef void (*ApiObserver)(void *data, const Object *before, const Object *after);
void api_server_observe(ApiServer *self, ApiObserver observer, void *data);
/* Sees every answered request, also refused ones; several are called in the order added. Writes of
 * Events aside. */
typedef void (*ApiRequestObserver)(void *data,
                                   const ApiRequest *request,
                                   ApiCode code,
                                   SimTime arrived_at);
void api_server_observe_requests(ApiServer *self, ApiRequestObserver observer, void *data);

/* For faults and tests: called before a client's request is carried out; not for Events. Returns:
 * API_OK, or the code of a refusal with words in @message */
typedef ApiCode (*ApiFault)(void *data, const ApiRequest *request, GString *message);

/* ---- Trouble (trouble.c). It costs nothing until the first time. ---- */

/* Down: requests are refused, requests under way are lost before or after their commit, and watches
 * break. Up again: clients reconnect after their back-off (API-75) and list, because a restarted
 * server has no history. */
void api_server_set_down(ApiServer *self, gboolean is_down);
gboolean api_server_is_down(const ApiServer *self);
/* Every request takes @factor times as long, at most a minute (API-93). 1: the usual time. */
void api_server_set_slowness(ApiServer *self, double factor);
/* Priority and fairness (API-90 to API-92) with @seats for all levels together; 0: no limit. */
void api_server_set_seats(ApiServer *self, unsigned seats);

/* The watches of @entity (0: all) break: events are not delivered any more. Broken watches stay
 * broken. */
void api_server_break_watches(ApiServer *self, uint64_t entity);
typedef enum {
    WATCHES_GO_ON,     /* at once: the connections never broke */
    WATCHES_RECONNECT, /* after the client's back-off; a list if too much was missed (API-73) */
    WATCHES_RELIST,    /* the same, with a list in any case */
} WatchRepair;
void api_server_repair_watches(ApiServer *self, uint64_t entity, WatchRepair how);

/* An Event as it stands in the API (API-170, API-171). */
typedef struct {
    const ObjectKey *involved;
    ObjectUid involved_uid;
    uint64_t involved_version; /* of events.k8s.io; otherwise 0 */
    const char *type;          /* "Normal", "Warning" */
    const char *reason;
    const char *message;       /* interned */
    const char *source;        /* component */
    SimTime first_at, last_at; /* as recorded, not as written */
    SimTime written_at;        /* when the first write was committed */
    uint32_t count;
} ApiEvent;

#define API_NEW_EVENT UINT32_MAX
#define API_EVENT_REFUSED (UINT32_MAX - 1)

/* The write of an Event: a POST, or a PATCH of its count. */
typedef struct {
    ApiEvent event;     /* written_at is filled in */
    uint32_t index;     /* of the Event in the API server; API_NEW_EVENT: a new one */
    const char *client; /* the writer's name, as in ApiRequest */
    uint64_t client_hash;
    SimTime arrives_at; /* now or later */
    /* The Event is written; the writer has the answer at @responds_at. With API_NEW_EVENT as @index
     * the server did not answer; with API_EVENT_REFUSED it refused. */
    void (*written)(void *data, unsigned index, SimTime responds_at);
    GDestroyNotify drop; /* called instead of written() if the run ends before */
    void *data;
} ApiEventWrite;

/* Sees every write of an Event as it is committed, and when it is answered; several are called in
 * the order added. */
typedef void (*ApiEventObserver)(void *data, const ApiEventWrite *write, SimTime responds_at);
void api_server_observe_events(ApiServer *self, ApiEventObserver observer, void *data);

/* Returns: the arrival, which sim_cancel() can take back until then */
SimEventId api_server_write_event(ApiServer *self, const ApiEventWrite *write);
unsigned api_server_n_events(const ApiServer *self);
/* By the order of first writes. Returns: (borrowed): valid until the next write of an Event */
const ApiEvent *api_server_event(const ApiServer *self, unsigned index);
