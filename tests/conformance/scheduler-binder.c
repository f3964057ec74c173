/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/scheduler-binder.h"
#include "tests/conformance/compare.h"

#include "models/api/fields.h"
#include "models/scheduler/scheduler-test.h"
#include "tests/conformance/scheduler-case.h"

/* All writes end in this time; only the wait for volumes takes longer. */
#define WRITES_TIME (SIM_SECOND / 2)

/* ---- Assume caches ---- */

/* A version that is no number is older than all as something to be assumed, newer than all as
 * something known. */
static void
set_version(Object *object, const json_t *manifest, uint64_t no_number)
{
    const char *text = json_path_string(manifest, "metadata.resourceVersion");
    char *end;

    object->resource_version = text == NULL ? 0 : g_ascii_strtoull(text, &end, 10);
    if (text != NULL && (*end != '\0' || end == text))
        object->resource_version = no_number;
}

static AssumeCache *
cache_of(const Case *self, const Object *object)
{
    VolumeBinder *binder = &scheduler_case(self)->binder;

    return object_kind(object) == KIND_CLAIM ? binder->claims : binder->volumes;
}

void
scheduler_binder_assume(Case *self)
{
    scheduler_case_new(self);
    Object *cached = case_object_of_manifest(self, case_get(self, "initial.cached"));
    Object *assumed = case_object_of_manifest(self, case_get(self, "initial.assumed"));

    set_version(cached, case_get(self, "initial.cached"), UINT64_MAX);
    set_version(assumed, case_get(self, "initial.assumed"), 0);
    case_import_object(self, cached, CASE_INFORMER);
    g_autofree char *why = assume_cache_assume(cache_of(self, assumed), assumed);
    if ((why == NULL) != case_flag(self, "expected.ok"))
        case_fail(self, "%s", why == NULL ? "assumed" : why);
    const Object *wanted =
        g_strcmp0(case_string(self, "expected.cache_returns"), "assumed") == 0 ? assumed : cached;
    if (assume_cache_get(cache_of(self, cached), cached->key) != wanted)
        case_fail(self, "the cache returns something else");
}

/* ---- AssumePodVolumes ---- */

/* initial.bindings and initial.provisions: what the node was found to offer. */
static GArray *
chosen_volumes(Case *self)
{
    GArray *choices = scheduler_case_choices_new();
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, "initial.bindings"), i, item) {
        const Object *claim = case_object(self, json_object_get(item, "claim"), KIND_CLAIM);
        const Object *volume = case_object(self, json_object_get(item, "volume"), KIND_VOLUME);
        VolumeChoice choice = {.claim = claim->key, .chosen = object_ref(volume)};
        g_array_append_val(choices, choice);
    }
    json_array_foreach(case_get(self, "initial.provisions"), i, item) {
        const Object *claim = case_object(self, item, KIND_CLAIM);
        VolumeChoice choice = {.claim = claim->key, .chosen = object_ref(claim)};
        g_array_append_val(choices, choice);
    }
    return choices;
}

static void
expect_same(Case *self, const json_t *expected, ObjectKind kind, const Object *found)
{
    const Object *object = case_object(self, expected, kind);
    json_t *wanted = case_comparable(self, object), *is = case_comparable(self, found);

    if (!object_uid_is_set(object->uid)) /* then it is ours */
        json_object_del(json_object_get(is, "metadata"), "uid");
    case_expect_json(self, found->key->text, wanted, is);
    json_decref(wanted);
    json_decref(is);
}

