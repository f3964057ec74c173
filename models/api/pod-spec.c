/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a pod's spec that the scheduler and the kubelet read, and the manifest for the rest.
 * A spec is shared by all versions of a pod and all pods of a template, so a changed spec is a
 * copy. Two specs ask the same of a kubelet if, beside the typed members, the rest of the manifests
 * is the same, too. */
#include <string.h>

#include "pod-private.h"

#define DEFAULT_GRACE_S 30

/* ValidatePodSecurityContext() */
static void
group_id_parse(ApiParser *parser, const json_t *value, void *field)
{
    int64_t group = -1;

    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= G_MAXINT32)
        group = json_integer_value(value);
    else
        api_parser_invalid(parser, value, NULL, "must be between 0 and 2147483647, inclusive");
    *(int64_t *)field = group;
}

static const FieldType group_id_type = {
    .size = sizeof(int64_t),
    .parse = group_id_parse,
    .to_json = field_int64_to_json,
};

const FieldType field_preemption_policy = {FIELD_WORDS("PreemptLowerPriority", "Never")};

#define REQUIRED_TERMS "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_TERMS "preferredDuringSchedulingIgnoredDuringExecution"

static const Field pod_spec_fields[] = {
    /* clang-format off */
    FIELD("nodeSelector", field_labels, PodSpec, node_selector, FIELD_SPEC),
    FIELD("affinity.nodeAffinity." REQUIRED_TERMS, field_node_selector, PodSpec, required_nodes, FIELD_SPEC),
    FIELD("affinity.nodeAffinity." PREFERRED_TERMS, field_preferred_nodes, PodSpec, preferred_nodes, FIELD_SPEC),
    FIELD("tolerations", field_tolerations, PodSpec, tolerations, FIELD_SPEC),
    FIELD("schedulingGates", field_names, PodSpec, scheduling_gates, FIELD_SPEC),
    FIELD_WHOLE("affinity.podAffinity." REQUIRED_TERMS, field_affinity_required, FIELD_SPEC),
    FIELD_WHOLE("affinity.podAffinity." PREFERRED_TERMS, field_affinity_preferred, FIELD_SPEC),
    FIELD_WHOLE(
        "affinity.podAntiAffinity." REQUIRED_TERMS, field_anti_affinity_required, FIELD_SPEC),
    FIELD_WHOLE(
        "affinity.podAntiAffinity." PREFERRED_TERMS, field_anti_affinity_preferred, FIELD_SPEC),
    FIELD_WHOLE("topologySpreadConstraints", field_topology_spread, FIELD_SPEC),
    FIELD("schedulerName", field_string, PodSpec, scheduler_name, FIELD_SPEC),
    FIELD("restartPolicy", field_string, PodSpec, restart_policy, FIELD_SPEC),
    FIELD("terminationGracePeriodSeconds", field_int, PodSpec, grace_s, FIELD_NATURAL),
    /* Admission writes 0 and the default policy into pods, but not into templates. */
    FIELD("priority", field_int, PodSpec, priority, FIELD_OPTIONAL),
    FIELD("priorityClassName", field_word, PodSpec, priority_class, FIELD_SPEC),
    FIELD("preemptionPolicy", field_preemption_policy, PodSpec, preemption_policy, FIELD_OPTIONAL),
    FIELD("serviceAccountName", field_string, PodSpec, service_account, FIELD_SPEC),
    FIELD("securityContext.fsGroup", group_id_type, PodSpec, fs_group, FIELD_SPEC),
    FIELD("securityContext.seLinuxChangePolicy", field_string, PodSpec, selinux_policy, FIELD_SPEC),
    FIELD("securityContext.seLinuxOptions.user", field_string, PodSpec, selinux.user, FIELD_SPEC),
    FIELD("securityContext.seLinuxOptions.role", field_string, PodSpec, selinux.role, FIELD_SPEC),
    FIELD("securityContext.seLinuxOptions.type", field_string, PodSpec, selinux.type, FIELD_SPEC),
    FIELD("securityContext.seLinuxOptions.level", field_string, PodSpec, selinux.level, FIELD_SPEC),
    FIELD("securityContext.fsGroupChangePolicy", field_string, PodSpec, fs_group_policy, FIELD_SPEC),
    FIELDS_END,
    /* clang-format on */
};

PodSpec *
pod_spec_new(void)
{
    PodSpec *self = g_new0(PodSpec, 1);

    self->refs = REF_COUNT_ONE;
    self->scheduler_name = "default-scheduler";
    self->restart_policy = "Always";
    self->grace_s = DEFAULT_GRACE_S;
    self->fs_group = -1;
    return self;
}

static void
pod_spec_free(PodSpec *self)
{
    fields_clear(pod_spec_fields, self);
    for (unsigned i = 0; i < self->n_pod_terms; i++) {
        label_selector_unref(self->pod_terms[i].selector);
        string_list_unref(self->pod_terms[i].namespaces);
    }
    g_free(self->pod_terms);
    g_free(self->containers);
    for (unsigned i = 0; i < self->n_spread; i++)
        label_selector_unref(self->spread[i].selector);
    g_free(self->spread);
    string_list_unref(self->mounts);
    string_list_unref(self->devices);
    json_decref(self->manifest);
    g_free(self);
}

REF_COUNTED_DEFINE(PodSpec, pod_spec, pod_spec_free)

