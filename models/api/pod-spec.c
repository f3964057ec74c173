/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "pod-private.h"

/* A pod's spec: what scheduling and the kubelet need of it. The containers themselves stay in the
 * manifest. */

#define DEFAULT_GRACE_S 30

static const char *const restart_policies[] = {"Always", "Never", "OnFailure", NULL};
static const char *const unsatisfiable_words[] = {"ScheduleAnyway", "DoNotSchedule", NULL};

PodSpec *
pod_spec_new(void)
{
    PodSpec *self = g_new0(PodSpec, 1);

    self->refs = REF_COUNT_ONE;
    self->scheduler_name = "default-scheduler";
    self->restart_policy = "Always";
    self->grace_s = DEFAULT_GRACE_S;
    return self;
}

static void
pod_spec_free(PodSpec *self)
{
    string_map_unref(self->node_selector);
    node_selector_unref(self->required_nodes);
    node_selector_unref(self->preferred_nodes);
    tolerations_unref(self->tolerations);
    string_list_unref(self->scheduling_gates);
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
    g_free(self);
}

REF_COUNTED_DEFINE(PodSpec, pod_spec, pod_spec_free)

PodSpec *
pod_spec_with_tolerations(const PodSpec *self, const Tolerations *tolerations)
{
    return pod_spec_for_nodes(self, tolerations, self->required_nodes);
}

PodSpec *
pod_spec_for_nodes(const PodSpec *self,
                   const Tolerations *tolerations,
                   const NodeSelector *required)
{
    PodSpec *copy = g_memdup2(self, sizeof *self);

    copy->refs = REF_COUNT_ONE;
    copy->tolerations = tolerations == NULL ? NULL : tolerations_ref(tolerations);
    copy->required_nodes = node_selector_ref(required);
    string_map_ref(copy->node_selector);
    node_selector_ref(copy->preferred_nodes);
    string_list_ref(copy->scheduling_gates);
    string_list_ref(copy->mounts);
    string_list_ref(copy->devices);
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

static void
restart_policy_parse(ApiParser *parser, const json_t *value, void *field)
{
    field_string.parse(parser, value, field);
    if (json_is_string(value) && !word_is_among(json_string_value(value), restart_policies))
        api_parser_unsupported(parser, value, restart_policies);
}

static gboolean
text_equal(const void *a, const void *b)
{
    return field_string.equal(a, b);
}

static json_t *
text_to_json(const void *field)
{
    return field_string.to_json(field);
}

static const FieldType restart_policy_type = {
    .name = "restart policy",
    .size = sizeof(const char *),
    .equal = text_equal,
    .parse = restart_policy_parse,
    .to_json = text_to_json,
};

static void
grace_parse(ApiParser *parser, const json_t *value, void *field)
{
    field_int.parse(parser, value, field);
    if (json_is_integer(value) && json_integer_value(value) < 0)
        api_parser_invalid(parser, value, NULL, "must be greater than or equal to 0");
}

static gboolean
number_equal(const void *a, const void *b)
{
    return field_int.equal(a, b);
}

static json_t *
number_to_json(const void *field)
{
    return field_int.to_json(field);
}

static const FieldType grace_type = {
    .name = "integer",
    .size = sizeof(int32_t),
    .equal = number_equal,
    .parse = grace_parse,
    .to_json = number_to_json,
};

/* Admission writes 0 into pods, but not into templates. */
static json_t *
priority_over(const void *field, const json_t *manifest)
{
    return *(const int32_t *)field == 0 && manifest == NULL ? NULL : number_to_json(field);
}

static void
priority_parse(ApiParser *parser, const json_t *value, void *field)
{
    field_int.parse(parser, value, field);
}

static const FieldType priority_type = {
    .name = "integer",
    .size = sizeof(int32_t),
    .equal = number_equal,
    .parse = priority_parse,
    .over = priority_over,
};

static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};

/* The default is written by admission, too. */
static json_t *
preemption_policy_over(const void *field, const json_t *manifest)
{
    uint32_t policy = *(const uint32_t *)field;

    return policy == PREEMPT_LOWER_PRIORITY && manifest == NULL
               ? NULL
               : json_string(preemption_policies[policy]);
}

