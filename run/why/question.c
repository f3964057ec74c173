/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tools of a question: objects of the API server with indexes made when first needed, links of
 * the chain, the answers of drivers, and the running processes. A link names an object, since when
 * it has waited, and a text. A driver's answer becomes a cause by code and method, or by words of
 * its message. An object that is in the chain already is not asked again, so every question ends.
 *
 * Nothing in the run is changed by a question, and no draw is taken. */
#include "question.h"

#include <string.h>

#include "models/client/leader-election.h"
#include "models/csi/flex-call.h"

/* ---- Objects ---- */

const Object *
why_get(const Question *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key = name == NULL || *name == '\0'
                               ? NULL
                               : objects_find_key(self->objects, kind, namespace, name);

    return key == NULL ? NULL : api_server_get(self->api, key);
}

const GPtrArray *
why_list(Question *self, ObjectKind kind)
{
    if (self->lists[kind] != NULL)
        return self->lists[kind];
    self->lists[kind] = g_ptr_array_new();
    for (uint32_t i = 0; i < objects_n_keys(self->objects, kind); i++) {
        const Object *object = api_server_get(self->api, objects_key_at(self->objects, kind, i));
        if (object != NULL)
            g_ptr_array_add(self->lists[kind], (void *)object);
    }
    return self->lists[kind];
}

const Claim *
why_claim_of(const Question *self, const Pod *pod, const PodVolume *volume)
{
    const Object *claim = volume->claim_name == NULL
                              ? NULL
                              : why_get(self, KIND_CLAIM, pod->meta.key->namespace,
                                        pod_claim_key(self->objects, pod, volume)->name);

    return CLAIM_CONST(claim);
}

const Volume *
why_volume_of(const Question *self, const Claim *claim)
{
    return claim == NULL ? NULL
                         : VOLUME_CONST(why_get(self, KIND_VOLUME, NULL, claim_volume_name(claim)));
}

CsiDriver *
why_driver_of(const Question *self, const Volume *volume)
{
    if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
        return NULL;
    return cluster_find_driver(self->cluster, volume->source->driver);
}

gboolean
why_is_registered(const Question *self, const char *driver, const char *node)
{
    const Object *csi_node = why_get(self, KIND_CSI_NODE, NULL, node);

    return csi_node != NULL && csi_node_find_driver(CSI_NODE(csi_node), driver) != NULL;
}

/* Adds @value to the list of @key. */
static void
multimap_add(GHashTable *map, const void *key, const void *value)
{
    GPtrArray *values = g_hash_table_lookup(map, key);

    if (values == NULL) {
        values = g_ptr_array_new();
        g_hash_table_insert(map, (void *)key, values);
    }
    if (values->len == 0 || values->pdata[values->len - 1] != value)
        g_ptr_array_add(values, (void *)value);
}

static GHashTable *
multimap_new(GHashFunc hash, GEqualFunc equal)
{
    GHashTable *map = g_hash_table_new_full(hash, equal, NULL, (GDestroyNotify)g_ptr_array_unref);

    g_hash_table_insert(map, (void *)"", g_ptr_array_new()); /* of what is missing */
    return map;
}

static const GPtrArray *
multimap_get(GHashTable *map, const void *key)
{
    const GPtrArray *values = g_hash_table_lookup(map, key);

    return values != NULL ? values : g_hash_table_lookup(map, "");
}

const GPtrArray *
why_pods_of_claim(Question *self, const Claim *claim)
{
    const GPtrArray *pods = self->users == NULL ? why_list(self, KIND_POD) : NULL;

    if (self->users == NULL)
        self->users = multimap_new(g_str_hash, g_str_equal);
    for (unsigned i = 0; pods != NULL && i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        for (unsigned k = 0; pod->volumes != NULL && k < pod->volumes->n_items; k++)
            if (!pod_is_terminal(pod))
                multimap_add(self->users,
                             pod_claim_key(self->objects, pod, &pod->volumes->items[k])->text, pod);
    }
    return multimap_get(self->users, claim->meta.key->text);
}

