/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of controllers of pods and their selectors: the selector has to match the template's
 * labels, the template has to restart its containers always, strategies exclude each other's
 * fields. The parsers of models/api/workloads check the fields that models read. */
#include "checks-private.h"

#include <string.h>

/* ---- Selectors ---- */

/* ValidateLabelSelectorRequirement(). */
static void
check_label_requirement(Check *check, const json_t *value)
{
    const char *operator= json_path_text(value, "operator");
    const json_t *values = json_path_get(value, "values"), *item;
    size_t i;

    if (strcmp(operator, "In") == 0 || strcmp(operator, "NotIn") == 0) {
        if (json_array_size(values) == 0)
            check_required(check, "values", "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (strcmp(operator, "Exists") == 0 || strcmp(operator, "DoesNotExist") == 0) {
        if (json_array_size(values) > 0)
            check_forbidden(check, values, "values",
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
        check_fault(check, json_path_get(value, "operator"), "operator",
                    "Invalid value: \"%s\": not a valid selector operator", operator);
        check_silence(check, "values");
    }
    check_format(check, json_path_get(value, "key"), "key", "qualified-name");
    json_array_foreach((json_t *)values, i, item) {
        g_autofree char *path = g_strdup_printf("values[%zu]", i);
        check_format(check, item, path, "label-value");
    }
}

static void
check_label_selector(Check *check, const json_t *selector)
{
    check_labels(check, json_path_get(selector, "matchLabels"), "matchLabels");
}

static gboolean
requirement_matches(const json_t *requirement, const json_t *labels)
{
    const char *operator= json_path_text(requirement, "operator");
    const json_t *label = json_object_get(labels, json_path_text(requirement, "key")), *item;
    gboolean is_in = FALSE;
    size_t i;

    json_array_foreach(json_path_get(requirement, "values"), i, item)
        is_in = is_in || (label != NULL && json_equal(item, (json_t *)label));
    if (strcmp(operator, "In") == 0)
        return is_in;
    if (strcmp(operator, "NotIn") == 0)
        return !is_in;
    return (label != NULL) == (strcmp(operator, "Exists") == 0);
}

/* @selector: a LabelSelector, or a map of labels */
static gboolean
selector_matches(const json_t *selector, gboolean is_map, const json_t *labels)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach((is_map ? (json_t *)selector : json_object_get(selector, "matchLabels")),
                        key, value)
        if (!json_equal(value, json_object_get(labels, key)))
            return FALSE;
    json_array_foreach((is_map ? NULL : json_object_get(selector, "matchExpressions")), i, value)
        if (!requirement_matches(value, labels))
            return FALSE;
    return TRUE;
}

/* ---- Templates ---- */

static void
check_policy(Check *check, const json_t *spec, const char *const *words)
{
    const json_t *policy = json_path_get(spec, "template.spec.restartPolicy");

    if (json_is_string(policy) && *json_string_value(policy) != '\0' &&
        !g_strv_contains(words, json_string_value(policy)))
        check_unsupported(check, policy, "template.spec.restartPolicy", words);
}

static void
refuse_labels(Check *check, const json_t *labels)
{
    g_autofree char *text =
        labels == NULL ? g_strdup("map[string]string(nil)") : check_go_value(labels);
    g_autofree char *words =
        g_strdup_printf("Invalid value: %s: `selector` does not match template `labels`", text);

    check_report(check, labels, "template.metadata.labels",
                 "write the labels of spec.selector here", words);
}

/* Checks the template of a controller that runs pods for ever. The selector is a
 * LabelSelector, or a map of labels. */
static void
check_template_of(Check *check, const json_t *spec, gboolean is_map)
{
    static const char *const always[] = {"Always", NULL};
    const json_t *selector = json_path_get(spec, "selector");
    const json_t *labels = json_path_get(spec, "template.metadata.labels");

    /* Without a selector nothing matches; a ReplicationController takes the template's labels. */
    if (selector == NULL ? !is_map : !selector_matches(selector, is_map, labels))
        refuse_labels(check, labels);
    check_policy(check, spec, always);
}

static void
check_replication_controller(Check *check, const json_t *spec)
{
    if (!check_has(spec, "template"))
        check_required(check, "template", "");
    if (json_object_size(json_path_get(spec, "selector")) == 0 &&
        json_object_size(json_path_get(spec, "template.metadata.labels")) == 0)
        check_required(check, "selector", "");
    check_template_of(check, spec, TRUE);
    if (check_has(spec, "template.spec.activeDeadlineSeconds"))
        check_forbidden(check, json_path_get(spec, "template.spec.activeDeadlineSeconds"),
                        "template.spec.activeDeadlineSeconds",
                        "activeDeadlineSeconds in ReplicationController is not Supported");
}

static const struct {
    const char *kind, *empty_selector;
    gboolean forbids_deadline;
} controllers[] = {
    {"Deployment",  "empty selector is invalid for deployment",  TRUE },
    {"ReplicaSet",  "empty selector is invalid for deployment",  TRUE },
    {"DaemonSet",   "empty selector is invalid for daemonset",   TRUE },
    {"StatefulSet", "empty selector is invalid for statefulset", FALSE},
};

static void
check_strategy(Check *check, const json_t *spec, const char *kind)
{
    static const char *const policies[] = {"OrderedReady", "Parallel", NULL};
    static const struct {
        const char *kind, *path, *go_type, *rolling, *words[3];
        const char *detail; /* "Invalid value" with it, instead of the words */
    } strategies[] = {
        {"Deployment",
         "strategy",       "DeploymentStrategy",
         "RollingUpdateDeployment",          {"Recreate", "RollingUpdate"},
         NULL                                   },
        {"DaemonSet",
         "updateStrategy", "DaemonSetUpdateStrategy",
         "RollingUpdateDaemonSet",           {"RollingUpdate", "OnDelete"},
         NULL                                   },
        {"StatefulSet",
         "updateStrategy", "StatefulSetUpdateStrategy",
         "RollingUpdateStatefulSetStrategy", {"RollingUpdate", "OnDelete"},
         "must be 'RollingUpdate' or 'OnDelete'"},
    };
    const char *policy = json_path_text(spec, "podManagementPolicy");

    if (*policy != '\0' && !g_strv_contains(policies, policy)) {
        g_autofree char *hint = check_hint(policy, policies);
        g_autofree char *words =
            g_strdup_printf("Invalid value: \"%s\": must be 'OrderedReady' or 'Parallel'", policy);
        check_report(check, json_path_get(spec, "podManagementPolicy"), "podManagementPolicy", hint,
                     words);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(strategies); i++) {
        g_autofree char *path = g_strdup_printf("%s.type", strategies[i].path);
        const char *type = json_path_text(spec, path);
        if (strcmp(strategies[i].kind, kind) != 0 || *type == '\0' ||
            g_strv_contains(strategies[i].words, type))
            continue;
        g_autofree char *value =
            g_strdup_printf("apps.%s{Type:\"%s\", RollingUpdate:(*apps.%s)(nil)}",
                            strategies[i].go_type, type, strategies[i].rolling);
        g_autofree char *hint = check_hint(type, strategies[i].words);
        g_autofree char *words =
            strategies[i].detail != NULL
                ? g_strdup_printf("Invalid value: %s: %s", value, strategies[i].detail)
                : g_strdup_printf("Unsupported value: %s: supported values: \"%s\", \"%s\"", value,
                                  strategies[i].words[0], strategies[i].words[1]);
        check_report(check, json_path_get(spec, path), strategies[i].path, hint, words);
        check_silence(check, path);
    }
}

static void
check_controller(Check *check, const json_t *spec)
{
    static const char path[] = "template.spec.activeDeadlineSeconds";
    const json_t *selector = json_path_get(spec, "selector"), *deadline = json_path_get(spec, path);
    const char *kind = json_path_text(check->object, "kind");
    g_autofree char *detail = g_strdup_printf("activeDeadlineSeconds in %s is not Supported", kind);
    gboolean is_empty = json_is_object(selector) &&
                        json_object_size(json_path_get(selector, "matchLabels")) == 0 &&
                        json_array_size(json_path_get(selector, "matchExpressions")) == 0;

    for (gsize i = 0; i < G_N_ELEMENTS(controllers); i++) {
        if (strcmp(controllers[i].kind, kind) != 0)
            continue;
        if (is_empty)
            check_fault(check, selector, "selector",
                        "Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), "
                        "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: %s",
                        controllers[i].empty_selector);
        if (deadline != NULL && controllers[i].forbids_deadline)
            check_forbidden(check, deadline, path, detail);
    }
    check_strategy(check, spec, kind);
    check_template_of(check, spec, FALSE);
}

static void
check_job(Check *check, const json_t *spec)
{
    static const char *const policies[] = {"OnFailure", "Never", NULL};
    const json_t *selector = json_path_get(spec, "selector");
    const json_t *labels = json_path_get(spec, "template.metadata.labels");

    if (check_flag(spec, "manualSelector") && selector != NULL &&
        !selector_matches(selector, FALSE, labels))
        refuse_labels(check, labels);
    check_policy(check, spec, policies);
}

/* ValidatePositiveIntOrPercent(), IsNotMoreThan100Percent(). */
static void
check_int_or_percent(Check *check, const json_t *value, const char *path)
{
    const char *text = json_string_value(value);
    gsize length = text == NULL ? 0 : strspn(text, "0123456789");

    if (json_is_integer(value) && json_integer_value(value) < 0)
        check_invalid(check, value, path, "must be greater than or equal to 0");
    if (text != NULL && (length == 0 || strcmp(text + length, "%") != 0))
        check_invalid(check, value, path,
                      "a valid percent string must be a numeric string followed by an ending '%' "
                      "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')");
    else if (text != NULL && g_ascii_strtoull(text, NULL, 10) > 100)
        check_invalid(check, value, path, "must not be greater than 100%");
}

/* ValidatePodDisruptionBudgetSpec(). */
static void
check_budget(Check *check, const json_t *spec)
{
    check_int_or_percent(check, json_path_get(spec, "minAvailable"), "minAvailable");
    check_int_or_percent(check, json_path_get(spec, "maxUnavailable"), "maxUnavailable");
    if (check_has(spec, "minAvailable") && check_has(spec, "maxUnavailable"))
        check_invalid(check, spec, "", "minAvailable and maxUnavailable cannot be both set");
}

/* ValidateScale(). */
static void
check_scale(Check *check, const json_t *spec)
{
    const json_t *replicas = json_path_get(spec, "replicas");

    if (json_is_integer(replicas) && json_integer_value(replicas) < 0)
        check_invalid(check, replicas, "replicas", "must be greater than or equal to 0");
}

const CheckRule check_workload_rules[] = {
  /* clang-format off */
    {"ValidateLabelSelector",             "meta.v1.LabelSelector",              check_label_selector        },
    {"ValidateLabelSelectorRequirement",  "meta.v1.LabelSelectorRequirement",   check_label_requirement     },
    {"ValidateReplicationControllerSpec", "core.v1.ReplicationControllerSpec",  check_replication_controller},
    {"ValidateDeploymentSpec",            "apps.v1.DeploymentSpec",             check_controller            },
    {"ValidateReplicaSetSpec",            "apps.v1.ReplicaSetSpec",             check_controller            },
    {"ValidateDaemonSetSpec",             "apps.v1.DaemonSetSpec",              check_controller            },
    {"ValidateStatefulSetSpec",           "apps.v1.StatefulSetSpec",            check_controller            },
    {"ValidateJobSpec",                   "batch.v1.JobSpec",                   check_job                   },
    {"ValidatePodDisruptionBudgetSpec",   "policy.v1.PodDisruptionBudgetSpec",  check_budget                },
    {"ValidateScale",                     "autoscaling.v1.ScaleSpec",           check_scale                 },
    {NULL,                                NULL,                                 NULL                        },
  /* clang-format on */
};
