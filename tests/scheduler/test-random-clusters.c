/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scheduler/scheduler-test.h"
#include "random-world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Random clusters in which pods come, go and look for nodes, while nodes, limits and attachments
 * change: the cycle, which keeps sums and remembers answers, must agree about each pod with
 * plain-filter.c, which looks at everything anew. The argument is the number of clusters in
 * hundreds; `make soak` gives 100. */

#define CLUSTERS_OF_CHECK 10000
#define CLUSTERS_PER_SEED 100
#define STEPS 12

const ModelClass *const model_classes[] = {NULL};

static gboolean
differs(RandomWorld *self, const Pod *pod, const char *what, const char *plain, const char *cycle)
{
    if (g_strcmp0(plain, cycle) == 0)
        return FALSE;
    g_string_append_printf(self->story, "  pod %s: %s: should be %s, is %s\n", pod->meta.key->name,
                           what, plain == NULL ? "none" : plain, cycle == NULL ? "none" : cycle);
    return TRUE;
}

/* (owned) */
static char *
choices_of(Cycle *cycle, const Pod *pod)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        for (unsigned k = 0; k < cycle->choices->len; k++) {
            const VolumeChoice *choice = &g_array_index(cycle->choices, VolumeChoice, k);
            if (strcmp(choice->claim->name, pod->volumes->items[i].claim_name) == 0)
                g_string_append_printf(text, "%s=%s ", choice->claim->name,
                                       volume_choice_is_static(choice) ? choice->chosen->key->name
                                                                       : "new");
        }
    }
    return g_string_free(text, FALSE);
}

/* (owned): sorted */
static char *
join_names(GPtrArray *names)
{
    g_ptr_array_sort(names, strings_compare);
    g_ptr_array_add(names, NULL);
    return g_strjoinv(" ", (char **)names->pdata);
}

/* SCH-55, SCH-57: the first @n that fit, in the order of the list from @start on. (owned) */
static char *
expected_nodes(RandomWorld *self,
               const Pod *pod,
               const GPtrArray *feasible,
               unsigned start,
               unsigned *n_examined)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    unsigned n, n_looked_at = 0;
    NodeInfo *const *nodes = scheduler_cache_nodes(self->cache, &n);

    for (unsigned i = 0; i < n; i++)
        n_looked_at += plain_looks_at(pod, nodes[i]->node) ? 1 : 0;
    unsigned enough = feasible_nodes_to_find(n_looked_at, 0);
    *n_examined = 0;
    for (unsigned i = 0; i < n && names->len < enough; i++) {
        const NodeInfo *node = nodes[(start + i) % n];
        *n_examined += plain_looks_at(pod, node->node) ? 1 : 0;
        if (g_ptr_array_find((GPtrArray *)feasible, node->node, NULL))
            g_ptr_array_add(names, (void *)node->key->name);
    }
    if (n_looked_at < n)
        *n_examined = n_looked_at;
    return join_names(names);
}

static gboolean
compare_nodes(RandomWorld *self,
              const Pod *pod,
              const GPtrArray *feasible,
              const CycleResult *result,
              unsigned start)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    unsigned n_examined;
    g_autofree char *expected = expected_nodes(self, pod, feasible, start, &n_examined);

    for (unsigned i = 0; i < self->cycle->feasible->len; i++)
        g_ptr_array_add(names, (void *)((NodeInfo *)self->cycle->feasible->pdata[i])->key->name);
    g_autofree char *found = join_names(names);
    if (differs(self, pod, "nodes", expected, found))
        return FALSE;
    g_autofree char *should = g_strdup_printf("%u", n_examined);
    g_autofree char *is = g_strdup_printf("%u", result->n_examined);
    return !differs(self, pod, "nodes examined", should, is);
}

static gboolean
compare_choices(RandomWorld *self, const Pod *pod, const char *node_name)
{
    const Node *node = NULL;

    for (unsigned i = 0; node == NULL; i++) {
        const Node *other = self->plain.nodes->pdata[i];
        node = strcmp(other->meta.key->name, node_name) == 0 ? other : NULL;
    }
    g_autofree char *should = plain_choices(&self->plain, pod, node);
    g_autofree char *is = choices_of(self->cycle, pod);
    return !differs(self, pod, node_name, should, is);
}

/* The pod goes to its node, and takes its volumes, in both worlds. */
static void
random_clusters_assume(RandomWorld *self, const Pod *pod, const char *node_name)
{
    GArray *choices = self->cycle->choices;

    for (unsigned i = 0; i < choices->len; i++)
        object_ref(g_array_index(choices, VolumeChoice, i).chosen);
    g_autofree char *why = volume_binder_reserve(
        &self->binder, (VolumeChoice *)(void *)choices->data, choices->len, node_name);
    g_assert(why == NULL);
    for (unsigned i = 0; i < choices->len; i++) {
        VolumeChoice *choice = &g_array_index(choices, VolumeChoice, i);
        if (choice->assumed != NULL)
            plain_put(volume_choice_is_static(choice) ? self->plain.volumes : self->plain.claims,
                      choice->assumed);
        volume_choice_clear(choice);
    }
    g_array_set_size(choices, 0);
    plain_remove(self->plain.nominated, pod->meta.key);
    scheduler_cache_nominate(self->cache, pod, NULL);
    random_place_pod(self, pod, node_name);
    g_ptr_array_remove(self->waiting, (void *)pod);
}

