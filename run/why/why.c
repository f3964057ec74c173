/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `why`: the entry, and answers as text and JSON. A row for each kind has its question; the chain
 * of links that it leaves ends at the object at fault. The answer for an object that does not wait
 * is the list of objects that wait for it. All stuck objects are grouped by cause, and by the
 * object at fault if many can share it. A cause that only takes time is doubted when it has lasted
 * long, or when the API server is slow. */
#include "why.h"

#include <string.h>

#include "question.h"
#include "run/kubectl/kinds.h"
#include "sim/order.h"

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
    {KIND_POD,                    ask_pod,              TRUE },
    {KIND_CLAIM,                  ask_claim,            TRUE },
    {KIND_VOLUME,                 ask_volume,           TRUE },
    {KIND_ATTACHMENT,             ask_attachment,       TRUE },
    {KIND_VOLUME_SNAPSHOT,        ask_snapshot,         TRUE },
    {KIND_SNAPSHOT_CONTENT,       ask_content,          FALSE},
    {KIND_GROUP_SNAPSHOT,         ask_group,            TRUE },
    {KIND_GROUP_CONTENT,          ask_content,          FALSE},
    {KIND_NODE,                   ask_node,             TRUE },
    {KIND_STATEFUL_SET,           why_ask_stateful_set, TRUE },
    {KIND_DEPLOYMENT,             why_ask_deployment,   TRUE },
    {KIND_REPLICA_SET,            why_ask_replica_set,  FALSE},
    {KIND_REPLICATION_CONTROLLER, why_ask_replica_set,  TRUE },
    {KIND_DAEMON_SET,             why_ask_daemon_set,   TRUE },
    {KIND_JOB,                    why_ask_job,          TRUE },
    {KIND_CRON_JOB,               why_ask_cron_job,     FALSE},
    {KIND_DISRUPTION_BUDGET,      ask_budget,           FALSE},
    {KIND_STORAGE_CLASS,          why_ask_other,        FALSE},
    {KIND_ATTRIBUTES_CLASS,       why_ask_other,        FALSE},
    {KIND_SNAPSHOT_CLASS,         why_ask_other,        FALSE},
    {KIND_GROUP_CLASS,            why_ask_other,        FALSE},
    {KIND_CSI_NODE,               why_ask_other,        FALSE},
    {KIND_CSI_DRIVER,             why_ask_other,        FALSE},
    {KIND_LEASE,                  why_ask_other,        FALSE},
    {KIND_RESOURCE_QUOTA,         why_ask_other,        FALSE},
    {KIND_NAMESPACE,              why_ask_other,        TRUE },
};

gboolean
why_ask_object(Question *self, const Object *object)
{
    const unsigned n_links = self->why->chain->len;
    const gboolean is_ending =
        kind_class(object_kind(object))->workload != NULL && object_is_deleted(object);

    for (unsigned i = 0; !is_ending && i < G_N_ELEMENTS(subjects); i++)
        if (subjects[i].kind == object->key->kind && subjects[i].ask(self, object))
            return TRUE;
    if (!object_is_deleted(object))
        return FALSE;
    if (self->why->chain->len == n_links)
        why_link(self, object, why_deleted_since(object), "is being deleted");
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
    self->waiting = g_ptr_array_new_with_free_func(g_free);
    self->ends_at = SIM_TIME_MAX;
    return self;
}

void
why_free(Why *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->chain);
    g_ptr_array_unref(self->waiting);
    g_free(self->command);
    g_free(self);
}

