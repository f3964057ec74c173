/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scheduling cycle as a function of the caches: PreFilter, the nominated node, Filter, Score,
 * one draw among the best. It writes nothing; the result names a node, or the reasons and the
 * plugins that rejected the pod. Equal reasons are counted once for each node, and the message
 * lists them as Kubernetes does.
 *
 * Scores that depend only on the pod's ask and the node are kept at the node; plugins whose score
 * would be equal everywhere are skipped. */
#include "cycle.h"
#include "models/api/workload.h"
#include "preemption.h"

#include <stdarg.h>
#include <string.h>

#define WORDS_CHANGE_SINCE 34 /* SCH-131 */

/* ---- What cycles read ---- */

static void
index_free_volumes(InformerIndex *index, const Object *object, Objects *objects)
{
    const Volume *volume = VOLUME_CONST(object);

    (void)objects;
    if (volume->claim_ref.claim == NULL && volume_class(volume)[0] != '\0')
        index_emit(index, volume_class(volume));
}

static void
index_reserved_volumes(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (VOLUME_CONST(object)->claim_ref.claim != NULL)
        index_emit(index, VOLUME_CONST(object)->claim_ref.claim);
}

static void
index_capacities_by_class(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (STORAGE_CAPACITY(object)->class_name != NULL)
        index_emit(index, STORAGE_CAPACITY(object)->class_name);
}

static void
index_services(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (SERVICE_CONST(object)->selector != NULL)
        index_emit(index, object->key->namespace);
}

void
cycle_view_init(CycleView *self, Process *process, Sim *sim, Objects *objects)
{
    Strings *strings = objects_strings(objects);

    *self = (CycleView){
        .objects = objects,
        .claims = process_informer(process, KIND_CLAIM, NULL),
        .volumes = process_informer(process, KIND_VOLUME, NULL),
        .classes = process_informer(process, KIND_STORAGE_CLASS, NULL),
        .csi_drivers = process_informer(process, KIND_CSI_DRIVER, NULL),
        .capacities = process_informer(process, KIND_STORAGE_CAPACITY, NULL),
        .services = process_informer(process, KIND_SERVICE, NULL),
        .hostname_label = strings_intern(strings, "kubernetes.io/hostname"),
        .zone_label = strings_intern(strings, "topology.kubernetes.io/zone"),
        .tie_break = sim_stream(sim, "kube-scheduler/tie-break"),
        .preemption_offset = sim_stream(sim, "kube-scheduler/preemption-offset"),
        .preemption_order = sim_stream(sim, "kube-scheduler/preemption-order"),
    };
    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        if (kind_scales(kind) && kind_class(kind)->workload->owns_pods)
            self->owners[kind] = process_informer(process, kind, NULL);
    self->free_volumes = informer_add_index(self->volumes, index_free_volumes);
    self->reserved_volumes = informer_add_index(self->volumes, index_reserved_volumes);
    self->capacities_by_class = informer_add_index(self->capacities, index_capacities_by_class);
    self->services_by_namespace = informer_add_index(self->services, index_services);
}

Cycle *
cycle_new(const CycleView *view)
{
    Cycle *self = g_new0(Cycle, 1);

    self->view = view;
    self->claims = g_array_new(FALSE, TRUE, sizeof(CycleClaim));
    self->by_size = g_array_new(FALSE, TRUE, sizeof(unsigned));
    self->candidates = g_ptr_array_new();
    self->best = g_array_new(FALSE, FALSE, sizeof(unsigned));
    self->zones = g_array_new(FALSE, TRUE, 2 * sizeof(const char *));
    self->limited = g_array_new(FALSE, TRUE, sizeof(LimitedDriver));
    self->names = g_array_new(FALSE, TRUE, sizeof(VolumeName));
    self->marks = g_array_new(FALSE, TRUE, sizeof(unsigned));
    self->spread = g_array_new(FALSE, TRUE, sizeof(SpreadState));
    self->outside = g_array_new(FALSE, TRUE, sizeof(int32_t));
    self->terms = g_array_new(FALSE, TRUE, sizeof(TermState));
    self->choices = g_array_new(FALSE, TRUE, sizeof(VolumeChoice));
    self->taken = g_ptr_array_new();
    self->reasons = g_array_new(FALSE, TRUE, sizeof(Reason));
    self->text = g_string_new(NULL);
    self->feasible = g_ptr_array_new();
    self->totals = g_array_new(FALSE, TRUE, sizeof(int64_t));
    self->scores = g_array_new(FALSE, TRUE, sizeof(int64_t));
    return self;
}