static const FieldType preemption_policy_type = {
    .name = "preemption policy",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .over = preemption_policy_over,
    .words = preemption_policies,
};

static void
names_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const Field fields[] = {
        FIELD_WHOLE("name", field_string, FIELD_REQUIRED),
        FIELDS_END,
    };
    static const char *const ignored[] = {"devicePath", NULL}; /* of status.volumesAttached */
    static const char *const initial = NULL;
    StringList **list = field;
    unsigned n, n_names = 0;
    g_autofree const char **names =
        items_parse(parser, value, fields, ignored, &initial, sizeof initial, &n);

    for (unsigned i = 0; i < n; i++)
        if (names[i] != NULL)
            names[n_names++] = names[i];
    string_list_unref(*list);
    *list = string_list_new(names, n_names);
}

static json_t *
names_to_json(const void *field)
{
    const StringList *list = *(StringList *const *)field;

    if (list == NULL)
        return NULL;
    json_t *array = json_array();
    for (unsigned i = 0; i < list->n_items; i++)
        json_array_append_new(array, json_pack("{s:s}", "name", list->items[i]));
    return array;
}

static void
names_clear(void *field)
{
    g_clear_pointer((StringList **)field, string_list_unref);
}

static gboolean
names_equal(const void *a, const void *b)
{
    return string_list_equal(*(StringList *const *)a, *(StringList *const *)b);
}

const FieldType field_names = {
    .name = "names",
    .size = sizeof(StringList *),
    .ref = field_counted_ref,
    .clear = names_clear,
    .equal = names_equal,
    .parse = names_parse,
    .to_json = names_to_json,
};

static const Field term_fields[] = {
    FIELD("labelSelector", field_label_selector, PodAffinityTerm, selector, FIELD_SPEC),
    FIELD("namespaces", field_string_list, PodAffinityTerm, namespaces, FIELD_SPEC),
    FIELD("topologyKey", field_string, PodAffinityTerm, topology_key, FIELD_REQUIRED),
    FIELDS_END,
};
static const char *const term_ignored[] = {"namespaceSelector", "matchLabelKeys",
                                           "mismatchLabelKeys", NULL};

static const Field weighted_term_fields[] = {
    FIELD("podAffinityTerm.labelSelector",
          field_label_selector,
          PodAffinityTerm,
          selector,
          FIELD_SPEC),
    FIELD("podAffinityTerm.namespaces", field_string_list, PodAffinityTerm, namespaces, FIELD_SPEC),
    FIELD(
        "podAffinityTerm.topologyKey", field_string, PodAffinityTerm, topology_key, FIELD_REQUIRED),
    FIELD("weight", field_int, PodAffinityTerm, weight, FIELD_REQUIRED),
    FIELDS_END,
};
static const char *const weighted_term_ignored[] = {
    "podAffinityTerm.namespaceSelector",
    "podAffinityTerm.matchLabelKeys",
    "podAffinityTerm.mismatchLabelKeys",
    NULL,
};

/* The four lists of pod affinity are one in PodSpec: these fields are of the whole struct. */
static void
terms_parse(ApiParser *parser, const json_t *value, PodSpec *spec, gboolean anti, gboolean weighted)
{
    const PodAffinityTerm initial = {.anti = anti};
    unsigned n;
    g_autofree PodAffinityTerm *terms =
        items_parse(parser, value, weighted ? weighted_term_fields : term_fields,
                    weighted ? weighted_term_ignored : term_ignored, &initial, sizeof initial, &n);

    for (unsigned i = 0; i < n; i++)
        if (weighted && (terms[i].weight < 1 || terms[i].weight > 100)) {
            gsize length = api_parser_enter_index(parser, i);
            gsize inner = api_parser_enter(parser, "weight");
            api_parser_fault(parser, json_array_get(value, i), NULL,
                             "Invalid value: %d: must be in the range 1-100", terms[i].weight);
            api_parser_leave(parser, inner);
            api_parser_leave(parser, length);
            terms[i].weight = 1; /* not a required one */
        }
    if (n == 0)
        return;
    spec->pod_terms = g_renew(PodAffinityTerm, spec->pod_terms, spec->n_pod_terms + n);
    memcpy(spec->pod_terms + spec->n_pod_terms, terms, n * sizeof terms[0]);
    spec->n_pod_terms += n;
}

