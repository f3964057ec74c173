/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `kubectl describe node`: the node, its Lease, and the sums of its pods' requests. A pod's request
 * is the sum of its containers or its largest init container, as in kubectl; the format of a sum is
 * that of its first quantity other than 0, as amounts are added in Kubernetes. */
#include <string.h>

#include "describe.h"
#include "models/api/field.h"

static int
compare_taints(const void *a, const void *b)
{
    json_t *const *left = a, *const *right = b;
    g_autofree char *x =
        g_strconcat(value_text(*left, "effect"), ",", value_text(*left, "key"), NULL);
    g_autofree char *y =
        g_strconcat(value_text(*right, "effect"), ",", value_text(*right, "key"), NULL);

    return strcmp(x, y);
}

static void
put_taints(Description *self, json_t *node)
{
    g_autoptr(GPtrArray) taints = g_ptr_array_new();
    json_t *taint;
    gsize i;

    json_array_foreach(value_at(node, "spec.taints"), i, taint)
        g_ptr_array_add(taints, taint);
    g_ptr_array_sort(taints, compare_taints);
    put(self, 0, "Taints:\t");
    if (taints->len == 0)
        put(self, 0, "<none>\n");
    for (unsigned t = 0; t < taints->len; t++) {
        const char *value = value_text(taints->pdata[t], "value"),
                   *effect = value_text(taints->pdata[t], "effect");

        put(self, 0, "%s%s%s%s%s%s\n", t > 0 ? "\t" : "", value_text(taints->pdata[t], "key"),
            *value != '\0' ? "=" : "", value, *effect != '\0' ? ":" : "", effect);
    }
}

static void
put_lease_date(Description *self, const char *title, json_t *lease, const char *path)
{
    if (value_at(lease, path) != NULL)
        put_date(self, 1, title, lease, path);
    else
        put_text(self, 1, title, "<unset>");
}

static void
put_lease(Description *self, json_t *node)
{
    const char *name = value_text(node, "metadata.name");
    json_t *lease =
        cluster_find(self->request->cluster, kubectl_kind_find("lease"), "kube-node-lease", name);

    if (lease == NULL) {
        put(self, 0, "Lease:\tFailed to get lease: leases.coordination.k8s.io \"%s\" not found\n",
            name);
        return;
    }
    put(self, 0, "Lease:\n");
    put_text(self, 1, "HolderIdentity",
             value_at(lease, "spec.holderIdentity") != NULL
                 ? value_text(lease, "spec.holderIdentity")
                 : "<unset>");
    put_lease_date(self, "AcquireTime", lease, "spec.acquireTime");
    put_lease_date(self, "RenewTime", lease, "spec.renewTime");
}

static void
put_resource_list(Description *self, const char *title, json_t *list)
{
    g_auto(GStrv) keys = value_keys(list);

    if (keys[0] != NULL)
        put(self, 0, "%s:\n", title);
    for (unsigned i = 0; keys[i] != NULL; i++)
        put_quantity(self, 1, keys[i], json_object_get(list, keys[i]));
}

