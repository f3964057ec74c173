/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the API server changes or refuses before it stores an object: its mutating and validating
 * admission plugins, in the order in which kube-apiserver runs them. Decisions read the store
 * (default classes, namespaces, service accounts, LimitRanges, quotas) and the release with its
 * gates.
 *
 * An object that is shared is never changed: a plugin that has to change a pod's spec makes a new
 * one. Pods of one template come one after the other and share their spec, so the admitted spec of
 * the last pod is kept and shared, too. */
#include "admission.h"

#include "checks.h"
#include "models/api/workload.h"
#include "service-account.h"

#include <string.h>

#define NANOSECONDS_TO_SECONDS(time) ((time) / SIM_SECOND)

static void
forget_spec(Admission *self)
{
    g_clear_pointer(&self->given, pod_spec_unref);
    g_clear_pointer(&self->admitted, pod_spec_unref);
}

void
admission_forget(Admission *self)
{
    forget_spec(self);
    limited_spec_clear(&self->limited);
}

void
admission_init(Admission *self, ApiStore *store, const Release *release)
{
    *self = (Admission){
        .store = store,
        .claim_gates = claim_gates_of(release),
        .gated = gated_fields_new(release),
        .error_codes = release_has_gate(release, "MutableCSINodeAllocatableCount"),
        .phase_times = release_has_gate(release, "PersistentVolumeLastPhaseTransitionTime"),
        .single_pod_mode = release_has_gate(release, "ReadWriteOncePod"),
        .scheduling_gates = release_has_gate(release, "PodSchedulingReadiness"),
        .counts_pods = release->minor >= 33,
        .ends_nomination = release_has_gate(release, "ClearingNominatedNodeNameAfterBinding"),
        .copies_topology = release_has_gate(release, "PodTopologyLabelsAdmission"),
    };
}

void
admission_clear(Admission *self)
{
    admission_forget(self);
    g_clear_pointer(&self->gated, gated_fields_free);
}

static gboolean
class_is_default(const Object *class)
{
    return g_strcmp0(object_annotation(class, ANNOTATION_DEFAULT_CLASS), "true") == 0 ||
           g_strcmp0(object_annotation(class, ANNOTATION_BETA_DEFAULT_CLASS), "true") == 0;
}

/* Of two default classes the newer one counts, by whole seconds; of equally old ones the one with
 * the smaller name (API-121, PVC-28). */
static gboolean
class_precedes(const Object *a, const Object *b)
{
    SimTime a_at = NANOSECONDS_TO_SECONDS(a->created_at),
            b_at = NANOSECONDS_TO_SECONDS(b->created_at);

    return a_at != b_at ? a_at > b_at : strcmp(object_name(a), object_name(b)) < 0;
}

/* @n: (out): the number of default classes */
static const Object *
default_class(const Admission *self, unsigned *n)
{
    Objects *objects = self->store->objects;
    const Object *best = NULL;

    *n = 0;

    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_STORAGE_CLASS); i++) {
        const Object *class =
            api_store_get(self->store, objects_key_at(objects, KIND_STORAGE_CLASS, i));
        if (class == NULL || !class_is_default(class))
            continue;
        ++*n;
        if (best == NULL || class_precedes(class, best))
            best = class;
    }
    return best;
}

/* API-121: before 1.26 several defaults are an error. */
static ApiCode
set_default_class(const Admission *self, Claim *claim, GString *message)
{
    unsigned n;
    const Object *class = default_class(self, &n);

    if (n > 1 && self->refuses_defaults) {
        g_string_printf(message,
                        "persistentvolumeclaims \"%s\" is forbidden: Internal error occurred: %u "
                        "default StorageClasses were found",
                        object_name(&claim->meta), n);
        return API_FORBIDDEN;
    }
    if (class != NULL)
        claim->class_name = object_name(class);
    return API_OK;
}

