/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/csi-plugin/csi-plugin-case.h"

#include "models/api/fields.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/volume-manager/volume-manager.h"

#include <stdlib.h>
#include <string.h>

/* Volumes of calls, the calls themselves, and what comes of them. */

/* ---- Specs ---- */

const json_t *
csi_spec_persistent(const json_t *spec)
{
    return json_path_get(spec, "volume") == NULL ? json_path_get(spec, "persistent_volume") : NULL;
}

const json_t *
csi_spec_inline(const json_t *spec)
{
    return json_path_get(spec, "persistent_volume") == NULL ? json_path_get(spec, "volume") : NULL;
}

const CsiDriverObject *
csi_world_driver(const CsiWorld *world, const char *name)
{
    return (const CsiDriverObject *)informer_find(world->kubelet->drivers, NULL, name);
}

/* A pod with this volume. The tests' pods come without what the API server sets. Returns: (owned)
 */
static json_t *
pod_json(const json_t *pod, const json_t *spec, const json_t *args, gboolean block)
{
    json_t *json = pod == NULL ? json_object() : json_deep_copy(pod);
    const json_t *inline_volume = csi_spec_inline(spec);
    const char *volume_name =
        inline_volume == NULL ? "claim" : json_path_string(inline_volume, "name");
    const char *const groups[] = {"mounter_args.fs_group", "device_mounter_args.fs_group",
                                  "fs_group"};
    json_t *pod_spec = json_object_get(json, "spec");

    if (pod_spec == NULL) {
        pod_spec = json_object();
        json_object_set_new(json, "spec", pod_spec);
    }
    if (json_object_get(json, "metadata") == NULL)
        json_object_set_new(json, "metadata", json_object());
    if (json_path_get(json, "metadata.name") == NULL)
        json_object_set_new(json_object_get(json, "metadata"), "name", json_string("test-pod"));
    if (json_object_get(pod_spec, "serviceAccountName") == NULL)
        json_object_set_new(pod_spec, "serviceAccountName", json_string(""));
    for (unsigned i = 0; i < G_N_ELEMENTS(groups); i++) {
        const json_t *group = json_path_get(args, groups[i]);
        if (group != NULL)
            json_object_set_new(pod_spec, "securityContext", json_pack("{s:O}", "fsGroup", group));
    }
    json_object_set_new(pod_spec, "volumes",
                        inline_volume != NULL
                            ? json_pack("[O]", inline_volume)
                            : json_pack("[{s:s, s:{s:s}}]", "name", volume_name,
                                        "persistentVolumeClaim", "claimName", volume_name));
    json_object_set_new(pod_spec, "containers",
                        json_pack("[{s:s, s:[{s:s}]}]", "name", "c",
                                  block ? "volumeDevices" : "volumeMounts", "name", volume_name));
    return json;
}

static const Volume *
persistent_volume(CsiWorld *world, const json_t *manifest, gboolean block)
{
    json_t *json = json_deep_copy(manifest);

    if (block && json_object_get(json, "spec") != NULL)
        json_object_set_new(json_object_get(json, "spec"), "volumeMode", json_string("Block"));
    const Volume *volume = VOLUME_CONST(case_object(world->self, json, KIND_VOLUME));
    json_decref(json);
    return volume->source != NULL && volume->source->driver != NULL ? volume : NULL;
}

const Volume *
csi_world_volume(CsiWorld *world, const json_t *spec, const json_t *pod, gboolean block)
{
    if (csi_spec_persistent(spec) != NULL)
        return persistent_volume(world, csi_spec_persistent(spec), block);
    if (csi_spec_inline(spec) == NULL)
        return NULL;
    json_t *json = pod_json(pod, spec, NULL, block);
    const Object *object = case_object(world->self, json, KIND_POD);
    json_decref(json);
    const PodVolumes *volumes = POD_CONST(object)->volumes;
    if (volumes == NULL || volumes->n_inline == 0)
        return NULL;
    Object *volume = csi_spec_inline_volume(&world->kubelet->base, object, &volumes->items[0]);
    g_ptr_array_add(world->self->owned, volume);
    return VOLUME_CONST(volume);
}

/* ---- A mount in a pod ---- */

static PodWorker *
find_worker(CsiWorld *world, const Object *pod)
{
    for (unsigned i = 0; i < world->kubelet->workers->len; i++) {
        PodWorker *worker = world->kubelet->workers->pdata[i];
        if (object_uid_equal(worker->uid, pod->uid))
            return worker;
    }
    return pod_worker_rebuild(world->kubelet, pod);
}