static json_t *
terms_to_json(const PodSpec *spec, gboolean anti, gboolean weighted)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &spec->pod_terms[i];
        if (!term->anti == !anti && (term->weight > 0) == (weighted != FALSE))
            json_array_append_new(
                array, fields_to_json(weighted ? weighted_term_fields : term_fields, term, NULL));
    }
    if (json_array_size(array) == 0)
        g_clear_pointer(&array, json_decref);
    return array;
}

/* A term's untyped keys are kept as long as the list has its length; terms never change. */
static json_t *
terms_over(const PodSpec *spec, const json_t *manifest, gboolean anti, gboolean weighted)
{
    json_t *fresh = terms_to_json(spec, anti, weighted);

    if (fresh == NULL || json_array_size(fresh) != json_array_size(manifest))
        return fresh;
    json_decref(fresh);
    return json_incref((json_t *)manifest); /* only counted */
}

static gboolean
terms_equal(const void *a, const void *b)
{
    const PodSpec *x = a, *y = b;

    if (x->n_pod_terms != y->n_pod_terms)
        return FALSE;
    for (unsigned i = 0; i < x->n_pod_terms; i++)
        if (!fields_equal(term_fields, &x->pod_terms[i], &y->pod_terms[i]) ||
            x->pod_terms[i].weight != y->pod_terms[i].weight ||
            x->pod_terms[i].anti != y->pod_terms[i].anti)
            return FALSE;
    return TRUE;
}

static void
near_required_parse(ApiParser *parser, const json_t *value, void *field)
{
    terms_parse(parser, value, field, FALSE, FALSE);
}

static void
near_preferred_parse(ApiParser *parser, const json_t *value, void *field)
{
    terms_parse(parser, value, field, FALSE, TRUE);
}

static void
apart_required_parse(ApiParser *parser, const json_t *value, void *field)
{
    terms_parse(parser, value, field, TRUE, FALSE);
}

static void
apart_preferred_parse(ApiParser *parser, const json_t *value, void *field)
{
    terms_parse(parser, value, field, TRUE, TRUE);
}

static json_t *
near_required_over(const void *field, const json_t *manifest)
{
    return terms_over(field, manifest, FALSE, FALSE);
}

static json_t *
near_preferred_over(const void *field, const json_t *manifest)
{
    return terms_over(field, manifest, FALSE, TRUE);
}

static json_t *
apart_required_over(const void *field, const json_t *manifest)
{
    return terms_over(field, manifest, TRUE, FALSE);
}

static json_t *
apart_preferred_over(const void *field, const json_t *manifest)
{
    return terms_over(field, manifest, TRUE, TRUE);
}

static const FieldType near_required_type = {
    .name = "pod affinity terms",
    .equal = terms_equal,
    .parse = near_required_parse,
    .over = near_required_over,
};
static const FieldType near_preferred_type = {
    .name = "pod affinity terms",
    .equal = terms_equal,
    .parse = near_preferred_parse,
    .over = near_preferred_over,
};
static const FieldType apart_required_type = {
    .name = "pod affinity terms",
    .equal = terms_equal,
    .parse = apart_required_parse,
    .over = apart_required_over,
};
static const FieldType apart_preferred_type = {
    .name = "pod affinity terms",
    .equal = terms_equal,
    .parse = apart_preferred_parse,
    .over = apart_preferred_over,
};

static const FieldType unsatisfiable_type = {
    .name = "whenUnsatisfiable",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = unsatisfiable_words,
};

