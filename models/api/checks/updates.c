/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members that an update may not change: Validate...Update() of each kind. A single field that may
 * never change is "+immutable" in kubernetes.types; pods are in pod-updates.c. The rules on
 * storage, which components keep too, are in models/apiserver. */
#include "checks-private.h"

#include <string.h>

static gboolean
is_changed(const Check *check, const char *path)
{
    return !api_check_same(NULL, json_path_get(check->old, path),
                           json_path_get(check->object, path));
}

/* ConfigMaps and Secrets with immutable: true. */
static void
check_immutable_data(Check *check, const json_t *object)
{
    static const char *const parts[] = {"data", "binaryData"};

    if (!check_flag(check->old, "immutable"))
        return;
    if (!check_flag(object, "immutable"))
        check_forbidden(check, json_path_get(object, "immutable"), "immutable",
                        "field is immutable when `immutable` is set");
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (is_changed(check, parts[i]))
            check_forbidden(check, json_path_get(object, parts[i]), parts[i],
                            "field is immutable when `immutable` is set");
    if (json_object_size(json_path_get(object, "stringData")) > 0 &&
        is_changed(check, "stringData"))
        check_forbidden(check, json_path_get(object, "stringData"), "data",
                        "field is immutable when `immutable` is set");
}

/* As Go prints a pointer to a LabelSelector. */
static void
check_selector(Check *check, const json_t *object)
{
    const json_t *selector = json_path_get(object, "spec.selector");
    const json_t *labels = json_path_get(selector, "matchLabels"),
                 *expressions = json_path_get(selector, "matchExpressions");
    g_autofree char *label_text =
        labels == NULL ? g_strdup("map[string]string(nil)") : check_go_value(labels);
    g_autofree char *expression_text = expressions == NULL
                                           ? g_strdup("[]v1.LabelSelectorRequirement(nil)")
                                           : check_go_value(expressions);

    if (selector != NULL && is_changed(check, "spec.selector"))
        check_fault(
            check, selector, "spec.selector",
            "Invalid value: v1.LabelSelector{MatchLabels:%s, MatchExpressions:%s}: field is "
            "immutable",
            label_text, expression_text);
}

static void
check_role_ref(Check *check, const json_t *binding)
{
    if (is_changed(check, "roleRef"))
        check_fault(
            check, json_path_get(binding, "roleRef"), "roleRef",
            "Invalid value: rbac.RoleRef{APIGroup:\"%s\", Kind:\"%s\", Name:\"%s\"}: cannot "
            "change roleRef",
            json_path_text(binding, "roleRef.apiGroup"), json_path_text(binding, "roleRef.kind"),
            json_path_text(binding, "roleRef.name"));
}

/* ---- Jobs ---- */

/* validatePodTemplateUpdate(): a suspended Job that never ran may still be sent elsewhere. */
static void
check_job_template(Check *check, const json_t *job)
{
    static const char *const directives[] = {
        "spec.affinity.nodeAffinity", "spec.nodeSelector", "spec.tolerations",
        "spec.schedulingGates",       "metadata.labels",   "metadata.annotations"};
    json_auto_t *old = json_deep_copy(json_path_get(check->old, "spec.template")),
                *new = json_deep_copy(json_path_get(job, "spec.template"));
    gboolean may_move =
        check_flag(check->old, "spec.suspend") && !check_has(check->old, "status.startTime");

    for (gsize i = 0; may_move && i < G_N_ELEMENTS(directives); i++)
        for (unsigned side = 0; side < 2; side++) {
            const char *last = strrchr(directives[i], '.');
            g_autofree char *parent = g_strndup(directives[i], (gsize)(last - directives[i]));
            json_t *of = (json_t *)json_path_get(side == 0 ? old : new, parent); /* a copy */
            json_object_del(of, last + 1);
            if (json_object_size(of) == 0 && strcmp(parent, "spec.affinity") == 0)
                json_object_del(json_object_get(side == 0 ? old : new, "spec"), "affinity");
        }
    if (!api_check_same(NULL, old, new))
        check_invalid(check, json_path_get(job, "spec.template"), "spec.template",
                      "field is immutable");
}