/* The choices as they are to be written, against {bindings, provisions} at @path. */
static void
expect_reserved(Case *self, const char *path, const GArray *choices, gboolean reserved)
{
    const json_t *expected = case_get(self, path);
    size_t n_static = json_array_size(json_object_get(expected, "bindings"));

    if (n_static + json_array_size(json_object_get(expected, "provisions")) != choices->len) {
        case_fail(self, "%u choices", choices->len);
        return;
    }
    for (unsigned i = 0; i < choices->len; i++) {
        const VolumeChoice *choice = &scheduler_case_choices(choices)[i];
        gboolean is_static = volume_choice_is_static(choice);
        const json_t *item =
            is_static
                ? json_path_get(json_array_get(json_object_get(expected, "bindings"), i), "volume")
                : json_array_get(json_object_get(expected, "provisions"), i - n_static);
        expect_same(self, item, is_static ? KIND_VOLUME : KIND_CLAIM,
                    reserved ? choice->assumed : choice->chosen);
    }
}

/* Whether the caches return what was there first. */
static gboolean
nothing_is_assumed(const Case *self, const GArray *choices)
{
    for (unsigned i = 0; i < choices->len; i++) {
        const Object *chosen = scheduler_case_choices(choices)[i].chosen;
        AssumeCache *cache = cache_of(self, chosen);
        if (assume_cache_get(cache, chosen->key) != assume_cache_api(cache, chosen->key))
            return FALSE;
    }
    return TRUE;
}

static gboolean
all_claims_are_bound(Case *self)
{
    const char *namespace = case_string(self, "initial.pod.namespace");
    const json_t *name;
    size_t i;

    json_array_foreach(case_get(self, "initial.pod.claims"), i, name) {
        const ObjectKey *key =
            objects_key(self->objects, KIND_CLAIM, namespace, json_string_value(name));
        const Object *claim = assume_cache_get(scheduler_case(self)->binder.claims, key);
        if (claim == NULL || !claim_is_fully_bound(CLAIM_CONST(claim)))
            return FALSE;
    }
    return TRUE;
}

void
scheduler_binder_reserve(Case *self)
{
    Scheduler *scheduler = scheduler_case_new(self);
    scheduler_case_seed(self);
    g_autoptr(GArray) choices = chosen_volumes(self);
    g_autofree char *why = volume_binder_reserve(
        &scheduler->binder, scheduler_case_choices(choices), choices->len,
        strings_intern(objects_strings(self->objects), case_string(self, "initial.node")));

    if ((why != NULL) != case_flag(self, "expected.error"))
        case_fail(self, "%s", why == NULL ? "did not fail" : why);
    if (all_claims_are_bound(self) != case_flag(self, "expected.all_bound"))
        case_fail(self, "all_bound");
    expect_reserved(self, "expected", choices, why == NULL);
    if (case_flag(self, "expected.cache_unchanged") && !nothing_is_assumed(self, choices))
        case_fail(self, "something is still assumed");
}

void
scheduler_binder_reserve_and_back(Case *self)
{
    Scheduler *scheduler = scheduler_case_new(self);
    scheduler_case_seed(self);
    g_autoptr(GArray) choices = chosen_volumes(self);
    g_autofree char *why = volume_binder_reserve(
        &scheduler->binder, scheduler_case_choices(choices), choices->len,
        strings_intern(objects_strings(self->objects), case_string(self, "initial.node")));

    expect_reserved(self, "expected.after_assume", choices, why == NULL);
    volume_binder_unreserve(&scheduler->binder, scheduler_case_choices(choices), choices->len);
    if (!nothing_is_assumed(self, choices))
        case_fail(self, "something is still assumed");
}

/* ---- Writes ---- */

static const json_t *
find_manifest(const json_t *list, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        if (g_strcmp0(json_path_string(item, "metadata.name"), name) == 0)
            return item;
    return NULL;
}

static int64_t
version_in(const json_t *manifest)
{
    const char *text = json_path_string(manifest, "metadata.resourceVersion");

    return text == NULL ? 0 : g_ascii_strtoll(text, NULL, 10);
}

/* The API server gives its own versions: @object becomes as much older or newer than what is stored
 * as the case has it. */
static void
shift_version(Case *self, Object *object, const json_t *manifest, const char *stored_path)
{
    const Object *stored = api_server_get(self->api, object->key);
    const json_t *stored_manifest = find_manifest(case_get(self, stored_path), object->key->name);

    if (stored != NULL)
        object->resource_version = (uint64_t)((int64_t)stored->resource_version +
                                              version_in(manifest) - version_in(stored_manifest));
}

