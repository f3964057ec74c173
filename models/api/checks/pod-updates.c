/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which fields of a pod may change: ValidatePodUpdate(), and the updates of status, resize and
 * ephemeral containers. The new pod is copied, fields that may change are set back to their old
 * values, and the remaining difference is the fault, printed as cmp.Diff() prints it. A pod with
 * scheduling gates may be sent to fewer nodes. */
#include "checks-private.h"

#include <string.h>

#include "models/api/pod-resources.h"

#define MIRROR_ANNOTATION "kubernetes.io/config.mirror" /* the kubelet made it of a file */

#define MAY_CHANGE                                                                                 \
    "pod updates may not change fields other than "                                                \
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"      \
    "`spec.tolerations` (only additions to existing tolerations),"                                 \
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

/* ---- What differs ---- */

/* A member as cmp.Diff() prints it: "-" before, "+" after. */
static void
pod_updates_append_line(GString *text, char sign, const char *name, const json_t *value)
{
    char *dump = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS);

    g_string_append_printf(text, "%c \t%c%s: %s,\n", sign, g_ascii_toupper(name[0]), name + 1,
                           dump == NULL ? "nil" : dump);
    free(dump);
}

/* Returns: (owned): the members of the specs that differ; NULL: none */
static char *
spec_diff(const SchemaType *type, const json_t *old, const json_t *new)
{
    GString *text = g_string_new("  core.PodSpec{\n");
    gsize length = text->len;
    unsigned n_same = 0;

    for (const SchemaField *field = type->fields; field->name != NULL; field++) {
        const json_t *before = json_object_get(old, field->name),
                     *after = json_object_get(new, field->name);
        if (api_check_same(field->type, before, after)) {
            n_same++;
            continue;
        }
        pod_updates_append_line(text, '-', field->name, before);
        pod_updates_append_line(text, '+', field->name, after);
    }
    if (text->len == length)
        return g_string_free(text, TRUE);
    g_string_append_printf(text, "  \t... // %u identical fields\n  }\n", n_same);
    return g_string_free(text, FALSE);
}

static const SchemaType *
spec_type(const Check *check)
{
    return schema_member(check->type, "spec");
}

static void
copy_member(json_t *to, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);

    if (value == NULL || json_is_null(value))
        json_object_del(to, name);
    else
        json_object_set(to, name, value);
}

/* ---- Fields that may change ---- */

/* ValidateContainerUpdates(). Returns: whether there are as many as before */
static gboolean
check_containers(Check *check, const json_t *old, json_t *new, const char *list)
{
    g_autofree char *path = g_strdup_printf("spec.%s", list);
    const json_t *before = json_object_get(old, list);
    json_t *after = json_object_get(new, list), *container;
    size_t i;

    if (json_array_size(before) != json_array_size(after)) {
        check_forbidden(check, json_path_get(check->object, path), path,
                        "pod updates may not add or remove containers");
        return FALSE;
    }
    json_array_foreach(after, i, container)
        copy_member(container, json_array_get(before, i), "image");
    return TRUE;
}

/* Returns: FALSE: nothing else is said */
static gboolean
check_deadline(Check *check)
{
    static const char path[] = "spec.activeDeadlineSeconds";
    const json_t *old = json_path_get(check->old, path), *new = json_path_get(check->object, path);
    json_int_t seconds = json_integer_value(new);

    if (new == NULL && old != NULL)
        check_fault(
            check, NULL, path,
            "Invalid value: \"null\": must not update from a positive integer to nil value");
    if (new == NULL)
        return TRUE;
    if (seconds < 0 || seconds > G_MAXINT32)
        check_invalid(check, new, path, "must be between 0 and 2147483647, inclusive");
    else if (old != NULL && json_integer_value(old) < seconds)
        check_invalid(check, new, path, "must be less than or equal to previous value");
    else
        return TRUE;
    return FALSE;
}

/* validateOnlyAddedTolerations(): tolerationSeconds may change. */
static void
check_tolerations(Check *check)
{
    static const char path[] = "spec.tolerations";
    const json_t *old = json_path_get(check->old, path), *new = json_path_get(check->object, path);
    size_t k;

    for (size_t i = 0; i < json_array_size(old); i++) {
        json_auto_t *was = json_deep_copy(json_array_get(old, i));
        json_object_del(was, "tolerationSeconds");
        for (k = 0; k < json_array_size(new); k++) {
            json_auto_t *is = json_deep_copy(json_array_get(new, k));
            json_object_del(is, "tolerationSeconds");
            if (api_check_same(NULL, was, is))
                break;
        }
        if (k < json_array_size(new))
            continue;
        check_forbidden(check, new, path,
                        "existing toleration can not be modified except its tolerationSeconds");
        return;
    }
}