const GPtrArray *
why_attachments_of(Question *self, const char *volume)
{
    const GPtrArray *all = self->attachments == NULL ? why_list(self, KIND_ATTACHMENT) : NULL;

    if (self->attachments == NULL)
        self->attachments = multimap_new(g_str_hash, g_str_equal);
    for (unsigned i = 0; all != NULL && i < all->len; i++) {
        const Attachment *attachment = all->pdata[i];
        if (attachment->volume_name != NULL)
            multimap_add(self->attachments, attachment->volume_name, attachment);
    }
    return multimap_get(self->attachments, volume);
}

const Object *
why_owner(const Question *self, const Object *object, ObjectKind kind)
{
    for (unsigned i = 0; object->owners != NULL && i < object->owners->n_items; i++) {
        const ObjectKey *key = object->owners->items[i].key;
        if (key != NULL && key->kind == kind)
            return api_server_get(self->api, key);
    }
    return NULL;
}

GPtrArray *
why_pods_owned(Question *self, const Object *owner)
{
    const GPtrArray *pods = why_list(self, KIND_POD);
    GPtrArray *found = g_ptr_array_new();

    for (unsigned i = 0; i < pods->len; i++) {
        const Object *pod = pods->pdata[i];
        if (owner == NULL || why_owner(self, pod, owner->key->kind) == owner)
            g_ptr_array_add(found, (void *)pod);
    }
    return found;
}

const ApiEvent *
why_event(const Question *self, const Object *object, const char *reason)
{
    const ApiEvent *found = NULL;

    for (unsigned i = 0; i < api_server_n_events(self->api); i++) {
        const ApiEvent *event = api_server_event(self->api, i);
        if (event->involved == object->key && object_uid_equal(event->involved_uid, object->uid) &&
            strcmp(event->reason, reason) == 0 &&
            (found == NULL || event->last_at >= found->last_at))
            found = event;
    }
    return found;
}

/* ---- Links ---- */

const char *
why_words(const Question *self, const char *english)
{
    return self->view->translate == NULL ? english : self->view->translate(english);
}

static void
add_link(Question *self, char *object, const char *namespace, SimTime since, char *text)
{
    WhyLink *link = g_new0(WhyLink, 1);

    *link =
        (WhyLink){.object = object,
                  .namespace = namespace == NULL || *namespace == '\0' ? NULL : g_strdup(namespace),
                  .text = text,
                  .since = since};
    g_ptr_array_add(self->why->chain, link);
}

void
why_link(Question *self, const Object *object, SimTime since, const char *format, ...)
{
    const ObjectKey *key = object->key;
    g_autofree char *kind = g_ascii_strdown(kind_class(key->kind)->kind, -1);
    va_list args;

    va_start(args, format);
    char *text = g_strdup_vprintf(why_words(self, format), args);
    va_end(args);
    add_link(self, g_strdup_printf("%s/%s", kind, key->name), key->namespace, since, text);
}

void
why_link_named(Question *self, const char *name, SimTime since, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = g_strdup_vprintf(why_words(self, format), args);
    va_end(args);
    add_link(self, g_strdup(name), NULL, since, text);
}

static void
append_labels(GString *text, const json_t *labels)
{
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)labels, key, value)
        g_string_append_printf(text, "%s%s=%s", text->len > 0 ? ", " : "", key,
                               json_string_value(value));
}

static void
append_expressions(GString *text, const json_t *expressions)
{
    static const char *const words[][2] = {
        {"In",    "in"    },
        {"NotIn", "not in"},
        {"Gt",    ">"     },
        {"Lt",    "<"     }
    };
    size_t i, k;
    const json_t *each, *value;

    json_array_foreach(expressions, i, each) {
        const char *operator= json_string_value(json_object_get(each, "operator"));
        const json_t *values = json_object_get(each, "values");
        for (k = 0; k < G_N_ELEMENTS(words); k++)
            if (g_strcmp0(operator, words[k][0]) == 0)
                operator= words[k][1];
        g_string_append_printf(text, "%s%s %s", text->len > 0 ? ", " : "",
                               json_string_value(json_object_get(each, "key")), operator);
        json_array_foreach(values, k, value)
            g_string_append_printf(text, "%s%s", k == 0 ? " (" : ", ", json_string_value(value));
        if (json_array_size(values) > 0)
            g_string_append_c(text, ')');
    }
}