static void
put_system(Description *self, json_t *node)
{
    static const struct {
        const char *title, *path;
    } facts[] = {
        {"Machine ID",                "machineID"              },
        {"System UUID",               "systemUUID"             },
        {"Boot ID",                   "bootID"                 },
        {"Kernel Version",            "kernelVersion"          },
        {"OS Image",                  "osImage"                },
        {"Operating System",          "operatingSystem"        },
        {"Architecture",              "architecture"           },
        {"Container Runtime Version", "containerRuntimeVersion"},
        {"Kubelet Version",           "kubeletVersion"         },
        {"Kube-Proxy Version",        "kubeProxyVersion"       },
    };
    json_t *ranges = value_at(node, "spec.podCIDRs");
    const char *range = value_text(node, "spec.podCIDR"),
               *provider = value_text(node, "spec.providerID");

    put(self, 0, "System Info:\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(facts); i++)
        put_text(self, 1, facts[i].title,
                 value_text(value_at(node, "status.nodeInfo"), facts[i].path));
    if (*range != '\0')
        put_text(self, 0, "PodCIDR", range);
    if (json_array_size(ranges) > 0) {
        g_autoptr(GString) text = g_string_new(NULL);

        value_append_joined(text, ranges, ",");
        put_text(self, 0, "PodCIDRs", text->str);
    }
    if (*provider != '\0')
        put_text(self, 0, "ProviderID", provider);
}

/* A sum of quantities, in thousandths. Its format is that of the first quantity other than 0. */
typedef struct {
    int64_t milli;
    gboolean is_binary;
} DescribeNodeAmount;

static DescribeNodeAmount
amount_of(json_t *list, const char *name)
{
    const char *text = json_string_value(json_object_get(list, name));
    DescribeNodeAmount amount = {0};
    int64_t value;

    if (text == NULL || !quantity_parse(text, &value, &amount.milli, NULL))
        return amount;
    amount.is_binary = strchr(text, 'i') != NULL;
    return amount;
}

static void
amount_add(DescribeNodeAmount *self, DescribeNodeAmount other)
{
    if (self->milli == 0)
        self->is_binary = other.is_binary;
    self->milli += other.milli;
}

static void
amount_raise(DescribeNodeAmount *self, DescribeNodeAmount other)
{
    if (other.milli > self->milli)
        *self = other;
}

/* The requests or limits of a pod (PodRequestsAndLimits in kubectl): the sum of its containers, or
 * the largest init container with the sidecars before it; plus the overhead. @list: "requests" or
 * "limits" */
static DescribeNodeAmount
pod_amount(json_t *pod, const char *list, const char *name)
{
    g_autofree char *path = g_strconcat("resources.", list, NULL);
    DescribeNodeAmount total = {0}, sidecars = {0}, init = {0};
    json_t *container;
    gsize i;

    json_array_foreach(value_at(pod, "spec.containers"), i, container)
        amount_add(&total, amount_of(value_at(container, path), name));
    json_array_foreach(value_at(pod, "spec.initContainers"), i, container) {
        DescribeNodeAmount own = amount_of(value_at(container, path), name);

        if (strcmp(value_text(container, "restartPolicy"), "Always") == 0) {
            amount_add(&total, own);
            amount_add(&sidecars, own);
            amount_raise(&init, sidecars);
        } else {
            amount_add(&own, sidecars);
            amount_raise(&init, own);
        }
    }
    amount_raise(&total, init);
    if (strcmp(list, "requests") == 0 || total.milli > 0)
        amount_add(&total, amount_of(value_at(pod, "spec.overhead"), name));
    return total;
}

/* Appends "100m (10%)" of @room thousandths. @is_pod: without room, kubectl divides by 0 and prints
 * the least int64 */
static void
append_share(GString *out, DescribeNodeAmount amount, int64_t room, gboolean is_pod)
{
    char buffer[QUANTITY_BUFFER];
    int64_t percent = room != 0 ? (int64_t)((double)amount.milli / (double)room * 100)
                      : is_pod  ? INT64_MIN
                                : 0;

    g_string_append_printf(out, "%s (%" PRId64 "%%)",
                           amount.is_binary && amount.milli % 1000 == 0
                               ? quantity_format(amount.milli / 1000, buffer)
                               : quantity_format_milli(amount.milli, buffer),
                           percent);
}

static void
put_pod_shares(Description *self, json_t *pod, json_t *room)
{
    static const char *const names[] = {"cpu", "memory"};
    static const char *const lists[] = {"requests", "limits"};
    g_autoptr(GString) line = g_string_new(NULL), age = g_string_new(NULL);

    for (unsigned n = 0; n < G_N_ELEMENTS(names); n++)
        for (unsigned l = 0; l < G_N_ELEMENTS(lists); l++) {
            append_share(line, pod_amount(pod, lists[l], names[n]), amount_of(room, names[n]).milli,
                         TRUE);
            g_string_append_c(line, '\t');
        }
    value_append_age(age, value_time(pod, "metadata.creationTimestamp"), self->request->now);
    put(self, 1, "%s\t%s\t\t%s%s\n", value_text(pod, "metadata.namespace"),
        value_text(pod, "metadata.name"), line->str, age->str);
}

/* Whether a device plug-in or an administrator defines the resource, not Kubernetes. */
static gboolean
is_extended(const char *name)
{
    static const char *const known[] = {"cpu", "memory", "ephemeral-storage", "pods", NULL};

    return !g_strv_contains(known, name) && !g_str_has_prefix(name, "hugepages-");
}

static void
put_totals(Description *self, GPtrArray *pods, json_t *room)
{
    static const char *const known[] = {"cpu", "memory", "ephemeral-storage"};
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_auto(GStrv) all = value_keys(room);

    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        g_ptr_array_add(names, (char *)known[i]);
    for (unsigned i = 0; all[i] != NULL; i++)
        if (g_str_has_prefix(all[i], "hugepages-"))
            g_ptr_array_add(names, all[i]);
    for (unsigned i = 0; all[i] != NULL; i++)
        if (is_extended(all[i]))
            g_ptr_array_add(names, all[i]);

    put(self, 0,
        "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n");
    put(self, 1, "Resource\tRequests\tLimits\n");
    put(self, 1, "--------\t--------\t------\n");
    for (unsigned n = 0; n < names->len; n++) {
        const char *name = names->pdata[n];
        DescribeNodeAmount requests = {0}, limits = {0};
        g_autoptr(GString) line = g_string_new(NULL);

        for (unsigned p = 0; p < pods->len; p++) {
            amount_add(&requests, pod_amount(pods->pdata[p], "requests", name));
            amount_add(&limits, pod_amount(pods->pdata[p], "limits", name));
        }
        append_share(line, requests, amount_of(room, name).milli, FALSE);
        if (is_extended(name))
            g_string_truncate(line, (gsize)(strchr(line->str, ' ') - line->str));
        g_string_append_c(line, '\t');
        append_share(line, limits, amount_of(room, name).milli, FALSE);
        if (is_extended(name))
            g_string_truncate(line, (gsize)(strrchr(line->str, ' ') - line->str));
        put(self, 1, "%s\t%s\n", name, line->str);
    }
}

static void
put_pods(Description *self, json_t *node)
{
    GPtrArray *all = cluster_objects(self->request->cluster, kubectl_kind_find("pod"));
    g_autoptr(GPtrArray) pods = g_ptr_array_new();
    json_t *room = value_length(node, "status.allocatable") > 0
                       ? value_at(node, "status.allocatable")
                       : value_at(node, "status.capacity");

    for (unsigned i = 0; i < all->len; i++) {
        const char *phase = value_text(all->pdata[i], "status.phase");

        if (strcmp(value_text(all->pdata[i], "spec.nodeName"), value_text(node, "metadata.name")) ==
                0 &&
            strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
            g_ptr_array_add(pods, all->pdata[i]);
    }
    put(self, 0, "Non-terminated Pods:\t(%u in total)\n", pods->len);
    put(self, 1,
        "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge\n");
    put(self, 1,
        "---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n");
    for (unsigned i = 0; i < pods->len; i++)
        put_pod_shares(self, pods->pdata[i], room);
    put_totals(self, pods, room);
}

void
describe_node(Description *self, json_t *node)
{
    g_autoptr(GString) roles = g_string_new(NULL);
    json_t *address;
    gsize i;

    put_text(self, 0, "Name", value_text(node, "metadata.name"));
    append_node_roles(roles, node);
    put_text(self, 0, "Roles", roles->str);
    put_labels(self, node);
    put_date(self, 0, "CreationTimestamp", node, "metadata.creationTimestamp");
    put_taints(self, node);
    put_text(self, 0, "Unschedulable",
             value_is_true(node, "spec.unschedulable") ? "true" : "false");
    put_lease(self, node);
    put_conditions(self, node, "LastHeartbeatTime", "lastHeartbeatTime");
    put(self, 0, "Addresses:\n");
    json_array_foreach(value_at(node, "status.addresses"), i, address)
        put_text(self, 1, value_text(address, "type"), value_text(address, "address"));
    put_resource_list(self, "Capacity", value_at(node, "status.capacity"));
    put_resource_list(self, "Allocatable", value_at(node, "status.allocatable"));
    put_system(self, node);
    put_pods(self, node);
}