/* What has been reserved, and is to be written. @volumes, @claims: paths of what is stored */
static GArray *
reserved_volumes(Case *self, const char *volumes, const char *claims)
{
    GArray *choices = chosen_volumes(self);
    size_t n_static = json_array_size(case_get(self, "initial.bindings"));

    for (unsigned i = 0; i < choices->len; i++) {
        VolumeChoice *choice = &scheduler_case_choices(choices)[i];
        const json_t *manifest =
            i < n_static
                ? json_path_get(json_array_get(case_get(self, "initial.bindings"), i), "volume")
                : json_array_get(case_get(self, "initial.provisions"), i - n_static);
        Object *assumed = object_edit(choice->chosen);
        shift_version(self, assumed, manifest, i < n_static ? volumes : claims);
        choice->assumed = assumed;
        choice->written_version = assumed->resource_version;
    }
    return choices;
}

/* Nobody reserved anything for the pod, so there is nothing that PreBind could do. */
static gboolean
was_reserved(const Case *self)
{
    return json_is_array(case_get(self, "initial.bindings")) &&
           json_is_array(case_get(self, "initial.provisions"));
}

/* Starts the binding cycle of @pod; takes the choices. */
static void
start_binding(Case *self, const Pod *pod, const char *node_name, GArray *choices)
{
    Scheduler *scheduler = scheduler_case(self);
    Attempt *attempt = attempt_new(pod, queued_pod_new(pod, sim_now(self->sim)));
    PlanStart start = {
        .component = &scheduler->base,
        .decide = scheduler_decide_bind_volumes,
        .key = (ObjectKey *)pod->meta.key,
        .operation = attempt,
        .free_operation = attempt_free,
    };

    attempt->node_name = strings_intern(objects_strings(self->objects), node_name);
    for (unsigned i = 0; i < choices->len; i++) {
        VolumeChoice choice = scheduler_case_choices(choices)[i];
        g_free(assume_cache_assume(cache_of(self, choice.assumed),
                                   choice.assumed)); /* a refusal shows later */
        object_ref(choice.chosen);
        object_ref(choice.assumed);
        choice.written_version = 0;
        g_array_append_val(attempt->choices, choice);
    }
    scheduler_cache_add_pod(scheduler->cache, pod, attempt->node_name, attempt);
    attempt->plan = plan_start(&start);
}

static gboolean
scheduler_binder_has_failed(const Case *self)
{
    const json_t *event;
    size_t i;

    json_array_foreach(self->events, i, event)
        if (g_strcmp0(json_path_string(event, "reason"), "FailedScheduling") == 0)
            return TRUE;
    return FALSE;
}

static void
expect_failure(Case *self, gboolean failed)
{
    if (failed != case_flag(self, "expected.error"))
        case_fail(self, failed ? "failed" : "did not fail");
}

/* Returns: (owned): a volume of each claim of the case */
static json_t *
volumes_of_claims(Case *self)
{
    json_t *volumes = json_array();
    const json_t *claim;
    size_t i;

    json_array_foreach(case_get(self, "initial.claims"), i, claim) {
        const char *name = json_path_string(claim, "metadata.name");
        json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", name,
                                                 "persistentVolumeClaim", "claimName", name));
    }
    return volumes;
}

/* @manifest: {name, namespace}. Its scheduler is another one, so that ours does nothing by itself.
 */
static const Pod *
binding_pod(Case *self, const json_t *manifest)
{
    const char *name = json_path_string(manifest, "name");
    const char *namespace = json_path_string(manifest, "namespace");
    json_t *full = json_pack("{s:{s:s, s:s}, s:{s:s, s:o}}", "metadata", "name",
                             name == NULL ? "test-pod" : name, "namespace",
                             namespace == NULL ? "testns" : namespace, "spec", "schedulerName",
                             "none", "volumes", volumes_of_claims(self));
    const Pod *pod = POD_CONST(case_object(self, full, KIND_POD));

    json_decref(full);
    return pod;
}

