/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a claim has no volume yet. The first fact of a rule table that holds decides: lost, being
 * deleted, a named volume that is missing, taken or unfit, no class, late binding without a pod, or
 * a provisioner at work. For a static class the reason comes from the nearest volume; for a
 * provisioner its source, secret, room, node, driver and last call are asked in this order. A pod
 * that asks about its own claim is not asked again. */
#include "question.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/reference-grant.h"
#include "models/api/snapshot.h"
#include "models/external-provisioner/external-provisioner.h"
#include "models/pv-controller/pv-controller.h"
#include "models/scheduler/plugins/plugins.h"
#include "models/volume/matching.h"

enum {
    CLAIM_IS_LOST = 1 << 0,
    CLAIM_IS_DELETED = 1 << 1,
    CLAIM_IS_BOUND = 1 << 2,
    CLAIM_NAMES_NO_VOLUME = 1 << 3, /* it names a volume that does not exist */
    CLAIM_NAMES_TAKEN = 1 << 4,     /* ... that another claim has */
    CLAIM_NAMES_UNFIT = 1 << 5,     /* ... that does not fit */
    CLAIM_NAMES_VOLUME = 1 << 6,
    CLAIM_NO_CLASS = 1 << 7, /* it names none, and there is no default */
    CLAIM_STATIC = 1 << 8,   /* the class "", or one of kubernetes.io/no-provisioner */
    CLAIM_CLASS_MISSING = 1 << 9,
    CLAIM_SELECTED_GONE = 1 << 10, /* its selected node is no node */
    CLAIM_AWAITS_POD = 1 << 11,    /* late binding, and no node is selected */
    CLAIM_FACTS_END = 1 << 12,
};

typedef enum {
    SAY_LOST,
    ASK_DELETION,
    SAY_WELL,
    SAY_VOLUME_MISSING,
    SAY_VOLUME_TAKEN,
    SAY_VOLUME_UNFIT,
    ASK_CONTROLLER,
    SAY_NO_CLASS,
    SAY_NO_VOLUME,
    SAY_CLASS_MISSING,
    SAY_SELECTED_GONE,
    ASK_POD,
    ASK_PROVISIONER,
} ClaimThen;

static const Rule claim_rows[] = {
    {"PVC-42",   WHY_FIRST(CLAIM_IS_LOST),         SAY_LOST          },
    {"PROT-20",  WHY_FIRST(CLAIM_IS_DELETED),      ASK_DELETION      },
    {"PVC-20",   WHY_FIRST(CLAIM_IS_BOUND),        SAY_WELL          },
    {"PVC-22.1", WHY_FIRST(CLAIM_NAMES_NO_VOLUME), SAY_VOLUME_MISSING},
    {"PVC-22.4", WHY_FIRST(CLAIM_NAMES_TAKEN),     SAY_VOLUME_TAKEN  },
    {"PVC-23",   WHY_FIRST(CLAIM_NAMES_UNFIT),     SAY_VOLUME_UNFIT  },
    {"PVC-22.2", WHY_FIRST(CLAIM_NAMES_VOLUME),    ASK_CONTROLLER    },
    {"PVC-21.5", WHY_FIRST(CLAIM_NO_CLASS),        SAY_NO_CLASS      },
    {"PVC-26",   WHY_FIRST(CLAIM_STATIC),          SAY_NO_VOLUME     },
    {"PVC-60",   WHY_FIRST(CLAIM_CLASS_MISSING),   SAY_CLASS_MISSING },
    {"PROV-13",  WHY_FIRST(CLAIM_SELECTED_GONE),   SAY_SELECTED_GONE },
    {"PVC-25",   WHY_FIRST(CLAIM_AWAITS_POD),      ASK_POD           },
    {"PVC-60",   WHY_NONE(CLAIM_FACTS_END),        ASK_PROVISIONER   },
};

