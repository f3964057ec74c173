/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clients of a scenario: each action is a performer whose requests follow one another as fast
 * as the API server answers. Copies of an action arrive at drawn times, numbered in all names that
 * the action itself creates, and may end again. Draws go by the number of the action, so actions do
 * not shift each other's luck. A refusal is noted and ends nothing. */

#include <string.h>

#include "models/api/fields.h"
#include "models/api/patch/patch.h"
#include "models/api/workload.h"
#include "models/apiserver/service-account.h"
#include "run-private.h"
#include "sim/random.h"

#define CLIENT "kubectl"

/* A client outside the cluster that carries out one action: its requests follow one another as fast
 * as the API server answers, without a limit. */
typedef struct {
    Run *run;
    const ScenarioAction *action;
    unsigned number;      /* of the action, for draws */
    GPtrArray *templates; /* of Object (owned): CREATE */
    GPtrArray *targets;   /* of ObjectKey: DELETE, in order of the keys' first appearance */
    unsigned copy, item;  /* CREATE: the next object; DELETE: @item */
    unsigned n_copies;    /* CREATE: copies made so far */
    unsigned oldest;      /* CREATE with keep: the oldest copy that exists */
    unsigned n_ending;    /* CREATE: copies that still exist */
    gboolean has_arrived; /* CREATE: all copies have arrived */
    Object *sending;      /* (owned): the object of the request under way */
    GString *refusal;     /* (owned): the reason why the edit of the request under way was refused;
                             empty: it was not */
    const ObjectKey *asked; /* key of the object */
    RunHand hand;           /* all NULL: nobody's */
    uint64_t client_hash;
    gboolean is_over;
} Performer;

static void perform_next(Performer *self);

static Strings *
performer_strings(const Performer *self)
{
    return objects_strings(self->run->objects);
}

/* HTTP's code. */
static unsigned
http_code(ApiCode code)
{
    return code == API_EXISTS ? API_CONFLICT : code;
}

/* Notes a refusal of the server. For DELETE, 404 is fine; a request that failed in a recording is
 * to fail in the same way. */
static void
note_refusal(const Performer *self, const ApiResponse *response)
{
    if (self->action->code != 0 && http_code(response->code) == self->action->code)
        return;
    if (self->action->code != 0 && response->code == API_OK) {
        run_note(self->run, self->action, "succeeded; the recording has code %u",
                 self->action->code);
        return;
    }
    if (response->code == API_OK ||
        (response->code == API_NOT_FOUND && self->action->type == ACTION_DELETE))
        return;
    run_note(self->run, self->action, "%s",
             response->message == NULL || *response->message == '\0' ? "refused by the API server"
                                                                     : response->message);
}

static void
replied(void *data, const ApiResponse *response)
{
    Performer *self = data;

    const ApiResponse refusal = {.code = API_INVALID, .message = self->refusal->str};

    if (self->refusal->len > 0)
        response = &refusal;
    if (self->hand.answered != NULL)
        self->hand.answered(self->hand.data, self->asked, response);
    else
        note_refusal(self, response);
    g_string_truncate(self->refusal, 0);
    object_unref(g_steal_pointer(&self->sending));
    perform_next(self);
}

static void
send(Performer *self, ApiRequest *request)
{
    request->client = CLIENT;
    request->client_hash = self->client_hash;
    self->asked = request->key;
    api_server_request(cluster_api(self->run->cluster), request, replied, NULL, self);
}

/* ---- CREATE ---- */

/* The name in a copy: "web" of copy 3 is "web-3". */
static const char *
numbered_name(const Performer *self, const char *name, unsigned copy)
{
    return strings_internf(performer_strings(self), "%s-%u", name, copy);
}

/* Whether the action itself creates an object of this name, so that references to it are numbered
 * too. */
static gboolean
creates(const Performer *self, ObjectKind kind, const char *name)
{
    for (unsigned i = 0; i < self->templates->len; i++) {
        const Object *object = self->templates->pdata[i];
        if (object_kind(object) == kind && g_str_equal(object_name(object), name))
            return TRUE;
    }
    return FALSE;
}

