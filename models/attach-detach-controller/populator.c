/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Desired state, from pods, nodes, claims and drivers (ADC-30 to ADC-37), and actual state as it is
 * at the start. A pod wants its volumes on its node until it has ended, or is being deleted and
 * runs no container. Kubernetes lists all pods to find missed events; here only pods with volumes
 * that could not be looked up, or that went unseen, are looked at again, which comes to the same.
 */
#include "controller.h"

#include "sim/random.h"

#include <string.h>

#define ANNOTATION_MANAGED "volumes.kubernetes.io/controller-managed-attach-detach"

/* ADC-33. */
static const Volume *
adc_look_up_pod_volume(const AttachDetachController *self,
                       const Pod *pod,
                       const PodVolume *pod_volume)
{
    const Claim *claim =
        CLAIM_CONST(informer_get(self->claims, pod_claim_key(self->base.objects, pod, pod_volume)));
    if (claim == NULL || claim->phase != CLAIM_BOUND || claim_volume_name(claim)[0] == '\0')
        return NULL;
    if (pod_volume->ephemeral && !object_is_controlled_by(&claim->meta, &pod->meta))
        return NULL;

    ObjectKey *key = objects_key(self->base.objects, KIND_VOLUME, NULL, claim->volume_name);
    const Volume *volume = VOLUME_CONST(informer_get(self->volumes, key));
    return volume != NULL && object_uid_equal(volume->claim_ref.uid, claim->meta.uid) ? volume
                                                                                      : NULL;
}

/* ADC-34. */
gboolean
adc_is_attachable(const AttachDetachController *self, const VolumeSource *source)
{
    if (source == NULL || source->is_inline)
        return FALSE;
    if (source->driver == NULL)
        return adc_is_attachable_in_process(self, source);
    ObjectKey *key = objects_key(self->base.objects, KIND_CSI_DRIVER, NULL, source->driver);
    const CsiDriverObject *driver = CSI_DRIVER_OBJECT(informer_get(self->csi_drivers, key));

    return driver == NULL || driver->attach_required;
}

/* ADC-53. A volume that stands in a pod has no modes: there the plugin decides. */
static gboolean
is_exclusive(const AttachVolume *volume, const Volume *spec)
{
    const char *plugin = spec->source->plugin;
    const uint32_t modes = volume->is_in_process ? spec->access_modes : volume_access_modes(spec);

    if (modes == 0)
        return strcmp(plugin, "azureDisk") == 0 || strcmp(plugin, "cinder") == 0;
    return (modes & (ACCESS_RWX | ACCESS_ROX)) == 0;
}

static void
set_spec(AttachVolume *volume, const Volume *spec)
{
    volume->spec = spec->meta.key;
    volume->is_exclusive = is_exclusive(volume, spec);
}

/* ADC-72: there is no object that the cache could have. */
static void
keep_inline_spec(AttachVolume *volume, const Object *spec)
{
    const Object *before = volume->inline_spec;

    volume->inline_spec = object_ref(spec);
    object_unref(before);
    set_spec(volume, VOLUME_CONST(spec));
}

/* The PersistentVolume of that key as the cache has it; @key NULL or not there: NULL */
static const Volume *
adc_find_volume_spec(const AttachDetachController *self, const ObjectKey *key)
{
    return key == NULL ? NULL : VOLUME_CONST(informer_get(self->volumes, key));
}

const Volume *
adc_spec_of(const AttachDetachController *self, const AttachVolume *volume)
{
    return volume->inline_spec != NULL ? VOLUME_CONST(volume->inline_spec)
                                       : adc_find_volume_spec(self, volume->spec);
}

/* Returns: FALSE: the pod leaves, but was not there by this name. If the node's kubelet migrates
 * since it came, another one has it (MIG-81). */
static gboolean
process_pod_volume(AttachDetachController *self,
                   AttachNode *node,
                   const Pod *pod,
                   AttachVolume *volume,
                   gboolean add)
{
    AttachPair *pair = adc_pair(volume, node);
    gboolean is_there = add || g_slist_find(pair->pods, pod->meta.key) != NULL;

    if (add)
        adc_add_pod(self, pair, pod->meta.key);
    else
        adc_delete_pod(self, pair, pod->meta.key);
    adc_settle(self, pair);
    return is_there;
}