const RuleTable why_claim_rules = RULE_TABLE("why: claims", CLAIM_FACTS_END, claim_rows);

static const StorageClass *
claim_class_of(const Question *self, const Claim *claim)
{
    return (const StorageClass *)why_get(self, KIND_STORAGE_CLASS, NULL, claim_class(claim));
}

static const char *
selected_node(const Claim *claim)
{
    return object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE);
}

static const char *
why_unfit(const Question *self, const Claim *claim, const Volume *volume)
{
    return volume_mismatch(claim, volume, TRUE, objects_strings(self->objects));
}

static gboolean
is_reserved_for_other(const Volume *volume, const Claim *claim)
{
    return volume->claim_ref.claim != NULL && !volume_is_bound_to(volume, claim);
}

static gboolean
has_default_class(Question *self)
{
    const GPtrArray *classes = why_list(self, KIND_STORAGE_CLASS);

    for (unsigned i = 0; i < classes->len; i++)
        if (storage_class_is_default(classes->pdata[i]))
            return TRUE;
    return FALSE;
}

static uint32_t
claim_facts_of(Question *self, const Claim *claim)
{
    const StorageClass *class = claim_class_of(self, claim);
    const Volume *named = why_volume_of(self, claim);
    gboolean names = *claim_volume_name(claim) != '\0';
    const char *node = selected_node(claim);
    uint32_t facts = 0;

    facts |= claim->phase == CLAIM_LOST ? CLAIM_IS_LOST : 0;
    facts |= object_is_deleted(&claim->meta) ? CLAIM_IS_DELETED : 0;
    facts |= claim->phase == CLAIM_BOUND ? CLAIM_IS_BOUND : 0;
    facts |= names && named == NULL ? CLAIM_NAMES_NO_VOLUME : 0;
    facts |= named != NULL && is_reserved_for_other(named, claim) ? CLAIM_NAMES_TAKEN : 0;
    facts |= named != NULL && why_unfit(self, claim, named) != NULL ? CLAIM_NAMES_UNFIT : 0;
    facts |= names ? CLAIM_NAMES_VOLUME : 0;
    facts |= claim->class_name == NULL && *claim_class(claim) == '\0' && !has_default_class(self)
                 ? CLAIM_NO_CLASS
                 : 0;
    facts |= *claim_class(claim) == '\0' ||
                     (class != NULL && strcmp(class->provisioner, PROVISIONER_NONE) == 0)
                 ? CLAIM_STATIC
                 : 0;
    facts |= class == NULL ? CLAIM_CLASS_MISSING : 0;
    facts |= node != NULL && why_get(self, KIND_NODE, NULL, node) == NULL ? CLAIM_SELECTED_GONE : 0;
    facts |= class != NULL && class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER && node == NULL
                 ? CLAIM_AWAITS_POD
                 : 0;
    return facts;
}

gboolean
why_awaits_pod(Question *self, const Claim *claim)
{
    const uint32_t facts = claim_facts_of(self, claim);
    const int then = rules_find(&why_claim_rules, facts, NULL)->then;

    return (facts & CLAIM_AWAITS_POD) != 0 && (then == ASK_POD || then == SAY_NO_VOLUME);
}

/* ---- Volumes that are there, and do not fit ---- */