CsiTry *
csi_try_new(CsiWorld *world, const json_t *on, const json_t *args, gboolean block)
{
    const json_t *spec = json_path_get(on, "spec"), *pod = json_path_get(on, "pod");
    const Volume *volume = csi_world_volume(world, spec, pod, block);

    if (volume == NULL)
        return NULL;
    json_t *json = pod_json(pod, spec, args, block);
    PodWorker *worker = find_worker(world, case_object(world->self, json, KIND_POD));
    json_decref(json);
    if (worker->n_mounts != 1) {
        case_fail(world->self, "a pod with %u mounts", worker->n_mounts);
        return NULL;
    }
    PodMount *mount = &worker->mounts[0];
    NodeVolume *node_volume = volume_manager_add(world->kubelet, &volume->meta, mount);
    if (mount->volume == NULL)
        node_volume_link_mount(node_volume, mount);
    if (json_is_true(json_path_get(on, "read_only")))
        ((PodVolume *)mount->spec)->read_only = TRUE; /* the pod is this case's own */
    csi_steps_prepare_mount(world->kubelet, node_volume, mount);
    CsiTry *try = g_new0(CsiTry, 1);
    try->operation = (PendingOperation){
        .volume = node_volume, .target = mount, .doing = OPERATION_MOUNT, .running = TRUE};
    return try;
}

static void
function_ended(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    CsiTry *try = (CsiTry *)plan_operation(plan);

    (void)self;
    try->result = *result;
}

static void
decide_begin(const void *self, Plan *plan)
{
    const CsiTry *try = plan_operation(plan);

    if (try->begin != NULL)
        try->begin(self, plan, function_ended);
    else
        csi_mounter_expand(self, plan, try->bytes, function_ended);
}

gboolean
csi_world_run(CsiWorld *world, Component *component, PlanDecide decide, void *operation)
{
    PlanStart start = {
        .component = component,
        .decide = decide,
        .key = world->kubelet->node_key,
        .operation = operation,
    };

    case_run_start(world->self, &start);
    return !world->self->plan_failed;
}

const char *
csi_try_run(CsiWorld *world,
            CsiTry *try,
            void (*begin)(const Kubelet *self, Plan *plan, CsiPluginThen then))
{
    try->begin = begin;
    try->result = (CsiPluginResult){.end = CSI_PLUGIN_FAILED};
    csi_world_run(world, &world->kubelet->base, decide_begin, try);
    switch (try->result.end) {
    case CSI_PLUGIN_DONE:
        return NULL;
    case CSI_PLUGIN_FAILED:
        return "plain";
    case CSI_PLUGIN_TRANSIENT:
        return "transient";
    case CSI_PLUGIN_UNCERTAIN:
        return "uncertain";
    case CSI_PLUGIN_UNSUPPORTED:
        return "not supported";
    }
    g_assert_not_reached();
}

/* ---- Outcomes ---- */

void
csi_outcome_decide(CsiOutcome *outcome, const char *name, json_t *value)
{
    if (outcome->decisions == NULL)
        outcome->decisions = json_object();
    json_object_set_new(outcome->decisions, name, value);
}

void
csi_outcome_save(CsiOutcome *outcome, const char *dir, const StringMap *data)
{
    if (outcome->saved == NULL)
        outcome->saved = json_array();
    json_array_append_new(outcome->saved,
                          json_pack("{s:s, s:s, s:o}", "dir", dir, "file", "vol_data.json", "data",
                                    script_map_json(data)));
}

static void
expect_error(CsiWorld *world, const char *call, const json_t *expected, const char *error)
{
    const json_t *wanted = json_object_get(expected, "error");
    const char *kind = json_is_true(wanted) ? "plain" : json_string_value(wanted);

    if (wanted != NULL && g_strcmp0(kind, error) != 0)
        case_fail(world->self, "%s: expected the error %s, found %s", call,
                  kind == NULL ? "(none)" : kind, error == NULL ? "(none)" : error);
}