static void
question_init(Question *self, const WhyView *view)
{
    const Run *run = view->run;

    *self = (Question){.view = view,
                       .run = run,
                       .calls = view->calls,
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

/* Causes that only take time take more of it while the API server is slow. */
static void
blame_api(Question *self)
{
    const RunFault *fault = why_fault_of(self, FAULT_OF_API, NULL, NULL);

    if (self->why->mood != WHY_PATIENCE || fault == NULL)
        return;
    if (fault->action->fault == FAULT_LIMIT_SEATS)
        why_link_named(self, "process/kube-apiserver", fault->since,
                       "takes only so many requests at once: %u", fault->action->seats);
    else
        why_link_named(self, "process/kube-apiserver", fault->since,
                       "suffers from the fault \"%s\"", scenario_fault_name(fault->action->fault));
    why_until(self, fault->action->fault == FAULT_API_OUTAGE ? "api-down" : "api-slow",
              fault->until);
}

/* A wait of this length is slow, though nothing hinders it. */
#define LONG_WAIT SIM_MINUTE

static void
doubt_patience(Question *self)
{
    const WhyLink *fault = why_fault(self->why);

    if (self->why->mood != WHY_PATIENCE || self->why->ends_at != SIM_TIME_MAX || fault == NULL ||
        fault->since == TIME_UNSET || self->now - fault->since < LONG_WAIT)
        return;
    self->why->mood = WHY_SLOW;
    self->why->unblock =
        why_words(self, N_("Nothing hinders it, but it takes long: look at what works on it."));
}

static void
why_begin(Question *self)
{
    why_free(self->why);
    self->why = why_new();
    g_ptr_array_set_size(self->path, 0);
}

/* Returns: (owned) */
static Why *
why_end(Question *self, gboolean waits)
{
    if (!waits) {
        g_ptr_array_set_size(self->why->chain, 0);
        why_because(self, "none");
    } else {
        blame_api(self);
        doubt_patience(self);
    }
    return g_steal_pointer(&self->why);
}

/* Returns: (owned) */
static Why *
ask_once(Question *self, const Object *object)
{
    why_begin(self);
    return why_end(self, why_ask_object(self, object));
}

static const char *
phase_of(const Object *object)
{
    const ObjectKind kind = object->key->kind;

    return kind == KIND_POD      ? pod_phase_name(POD_CONST(object)->phase)
           : kind == KIND_CLAIM  ? claim_phase_name(CLAIM_CONST(object)->phase)
           : kind == KIND_VOLUME ? volume_phase_name(VOLUME_CONST(object)->phase)
                                 : NULL;
}

static void
link_well(Question *self, const Object *object)
{
    if (object->key->kind == KIND_POD && pod_is_ready(POD_CONST(object)))
        why_link(self, object, TIME_UNSET, "is Running and Ready");
    else if (phase_of(object) != NULL)
        why_link(self, object, TIME_UNSET, "is %s", phase_of(object));
    else
        why_link(self, object, TIME_UNSET, "is ready");
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

/* ---- What waits for it ---- */

#define WAITING_OF_KIND 200 /* objects of each kind that are looked at */

/* Whether @link is of the object that was asked about: a node's CSINode and Lease are the node. */
static gboolean
why_is_about(const WhyLink *link, const char *object)
{
    static const char *const nodes[] = {"csinode/", "lease/"};

    if (strcmp(link->object, object) == 0)
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
        if (g_str_has_prefix(object, nodes[i]) && g_str_has_prefix(link->object, "node/") &&
            strcmp(link->object + strlen("node/"), object + strlen(nodes[i])) == 0)
            return TRUE;
    return g_str_has_prefix(object, "csidriver/") && g_str_has_prefix(link->object, "driver/") &&
           strcmp(link->object + strlen("driver/"), object + strlen("csidriver/")) == 0;
}

/* One answer for all stuck objects whose chain ends at @object. Returns: (owned): the answer for
 * the first of them, with @object alone; NULL: no chain ends there */
static Why *
ask_who_waits(Question *self, const char *object, GPtrArray *waiting)
{
    Why *found = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(subjects); i++) {
        const GPtrArray *objects =
            subjects[i].is_followed ? why_list(self, subjects[i].kind) : NULL;
        for (unsigned k = 0; objects != NULL && k < objects->len && k < WAITING_OF_KIND; k++) {
            g_autoptr(Why) why = ask_once(self, objects->pdata[k]);
            const WhyLink *fault = why_fault(why);
            const WhyLink *subject = fault == NULL ? NULL : why->chain->pdata[0];
            if (fault == NULL || !why_is_about(fault, object) || why_is_about(subject, object))
                continue;
            g_ptr_array_add(waiting, g_strdup(subject->object));
            if (found == NULL)
                found = g_steal_pointer(&why);
        }
    }
    if (found != NULL && found->chain->len > 1)
        g_ptr_array_remove_range(found->chain, 0, found->chain->len - 1);
    return found;
}

static void
find_waiting(Question *self, Why *why)
{
    const WhyLink *fault = why_fault(why);
    g_autoptr(Why) other = NULL;

    if (strcmp(why->cause, "none") == 0 || fault == NULL)
        return;
    other = ask_who_waits(self, fault->object, why->waiting);
    for (unsigned i = 0; i < why->chain->len; i++) {
        const WhyLink *link = why->chain->pdata[i];
        guint at;
        while (g_ptr_array_find_with_equal_func(why->waiting, link->object, g_str_equal, &at))
            g_ptr_array_remove_index(why->waiting, at);
    }
}

/* @subject: NULL: no object of the API. Returns: (owned) */
static Why *
ask_subject(Question *self, const Object *subject, const char *name)
{
    Why *why = NULL;
    gboolean exists = subject != NULL;

    if (subject != NULL) {
        why = ask_once(self, subject);
    } else {
        why_begin(self);
        gboolean waits = why_ask_named(self, name, &exists);
        why = why_end(self, waits);
    }
    if (!exists) {
        why_free(why);
        return NULL;
    }
    if (strcmp(why->cause, "none") == 0) {
        g_autoptr(GPtrArray) waiting = g_ptr_array_new_with_free_func(g_free);
        Why *other = ask_who_waits(self, name, waiting);
        if (other != NULL) {
            why_free(why);
            g_ptr_array_unref(other->waiting);
            other->waiting = g_steal_pointer(&waiting);
            return other;
        }
        self->why = why;
        if (subject != NULL)
            link_well(self, subject);
        else
            why_link_named(self, name, TIME_UNSET, "is well");
        return g_steal_pointer(&self->why);
    }
    find_waiting(self, why);
    return why;
}

Why *
why_ask(const WhyView *view, const char *namespace, const char *object)
{
    const char *slash = strchr(object, '/');
    g_autofree char *word = slash == NULL ? NULL : g_strndup(object, (gsize)(slash - object));
    const KubectlKind *kind = word == NULL ? NULL : kubectl_kind_find(word);
    ObjectKind found = N_KINDS;
    Why *why = NULL;
    Question self;

    if (slash == NULL)
        return NULL;
    for (ObjectKind i = 0; i < N_KINDS && found == N_KINDS; i++)
        if (kind != NULL ? strcmp(kind_class(i)->kind, kind->kind) == 0
                         : g_ascii_strcasecmp(kind_class(i)->kind, word) == 0 ||
                               g_ascii_strcasecmp(kind_class(i)->resource, word) == 0)
            found = i;
    question_init(&self, view);
    const Object *subject =
        found == N_KINDS ? NULL : find_subject(&self, found, namespace, slash + 1);
    if (subject != NULL) {
        g_autofree char *lower = g_ascii_strdown(kind_class(found)->kind, -1);
        g_autofree char *name = g_strdup_printf("%s/%s", lower, slash + 1);
        why = ask_subject(&self, subject, name);
    } else if (found == N_KINDS || found == KIND_LEASE) {
        why = ask_subject(&self, NULL, object);
    } else if (found == KIND_POD) {
        why_begin(&self);
        if (why_ask_missing_pod(&self, namespace, slash + 1))
            why = why_end(&self, TRUE);
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

/* If many objects wait for this one, it is at fault itself; pods, claims and similar kinds merely
 * share a cause. */
static gboolean
why_is_shared(const WhyLink *fault)
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
            (!why_is_shared(fault) || strcmp(why_fault(each->first)->object, fault->object) == 0))
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

    const gboolean left_waits = left->first->mood == WHY_PATIENCE,
                   right_waits = right->first->mood == WHY_PATIENCE;

    if (left_waits != right_waits)
        return left_waits ? 1 : -1;
    return ORDER(right->objects->len, left->objects->len);
}

/* A cordoned node for which nobody waits is not stuck. */
static gboolean
is_on_purpose(const Why *why)
{
    return why->chain->len == 1 && strcmp(why->cause, "cordoned") == 0;
}

GPtrArray *
why_ask_all(const WhyView *view, unsigned limit)
{
    GPtrArray *groups = g_ptr_array_new_with_free_func(group_free);
    Question self;

    question_init(&self, view);
    for (unsigned i = 0; i < G_N_ELEMENTS(subjects); i++) {
        const GPtrArray *objects =
            subjects[i].is_followed ? why_list(&self, subjects[i].kind) : NULL;
        unsigned n_stuck = 0;
        for (unsigned k = 0; objects != NULL && k < objects->len && n_stuck < limit; k++) {
            g_autoptr(Why) why = ask_once(&self, objects->pdata[k]);
            if (strcmp(why->cause, "none") == 0 || is_on_purpose(why))
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

static const char *words(const WhyView *view, const char *english) G_GNUC_FORMAT(2);

static const char *
words(const WhyView *view, const char *english)
{
    return view->translate == NULL ? english : view->translate(english);
}

/* Returns: since when the cause has been there; if nobody knows, since when the object in front of
 * it has waited; TIME_UNSET: neither is known. @at_least: (out): whether it may be longer */
static SimTime
why_since(const Why *self, gboolean *at_least)
{
    *at_least = FALSE;
    for (unsigned i = self->chain->len; i-- > 0;) {
        const WhyLink *link = self->chain->pdata[i];
        if (link->since != TIME_UNSET)
            return link->since;
        *at_least = TRUE;
    }
    return TIME_UNSET;
}

/* Returns: the part of the first object's wait that its cause has lasted, from 0 to 1; negative:
 * unknown */
static double
why_share(const Why *self, SimTime now)
{
    const WhyLink *fault = why_fault(self);
    const WhyLink *subject = fault == NULL ? NULL : self->chain->pdata[0];

    if (fault == NULL || fault == subject || subject->since == TIME_UNSET ||
        fault->since == TIME_UNSET || subject->since >= now)
        return -1;
    return (double)(now - MAX(subject->since, MIN(fault->since, now))) /
           (double)(now - subject->since);
}

#define OBJECTS_MAX 3

static void
append_names(const WhyView *view, const GPtrArray *names, GString *out)
{
    for (unsigned i = 0; i < names->len && i < OBJECTS_MAX; i++)
        g_string_append_printf(out, "%s%s", i > 0 ? ", " : "", (const char *)names->pdata[i]);
    if (names->len > OBJECTS_MAX)
        g_string_append_printf(out, words(view, N_(" and %u more")), names->len - OBJECTS_MAX);
    g_string_append_c(out, '\n');
}

static void
append_chain(const WhyView *view, const Why *self, SimTime now, GString *out)
{
    char time[SIM_TIME_BUFFER];

    for (unsigned i = 0; i < self->chain->len; i++) {
        const WhyLink *link = self->chain->pdata[i];
        g_string_append_printf(out, "%*s%s%s %s", (int)i * 2, "", i > 0 ? "<- " : "", link->object,
                               link->text);
        if (link->since != TIME_UNSET && link->since <= now)
            g_string_append_printf(out, words(view, N_(" (for %s)")),
                                   sim_time_format((now - link->since) / SIM_MS * SIM_MS, time));
        g_string_append_c(out, '\n');
    }
}

static void
append_since(const WhyView *view, const Why *self, SimTime now, GString *out)
{
    char time[SIM_TIME_BUFFER], at[SIM_TIME_BUFFER];
    gboolean at_least;
    const SimTime since = why_since(self, &at_least);

    if (since == TIME_UNSET || since > now || strcmp(self->cause, "none") == 0)
        return;
    sim_time_format((now - since) / SIM_MS * SIM_MS, time);
    sim_time_format(since / SIM_MS * SIM_MS, at);
    g_string_append_printf(
        out,
        words(view, at_least ? N_("since: %s or earlier (%s ago)\n") : N_("since: %s (%s ago)\n")),
        at, time);
}

void
why_tell(const WhyView *view, const Why *self, GString *out)
{
    const SimTime now = sim_now(run_sim(view->run));
    const WhyLink *fault = why_fault(self);
    const double share = why_share(self, now);
    char time[SIM_TIME_BUFFER];

    append_chain(view, self, now, out);
    g_string_append_printf(out, words(view, N_("cause: %s")), self->cause);
    if (fault != NULL && strcmp(self->cause, "none") != 0)
        g_string_append_printf(out, ": %s %s", fault->object, fault->text);
    g_string_append_c(out, '\n');
    append_since(view, self, now, out);
    if (self->mood != WHY_WRONG && share >= 0)
        g_string_append_printf(out, words(view, N_("share: %.0f%% of the wait of %s\n")),
                               share * 100, ((const WhyLink *)self->chain->pdata[0])->object);
    if (self->ends_at != SIM_TIME_MAX && self->ends_at > now)
        g_string_append_printf(out, words(view, N_("ends: by itself in %s\n")),
                               sim_time_format((self->ends_at - now) / SIM_MS * SIM_MS, time));
    if (self->waiting->len > 0) {
        g_string_append(out, words(view, N_("waiting: ")));
        append_names(view, self->waiting, out);
    }
    if (*self->unblock != '\0')
        g_string_append_printf(out, words(view, N_("unblock: %s\n")), self->unblock);
    if (self->command != NULL)
        g_string_append_printf(out, words(view, N_("command: %s\n")), self->command);
}

#define GROUPS_MAX 10

void
why_tell_all(const WhyView *view, GString *out)
{
    g_autoptr(GPtrArray) groups = why_ask_all(view, UINT_MAX);

    for (unsigned i = 0; i < groups->len && i < GROUPS_MAX; i++) {
        const WhyGroup *group = groups->pdata[i];
        const WhyLink *fault = why_fault(group->first);
        g_string_append_printf(out, "%s: %s %s\n", group->first->cause, fault->object, fault->text);
        g_string_append_printf(out, words(view, N_("  %u waiting: ")), group->objects->len);
        append_names(view, group->objects, out);
        g_string_append(out, "  ");
        g_string_append_printf(out, words(view, N_("unblock: %s\n")), group->first->unblock);
        if (group->first->command != NULL) {
            g_string_append(out, "  ");
            g_string_append_printf(out, words(view, N_("command: %s\n")), group->first->command);
        }
    }
    if (groups->len > GROUPS_MAX)
        g_string_append_printf(out, words(view, N_("... and %u more\n")), groups->len - GROUPS_MAX);
    if (groups->len == 0)
        g_string_append(out, words(view, N_("nothing is stuck\n")));
}

static json_t *
time_to_json(SimTime time, SimTime none)
{
    return time == none ? json_null() : json_integer(time);
}

static json_t *
names_to_json(const GPtrArray *names)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < names->len; i++)
        json_array_append_new(list, json_string(names->pdata[i]));
    return list;
}

json_t *
why_to_json(const WhyView *view, const Why *self)
{
    static const char *const moods[] = {"wrong", "slow", "patience"};
    const WhyLink *fault = why_fault(self);
    const double share = why_share(self, sim_now(run_sim(view->run)));
    json_t *chain = json_array();
    gboolean at_least;
    const SimTime since = why_since(self, &at_least);

    for (unsigned i = 0; i < self->chain->len; i++) {
        const WhyLink *link = self->chain->pdata[i];
        json_array_append_new(chain, json_pack("{s:s, s:s?, s:s, s:o}", "object", link->object,
                                               "namespace", link->namespace, "text", link->text,
                                               "sinceNs", time_to_json(link->since, TIME_UNSET)));
    }
    return json_pack("{s:o, s:s, s:o, s:s?, s:s, s:o, s:o, s:o, s:s, s:s?}", "chain", chain,
                     "cause", self->cause, "sinceNs", time_to_json(since, TIME_UNSET), "fault",
                     fault == NULL ? NULL : fault->object, "mood",
                     strcmp(self->cause, "none") == 0 ? "well" : moods[self->mood], "share",
                     share < 0 ? json_null() : json_real(share), "endsNs",
                     time_to_json(self->ends_at, SIM_TIME_MAX), "waiting",
                     names_to_json(self->waiting), "unblock", self->unblock, "command",
                     self->command);
}

json_t *
why_groups_to_json(const WhyView *view, const GPtrArray *groups)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < groups->len; i++) {
        const WhyGroup *group = groups->pdata[i];
        json_t *item = why_to_json(view, group->first);
        json_object_set_new(item, "waiting", names_to_json(group->objects));
        json_array_append_new(list, item);
    }
    return list;
}

const RuleTable *const why_tables[] = {&why_pod_rules, &why_claim_rules, NULL};