/* Cached objects stand beside those in the API, as much older as the case says. */
static void
import_cached(Case *self, const char *cached, const char *stored, ObjectKind kind)
{
    const json_t *manifest;
    size_t i;

    case_import(self, stored, kind, CASE_API);
    json_array_foreach(case_get(self, cached), i, manifest) {
        Object *object = case_object(self, manifest, kind);
        shift_version(self, object, manifest, stored);
        case_import_object(self, object, CASE_INFORMER);
    }
}

static void
expect_cached(Case *self, const char *path, ObjectKind kind)
{
    const json_t *manifest;
    size_t i;

    json_array_foreach(case_get(self, path), i, manifest) {
        const Object *object = case_object(self, manifest, kind);
        const Object *found = assume_cache_get(cache_of(self, object), object->key);
        if (found == NULL)
            case_fail(self, "%s is not cached", object->key->text);
        else
            expect_same(self, manifest, kind, found);
    }
}

void
scheduler_binder_write(Case *self)
{
    scheduler_case_new(self);
    if (!was_reserved(self)) {
        expect_failure(self, TRUE);
        return;
    }
    import_cached(self, "initial.cached_volumes", "initial.api_volumes", KIND_VOLUME);
    import_cached(self, "initial.cached_claims", "initial.api_claims", KIND_CLAIM);
    g_autoptr(GArray) choices = reserved_volumes(self, "initial.api_volumes", "initial.api_claims");
    const Pod *pod = binding_pod(self, NULL);
    case_import_object(self, (Object *)&pod->meta, CASE_API);
    start_binding(self, POD_CONST(api_server_get(self->api, pod->meta.key)), "node1", choices);
    case_wait(self, WRITES_TIME);
    expect_failure(self, scheduler_binder_has_failed(self));
    case_expect_objects(self, "expected.api_volumes", KIND_VOLUME);
    case_expect_objects(self, "expected.api_claims", KIND_CLAIM);
    /* The watch tells what was written. */
    for (unsigned i = 0; i < self->changed->len; i++) {
        const Object *written = api_server_get(self->api, self->changed->pdata[i]);
        if (object_kind(written) == KIND_VOLUME || object_kind(written) == KIND_CLAIM)
            scheduler_case_observe(self, written);
    }
    expect_cached(self, "expected.cached_volumes", KIND_VOLUME);
    expect_cached(self, "expected.cached_claims", KIND_CLAIM);
}

/* ---- The wait ---- */

static void
set_bind_timeout(Case *self, const ProcessClass *class, void *process_options)
{
    KubeSchedulerOptions *options = process_options;
    const json_t *timeout = case_get(self, "initial.bind_timeout_s");

    (void)class;
    if (timeout != NULL)
        options->bind_timeout_s = (int32_t)json_integer_value(timeout);
}

static const WorldOptions live_world = {
    .only = &scheduler_class,
    .live = TRUE,
    .set_options = set_bind_timeout,
};

/* A running scheduler that sees all that the API has. Returns: (borrowed): the pod */
static const Pod *
start_live(Case *self)
{
    case_world_new(self, &live_world);
    case_import(self, "storage_classes", KIND_STORAGE_CLASS, CASE_API);
    case_import(self, "initial.nodes", KIND_NODE, CASE_API);
    case_import(self, "initial.csi_nodes", KIND_CSI_NODE, CASE_API);
    case_import(self, "initial.volumes", KIND_VOLUME, CASE_API);
    case_import(self, "initial.claims", KIND_CLAIM, CASE_API);
    const Pod *pod = binding_pod(self, case_get(self, "initial.pod"));
    case_import_object(self, (Object *)&pod->meta, CASE_API);
    case_start(self, &live_world);
    case_wait(self, SIM_MS);
    return POD_CONST(api_server_get(self->api, pod->meta.key));
}

