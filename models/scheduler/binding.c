/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes and claims as the scheduler assumes them between its choice and the news of its own
 * writes. An assumed object replaces the informer's until a newer resourceVersion is seen.
 *
 * Two rule tables decide at each poll of PreBind whether a chosen volume is bound, to be waited
 * for, or lost. Each takes facts of the claim, the volume and the node; claims whose volume is
 * still to be made have a table of their own, because the news of volume and claim have no order.
 */
#include "binding.h"
#include "models/scheduler/scheduler-test.h"
#include "sim/slots.h"

#include <inttypes.h>

struct AssumeCache {
    Informer *informer;
    const char *kind;
    SimSlots assumed; /* of Object (owned), by slot; NULL: what the informer has */
};

static void
object_clear(void *object)
{
    object_unref(object);
}

AssumeCache *
assume_cache_new(Informer *informer, const char *kind)
{
    AssumeCache *self = g_new0(AssumeCache, 1);

    self->informer = informer;
    self->kind = kind;
    self->assumed.element_size = sizeof(const Object *);
    return self;
}

void
assume_cache_free(AssumeCache *self)
{
    if (self == NULL)
        return;
    SIM_SLOTS_EACH(&self->assumed, i)
        object_clear(sim_slots_pointer(&self->assumed, i));
    sim_slots_clear(&self->assumed);
    g_free(self);
}

static const Object *
assumed_of(const AssumeCache *self, const ObjectKey *key)
{
    return sim_slots_pointer(&self->assumed, key->slot);
}

void
assume_cache_restore(AssumeCache *self, const ObjectKey *key)
{
    const Object *assumed = assumed_of(self, key);

    if (assumed == NULL)
        return;
    *(const Object **)sim_slots_find(&self->assumed, key->slot) = NULL;
    object_unref(assumed);
}

void
assume_cache_observe(AssumeCache *self, const Object *before, const Object *after)
{
    const ObjectKey *key = after == NULL ? before->key : after->key;
    const Object *assumed = assumed_of(self, key);

    if (assumed != NULL && (after == NULL || after->resource_version > assumed->resource_version))
        assume_cache_restore(self, key);
}

const Object *
assume_cache_api(const AssumeCache *self, const ObjectKey *key)
{
    return informer_get(self->informer, key);
}

const Object *
assume_cache_get(const AssumeCache *self, const ObjectKey *key)
{
    const Object *assumed = assumed_of(self, key);

    return assumed != NULL ? assumed : assume_cache_api(self, key);
}

char *
assume_cache_assume(AssumeCache *self, const Object *object)
{
    const ObjectKey *key = object->key;
    const Object *latest = assume_cache_get(self, key);

    if (latest == NULL)
        return g_strdup_printf("could not find %s \"%s\"", self->kind, key->text);
    if (object->resource_version < latest->resource_version)
        return g_strdup_printf(
            "%s \"%s\" is out of sync (stored: %" PRIu64 ", assume: %" PRIu64 ")", self->kind,
            key->text, latest->resource_version, object->resource_version);
    assume_cache_restore(self, key);
    *(const Object **)sim_slots_place(&self->assumed, key->slot) = object_ref(object);
    return NULL;
}

void
volume_choice_clear(VolumeChoice *self)
{
    object_clear((void *)self->chosen);
    object_clear((void *)self->assumed);
}

/* ---- Reserve ---- */

/* VB-81. Returns: whether it changed something */
static gboolean
bind_volume_to(Volume *volume, const Claim *claim, Objects *objects)
{
    ClaimReference *ref = &volume->claim_ref;
    gboolean was_bound = volume_is_bound_to(volume, claim);
    gboolean changed = FALSE;

    if (ref->claim != claim->meta.key || !object_uid_equal(ref->uid, claim->meta.uid)) {
        *ref = (ClaimReference){claim->meta.key, claim->meta.uid, claim->meta.resource_version};
        changed = TRUE;
    }
    if (!was_bound && object_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER) == NULL) {
        Strings *strings = objects_strings(objects);
        object_set_annotation(&volume->meta,
                              strings_intern(strings, ANNOTATION_BOUND_BY_CONTROLLER),
                              strings_intern(strings, "yes"));
        changed = TRUE;
    }
    return changed;
}