/* The @i-th of the pod's inline volumes, as the node has it. Returns: NULL: it is not attached */
static AttachVolume *
inline_volume(AttachDetachController *self, const AttachNode *node, const Pod *pod, unsigned i)
{
    const PodVolume *inline_volume = &pod->volumes->items[pod->volumes->n_items + i];

    if (!adc_is_attachable(self, inline_volume->source))
        return NULL;
    Object *spec =
        pod_volume_as_volume(self->base.objects, inline_volume, adc_node_release(self, node));
    AttachVolume *volume = adc_volume_on_node(self, node, VOLUME_CONST(spec));
    if (volume->spec == NULL)
        keep_inline_spec(volume, spec);
    object_unref(spec);
    return volume;
}

/* Returns: as process_pod_volume(), of all */
static gboolean
process_inline_volumes(AttachDetachController *self, AttachNode *node, const Pod *pod, gboolean add)
{
    gboolean are_there = TRUE;

    for (unsigned i = 0; i < pod->volumes->n_inline; i++) {
        const VolumeSource *source = pod->volumes->items[pod->volumes->n_items + i].source;
        AttachVolume *volume = inline_volume(self, node, pod, i);
        if (volume == NULL ? adc_lacks_flex_driver(self, source->flex_driver)
                           : !process_pod_volume(self, node, pod, volume, add))
            are_there = FALSE;
    }
    return are_there;
}

/* ADC-32. Skips a volume that cannot be looked up; the next event of the pod or the populator tries
 * again. */
static void
process_pod_volumes(AttachDetachController *self, const Pod *pod, gboolean add)
{
    AttachNode *node = pod->node_name == NULL ? NULL : adc_find_node(self, pod->node_name);
    gboolean is_resolved = TRUE;

    if (pod->volumes == NULL || pod->node_name == NULL)
        return;
    for (unsigned i = 0; node != NULL && node->is_managed && i < pod->volumes->n_items; i++) {
        const Volume *spec = adc_look_up_pod_volume(self, pod, &pod->volumes->items[i]);
        if (spec == NULL) {
            is_resolved = FALSE;
        } else if (adc_is_attachable(self, spec->source)) {
            AttachVolume *volume = adc_volume_on_node(self, node, spec);
            if (volume->spec == NULL)
                set_spec(volume, spec);
            if (!process_pod_volume(self, node, pod, volume, add) && spec->source->in_tree != NULL)
                is_resolved = FALSE;
        } else if (spec->source != NULL && adc_lacks_flex_driver(self, spec->source->flex_driver)) {
            is_resolved = FALSE; /* FLX-47 */
        }
    }
    if (node != NULL && node->is_managed && !process_inline_volumes(self, node, pod, add))
        is_resolved = FALSE;
    if (add && (!is_resolved || node == NULL || !node->is_managed)) {
        g_hash_table_add(self->unresolved, (void *)pod->meta.key);
        sim_ticker_wake(self->populator);
        return;
    }
    g_hash_table_remove(self->unresolved, pod->meta.key);
    if (!is_resolved && !g_ptr_array_find(self->stale, pod->meta.key, NULL)) {
        g_ptr_array_add(self->stale, (void *)pod->meta.key);
        sim_ticker_wake(self->populator);
    }
}

/* ADC-31: the pod has ended, or is being deleted and runs no container. A kubelet that has stopped
 * the containers says so by a terminal phase, or sets ContainersReady to false. */
static gboolean
is_terminated(const Pod *pod)
{
    return pod_is_terminal(pod) || (object_is_deleted(&pod->meta) && pod->phase == POD_PENDING &&
                                    pod->containers_ready.status != CONDITION_TRUE);
}

/* An event of a pod. */
enum {
    GONE = 1 << 0,
    PLACED = 1 << 1, /* it has a node and volumes */
    OVER = 1 << 2,   /* it has ended, or is going without a running container (ADC-31) */
    KNOWN = 1 << 3,  /* neither has changed, and all its volumes could be looked up */
    POD_FACTS_END = 1 << 4,
};

typedef enum {
    POD_IGNORE,
    POD_WANTS_VOLUMES,
    POD_LEAVES_VOLUMES,
} PopulatorPodAction;

