/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why.h"

#include <string.h>

#include "question.h"
#include "run/kubectl/kinds.h"

/* ---- A row for each kind ---- */

static gboolean
ask_pod(Question *self, const Object *object)
{
    return why_ask_pod(self, POD_CONST(object));
}

static gboolean
ask_claim(Question *self, const Object *object)
{
    const Claim *claim = CLAIM_CONST(object);

    if (why_ask_claim(self, claim, NULL) || why_ask_change(self, claim))
        return TRUE;
    why_link(self, object, TIME_UNSET, "is %s", claim_phase_name(claim->phase));
    return claim->phase == CLAIM_BOUND && why_ask_health(self, claim);
}

static gboolean
ask_volume(Question *self, const Object *object)
{
    return why_ask_volume(self, VOLUME_CONST(object));
}

static gboolean
ask_attachment(Question *self, const Object *object)
{
    const Attachment *attachment = ATTACHMENT(object);

    return (!attachment->attached || object_is_deleted(object)) &&
           why_ask_attachment(self, attachment);
}

static gboolean
ask_node(Question *self, const Object *object)
{
    return why_ask_node(self, (const Node *)object);
}

static gboolean
ask_snapshot(Question *self, const Object *object)
{
    return why_ask_snapshot(self, VOLUME_SNAPSHOT_CONST(object));
}

static gboolean
ask_content(Question *self, const Object *object)
{
    return why_ask_content(self, SNAPSHOT_CONTENT_CONST(object));
}

static gboolean
ask_group(Question *self, const Object *object)
{
    return why_ask_group(self, GROUP_SNAPSHOT_CONST(object));
}

static gboolean
ask_budget(Question *self, const Object *object)
{
    return why_ask_budget(self, DISRUPTION_BUDGET_CONST(object));
}

static const struct {
    ObjectKind kind;
    gboolean (*ask)(Question *self, const Object *object);
    gboolean is_followed; /* what is stuck of it stands in the list of all that is stuck */
} subjects[] = {
    {KIND_POD,               ask_pod,          TRUE },
    {KIND_CLAIM,             ask_claim,        TRUE },
    {KIND_VOLUME,            ask_volume,       TRUE },
    {KIND_ATTACHMENT,        ask_attachment,   TRUE },
    {KIND_VOLUME_SNAPSHOT,   ask_snapshot,     TRUE },
    {KIND_SNAPSHOT_CONTENT,  ask_content,      FALSE},
    {KIND_GROUP_SNAPSHOT,    ask_group,        TRUE },
    {KIND_GROUP_CONTENT,     ask_content,      FALSE},
    {KIND_NODE,              ask_node,         TRUE },
    {KIND_STATEFUL_SET,      why_ask_workload, TRUE },
    {KIND_DEPLOYMENT,        why_ask_workload, TRUE },
    {KIND_REPLICA_SET,       why_ask_workload, FALSE},
    {KIND_DAEMON_SET,        why_ask_workload, TRUE },
    {KIND_JOB,               why_ask_workload, TRUE },
    {KIND_DISRUPTION_BUDGET, ask_budget,       FALSE},
};

gboolean
why_ask_object(Question *self, const Object *object)
{
    const unsigned n_links = self->why->chain->len;

    for (unsigned i = 0; i < G_N_ELEMENTS(subjects); i++)
        if (subjects[i].kind == object->key->kind && subjects[i].ask(self, object))
            return TRUE;
    if (!object_is_deleted(object))
        return FALSE;
    if (self->why->chain->len == n_links)
        why_link(self, object, object->deleted_at, "is being deleted");
    return why_ask_deletion(self, object);
}

/* ---- Questions ---- */

static void
link_free(void *data)
{
    WhyLink *self = data;

    g_free(self->object);
    g_free(self->namespace);
    g_free(self->text);
    g_free(self);
}