/* Returns: the first reason why @volume is not for the claim; NULL: it is */
static const char *
why_not(const Question *self, const Claim *claim, const Volume *volume, GString *text)
{
    char has[QUANTITY_BUFFER], wanted[QUANTITY_BUFFER];

    g_string_truncate(text, 0);
    if (is_reserved_for_other(volume, claim))
        g_string_printf(text, why_words(self, N_("belongs to %s")), volume->claim_ref.claim->text);
    else if (strcmp(volume_class(volume), claim_class(claim)) != 0)
        g_string_printf(text, why_words(self, N_("is of class \"%s\", the claim of \"%s\"")),
                        volume_class(volume), claim_class(claim));
    else if (volume->capacity_bytes < claim->request_bytes)
        g_string_printf(text, why_words(self, N_("has %s, the claim asks for %s")),
                        quantity_format(volume->capacity_bytes, has),
                        quantity_format(claim->request_bytes, wanted));
    else if (!access_modes_include(volume->access_modes, claim->access_modes))
        g_string_append(text, why_words(self, N_("lacks an access mode that the claim asks for")));
    else if (volume->volume_mode != claim->volume_mode)
        g_string_append(text, why_words(self, N_("has another volumeMode than the claim")));
    else if (claim->selector != NULL &&
             !label_selector_matches(claim->selector, volume->meta.labels))
        g_string_append(text, why_words(self, N_("lacks the labels of the claim's selector")));
    else if (object_is_deleted(&volume->meta))
        g_string_append(text, why_words(self, N_("is being deleted")));
    else if (volume->phase != VOLUME_AVAILABLE && volume->claim_ref.claim == NULL)
        g_string_printf(text, "is %s", volume_phase_name(volume->phase));
    else
        return why_unfit(self, claim, volume);
    return text->str;
}

/* The volume that is nearest to the claim's wishes: of its class and free. */
static const Volume *
nearest_volume(Question *self, const Claim *claim, gboolean *is_of_class)
{
    const GPtrArray *volumes = why_list(self, KIND_VOLUME);
    const Volume *nearest = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    unsigned best = 0;

    for (unsigned i = 0; i < volumes->len; i++) {
        const Volume *volume = volumes->pdata[i];
        unsigned score = 1 + (unsigned)(why_not(self, claim, volume, text) == NULL) +
                         2 * (unsigned)!is_reserved_for_other(volume, claim) +
                         4 * (strcmp(volume_class(volume), claim_class(claim)) == 0);
        if (score > best) {
            best = score;
            nearest = volume;
        }
    }
    *is_of_class = best > 4;
    return nearest;
}

gboolean
why_ask_no_volume(Question *self, const Claim *claim, const Node *node)
{
    gboolean is_of_class;
    const Volume *nearest = nearest_volume(self, claim, &is_of_class);
    g_autoptr(GString) text = g_string_new(NULL);
    const char *reason = nearest == NULL ? NULL : why_not(self, claim, nearest, text);
    const NodeSelector *affinity = nearest == NULL ? NULL : volume_node_affinity(nearest);
    const unsigned n_volumes = why_list(self, KIND_VOLUME)->len;

    if (nearest == NULL || (!is_of_class && n_volumes > 1)) {
        why_link(self, &claim->meta, claim->meta.created_at,
                 "is Pending: there is no PersistentVolume of class \"%s\", and nobody makes one",
                 claim_class(claim));
        return why_because(self, "no-volume");
    }
    if (reason != NULL && is_of_class && nearest->phase == VOLUME_RELEASED) {
        why_link(self, &claim->meta, claim->meta.created_at,
                 "is Pending: no PersistentVolume of class \"%s\" is free", claim_class(claim));
        why_link(self, &nearest->meta, TIME_UNSET, "is Released: the claim %s is gone",
                 nearest->claim_ref.claim->text);
        return why_because(self, "volume-released");
    }
    if (reason != NULL) {
        why_link(self, &claim->meta, claim->meta.created_at,
                 "is Pending: the PersistentVolume nearest to it, %s, %s",
                 object_name(&nearest->meta), reason);
        return why_because(self, "no-volume");
    }
    if (node != NULL && affinity != NULL &&
        !node_selector_matches(affinity, node->meta.labels, object_name(&node->meta))) {
        json_auto_t *json = field_type_to_json(&field_node_selector, &affinity, NULL, 0);
        g_autofree char *places = why_selector(json);
        why_link(self, &nearest->meta, TIME_UNSET,
                 "would do for %s, but is only for nodes with %s, and %s is none",
                 object_name(&claim->meta), places, object_name(&node->meta));
        return why_because(self, "volume-zone");
    }
    return node == NULL &&
           (why_ask_process(self, "kube-controller-manager", NULL) ||
            why_ask_work(self, &pv_controller_class, NULL, claim->meta.key, "provisioning"));
}

