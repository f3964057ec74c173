/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Milestones of a recording from its writes. With bodies they are facts that become true; without
 * bodies the sender, the verb and the order of requests tell them (the last status before a
 * deletion was Ready, for instance). One object at a time has a name: an incarnation ends when it
 * is deleted or made anew. A fact that held in the first dump is no milestone. */
#include "recording.h"

#include <string.h>

#include "body-facts.h"
#include "links.h"
#include "models/api/field.h"
#include "models/api/workload.h"
#include "run/import/bodies/unseen.h"

/* One object at a time by its name: an incarnation ends when it is gone or made anew. */
typedef struct {
    RecordedObject *object;
    const char *uid;             /* NULL: not known */
    int64_t requested, capacity; /* of claims and volumes; -1: not known */
    unsigned before;             /* facts that hold already: no milestones */
    gboolean is_of_start;        /* the first dump has it */
    unsigned n_reports;          /* of pods: status writes of its kubelet since it was scheduled */
    SimTime reports[2];          /* ... the second, and the last one; of claims the last resize */
    gboolean is_settled;         /* without bodies: Ready, Expanded, ... do not move any more */
    SimTime asked_to_grow;       /* of claims: the last change from outside; TIME_UNSET: none */
} Live;

typedef struct {
    Recorded *recorded;
    const Writes *writes;
    const GPtrArray *dumps;
    const Dump *first;
    SimTime start;
    ImportReport *report;
    GHashTable *live;      /* "kind namespace/name" -> Live (owned) */
    GHashTable *sets;      /* "namespace/name" of ReplicaSets that a Deployment made */
    GHashTable *told;      /* node -> GArray of SimTime: statuses by the attach/detach controller */
    gboolean nodes_expand; /* kubelets have a part in expansions */
    GHashTable *places;    /* attachment -> node: as kubelets asked for them */
    GString *key;
} Recording;

/* ---- Objects ---- */

static const char *
recording_key_of(Recording *self, RecordedKind kind, const char *namespace, const char *name)
{
    g_string_printf(self->key, "%d %s/%s", (int)kind, namespace != NULL ? namespace : "", name);
    return self->key->str;
}

static Live *
find_live(Recording *self, RecordedKind kind, const char *namespace, const char *name)
{
    return g_hash_table_lookup(self->live, recording_key_of(self, kind, namespace, name));
}

/* "Deployment/web" for a ReplicaSet of it, else the controller itself. */
static const char *
top_controller(Recording *self, const char *namespace, const char *owner)
{
    const char *name = strchr(owner, '/') + 1, *dash = strrchr(name, '-');
    const json_t *set;

    if (!g_str_has_prefix(owner, "ReplicaSet/") || dash == NULL)
        return recorded_text(self->recorded, owner);
    g_autofree char *text = g_strdup_printf("%s/%s", namespace, name);
    gboolean is_of_deployment = g_hash_table_contains(self->sets, text);
    for (unsigned i = 0; !is_of_deployment && i < self->dumps->len; i++) {
        set = dump_find(self->dumps->pdata[i], "ReplicaSet", namespace, name);
        is_of_deployment =
            set != NULL && json_array_size(json_object_get(json_object_get(set, "metadata"),
                                                           "ownerReferences")) > 0;
    }
    g_autofree char *top = is_of_deployment
                               ? g_strdup_printf("Deployment/%.*s", (int)(dash - name), name)
                               : g_strdup(owner);
    return recorded_text(self->recorded, top);
}

static Live *
recording_begin(
    Recording *self, RecordedKind kind, const char *namespace, const char *name, const char *uid)
{
    Live *live = g_new0(Live, 1);

    live->object = recorded_add(self->recorded, kind, namespace, name);
    live->uid = uid;
    live->requested = live->capacity = -1;
    live->asked_to_grow = TIME_UNSET;
    g_hash_table_insert(self->live, g_strdup(recording_key_of(self, kind, namespace, name)), live);
    return live;
}

static void
recording_set_text(Recording *self, const char **member, const char *text)
{
    if (*member == NULL && text != NULL)
        *member = recorded_text(self->recorded, text);
}