static Why *
why_new(void)
{
    Why *self = g_new0(Why, 1);

    self->chain = g_ptr_array_new_with_free_func(link_free);
    self->also = g_ptr_array_new_with_free_func((GDestroyNotify)why_free);
    self->ends_at = SIM_TIME_MAX;
    return self;
}

void
why_free(Why *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->chain);
    g_ptr_array_unref(self->also);
    g_free(self->command);
    g_free(self);
}

static void
question_init(Question *self, const Run *run, const WhyCalls *calls)
{
    *self = (Question){.run = run,
                       .calls = calls,
                       .cluster = run_cluster(run),
                       .api = cluster_api(run_cluster(run)),
                       .objects = run_objects(run),
                       .now = sim_now(run_sim(run)),
                       .doings = g_array_new(FALSE, FALSE, sizeof(Doing)),
                       .path = g_ptr_array_new()};
}

static void
question_clear(Question *self)
{
    for (unsigned i = 0; i < N_KINDS; i++)
        g_clear_pointer(&self->lists[i], g_ptr_array_unref);
    g_clear_pointer(&self->users, g_hash_table_unref);
    g_clear_pointer(&self->attachments, g_hash_table_unref);
    g_array_unref(self->doings);
    g_ptr_array_unref(self->path);
    why_free(self->why);
}

/* What only takes time takes more of it while the API server is slow. */
static void
blame_api(Question *self)
{
    const RunFault *fault = why_fault_of(self, FAULT_OF_API, NULL, NULL);

    if (!self->why->is_patience || fault == NULL)
        return;
    if (fault->action->fault == FAULT_LIMIT_SEATS)
        why_link_named(self, "process/kube-apiserver", fault->since,
                       "serves no more than %u requests at once", fault->action->seats);
    else
        why_link_named(self, "process/kube-apiserver", fault->since,
                       "suffers from the fault \"%s\"", scenario_fault_name(fault->action->fault));
    why_until(self, fault->action->fault == FAULT_API_OUTAGE ? "api-down" : "api-slow",
              fault->until);
}

/* Returns: (owned) */
static Why *
ask_once(Question *self, const Object *object)
{
    why_free(self->why);
    self->why = why_new();
    g_ptr_array_set_size(self->path, 0);
    if (!why_ask_object(self, object)) {
        g_ptr_array_set_size(self->why->chain, 0);
        why_because(self, "none");
    }
    blame_api(self);
    return g_steal_pointer(&self->why);
}

static const char *
state_of(const Object *object)
{
    const ObjectKind kind = object->key->kind;

    if (kind == KIND_POD)
        return pod_is_ready(POD_CONST(object)) ? "is Running and Ready"
                                               : pod_phase_name(POD_CONST(object)->phase);
    return kind == KIND_CLAIM    ? claim_phase_name(CLAIM_CONST(object)->phase)
           : kind == KIND_VOLUME ? volume_phase_name(VOLUME_CONST(object)->phase)
                                 : "is ready";
}

static void
link_well(Question *self, const Object *object)
{
    const char *state = state_of(object);

    why_link(self, object, TIME_UNSET, "%s%s", g_str_has_prefix(state, "is ") ? "" : "is ", state);
}

/* The first of this kind and name. */
static const Object *
find_subject(Question *self, ObjectKind kind, const char *namespace, const char *name)
{
    const GPtrArray *objects = why_list(self, kind);

    for (unsigned i = 0; i < objects->len; i++) {
        const Object *object = objects->pdata[i];
        if (strcmp(object_name(object), name) == 0 &&
            (namespace == NULL || *object->key->namespace == '\0' ||
             strcmp(object->key->namespace, namespace) == 0))
            return object;
    }
    return NULL;
}