/* validateOnlyDeletedSchedulingGates(). */
static void
pod_updates_check_gates(Check *check)
{
    const json_t *old = json_path_get(check->old, "spec.schedulingGates"),
                 *new = json_path_get(check->object, "spec.schedulingGates"), *gate;
    size_t i;

    json_array_foreach((json_t *)new, i, gate) {
        g_autofree char *path = g_strdup_printf("spec.schedulingGates[%zu].name", i);
        const char *name = json_path_text(gate, "name");
        if (json_list_find(old, "name", name) == NULL)
            check_fault(check, gate, path,
                        "Forbidden: only deletion is allowed, but found new scheduling gate '%s'",
                        name);
    }
}

/* validateNodeSelectorMutation(), validateNodeAffinityMutation(): a pod with gates may be sent to
 * fewer nodes. */
static void
check_gated(Check *check, const json_t *old, json_t *new)
{
    static const char at[] =
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    const json_t *before = json_object_get(old, "nodeSelector"),
                 *after = json_object_get(new, "nodeSelector");
    const json_t *old_terms = json_path_get(check->old, at),
                 *new_terms = json_path_get(check->object, at);
    const json_t *affinity = json_path_get(old, "affinity");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)before, key, value)
        if (!json_equal(value, json_object_get(after, key))) {
            check_fault(check, after, "spec.nodeSelector",
                        "Invalid value: null: only additions are allowed");
            break;
        }
    copy_member(new, old, "nodeSelector");
    if (old_terms != NULL && json_array_size(json_path_get(old_terms, "nodeSelectorTerms")) !=
                                 json_array_size(json_path_get(new_terms, "nodeSelectorTerms"))) {
        g_autofree char *path = g_strconcat(at, ".nodeSelectorTerms", NULL);
        check_fault(check, new_terms, path,
                    "Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms "
                    "list are allowed");
    }
    if (affinity == NULL && !check_has(new, "affinity.podAffinity") &&
        !check_has(new, "affinity.podAntiAffinity")) {
        json_object_del(new, "affinity");
        return;
    }
    if (!check_has(new, "affinity"))
        json_object_set_new(new, "affinity", json_object());
    copy_member(json_object_get(new, "affinity"), affinity, "nodeAffinity");
}

/* ---- The pod itself ---- */

static void
check_update(Check *check, const json_t *pod)
{
    const json_t *old = json_path_get(check->old, "spec");
    json_auto_t *new = json_deep_copy(json_path_get(pod, "spec"));
    const json_t *grace = json_path_get(old, "terminationGracePeriodSeconds");

    if (!check_containers(check, old, new, "containers") ||
        !check_containers(check, old, new, "initContainers") || !check_deadline(check))
        return;
    check_tolerations(check);
    pod_updates_check_gates(check);
    copy_member(new, old, "activeDeadlineSeconds");
    copy_member(new, old, "schedulingGates");
    copy_member(new, old, "tolerations");
    if (json_integer_value(grace) < 0 &&
        json_integer_value(json_object_get(new, "terminationGracePeriodSeconds")) == 1)
        copy_member(new, old, "terminationGracePeriodSeconds");
    if (json_array_size(json_path_get(old, "schedulingGates")) > 0)
        check_gated(check, old, new);
    g_autofree char *diff = spec_diff(spec_type(check), old, new);
    if (diff != NULL)
        check_fault(check, json_path_get(pod, "spec"), "spec", "Forbidden: " MAY_CHANGE "\n%s",
                    diff);
}

/* ---- Subresources ---- */

/* ValidatePodEphemeralContainersUpdate(). */
static void
check_ephemeral(Check *check, const json_t *pod)
{
    static const char path[] = "spec.ephemeralContainers";
    const json_t *old = json_path_get(check->old, path), *new = json_path_get(pod, path);

    if (json_object_get(json_path_get(check->old, "metadata.annotations"), MIRROR_ANNOTATION) !=
        NULL) {
        check_forbidden(check, pod, "", "static pods do not support ephemeral containers");
        return;
    }
    for (size_t i = 0; i < json_array_size(old); i++) {
        const json_t *was = json_array_get(old, i);
        const char *name = json_path_text(was, "name");
        const json_t *is = json_list_find(new, "name", name);
        if (is == NULL)
            check_fault(check, new, path,
                        "Forbidden: existing ephemeral containers \"%s\" may not be removed\n",
                        name);
        else if (!api_check_same(NULL, was, is))
            check_fault(check, is, path,
                        "Forbidden: existing ephemeral containers \"%s\" may not be changed\n",
                        name);
    }
}