/* What the model's functions decide; the case lists what the original has asked for. */
static void
expect_decisions(CsiWorld *world, const char *call, const json_t *expected, const json_t *found)
{
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(expected, "decisions"), name, value) {
        json_t *own = json_object_get(found, name);
        if (own == NULL)
            case_fail(world->self, "%s: no decision \"%s\"", call, name);
        else if (!json_equal(own, value)) {
            char *a = case_json_text(value), *b = case_json_text(own);
            case_fail(world->self, "%s: %s is %s, not %s", call, name, b, a);
            free(a);
            free(b);
        }
    }
}

/* The requests that count: writes, or reads of Secrets. Returns: (owned) */
static json_t *
requests(const CsiWorld *world, gboolean writes)
{
    json_t *list = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(world->self->writes, i, item) {
        const char *verb = json_path_string(item, "verb");
        const char *resource = json_path_string(item, "resource");
        gboolean reads = g_str_equal(verb, "get") || g_str_equal(verb, "list");
        if (writes ? reads || g_str_equal(resource, "events")
                   : !reads || !g_str_equal(resource, "secrets"))
            continue;
        json_t *request =
            json_pack("{s:s, s:O}", "resource", resource, "name", json_object_get(item, "name"));
        if (writes)
            json_object_set_new(request, "verb", json_string(verb));
        else
            json_object_set(request, "namespace", json_object_get(item, "namespace"));
        if (json_object_get(item, "subresource") != NULL)
            json_object_set(request, "subresource", json_object_get(item, "subresource"));
        json_array_append_new(list, request);
    }
    return list;
}

static void
expect_requests(CsiWorld *world, const json_t *expected, const char *name, gboolean writes)
{
    static const char *const keys[] = {"resource", "name", "verb", "namespace", "subresource"};
    json_t *wanted = json_array(), *found = requests(world, writes);
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(expected, name), i, item) {
        json_t *request = json_object();
        for (unsigned k = 0; k < G_N_ELEMENTS(keys); k++)
            if (json_object_get(item, keys[k]) != NULL)
                json_object_set(request, keys[k], json_object_get(item, keys[k]));
        json_array_append_new(wanted, request);
    }
    case_expect_json(world->self, name, wanted, found);
    json_decref(wanted);
    json_decref(found);
}

/* A fake token's time is not compared: the recorded tests' clock stands still. */
static void
drop_times(json_t *calls)
{
    static const char key[] = "csi.storage.k8s.io/serviceAccount.tokens";
    json_t *call;
    size_t i;

    json_array_foreach(calls, i, call) {
        json_t *context = json_object_get(json_object_get(call, "request"), "volume_context");
        json_t *tokens = json_loads(json_path_string(context, key) == NULL
                                        ? ""
                                        : json_string_value(json_object_get(context, key)),
                                    0, NULL);
        const char *audience;
        json_t *token;
        json_object_foreach(tokens, audience, token)
            json_object_del(token, "expirationTimestamp");
        if (tokens != NULL)
            json_object_set_new(context, key, tokens);
    }
}

static void
try_expect_calls(CsiWorld *world, const json_t *expected)
{
    json_t *wanted = json_object_get(expected, "csi_calls") == NULL
                         ? json_array()
                         : json_deep_copy(json_object_get(expected, "csi_calls"));

    drop_times(wanted);
    drop_times(world->calls);
    case_expect_json(world->self, "csi_calls", wanted, world->calls);
    json_decref(wanted);
}

void
csi_outcome_expect(CsiWorld *world, const char *call, const json_t *expected, CsiOutcome *outcome)
{
    const json_t *returns = json_object_get(expected, "returns");
    json_t *saved = json_object_get(expected, "saved_data");

    expect_error(world, call, expected, outcome->error);
    if (returns != NULL)
        case_expect_json(world->self, call, returns, outcome->returns);
    expect_decisions(world, call, expected, outcome->decisions);
    try_expect_calls(world, expected);
    expect_requests(world, expected, "api_writes", TRUE);
    expect_requests(world, expected, "secret_reads", FALSE);
    if (json_is_object(saved))
        saved = json_pack("[O]", saved);
    else
        saved = saved == NULL ? json_array() : json_incref(saved);
    json_t *none = json_array();
    case_expect_json(world->self, "saved_data", saved,
                     outcome->saved == NULL ? none : outcome->saved);
    json_decref(none);
    json_decref(saved);
    json_decref(outcome->returns);
    json_decref(outcome->decisions);
    json_decref(outcome->saved);
    *outcome = (CsiOutcome){0};
    json_array_clear(world->calls);
    case_forget(world->self);
}