/* The volume's claimRef has the uid of an earlier claim. */
static gboolean
tell_predecessor(Question *self, const Claim *claim)
{
    const Volume *volume = why_volume_of(self, claim);
    char uid[OBJECT_UID_BUFFER];

    why_link(self, &claim->meta, claim->meta.created_at, "is Pending: it names the volume %s",
             object_name(&volume->meta));
    why_link(self, &volume->meta, TIME_UNSET,
             "is still reserved for an earlier claim of that name: its claimRef has the uid %s",
             object_uid_format(volume->claim_ref.uid, uid));
    return why_because(self, "volume-released");
}

/* ---- Who makes the volume ---- */

static gboolean
is_granted(Question *self, const Claim *claim)
{
    const DataSource *source = &claim->data_source;
    const GPtrArray *grants = why_list(self, KIND_REFERENCE_GRANT);

    for (unsigned i = 0; i < grants->len; i++) {
        const Object *grant = grants->pdata[i];
        if (strcmp(grant->key->namespace, source->namespace) == 0 &&
            reference_grant_admits((const ReferenceGrant *)grant, claim))
            return TRUE;
    }
    return FALSE;
}

static gboolean
tell_too_small(Question *self, const Claim *claim, const Object *source, int64_t bytes)
{
    char has[QUANTITY_BUFFER], wanted[QUANTITY_BUFFER];

    if (claim->request_bytes >= bytes)
        return FALSE;
    why_link(self, &claim->meta, claim->meta.created_at,
             "asks for %s, and is to be made of %s, which has %s",
             quantity_format(claim->request_bytes, wanted), object_name(source),
             quantity_format(bytes, has));
    return why_because(self, "source-unfit");
}

/* SRC-1 */
static gboolean
tell_unlike(Question *self, const Claim *claim, const Claim *source)
{
    const StorageClass *own = claim_class_of(self, claim);
    const Volume *volume = why_volume_of(self, source);
    const char *driver = volume == NULL || volume->source == NULL ? NULL : volume->source->driver;

    if (own != NULL && driver != NULL && strcmp(own->provisioner, driver) != 0) {
        why_link(self, &claim->meta, claim->meta.created_at,
                 "is of %s, and is to be made of %s, which is of %s", own->provisioner,
                 object_name(&source->meta), driver);
        return why_because(self, "source-unfit");
    }
    if (claim->volume_mode != source->volume_mode) {
        why_link(self, &claim->meta, claim->meta.created_at,
                 "is to be made of %s, which has another volumeMode", object_name(&source->meta));
        return why_because(self, "source-unfit");
    }
    return tell_too_small(self, claim, &source->meta, source->request_bytes);
}