char *
why_selector(const json_t *selector)
{
    const json_t *terms = json_object_get(selector, "nodeSelectorTerms"), *term;
    const gboolean is_map =
        json_is_string(json_object_iter_value(json_object_iter((json_t *)selector)));
    g_autoptr(GString) text = g_string_new(NULL);
    size_t i;

    if (is_map)
        append_labels(text, selector);
    append_labels(text, json_object_get(selector, "matchLabels"));
    append_expressions(text, json_object_get(selector, "matchExpressions"));
    json_array_foreach(terms, i, term) {
        g_autoptr(GString) one = g_string_new(NULL);
        append_expressions(one, json_object_get(term, "matchExpressions"));
        append_expressions(one, json_object_get(term, "matchFields"));
        g_string_append_printf(text, "%s%s", i > 0 ? " | " : "", one->str);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

gboolean
why_once(Question *self, const Object *object, WhyAsk *ask)
{
    if (g_ptr_array_find(self->path, object->key, NULL))
        return FALSE;
    g_ptr_array_add(self->path, (void *)object->key);
    gboolean waits = ask(self, object);
    g_ptr_array_set_size(self->path, (int)self->path->len - 1);
    return waits;
}

gboolean
why_until(Question *self, const char *id, SimTime ends_at)
{
    const Cause *cause = why_cause_find(id);

    self->why->cause = cause->id;
    self->why->unblock = *cause->unblock == '\0' ? "" : why_words(self, cause->unblock);
    self->why->mood = cause->mood;
    self->why->ends_at = ends_at;
    g_free(self->why->command);
    self->why->command = why_command(cause->command, self->why);
    return TRUE;
}

gboolean
why_because(Question *self, const char *cause)
{
    return why_until(self, cause, SIM_TIME_MAX);
}

/* ---- What drivers have answered ---- */

/* The codes that say more than that the driver refuses. */
static const struct {
    CsiMethod method; /* CSI_N_METHODS: any */
    CsiCode code;
    const char *cause;
} code_rows[] = {
    {CSI_CREATE_VOLUME,             CSI_RESOURCE_EXHAUSTED,  "driver-full"       },
    {CSI_CONTROLLER_EXPAND_VOLUME,  CSI_RESOURCE_EXHAUSTED,  "driver-full"       },
    {CSI_CREATE_SNAPSHOT,           CSI_RESOURCE_EXHAUSTED,  "driver-full"       },
    {CSI_CONTROLLER_MODIFY_VOLUME,  CSI_RESOURCE_EXHAUSTED,  "changed-too-often" },
    {CSI_CONTROLLER_PUBLISH_VOLUME, CSI_RESOURCE_EXHAUSTED,  "attach-limit"      },
    {CSI_CONTROLLER_PUBLISH_VOLUME, CSI_FAILED_PRECONDITION, "attached-elsewhere"},
    {CSI_N_METHODS,                 CSI_DEADLINE_EXCEEDED,   "driver-slow"       },
    {CSI_N_METHODS,                 CSI_ABORTED,             "driver-slow"       },
    {CSI_N_METHODS,                 CSI_UNAVAILABLE,         "driver-down"       },
};

/* Codes of back ends in their drivers' messages. */
static const struct {
    const char *word, *cause;
} word_rows[] = {
    {"VolumeModificationRateExceeded", "changed-too-often"},
    {"has changed too often",          "changed-too-often"},
    {"is not accessible from node",    "out-of-reach"     },
};

static const char *
cause_of_call(const WhyCall *call)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(word_rows) && call->message != NULL; i++)
        if (strstr(call->message, word_rows[i].word) != NULL)
            return word_rows[i].cause;
    for (unsigned i = 0; i < G_N_ELEMENTS(code_rows); i++) {
        if (code_rows[i].code == call->code &&
            (code_rows[i].method == call->method || code_rows[i].method == CSI_N_METHODS))
            return code_rows[i].cause;
    }
    return call->method == CSI_NODE_STAGE_VOLUME || call->method == CSI_NODE_PUBLISH_VOLUME
               ? "mount-error"
               : "driver-error";
}