/* Links from an object's state, of the answer's body or of a dump. */
static void
take_links(Recording *self, Live *live, const BodyFacts *body, const char **claims)
{
    RecordedObject *object = live->object;

    if (object->kind != RECORDED_CLAIM)
        recording_set_text(self, &object->node, body->node);
    if (object->kind != RECORDED_VOLUME)
        recording_set_text(self, &object->volume, body->volume);
    if (object->kind == RECORDED_VOLUME)
        recording_set_text(self, &object->claim, body->claim);
    if (object->kind == RECORDED_POD && body->owner != NULL && object->workload == NULL)
        object->workload = top_controller(self, object->namespace, body->owner);
    if (claims != NULL && object->claims == NULL)
        object->claims = recorded_texts(self->recorded, claims, g_strv_length((char **)claims));
    if (body->requested_bytes >= 0)
        live->requested = body->requested_bytes;
    if (body->capacity_bytes >= 0)
        live->capacity = body->capacity_bytes;
}

/* Whether a dump has this very object: by uid, or by the second of its creation. */
static gboolean
is_dumped(const Live *live, const json_t *dumped, SimTime created)
{
    const char *text = dump_meta(dumped, "creationTimestamp");
    SimTime time;

    if (live->uid != NULL)
        return g_strcmp0(dump_meta(dumped, "uid"), live->uid) == 0;
    if (created == TIME_UNSET || text == NULL || !api_time_parse(text, &time))
        return created == TIME_UNSET;
    return ABS(time - created) <= 2 * SIM_SECOND;
}

/* Facts that hold in the first dump are no milestones, so later reports are not read as firsts. */
static void
see_start(Live *live, unsigned facts)
{
    live->before = facts;
    live->is_of_start = TRUE;
    live->is_settled = live->object->kind == RECORDED_POD      ? (facts & FACT_READY) != 0
                       : live->object->kind == RECORDED_VOLUME ? (facts & FACT_BOUND) != 0
                                                               : (facts & FACT_ATTACHED) != 0;
}

/* @created: TIME_UNSET: before the log */
static void
take_dumped(Recording *self, Live *live, const Dump *dump, SimTime created)
{
    const RecordedObject *object = live->object;
    const char *kind_name = recorded_kind_name((RecordedKind)object->kind);
    json_t *dumped = dump_find(dump, kind_name, object->namespace, object->name);
    g_autofree const char **claims = NULL;
    BodyFacts body;

    if (dumped == NULL || !is_dumped(live, dumped, created))
        return;
    char *text = json_dumps(dumped, JSON_COMPACT);
    const JsonPart part = JSON_PART(text);
    body_facts_read(&body, write_kind_named(kind_name), part, self->writes->strings);
    if (object->kind == RECORDED_POD)
        claims = body_claims_of_pod(part, self->writes->strings);
    if (dump == self->first)
        see_start(live, body.facts);
    else /* a later size is no fact of now */
        body.requested_bytes = body.capacity_bytes = -1;
    if (live->uid == NULL && dump_meta(dumped, "uid") != NULL)
        live->uid = strings_intern(self->writes->strings, dump_meta(dumped, "uid"));
    take_links(self, live, &body, claims);
    free(text);
}

static void
take_dumps(Recording *self, Live *live, SimTime created)
{
    for (unsigned i = 0; i < self->dumps->len; i++)
        take_dumped(self, live, self->dumps->pdata[i], created);
}

/* The object that a write is about. A name stands for another object after a deletion. */
static Live *
live_of(Recording *self, const RecordedWrite *write)
{
    RecordedKind kind = (RecordedKind)write_kind_recorded(write->kind);
    gboolean creates = g_str_equal(write->verb, "create") && *write->subresource == '\0';
    Live *live = find_live(self, kind, write->namespace, write->name);

    if (live != NULL && !creates &&
        (write->uid == NULL || live->uid == NULL || g_str_equal(write->uid, live->uid))) {
        if (live->uid == NULL)
            live->uid = write->uid;
        return live;
    }
    live = recording_begin(self, kind, write->namespace, write->name, write->uid);
    take_dumps(self, live, creates ? write->at : TIME_UNSET);
    /* Made before the log, and in no dump of the start: nobody knows what held before. */
    if (!creates && live->before == 0 && write->has_body)
        live->before = write->body.facts;
    return live;
}

