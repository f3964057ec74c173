/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `kubectl describe` of claims, volumes, classes and CSINodes. A claim lists the pods that use it,
 * also by a generic ephemeral volume, which belongs to its pod. Capacity and access modes stay
 * empty until the claim has a volume. The spec of a claim is printed for templates within pods,
 * too. */
#include <string.h>

#include "describe.h"
#include "sim/strings.h"

/* Capacity and access modes stay empty until the claim has a volume. @is_whole: FALSE for a
 * template within a pod */
void
describe_claim_spec(Description *self, json_t *claim, gboolean is_whole)
{
    const char *volume = value_text(claim, "spec.volumeName");
    json_t *source = value_at(claim, "spec.dataSource");
    g_autoptr(GString) capacity = g_string_new(NULL), modes = g_string_new(NULL);

    if (is_whole)
        put_name(self, claim);
    put_text(self, 0, "StorageClass", class_name_of(claim));
    if (is_whole)
        put_phase(self, claim);
    put_text(self, 0, "Volume", volume);
    put_labels(self, claim);
    if (is_whole)
        put_list(self, 0, "Finalizers", value_at(claim, "metadata.finalizers"));
    if (*volume != '\0') {
        append_access_modes(modes, value_at(claim, "status.accessModes"));
        value_append_quantity(capacity, value_at(claim, "status.capacity.storage"));
    }
    put_text(self, 0, "Capacity", capacity->str);
    put_text(self, 0, "Access Modes", modes->str);
    put_optional_text(self, 0, "VolumeMode", claim, "spec.volumeMode");
    if (source == NULL)
        return;
    put(self, 0, "DataSource:\n");
    if (value_at(source, "apiGroup") != NULL) /* may be empty */
        put_text(self, 1, "APIGroup", value_text(source, "apiGroup"));
    put_text(self, 1, "Kind", value_text(source, "kind"));
    put_text(self, 1, "Name", value_text(source, "name"));
}

/* Adds the names of pods that use the claim; a pod with two such volumes counts twice. */
static void
add_users(const Description *self, json_t *claim, GPtrArray *names)
{
    GPtrArray *pods = cluster_objects(self->request->cluster, kubectl_kind_find("pod"));
    const char *namespace = value_text(claim, "metadata.namespace"),
               *name = value_text(claim, "metadata.name");

    for (unsigned p = 0; p < pods->len; p++) {
        json_t *pod = pods->pdata[p], *volume;
        const char *pod_name = value_text(pod, "metadata.name");
        gboolean is_user = FALSE;
        gsize i;

        if (strcmp(value_text(pod, "metadata.namespace"), namespace) != 0)
            continue;
        json_array_foreach(value_at(pod, "spec.volumes"), i, volume)
            if (strcmp(value_text(volume, "persistentVolumeClaim.claimName"), name) == 0) {
                g_ptr_array_add(names, (char *)pod_name);
                is_user = TRUE;
            }
        /* A generic ephemeral volume's claim belongs to its pod. */
        json_t *owner = value_find(value_at(claim, "metadata.ownerReferences"), "uid",
                                   value_text(pod, "metadata.uid"));
        if (!is_user && strcmp(value_text(owner, "kind"), "Pod") == 0)
            g_ptr_array_add(names, (char *)pod_name);
    }
}

void
describe_claim(Description *self, json_t *claim)
{
    g_autoptr(GPtrArray) users = g_ptr_array_new();

    describe_claim_spec(self, claim, TRUE);
    add_users(self, claim, users);
    g_ptr_array_sort(users, strings_compare);
    put(self, 0, "Used By:\t");
    if (users->len == 0)
        put(self, 0, "<none>\n");
    for (unsigned i = 0; i < users->len; i++)
        put(self, 0, "%s%s\n", i > 0 ? "\t" : "", (char *)users->pdata[i]);
    put_conditions(self, claim, "LastProbeTime", "lastProbeTime");
}

/* "zone in [a, b]" under "Term 0:", of a volume's node affinity or a class's topologies. @operator:
 * NULL: each expression has its own */
static void
put_term(Description *self, unsigned level, gsize n, json_t *expressions, const char *operator)
{
    json_t *expression;
    gsize i;

    put(self, level, "Term %" G_GSIZE_FORMAT ":\t", n);
    if (json_array_size(expressions) == 0)
        put(self, 0, "<none>\n");
    json_array_foreach(expressions, i, expression) {
        g_autoptr(GString) values = g_string_new(NULL);
        g_autofree char *word = g_ascii_strdown(value_text(expression, "operator"), -1);

        if (i > 0)
            put(self, level, "\t");
        value_append_joined(values, value_at(expression, "values"), ", ");
        put(self, 0, "%s %s", value_text(expression, "key"), operator!= NULL ? operator: word);
        if (value_length(expression, "values") > 0)
            put(self, 0, " [%s]", values->str);
        put(self, 0, "\n");
    }
}