static ApiCode
admit_claim(Admission *self, Claim *claim, GString *message)
{
    Objects *objects = self->store->objects;
    ApiCode code = claim->class_name == NULL &&
                           object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_CLASS) == NULL
                       ? set_default_class(self, claim, message)
                       : API_OK;

    if (code != API_OK)
        return code;
    object_add_finalizer(&claim->meta,
                         strings_intern(objects_strings(objects),
                                        FINALIZER_PVC_PROTECTION)); /* API-123, PROT-1, PVC-93 */
    return limit_ranges_check_claim(self->store, claim, message);
}

/* The server sets the status of a new object; the creator's is ignored (API-130, API-133). */
static void
reset_status(Object *object)
{
    g_autoptr(Object) fresh = object_new((ObjectKey *)object->key);

    object_take_fields(object, fresh, TRUE);
}

/* Without PodSchedulingReadiness a pod has no gates. */
static void
open_gates(Pod *pod)
{
    if (pod->spec->scheduling_gates == NULL)
        return;
    PodSpec *spec = pod_spec_without_gates(pod->spec);
    pod_set_spec(pod, spec, pod->volumes);
    pod_spec_unref(spec);
}

/* SCH-43: while gates are closed the pod says so from its first moment. */
static void
tell_of_gates(Admission *self, Pod *pod)
{
    Strings *strings = objects_strings(self->store->objects);

    if (pod->spec->scheduling_gates == NULL || pod->spec->scheduling_gates->n_items == 0)
        return;
    pod->scheduled.status = CONDITION_FALSE;
    pod->scheduled.reason = strings_intern(strings, "SchedulingGated");
    pod->scheduled.message =
        strings_intern(strings, "Scheduling is blocked due to non-empty scheduling gates");
}

/* ---- DefaultTolerationSeconds: NL-13 ---- */

#define DEFAULT_TOLERATION_S 300

/* A toleration without a key or without an effect counts, too. */
static gboolean
tolerates_execution(const Tolerations *tolerations, const char *key)
{
    for (unsigned i = 0; tolerations != NULL && i < tolerations->n_items; i++) {
        const Toleration *toleration = &tolerations->items[i];
        if ((g_str_equal(toleration->key, key) || *toleration->key == '\0') &&
            (toleration->effect == TAINT_NO_EXECUTE || toleration->effect < 0))
            return TRUE;
    }
    return FALSE;
}

/* Returns: (owned): @spec with the tolerations it lacks */
static PodSpec *
add_tolerations(const Admission *self, const PodSpec *spec)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable"};
    Strings *strings = objects_strings(self->store->objects);
    g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(Toleration));

    if (spec->tolerations != NULL)
        g_array_append_vals(items, spec->tolerations->items, spec->tolerations->n_items);
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
        Toleration toleration = {.key = strings_intern(strings, keys[i]),
                                 .value = strings_intern(strings, ""),
                                 .exists = TRUE,
                                 .effect = TAINT_NO_EXECUTE,
                                 .seconds = DEFAULT_TOLERATION_S};
        if (!tolerates_execution(spec->tolerations, keys[i]))
            g_array_append_val(items, toleration);
    }
    if (spec->tolerations != NULL && items->len == spec->tolerations->n_items)
        return pod_spec_ref(spec);
    Tolerations *tolerations = tolerations_new((const Toleration *)(void *)items->data, items->len);
    PodSpec *result = pod_spec_with_tolerations(spec, tolerations);
    tolerations_unref(tolerations);
    return result;
}

static gboolean
has_priority(const PodSpec *spec, const PodPriority *priority)
{
    return spec->priority_class == priority->class && spec->priority == priority->value &&
           spec->preemption_policy == priority->preemption_policy;
}

/* Mutating plugins in their order: LimitRanger, ServiceAccount, Priority, DefaultTolerationSeconds;
 * then the validating LimitRanger. The pods of a template share its spec, and usually come one
 * after the other: they share the admitted spec, too. */