static gboolean
ask_source(Question *self, const Claim *claim)
{
    const DataSource *source = &claim->data_source;
    const char *namespace = source->namespace != NULL && *source->namespace != '\0'
                                ? source->namespace
                                : claim->meta.key->namespace;

    if (source->kind == NULL)
        return FALSE;
    if (strcmp(namespace, claim->meta.key->namespace) != 0 && !is_granted(self, claim)) {
        why_link(self, &claim->meta, claim->meta.created_at,
                 "may not use %s/%s of the namespace %s: there is no ReferenceGrant", source->kind,
                 source->name, namespace);
        return why_because(self, "source-not-granted");
    }
    if (strcmp(source->kind, "VolumeSnapshot") == 0) {
        const Object *snapshot = why_get(self, KIND_VOLUME_SNAPSHOT, namespace, source->name);
        if (snapshot != NULL)
            return why_ask_snapshot(self, VOLUME_SNAPSHOT_CONST(snapshot)) ||
                   tell_too_small(self, claim, snapshot,
                                  VOLUME_SNAPSHOT_CONST(snapshot)->restore_bytes);
        why_link(self, &claim->meta, claim->meta.created_at,
                 "is to be made of the VolumeSnapshot %s, which does not exist", source->name);
        return why_because(self, "snapshot-missing");
    }
    if (strcmp(source->kind, "PersistentVolumeClaim") == 0) {
        const Object *other = why_get(self, KIND_CLAIM, namespace, source->name);
        if (other != NULL)
            return CLAIM_CONST(other)->phase == CLAIM_BOUND
                       ? tell_unlike(self, claim, CLAIM_CONST(other))
                       : why_ask_claim(self, CLAIM_CONST(other), NULL);
        why_link(self, &claim->meta, claim->meta.created_at,
                 "is to be made of the claim %s, which does not exist", source->name);
        return why_because(self, "claim-missing");
    }
    return FALSE;
}

/* The Secret of CreateVolume, if the class names one without a template. */
static gboolean
ask_secret(Question *self, const Claim *claim, const StorageClass *class)
{
    static const char *const keys[] = {"csi.storage.k8s.io/provisioner-secret-name",
                                       "csi.storage.k8s.io/provisioner-secret-namespace"};
    const char *name = string_map_get(class->parameters, keys[0]),
               *namespace = string_map_get(class->parameters, keys[1]);

    if (name == NULL || namespace == NULL || strchr(name, '$') != NULL ||
        strchr(namespace, '$') != NULL || why_get(self, KIND_SECRET, namespace, name) != NULL)
        return FALSE;
    why_link(self, &claim->meta, claim->meta.created_at,
             "needs the Secret %s/%s for CreateVolume, which does not exist", namespace, name);
    return why_because(self, "secret-missing");
}

/* No place has so much room, as the CSIStorageCapacities of the driver's classes tell: provisioners
 * on the nodes do not even try. */
static gboolean
ask_room(Question *self, const Claim *claim)
{
    const GPtrArray *capacities = why_list(self, KIND_STORAGE_CAPACITY);
    char room[QUANTITY_BUFFER], wanted[QUANTITY_BUFFER];
    int64_t most = -1;

    for (unsigned i = 0; i < capacities->len; i++) {
        const StorageCapacity *capacity = capacities->pdata[i];
        const Object *class = why_get(self, KIND_STORAGE_CLASS, NULL, capacity->class_name);
        if (class != NULL && strcmp(STORAGE_CLASS(class)->provisioner,
                                    claim_class_of(self, claim)->provisioner) == 0)
            most = MAX(most, storage_capacity_limit(capacity));
    }
    if (most < 0 || most >= claim->request_bytes)
        return FALSE;
    why_link(self, &claim_class_of(self, claim)->meta, TIME_UNSET,
             "has room for %s at most; %s asks for %s", quantity_format(most, room),
             object_name(&claim->meta), quantity_format(claim->request_bytes, wanted));
    return why_because(self, "storage-capacity");
}

/* TOPO-1: the provisioner asks the CSINode of the selected node for its places, and fails. */
static gboolean
ask_selected_node(Question *self, const Claim *claim, const char *driver, const char *volume)
{
    const char *node = selected_node(claim);
    const Doing *doing = why_doing(self, &external_provisioner_class, driver,
                                   objects_find_key(self->objects, KIND_VOLUME, NULL, volume));

    if (node == NULL || (doing != NULL && doing->failures == 0) ||
        why_is_registered(self, driver, node))
        return FALSE;
    if (why_get(self, KIND_CSI_NODE, NULL, node) != NULL)
        return why_ask_driver(self, driver, NULL, node);
    g_autofree char *name = g_strconcat("csinode/", node, NULL);
    why_link_named(self, name, TIME_UNSET, "does not exist: %s is to make the volume there",
                   driver);
    return why_because(self, "driver-not-registered");
}