static void
put_node_affinity(Description *self, json_t *required)
{
    json_t *terms = value_at(required, "nodeSelectorTerms"), *term;
    gsize i;

    put(self, 0, "Node Affinity:\t");
    if (required == NULL) {
        put(self, 0, "<none>\n");
        return;
    }
    put(self, 0, "\n");
    put(self, 1, "Required Terms:\t%s\n", json_array_size(terms) == 0 ? "<none>" : "");
    json_array_foreach(terms, i, term)
        put_term(self, 2, i, value_at(term, "matchExpressions"), NULL);
}

void
describe_volume(Description *self, json_t *volume)
{
    json_t *claim = value_at(volume, "spec.claimRef");
    g_autoptr(GString) modes = g_string_new(NULL);

    put_text(self, 0, "Name", value_text(volume, "metadata.name"));
    put_labels(self, volume);
    put_list(self, 0, "Finalizers", value_at(volume, "metadata.finalizers"));
    put_text(self, 0, "StorageClass", class_name_of(volume));
    put_phase(self, volume);
    put(self, 0, "Claim:\t%s%s%s\n", value_text(claim, "namespace"), claim != NULL ? "/" : "",
        value_text(claim, "name"));
    put_text(self, 0, "Reclaim Policy", value_text(volume, "spec.persistentVolumeReclaimPolicy"));
    append_access_modes(modes, value_at(volume, "spec.accessModes"));
    put_text(self, 0, "Access Modes", modes->str);
    put_optional_text(self, 0, "VolumeMode", volume, "spec.volumeMode");
    put_quantity(self, 0, "Capacity", value_at(volume, "spec.capacity.storage"));
    put_node_affinity(self, value_at(volume, "spec.nodeAffinity.required"));
    put_text(self, 0, "Message", value_text(volume, "status.message"));
    put(self, 0, "Source:\n");
    describe_volume_source(self, value_at(volume, "spec"), TRUE);
}

void
describe_class(Description *self, json_t *class)
{
    json_t *options = value_at(class, "mountOptions"),
           *topologies = value_at(class, "allowedTopologies"), *item;
    json_t *expansion = value_at(class, "allowVolumeExpansion");
    g_autoptr(GString) annotations = g_string_new(NULL), parameters = g_string_new(NULL);
    gsize i;

    put_text(self, 0, "Name", value_text(class, "metadata.name"));
    put_text(self, 0, "IsDefaultClass", class_is_default(class) ? "Yes" : "No");
    value_append_map(annotations, value_at(class, "metadata.annotations"));
    put_text(self, 0, "Annotations", annotations->str);
    put_text(self, 0, "Provisioner", value_text(class, "provisioner"));
    value_append_map(parameters, value_at(class, "parameters"));
    put_text(self, 0, "Parameters", parameters->str);
    put_text(self, 0, "AllowVolumeExpansion",
             expansion == NULL         ? "<unset>"
             : json_is_true(expansion) ? "True"
                                       : "False");
    put(self, 0, "MountOptions:%s\n", json_array_size(options) == 0 ? "\t<none>" : "");
    json_array_foreach(options, i, item)
        put(self, 1, "%s\n", json_string_value(item));
    put_optional_text(self, 0, "ReclaimPolicy", class, "reclaimPolicy");
    put_optional_text(self, 0, "VolumeBindingMode", class, "volumeBindingMode");
    if (topologies == NULL)
        return;
    put(self, 0, "AllowedTopologies:\t%s\n", json_array_size(topologies) == 0 ? "<none>" : "");
    json_array_foreach(topologies, i, item)
        put_term(self, 1, i, value_at(item, "matchLabelExpressions"), "in");
}

void
describe_csi_node(Description *self, json_t *node)
{
    json_t *drivers = value_at(node, "spec.drivers"), *driver;
    gsize i;

    put_text(self, 0, "Name", value_text(node, "metadata.name"));
    put_labels(self, node);
    put_date(self, 0, "CreationTimestamp", node, "metadata.creationTimestamp");
    put(self, 0, "Spec:\n");
    if (drivers != NULL)
        put(self, 1, "Drivers:\n");
    json_array_foreach(drivers, i, driver) {
        json_t *count = value_at(driver, "allocatable.count");

        put(self, 2, "%s:\n", value_text(driver, "name"));
        put_text(self, 3, "Node ID", value_text(driver, "nodeID"));
        if (count != NULL) {
            put(self, 3, "Allocatables:\n");
            put(self, 4, "Count:\t%" JSON_INTEGER_FORMAT "\n", json_integer_value(count));
        }
        if (value_at(driver, "topologyKeys") != NULL)
            put_list(self, 3, "Topology Keys", value_at(driver, "topologyKeys"));
    }
}