/* Causes for a driver that works while nothing is wrong, by method. */
static const char *const working_causes[CSI_N_METHODS] = {
    [CSI_CREATE_VOLUME] = "provisioning",
    [CSI_CONTROLLER_PUBLISH_VOLUME] = "attaching",
    [CSI_CONTROLLER_UNPUBLISH_VOLUME] = "detaching",
    [CSI_NODE_STAGE_VOLUME] = "mounting",
    [CSI_NODE_PUBLISH_VOLUME] = "mounting",
    [CSI_NODE_UNPUBLISH_VOLUME] = "unmounting",
    [CSI_NODE_UNSTAGE_VOLUME] = "unmounting",
    [CSI_CONTROLLER_EXPAND_VOLUME] = "expanding",
    [CSI_NODE_EXPAND_VOLUME] = "expanding",
    [CSI_CONTROLLER_MODIFY_VOLUME] = "modifying",
    [CSI_CREATE_SNAPSHOT] = "snapshotting",
    [CSI_CREATE_VOLUME_GROUP_SNAPSHOT] = "snapshotting",
    [CSI_DELETE_SNAPSHOT] = "snapshot-deleting",
};

static gboolean
is_node_method(CsiMethod method)
{
    return method == CSI_NODE_STAGE_VOLUME || method == CSI_NODE_PUBLISH_VOLUME ||
           method == CSI_NODE_UNPUBLISH_VOLUME || method == CSI_NODE_UNSTAGE_VOLUME ||
           method == CSI_NODE_EXPAND_VOLUME;
}

gboolean
why_ask_driver_fault(Question *self, const char *driver, const char *node)
{
    const RunFault *fault = why_fault_of(self, FAULT_OF_DRIVER, node, driver);
    g_autofree char *label = g_strconcat("driver/", driver, NULL);

    if (fault == NULL || fault->action->fault > FAULT_DRIVER_AWAY)
        return FALSE;
    why_link_named(self, label, fault->since, "suffers from the fault \"%s\"",
                   scenario_fault_name(fault->action->fault));
    return why_until(self,
                     fault->action->fault == FAULT_DRIVER_SLOW ? "driver-slow" : "driver-down",
                     fault->until);
}

/* A call that lasts so long is slow, not under way. */
#define SLOW_CALL (10 * SIM_SECOND)

/* The driver has not answered yet. */
static gboolean
ask_under_way(Question *self,
              const CsiDriver *driver,
              const char *label,
              const CsiCallRecord *record)
{
    const CsiMethod method = record->request->method;
    const unsigned n = csi_driver_in_flight(driver);
    const gboolean is_slow = self->now - record->started_at >= SLOW_CALL;

    if (why_ask_driver_fault(self, csi_driver_name(driver),
                             is_node_method(method) ? record->request->served_by : NULL))
        return TRUE;
    if (n > 1)
        why_link_named(self, label, record->started_at, "is at %s, one of %u calls under way",
                       csi_call_name(driver, method), n);
    else
        why_link_named(self, label, record->started_at, "is at %s", csi_call_name(driver, method));
    return why_because(self, is_slow || working_causes[method] == NULL ? "driver-slow"
                                                                       : working_causes[method]);
}