static const Field spread_fields[] = {
    FIELD("labelSelector", field_label_selector, SpreadConstraint, selector, FIELD_SPEC),
    FIELD("topologyKey", field_string, SpreadConstraint, topology_key, FIELD_REQUIRED),
    FIELD("maxSkew", field_int, SpreadConstraint, max_skew, FIELD_REQUIRED),
    FIELD("minDomains", field_count, SpreadConstraint, min_domains, FIELD_SPEC),
    FIELD(
        "whenUnsatisfiable", unsatisfiable_type, SpreadConstraint, do_not_schedule, FIELD_REQUIRED),
    FIELDS_END,
};
static const char *const spread_ignored[] = {"matchLabelKeys", "nodeAffinityPolicy",
                                             "nodeTaintsPolicy", NULL};

static void
spread_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const SpreadConstraint initial;
    PodSpec *spec = field;

    spec->spread = items_parse(parser, value, spread_fields, spread_ignored, &initial,
                               sizeof initial, &spec->n_spread);
    for (unsigned i = 0; i < spec->n_spread; i++) {
        const json_t *skew = json_path_get(json_array_get(value, i), "maxSkew");
        if (spec->spread[i].max_skew > 0 || !json_is_integer(skew))
            continue;
        gsize length = api_parser_enter_index(parser, i);
        gsize inner = api_parser_enter(parser, "maxSkew");
        api_parser_invalid(parser, skew, NULL, "must be greater than zero");
        api_parser_leave(parser, inner);
        api_parser_leave(parser, length);
    }
}

static gboolean
spread_equal(const void *a, const void *b)
{
    const PodSpec *x = a, *y = b;

    return items_equal(spread_fields, x->spread, x->n_spread, y->spread, y->n_spread,
                       sizeof x->spread[0]);
}

static json_t *
spread_over(const void *field, const json_t *manifest)
{
    const PodSpec *spec = field;

    return items_to_json(spread_fields, spec->spread, spec->n_spread, sizeof spec->spread[0],
                         manifest);
}

/* Of the whole struct, too. */
static const FieldType spread_type = {
    .name = "topology spread constraints",
    .equal = spread_equal,
    .parse = spread_parse,
    .over = spread_over,
};

#define REQUIRED_TERMS "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_TERMS "preferredDuringSchedulingIgnoredDuringExecution"

static const Field pod_spec_fields[] = {
    FIELD("nodeSelector", field_labels, PodSpec, node_selector, FIELD_SPEC),
    FIELD("affinity.nodeAffinity." REQUIRED_TERMS,
          field_node_selector,
          PodSpec,
          required_nodes,
          FIELD_SPEC),
    FIELD("affinity.nodeAffinity." PREFERRED_TERMS,
          field_preferred_nodes,
          PodSpec,
          preferred_nodes,
          FIELD_SPEC),
    FIELD("tolerations", field_tolerations, PodSpec, tolerations, FIELD_SPEC),
    FIELD("schedulingGates", field_names, PodSpec, scheduling_gates, FIELD_SPEC),
    FIELD_WHOLE("affinity.podAffinity." REQUIRED_TERMS, near_required_type, FIELD_SPEC),
    FIELD_WHOLE("affinity.podAffinity." PREFERRED_TERMS, near_preferred_type, FIELD_SPEC),
    FIELD_WHOLE("affinity.podAntiAffinity." REQUIRED_TERMS, apart_required_type, FIELD_SPEC),
    FIELD_WHOLE("affinity.podAntiAffinity." PREFERRED_TERMS, apart_preferred_type, FIELD_SPEC),
    FIELD_WHOLE("topologySpreadConstraints", spread_type, FIELD_SPEC),
    FIELD("schedulerName", field_string, PodSpec, scheduler_name, FIELD_SPEC),
    FIELD("restartPolicy", restart_policy_type, PodSpec, restart_policy, FIELD_SPEC),
    FIELD("terminationGracePeriodSeconds", grace_type, PodSpec, grace_s, FIELD_SPEC),
    FIELD("priority", priority_type, PodSpec, priority, FIELD_SPEC),
    FIELD("preemptionPolicy", preemption_policy_type, PodSpec, preemption_policy, FIELD_SPEC),
    FIELDS_END,
};

/* Read below and in pod.c, or by no model. */
static const char *const pod_spec_ignored[] = {
    "activeDeadlineSeconds",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "os",
    "overhead",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "resources",
    "runtimeClassName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "volumes",
    NULL,
};