/* (owned): "node: pod pod " */
static char *
nominee_of(const CycleResult *result)
{
    GString *text = g_string_new(result->nominated);

    g_string_append(text, ": ");
    for (unsigned i = 0; result->victims != NULL && i < result->victims->len; i++)
        g_string_append_printf(text, "%s ", ((const Object *)result->victims->pdata[i])->key->name);
    return g_string_free(text, FALSE);
}

/* It is one of the best. */
static gboolean
compare_nominees(RandomWorld *self,
                 const Pod *pod,
                 const GPtrArray *nominees,
                 const CycleResult *result)
{
    g_autofree char *nominee = result->nominated == NULL ? NULL : nominee_of(result);

    if (nominees->len == 0)
        return !differs(self, pod, "nominee", NULL, nominee);
    for (unsigned i = 0; i < nominees->len; i++) {
        if (g_strcmp0(nominees->pdata[i], nominee) == 0)
            return TRUE;
    }
    return !differs(self, pod, "nominee", nominees->pdata[0], nominee);
}

typedef struct {
    unsigned n_pods, n_fit, n_nominees, n_failed;
} RandomClustersTally;

/* A node is kept for the pod, if it is one of those that the plain filter can tell apart. */
static void
nominate(RandomWorld *self, const Pod *pod, const char *node_name)
{
    g_autoptr(Object) nominated = object_edit(&pod->meta);

    if (pod->volumes != NULL || pod->spec->n_pod_terms > 0)
        return;
    POD(nominated)->node_name = node_name;
    plain_put(self->plain.nominated, nominated);
    scheduler_cache_nominate(self->cache, pod, node_name);
}

/* Returns: FALSE: they differ, and the story says where */
static gboolean
try_pod(RandomWorld *self, RandomClustersTally *tally)
{
    g_autoptr(GPtrArray) feasible = g_ptr_array_new();
    g_autoptr(GPtrArray) nominees = g_ptr_array_new_with_free_func(g_free);
    const Pod *pod = POD_CONST(random_any_of(self, self->waiting));
    unsigned start = random_below(self, 200);

    if (pod == NULL)
        return TRUE;
    g_autofree char *why = plain_filter(&self->plain, pod, feasible, nominees);
    CycleResult result = cycle_run(self->cycle, pod, 1, start);
    g_autofree char *message = result.message;
    g_autoptr(GPtrArray) victims G_GNUC_UNUSED = result.victims;

    if (differs(self, pod, "message", why, message))
        return FALSE;
    tally->n_pods++;
    tally->n_fit += why == NULL ? 1 : 0;
    tally->n_nominees += result.nominated == NULL ? 0 : 1;
    if (result.nominated != NULL && random_one_in(self, 2))
        nominate(self, pod, result.nominated);
    if (why != NULL)
        return compare_nominees(self, pod, nominees, &result);
    if (!compare_nodes(self, pod, feasible, &result, start) ||
        !compare_choices(self, pod, result.node_name))
        return FALSE;
    if (!random_one_in(self, 3))
        random_clusters_assume(self, pod, result.node_name);
    return TRUE;
}

static gboolean
compare_cluster(guint32 seed, RandomClustersTally *tally)
{
    gboolean agree = TRUE;
    RandomWorld world;

    random_world_init(&world, seed);
    for (unsigned step = 0; step < STEPS && agree; step++) {
        agree = try_pod(&world, tally);
        random_change_something(&world);
    }
    if (!agree)
        printf("cluster %u (to repeat: tests/scheduler/test-random-clusters 0 %u)\n%s", seed, seed,
               world.story->str);
    random_world_clear(&world);
    return agree;
}

int
main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) * CLUSTERS_PER_SEED : CLUSTERS_OF_CHECK;
    unsigned first = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    RandomClustersTally tally = {0};

    if (argc > 2)
        n = 1;
    for (unsigned seed = first; seed < first + n; seed++)
        tally.n_failed += compare_cluster(seed, &tally) ? 0 : 1;
    printf("%u pods were tried; %u found a node, %u one that others should leave\n", tally.n_pods,
           tally.n_fit, tally.n_nominees);
    printf("%u passed, %u failed, 0 skipped\n", n - tally.n_failed, tally.n_failed);
    return tally.n_failed == 0 ? 0 : 1;
}
