/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain-private.h"

#include <string.h>

/* ---- Lists of objects ---- */

static GPtrArray *
new_list(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
}

void
plain_cluster_init(PlainCluster *self)
{
    *self = (PlainCluster){new_list(), new_list(), new_list(), new_list(), new_list(),
                           new_list(), new_list(), new_list(), new_list(), new_list()};
}

void
plain_cluster_clear(PlainCluster *self)
{
    GPtrArray *const lists[] = {self->nodes,       self->csi_nodes, self->pods,    self->claims,
                                self->volumes,     self->classes,   self->drivers, self->capacities,
                                self->attachments, self->nominated};

    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++)
        g_ptr_array_unref(lists[i]);
}

void
plain_put(GPtrArray *objects, const Object *object)
{
    object_ref(object);
    for (unsigned i = 0; i < objects->len; i++) {
        if (((const Object *)objects->pdata[i])->key == object->key) {
            object_unref(objects->pdata[i]);
            objects->pdata[i] = (void *)object;
            return;
        }
    }
    g_ptr_array_add(objects, (void *)object);
}

void
plain_remove(GPtrArray *objects, const ObjectKey *key)
{
    for (unsigned i = 0; i < objects->len; i++) {
        if (((const Object *)objects->pdata[i])->key == key) {
            g_ptr_array_remove_index(objects, i);
            return;
        }
    }
}

const Object *
plain_find(const GPtrArray *objects, const char *namespace, const char *name)
{
    for (unsigned i = 0; i < objects->len; i++) {
        const Object *object = objects->pdata[i];
        if (strcmp(object->key->name, name) == 0 &&
            (namespace == NULL || strcmp(object->key->namespace, namespace) == 0))
            return object;
    }
    return NULL;
}

/* ---- All nodes ---- */

/* SCH-51 */
static gboolean
passes_alone(Asked *asked)
{
    static gboolean (*const filters[])(Asked *) = {
        plain_node_unschedulable, plain_taint_toleration,    plain_node_affinity,
        plain_resources_fit,      plain_volume_restrictions, plain_volume_limits,
        plain_volume_binding,     plain_volume_zone,         plain_topology_spread,
        plain_pod_affinity,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(filters); i++) {
        if (!filters[i](asked))
            return FALSE;
    }
    return TRUE;
}

/* SCH-59: once with the pods that are nominated to the node and once without. */
static gboolean
passes(Asked *asked)
{
    g_autoptr(GPtrArray) pods = g_ptr_array_copy(asked->cluster->pods, NULL, NULL);
    PlainCluster fuller = *asked->cluster;
    Asked with_nominated = *asked;

    for (unsigned i = 0; i < fuller.nominated->len; i++) {
        const Pod *other = fuller.nominated->pdata[i];
        if (strcmp(other->node_name, asked->node->meta.key->name) == 0 &&
            other->spec->priority >= asked->pod->spec->priority &&
            other->meta.key != asked->pod->meta.key)
            g_ptr_array_add(pods, (void *)other);
    }
    g_ptr_array_set_free_func(pods, NULL);
    fuller.pods = pods;
    with_nominated.cluster = &fuller;
    if (pods->len > asked->cluster->pods->len && !passes_alone(&with_nominated)) {
        asked->unhelpable = with_nominated.unhelpable;
        return FALSE;
    }
    return passes_alone(asked);
}

/* SCH-90: equal reasons counted, sorted as text. (owned) */
static char *
count_reasons(GPtrArray *reasons)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_sort(reasons, strings_compare);
    for (unsigned i = 0, n; i < reasons->len; i += n) {
        for (n = 1; i + n < reasons->len && g_str_equal(reasons->pdata[i], reasons->pdata[i + n]);)
            n++;
        g_ptr_array_add(items, g_strdup_printf("%u %s", n, (const char *)reasons->pdata[i]));
    }
    g_ptr_array_sort(items, strings_compare);
    g_ptr_array_add(items, NULL);
    return g_strjoinv(", ", (char **)items->pdata);
}

/* ---- Preemption ---- */

static int64_t
started(const Pod *pod)
{
    return pod->started_at == TIME_UNSET ? INT64_MAX : pod->started_at;
}

static gint
by_importance(gconstpointer a, gconstpointer b)
{
    const Pod *x = *(const Pod *const *)a, *y = *(const Pod *const *)b;

    if (x->spec->priority != y->spec->priority)
        return x->spec->priority > y->spec->priority ? -1 : 1;
    if (started(x) != started(y))
        return started(x) < started(y) ? -1 : 1;
    return strcmp(x->meta.key->text, y->meta.key->text);
}

/* Whether the node takes the pod in a cluster without @absent. */
static gboolean
passes_without(const PlainCluster *cluster,
               const Pod *pod,
               const Node *node,
               const GPtrArray *absent,
               GPtrArray *reasons)
{
    g_autoptr(GPtrArray) pods = g_ptr_array_new();
    PlainCluster reduced = *cluster;
    Asked asked = {&reduced, pod, node, reasons, FALSE};

    for (unsigned i = 0; i < cluster->pods->len; i++) {
        if (!g_ptr_array_find((GPtrArray *)absent, cluster->pods->pdata[i], NULL))
            g_ptr_array_add(pods, cluster->pods->pdata[i]);
    }
    reduced.pods = pods;
    return passes(&asked);
}