/* The volume is made, and not bound yet. */
static gboolean
ask_binder(Question *self, const Claim *claim, const Object *volume)
{
    if (volume == NULL)
        return FALSE;
    const ObjectKey *key = why_doing(self, &pv_controller_class, NULL, volume->key) != NULL
                               ? volume->key
                               : claim->meta.key;
    why_link(self, volume, volume->created_at,
             "is made, and persistent-volume-binder has not bound it yet");
    return why_ask_process(self, "kube-controller-manager", NULL) ||
           why_ask_work(self, &pv_controller_class, NULL, key, "provisioning");
}

static gboolean
ask_provisioner(Question *self, const Claim *claim)
{
    const StorageClass *class = claim_class_of(self, claim);
    const char *driver = class->provisioner;
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *volume = g_strdup_printf("pvc-%s", object_uid_format(claim->meta.uid, uid));
    const Object *attributes = why_get(self, KIND_ATTRIBUTES_CLASS, NULL, claim->attributes_class);

    why_link(self, &claim->meta, claim->meta.created_at, "is Pending: %s is to make its volume",
             driver);
    if (claim->attributes_class != NULL && attributes == NULL) {
        why_link(self, &claim->meta, TIME_UNSET,
                 "names the VolumeAttributesClass %s, which does not exist",
                 claim->attributes_class);
        return why_because(self, "attributes-class-missing");
    }
    if (object_annotation(&claim->meta, ANNOTATION_STORAGE_PROVISIONER) == NULL &&
        object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_PROVISIONER) == NULL &&
        why_ask_process(self, "kube-controller-manager", NULL))
        return TRUE;
    if (ask_binder(self, claim, why_get(self, KIND_VOLUME, NULL, volume)) ||
        why_ask_other_provisioner(self, claim, class, volume))
        return TRUE;
    return why_ask_driver(self, driver, &external_provisioner_process, selected_node(claim)) ||
           ask_source(self, claim) || ask_secret(self, claim, class) ||
           why_ask_local_volume(self, driver, volume, selected_node(claim)) ||
           why_ask_call(self, driver, CSI_CREATE_VOLUME, volume, NULL) || ask_room(self, claim) ||
           ask_selected_node(self, claim, driver, volume) ||
           why_ask_work(self, &external_provisioner_class, driver,
                        objects_find_key(self->objects, KIND_VOLUME, NULL, volume), "provisioning");
}

/* Late binding: its pods wait for something else, or there is none. */
static gboolean
ask_consumers(Question *self, const Claim *claim, const Pod *asking)
{
    const GPtrArray *pods = why_pods_of_claim(self, claim);
    const StorageClass *class = claim_class_of(self, claim);
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *volume = g_strdup_printf("pvc-%s", object_uid_format(claim->meta.uid, uid));

    const unsigned n_links = self->why->chain->len;
    why_link(self, &claim->meta, claim->meta.created_at, "is Pending: %s is to make its volume",
             class->provisioner);
    if (why_ask_call(self, class->provisioner, CSI_CREATE_VOLUME, volume, NULL))
        return TRUE;
    g_ptr_array_set_size(self->why->chain, (int)n_links);
    if (asking != NULL)
        return FALSE; /* the claim waits for the same cause as the pod */
    why_link(self, &claim->meta, claim->meta.created_at,
             "is Pending: its class %s waits for the first pod that uses it",
             object_name(&class->meta));
    return pods->len == 0 ? why_because(self, "no-consumer") : why_ask_object(self, pods->pdata[0]);
}