static void
number_claims_of_pod(const Performer *self, Pod *pod, unsigned copy)
{
    if (pod->volumes == NULL)
        return;

    g_autofree PodVolume *volumes = pod_volumes_copy_items(pod->volumes);
    for (unsigned i = 0; i < pod->volumes->n_items; i++) {
        if (volumes[i].ephemeral) /* the claim is named after the pod */
            volumes[i].claim_name = strings_internf(performer_strings(self), "%s-%s",
                                                    object_name(&pod->meta), volumes[i].name);
        else if (creates(self, KIND_CLAIM, volumes[i].claim_name))
            volumes[i].claim_name = numbered_name(self, volumes[i].claim_name, copy);
    }
    PodVolumes *numbered =
        pod_volumes_new_with_inline(volumes, pod->volumes->n_items, pod->volumes->n_inline);
    pod_volumes_unref(pod->volumes);
    pod->volumes = numbered;
}

/* Numbers the claim that a volume is reserved for. */
static void
number_claim_of_volume(const Performer *self, Volume *volume, unsigned copy)
{
    const ObjectKey *claim = volume->claim_ref.claim;

    if (claim != NULL && creates(self, KIND_CLAIM, claim->name))
        volume->claim_ref.claim = objects_key(self->run->objects, KIND_CLAIM, claim->namespace,
                                              numbered_name(self, claim->name, copy));
}

/* Numbers the volume that a claim names. */
static void
number_volume_of_claim(const Performer *self, Claim *claim, unsigned copy)
{
    if (claim->volume_name != NULL && creates(self, KIND_VOLUME, claim->volume_name))
        claim->volume_name = numbered_name(self, claim->volume_name, copy);
}

static Object *
copy_object(const Performer *self, const Object *template, unsigned copy)
{
    if (!self->action->numbered)
        return object_edit(template);

    ObjectKey *key = objects_key_like(self->run->objects, template->key, template->key->namespace,
                                      numbered_name(self, object_name(template), copy));
    Object *object = object_edit_as(template, key);
    if (object_kind(object) == KIND_POD)
        number_claims_of_pod(self, POD(object), copy);
    else if (object_kind(object) == KIND_VOLUME)
        number_claim_of_volume(self, VOLUME(object), copy);
    else if (object_kind(object) == KIND_CLAIM)
        number_volume_of_claim(self, CLAIM(object), copy);
    return object;
}

static void
performer_go_on(Sim *sim, void *data)
{
    (void)sim;
    perform_next(data);
}

static const SimEventType arrival_event = {
    .name = "workload/arrival",
    .fire = performer_go_on,
};

/* Arrivals follow a clock that runs faster or slower by the hour of the day. Returns: the time at
 * which it has moved on by @by. */
static SimTime
daily_time_after(const double *daily, SimTime from, SimTime by)
{
    double left = (double)by;

    for (SimTime at = from;;) {
        SimTime hour_ends = (at / SIM_HOUR + 1) * SIM_HOUR;
        double rate = daily[at / SIM_HOUR % 24];
        double room = (double)(hour_ends - at) * rate;
        if (room >= left)
            return at + (SimTime)(left / rate);
        left -= room;
        at = hour_ends;
    }
}

/* ---- Copies that go again ---- */

typedef struct {
    Performer *performer;
    unsigned copy;
} Lifetime;

static void
check_whether_over(Performer *self)
{
    self->is_over = self->has_arrived && self->n_ending == 0;
}

static void
copy_is_gone(void *data)
{
    Performer *self = data;

    self->n_ending--;
    check_whether_over(self);
}

static void
end_copy(Performer *self, unsigned copy)
{
    GPtrArray *keys = g_ptr_array_new();

    for (unsigned i = 0; i < self->templates->len; i++) {
        const Object *template = self->templates->pdata[i];
        g_ptr_array_add(keys, objects_key_like(self->run->objects, template->key,
                                               template->key->namespace,
                                               numbered_name(self, object_name(template), copy)));
    }
    lifetime_end(self->run, keys, self->client_hash, copy_is_gone, self);
}

static void
lifetime_is_over(Sim *sim, void *data)
{
    const Lifetime *lifetime = data;

    (void)sim;
    end_copy(lifetime->performer, lifetime->copy);
    g_free(data);
}

static const SimEventType lifetime_event = {
    .name = "workload/end of a copy",
    .fire = lifetime_is_over,
    .free_data = g_free,
};