/* podAdd(), podUpdate() and podDelete(). Known: nothing would change. */
static const Rule pod_table[] = {
    {"ADC-30.1", GONE,           0,                   POD_LEAVES_VOLUMES},
    {"ADC-30.2", 0,              GONE | PLACED,       POD_IGNORE        },
    {"ADC-30.3", PLACED | KNOWN, GONE,                POD_IGNORE        },
    {"ADC-31",   PLACED | OVER,  GONE | KNOWN,        POD_LEAVES_VOLUMES},
    {"ADC-30.4", PLACED,         GONE | KNOWN | OVER, POD_WANTS_VOLUMES },
};

const RuleTable adc_pod_rules = RULE_TABLE("pods and their attachments", POD_FACTS_END, pod_table);

static uint32_t
pod_facts(const AttachDetachController *self, const Pod *before, const Pod *after)
{
    uint32_t facts = 0;

    if (after == NULL)
        return GONE;
    facts |= after->node_name != NULL && after->volumes != NULL ? PLACED : 0;
    facts |= is_terminated(after) ? OVER : 0;
    if (before != NULL && before->node_name == after->node_name &&
        is_terminated(before) == is_terminated(after) &&
        !g_hash_table_contains(self->unresolved, after->meta.key))
        facts |= KNOWN;
    return facts;
}

void
adc_pod_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;
    const Pod *pod = POD_CONST(after != NULL ? after : before);
    uint32_t facts = pod_facts(self, POD_CONST(before), POD_CONST(after));

    if (before != NULL && (after == NULL || !object_uid_equal(before->uid, after->uid)))
        self->n_pods_gone++;
    switch ((PopulatorPodAction)rules_find(&adc_pod_rules, facts, NULL)->then) {
    case POD_IGNORE:
        return;
    case POD_WANTS_VOLUMES:
        process_pod_volumes(self, pod, TRUE);
        return;
    case POD_LEAVES_VOLUMES:
        process_pod_volumes(self, pod, FALSE);
        return;
    }
    g_assert_not_reached();
}

static void
queue_unwanted(AttachDetachController *self, AttachNode *node)
{
    for (unsigned i = 0; i < node->pairs->len; i++)
        if (!attach_pair_is_wanted(node->pairs->pdata[i]))
            adc_queue(self, node->pairs->pdata[i]);
}

/* ADC-9, ADC-26, ADC-37. */
void
adc_node_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;
    const Node *last = (const Node *)(after != NULL ? after : before);
    AttachNode *node = adc_node(self, object_name(&last->meta));

    if (after != NULL && object_annotation(after, ANNOTATION_MANAGED) != NULL)
        adc_manage_node(node);
    if (after == NULL)
        adc_delete_node(node);
    adc_set_in_use(self, node, last->volumes_in_use);
    if (after != NULL && before == NULL) /* re-created: told again */
        adc_report_again(self, node);
    if (before != NULL && after != NULL &&
        ((const Node *)before)->ready.status == last->ready.status &&
        node_is_out_of_service(self, (const Node *)before) == node_is_out_of_service(self, last))
        return;
    queue_unwanted(self, node); /* a node that turns unhealthy may be forced (ADC-43) */
}

static gboolean
has_volume_of(const AttachDetachController *self, const Pod *pod, const ObjectKey *driver)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Volume *spec = adc_look_up_pod_volume(self, pod, &pod->volumes->items[i]);
        if (spec != NULL && spec->source != NULL && spec->source->driver == driver->name)
            return TRUE;
    }
    return FALSE;
}

/* ADC-61b: somebody deleted the CSIDriver and made a new one that requires attaching. The next
 * event of a pod shows which volumes need it, or the next listing of all pods (ADC-36.3). */
static void
attaching_is_required_again(AttachDetachController *self, const ObjectKey *driver)
{
    InformerIter iter;
    const Object *pod;

    informer_iter_init(&iter, self->pods);
    while ((pod = informer_iter_next(&iter)) != NULL)
        if (POD_CONST(pod)->node_name != NULL && has_volume_of(self, POD_CONST(pod), driver))
            g_hash_table_add(self->unresolved, (void *)pod->key);
    sim_ticker_wake(self->populator);
}

static gboolean
requires_attach(const Object *driver)
{
    return driver == NULL || ((const CsiDriverObject *)driver)->attach_required;
}

void
adc_csi_driver_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;

    if (requires_attach(before) && !requires_attach(after)) {
        self->must_drop_unattachable = TRUE;
        sim_ticker_wake(self->populator);
    } else if (!requires_attach(before) && requires_attach(after)) {
        attaching_is_required_again(self, before->key);
        adc_verification_is_due(self);
    }
}