/* ---- Milestones ---- */

typedef struct {
    unsigned fact;
    RecordedTime time;
} FactTime;

static const FactTime pod_times[] = {
    {FACT_UNSCHEDULABLE, RECORDED_UNSCHEDULABLE},
    {FACT_RUNNING,       RECORDED_RUNNING      },
    {FACT_READY,         RECORDED_READY        },
    {FACT_STOPPED,       RECORDED_STOPPED      },
    {FACT_DELETED,       RECORDED_DELETED      },
    {FACT_GONE,          RECORDED_GONE         },
    {0,                  N_RECORDED_TIMES      },
};
static const FactTime claim_times[] = {
    {FACT_SELECTED,     RECORDED_SELECTED    },
    {FACT_ASKED,        RECORDED_ASKED       },
    {FACT_BOUND,        RECORDED_BOUND       },
    {FACT_LOST,         RECORDED_LOST        },
    {FACT_NODE_AWAITED, RECORDED_NODE_AWAITED},
    {FACT_DELETED,      RECORDED_DELETED     },
    {FACT_GONE,         RECORDED_GONE        },
    {0,                 N_RECORDED_TIMES     },
};
static const FactTime volume_times[] = {
    {FACT_BOUND,    RECORDED_BOUND   },
    {FACT_RELEASED, RECORDED_RELEASED},
    {FACT_DELETED,  RECORDED_DELETED },
    {FACT_GONE,     RECORDED_GONE    },
    {0,             N_RECORDED_TIMES },
};
static const FactTime attachment_times[] = {
    {FACT_ATTACHED, RECORDED_ATTACHED        },
    {FACT_DELETED,  RECORDED_DETACH_REQUESTED},
    {FACT_GONE,     RECORDED_DETACHED        },
    {0,             N_RECORDED_TIMES         },
};
static const FactTime *const times_of[N_RECORDED_KINDS] = {
    [RECORDED_POD] = pod_times,
    [RECORDED_CLAIM] = claim_times,
    [RECORDED_VOLUME] = volume_times,
    [RECORDED_ATTACHMENT] = attachment_times,
};

static void
recording_see(Recording *self, Live *live, RecordedTime time, SimTime at)
{
    for (const FactTime *row = times_of[live->object->kind]; row->fact != 0; row++)
        if (row->time == time && (live->before & row->fact) != 0)
            return;
    if (at >= self->start)
        recorded_see(live->object, time, at - self->start);
}

/* Moves a milestone: of several writes that may be it, the last one is. */
static void
move(Recording *self, Live *live, RecordedTime time, SimTime at)
{
    if (at >= self->start)
        live->object->at[time] = at - self->start;
}

static gboolean
is_seen(const Live *live, RecordedTime time)
{
    return live->object->at[time] != TIME_UNSET;
}

static void
see_facts(Recording *self, Live *live, const RecordedWrite *write)
{
    const BodyFacts *body = &write->body;
    int kind = live->object->kind;

    for (const FactTime *row = times_of[kind]; row->fact != 0; row++)
        if ((body->facts & row->fact & ~live->before) != 0)
            recording_see(self, live, row->time, write->at);
    live->before |= body->facts;
    if (kind == RECORDED_CLAIM && live->requested >= 0 && body->requested_bytes > live->requested)
        recording_see(self, live, RECORDED_EXPANSION_ASKED, write->at);
    if (kind == RECORDED_CLAIM && live->capacity >= 0 && body->capacity_bytes > live->capacity)
        recording_see(self, live, RECORDED_EXPANDED, write->at);
    if (kind == RECORDED_VOLUME && live->capacity >= 0 && body->capacity_bytes > live->capacity)
        recording_see(self, live, RECORDED_GROWN, write->at);
    take_links(self, live, body, write->claims);
}

/* ---- Without bodies ---- */

static gboolean
is_sender(const RecordedWrite *write, const char *name)
{
    return g_str_equal(write->sender->name, name);
}