static void
check_job(Check *check, const json_t *job)
{
    static const char *const fixed[] = {"spec.selector",         "spec.completionMode",
                                        "spec.podFailurePolicy", "spec.backoffLimitPerIndex",
                                        "spec.managedBy",        "spec.successPolicy"};
    const json_t *completions = json_path_get(job, "spec.completions");
    gboolean is_indexed = strcmp(json_path_text(job, "spec.completionMode"), "Indexed") == 0;

    if (is_indexed && check->minor >= 27 && completions != NULL &&
        check_has(check->old, "spec.completions")) {
        if (is_changed(check, "spec.completions") &&
            !json_equal((json_t *)completions, (json_t *)json_path_get(job, "spec.parallelism")))
            check_invalid(check, completions, "spec.completions",
                          "can only be modified in tandem with spec.parallelism");
    } else if (is_changed(check, "spec.completions")) {
        check_invalid(check, completions, "spec.completions", "field is immutable");
    }
    for (gsize i = 0; i < G_N_ELEMENTS(fixed); i++)
        check_immutable(check, fixed[i], fixed[i]);
    check_job_template(check, job);
}

/* ---- Nodes ---- */

static void
check_node(Check *check, const json_t *node)
{
    if (json_array_size(json_path_get(check->old, "spec.podCIDRs")) > 0 &&
        is_changed(check, "spec.podCIDRs"))
        check_forbidden(check, json_path_get(node, "spec.podCIDRs"), "spec.podCIDRs",
                        "node updates may not change podCIDR except from \"\" to valid");
    else if (*json_path_text(check->old, "spec.podCIDR") != '\0' &&
             is_changed(check, "spec.podCIDR"))
        check_forbidden(check, json_path_get(node, "spec.podCIDR"), "spec.podCIDRs",
                        "node updates may not change podCIDR except from \"\" to valid");
    if (*json_path_text(check->old, "spec.providerID") != '\0' &&
        is_changed(check, "spec.providerID"))
        check_forbidden(check, json_path_get(node, "spec.providerID"), "spec.providerID",
                        "node updates may not change providerID except from \"\" to valid");
    if (is_changed(check, "spec.externalID"))
        check_forbidden(check, json_path_get(node, "spec.externalID"), "spec.externalID",
                        "may not be updated");
}

static void
refuse_driver(Check *check, const json_t *driver)
{
    const json_t *keys = json_path_get(driver, "topologyKeys");
    g_autofree char *key_text = keys == NULL ? g_strdup("[]string(nil)") : check_go_value(keys);

    check_fault(check, driver, "CSINodeDriver",
                "Invalid value: storage.CSINodeDriver{Name:\"%s\", NodeID:\"%s\", TopologyKeys:%s, "
                "Allocatable:(*storage.VolumeNodeResources)(%s)}: field is immutable",
                json_path_text(driver, "name"), json_path_text(driver, "nodeID"), key_text,
                check_has(driver, "allocatable") ? "0xc000000000" : "nil");
}

/* ValidateCSINodeUpdate(). 1.33: allocatable may change. */
static void
check_csi_node(Check *check, const json_t *node)
{
    const json_t *driver, *old;
    size_t i, k;

    json_array_foreach(json_path_get(node, "spec.drivers"), i, driver)
        json_array_foreach(json_path_get(check->old, "spec.drivers"), k, old) {
            json_auto_t *was = json_deep_copy(old), *is = json_deep_copy(driver);
            if (strcmp(json_path_text(old, "name"), json_path_text(driver, "name")) != 0)
                continue;
            if (check->minor >= 33) {
                json_object_del(was, "allocatable");
                json_object_del(is, "allocatable");
            }
            if (!api_check_same(NULL, was, is))
                refuse_driver(check, driver);
        }
}

/* ---- Services ---- */

/* validateUpgradeDowngradeClusterIPs(): an address that is left out stays. */
static void
check_service_address(Check *check, const json_t *service)
{
    const char *old = json_path_text(check->old, "spec.clusterIP"),
               *new = json_path_text(service, "spec.clusterIP");

    if (strcmp(json_path_text(check->old, "spec.type"), "ExternalName") == 0 ||
        strcmp(json_path_text(service, "spec.type"), "ExternalName") == 0)
        return;
    if (*old != '\0' && *new != '\0' && strcmp(old, new) != 0)
        check_fault(check, json_path_get(service, "spec.clusterIP"), "spec.clusterIPs[0]",
                    "Invalid value: []string{\"%s\"}: may not change once set", new);
    if (*json_path_text(check->old, "spec.loadBalancerClass") != '\0' &&
        strcmp(json_path_text(check->old, "spec.type"), json_path_text(service, "spec.type")) ==
            0 &&
        is_changed(check, "spec.loadBalancerClass"))
        check_invalid(check, json_path_get(service, "spec.loadBalancerClass"),
                      "spec.loadBalancerClass", "may not change once set");
}