typedef struct {
    int64_t cpu_milli, memory_bytes;
} Requests;

typedef struct {
    const char *name, *image, *restart_policy;
    Requests requests, limits; /* -1: not given */
    StringList *mounts, *devices;
} Container;

typedef struct {
    const char *name, *path;
} Mount;

static const Field mount_fields[] = {
    FIELD("name", field_string, Mount, name, FIELD_REQUIRED),
    FIELD("mountPath", field_string, Mount, path, FIELD_REQUIRED),
    FIELDS_END,
};
static const char *const mount_ignored[] = {"readOnly",    "recursiveReadOnly", "subPath",
                                            "subPathExpr", "mountPropagation",  NULL};
static const Field device_fields[] = {
    FIELD("name", field_string, Mount, name, FIELD_REQUIRED),
    FIELD("devicePath", field_string, Mount, path, FIELD_REQUIRED),
    FIELDS_END,
};

/* The names in a list of mounts are added to those of the containers before. */
static void
mount_names_parse(ApiParser *parser,
                  const json_t *value,
                  const Field *fields,
                  const char *const *ignored,
                  StringList **names)
{
    static const Mount initial;
    unsigned n;
    g_autofree Mount *mounts =
        items_parse(parser, value, fields, ignored, &initial, sizeof initial, &n);

    for (unsigned i = 0; i < n; i++) {
        if (mounts[i].name == NULL)
            continue;
        StringList *old = *names;
        *names = string_list_with(old, mounts[i].name);
        string_list_unref(old);
    }
}

static void
mounts_parse(ApiParser *parser, const json_t *value, void *field)
{
    mount_names_parse(parser, value, mount_fields, mount_ignored, field);
}

static void
devices_parse(ApiParser *parser, const json_t *value, void *field)
{
    mount_names_parse(parser, value, device_fields, NULL, field);
}

static const FieldType mounts_type = {.name = "volume mounts", .parse = mounts_parse};
static const FieldType devices_type = {.name = "volume devices", .parse = devices_parse};

static const Field container_fields[] = {
    FIELD("name", field_string, Container, name, FIELD_REQUIRED),
    FIELD("image", field_word, Container, image, FIELD_SPEC),
    FIELD("restartPolicy", field_word, Container, restart_policy, FIELD_SPEC),
    FIELD("resources.requests.cpu", field_milli, Container, requests.cpu_milli, FIELD_SPEC),
    FIELD(
        "resources.requests.memory", field_quantity, Container, requests.memory_bytes, FIELD_SPEC),
    FIELD("resources.limits.cpu", field_milli, Container, limits.cpu_milli, FIELD_SPEC),
    FIELD("resources.limits.memory", field_quantity, Container, limits.memory_bytes, FIELD_SPEC),
    FIELD("volumeMounts", mounts_type, Container, mounts, FIELD_SPEC),
    FIELD("volumeDevices", devices_type, Container, devices, FIELD_SPEC),
    FIELDS_END,
};
static const char *const container_ignored[] = {
    "args",
    "command",
    "env",
    "envFrom",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "resources.claims",
    "resources.limits",
    "resources.requests",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "workingDir",
    NULL,
};

static void
check_limit(ApiParser *parser,
            const json_t *container,
            const char *resource,
            int64_t request,
            int64_t limit)
{
    gsize length = api_parser_enter(parser, "resources.requests");
    g_autofree char *path = g_strdup_printf("resources.requests.%s", resource);
    g_autofree char *limit_path = g_strdup_printf("resources.limits.%s", resource);

    if (limit >= 0 && request > limit) {
        const json_t *given = json_path_get(container, path);
        char *text = json_dumps(given, JSON_ENCODE_ANY);
        char *limit_text = json_dumps(json_path_get(container, limit_path), JSON_ENCODE_ANY);
        api_parser_fault(parser, given, NULL,
                         "Invalid value: %s: must be less than or equal to %s limit of %.*s", text,
                         resource, (int)strcspn(limit_text + (*limit_text == '"'), "\""),
                         limit_text + (*limit_text == '"'));
        free(text);
        free(limit_text);
    }
    api_parser_leave(parser, length);
}