/* The last object of a copy was created. */
static void
copy_is_made(Performer *self, unsigned copy)
{
    const ScenarioAction *action = self->action;

    self->n_copies++;
    if (action->lifetime != NULL) {
        Lifetime *lifetime = g_new(Lifetime, 1);
        *lifetime = (Lifetime){self, copy};
        SimTime length = sim_dist_draw(
            action->lifetime, sim_stream(self->run->sim, "workload/lifetime"), self->number, copy);
        self->n_ending++;
        sim_after(self->run->sim, MAX(length, 0), &lifetime_event, lifetime, WAIT_SCENARIO);
    } else if (action->keep > 0 && self->n_copies - self->oldest > action->keep) {
        self->n_ending++;
        end_copy(self, self->oldest++);
    }
}

/* Schedules the next copy after a drawn time. Returns: FALSE: it may arrive at once */
static gboolean
wait_for_arrival(Performer *self)
{
    const ScenarioAction *action = self->action;
    Sim *sim = self->run->sim;

    if (action->interarrival == NULL)
        return FALSE;
    SimTime delay = sim_dist_draw(action->interarrival, sim_stream(sim, "workload/interarrival"),
                                  self->number, self->copy);
    SimTime at = action->daily == NULL
                     ? sim_time_add(sim_now(sim), MAX(delay, 0))
                     : daily_time_after(action->daily, sim_now(sim), MAX(delay, 0));
    if (action->lasts_arriving >= 0 && at > action->at + action->lasts_arriving) {
        self->copy = action->count; /* too late: this copy and all later ones */
        return FALSE;
    }
    sim_at(sim, at, &arrival_event, self, WAIT_SCENARIO);
    return TRUE;
}

static void
read_templates(Performer *self)
{
    const ScenarioAction *action = self->action;

    for (unsigned k = self->templates->len; k < action->n_manifests; k++) {
        Object *object = world_parse(self->run, action->manifests[k]);
        if (object == NULL)
            return; /* the loader has checked it: a bug */
        g_ptr_array_add(self->templates, object);
    }
}

static void
create_next(Performer *self)
{
    read_templates(self);
    if (self->item == self->templates->len) {
        self->item = 0;
        copy_is_made(self, self->copy++);
        if (self->copy < self->action->count && wait_for_arrival(self))
            return;
    }
    if (self->copy >= self->action->count) {
        self->has_arrived = TRUE;
        check_whether_over(self);
        return;
    }
    self->sending = copy_object(self, self->templates->pdata[self->item++], self->copy);
    world_adopt_source(self->run, self->sending);
    if (object_kind(self->sending) == KIND_NODE) {
        const ObjectKey *key = self->sending->key;
        world_join_node(self->run, g_steal_pointer(&self->sending), NULL);
        const ApiResponse joined = {.code = API_OK,
                                    .object = api_server_get(cluster_api(self->run->cluster), key)};
        if (self->hand.answered != NULL)
            self->hand.answered(self->hand.data, key, &joined);
        perform_next(self);
        return;
    }
    send(self, &(ApiRequest){.verb = API_CREATE,
                             .key = (ObjectKey *)self->sending->key,
                             .object = self->sending});
}

/* ---- DELETE, PATCH, SCALE, EVICT, TAINT, CORDON, UNCORDON ---- */

/* Returns: NULL: it has none */
static const char *
volume_of_claim(const Performer *self, const char *name)
{
    const Object *claim = world_find(self->run, KIND_CLAIM, self->action->namespace, name);

    return claim == NULL ? NULL : CLAIM_CONST(claim)->volume_name;
}

/* Returns: NULL: no such object */
static const char *
target_name(const Performer *self)
{
    const ScenarioAction *action = self->action;

    if (action->node_of_pod != NULL)
        return run_node_of_pod(self->run, action->node_of_pod);
    return action->volume_of_claim != NULL ? volume_of_claim(self, action->volume_of_claim)
                                           : action->name;
}

/* Whether a key has the namespace, and is of the resource, that the action is about. */
static gboolean
is_of_action(const ScenarioAction *action, const ObjectKey *key, unsigned resource)
{
    gboolean namespaced = resource != 0 || kind_class(action->kind)->namespaced;

    return key->resource == resource &&
           (!namespaced ||
            strcmp(key->namespace, action->namespace != NULL ? action->namespace : "") == 0);
}