Why *
why_ask(const Run *run, const WhyCalls *calls, const char *namespace, const char *object)
{
    const char *slash = strchr(object, '/');
    g_autofree char *word = slash == NULL ? NULL : g_strndup(object, (gsize)(slash - object));
    const KubectlKind *kind = word == NULL ? NULL : kubectl_kind_find(word);
    ObjectKind found;
    Why *why = NULL;
    Question self;

    if (kind == NULL || !kind_find(NULL, kind->kind, &found))
        return NULL;
    question_init(&self, run, calls);
    const Object *subject = find_subject(&self, found, namespace, slash + 1);
    if (subject != NULL) {
        why = ask_once(&self, subject);
        if (strcmp(why->cause, "none") == 0) {
            self.why = g_steal_pointer(&why);
            link_well(&self, subject);
            why = g_steal_pointer(&self.why);
        }
    } else if (found == KIND_POD) {
        self.why = why_new();
        if (why_ask_missing_pod(&self, namespace, slash + 1))
            why = g_steal_pointer(&self.why);
    }
    question_clear(&self);
    return why;
}

const WhyLink *
why_fault(const Why *self)
{
    return self->chain->len == 0 ? NULL : self->chain->pdata[self->chain->len - 1];
}

/* ---- All that is stuck ---- */

static void
group_free(void *data)
{
    WhyGroup *self = data;

    why_free(self->first);
    g_ptr_array_unref(self->objects);
    g_free(self);
}

/* What many objects wait for is at fault itself; pods, claims and the like share no more than the
 * cause. */
static gboolean
is_shared(const WhyLink *fault)
{
    static const char *const kinds[] = {"node/",       "driver/",       "process/",
                                        "csidriver/",  "storageclass/", "resourcequota/",
                                        "limitrange/", "daemonset/",    "deployment/"};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_has_prefix(fault->object, kinds[i]))
            return TRUE;
    return FALSE;
}

static void
add_to_group(GPtrArray *groups, Why *why /* taken */)
{
    const WhyLink *subject = why->chain->pdata[0], *fault = why_fault(why);
    WhyGroup *group = NULL;

    for (unsigned i = 0; i < groups->len && group == NULL; i++) {
        WhyGroup *each = groups->pdata[i];
        if (each->first->cause == why->cause &&
            (!is_shared(fault) || strcmp(why_fault(each->first)->object, fault->object) == 0))
            group = each;
    }
    if (group == NULL) {
        group = g_new0(WhyGroup, 1);
        group->objects = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(groups, group);
    }
    g_ptr_array_add(group->objects, g_strdup(subject->object));
    if (group->first == NULL)
        group->first = why;
    else
        why_free(why);
}

static int
compare_groups(const void *a, const void *b)
{
    const WhyGroup *left = *(WhyGroup *const *)a, *right = *(WhyGroup *const *)b;

    if (left->first->is_patience != right->first->is_patience)
        return left->first->is_patience ? 1 : -1;
    return (left->objects->len < right->objects->len) - (left->objects->len > right->objects->len);
}

GPtrArray *
why_ask_all(const Run *run, const WhyCalls *calls, unsigned limit)
{
    GPtrArray *groups = g_ptr_array_new_with_free_func(group_free);
    Question self;

    question_init(&self, run, calls);
    for (unsigned i = 0; i < G_N_ELEMENTS(subjects); i++) {
        const GPtrArray *objects =
            subjects[i].is_followed ? why_list(&self, subjects[i].kind) : NULL;
        unsigned n_stuck = 0;
        for (unsigned k = 0; objects != NULL && k < objects->len && n_stuck < limit; k++) {
            g_autoptr(Why) why = ask_once(&self, objects->pdata[k]);
            if (strcmp(why->cause, "none") == 0)
                continue;
            add_to_group(groups, g_steal_pointer(&why));
            n_stuck++;
        }
    }
    question_clear(&self);
    g_ptr_array_sort(groups, compare_groups);
    return groups;
}

/* ---- Answers ---- */

