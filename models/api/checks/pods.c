/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of pods and their templates: ValidatePodSpec(), ValidatePodCreate(). Here are the rules
 * over several fields or containers of a pod: names and host ports that two containers must not
 * share, the DNS policy, the operating system, host namespaces. Rules for one container alone are
 * in containers.c. */
#include "checks-private.h"

#include <string.h>

/* ---- Containers beside each other ---- */

static void
check_image_blanks(Check *check, const json_t *spec, const char *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_path_get(spec, list), i, item) {
        g_autofree char *path = g_strdup_printf("spec.%s[%zu].image", list, i);
        const char *image = json_path_text(item, "image");
        g_autofree char *stripped = g_strstrip(g_strdup(image));
        if (strcmp(stripped, image) != 0)
            check_invalid(check, json_object_get(item, "image"), path,
                          "must not have leading or trailing whitespace");
    }
}

/* Two containers may not have one port of the node; init containers run one after the other. */
static void
check_host_ports(Check *check, const json_t *containers, const char *list)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const json_t *container, *port;
    size_t i, k;

    json_array_foreach((json_t *)containers, i, container) {
        if (strcmp(list, "initContainers") == 0)
            g_hash_table_remove_all(seen);
        json_array_foreach(json_path_get(container, "ports"), k, port) {
            json_int_t number = json_integer_value(json_object_get(port, "hostPort"));
            const char *protocol = json_path_text(port, "protocol");
            g_autofree char *path = g_strdup_printf("%s[%zu].ports[%zu].hostPort", list, i, k);
            char *key =
                g_strdup_printf("%s/%s/%" JSON_INTEGER_FORMAT, *protocol == '\0' ? "TCP" : protocol,
                                json_path_text(port, "hostIP"), number);
            if (number == 0)
                g_free(key);
            else if (!g_hash_table_contains(seen, key))
                g_hash_table_add(seen, key);
            else {
                check_fault(check, port, path, "Duplicate value: \"%s\"", key);
                g_free(key);
            }
        }
    }
}

/* validatePodHostNetworkDeps(): hostPort is set to containerPort if it is left out. */
static void
check_host_network(Check *check, const json_t *spec)
{
    const json_t *container, *port;
    size_t i, k;

    if (!check_flag(spec, "hostNetwork"))
        return;
    json_array_foreach(json_path_get(spec, "containers"), i, container)
        json_array_foreach(json_path_get(container, "ports"), k, port) {
            const json_t *host = json_path_get(port, "hostPort");
            g_autofree char *path = g_strdup_printf("containers[%zu].ports[%zu].hostPort", i, k);
            if (host != NULL && json_integer_value(host) != 0 &&
                json_integer_value(host) !=
                    json_integer_value(json_object_get(port, "containerPort")))
                check_invalid(check, host, path,
                              "must match `containerPort` when `hostNetwork` is true");
        }
}

static gboolean
has_container(const json_t *containers, size_t n, const char *name)
{
    for (size_t i = 0; i < MIN(n, json_array_size(containers)); i++)
        if (strcmp(json_path_text(json_array_get(containers, i), "name"), name) == 0)
            return TRUE;
    return FALSE;
}

/* validateInitContainers(). */
static void
check_init_containers(Check *check, const json_t *spec)
{
    static const char *const of_sidecars[] = {"lifecycle", "livenessProbe", "readinessProbe",
                                              "startupProbe"};
    static const char *const always[] = {"Always", NULL};
    const json_t *others = json_path_get(spec, "containers"), *item;
    const json_t *containers = json_path_get(spec, "initContainers");
    size_t i;

    json_array_foreach((json_t *)containers, i, item) {
        const char *policy = json_path_text(item, "restartPolicy"),
                   *name = json_path_text(item, "name");
        g_autofree char *at = g_strdup_printf("initContainers[%zu]", i);
        g_autofree char *name_at = g_strconcat(at, ".name", NULL),
                        *policy_at = g_strconcat(at, ".restartPolicy", NULL);
        if (*policy != '\0' && strcmp(policy, "Always") != 0 && check->minor < 34)
            check_unsupported(check, json_object_get(item, "restartPolicy"), policy_at, always);
        if (*name != '\0' && has_container(others, G_MAXSIZE, name))
            check_duplicate(check, json_object_get(item, "name"), name_at);
        for (gsize k = 0; k < G_N_ELEMENTS(of_sidecars) && strcmp(policy, "Always") != 0; k++) {
            g_autofree char *path = g_strconcat(at, ".", of_sidecars[k], NULL);
            if (check_has(item, of_sidecars[k]))
                check_forbidden(check, json_object_get(item, of_sidecars[k]), path,
                                check->minor >= 28 ? "may not be set for init containers without "
                                                     "restartPolicy=Always"
                                                   : "may not be set for init containers");
        }
    }
}