static gboolean
is_on(const RecordedWrite *write, const char *verb, const char *subresource)
{
    return g_str_equal(write->verb, verb) && g_str_equal(write->subresource, subresource);
}

/* A Job's controller takes its finalizer from a pod that has ended: the report before tells the
 * end, and the second one of all that the pod was Ready. */
static void
see_job_pod(Recording *self, Live *live)
{
    live->is_settled = TRUE;
    if (is_seen(live, RECORDED_STOPPED) || live->n_reports < 2)
        return;
    move(self, live, RECORDED_STOPPED, live->reports[1]);
    if (live->n_reports > 2)
        move(self, live, RECORDED_READY, live->reports[0]);
    else
        live->object->at[RECORDED_READY] = TIME_UNSET;
}

/* The kubelet reports a pod as it begins (Pending), and again when its containers run: that it is
 * Ready then is the last report before the pod is deleted, or before somebody else changes its
 * status. */
static void
guess_pod(Recording *self, Live *live, const RecordedWrite *write)
{
    gboolean is_report = write->sender->node != NULL && is_on(write, "patch", "status");

    if (is_on(write, "delete", "") || is_on(write, "create", "eviction")) {
        live->is_settled = TRUE;
        gboolean is_on_node = is_seen(live, RECORDED_SCHEDULED) || live->object->node != NULL;
        gboolean is_stopped = is_seen(live, RECORDED_STOPPED) && !is_seen(live, RECORDED_DELETED);
        recording_see(self, live, RECORDED_DELETED, write->at);
        if (write->sender->node != NULL || is_sender(write, "pod-garbage-collector") ||
            !is_on_node || is_stopped || unseen_was_forced(self->writes, self->dumps, write))
            recording_see(self, live, RECORDED_GONE, write->at);
    } else if (is_sender(write, "kube-scheduler") && is_on(write, "patch", "status")) {
        recording_see(self, live, RECORDED_UNSCHEDULABLE, write->at);
    } else if (is_report && is_seen(live, RECORDED_DELETED)) {
        move(self, live, RECORDED_STOPPED, write->at);
    } else if (is_report) {
        recording_set_text(self, &live->object->node, write->sender->node);
        live->reports[live->n_reports != 1] = write->at;
        if (live->n_reports == 1)
            live->reports[1] = write->at;
        if (++live->n_reports > 1 && !live->is_settled) {
            recording_see(self, live, RECORDED_RUNNING, write->at);
            move(self, live, RECORDED_READY, write->at);
        }
    } else if (is_sender(write, "job-controller") && is_on(write, "patch", "")) {
        see_job_pod(self, live);
    } else if (*write->subresource != '\0') {
        live->is_settled |= is_seen(live, RECORDED_READY);
    }
}

static void
guess_claim(Recording *self, Live *live, const RecordedWrite *write)
{
    gboolean resizes = is_sender(write, "external-resizer") || write->sender->node != NULL;

    if (is_on(write, "delete", "")) {
        recording_see(self, live, RECORDED_DELETED, write->at);
    } else if (is_sender(write, "pvc-protection-controller") ||
               is_sender(write, "snapshot-controller")) { /* each has a finalizer */
        if (is_seen(live, RECORDED_DELETED) && *write->subresource == '\0')
            move(self, live, RECORDED_GONE, write->at);
    } else if (is_sender(write, "kube-scheduler")) {
        recording_see(self, live, RECORDED_SELECTED, write->at);
    } else if (is_sender(write, "persistent-volume-binder") && is_on(write, "update", "status")) {
        g_autofree char *volume = g_strconcat("pvc-", write->uid, NULL);
        if (!is_seen(live, RECORDED_BOUND) && g_strcmp0(live->object->volume, volume) != 0 &&
            find_live(self, RECORDED_VOLUME, NULL, volume) ==
                NULL) /* bound to one that was there */
            live->object->at[RECORDED_ASKED] = TIME_UNSET;
        recording_see(self, live, RECORDED_BOUND, write->at);
    } else if (is_sender(write, "persistent-volume-binder")) {
        g_autofree char *volume = g_strconcat("pvc-", write->uid, NULL);
        if (find_live(self, RECORDED_VOLUME, NULL, volume) == NULL)
            recording_see(self, live, RECORDED_ASKED, write->at); /* else it binds the two */
        else
            recording_set_text(self, &live->object->volume, volume);
    } else if (resizes && is_on(write, "patch", "status")) {
        if (live->asked_to_grow != TIME_UNSET)
            recording_see(self, live, RECORDED_EXPANSION_ASKED, live->asked_to_grow);
        if (write->sender->node != NULL) /* the resizer's last word was that it waits for it */
            recording_see(self, live, RECORDED_NODE_AWAITED, live->reports[1]);
        live->reports[1] = write->at;
        if (write->sender->node != NULL || !self->nodes_expand)
            move(self, live, RECORDED_EXPANDED, write->at);
    } else if (write->sender->side == SENDER_OUTSIDE) {
        live->asked_to_grow = write->at;
    }
}