static void
import_list(Case *self, const char *path, ObjectKind kind)
{
    case_import(self, path, kind, CASE_API);
}

static void
delete_object(Case *self, const ObjectKey *key)
{
    ApiRequest request = {
        .verb = API_DELETE, .key = (ObjectKey *)key, .grace_s = 0, .client = "somebody"};
    ApiResponse response;

    api_server_commit(self->api, &request, &response);
}

static void
delete_all(Case *self, const char *path, ObjectKind kind)
{
    g_autoptr(GPtrArray) objects = case_objects(self, path, kind);

    for (unsigned i = 0; i < objects->len; i++)
        delete_object(self, ((const Object *)objects->pdata[i])->key);
}

void
scheduler_binder_check(Case *self)
{
    g_autofree char *why = NULL;

    if (!was_reserved(self)) {
        case_world_new(self, &live_world);
        expect_failure(self, TRUE);
        return;
    }
    const Pod *pod = start_live(self);
    g_autoptr(GArray) choices = reserved_volumes(self, "initial.volumes", "initial.claims");
    import_list(self, "initial.then_updated_volumes", KIND_VOLUME);
    import_list(self, "initial.then_updated_claims", KIND_CLAIM);
    if (case_flag(self, "initial.then_delete_volumes"))
        delete_all(self, "initial.volumes", KIND_VOLUME);
    if (case_flag(self, "initial.then_delete_claims"))
        delete_all(self, "initial.claims", KIND_CLAIM);
    case_wait(self, SIM_MS);
    BindingState state =
        volume_binder_check(&scheduler_case(self)->binder, scheduler_case_choices(choices),
                            choices->len, pod->meta.key, "node1", &why);
    expect_failure(self, state == BINDING_FAILED);
    if ((state == BINDING_DONE) != case_flag(self, "expected.bound"))
        case_fail(self, "bound: found %s", state == BINDING_DONE ? "true" : "false");
}

/* Ends the binding of a claim, as the PV controller does. */
static void
scheduler_binder_bind_claim(Case *self, const ObjectKey *claim, const char *volume)
{
    Strings *strings = objects_strings(self->objects);
    g_autoptr(Object) bound = object_edit(api_server_get(self->api, claim));
    ApiRequest request = {
        .verb = API_UPDATE, .key = (ObjectKey *)claim, .object = bound, .client = "somebody"};
    ApiResponse response;

    CLAIM(bound)->volume_name = strings_intern(strings, volume);
    object_set_annotation(bound, strings_intern(strings, ANNOTATION_BIND_COMPLETED),
                          strings_intern(strings, "yes"));
    api_server_commit(self->api, &request, &response);
}

/* Of the volume that was reserved for the claim; NULL: none was */
static const char *
reserved_volume(const Case *self, const ObjectKey *claim)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, "initial.bindings"), i, item)
        if (g_strcmp0(json_path_string(item, "claim.metadata.name"), claim->name) == 0)
            return json_path_string(item, "volume.metadata.name");
    return NULL;
}

/* What a provisioner makes, for "create volume NAME (SIZE, LABEL affinity, claimRef to the claim)":
 * it is reached from the pod's node. */
static void
create_volume(Case *self, const char *name, const char *size, const Claim *claim)
{
    const char *label = json_path_string(case_get(self, "initial"), "pod.node");
    json_t *manifest =
        json_pack("{s:{s:s}, s:{s:{s:s}, s:s, s:{s:s, s:s}, s:{s:{s:[{s:[{s:s, s:s, s:[s]}]}]}}}}",
                  "metadata", "name", name, "spec", "capacity", "storage", size, "storageClassName",
                  claim_class(claim), "claimRef", "name", claim->meta.key->name, "namespace",
                  claim->meta.key->namespace, "nodeAffinity", "required", "nodeSelectorTerms",
                  "matchExpressions", "key", "nodeKey", "operator", "In", "values", label);
    Volume *volume = VOLUME(case_object(self, manifest, KIND_VOLUME));

    volume->claim_ref.uid = claim->meta.uid;
    case_import_object(self, &volume->meta, CASE_API);
    json_decref(manifest);
}