/* validateContainers(). */
static void
check_plain_containers(Check *check, const json_t *spec)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_path_get(spec, "containers"), i, item) {
        g_autofree char *path = g_strdup_printf("containers[%zu].restartPolicy", i);
        if (check_has(item, "restartPolicy") && check->minor < 34)
            check_forbidden(check, json_object_get(item, "restartPolicy"), path,
                            "may not be set for non-init containers");
    }
}

/* ---- The pod's own fields ---- */

/* validatePodDNSConfig(). */
static void
check_dns(Check *check, const json_t *spec)
{
    const json_t *config = json_path_get(spec, "dnsConfig");
    const json_t *servers = json_path_get(config, "nameservers"), *item;
    size_t i;

    if (strcmp(json_path_text(spec, "dnsPolicy"), "None") == 0 && json_array_size(servers) == 0) {
        if (config == NULL)
            check_required(check, "dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
        else
            check_required(check, "dnsConfig.nameservers",
                           "must provide at least one DNS nameserver when `dnsPolicy` is None");
        return;
    }
    if (json_array_size(servers) > 3)
        check_invalid(check, servers, "dnsConfig.nameservers",
                      "must not have more than 3 nameservers");
    if (json_array_size(json_path_get(config, "searches")) > 32)
        check_invalid(check, json_path_get(config, "searches"), "dnsConfig.searches",
                      "must not have more than 32 search paths");
    json_array_foreach(json_path_get(config, "options"), i, item) {
        g_autofree char *path = g_strdup_printf("dnsConfig.options[%zu]", i);
        if (*json_path_text(item, "name") == '\0')
            check_required(check, path, "must not be empty");
    }
}

/* validateSchedulingGates(): told of the item, not of its name. */
static void
pods_check_gates(Check *check, const json_t *spec)
{
    const json_t *gates = json_path_get(spec, "schedulingGates"), *item;
    size_t i;

    json_array_foreach((json_t *)gates, i, item) {
        g_autofree char *path = g_strdup_printf("schedulingGates[%zu]", i);
        const char *name = json_path_text(item, "name");
        check_format(check, json_path_get(item, "name"), path, "qualified-name");
        for (size_t k = 0; k < i; k++)
            if (strcmp(json_path_text(json_array_get(gates, k), "name"), name) == 0) {
                check_fault(check, item, path, "Duplicate value: \"%s\"", name);
                break;
            }
    }
}

/* validateHostUsers(), validateSysctls(), validatePodSpecSecurityContext(). */
static void
check_namespaces_of_node(Check *check, const json_t *spec)
{
    static const struct {
        const char *field, *told;
    } fields[] = {
        {"hostNetwork", "hostNetwork"},
        {"hostPID",     "HostPID"    },
        {"hostIPC",     "HostIPC"    },
    };
    const json_t *shares = json_path_get(spec, "shareProcessNamespace");

    for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
        if (json_is_false(json_path_get(spec, "hostUsers")) && check_flag(spec, fields[i].field))
            check_forbidden(check, json_object_get(spec, fields[i].field), fields[i].told,
                            "when `pod.Spec.HostUsers` is false");
    if (json_is_true(shares) && check_flag(spec, "hostPID"))
        check_invalid(check, shares, "securityContext.shareProcessNamespace",
                      "ShareProcessNamespace and HostPID cannot both be enabled");
}

/* validateLinux(), validateWindows(): the fields that most people meet. */
static void
check_os(Check *check, const json_t *spec)
{
    static const char *const of_linux[] = {"hostPID",
                                           "hostIPC",
                                           "hostUsers",
                                           "shareProcessNamespace",
                                           "securityContext.appArmorProfile",
                                           "securityContext.fsGroup",
                                           "securityContext.fsGroupChangePolicy",
                                           "securityContext.runAsGroup",
                                           "securityContext.runAsUser",
                                           "securityContext.seLinuxOptions",
                                           "securityContext.seccompProfile",
                                           "securityContext.supplementalGroups",
                                           "securityContext.sysctls"};
    const char *os = json_path_text(spec, "os.name");

    if (strcmp(os, "linux") == 0 && check_has(spec, "securityContext.windowsOptions"))
        check_forbidden(check, json_path_get(spec, "securityContext.windowsOptions"),
                        "securityContext.windowsOptions",
                        "windows options cannot be set for a linux pod");
    for (gsize i = 0; strcmp(os, "windows") == 0 && i < G_N_ELEMENTS(of_linux); i++)
        if (check_has(spec, of_linux[i]) && !json_is_false(json_path_get(spec, of_linux[i])))
            check_forbidden(check, json_path_get(spec, of_linux[i]), of_linux[i],
                            "cannot be set for a windows pod");
}

/* validateEphemeralContainers(): a name differs from those of all other containers; a target is a
 * plain or an init container. */
static void
check_ephemeral_names(Check *check, const json_t *spec)
{
    const json_t *list = json_path_get(spec, "ephemeralContainers"), *one;
    const json_t *plain = json_path_get(spec, "containers"),
                 *init = json_path_get(spec, "initContainers");
    size_t i;

    json_array_foreach((json_t *)list, i, one) {
        g_autofree char *at = g_strdup_printf("ephemeralContainers[%zu].name", i);
        g_autofree char *target_at =
            g_strdup_printf("ephemeralContainers[%zu].targetContainerName", i);
        const char *name = json_path_text(one, "name"),
                   *target = json_path_text(one, "targetContainerName");
        if (has_container(plain, G_MAXSIZE, name) || has_container(init, G_MAXSIZE, name) ||
            has_container(list, i, name))
            check_duplicate(check, json_path_get(one, "name"), at);
        if (*target != '\0' && !has_container(plain, G_MAXSIZE, target) &&
            !has_container(init, G_MAXSIZE, target))
            check_fault(check, json_path_get(one, "targetContainerName"), target_at,
                        "Not found: \"%s\"", target);
    }
}

static void
check_pod_spec(Check *check, const json_t *spec)
{
    check_plain_containers(check, spec);
    check_init_containers(check, spec);
    check_ephemeral_names(check, spec);
    check_host_ports(check, json_path_get(spec, "containers"), "containers");
    check_host_ports(check, json_path_get(spec, "initContainers"), "initContainers");
    check_host_network(check, spec);
    check_labels(check, json_path_get(spec, "nodeSelector"), "nodeSelector");
    check_dns(check, spec);
    pods_check_gates(check, spec);
    check_namespaces_of_node(check, spec);
    check_os(check, spec);
}

/* ---- Pods, not templates ---- */

static void
pods_check_pod(Check *check, const json_t *pod)
{
    const json_t *spec = json_path_get(pod, "spec");
    const json_t *annotations = json_path_get(pod, "metadata.annotations");
    const json_t *cost = json_object_get(annotations, "controller.kubernetes.io/pod-deletion-cost");
    gint64 number;

    if (json_is_string(cost) && !g_ascii_string_to_signed(json_string_value(cost), 10, G_MININT32,
                                                          G_MAXINT32, &number, NULL))
        check_invalid(check, cost,
                      "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]",
                      "must be a 32bit integer");
    check_image_blanks(check, spec, "containers");
    check_image_blanks(check, spec, "initContainers");
    if (check->old != NULL)
        return;
    if (json_array_size(json_path_get(spec, "ephemeralContainers")) > 0)
        check_forbidden(check, json_path_get(spec, "ephemeralContainers"),
                        "spec.ephemeralContainers", "cannot be set on create");
    if (*json_path_text(spec, "nodeName") != '\0' &&
        json_array_size(json_path_get(spec, "schedulingGates")) > 0)
        check_forbidden(check, json_path_get(spec, "nodeName"), "spec.nodeName",
                        "cannot be set until all schedulingGates have been cleared");
}

static void
check_template(Check *check, const json_t *template)
{
    const json_t *ephemeral = json_path_get(template, "spec.ephemeralContainers");

    check_template_metadata(check, json_path_get(template, "metadata"));
    if (json_array_size(ephemeral) > 0)
        check_forbidden(check, ephemeral, "spec.ephemeralContainers",
                        "ephemeral containers not allowed in pod template");
}

static void
check_binding(Check *check, const json_t *binding)
{
    static const char *const kinds[] = {"Node", "<empty>", NULL};
    const json_t *kind = json_path_get(binding, "target.kind");

    if (json_is_string(kind) && *json_string_value(kind) != '\0' &&
        strcmp(json_string_value(kind), "Node") != 0)
        check_unsupported(check, kind, "target.kind", kinds);
    if (*json_path_text(binding, "target.name") == '\0')
        check_required(check, "target.name", "");
}

const CheckRule check_pod_rules[] = {
    {"ValidatePodCreate",       "core.v1.Pod",             pods_check_pod},
    {"ValidatePodSpec",         "core.v1.PodSpec",         check_pod_spec},
    {"ValidatePodTemplateSpec", "core.v1.PodTemplateSpec", check_template},
    {"ValidatePodBinding",      "core.v1.Binding",         check_binding },
    {NULL,                      NULL,                      NULL          },
};
