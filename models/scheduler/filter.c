/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds nodes that pass all filters, beginning where the last cycle ended, until there are enough
 * (SCH-8, SCH-9). The filters run in their order on each node, and the first refusal decides. Most
 * filters say the same of many nodes, and the same again for the next pod, so few nodes are asked.
 * Cordons and taints concern few nodes, the special ones, which are asked by all filters. Most pods
 * ask for the same numbers (Ask), so a node's answer is kept until the node changes. Labels rule
 * out whole sets of nodes (Narrowing). Only filters after the first that is none of these are asked
 * about each node that is left.
 *
 * Nodes that are known to be rejected are passed over; only if no node fits, their reasons are
 * counted, by sets. Invariant: results and counts are those of asking every node in turn. */
#include "filter.h"
#include "models/scheduler/scheduler-test.h"

#define NODES_ALL_TRIED 100 /* SCH-8 */
#define MIN_PERCENTAGE 5    /* SCH-9 */

typedef struct {
    Cycle *cycle;
    NodeInfo *const *nodes;
    unsigned n_nodes;
    const Filters *active;
    Filters beyond_ask; /* active, without the filters that go by the ask */
    Filters by_ask;     /* their answers are kept in sets */
    Filters by_node;    /* the rest: asked about each node that is left */
    /* Numbers of narrowings: before the filters that go by the ask, and before by_node. */
    unsigned n_before, n_narrowings;
    gboolean by_sets;
    const NodeSet *feasible; /* known to pass all filters */
    unsigned n_feasible;     /* found so far */
    FilterCounts counts;
    const Plugin *decider; /* of the node at hand */
} FilterSearch;

unsigned
feasible_nodes_to_find(unsigned n_nodes, int32_t percentage)
{
    if (n_nodes < NODES_ALL_TRIED)
        return n_nodes;
    int64_t percent =
        percentage > 0 ? percentage : MAX(MIN_PERCENTAGE, 50 - (int64_t)n_nodes / 125);
    if (percent >= 100)
        return n_nodes;
    return (unsigned)MAX(NODES_ALL_TRIED, (int64_t)n_nodes * percent / 100);
}

/* ---- Which filter is of which kind ---- */

static void
add_filter(Filters *filters, const Plugin *plugin)
{
    filters->plugins[filters->n++] = plugin;
}

static gboolean
is_about_special_nodes(const Plugin *plugin)
{
    return plugin == &plugins[PLUGIN_NODE_UNSCHEDULABLE] ||
           plugin == &plugins[PLUGIN_TAINT_TOLERATION];
}

static gboolean
is_exact(const Cycle *cycle, const Plugin *plugin)
{
    return (cycle->narrowed_plugins & UINT32_C(1) << (plugin - plugins)) != 0;
}

/* How many of the narrowings are the plugin's. */
static unsigned
count_narrowings(const Cycle *cycle, const Plugin *plugin)
{
    unsigned n = 0;

    for (unsigned i = 0; i < cycle->n_narrowings; i++)
        n += &plugins[cycle->narrowings[i].plugin] == plugin ? 1 : 0;
    return n;
}

static void
sort_filters(FilterSearch *self)
{
    for (unsigned i = 0; i < self->active->n; i++) {
        const Plugin *plugin = self->active->plugins[i];
        unsigned n_narrowings = self->by_node.n > 0 ? 0 : count_narrowings(self->cycle, plugin);
        gboolean by_ask = cycle_goes_by_ask(self->cycle, plugin);
        if (!by_ask)
            add_filter(&self->beyond_ask, plugin);
        if (is_about_special_nodes(plugin))
            continue;
        self->n_narrowings += n_narrowings;
        if (by_ask && self->by_node.n == 0) {
            self->n_before = self->by_ask.n == 0 ? self->n_narrowings : self->n_before;
            add_filter(&self->by_ask, plugin);
        } else if (n_narrowings == 0 || !is_exact(self->cycle, plugin)) {
            self->by_sets = self->by_sets && !by_ask;
            add_filter(&self->by_node, plugin);
        }
    }
}

/* ---- One node ---- */

static Verdict
ask_filters(FilterSearch *self, const Filters *filters, const NodeInfo *node)
{
    for (unsigned i = 0; i < filters->n; i++) {
        Verdict verdict = filters->plugins[i]->filter(self->cycle, node);
        if (verdict != VERDICT_OK) {
            self->decider = filters->plugins[i];
            return verdict;
        }
    }
    return VERDICT_OK;
}