static gboolean
is_removed(const json_t *old, const json_t *new)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)old, key, value)
        if (json_object_get(new, key) == NULL)
            return TRUE;
    return FALSE;
}

/* Before 1.34 the limit of memory could shrink only with a restart of the container. */
static void
check_memory_limit(Check *check, const json_t *old, const json_t *new, const char *at)
{
    g_autofree char *path = g_strdup_printf("%s.limits[memory]", at);
    const json_t *policies = json_path_get(new, "resizePolicy"), *policy;
    int64_t before, after;
    size_t i;

    json_array_foreach((json_t *)policies, i, policy)
        if (strcmp(json_path_text(policy, "resourceName"), "memory") == 0 &&
            strcmp(json_path_text(policy, "restartPolicy"), "RestartContainer") == 0)
            return;
    if (check->minor >= 34 ||
        !quantity_parse(json_path_text(new, "resources.limits.memory"), &after, NULL, NULL))
        return;
    if (!quantity_parse(json_path_text(old, "resources.limits.memory"), &before, NULL, NULL))
        check_forbidden(check, json_path_get(new, "resources.limits"), path,
                        "memory limits cannot be added unless resizePolicy is RestartContainer");
    else if (after < before)
        check_forbidden(
            check, json_path_get(new, "resources.limits"), path,
            "memory limits cannot be decreased unless resizePolicy is RestartContainer");
}

/* validateContainerResize(). @at: "spec.containers[0].resources" */
static void
check_resize_container(Check *check, const json_t *old, const json_t *new, const char *at)
{
    static const char *const parts[] = {"requests", "limits"};

    for (gsize k = 0; k < G_N_ELEMENTS(parts); k++) {
        g_autofree char *path = g_strdup_printf("%s.%s", at, parts[k]);
        g_autofree char *member = g_strdup_printf("resources.%s", parts[k]);
        g_autofree char *detail = g_strdup_printf("resource %s cannot be removed", parts[k]);
        if (is_removed(json_path_get(old, member), json_path_get(new, member)))
            check_forbidden(check, json_path_get(new, member), path, detail);
    }
    check_memory_limit(check, old, new, at);
}

/* dropCPUMemoryResourcesFromContainer(): amounts of cpu and memory are no difference. */
static void
drop_cpu_and_memory(json_t *container, const json_t *old)
{
    static const char *const parts[] = {"requests", "limits"};
    static const char *const names[] = {"cpu", "memory"};
    json_t *resources = json_object_get(container, "resources");

    copy_member(container, old, "resizePolicy");
    if (!json_is_object(resources))
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        const json_t *before = json_path_get(json_path_get(old, "resources"), parts[i]);
        json_t *amounts = json_object_get(resources, parts[i]);
        if (before == NULL) {
            json_object_del(resources, parts[i]);
            continue;
        }
        for (gsize k = 0; json_is_object(amounts) && k < G_N_ELEMENTS(names); k++)
            copy_member(amounts, before, names[k]);
    }
}

/* @list: "containers", "initContainers"; only restartable containers of the latter may change. */
static void
check_resize_list(Check *check, const json_t *old, json_t *new, const char *list)
{
    gboolean are_init = strcmp(list, "initContainers") == 0;
    json_t *container;
    size_t i;

    json_array_foreach(json_object_get(new, list), i, container) {
        g_autofree char *at = g_strdup_printf("spec.%s[%zu].resources", list, i);
        const json_t *before = json_array_get(json_object_get(old, list), i);
        gboolean may_change =
            !are_init || strcmp(json_path_text(before, "restartPolicy"), "Always") == 0;
        if (may_change) {
            check_resize_container(check, before, container, at);
            drop_cpu_and_memory(container, before);
        }
        if (!api_check_same(NULL, container, before))
            check_forbidden(check, json_path_get(check->object, "spec"), "spec",
                            !are_init    ? "only cpu and memory resources are mutable"
                            : may_change ? "only cpu and memory resources for sidecar containers "
                                           "are mutable"
                                         : "resources for non-sidecar init containers are "
                                           "immutable");
        json_array_set(json_object_get(new, list), i, (json_t *)before); /* only compared */
    }
}