static void
guess_volume(Recording *self, Live *live, const RecordedWrite *write)
{
    gboolean is_status = g_str_equal(write->subresource, "status");

    if (is_on(write, "delete", ""))
        recording_see(self, live, RECORDED_DELETED, write->at);
    else if (is_sender(write, "external-resizer"))
        recording_see(self, live, RECORDED_GROWN, write->at);
    else if (is_sender(write, "persistent-volume-binder") && is_status)
        recording_see(self, live, live->is_settled ? RECORDED_RELEASED : RECORDED_BOUND, write->at);
    else if (is_seen(live, RECORDED_DELETED))
        move(self, live, RECORDED_GONE, write->at);
    live->is_settled |= is_status;
}

/* The attach/detach controller looks at an attachment every 500 ms to 1 s, and then writes the
 * volume into the status of its node (ADC-60, ADC-61): the first status of the attachment with that
 * behind it is no error, and a later one is a repetition. */
#define TOLD_WITHIN (3 * SIM_SECOND)

static gboolean
recording_is_told(Recording *self, const Live *live)
{
    SimTime attached = live->object->at[RECORDED_ATTACHED];
    const char *node = live->object->node;
    const GArray *told = node != NULL ? g_hash_table_lookup(self->told, node) : NULL;

    if (attached == TIME_UNSET || told == NULL)
        return FALSE;
    for (unsigned i = told->len; i-- > 0;) {
        SimTime at = g_array_index(told, SimTime, i) - self->start;
        if (at <= attached)
            return FALSE;
        if (at <= attached + TOLD_WITHIN)
            return TRUE;
    }
    return FALSE;
}

static void
recording_see_node(Recording *self, const RecordedWrite *write)
{
    GArray *told;

    if (!is_sender(write, "attachdetach-controller") || !is_on(write, "patch", "status") ||
        write->name == NULL)
        return;
    told = g_hash_table_lookup(self->told, write->name);
    if (told == NULL) {
        told = g_array_new(FALSE, FALSE, sizeof(SimTime));
        g_hash_table_insert(self->told, (char *)write->name, told);
    }
    g_array_append_val(told, write->at);
}

static void
guess_attachment(Recording *self, Live *live, const RecordedWrite *write)
{
    if (is_on(write, "get", "")) {
        recording_set_text(self, &live->object->node, write->sender->node);
        live->is_settled |= is_seen(live, RECORDED_ATTACHED); /* it mounts now */
    } else if (is_on(write, "delete", ""))
        recording_see(self, live, RECORDED_DETACH_REQUESTED, write->at);
    else if (!is_sender(write, "external-attacher"))
        return;
    else if (is_seen(live, RECORDED_DETACH_REQUESTED) && *write->subresource == '\0')
        move(self, live, RECORDED_DETACHED, write->at);
    else if (!is_seen(live, RECORDED_DETACH_REQUESTED) && *write->subresource != '\0' &&
             !live->is_settled && !recording_is_told(self, live))
        move(self, live, RECORDED_ATTACHED, write->at);
}

static void (*const guesses[N_RECORDED_KINDS])(Recording *self,
                                               Live *live,
                                               const RecordedWrite *write) = {
    [RECORDED_POD] = guess_pod,
    [RECORDED_CLAIM] = guess_claim,
    [RECORDED_VOLUME] = guess_volume,
    [RECORDED_ATTACHMENT] = guess_attachment,
};