void
cycle_refresh(Cycle *self, const Filters *active)
{
    for (unsigned i = 0; i < active->n; i++) {
        PluginId id = (PluginId)(active->plugins[i] - plugins);
        if (id == PLUGIN_VOLUME_RESTRICTIONS || id == PLUGIN_POD_TOPOLOGY_SPREAD ||
            id == PLUGIN_INTER_POD_AFFINITY)
            plugins[id].pre_filter(self);
    }
}

/* A nominated pod, at least as important as ours, for which this node is kept. */
static gboolean
is_kept_for(const Cycle *self, const NominatedPod *nominated, const NodeInfo *node)
{
    return nominated->node == node && nominated->pod->spec->priority >= self->pod->spec->priority &&
           !object_uid_equal(nominated->pod->meta.uid, self->pod->meta.uid);
}

static void
move_nominated(Cycle *self, NodeInfo *node, gboolean in)
{
    SchedulerCache *cache = self->view->cache;
    unsigned n;
    const NominatedPod *nominated = scheduler_cache_nominated(cache, &n);

    for (unsigned i = 0; i < n; i++) {
        const Pod *pod = nominated[i].pod;
        if (!is_kept_for(self, &nominated[i], node))
            continue;
        if (in)
            scheduler_cache_add_pod(cache, pod, node->key->name, NULL);
        else
            scheduler_cache_remove_pod(
                cache, scheduler_cache_find_pod(cache, pod->meta.key, pod->meta.uid));
    }
}

static gboolean
is_kept(const Cycle *self, const NodeInfo *node)
{
    unsigned n;
    const NominatedPod *nominated = scheduler_cache_nominated(self->view->cache, &n);

    for (unsigned i = 0; i < n; i++) {
        if (is_kept_for(self, &nominated[i], node))
            return TRUE;
    }
    return FALSE;
}

static Verdict
ask_kept_node(FilterSearch *self, const Filters *active, NodeInfo *node)
{
    if (!is_kept(self->cycle, node))
        return ask_filters(self, active, node);
    move_nominated(self->cycle, node, TRUE);
    cycle_refresh(self->cycle, active);
    Verdict verdict = ask_filters(self, active, node);
    move_nominated(self->cycle, node, FALSE);
    cycle_refresh(self->cycle, active);
    return verdict != VERDICT_OK ? verdict : ask_filters(self, active, node);
}

Verdict
cycle_ask_with_nominated(Cycle *self, const Filters *active, NodeInfo *node)
{
    FilterSearch search = {.cycle = self};

    cycle_refresh(self, active);
    return ask_kept_node(&search, active, node);
}

/* Nodes that labels and the ask alone do not decide about. */
static void
find_special_nodes(Cycle *self)
{
    unsigned n;
    const NominatedPod *nominated = scheduler_cache_nominated(self->view->cache, &n);

    node_set_assign(&self->special, scheduler_cache_special_nodes(self->view->cache));
    for (unsigned i = 0; i < n; i++) {
        if (nominated[i].node->place != NO_PLACE)
            node_set_add(&self->special, nominated[i].node->place);
    }
}

/* Keeps the node's answer to the ask. */
static gboolean
ask_and_remember(FilterSearch *self, const NodeInfo *node)
{
    AskMemo *memo = self->cycle->memo;

    self->cycle->refusals = 0;
    self->cycle->remembers = TRUE;
    gboolean passes = ask_filters(self, &self->by_ask, node) == VERDICT_OK;
    self->cycle->remembers = FALSE;
    if (passes) {
        node_set_add(&memo->passed, node->place);
        return TRUE;
    }
    node_set_add(&memo->refused, node->place);
    for (unsigned i = 0; i < N_REFUSALS; i++) {
        if ((self->cycle->refusals & UINT32_C(1) << i) != 0)
            node_set_add(&memo->refused_by[i], node->place);
    }
    return FALSE;
}

static gboolean
is_ruled_out(const FilterSearch *self, unsigned place)
{
    for (unsigned i = 0; i < self->n_narrowings; i++) {
        if (!node_set_has(&self->cycle->narrowings[i].nodes, place))
            return TRUE;
    }
    return FALSE;
}

/* VERDICT_SKIP: rejected, and counted by sets. */
static Verdict
filter_by_sets(FilterSearch *self, NodeInfo *node)
{
    if (node_set_has(&self->cycle->special, node->place))
        return ask_kept_node(self, self->active, node);
    if (!node_set_has(&self->cycle->memo->passed, node->place) && !ask_and_remember(self, node))
        return VERDICT_SKIP;
    if (is_ruled_out(self, node->place))
        return VERDICT_SKIP;
    return ask_filters(self, &self->by_node, node);
}