void
why_tell(const Why *self, SimTime now, GString *out)
{
    const WhyLink *fault = why_fault(self);
    char time[SIM_TIME_BUFFER];

    for (unsigned i = 0; i < self->chain->len; i++) {
        const WhyLink *link = self->chain->pdata[i];
        g_string_append_printf(out, "%*s%s%s %s", (int)i * 2, "", i > 0 ? "<- " : "", link->object,
                               link->text);
        if (link->since != TIME_UNSET && link->since <= now)
            g_string_append_printf(out, " (for %s)",
                                   sim_time_format((now - link->since) / SIM_MS * SIM_MS, time));
        g_string_append_c(out, '\n');
    }
    g_string_append_printf(out, "cause: %s", self->cause);
    if (fault != NULL && strcmp(self->cause, "none") != 0)
        g_string_append_printf(out, ": %s %s", fault->object, fault->text);
    g_string_append_c(out, '\n');
    if (self->ends_at != SIM_TIME_MAX && self->ends_at > now)
        g_string_append_printf(out, "ends: by itself in %s\n",
                               sim_time_format((self->ends_at - now) / SIM_MS * SIM_MS, time));
    if (*self->unblock != '\0')
        g_string_append_printf(out, "unblock: %s\n", self->unblock);
    if (self->command != NULL)
        g_string_append_printf(out, "command: %s\n", self->command);
}

#define OBJECTS_MAX 3
#define GROUPS_MAX 10

void
why_tell_all(const Run *run, const WhyCalls *calls, GString *out)
{
    g_autoptr(GPtrArray) groups = why_ask_all(run, calls, UINT_MAX);

    for (unsigned i = 0; i < groups->len && i < GROUPS_MAX; i++) {
        const WhyGroup *group = groups->pdata[i];
        const WhyLink *fault = why_fault(group->first);
        g_string_append_printf(out, "%s: %s %s\n  %u waiting:", group->first->cause, fault->object,
                               fault->text, group->objects->len);
        for (unsigned k = 0; k < group->objects->len && k < OBJECTS_MAX; k++)
            g_string_append_printf(out, "%s %s", k > 0 ? "," : "",
                                   (const char *)group->objects->pdata[k]);
        g_string_append_printf(out, "%s\n  unblock: %s\n",
                               group->objects->len > OBJECTS_MAX ? ", ..." : "",
                               group->first->unblock);
    }
    if (groups->len > GROUPS_MAX)
        g_string_append_printf(out, "... and %u causes more\n", groups->len - GROUPS_MAX);
    if (groups->len == 0)
        g_string_append(out, "nothing is stuck\n");
}

json_t *
why_groups_to_json(const GPtrArray *groups)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < groups->len; i++) {
        const WhyGroup *group = groups->pdata[i];
        json_t *item = why_to_json(group->first), *objects = json_array();
        for (unsigned k = 0; k < group->objects->len; k++)
            json_array_append_new(objects, json_string(group->objects->pdata[k]));
        json_object_set_new(item, "objects", objects);
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *
time_to_json(SimTime time, SimTime none)
{
    return time == none ? json_null() : json_integer(time);
}

json_t *
why_to_json(const Why *self)
{
    json_t *chain = json_array();

    for (unsigned i = 0; i < self->chain->len; i++) {
        const WhyLink *link = self->chain->pdata[i];
        json_array_append_new(chain, json_pack("{s:s, s:s?, s:s, s:o}", "object", link->object,
                                               "namespace", link->namespace, "text", link->text,
                                               "sinceNs", time_to_json(link->since, TIME_UNSET)));
    }
    const WhyLink *fault = why_fault(self);
    return json_pack("{s:o, s:s, s:s?, s:b, s:o, s:s, s:s?}", "chain", chain, "cause", self->cause,
                     "fault", fault == NULL ? NULL : fault->object, "patience", self->is_patience,
                     "endsNs", time_to_json(self->ends_at, SIM_TIME_MAX), "unblock", self->unblock,
                     "command", self->command);
}

const RuleTable *const why_tables[] = {&why_pod_rules, &why_claim_rules, NULL};