/* ---- All writes ---- */

static const RecordedTime created_time[N_RECORDED_KINDS] = {
    [RECORDED_POD] = RECORDED_CREATED,
    [RECORDED_CLAIM] = RECORDED_CREATED,
    [RECORDED_VOLUME] = RECORDED_CREATED,
    [RECORDED_ATTACHMENT] = RECORDED_ATTACH_REQUESTED,
};

/* The controller that made a pod, by the pod's name: "ReplicaSet/web-5f85df69d4". (owned) */
static char *
guess_owner(const RecordedWrite *write)
{
    const char *dash = strrchr(write->name, '-');
    ObjectKind maker;

    if (dash == NULL || !workload_kind_of_controller(write->sender->name, &maker))
        return NULL;
    return g_strdup_printf("%s/%.*s", kind_class(maker)->kind, (int)(dash - write->name),
                           write->name);
}

static void
recording_see_write(Recording *self, const RecordedWrite *write)
{
    int kind = write_kind_recorded(write->kind);
    gboolean creates = is_on(write, "create", "");

    if (write->kind->model == KIND_NODE)
        recording_see_node(self, write);
    if (kind < 0) {
        if (creates && write->kind->model == KIND_REPLICA_SET && write->name != NULL &&
            is_sender(write, "deployment-controller"))
            g_hash_table_add(self->sets, g_strdup_printf("%s/%s", write->namespace, write->name));
        return;
    }
    if (write->code >= 400 || write->name == NULL || g_str_equal(write->verb, "deletecollection"))
        return;
    Live *live = live_of(self, write);
    if (creates && !live->is_of_start)
        recording_see(self, live, created_time[kind], write->at);
    if (creates && kind == RECORDED_ATTACHMENT)
        recording_set_text(self, &live->object->node,
                           g_hash_table_lookup(self->places, write->name));
    if (creates && kind == RECORDED_POD && !write->has_body && live->object->workload == NULL) {
        g_autofree char *owner = guess_owner(write);
        if (owner != NULL)
            live->object->workload = top_controller(self, live->object->namespace, owner);
    }
    if (is_on(write, "create", "binding")) {
        recording_set_text(self, &live->object->node, write->body.node);
        recording_see(self, live, RECORDED_SCHEDULED, write->at);
    } else if (is_on(write, "create", "eviction")) {
        if (is_seen(live, RECORDED_STOPPED) && !is_seen(live, RECORDED_DELETED))
            recording_see(self, live, RECORDED_GONE, write->at);
        recording_see(self, live, RECORDED_DELETED, write->at);
    }
    if (write->has_body)
        see_facts(self, live, write);
    else
        guesses[kind](self, live, write);
}

void
recording_make(Recorded *recorded,
               const Writes *writes,
               const GPtrArray *dumps,
               SimTime start,
               ImportReport *report)
{
    Recording self = {
        .recorded = recorded,
        .writes = writes,
        .dumps = dumps,
        .first = dumps->len > 0 ? dumps->pdata[0] : NULL,
        .start = start,
        .report = report,
        .live = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .sets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .told = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref),
        .places = g_hash_table_new(g_str_hash, g_str_equal),
        .key = g_string_new(NULL),
    };

    for (unsigned i = 0; i < writes->writes->len; i++) {
        const RecordedWrite *write = writes->writes->pdata[i];
        if (write_kind_recorded(write->kind) == RECORDED_ATTACHMENT &&
            write->sender->node != NULL && write->name != NULL)
            g_hash_table_insert(self.places, (char *)write->name, (char *)write->sender->node);
        self.nodes_expand |= write_kind_recorded(write->kind) == RECORDED_CLAIM &&
                             write->sender->node != NULL && is_on(write, "patch", "status");
    }
    for (unsigned i = 0; i < writes->writes->len; i++)
        recording_see_write(&self, writes->writes->pdata[i]);
    recording_link(recorded, writes, dumps);
    g_hash_table_unref(self.live);
    g_hash_table_unref(self.sets);
    g_hash_table_unref(self.told);
    g_hash_table_unref(self.places);
    g_string_free(self.key, TRUE);
}