/* The driver does not find the volume, and its back end does not have it. */
static gboolean
tell_lost(Question *self, const char *driver, const WhyCall *call, const char *handle)
{
    CsiModelledDriver *modelled =
        csi_modelled_driver_cast(cluster_find_driver(self->cluster, driver));
    const GPtrArray *volumes = why_list(self, KIND_VOLUME);
    CsiModelledVolume real;

    if (call->code != CSI_NOT_FOUND || modelled == NULL || handle == NULL ||
        csi_modelled_driver_get_volume(modelled, handle, &real))
        return FALSE;
    for (unsigned i = 0; i < volumes->len; i++) {
        const Volume *volume = volumes->pdata[i];
        if (volume->source == NULL || g_strcmp0(volume->source->driver, driver) != 0 ||
            g_strcmp0(volume->source->handle, handle) != 0)
            continue;
        why_link(self, &volume->meta, call->failing_since,
                 "is not in the back end: driver/%s answers %s with %s", driver,
                 csi_call_name(csi_modelled_driver_base(modelled), call->method),
                 csi_code_name(call->code));
        return why_because(self, "volume-lost");
    }
    return FALSE;
}

gboolean
why_ask_call(Question *self,
             const char *driver_name,
             CsiMethod method,
             const char *subject,
             const char *node)
{
    const CsiDriver *driver =
        driver_name == NULL ? NULL : cluster_find_driver(self->cluster, driver_name);
    const WhyCall *call = why_calls_find(self->calls, driver, method, subject, node);
    const gboolean is_late =
        call != NULL && (call->code == CSI_DEADLINE_EXCEEDED || call->code == CSI_ABORTED);
    const CsiCallRecord *record =
        call == NULL || is_late ? why_calls_under_way(driver, method, subject, node) : NULL;
    g_autofree char *name = g_strconcat("driver/", driver_name, NULL);

    if (record != NULL)
        return ask_under_way(self, driver, name, record);
    if (call == NULL)
        return FALSE;
    const char *cause = cause_of_call(call);
    if ((strcmp(cause, "driver-down") == 0 || strcmp(cause, "driver-slow") == 0) &&
        why_ask_driver_fault(self, driver_name, is_node_method(method) ? node : NULL))
        return TRUE;
    if (tell_lost(self, driver_name, call, subject))
        return TRUE;
    why_link_named(self, name, call->failing_since, "answers %s with %s%s%s",
                   csi_call_name(driver, method), csi_code_name(call->code),
                   call->message != NULL ? ": " : "", call->message != NULL ? call->message : "");
    return why_because(self, cause);
}

/* ---- Who works ---- */

const RunFault *
why_fault_of(const Question *self, FaultTarget target, const char *process, const char *victim)
{
    static const FaultType ends[] = {[FAULT_OF_PROCESS] = FAULT_LOSE_LEADERSHIP,
                                     [FAULT_OF_NODE] = FAULT_NETWORK_UNAVAILABLE,
                                     [FAULT_OF_API] = FAULT_LIMIT_SEATS,
                                     [FAULT_OF_DRIVER] = FAULT_ABNORMAL_VOLUMES};
    static const FaultType begins[] = {[FAULT_OF_PROCESS] = FAULT_CRASH,
                                       [FAULT_OF_NODE] = FAULT_POWER_OFF,
                                       [FAULT_OF_API] = FAULT_API_OUTAGE,
                                       [FAULT_OF_DRIVER] = FAULT_DRIVER_HANG};
    const GArray *faults = run_faults(self->run);

    for (unsigned i = faults == NULL ? 0 : faults->len; i-- > 0;) {
        const RunFault *fault = &g_array_index(faults, RunFault, i);
        const ScenarioAction *action = fault->action;
        if (fault->until <= self->now || action->fault < begins[target] ||
            action->fault > ends[target] ||
            (process != NULL && target == FAULT_OF_PROCESS &&
             g_strcmp0(action->process, process) != 0))
            continue;
        if (target == FAULT_OF_API ||
            (target == FAULT_OF_DRIVER && g_strcmp0(action->driver, victim) == 0 &&
             (action->instance == NULL || g_strcmp0(action->instance, process) == 0)))
            return fault;
        for (unsigned k = 0; target != FAULT_OF_DRIVER && k < fault->victims->len; k++)
            if (victim == NULL || g_strcmp0(fault->victims->pdata[k], victim) == 0)
                return fault;
    }
    return NULL;
}