void
cycle_free(Cycle *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->claims);
    g_array_unref(self->by_size);
    g_ptr_array_unref(self->candidates);
    g_array_unref(self->best);
    for (unsigned i = 0; i < MAX_NARROWINGS; i++)
        node_set_clear(&self->narrowings[i].nodes);
    node_set_clear(&self->set);
    node_set_clear(&self->covered);
    node_set_clear(&self->special);
    node_set_clear(&self->named);
    node_set_clear(&self->helpable);
    g_array_unref(self->zones);
    g_array_unref(self->limited);
    g_array_unref(self->names);
    g_array_unref(self->marks);
    g_array_unref(self->spread);
    g_array_unref(self->outside);
    g_array_unref(self->terms);
    g_array_unref(self->choices);
    g_ptr_array_unref(self->taken);
    g_array_unref(self->reasons);
    g_string_free(self->text, TRUE);
    g_ptr_array_unref(self->feasible);
    g_array_unref(self->totals);
    g_array_unref(self->scores);
    g_free(self);
}

const StorageClass *
cycle_find_class(const Cycle *cycle, const Claim *claim)
{
    return (const StorageClass *)informer_find(cycle->view->classes, NULL, claim_class(claim));
}

/* ---- Reasons and messages ---- */

/* SCH-131: from 1.34 on it is not told which taint it is. */
static gboolean
tells_taint(const char *text)
{
    return strchr(text, '{') != NULL;
}

static void
count_reason(Cycle *self, const char *text, const char *key, const char *value)
{
    for (unsigned i = 0; i < self->reasons->len; i++) {
        Reason *reason = &g_array_index(self->reasons, Reason, i);
        if (reason->text == text &&
            (!tells_taint(text) || (reason->key == key && reason->value == value))) {
            reason->n_nodes++;
            return;
        }
    }
    Reason reason = {text, key, value, 1};
    g_array_append_val(self->reasons, reason);
}

void
cycle_reason(Cycle *self, const char *text)
{
    count_reason(self, text, NULL, NULL);
}

void
cycle_reason_taint(Cycle *self, const Taint *taint)
{
    count_reason(self,
                 self->view->minor >= WORDS_CHANGE_SINCE ? "node(s) had untolerated taint(s)"
                                                         : "node(s) had untolerated taint {%s: %s}",
                 taint->key, taint->value == NULL ? "" : taint->value);
}

const char *
refusal_text(const Cycle *self, Refusal refusal)
{
    static const char *const texts[N_REFUSALS] = {
        [REFUSED_PODS] = "Too many pods",
        [REFUSED_CPU] = "Insufficient cpu",
        [REFUSED_MEMORY] = "Insufficient memory",
        [REFUSED_CLAIM] = ("node has pod using PersistentVolumeClaim with the same name and "
                           "ReadWriteOncePod access mode"),
        [REFUSED_VOLUMES] = "node(s) exceed max volume count",
    };

    if (refusal == REFUSED_CLAIM && self->view->minor >= WORDS_CHANGE_SINCE)
        return "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
               "already in-use by another pod";
    return texts[refusal];
}

void
cycle_refuse(Cycle *self, Refusal refusal)
{
    self->refusals |= UINT32_C(1) << refusal;
    if (!self->remembers)
        cycle_reason(self, refusal_text(self, refusal));
}

void
cycle_reason_of_nodes(Cycle *self, const char *text, unsigned n_nodes)
{
    Reason reason = {text, NULL, NULL, n_nodes};

    for (unsigned i = 0; i < self->reasons->len; i++) {
        Reason *known = &g_array_index(self->reasons, Reason, i);
        if (known->text == text && known->key == NULL) {
            known->n_nodes += n_nodes;
            return;
        }
    }
    if (n_nodes > 0)
        g_array_append_val(self->reasons, reason);
}

NodeSet *
cycle_narrow(Cycle *self, PluginId plugin, const char *reason)
{
    unsigned n_nodes;

    if (self->n_narrowings == MAX_NARROWINGS)
        return NULL;
    Narrowing *narrowing = &self->narrowings[self->n_narrowings++];
    narrowing->plugin = plugin;
    narrowing->reason = reason;
    scheduler_cache_nodes(self->view->cache, &n_nodes);
    node_set_fill(&narrowing->nodes, n_nodes);
    return &narrowing->nodes;
}

void
cycle_widen(Cycle *self, PluginId plugin)
{
    while (self->n_narrowings > 0 && self->narrowings[self->n_narrowings - 1].plugin == plugin)
        self->n_narrowings--;
}

void
cycle_narrow_exactly(Cycle *self, PluginId plugin)
{
    self->narrowed_plugins |= UINT32_C(1) << plugin;
}

void
cycle_text(Cycle *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_vprintf(self->text, format, args);
    va_end(args);
}