static char *
reserve_static(VolumeBinder *self, VolumeChoice *choice)
{
    const Claim *claim = CLAIM_CONST(assume_cache_get(self->claims, choice->claim));
    g_autoptr(Object) volume = object_edit(choice->chosen);

    if (claim == NULL)
        return g_strdup_printf("could not find v1.PersistentVolumeClaim \"%s\"",
                               choice->claim->text);
    char *why = bind_volume_to(VOLUME(volume), claim, self->objects)
                    ? assume_cache_assume(self->volumes, volume)
                    : NULL;
    if (why == NULL)
        choice->assumed = g_steal_pointer(&volume);
    return why;
}

/* VB-82 */
static char *
reserve_dynamic(VolumeBinder *self, VolumeChoice *choice, const char *node_name)
{
    g_autoptr(Object) claim = object_edit(choice->chosen);

    object_set_annotation(
        claim, strings_intern(objects_strings(self->objects), ANNOTATION_SELECTED_NODE), node_name);
    char *why = assume_cache_assume(self->claims, claim);
    if (why == NULL)
        choice->assumed = g_steal_pointer(&claim);
    return why;
}

char *
volume_binder_reserve(VolumeBinder *self, VolumeChoice *choices, unsigned n, const char *node_name)
{
    for (unsigned i = 0; i < n; i++) {
        char *why = volume_choice_is_static(&choices[i])
                        ? reserve_static(self, &choices[i])
                        : reserve_dynamic(self, &choices[i], node_name);
        if (why != NULL) {
            volume_binder_unreserve(self, choices, i);
            return why;
        }
    }
    return NULL;
}

void
volume_binder_unreserve(VolumeBinder *self, VolumeChoice *choices, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assume_cache_restore(volume_choice_is_static(&choices[i]) ? self->volumes : self->claims,
                             choices[i].chosen->key);
}

/* ---- The poll of PreBind ---- */

static BindingState
failed(char **why, char *text)
{
    if (why != NULL)
        *why = text;
    else
        g_free(text);
    return BINDING_FAILED;
}

/* A choice that PreBind has written, at a poll. */
enum {
    HAS_CLAIM = 1 << 0,
    HAS_VOLUME = 1 << 1, /* the chosen one; of a claim to provision: the one it names */
    OLD = 1 << 2,        /* the cache has it as it was before the write */
    FAR = 1 << 3,        /* the volume, of the node */
    RESET = 1 << 4,      /* the volume refers to no claim; the claim lost its annotations */
    DONE = 1 << 5,       /* claim_is_fully_bound() */
    BOUND_STATIC_FACTS_END = 1 << 6,
    ELSEWHERE = 1 << 6, /* another node was selected for the claim, or none */
    NAMED = 1 << 7,     /* the claim does */
    BOUND_DYNAMIC_FACTS_END = 1 << 8,
    BOTH = HAS_CLAIM | HAS_VOLUME,
};

typedef enum {
    BOUND_DONE,
    BOUND_WAIT,
    BOUND_FAIL_VOLUME, /* gone */
    BOUND_FAIL_CLAIM,  /* gone */
    BOUND_FAIL_REACH,
    BOUND_FAIL_RESET,
    BOUND_FAIL_ELSEWHERE,
} BoundAnswer;

/* checkBindings() in binder.go: claims that get a volume that is there. */
static const Rule static_table[] = {
    {"VB-T21",  0,            HAS_VOLUME,               BOUND_FAIL_VOLUME},
    {"VB-T21",  HAS_VOLUME,   HAS_CLAIM,                BOUND_FAIL_CLAIM },
    {"VB-94.3", BOTH | OLD,   0,                        BOUND_WAIT       },
    {"VB-T20",  BOTH | FAR,   OLD,                      BOUND_FAIL_REACH },
    {"VB-T19",  BOTH | RESET, OLD | FAR,                BOUND_FAIL_RESET },
    {"VB-94.3", BOTH | DONE,  OLD | FAR | RESET,        BOUND_DONE       },
    {"VB-94.3", BOTH,         OLD | FAR | RESET | DONE, BOUND_WAIT       },
};