/* SCH-112. (owned): NULL: the node does not do; why not is added to @reasons */
static GPtrArray *
find_victims(const PlainCluster *cluster, const Pod *pod, const Node *node, GPtrArray *reasons)
{
    g_autoptr(GPtrArray) lower = g_ptr_array_new(), unused = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < cluster->pods->len; i++) {
        const Pod *other = cluster->pods->pdata[i];
        if (strcmp(other->node_name, node->meta.key->name) == 0 &&
            other->spec->priority < pod->spec->priority)
            g_ptr_array_add(lower, (void *)other);
    }
    if (lower->len == 0)
        g_ptr_array_add(reasons, g_strdup("No preemption victims found for incoming pod"));
    if (lower->len == 0 || !passes_without(cluster, pod, node, lower, reasons))
        return NULL;
    g_ptr_array_sort(lower, by_importance);
    GPtrArray *victims = g_ptr_array_copy(lower, NULL, NULL);
    for (unsigned i = 0; i < lower->len; i++) {
        unsigned at;
        g_ptr_array_find(victims, lower->pdata[i], &at);
        g_ptr_array_remove_index(victims, at);
        if (!passes_without(cluster, pod, node, victims, unused))
            g_ptr_array_insert(victims, (int)at, lower->pdata[i]);
    }
    return victims;
}

static int
plain_filter_compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int64_t
sum_of_priorities(const GPtrArray *victims)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < victims->len; i++)
        sum += ((const Pod *)victims->pdata[i])->spec->priority + (INT64_C(1) << 31);
    return sum;
}

/* SCH-113. Below 0: the first is better */
static int
compare_victims(const GPtrArray *a, const GPtrArray *b)
{
    const Pod *highest_of_a = a->pdata[0], *highest_of_b = b->pdata[0];
    int order =
        plain_filter_compare_numbers(highest_of_a->spec->priority, highest_of_b->spec->priority);

    if (order == 0)
        order = plain_filter_compare_numbers(sum_of_priorities(a), sum_of_priorities(b));
    if (order == 0)
        order = plain_filter_compare_numbers(a->len, b->len);
    return order != 0 ? order
                      : plain_filter_compare_numbers(started(highest_of_b), started(highest_of_a));
}

static void
add_nominee(GPtrArray *nominees, const Node *node, const GPtrArray *victims)
{
    GString *text = g_string_new(node->meta.key->name);

    g_string_append(text, ": ");
    for (unsigned i = 0; i < victims->len; i++)
        g_string_append_printf(text, "%s ", ((const Object *)victims->pdata[i])->key->name);
    g_ptr_array_add(nominees, g_string_free(text, FALSE));
}

/* SCH-93. @helpable: of Node. Returns: (owned): what is said; NULL: nothing, there are nominees */
static char *
preempt(const PlainCluster *cluster, const Pod *pod, const GPtrArray *helpable, GPtrArray *nominees)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) best = NULL;
    unsigned n_nodes = cluster->nodes->len;

    if (pod->spec->preemption_policy == PREEMPT_NEVER)
        return g_strdup(" preemption: not eligible due to preemptionPolicy=Never.");
    for (unsigned i = 0; i < helpable->len; i++) {
        g_autoptr(GPtrArray) victims = find_victims(cluster, pod, helpable->pdata[i], reasons);
        int order = victims == NULL ? 1 : best == NULL ? -1 : compare_victims(victims, best);
        if (order < 0)
            g_ptr_array_set_size(nominees, 0);
        if (order <= 0)
            add_nominee(nominees, helpable->pdata[i], victims);
        if (order < 0) {
            g_clear_pointer(&best, g_ptr_array_unref);
            best = g_steal_pointer(&victims);
        }
    }
    if (best != NULL)
        return NULL;
    for (unsigned i = helpable->len; i < n_nodes; i++)
        g_ptr_array_add(reasons, g_strdup("Preemption is not helpful for scheduling"));
    g_autofree char *text = count_reasons(reasons);
    return g_strdup_printf(" preemption: 0/%u nodes are available: %s.", n_nodes, text);
}

static char *
message(const PlainCluster *cluster,
        const Pod *pod,
        const GPtrArray *helpable,
        const char *why,
        GPtrArray *nominees)
{
    g_autofree char *preemption = preempt(cluster, pod, helpable, nominees);

    return g_strdup_printf("0/%u nodes are available: %s.%s", cluster->nodes->len, why,
                           preemption == NULL ? "" : preemption);
}

gboolean
plain_looks_at(const Pod *pod, const Node *node)
{
    const NodeSelector *required = pod->spec->required_nodes;
    gboolean is_named = required == NULL || required->n_terms == 0;

    for (unsigned i = 0; required != NULL && i < required->n_terms; i++) {
        const char *name = required->terms[i].field_name;
        is_named = is_named || name == NULL || strcmp(name, node->meta.key->name) == 0;
    }
    return is_named;
}

char *
plain_filter(const PlainCluster *cluster, const Pod *pod, GPtrArray *feasible, GPtrArray *nominees)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) helpable = g_ptr_array_new();
    g_autofree char *why = plain_restrictions_before(cluster, pod);

    if (cluster->nodes->len == 0)
        return g_strdup("no nodes available to schedule pods");
    if (why == NULL)
        why = plain_binding_before(cluster, pod);
    if (why == NULL)
        why = plain_zone_before(cluster, pod);
    if (why != NULL)
        return message(cluster, pod, helpable, why, nominees);
    for (unsigned i = 0; i < cluster->nodes->len; i++) {
        Asked asked = {cluster, pod, cluster->nodes->pdata[i], reasons, FALSE};
        if (!plain_looks_at(pod, asked.node)) /* SCH-53 */
            g_ptr_array_add(reasons, g_strdup("node(s) didn't satisfy plugin(s) [NodeAffinity]"));
        else if (passes(&asked))
            g_ptr_array_add(feasible, (void *)asked.node);
        else if (!asked.unhelpable)
            g_ptr_array_add(helpable, (void *)asked.node);
    }
    if (feasible->len > 0)
        return NULL;
    why = count_reasons(reasons);
    return message(cluster, pod, helpable, why, nominees);
}