static ApiCode
admit_pod_spec(Admission *self, Pod *pod, GString *message)
{
    PodPriority priority;

    if (self->store->counts[KIND_LIMIT_RANGE] > 0)
        limit_ranges_set(self->store, &self->limited, pod);
    ApiCode code = service_account_admit(self->store, pod, message);
    if (code == API_OK)
        code = priority_admit(self->store, pod, &priority, message);

    if (code != API_OK)
        return code;
    if (self->given != pod->spec || !has_priority(self->admitted, &priority)) {
        forget_spec(self);
        self->given = pod_spec_ref(pod->spec);
        self->admitted = add_tolerations(self, pod->spec);
        if (!has_priority(self->admitted, &priority)) {
            PodSpec *before = self->admitted;
            self->admitted = pod_spec_with_priority(before, &priority);
            pod_spec_unref(before);
        }
    }
    pod_set_spec(pod, self->admitted, pod->volumes);
    return limit_ranges_check_pod(self->store, pod, message);
}

static ApiCode
admit_pod(Admission *self, Pod *pod, GString *message)
{
    pod->meta.generation = self->counts_pods ? 1 : 0;
    if (!self->scheduling_gates)
        open_gates(pod);
    tell_of_gates(self, pod);
    return admit_pod_spec(self, pod, message);
}

/* NL-26: a new node takes no pods until the node lifecycle controller has seen it. */
static void
admit_node(const Admission *self, Node *node)
{
    static const char key[] = "node.kubernetes.io/not-ready";
    Strings *strings = objects_strings(self->store->objects);
    g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(Taint));
    Taint taint = {strings_intern(strings, key), strings_intern(strings, ""), TAINT_NO_SCHEDULE,
                   TIME_UNSET};

    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        const Taint *other = &node->taints->items[i];
        if (other->effect == TAINT_NO_SCHEDULE && g_str_equal(other->key, key))
            return;
        g_array_append_val(items, *other);
    }
    g_array_append_val(items, taint);
    taints_unref(node->taints);
    node->taints = taints_new((const Taint *)(void *)items->data, items->len);
}

/* WL-80: a Job's pods carry its uid as a label, and the Job selects by it, unless the manifest has
 * a selector. */
static void
select_pods_of_job(Admission *self, Job *job)
{
    static const char *const uid_labels[] = {"batch.kubernetes.io/controller-uid",
                                             "controller-uid"};
    static const char *const name_labels[] = {"batch.kubernetes.io/job-name", "job-name"};
    Strings *strings = objects_strings(self->store->objects);
    char buffer[OBJECT_UID_BUFFER];

    if (job->manual_selector || job->selector != NULL || job->template == NULL)
        return;
    const char *uid = strings_intern(strings, object_uid_format(job->meta.uid, buffer));
    StringMap *labels = string_map_ref(job->template->labels);
    for (unsigned i = 0; i < G_N_ELEMENTS(uid_labels); i++) {
        g_autoptr(StringMap) with_uid =
            string_map_with(labels, strings_intern(strings, uid_labels[i]), uid);
        string_map_unref(labels);
        labels = string_map_with(with_uid, strings_intern(strings, name_labels[i]),
                                 object_name(&job->meta));
    }
    PodTemplate *template = pod_template_with_labels(job->template, labels);
    pod_template_unref(job->template);
    job->template = template;
    SelectRequirement requirement = {.key = strings_intern(strings, uid_labels[0]),
                                     .operator= SELECT_IN,
                                     .values = string_list_new(&uid, 1)};
    job->selector = label_selector_new(&requirement, 1);
}

/* API-186. @before: NULL: it is new */
static void
drop_disabled_fields(const Admission *self, Object *object, const Object *before)
{
    gated_fields_drop(self->gated, object, before);
    if (object_kind(object) != KIND_ATTACHMENT || self->error_codes)
        return;
    if (before == NULL || ATTACHMENT(before)->attach_error.code == 0)
        ATTACHMENT(object)->attach_error.code = 0;
    if (before == NULL || ATTACHMENT(before)->detach_error.code == 0)
        ATTACHMENT(object)->detach_error.code = 0;
}

/* API-189: a mode that the release does not know, in a new claim or volume. */
static ApiCode
check_modes(const Admission *self, const Object *object, uint32_t modes, GString *message)
{
    if (self->single_pod_mode || (modes & ACCESS_RWOP) == 0)
        return API_OK;
    g_string_printf(message,
                    "%s \"%s\" is invalid: spec.accessModes: Unsupported value: "
                    "\"ReadWriteOncePod\": supported values: \"ReadOnlyMany\", "
                    "\"ReadWriteMany\", \"ReadWriteOnce\"",
                    kind_class(object_kind(object))->kind, object_name(object));
    return API_INVALID;
}