const RuleTable scheduler_static_rules =
    RULE_TABLE("claims bound to a volume", BOUND_STATIC_FACTS_END, static_table);

/* The same, for claims whose volume is made. The volume may be seen later than the claim: kinds
 * have no order. */
static const Rule dynamic_table[] = {
    {"VB-T21",  0,                                     HAS_CLAIM,                            BOUND_FAIL_CLAIM    },
    {"VB-94.4", HAS_CLAIM | OLD,                       0,                                    BOUND_WAIT          },
    {"VB-T18",  HAS_CLAIM | RESET,                     OLD,                                  BOUND_FAIL_RESET    },
    {"VB-T17",  HAS_CLAIM | ELSEWHERE,                 OLD | RESET,                          BOUND_FAIL_ELSEWHERE},
    {"VB-94.4", HAS_CLAIM | NAMED,                     OLD | RESET | ELSEWHERE | HAS_VOLUME, BOUND_WAIT          },
    {"VB-T20",  HAS_CLAIM | NAMED | HAS_VOLUME | FAR,  OLD | RESET | ELSEWHERE,              BOUND_FAIL_REACH    },
    {"VB-94.4", HAS_CLAIM | NAMED | HAS_VOLUME | DONE, OLD | RESET | ELSEWHERE | FAR,        BOUND_DONE          },
    {"VB-94.4", HAS_CLAIM | NAMED | HAS_VOLUME,        OLD | RESET | ELSEWHERE | FAR | DONE, BOUND_WAIT          },
    {"VB-94.4", HAS_CLAIM,                             OLD | RESET | ELSEWHERE | NAMED,      BOUND_WAIT          },
};

const RuleTable scheduler_dynamic_rules =
    RULE_TABLE("claims with a volume to come", BOUND_DYNAMIC_FACTS_END, dynamic_table);

static uint32_t
seen_facts(const Claim *claim, const Volume *volume, const Node *node)
{
    uint32_t facts = 0;

    facts |= claim != NULL ? HAS_CLAIM : 0;
    facts |= claim != NULL && claim_is_fully_bound(claim) ? DONE : 0;
    facts |= volume != NULL ? HAS_VOLUME : 0;
    if (volume != NULL &&
        !node_selector_matches(volume_node_affinity(volume), node->meta.labels, NULL))
        facts |= FAR;
    return facts;
}

/* VB-T20 */
static char *
out_of_reach(const Volume *volume, const Node *node)
{
    return g_strdup_printf(
        "pv \"%s\" node affinity doesn't match node \"%s\": no matching NodeSelectorTerms",
        object_name(&volume->meta), object_name(&node->meta));
}

static BindingState
check_static(const VolumeBinder *self, const VolumeChoice *choice, const Node *node, char **why)
{
    const ObjectKey *key = choice->chosen->key;
    const Volume *volume = VOLUME_CONST(assume_cache_api(self->volumes, key));
    const Claim *claim = CLAIM_CONST(assume_cache_api(self->claims, choice->claim));
    uint32_t facts = seen_facts(claim, volume, node);

    facts |= volume != NULL && volume->meta.resource_version < choice->written_version ? OLD : 0;
    if (volume != NULL &&
        (volume->claim_ref.claim == NULL || !object_uid_is_set(volume->claim_ref.uid)))
        facts |= RESET;
    switch ((BoundAnswer)rules_find(&scheduler_static_rules, facts, NULL)->then) {
    case BOUND_DONE:
        return BINDING_DONE;
    case BOUND_WAIT:
        return BINDING_WAITS;
    case BOUND_FAIL_VOLUME:
        return failed(why, g_strdup_printf(
                               "failed to check binding: could not find v1.PersistentVolume \"%s\"",
                               key->text));
    case BOUND_FAIL_CLAIM:
        return failed(why,
                      g_strdup_printf(
                          "failed to check binding: could not find v1.PersistentVolumeClaim \"%s\"",
                          choice->claim->text));
    case BOUND_FAIL_REACH:
        return failed(why, out_of_reach(volume, node));
    case BOUND_FAIL_RESET:
        return failed(why, g_strdup_printf("ClaimRef got reset for pv \"%s\"", key->name));
    case BOUND_FAIL_ELSEWHERE:
        break;
    }
    g_assert_not_reached();
}