static char *
reason_format(const Reason *reason)
{
    if (reason->key == NULL || !tells_taint(reason->text))
        return g_strdup_printf("%u %s", reason->n_nodes, reason->text);
    g_autofree char *before = g_strndup(reason->text, strcspn(reason->text, "{"));
    return g_strdup_printf("%u %s{%s: %s}", reason->n_nodes, before, reason->key, reason->value);
}

char *
reasons_format(const Reason *reasons, unsigned n)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < n; i++)
        g_ptr_array_add(items, reason_format(&reasons[i]));
    g_ptr_array_sort(items, strings_compare);
    g_ptr_array_add(items, NULL);
    return g_strjoinv(", ", (char **)items->pdata);
}

/* SCH-90, SCH-93. @active: NULL: no node was asked */
static CycleResult
rejected(Cycle *self, const char *rule, uint32_t plugin_set, const Filters *active)
{
    unsigned n_nodes;
    Preemption preemption = cycle_preempt(self, active);
    g_autofree char *reasons =
        reasons_format((const Reason *)(void *)self->reasons->data, self->reasons->len);
    CycleResult result = {.rule = rule,
                          .plugins = plugin_set,
                          .nominated = preemption.node_name,
                          .victims = g_steal_pointer(&preemption.victims),
                          .keeps_nomination = preemption.keeps_nomination};

    scheduler_cache_nodes(self->view->cache, &n_nodes);
    result.message = g_strdup_printf("0/%u nodes are available: %s.%s%s", n_nodes,
                                     self->text->len > 0 ? self->text->str : reasons,
                                     preemption.message == NULL ? "" : " ",
                                     preemption.message == NULL ? "" : preemption.message);
    preemption_clear(&preemption);
    return result;
}

/* SCH-97 */
static CycleResult
error(const char *rule, char *message /* taken */)
{
    return (CycleResult){.rule = rule, .is_error = TRUE, .message = message};
}

/* ---- PreFilter ---- */

void
cycle_begin(Cycle *self, const Pod *pod, uint32_t attempts)
{
    self->pod = pod;
    self->attempts = attempts;
    self->n_narrowings = 0;
    self->narrowed_plugins = 0;
    self->remembers = FALSE;
    self->has_names = FALSE;
    g_array_set_size(self->claims, 0);
    g_array_set_size(self->by_size, 0);
    g_array_set_size(self->choices, 0);
    g_array_set_size(self->reasons, 0);
    g_string_truncate(self->text, 0);
    g_ptr_array_set_size(self->feasible, 0);
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        CycleClaim claim = {.volume = &pod->volumes->items[i]};
        claim.key = pod_claim_key(self->view->objects, pod, claim.volume);
        g_array_append_val(self->claims, claim);
    }
}

/* SCH-52. @active: (out): the plugins whose filters are needed. Returns: the plugin that rejected
 * the pod, -1: none */
static int
pre_filter(Cycle *self, Filters *active, Verdict *verdict)
{
    active->n = 0;
    for (unsigned i = 0; i < N_PLUGINS; i++) {
        *verdict = plugins[i].pre_filter == NULL ? VERDICT_OK : plugins[i].pre_filter(self);
        if (*verdict == VERDICT_OK && plugins[i].filter != NULL)
            active->plugins[active->n++] = &plugins[i];
        if (*verdict != VERDICT_OK && *verdict != VERDICT_SKIP && *verdict != VERDICT_ANY_NODE)
            return (int)i;
    }
    return -1;
}

/* Recalls the answers to the pod's ask, and separates the plugins that look only at the ask and the
 * node from the others. */
static void
recall_ask(Cycle *self)
{
    Ask ask = {0};

    self->ask_plugins = 0;
    for (unsigned i = 0; i < N_PLUGINS; i++) {
        if (plugins[i].ask != NULL && plugins[i].ask(self, &ask))
            self->ask_plugins |= UINT32_C(1) << i;
    }
    ask.plugins = self->ask_plugins;
    self->memo = scheduler_cache_recall_ask(self->view->cache, &ask);
}

/* ---- Score ---- */

/* VF-89 */
static void
add_scores(Cycle *self, const Plugin *plugin)
{
    int64_t *scores = (int64_t *)(void *)self->scores->data;
    int64_t *totals = (int64_t *)(void *)self->totals->data;
    unsigned n = self->feasible->len;

    for (unsigned i = 0; i < n; i++)
        scores[i] = plugin->score(self, self->feasible->pdata[i]);
    if (plugin->normalise != NULL)
        plugin->normalise(self, scores, n);
    for (unsigned i = 0; i < n; i++)
        totals[i] += plugin->weight * scores[i];
}