static ApiCode
admit_new(Admission *self, Object *object, GString *message)
{
    ApiCode code;

    drop_disabled_fields(self, object, NULL);
    switch ((int)object_kind(object)) {
    case KIND_CLAIM:
        reset_status(object);
        claim_drop_disabled_fields(CLAIM(object), NULL, &self->claim_gates);
        claim_drop_odd_source(CLAIM(object), NULL);
        claim_normalize_sources(CLAIM(object), &self->claim_gates);
        code = check_modes(self, object, CLAIM(object)->access_modes, message);
        return code != API_OK ? code : admit_claim(self, CLAIM(object), message);
    case KIND_VOLUME:
        reset_status(object);
        if (self->phase_times)
            VOLUME(object)->phase_changed_at = object->created_at;
        object_add_finalizer(
            object, strings_intern(objects_strings(self->store->objects), FINALIZER_PV_PROTECTION));
        return check_modes(self, object, VOLUME(object)->access_modes, message);
    case KIND_ATTRIBUTES_CLASS: /* VAC-11 */
        if (self->claim_gates.attributes_classes)
            object_add_finalizer(object, strings_intern(objects_strings(self->store->objects),
                                                        FINALIZER_VAC_PROTECTION));
        break;
    case KIND_POD:
        reset_status(object);
        return admit_pod(self, POD(object), message);
    case KIND_PRIORITY_CLASS: /* API-191 */
        return priority_check_class(self->store, PRIORITY_CLASS_CONST(object), message);
    case KIND_NODE: /* a kubelet registers with its status */
        admit_node(self, NODE(object));
        break;
    case KIND_NAMESPACE:
    case KIND_ATTACHMENT:
    case KIND_DISRUPTION_BUDGET:
    case KIND_RESOURCE_QUOTA: /* in force once the quota controller has counted */
        reset_status(object);
        break;
    case KIND_JOB:
        reset_status(object);
        select_pods_of_job(self, JOB(object));
        break;
    default: /* custom resources and Secrets stay as they were created */
        if (kind_class(object_kind(object))->workload != NULL)
            reset_status(object);
        break;
    }
    return API_OK;
}

ApiCode
admission_create(Admission *self, Object *object, GString *message)
{
    ApiCode code = admit_new(self, object, message);

    return code == API_OK ? quota_admit(self->store, NULL, object, message) : code;
}

/* The changes that components make: the volume's name, once, and the class, once. */
static gboolean
is_bind_only(const Claim *before, const Claim *after)
{
    g_autoptr(Object) bound = object_edit(&before->meta);

    if (claim_volume_name(before)[0] == '\0')
        CLAIM(bound)->volume_name = after->volume_name;
    if (before->class_name == NULL &&
        object_annotation(&before->meta, ANNOTATION_BETA_STORAGE_CLASS) == NULL)
        CLAIM(bound)->class_name = after->class_name;
    return object_spec_equal(bound, &after->meta);
}

/* API-124: a validating plugin, so it comes after validation, which has refused claims that are not
 * bound. A refusal is 403 with the words of the plugin (API-21). */
static ApiCode
check_resize(Admission *self, const Claim *before, const Claim *after, GString *message)
{
    Objects *objects = self->store->objects;
    const char *name = object_name(&before->meta);

    if (after->request_bytes <= before->request_bytes)
        return API_OK;
    ObjectKey *key = objects_find_key(objects, KIND_STORAGE_CLASS, NULL, claim_class(before));
    const StorageClass *class = key == NULL ? NULL : STORAGE_CLASS(api_store_get(self->store, key));
    if (class != NULL && class->allow_expansion)
        return API_OK;
    g_string_printf(
        message,
        "persistentvolumeclaims \"%s\" is forbidden: only dynamically provisioned pvc can be "
        "resized and the storageclass that provisions the pvc must support resize",
        name);
    return API_FORBIDDEN;
}