/* ADC-35. Ignores claims that are not bound: none of their volumes can be looked up. */
void
adc_claim_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;

    if (after == NULL || CLAIM_CONST(after)->phase != CLAIM_BOUND ||
        claim_volume_name(CLAIM_CONST(after))[0] == '\0')
        return;
    if (before != NULL && before != after && CLAIM_CONST(before)->phase == CLAIM_BOUND &&
        object_is_deleted(before) == object_is_deleted(after) &&
        before->finalizers != after->finalizers)
        return; /* only the metadata of a bound claim changed: its pods are known */
    workers_add(self->claim_queue, after->key);
}

void
adc_decide_claim(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const Claim *claim = CLAIM_CONST(informer_get(self->claims, plan_key(plan)));
    unsigned n_pods;

    plan_because(plan, "ADC-35");
    if (claim == NULL || claim->phase != CLAIM_BOUND || claim_volume_name(claim)[0] == '\0')
        return;
    const Object *const *pods = informer_index_get(self->pods_by_claim, plan_key(plan), &n_pods);
    for (unsigned i = 0; i < n_pods; i++)
        if (POD_CONST(pods[i])->node_name != NULL && !is_terminated(POD_CONST(pods[i])))
            plan_change(plan, &(PlanChange){.what = CHANGE_ADD_POD, .object = pods[i]});
}

/* ---- The populator (ADC-36) ---- */

/* Each pass takes one volume from each pod that went unseen. */
static void
drop_stale_pods(AttachDetachController *self)
{
    for (unsigned i = 0; i < self->stale->len;) {
        const ObjectKey *key = self->stale->pdata[i];
        const Pod *pod = POD_CONST(informer_get(self->pods, key));
        if ((pod == NULL || is_terminated(pod)) && adc_delete_pod_somewhere(self, key))
            i++;
        else
            g_ptr_array_remove_index(self->stale, i);
    }
}

/* Kubernetes lists all pods; only these can have volumes that are not known yet. */
static void
add_unresolved_pods(AttachDetachController *self)
{
    for (uint32_t slot = 0; slot < objects_n_keys(self->base.objects, KIND_POD); slot++) {
        const ObjectKey *key = objects_key_at(self->base.objects, KIND_POD, slot);
        const Pod *pod = POD_CONST(informer_get(self->pods, key));
        if (!g_hash_table_contains(self->unresolved, key))
            continue;
        if (pod == NULL)
            g_hash_table_remove(self->unresolved, key);
        else if (!is_terminated(pod))
            process_pod_volumes(self, pod, TRUE);
    }
}

/* ADC-36.2. The volumes are still detached (ADC-63). */
static void
drop_unattachable(AttachDetachController *self)
{
    AttachNode *node;

    for (uint32_t slot = 0; (node = adc_next_node(self, &slot)) != NULL;)
        for (unsigned i = 0; i < node->pairs->len; i++) {
            AttachPair *pair = node->pairs->pdata[i];
            const Volume *spec = adc_spec_of(self, pair->volume);
            while (spec != NULL && !adc_is_attachable(self, spec->source) &&
                   attach_pair_is_wanted(pair))
                adc_delete_pod(self, pair, pair->pods->data);
        }
    self->must_drop_unattachable = FALSE;
}

/* Returns: whether another pass may find something to do */
static gboolean
populate(void *data)
{
    AttachDetachController *self = data;
    SimTime now = sim_now(self->base.sim);

    drop_stale_pods(self);
    if (self->must_drop_unattachable)
        drop_unattachable(self);
    SimTime periods = (now - self->started_at) / LIST_PERIOD;
    if (g_hash_table_size(self->unresolved) > 0 &&
        self->started_at + periods * LIST_PERIOD > self->listed_at) {
        self->listed_at = now;
        add_unresolved_pods(self);
    }
    return self->stale->len > 0 || g_hash_table_size(self->unresolved) > 0;
}

void
adc_add_pod_volumes(AttachDetachController *self, const Pod *pod)
{
    process_pod_volumes(self, pod, TRUE);
}