/* Returns: FALSE: it is a pod that nobody may resize, and that is said */
static gboolean
check_resizable(Check *check, const json_t *pod)
{
    const json_t *mirror =
        json_object_get(json_path_get(check->old, "metadata.annotations"), MIRROR_ANNOTATION);

    if (!api_check_same(NULL, json_path_get(pod, "spec.resources"), NULL))
        check_forbidden(check, pod, "", "pods with pod-level resources cannot be resized");
    else if (mirror != NULL)
        check_forbidden(check, pod, "", "static pods cannot be resized");
    else if (strcmp(json_path_text(check->old, "spec.os.name"), "windows") == 0)
        check_forbidden(check, pod, "", "windows pods cannot be resized");
    else
        return TRUE;
    return FALSE;
}

/* ValidatePodResize(): only requests and limits of cpu and memory may change. Not asked: whether
 * the node can, which the states of its containers tell. */
static void
check_resize(Check *check, const json_t *pod)
{
    const json_t *old = json_path_get(check->old, "spec"), *spec = json_path_get(pod, "spec");
    json_auto_t *new = json_deep_copy(spec);
    unsigned n_faults = check->n_faults;

    if (!check_resizable(check, pod))
        return;
    if (strcmp(pod_json_quality(old), pod_json_quality(spec)) != 0)
        check_fault(check, spec, "spec",
                    "Invalid value: \"%s\": Pod QOS Class may not change as a result of resizing",
                    json_path_text(pod, "status.qosClass"));
    check_resize_list(check, old, new, "initContainers");
    check_resize_list(check, old, new, "containers");
    if (check->n_faults == n_faults && !api_check_same(spec_type(check), old, new))
        check_forbidden(check, spec, "spec", "only cpu and memory resources are mutable");
}

/* ValidateContainerStateTransition(). */
static void
check_states(Check *check, const json_t *pod, const char *list, const char *policy)
{
    g_autofree char *path = g_strdup_printf("status.%s", list);
    const json_t *old = json_path_get(check->old, path), *was, *is;
    size_t i, k;

    json_array_foreach((json_t *)old, i, was) {
        const json_t *end = json_path_get(was, "state.terminated");
        g_autofree char *at = g_strdup_printf("%s[%zu].state", path, i);
        if (end == NULL || strcmp(policy, "Always") == 0 ||
            (strcmp(policy, "OnFailure") == 0 &&
             json_integer_value(json_object_get(end, "exitCode")) != 0))
            continue;
        json_array_foreach(json_path_get(pod, path), k, is)
            if (strcmp(json_path_text(was, "name"), json_path_text(is, "name")) == 0 &&
                !check_has(is, "state.terminated"))
                check_forbidden(check, is, at, "may not be transitioned to non-terminated state");
    }
}

/* ValidatePodStatusUpdate(). */
static void
check_status(Check *check, const json_t *pod)
{
    const char *policy = json_path_text(check->old, "spec.restartPolicy");
    const json_t *nominated = json_path_get(pod, "status.nominatedNodeName");

    if (strcmp(json_path_text(check->old, "spec.nodeName"), json_path_text(pod, "spec.nodeName")) !=
        0)
        check_forbidden(check, json_path_get(pod, "spec.nodeName"), "status.nodeName",
                        "may not be changed directly");
    if (nominated != NULL && *json_path_text(pod, "status.nominatedNodeName") != '\0')
        check_format(check, nominated, "status.nominatedNodeName", "dns-subdomain");
    if (check_has(check->old, "status.qosClass"))
        check_immutable(check, "status.qosClass", "status.qosClass");
    check_states(check, pod, "containerStatuses", *policy == '\0' ? "Always" : policy);
    check_states(check, pod, "ephemeralContainerStatuses", "Never");
}

static void
check_pod_update(Check *check, const json_t *pod)
{
    static const struct {
        const char *subresource;
        void (*check)(Check *check, const json_t *pod);
    } ways[] = {
        {"",                    check_update   },
        {"ephemeralcontainers", check_ephemeral},
        {"resize",              check_resize   },
        {"status",              check_status   },
    };

    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++)
        if (strcmp(ways[i].subresource, check->subresource == NULL ? "" : check->subresource) == 0)
            ways[i].check(check, pod);
}

const CheckRule check_pod_update_rules[] = {
    {"ValidatePodUpdate", "core.v1.Pod", check_pod_update},
    {NULL,                NULL,          NULL            },
};