/* Where another filter comes before some that go by the ask. */
static Verdict
filter_by_node(FilterSearch *self, NodeInfo *node)
{
    NodeSet *passed = &self->cycle->memo->passed;

    if (node_set_has(&self->cycle->special, node->place))
        return ask_kept_node(self, self->active, node);
    Verdict verdict = ask_filters(
        self, node_set_has(passed, node->place) ? &self->beyond_ask : self->active, node);

    if (verdict == VERDICT_OK)
        node_set_add(passed, node->place);
    return verdict;
}

/* ---- All nodes ---- */

/* SCH-52: with names, only the named nodes belong to this cycle. */
static void
keep_named(const FilterSearch *self, NodeSet *nodes)
{
    if (self->cycle->has_names)
        node_set_intersect(nodes, &self->cycle->named);
}

/* Puts nodes that are known to pass into self->cycle->covered, and nodes that are not known to be
 * rejected into self->cycle->set. */
static const NodeSet *
find_open_nodes(FilterSearch *self)
{
    Cycle *cycle = self->cycle;
    NodeSet *open = &cycle->set, *passed = &cycle->covered;

    node_set_fill(open, self->n_nodes);
    node_set_init(passed, self->n_nodes);
    self->feasible = passed;
    keep_named(self, open);
    if (!self->by_sets)
        return open;
    node_set_subtract(open, &cycle->memo->refused);
    node_set_subtract(open, &cycle->memo->passed);
    for (unsigned i = 0; i < self->n_before; i++)
        node_set_intersect(open, &cycle->narrowings[i].nodes);
    node_set_assign(passed, &cycle->memo->passed);
    for (unsigned i = 0; i < self->n_narrowings; i++)
        node_set_intersect(passed, &cycle->narrowings[i].nodes);
    node_set_unite(open, passed);
    node_set_unite(open, &self->cycle->special);
    keep_named(self, open);
    if (self->by_node.n == 0)
        node_set_subtract(passed, &self->cycle->special);
    else
        node_set_init(passed, self->n_nodes);
    return open;
}

/* Counts the nodes of @left that the narrowings rule out, and takes them off. */
static void
count_ruled_out(FilterSearch *self, NodeSet *left, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        const Narrowing *narrowing = &self->cycle->narrowings[i];
        unsigned n_before = node_set_count(left);
        node_set_intersect(left, &narrowing->nodes);
        unsigned n_out = n_before - node_set_count(left);
        cycle_reason_of_nodes(self->cycle, narrowing->reason, n_out);
        self->counts.plugins |= n_out > 0 ? UINT32_C(1) << narrowing->plugin : 0;
    }
}

static void
count_refused(FilterSearch *self, NodeSet *left)
{
    static const PluginId plugin_of[N_REFUSALS] = {
        [REFUSED_PODS] = PLUGIN_NODE_RESOURCES_FIT,    [REFUSED_CPU] = PLUGIN_NODE_RESOURCES_FIT,
        [REFUSED_MEMORY] = PLUGIN_NODE_RESOURCES_FIT,  [REFUSED_CLAIM] = PLUGIN_VOLUME_RESTRICTIONS,
        [REFUSED_VOLUMES] = PLUGIN_NODE_VOLUME_LIMITS,
    };
    const AskMemo *memo = self->cycle->memo;

    for (unsigned i = 0; i < N_REFUSALS; i++) {
        unsigned n = node_set_count_shared(left, &memo->refused_by[i]);
        cycle_reason_of_nodes(self->cycle, refusal_text(self->cycle, i), n);
        self->counts.plugins |= n > 0 ? UINT32_C(1) << plugin_of[i] : 0;
    }
    for (unsigned i = 0; i < left->n_words; i++)
        self->cycle->helpable.words[i] |= left->words[i] & memo->refused.words[i];
    node_set_subtract(left, &memo->refused);
}

/* No node will do: counts the reasons of the nodes that were passed over. */
static void
count_by_sets(FilterSearch *self)
{
    NodeSet *left = &self->cycle->set;

    node_set_fill(left, self->n_nodes);
    node_set_subtract(left, &self->cycle->special);
    keep_named(self, left);
    count_ruled_out(self, left, 0, self->n_before);
    count_refused(self, left);
    count_ruled_out(self, left, self->n_before, self->n_narrowings);
}