/* The loop runs already as a run begins (TIM-40). */
void
adc_populator_start(AttachDetachController *self)
{
    Sim *sim = self->base.sim;
    SimStream phases = sim_stream(sim, "attach-detach-controller/phase");
    SimTime age =
        self->base.started_late ? 0 : (SimTime)sim_random_below(phases, 1, 0, LIST_PERIOD);

    self->started_at = sim_now(sim) - age;
    self->listed_at = sim_now(sim);
    self->populator = sim_ticker_new(sim, &(SimTickerOptions){
                                              .name = "attach-detach populator",
                                              .period = POPULATE_PERIOD,
                                              .cost = process_timing(self->base.process)->loop_pass,
                                              .phase = POPULATE_PERIOD - age % POPULATE_PERIOD,
                                              .order = self->base.order + 1,
                                              .wait = WAIT_POLL,
                                              .pass = populate,
                                              .self = self,
                                          });
}

/* ---- What is attached as the controller starts ---- */

/* ADC-26: a node names its volumes, but not their PersistentVolumes. */
static void
populate_node(AttachDetachController *self, const Node *object)
{
    const StringList *attached = object->volumes_attached;
    AttachNode *node = adc_node(self, object_name(&object->meta));

    for (unsigned i = 0; attached != NULL && i < attached->n_items; i++) {
        AttachVolume *volume = adc_volume_by_name(self, attached->items[i]);
        if (volume == NULL)
            volume = adc_volume_in_process(self, attached->items[i]);
        if (volume != NULL)
            adc_set_attached(self, adc_pair(volume, node), FALSE, CSI_DEVICE_PATH, TRUE);
    }
    adc_set_in_use(self, node, object->volumes_in_use);
}

/* ADC-27: a VolumeAttachment that no node reports is uncertain, whatever its status says. */
static void
populate_attachment(AttachDetachController *self, const Attachment *attachment)
{
    const ObjectKey *key =
        attachment->volume_name == NULL
            ? NULL
            : objects_find_key(self->base.objects, KIND_VOLUME, NULL, attachment->volume_name);
    const Volume *spec = adc_find_volume_spec(self, key);

    if (spec == NULL || !adc_is_attachable(self, spec->source))
        return;
    if (spec->source->driver == NULL)
        return;
    AttachVolume *volume = adc_volume(self, spec->source->driver, spec->source->handle);
    AttachPair *pair = adc_pair(volume, adc_node(self, attachment->node_name));
    adc_attachment_key(self, pair);
    if (pair->state != ADC_DETACHED)
        return;
    set_spec(volume, spec);
    adc_set_attached(self, pair, TRUE, CSI_DEVICE_PATH, FALSE);
}

/* Runs after all pods have been added to desired state. */
static void
populate_specs(AttachDetachController *self, const Pod *pod)
{
    const AttachNode *node = adc_find_node(self, pod->node_name);

    for (unsigned i = 0; node != NULL && pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Volume *spec = adc_look_up_pod_volume(self, pod, &pod->volumes->items[i]);
        if (spec == NULL || !adc_is_attachable(self, spec->source))
            continue;
        AttachVolume *volume = adc_volume_on_node(self, node, spec);
        AttachPair *pair = adc_find_pair(volume, node);
        if (pair == NULL || pair->state != ADC_ATTACHED)
            continue;
        set_spec(volume, spec);
        volume->has_spec = TRUE;
    }
    for (unsigned i = 0; node != NULL && pod->volumes != NULL && i < pod->volumes->n_inline; i++) {
        AttachVolume *volume = inline_volume(self, node, pod, i);
        AttachPair *pair = volume == NULL ? NULL : adc_find_pair(volume, node);
        if (pair != NULL && pair->state == ADC_ATTACHED)
            volume->has_spec = TRUE;
    }
}

void
adc_populate_specs_of_pods(AttachDetachController *self)
{
    InformerIter iter;
    const Object *pod;

    informer_iter_init(&iter, self->pods);
    while ((pod = informer_iter_next(&iter)) != NULL)
        if (POD_CONST(pod)->node_name != NULL)
            populate_specs(self, POD_CONST(pod));
}

void
adc_populate_actual_state(AttachDetachController *self)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, self->nodes);
    while ((object = informer_iter_next(&iter)) != NULL)
        populate_node(self, (const Node *)object);
    informer_iter_init(&iter, self->attachments);
    while ((object = informer_iter_next(&iter)) != NULL)
        populate_attachment(self, (const Attachment *)object);
}