static uint32_t
dynamic_facts(const VolumeChoice *choice, const Claim *claim, const Node *node)
{
    const char *selected =
        claim == NULL ? NULL : object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE);
    uint32_t facts = 0;

    if (claim == NULL)
        return 0;
    facts |= claim->meta.resource_version < choice->written_version ? OLD : 0;
    facts |= claim->meta.annotations == NULL ? RESET : 0;
    facts |= g_strcmp0(selected, node->meta.key->name) != 0 ? ELSEWHERE : 0;
    facts |= claim_volume_name(claim)[0] != '\0' ? NAMED : 0;
    return facts;
}

/* The volume that the claim names; NULL: none, or it is not known (yet). */
static const Volume *
named_volume(const VolumeBinder *self, const Claim *claim)
{
    const ObjectKey *key = claim == NULL ? NULL
                                         : objects_find_key(self->objects, KIND_VOLUME, NULL,
                                                            claim_volume_name(claim));

    return key == NULL ? NULL : VOLUME_CONST(assume_cache_get(self->volumes, key));
}

static BindingState
check_dynamic(const VolumeBinder *self, const VolumeChoice *choice, const Node *node, char **why)
{
    const ObjectKey *key = choice->chosen->key;
    const Claim *claim = CLAIM_CONST(assume_cache_api(self->claims, key));
    const Volume *volume = named_volume(self, claim);
    uint32_t facts = seen_facts(claim, volume, node) | dynamic_facts(choice, claim, node);

    switch ((BoundAnswer)rules_find(&scheduler_dynamic_rules, facts, NULL)->then) {
    case BOUND_DONE:
        return BINDING_DONE;
    case BOUND_WAIT:
        return BINDING_WAITS;
    case BOUND_FAIL_CLAIM:
        return failed(
            why,
            g_strdup_printf(
                "failed to check provisioning pvc: could not find v1.PersistentVolumeClaim \"%s\"",
                key->text));
    case BOUND_FAIL_REACH:
        return failed(why, out_of_reach(volume, node));
    case BOUND_FAIL_RESET:
        return failed(why,
                      g_strdup_printf("selectedNode annotation reset for PVC \"%s\"", key->name));
    case BOUND_FAIL_ELSEWHERE:
        return failed(why, g_strdup_printf("provisioning failed for PVC \"%s\"", key->name));
    case BOUND_FAIL_VOLUME:
        break;
    }
    g_assert_not_reached();
}

/* VB-95: the first choice that is not bound yet ends the look. VB-96: nothing else can fail. */
BindingState
volume_binder_check(const VolumeBinder *self,
                    const VolumeChoice *choices,
                    unsigned n,
                    const ObjectKey *pod_key,
                    const char *node_name,
                    char **why)
{
    const Node *node = (const Node *)informer_find(self->nodes, NULL, node_name);

    if (node == NULL)
        return failed(why, g_strdup_printf("failed to get node \"%s\": node \"%s\" not found",
                                           node_name, node_name));
    const Pod *pod = POD_CONST(informer_get(self->pods, pod_key));
    if (pod == NULL || pod_is_terminal(pod))
        return failed(why, g_strdup_printf("pod does not exist any more: pod \"%s\" not found",
                                           pod_key->name));
    for (unsigned pass = 0; pass < 2; pass++) { /* choices of existing volumes come first */
        for (unsigned i = 0; i < n; i++) {
            if (volume_choice_is_static(&choices[i]) != (pass == 0))
                continue;
            BindingState state = pass == 0 ? check_static(self, &choices[i], node, why)
                                           : check_dynamic(self, &choices[i], node, why);
            if (state != BINDING_DONE)
                return state;
        }
    }
    return BINDING_DONE;
}