static void
doing_seen(void *data, const Doing *doing)
{
    g_array_append_val((GArray *)data, *doing);
}

static const GArray *
doings_of(const Question *self)
{
    if (self->doings->len == 0)
        cluster_inspect(self->cluster, doing_seen, self->doings);
    return self->doings;
}

static gboolean
is_of(const Component *component, const ModelClass *class, const char *instance)
{
    return component->class == class &&
           (instance == NULL || g_strcmp0(component->driver_name, instance) == 0 ||
            g_strcmp0(component->node_name, instance) == 0);
}

const Doing *
why_doing(const Question *self, const ModelClass *class, const char *instance, const ObjectKey *key)
{
    const GArray *doings = doings_of(self);
    const Doing *found = NULL;

    for (unsigned i = 0; i < doings->len; i++) {
        const Doing *doing = &g_array_index(doings, Doing, i);
        if (doing->key == key && is_of(doing->component, class, instance) &&
            (found == NULL || doing->kind < found->kind))
            found = doing;
    }
    return found;
}

static gboolean
ask_api(Question *self)
{
    const RunFault *fault = why_fault_of(self, FAULT_OF_API, NULL, NULL);

    if (fault == NULL || fault->action->fault != FAULT_API_OUTAGE)
        return FALSE;
    why_link_named(self, "process/kube-apiserver", fault->since, "is down");
    return why_until(self, "api-down", fault->until);
}

const Lease *
why_lease(Question *self, const char *process, const char *instance)
{
    const GPtrArray *leases = why_list(self, KIND_LEASE);
    g_autofree char *driver = instance == NULL ? NULL : leader_election_name(instance);

    for (unsigned i = 0; i < leases->len; i++) {
        const Lease *lease = leases->pdata[i];
        const char *name = object_name(&lease->meta);
        if (driver == NULL ? strcmp(name, process) == 0
                           : strstr(name, driver) != NULL &&
                                 (strstr(name, process) != NULL || strcmp(name, driver) == 0))
            return lease;
    }
    return NULL;
}

static char *
name_of_process(const char *process, const char *instance)
{
    return g_strdup_printf("process/%s%s%s", process, instance != NULL ? "/" : "",
                           instance != NULL ? instance : "");
}

gboolean
why_ask_lease(Question *self, const char *process, const char *instance)
{
    g_autofree char *name = name_of_process(process, instance);
    const Lease *lease = why_lease(self, process, instance);
    SimTime ends_at = SIM_TIME_MAX;

    if (!cluster_awaits_leader(self->cluster, process, instance))
        return FALSE;
    if (lease != NULL && lease->renewed_at != TIME_UNSET)
        ends_at = sim_time_add(lease->renewed_at, lease->duration_s * SIM_SECOND);
    why_link_named(self, name, lease == NULL ? TIME_UNSET : lease->renewed_at,
                   "has no leader: its Lease %s still belongs to %s, which is gone",
                   lease == NULL ? "" : object_name(&lease->meta),
                   lease == NULL || lease->holder == NULL ? why_words(self, N_("a process"))
                                                          : lease->holder);
    return why_until(self, "no-leader", ends_at);
}