/* PVC-92. */
static ApiCode
admission_check_claim(
    Admission *self, const Claim *before, Claim *after, gboolean status, GString *message)
{
    UpdateGates gates = {.recovers = !self->keeps_requests,
                         .attributes_classes = self->claim_gates.attributes_classes};

    if (status) {
        claim_drop_disabled_status(after, before, &self->claim_gates);
        return API_OK;
    }
    if (is_bind_only(before, after))
        return API_OK;
    claim_drop_disabled_fields(after, before, &self->claim_gates);
    claim_drop_odd_source(after, before);
    ApiCode code = validation_update(&before->meta, &after->meta, &gates, message);
    return code != API_OK ? code : check_resize(self, before, after, message);
}

/* API-197: plugin/pkg/admission/podtopologylabels; the node's value replaces a label of the pod. */
static void
copy_topology(const Admission *self, Pod *pod, const char *node)
{
    static const char *const keys[] = {"topology.kubernetes.io/zone",
                                       "topology.kubernetes.io/region"};
    const ObjectKey *key = objects_find_key(self->store->objects, KIND_NODE, "", node);
    const Object *found = key == NULL ? NULL : api_store_get(self->store, key);

    for (gsize i = 0; found != NULL && i < G_N_ELEMENTS(keys); i++) {
        const char *value = object_label(found, keys[i]);
        if (value != NULL)
            object_set_label(&pod->meta,
                             strings_intern(objects_strings(self->store->objects), keys[i]), value);
    }
}

void
admission_bind(const Admission *self, Pod *pod, const char *node)
{
    pod->node_name = node;
    pod->scheduled =
        (PodCondition){.status = CONDITION_TRUE, .changed_at = sim_now(self->store->sim)};
    if (self->ends_nomination)
        pod->nominated_node = NULL;
    if (self->copies_topology)
        copy_topology(self, pod, node);
}

/* API-52: an object that is being deleted gets no new finalizer. */
static ApiCode
check_finalizers(const Object *before, const Object *after, GString *message)
{
    for (unsigned i = 0; after->finalizers != NULL && i < after->finalizers->n_items; i++)
        if (!string_list_has(before->finalizers, after->finalizers->items[i])) {
            g_string_printf(
                message,
                "%s \"%s\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be "
                "added if the object is being deleted, found new finalizers []string{\"%s\"}",
                kind_class(object_kind(before))->kind, object_name(before),
                after->finalizers->items[i]);
            return API_INVALID;
        }
    return API_OK;
}

static ApiCode
check_update(
    Admission *self, const Object *before, Object *after, gboolean status, GString *message)
{
    UpdateGates gates = {.attributes_classes = self->claim_gates.attributes_classes};

    if (object_is_deleted(before) && before->finalizers != after->finalizers) {
        ApiCode code = check_finalizers(before, after, message);
        if (code != API_OK)
            return code;
    }
    if (object_kind(before) == KIND_CLAIM)
        return admission_check_claim(self, CLAIM_CONST(before), CLAIM(after), status, message);
    drop_disabled_fields(self, after, before);
    ApiCode code = status ? API_OK : validation_update(before, after, &gates, message);
    if (code == API_OK && object_kind(before) == KIND_PRIORITY_CLASS)
        code = priority_check_class(self->store, PRIORITY_CLASS_CONST(after), message);
    if (code == API_OK && object_kind(before) == KIND_VOLUME && self->phase_times &&
        VOLUME_CONST(before)->phase != VOLUME_CONST(after)->phase) /* API-134 */
        VOLUME(after)->phase_changed_at = sim_now(self->store->sim);
    return code;
}

ApiCode
admission_update(
    Admission *self, const Object *before, Object *after, gboolean status, GString *message)
{
    ApiCode code = check_update(self, before, after, status, message);

    if (code == API_OK && object_kind(before) == KIND_CLAIM && !status &&
        !object_is_deleted(before))
        code = limit_ranges_check_claim(self->store, CLAIM_CONST(after), message);
    return code;
}