/* ---- StatefulSets ---- */

/* 1.33: revisionHistoryLimit may change, too. */
static void
updates_check_stateful_set(Check *check, const json_t *set)
{
    static const char *const free_fields[] = {"replicas",
                                              "ordinals",
                                              "template",
                                              "updateStrategy",
                                              "persistentVolumeClaimRetentionPolicy",
                                              "minReadySeconds"};
    json_auto_t *old = json_copy((json_t *)json_path_get(check->old, "spec")), /* only read */
        *new = json_copy((json_t *)json_path_get(set, "spec"));

    for (gsize i = 0; i < G_N_ELEMENTS(free_fields); i++) {
        json_object_del(old, free_fields[i]);
        json_object_del(new, free_fields[i]);
    }
    if (check->minor >= 33) {
        json_object_del(old, "revisionHistoryLimit");
        json_object_del(new, "revisionHistoryLimit");
    }
    if (!api_check_same(NULL, old, new))
        check_fault(check, json_path_get(set, "spec"), "spec",
                    "Forbidden: updates to statefulset spec for fields other than 'replicas', "
                    "'ordinals', 'template', 'updateStrategy', %s"
                    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
                    check->minor >= 33 ? "'revisionHistoryLimit', " : "");
}

/* ---- Others ---- */

static void
check_definition(Check *check, const json_t *definition)
{
    const json_t *item;
    size_t i, k;

    check_immutable(check, "spec.group", "spec.group");
    check_immutable(check, "spec.names.plural", "spec.names.plural");
    check_immutable(check, "spec.scope", "spec.scope");
    check_immutable(check, "spec.names.kind", "spec.names.kind");
    json_array_foreach(json_path_get(check->old, "status.storedVersions"), i, item) {
        const json_t *versions = json_path_get(definition, "spec.versions");
        const char *name = json_string_value(item);
        g_autofree char *path = g_strdup_printf("status.storedVersions[%zu]", i);
        for (k = 0; k < json_array_size(versions); k++)
            if (g_strcmp0(json_path_text(json_array_get(versions, k), "name"), name) == 0)
                break;
        if (k == json_array_size(versions))
            check_fault(check, versions, path,
                        "Invalid value: \"%s\": missing from spec.versions; %s was previously a "
                        "storage version, and must remain in spec.versions until a storage "
                        "migration ensures no data remains persisted in %s and removes %s from "
                        "status.storedVersions",
                        name, name, name, name);
    }
}

static void
updates_check_quota(Check *check, const json_t *quota)
{
    if (is_changed(check, "spec.scopes"))
        check_invalid(check, json_path_get(quota, "spec.scopes"), "spec.scopes",
                      "field is immutable");
}

const CheckRule check_update_rules[] = {
  /* clang-format off */
    {"ValidateConfigMapUpdate",                "core.v1.ConfigMap",                         check_immutable_data },
    {"ValidateSecretUpdate",                   "core.v1.Secret",                            check_immutable_data },
    {"ValidateNodeUpdate",                     "core.v1.Node",                              check_node           },
    {"ValidateServiceUpdate",                  "core.v1.Service",                           check_service_address},
    {"ValidateResourceQuotaUpdate",            "core.v1.ResourceQuota",                     updates_check_quota          },
    {"ValidateDeploymentUpdate",               "apps.v1.Deployment",                        check_selector       },
    {"ValidateReplicaSetUpdate",               "apps.v1.ReplicaSet",                        check_selector       },
    {"ValidateDaemonSetUpdate",                "apps.v1.DaemonSet",                         check_selector       },
    {"ValidateStatefulSetUpdate",              "apps.v1.StatefulSet",                       updates_check_stateful_set   },
    {"ValidateJobUpdate",                      "batch.v1.Job",                              check_job            },
    {"ValidateRoleBindingUpdate",              "rbac.v1.RoleBinding",                       check_role_ref       },
    {"ValidateClusterRoleBindingUpdate",       "rbac.v1.ClusterRoleBinding",                check_role_ref       },
    {"ValidateCSINodeUpdate",                  "storage.v1.CSINode",                        check_csi_node       },
    {"ValidateCustomResourceDefinitionUpdate", "apiextensions.v1.CustomResourceDefinition", check_definition     },
    {NULL,                                     NULL,                                        NULL                 },
  /* clang-format on */
};