/* The sentences about claims, for each claim: the volume is told, was reserved, or is made first.
 */
static gboolean
bind_claims(Case *self, const char *op)
{
    static const char *const forms[] = {
        "^bind the claim to volume (?<volume>[^ ]+)",
        "^set spec.volumeName and the bind-completed annotation on the claim$",
        "^create volume (?<volume>[^ ]+) \\((?<size>\\w+), \\w+ affinity, claimRef to the claim\\) "
        "and "
        "set spec.volumeName and bind-completed on the claim$",
    };
    g_autoptr(GPtrArray) claims = case_objects(self, "initial.claims", KIND_CLAIM);

    for (unsigned i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autoptr(GRegex) regex = g_regex_new(forms[i], 0, 0, NULL);
        g_autoptr(GMatchInfo) info = NULL;
        if (!g_regex_match(regex, op, 0, &info))
            continue;
        g_autofree char *volume = g_match_info_fetch_named(info, "volume");
        g_autofree char *size = g_match_info_fetch_named(info, "size");
        for (unsigned k = 0; k < claims->len; k++) {
            const ObjectKey *key = ((const Object *)claims->pdata[k])->key;
            const Object *stored = api_server_get(self->api, key);
            if (stored == NULL) {
                case_fail(self, "%s is gone", key->text);
                continue;
            }
            if (size != NULL)
                create_volume(self, volume, size, CLAIM_CONST(stored));
            scheduler_binder_bind_claim(self, key,
                                        volume != NULL ? volume : reserved_volume(self, key));
        }
        return TRUE;
    }
    return FALSE;
}

static void
change_later(Case *self, const char *op, const ObjectKey *pod_key)
{
    if (bind_claims(self, op))
        return;
    if (g_str_has_prefix(op, "delete the claim"))
        delete_all(self, "initial.claims", KIND_CLAIM);
    else if (g_str_has_prefix(op, "delete the volume"))
        delete_all(self, "initial.volumes", KIND_VOLUME);
    else if (g_str_has_prefix(op, "delete the node"))
        delete_all(self, "initial.nodes", KIND_NODE);
    else if (g_str_has_prefix(op, "delete the pod"))
        delete_object(self, pod_key);
    else
        case_fail(self, "unknown change: %s", op);
}

static void
import_changed(Case *self, const char *path, ObjectKind kind)
{
    const json_t *manifest = case_get(self, path);

    if (manifest != NULL)
        case_import_object(self, case_object(self, manifest, kind), CASE_API);
}

void
scheduler_binder_bind(Case *self)
{
    const json_t *item;
    SimTime passed = 0;
    size_t i;

    if (!was_reserved(self)) {
        case_world_new(self, &live_world);
        expect_failure(self, TRUE);
        return;
    }
    const Pod *pod = start_live(self);
    const ObjectKey *pod_key = pod->meta.key; /* it may go */
    g_autoptr(GArray) choices = reserved_volumes(self, "initial.volumes", "initial.claims");
    const char *node_name = case_string(self, "initial.pod.node");
    import_changed(self, "initial.api_volume_before_bind", KIND_VOLUME);
    import_changed(self, "initial.api_claim_before_bind", KIND_CLAIM);
    start_binding(self, pod, node_name, choices);
    json_array_foreach(case_get(self, "initial.later"), i, item) {
        SimTime after = (SimTime)json_integer_value(json_object_get(item, "after_s")) * SIM_SECOND;
        case_wait(self, after - passed);
        passed = after;
        change_later(self, json_path_string(item, "op"), pod_key);
    }
    case_wait(self, 20 * SIM_SECOND);
    expect_failure(self, scheduler_binder_has_failed(self));
    const Object *stored = api_server_get(self->api, pod_key);
    if (!scheduler_binder_has_failed(self) &&
        (stored == NULL || POD_CONST(stored)->node_name == NULL))
        case_fail(self, "the pod was not bound");
}