/* Nobody makes a volume: one has to be there. With late binding the scheduler chooses it. */
static gboolean
ask_static(Question *self, const Claim *claim, const Pod *pod)
{
    const StorageClass *class = claim_class_of(self, claim);
    const gboolean is_late =
        class != NULL && class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER;
    gboolean is_of_class;
    g_autoptr(GString) text = g_string_new(NULL);
    const Volume *nearest = nearest_volume(self, claim, &is_of_class);

    if (!is_late || nearest == NULL || !is_of_class ||
        why_not(self, claim, nearest, text) != NULL) {
        if (is_late && pod == NULL && why_pods_of_claim(self, claim)->len == 0)
            return ask_consumers(self, claim, NULL);
        return why_ask_no_volume(self, claim, NULL);
    }
    return ask_consumers(self, claim, pod);
}

static gboolean
ask_claim(Question *self, const Claim *claim, const Pod *pod)
{
    const char *named = claim_volume_name(claim);
    const SimTime since = claim->meta.created_at;
    const Rule *rule = rules_find(&why_claim_rules, claim_facts_of(self, claim), NULL);

    switch ((ClaimThen)rule->then) {
    case SAY_WELL:
        return FALSE;
    case SAY_LOST:
        why_link(self, &claim->meta, TIME_UNSET, "is Lost: its volume %s is gone", named);
        return why_because(self, "claim-lost");
    case ASK_DELETION:
        why_link(self, &claim->meta, why_deleted_since(&claim->meta), "is being deleted");
        return pod != NULL ? why_because(self, "claim-deleting")
                           : why_ask_deletion(self, &claim->meta);
    case SAY_VOLUME_MISSING:
        why_link(self, &claim->meta, since,
                 "is Pending: it names the volume %s, which does not exist", named);
        return why_because(self, "volume-missing");
    case SAY_VOLUME_TAKEN:
        if (why_volume_of(self, claim)->claim_ref.claim == claim->meta.key)
            return tell_predecessor(self, claim);
        why_link(self, &claim->meta, since,
                 "is Pending: it names the volume %s, which belongs to %s", named,
                 why_volume_of(self, claim)->claim_ref.claim->text);
        return why_because(self, "volume-taken");
    case SAY_VOLUME_UNFIT:
        why_link(self, &claim->meta, since,
                 "is Pending: it names the volume %s, which does not fit: %s", named,
                 why_unfit(self, claim, why_volume_of(self, claim)));
        return why_because(self, "volume-unfit");
    case ASK_CONTROLLER:
        why_link(self, &claim->meta, since, "is Pending: it names the volume %s", named);
        return why_ask_process(self, "kube-controller-manager", NULL) ||
               why_ask_work(self, &pv_controller_class, NULL, claim->meta.key, "provisioning");
    case SAY_NO_CLASS:
        why_link(self, &claim->meta, since,
                 "is Pending: it names no class, and there is no default");
        return why_because(self, "no-class");
    case SAY_NO_VOLUME:
        return ask_static(self, claim, pod);
    case SAY_CLASS_MISSING:
        why_link(self, &claim->meta, since, "is Pending: there is no StorageClass %s",
                 claim_class(claim));
        return why_because(self, "class-missing");
    case SAY_SELECTED_GONE:
        if (why_ask_driver(self, claim_class_of(self, claim)->provisioner,
                           &external_provisioner_process, NULL))
            return TRUE;
        why_link(self, &claim->meta, since, "is Pending: it was promised to %s, which is gone",
                 selected_node(claim));
        return why_because(self, "selected-node-gone");
    case ASK_POD:
        return ask_consumers(self, claim, pod);
    case ASK_PROVISIONER:
        return ask_provisioner(self, claim);
    }
    g_assert_not_reached();
}

gboolean
why_ask_claim(Question *self, const Claim *claim, const Pod *pod)
{
    if (g_ptr_array_find(self->path, claim->meta.key, NULL))
        return FALSE;
    g_ptr_array_add(self->path, (void *)claim->meta.key);
    gboolean waits = ask_claim(self, claim, pod);
    g_ptr_array_set_size(self->path, (int)self->path->len - 1);
    return waits;
}