PodSpec *
pod_spec_with_tolerations(const PodSpec *self, const Tolerations *tolerations)
{
    return pod_spec_for_nodes(self, tolerations, self->required_nodes);
}

PodSpec *
pod_spec_with_priority(const PodSpec *self, const PodPriority *priority)
{
    PodSpec *copy = pod_spec_for_nodes(self, self->tolerations, self->required_nodes);

    copy->priority_class = priority->class;
    copy->priority = priority->value;
    copy->preemption_policy = priority->preemption_policy;
    return copy;
}

PodSpec *
pod_spec_without_gates(const PodSpec *self)
{
    PodSpec *copy = pod_spec_for_nodes(self, self->tolerations, self->required_nodes);

    g_clear_pointer(&copy->scheduling_gates, string_list_unref);
    return copy;
}

PodSpec *
pod_spec_for_nodes(const PodSpec *self,
                   const Tolerations *tolerations,
                   const NodeSelector *required)
{
    PodSpec *copy = g_memdup2(self, sizeof *self);

    copy->refs = REF_COUNT_ONE;
    copy->tolerations = (Tolerations *)tolerations; /* counted */
    copy->required_nodes = (NodeSelector *)required;
    fields_ref(pod_spec_fields, copy);
    string_list_ref(copy->mounts);
    string_list_ref(copy->devices);
    json_incref(copy->manifest);
    copy->containers = g_memdup2(self->containers, self->n_containers * sizeof *self->containers);
    copy->pod_terms = g_memdup2(self->pod_terms, self->n_pod_terms * sizeof *self->pod_terms);
    for (unsigned i = 0; i < copy->n_pod_terms; i++) {
        label_selector_ref(copy->pod_terms[i].selector);
        string_list_ref(copy->pod_terms[i].namespaces);
    }
    copy->spread = g_memdup2(self->spread, self->n_spread * sizeof *self->spread);
    for (unsigned i = 0; i < copy->n_spread; i++)
        label_selector_ref(copy->spread[i].selector);
    return copy;
}

static gboolean
has_empty_dir(const json_t *spec)
{
    const json_t *volumes = json_object_get(spec, "volumes");

    for (size_t i = 0; i < json_array_size(volumes); i++)
        if (json_object_get(json_array_get(volumes, i), "emptyDir") != NULL)
            return TRUE;
    return FALSE;
}

static void
pod_spec_parse(ApiParser *parser, const json_t *value, void *field)
{
    PodSpec **slot = field;
    PodSpec *spec = pod_spec_new();

    fields_parse(parser, value, pod_spec_fields, spec);
    if (json_is_object(value)) {
        pod_containers_parse(parser, value, spec);
        spec->gives_priority = json_object_get(value, "priority") != NULL;
        spec->has_empty_dir = has_empty_dir(value);
        spec->manifest = json_incref((json_t *)value); /* kept as it is */
    }
    pod_spec_unref(*slot);
    *slot = spec;
}

static gboolean
pod_spec_equal(const PodSpec *a, const PodSpec *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           pod_containers_equal(a, b) && string_list_equal(a->mounts, b->mounts) &&
           string_list_equal(a->devices, b->devices) && fields_equal(pod_spec_fields, a, b);
}

static gboolean
is_same_value(const json_t *a, const json_t *b)
{
    return a == b || (a != NULL && b != NULL && json_equal(a, b));
}

/* Members that no model reads and that a kubelet acts upon. */
static gboolean
asks_same_rest(const json_t *a, const json_t *b)
{
    static const char *const lists[] = {"containers", "initContainers"};

    if (!is_same_value(json_object_get(a, "activeDeadlineSeconds"),
                       json_object_get(b, "activeDeadlineSeconds")) ||
        !is_same_value(json_object_get(a, "ephemeralContainers"),
                       json_object_get(b, "ephemeralContainers")))
        return FALSE;
    for (gsize k = 0; k < G_N_ELEMENTS(lists); k++) {
        const json_t *x = json_object_get(a, lists[k]), *y = json_object_get(b, lists[k]);
        for (size_t i = 0; i < MIN(json_array_size(x), json_array_size(y)); i++)
            if (!is_same_value(json_path_get(json_array_get(x, i), "resources.limits"),
                               json_path_get(json_array_get(y, i), "resources.limits")))
                return FALSE;
    }
    return TRUE;
}

gboolean
pod_spec_asks_same(const PodSpec *self, const PodSpec *other)
{
    PodSpec a = *self, b = *other;

    a.service_account = b.service_account = NULL;
    return self == other ||
           (a.cpu_milli == b.cpu_milli && a.memory_bytes == b.memory_bytes &&
            pod_containers_equal(&a, &b) && fields_equal(pod_spec_fields, &a, &b) &&
            asks_same_rest(a.manifest, b.manifest));
}

static json_t *
pod_spec_over(const void *field, const json_t *manifest)
{
    const PodSpec *spec = *(PodSpec *const *)field;

    if (spec == NULL)
        return json_incref((json_t *)manifest); /* only counted */
    json_t *object =
        fields_to_json(pod_spec_fields, spec, manifest != NULL ? manifest : spec->manifest);
    if (spec->containers != NULL && json_object_get(object, "containers") == NULL)
        json_object_set_new(object, "containers", pod_containers_to_json(spec));
    return object;
}

const FieldType field_pod_spec = {
    FIELD_SHARED(pod_spec),
    .parse = pod_spec_parse,
    .over = pod_spec_over,
};