static gboolean
workload_is_wanted(const ScenarioAction *action, const Object *object)
{
    if (action->one && strpbrk(action->name, "*?") != NULL && object_is_deleted(object))
        return FALSE;
    return action->on_node == NULL || object_kind(object) != KIND_POD ||
           g_strcmp0(POD_CONST(object)->node_name, action->on_node) == 0;
}

static GPtrArray *
find_targets(const Performer *self)
{
    const ScenarioAction *action = self->action;
    const ApiServer *api = cluster_api(self->run->cluster);
    const char *name = target_name(self);
    GPtrArray *targets = g_ptr_array_new();

    if (name == NULL) {
        run_note_missing(self->run, action);
        return targets;
    }
    g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(name);
    unsigned resource =
        action->kind != KIND_OTHER
            ? 0
            : objects_resource(self->run->objects, action->other_group, action->other_kind, NULL);

    for (uint32_t slot = 0; slot < objects_n_keys(self->run->objects, action->kind); slot++) {
        ObjectKey *key = objects_key_at(self->run->objects, action->kind, slot);
        if (api_server_get(api, key) != NULL && is_of_action(action, key, resource) &&
            g_pattern_spec_match_string(pattern, key->name) &&
            workload_is_wanted(action, api_server_get(api, key)))
            g_ptr_array_add(targets, key);
        if (action->one && targets->len == 1)
            break;
    }
    if (targets->len == 0 && action->code != API_NOT_FOUND)
        run_note(self->run, action, "there is no %s like %s%s%s",
                 resource != 0 ? action->other_kind : kind_class(action->kind)->kind, name,
                 action->on_node != NULL ? " on node " : "",
                 action->on_node != NULL ? action->on_node : "");
    return targets;
}

static gboolean
set_replicas(Object *object, const void *arg)
{
    workload_scale(object, *(const int32_t *)arg);
    return TRUE;
}

/* Applies a merge patch to the object in JSON, and parses the result. */
static gboolean
merge_patch(Object *object, const void *data)
{
    const Performer *self = data;
    json_auto_t *patch = self->hand.edit != NULL ? self->hand.edit(self->hand.data, object)
                                                 : json_incref(self->action->patch);
    if (patch == NULL)
        return FALSE;
    json_auto_t *before = object_to_json_at(object, sim_start(self->run->sim));
    json_auto_t *merged = json_deep_copy(before);

    json_merge_patch(merged, patch);
    if (object_kind(object) == KIND_POD)
        service_account_mend(json_object_get(merged, "spec"), self->run->scenario->minor_version);
    json_auto_t *change = merge_patch_make(before, merged);
    if (json_object_size(change) == 0)
        return FALSE;
    g_autoptr(Object) parsed = world_parse(self->run, merged);
    if (parsed == NULL) {
        if (self->hand.answered == NULL)
            g_string_append_printf(self->refusal, "the patch of %s %s is refused: ",
                                   kind_class(object_kind(object))->kind, object_name(object));
        g_string_append(self->refusal, self->run->error->message);
        g_clear_error(&self->run->error); /* the run continues */
        return FALSE;
    }
    object_take_document(object, parsed);
    return TRUE;
}

static gboolean
workload_mark(Object *object, const void *data)
{
    const Performer *self = data;

    return node_mark(performer_strings(self), self->action, NODE(object), self->refusal);
}

static void
target_next(Performer *self)
{
    const ScenarioAction *action = self->action;

    if (self->targets == NULL)
        self->targets = find_targets(self);
    if (self->item >= self->targets->len) {
        self->is_over = TRUE;
        return;
    }
    ApiRequest request = {.verb = API_DELETE,
                          .key = self->targets->pdata[self->item++],
                          .grace_s = action->grace_s,
                          .propagation = action->propagation};
    if (action->type == ACTION_SCALE) {
        request.verb = API_PATCH;
        request.edit = set_replicas;
        request.arg = &action->replicas;
    } else if (action->type == ACTION_PATCH && action->subresource == SUBRESOURCE_BINDING) {
        request.verb = API_BIND;
        request.node_name = strings_intern(performer_strings(self),
                                           json_path_string(action->patch, "spec.nodeName"));
    } else if (action->type == ACTION_PATCH) {
        request.verb = action->subresource == SUBRESOURCE_STATUS ? API_PATCH_STATUS : API_PATCH;
        request.edit = merge_patch;
        request.arg = self;
    } else if (action->type == ACTION_EVICT) {
        request.verb = API_EVICT;
    } else if (action->type != ACTION_DELETE) {
        request.verb = API_PATCH;
        request.edit = workload_mark;
        request.arg = self;
    }
    send(self, &request);
}