/* What the scheduler counts: the requests; the API server fills in limits where only they are
 * given. */
static Requests
container_requests(ApiParser *parser, const json_t *value, const Container *container)
{
    Requests requests = container->requests;

    check_limit(parser, value, "cpu", requests.cpu_milli, container->limits.cpu_milli);
    check_limit(parser, value, "memory", requests.memory_bytes, container->limits.memory_bytes);
    if (requests.cpu_milli < 0)
        requests.cpu_milli = MAX(container->limits.cpu_milli, 0);
    if (requests.memory_bytes < 0)
        requests.memory_bytes = MAX(container->limits.memory_bytes, 0);
    return requests;
}

static Requests
requests_sum(Requests a, Requests b)
{
    return (Requests){
        sim_time_add(a.cpu_milli, b.cpu_milli),
        sim_time_add(a.memory_bytes, b.memory_bytes)}; /* stays at the largest number */
}

static Requests
requests_max(Requests a, Requests b)
{
    return (Requests){MAX(a.cpu_milli, b.cpu_milli), MAX(a.memory_bytes, b.memory_bytes)};
}

/* PodRequests() of Kubernetes' component-helpers/resource: containers and sidecars run together;
 * before that the init containers, one after the other, each beside the sidecars that started
 * before it. */
typedef struct {
    Requests running, sidecars, init;
} RequestSums;

static void
requests_add(RequestSums *sums, Requests requests, gboolean is_init, gboolean is_sidecar)
{
    if (!is_init) {
        sums->running = requests_sum(sums->running, requests);
        return;
    }
    if (is_sidecar) {
        sums->running = requests_sum(sums->running, requests);
        sums->sidecars = requests_sum(sums->sidecars, requests);
        requests = sums->sidecars;
    } else {
        requests = requests_sum(requests, sums->sidecars);
    }
    sums->init = requests_max(sums->init, requests);
}

static void
container_parse(
    ApiParser *parser, const json_t *value, PodSpec *spec, gboolean is_init, RequestSums *sums)
{
    static const Requests not_given = {-1, -1};
    Container container = {
        .requests = not_given,
        .limits = not_given,
        .mounts = g_steal_pointer(&spec->mounts), /* it adds its own */
        .devices = g_steal_pointer(&spec->devices),
    };

    fields_parse(parser, value, container_fields, container_ignored, &container);
    spec->mounts = container.mounts;
    spec->devices = container.devices;
    requests_add(sums, container_requests(parser, value, &container), is_init,
                 g_strcmp0(container.restart_policy, "Always") == 0);
    if (!is_init)
        spec->containers[spec->n_containers++] = (PodContainer){container.name, container.image};
}

static void
containers_parse(
    ApiParser *parser, const json_t *spec_json, const char *key, PodSpec *spec, RequestSums *sums)
{
    const json_t *array = json_path_get(spec_json, key);
    gboolean is_init = strcmp(key, "initContainers") == 0;
    gsize length = api_parser_enter(parser, key);

    if (!is_init && (array == NULL || (json_is_array(array) && json_array_size(array) == 0)))
        api_parser_required(parser, array == NULL ? spec_json : array, NULL);
    else if (array != NULL && api_parser_expect(parser, array, JSON_ARRAY)) {
        if (!is_init)
            spec->containers = g_new0(PodContainer, json_array_size(array));
        for (size_t i = 0; i < json_array_size(array); i++) {
            gsize inner = api_parser_enter_index(parser, (unsigned)i);
            container_parse(parser, json_array_get(array, i), spec, is_init, sums);
            api_parser_leave(parser, inner);
        }
    }
    api_parser_leave(parser, length);
}