gboolean
why_ask_process(Question *self, const char *process, const char *instance)
{
    const RunFault *fault = why_fault_of(self, FAULT_OF_PROCESS, process, instance);
    g_autofree char *name = name_of_process(process, instance);

    if (ask_api(self))
        return TRUE;
    if (fault != NULL && fault->action->fault != FAULT_LOSE_LEADERSHIP &&
        (fault->action->fault != FAULT_CRASH ||
         !cluster_is_running(self->cluster, process, instance))) {
        why_link_named(self, name, fault->since, "suffers from the fault \"%s\"",
                       scenario_fault_name(fault->action->fault));
        return why_until(self, fault->action->fault == FAULT_SLOW ? "process-slow" : "process-down",
                         fault->until);
    }
    if (!cluster_is_running(self->cluster, process, instance)) {
        const RunFault *of_node = strcmp(process, "kubelet") == 0
                                      ? why_fault_of(self, FAULT_OF_NODE, NULL, instance)
                                      : NULL;
        if (of_node == NULL) {
            why_link_named(self, name, TIME_UNSET, "does not run");
            return why_because(self, "process-down");
        }
        why_link_named(self, name, of_node->since,
                       "does not run since the fault \"%s\" of its node",
                       scenario_fault_name(of_node->action->fault));
        return why_until(self, "process-down", of_node->until);
    }
    return why_ask_lease(self, process, instance);
}

/* The flag for the number of a process's workers. */
static const char *
workers_flag(const char *process)
{
    static const struct {
        const char *process, *flag;
    } rows[] = {
        {"external-provisioner", "--worker-threads"},
        {"external-attacher",    "--worker-threads"},
        {"external-snapshotter", "--worker-threads"},
        {"snapshot-controller",  "--worker-threads"},
        {"external-resizer",     "--workers"       },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].process, process) == 0)
            return rows[i].flag;
    return NULL;
}

/* Links to the busy workers of a component: its queue, its plans and the step of one. */
static void
link_busy(Question *self, const ModelClass *class, const char *instance, SimTime since)
{
    const GArray *doings = doings_of(self);
    unsigned n_plans = 0, n_queued = 0;
    const Component *who = NULL;
    const char *step = NULL;

    for (unsigned i = 0; i < doings->len; i++) {
        const Doing *doing = &g_array_index(doings, Doing, i);
        if (!is_of(doing->component, class, instance))
            continue;
        who = doing->component;
        n_plans += doing->kind == DOING_PLAN;
        n_queued += doing->kind == DOING_QUEUED;
        if (doing->kind == DOING_PLAN && doing->step != NULL)
            step = doing->step;
    }
    g_autofree char *name = name_of_process(who->class->process->name, instance);
    const char *flag = workers_flag(who->class->process->name);
    why_link_named(self, name, since, "has %u in its queue and %u under way%s%s%s%s%s", n_queued,
                   n_plans, step != NULL ? ": " : "", step != NULL ? step : "",
                   flag != NULL ? why_words(self, N_("; it has so many workers by ")) : "",
                   flag != NULL ? flag : "",
                   api_client_next_token(who->client) > self->now
                       ? why_words(self, N_("; its requests wait for their turn (--kube-api-qps)"))
                       : "");
}

gboolean
why_ask_work(Question *self,
             const ModelClass *class,
             const char *instance,
             const ObjectKey *key,
             const char *working)
{
    const Doing *doing = why_doing(self, class, instance, key);

    if (doing == NULL)
        return why_because(self, working);
    if (doing->kind == DOING_QUEUED) { /* since when is not known */
        link_busy(self, class, instance, TIME_UNSET);
        return why_because(self, api_client_next_token(doing->component->client) > self->now
                                     ? "throttled"
                                     : "workers-busy");
    }
    if (doing->kind == DOING_DELAYED && doing->failures > 0)
        return why_until(self, "backing-off", doing->at);
    SimTime token_at = api_client_next_token(doing->component->client);
    if (doing->kind == DOING_PLAN && token_at > self->now) {
        g_autofree char *name = name_of_process(doing->component->class->process->name, instance);
        char in[SIM_TIME_BUFFER];
        why_link_named(self, name, doing->at,
                       "has used up the requests a second of %s (--kube-api-qps): the next one may "
                       "go in %s",
                       api_client_name(doing->component->client),
                       sim_time_format((token_at - self->now) / SIM_MS * SIM_MS, in));
        return why_because(self, "throttled");
    }
    return why_because(self, working);
}