/* ---- Others ---- */

static void
set_driver(Performer *self)
{
    CsiModelledDriver *driver =
        csi_modelled_driver_cast(cluster_find_driver(self->run->cluster, self->action->driver));
    CsiModelledOptions options = world_driver_options(self->run, self->action->driver_options);

    if (driver != NULL)
        csi_modelled_driver_set(driver, &options);
    csi_modelled_options_clear(&options);
}

static void
action_is_over(void *data)
{
    ((Performer *)data)->is_over = TRUE;
}

static void
perform_next(Performer *self)
{
    switch (self->action->type) {
    case ACTION_CREATE:
        create_next(self);
        return;
    case ACTION_DELETE:
    case ACTION_PATCH:
    case ACTION_SCALE:
    case ACTION_EVICT:
    case ACTION_TAINT:
    case ACTION_CORDON:
    case ACTION_UNCORDON:
        target_next(self);
        return;
    case ACTION_SET_DRIVER:
        set_driver(self);
        break;
    case ACTION_EXPAND:
        expand_begin(self->run, self->action);
        break;
    case ACTION_FAULT:
        fault_begin(self->run, self->action, action_is_over, self);
        return;
    case ACTION_DRAIN:
        drain_begin(self->run, self->action, action_is_over, self);
        return;
    }
    self->is_over = TRUE;
}

static const SimEventType action_event = {
    .name = "workload/action",
    .fire = performer_go_on,
};

static Performer *
add_performer(Run *self, const ScenarioAction *action, SimTime at, gboolean is_by_hand)
{
    Performer *performer = g_new0(Performer, 1);

    *performer = (Performer){.run = self, .action = action, .number = self->n_numbered};
    if (action->type != ACTION_FAULT)
        self->n_numbered++; /* a recorded session appends its actions to the workload */
    performer->client_hash = sim_hash_combine(sim_hash_string(CLIENT), performer->number);
    performer->refusal = g_string_new(NULL);
    performer->templates = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
    /* Actions of a session were not known in advance, so they are not read in advance. */
    if (performer->number < self->scenario->recorded_from && !is_by_hand)
        read_templates(performer);
    g_ptr_array_add(self->performers, performer);
    sim_at(self->sim, at, &action_event, performer, WAIT_SCENARIO);
    return performer;
}

void
workload_schedule(Run *self)
{
    const Scenario *scenario = self->scenario;

    self->drains = drains_new();
    for (unsigned i = 0; i < scenario->n_actions; i++)
        add_performer(self, &scenario->actions[i], scenario->actions[i].at, FALSE);
}

unsigned
run_perform(Run *self, const ScenarioAction *action, const RunHand *hand)
{
    sim_set_cause(self->sim, 0); /* the last event is not the cause of an action by hand */
    Performer *performer = add_performer(self, action, sim_now(self->sim), TRUE);

    self->is_acted_upon = TRUE;
    performer->hand = *hand;
    return self->performers->len - 1;
}

gboolean
run_has_performed(const Run *self, unsigned number)
{
    return ((const Performer *)self->performers->pdata[number])->is_over;
}

gboolean
workload_is_pending(const Run *self)
{
    for (unsigned i = 0; i < self->performers->len; i++)
        if (!((const Performer *)self->performers->pdata[i])->is_over)
            return TRUE;
    return FALSE;
}

void
workload_free(Run *self)
{
    for (unsigned i = 0; i < self->performers->len; i++) {
        Performer *performer = self->performers->pdata[i];
        g_ptr_array_unref(performer->templates);
        if (performer->targets != NULL)
            g_ptr_array_unref(performer->targets);
        object_unref(performer->sending);
        g_string_free(performer->refusal, TRUE);
        g_free(performer);
    }
    g_ptr_array_set_size(self->performers, 0);
    g_clear_pointer(&self->drains, g_ptr_array_unref);
}