static void
overhead_parse(ApiParser *parser, const json_t *spec_json, Requests *overhead)
{
    static const Field fields[] = {
        FIELD("cpu", field_milli, Requests, cpu_milli, FIELD_SPEC),
        FIELD("memory", field_quantity, Requests, memory_bytes, FIELD_SPEC),
        FIELDS_END,
    };
    static const char *const ignored[] = {"ephemeral-storage", NULL};
    const json_t *value = json_path_get(spec_json, "overhead");

    if (value == NULL)
        return;
    gsize length = api_parser_enter(parser, "overhead");
    fields_parse(parser, value, fields, ignored, overhead);
    api_parser_leave(parser, length);
}

/* Admission writes the value of the class into the pod. Two classes are in every cluster; others
 * are not read. */
static void
read_priority_class(const json_t *value, PodSpec *spec)
{
    const char *name = json_string_value(json_object_get(value, "priorityClassName"));

    if (name == NULL || json_object_get(value, "priority") != NULL)
        return;
    if (strcmp(name, "system-cluster-critical") == 0)
        spec->priority = 2000000000;
    else if (strcmp(name, "system-node-critical") == 0)
        spec->priority = 2000001000;
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
    RequestSums sums = {0};
    Requests overhead = {0};

    fields_parse(parser, value, pod_spec_fields, pod_spec_ignored, spec);
    if (json_is_object(value)) {
        containers_parse(parser, value, "initContainers", spec, &sums);
        containers_parse(parser, value, "containers", spec, &sums);
        read_priority_class(value, spec);
        spec->has_empty_dir = has_empty_dir(value);
        overhead_parse(parser, value, &overhead);
    }
    Requests total = requests_sum(requests_max(sums.running, sums.init), overhead);
    spec->cpu_milli = total.cpu_milli;
    spec->memory_bytes = total.memory_bytes;
    pod_spec_unref(*slot);
    *slot = spec;
}

static void
pod_spec_clear(void *field)
{
    g_clear_pointer((PodSpec **)field, pod_spec_unref);
}

static gboolean
containers_equal(const PodSpec *a, const PodSpec *b)
{
    if (a->n_containers != b->n_containers || (a->containers == NULL) != (b->containers == NULL))
        return FALSE;
    for (unsigned i = 0; a->containers != NULL && i < a->n_containers; i++)
        if (g_strcmp0(a->containers[i].name, b->containers[i].name) != 0 ||
            g_strcmp0(a->containers[i].image, b->containers[i].image) != 0)
            return FALSE;
    return TRUE;
}

static gboolean
pod_spec_equal(const void *a, const void *b)
{
    const PodSpec *x = *(PodSpec *const *)a, *y = *(PodSpec *const *)b;

    if (x == y)
        return TRUE;
    return x != NULL && y != NULL && x->cpu_milli == y->cpu_milli &&
           x->memory_bytes == y->memory_bytes && containers_equal(x, y) &&
           string_list_equal(x->mounts, y->mounts) && string_list_equal(x->devices, y->devices) &&
           fields_equal(pod_spec_fields, x, y);
}

/* Without a manifest: what is known of the containers. */
static json_t *
containers_to_json(const PodSpec *spec)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < spec->n_containers; i++) {
        json_t *container = json_pack("{s:s}", "name", spec->containers[i].name);
        if (spec->containers[i].image != NULL)
            json_object_set_new(container, "image", json_string(spec->containers[i].image));
        json_array_append_new(array, container);
    }
    return array;
}

static json_t *
pod_spec_over(const void *field, const json_t *manifest)
{
    const PodSpec *spec = *(PodSpec *const *)field;

    if (spec == NULL)
        return json_incref((json_t *)manifest); /* only counted */
    json_t *object = fields_to_json(pod_spec_fields, spec, manifest);
    if (spec->containers != NULL && json_object_get(object, "containers") == NULL)
        json_object_set_new(object, "containers", containers_to_json(spec));
    return object;
}

static json_t *
pod_spec_to_json(const void *field)
{
    return pod_spec_over(field, NULL);
}

const FieldType field_pod_spec = {
    .name = "pod spec",
    .size = sizeof(PodSpec *),
    .ref = field_counted_ref,
    .clear = pod_spec_clear,
    .equal = pod_spec_equal,
    .parse = pod_spec_parse,
    .to_json = pod_spec_to_json,
    .over = pod_spec_over,
};