/* Returns: FALSE: it ends here */
static gboolean
visit_node(FilterSearch *self, NodeInfo *node)
{
    FilterCounts *counts = &self->counts;

    switch (self->by_sets ? filter_by_sets(self, node) : filter_by_node(self, node)) {
    case VERDICT_OK:
        self->cycle->feasible->pdata[self->n_feasible++] = node;
        return TRUE;
    case VERDICT_SKIP:
    case VERDICT_ANY_NODE:
        return TRUE;
    case VERDICT_UNSCHEDULABLE:
        node_set_add(&self->cycle->helpable, node->place);
        counts->plugins |= UINT32_C(1) << (self->decider - plugins);
        return TRUE;
    case VERDICT_UNRESOLVABLE:
        counts->plugins |= UINT32_C(1) << (self->decider - plugins);
        return TRUE;
    case VERDICT_ERROR:
        counts->failed = self->decider;
        return FALSE;
    }
    g_assert_not_reached();
}

/* Takes the node at @place, which is known to pass, and those after it in its word up to the next
 * that must be asked. Returns: the place of the last */
static unsigned
take_known(FilterSearch *self, const NodeSet *open, unsigned place, unsigned end, unsigned enough)
{
    unsigned first = place / NODE_SET_BITS * NODE_SET_BITS;
    uint64_t here = UINT64_MAX << place % NODE_SET_BITS;

    if (end - first < NODE_SET_BITS)
        here &= (UINT64_C(1) << (end - first)) - 1;
    uint64_t known = self->feasible->words[place / NODE_SET_BITS] & here;
    uint64_t asked = open->words[place / NODE_SET_BITS] & here & ~known;
    known &= (asked & -asked) - 1;
    for (; known != 0 && self->n_feasible < enough; known &= known - 1) {
        place = first + (unsigned)__builtin_ctzll(known);
        self->cycle->feasible->pdata[self->n_feasible++] = self->nodes[place];
    }
    return place;
}

/* The open nodes from @place on. Returns: the place of the last that was needed; @end: there are
 * not enough */
static unsigned
visit_nodes(FilterSearch *self, const NodeSet *open, unsigned place, unsigned end, unsigned enough)
{
    for (place = node_set_next(open, place, end); place < end;
         place = node_set_next(open, place + 1, end)) {
        if (node_set_has(self->feasible, place))
            place = take_known(self, open, place, end, enough);
        else if (!visit_node(self, self->nodes[place]))
            return place;
        if (self->n_feasible == enough)
            return place;
    }
    return end;
}

/* From @start on to the end, and then from the first on. */
static void
visit_all_nodes(FilterSearch *self, unsigned start)
{
    const NodeSet *open = find_open_nodes(self);
    GPtrArray *feasible = self->cycle->feasible;
    unsigned n = self->n_nodes;
    unsigned n_named = self->cycle->has_names ? node_set_count(&self->cycle->named) : n;
    unsigned enough =
        feasible_nodes_to_find(n_named, self->cycle->view->percentage_of_nodes_to_score);

    g_ptr_array_set_size(feasible, (int)enough);
    unsigned last = visit_nodes(self, open, start, n, enough);
    if (last < n) {
        self->counts.n_examined = last - start + 1;
    } else {
        last = visit_nodes(self, open, 0, start, enough);
        self->counts.n_examined = last < start ? n - start + last + 1 : n;
    }
    if (self->cycle->has_names)
        self->counts.n_examined = n_named;
    g_ptr_array_set_size(feasible, (int)self->n_feasible);
}

/* SCH-53, SCH-92 */
static void
count_unnamed(FilterSearch *self)
{
    unsigned n_named = node_set_count(&self->cycle->named);

    cycle_reason_of_nodes(self->cycle, "node(s) didn't satisfy plugin(s) [NodeAffinity]",
                          self->n_nodes - n_named);
    self->counts.plugins |= UINT32_C(1) << PLUGIN_NODE_AFFINITY;
}

FilterCounts
cycle_filter_nodes(Cycle *cycle, const Filters *active, unsigned start)
{
    FilterSearch self = {.cycle = cycle, .active = active, .by_sets = TRUE};

    self.nodes = scheduler_cache_nodes(cycle->view->cache, &self.n_nodes);
    self.counts.n_nodes = self.n_nodes;
    find_special_nodes(cycle);
    node_set_init(&cycle->helpable, self.n_nodes);
    sort_filters(&self);
    visit_all_nodes(&self, start);
    if (self.counts.failed == NULL && self.n_feasible == 0 && self.by_sets)
        count_by_sets(&self);
    if (self.n_feasible == 0 && cycle->has_names)
        count_unnamed(&self);
    return self.counts;
}