/* The sum of the scores of plugins that go by the ask; the node keeps it. */
static int64_t
ask_score(Cycle *self, NodeInfo *node)
{
    if (node->scored_ask == self->memo->number)
        return node->ask_score;
    node->scored_ask = self->memo->number;
    node->ask_score = 0;
    for (unsigned i = 0; i < N_PLUGINS; i++) {
        if (plugins[i].score != NULL && cycle_goes_by_ask(self, &plugins[i]))
            node->ask_score += plugins[i].weight * plugins[i].score(self, node);
    }
    return node->ask_score;
}

static void
begin_scores(Cycle *self)
{
    g_array_set_size(self->totals, self->feasible->len);
    g_array_set_size(self->scores, self->feasible->len);
    int64_t *totals = (int64_t *)(void *)self->totals->data;

    for (unsigned i = 0; i < N_PLUGINS; i++) {
        if (plugins[i].score != NULL && cycle_goes_by_ask(self, &plugins[i]))
            plugins[i].pre_score(self);
    }
    for (unsigned i = 0; i < self->feasible->len; i++)
        totals[i] = ask_score(self, self->feasible->pdata[i]);
}

/* SCH-58: uniformly among the best, by one draw. */
static const NodeInfo *
choose_best(const Cycle *self)
{
    const int64_t *totals = (const int64_t *)(void *)self->totals->data;
    const ObjectKey *key = self->pod->meta.key;
    unsigned n_best = 0;
    int64_t best = INT64_MIN;

    for (unsigned i = 0; i < self->feasible->len; i++) {
        if (totals[i] > best)
            n_best = 0;
        best = MAX(best, totals[i]);
        n_best += totals[i] == best ? 1 : 0;
    }
    uint64_t entity = sim_hash_combine(key->hash, key->incarnation);
    uint64_t drawn = sim_random_below(self->view->tie_break, entity, self->attempts, n_best);
    for (unsigned i = 0;; i++) {
        if (totals[i] == best && drawn-- == 0)
            return self->feasible->pdata[i];
    }
}

static const NodeInfo *
best_node(Cycle *self)
{
    if (self->feasible->len == 1) /* SCH-W8 */
        return self->feasible->pdata[0];
    begin_scores(self);
    for (unsigned i = 0; i < N_PLUGINS; i++) {
        if (plugins[i].score != NULL && !cycle_goes_by_ask(self, &plugins[i]) &&
            plugins[i].pre_score(self))
            add_scores(self, &plugins[i]);
    }
    return choose_best(self);
}

/* SCH-50.5: the nominated node is taken without a look at the others, if the pod fits. NULL: none,
 * or not yet */
static const NodeInfo *
nominated_node(Cycle *self, const Filters *active)
{
    const char *name = self->pod->nominated_node;
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(self->view->objects, KIND_NODE, NULL, name);
    NodeInfo *node = key == NULL ? NULL : scheduler_cache_find_node(self->view->cache, key);

    if (node == NULL || node->place == NO_PLACE)
        return NULL;
    Verdict verdict = cycle_ask_with_nominated(self, active, node);
    g_array_set_size(self->reasons, 0);
    g_string_truncate(self->text, 0);
    return verdict == VERDICT_OK ? node : NULL;
}

CycleResult
cycle_run(Cycle *self, const Pod *pod, uint32_t attempts, unsigned start)
{
    Filters active;
    unsigned n_nodes;
    Verdict verdict;

    cycle_begin(self, pod, attempts);
    scheduler_cache_nodes(self->view->cache, &n_nodes);
    if (n_nodes == 0)
        return (CycleResult){.rule = "SCH-50.3",
                             .message = g_strdup("no nodes available to schedule pods")};

    int failed = pre_filter(self, &active, &verdict);
    if (failed >= 0 && verdict == VERDICT_ERROR)
        return error("SCH-52", g_strdup_printf("running PreFilter plugin \"%s\": %s",
                                               plugins[failed].name, self->text->str));
    if (failed >= 0)
        return rejected(self, "SCH-52", UINT32_C(1) << failed, NULL);

    recall_ask(self);
    const NodeInfo *nominated = nominated_node(self, &active);
    if (nominated != NULL) {
        volume_binding_choose(self, nominated);
        return (CycleResult){.rule = "SCH-50.5", .node_name = nominated->key->name};
    }
    FilterCounts counts = cycle_filter_nodes(self, &active, start % n_nodes);
    if (counts.failed != NULL)
        return error("VB-26", g_strdup_printf("running \"%s\" filter plugin: %s",
                                              counts.failed->name, self->text->str));
    if (self->feasible->len == 0) {
        CycleResult result = rejected(self, "SCH-50.6", counts.plugins, &active);
        result.n_examined = counts.n_examined;
        return result;
    }
    const NodeInfo *node = best_node(self);
    volume_binding_choose(self, node);
    return (CycleResult){
        .rule = "SCH-50.8",
        .node_name = node->key->name,
        .n_examined = counts.n_examined,
        .is_scored = self->feasible->len > 1,
    };
}
