/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/attach-detach-controller/attach-detach-controller.h"
#include "models/attach-detach-controller/controller.h"
#include "models/expand-controller/expand-controller.h"
#include "models/expand-controller/expand-private.h"
#include "models/kubelet/kubelet-test.h"
#include "models/kubelet/kubelet.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/runtime/runtime.h"
#include "models/kubelet/volume-manager/operation-executor.h"
#include "models/volume/resize-status.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/script-driver.h"
#include "tests/conformance/stories/story.h"

#include <string.h>

/* What several components do with volumes: keyed operations, which of them may run together,
 * expansion on the node, the marks of expansion in claims, default classes, mount options. */

#define DRIVER "csi.test"
#define NODE_NAME "node-1"

static void
expect_flag(Case *self, const char *path, gboolean found)
{
    if (case_get(self, path) != NULL && case_flag(self, path) != found)
        case_fail(self, "%s: %s", path, found ? "true" : "false");
}

static void
suite_volume_operations_expect_text(Case *self, const char *path, const char *found)
{
    const char *expected = case_string(self, path);

    if (expected != NULL && g_strcmp0(expected, found == NULL ? "" : found) != 0)
        case_fail(self, "%s: %s", path, found);
}

static const char *
word(const Case *self, const char *text)
{
    return strings_intern(objects_strings(self->objects), text);
}

/* ---- Operations that are keyed ---- */

/* One that runs as long as nobody ends it. */
static void
decide_to_go_on(const void *self, Plan *plan)
{
    (void)self;
    plan_wait(plan, SIM_MINUTE, WAIT_POLL);
}

static OperationAnswer
suite_volume_operations_start(Operations *operations,
                              AttachDetachController *controller,
                              OperationKey key)
{
    return operations_start(
        operations, key,
        &(PlanStart){.component = &controller->base,
                     .decide = decide_to_go_on,
                     .key = objects_key(controller->base.objects, KIND_NODE, NULL, "*"),
                     .kind = "test"});
}

static AttachDetachController *
controller_start(Case *self)
{
    static const WorldOptions options = {.only = &attach_detach_controller_class};

    case_world_new(self, &options);
    case_start(self, &options);
    return case_model(self, &attach_detach_controller_class);
}

/* "... with key: volume+pod (names), ..." */
static OperationKey
suite_volume_operations_key_of(Case *self, const json_t *step)
{
    static const char mark[] = "with key: ";
    const char *text = json_is_string(step) ? strstr(json_string_value(step), mark) : NULL;
    OperationKey key = {0};

    if (text == NULL) {
        case_fail(self, "no key: %s", json_string_value(step));
        return key;
    }
    text += strlen(mark);
    if (g_str_has_prefix(text, "no key"))
        return key;
    g_autofree char *parts = g_strndup(text, strcspn(text, " ,"));
    key.volume = word(self, "volume-name");
    key.pod = strstr(parts, "pod") == NULL ? NULL : word(self, "pod-name");
    key.node = strstr(parts, "node") == NULL ? NULL : word(self, "node-name");
    return key;
}

/* Two operations; the second is asked for while the first runs. */
static void
run_key_concurrency(Case *self)
{
    AttachDetachController *controller = controller_start(self);
    g_autoptr(Operations) operations =
        operations_new(&controller->base, case_flag(self, "given.backoff_on_error") ? 1 : 0, 1);
    const json_t *steps = case_get(self, "steps");
    const char *then = json_string_value(json_array_get(case_get(self, "then"), 0));
    gboolean is_refused = then != NULL && strstr(then, "refused") != NULL;

    if (suite_volume_operations_start(
            operations, controller,
            suite_volume_operations_key_of(self, json_array_get(steps, 0))) != OPERATION_STARTED)
        case_fail(self, "the first one is refused");
    OperationAnswer answer = suite_volume_operations_start(
        operations, controller, suite_volume_operations_key_of(self, json_array_get(steps, 1)));
    if (answer != (is_refused ? OPERATION_RUNNING : OPERATION_STARTED))
        case_fail(self, "the second one: %d", (int)answer);
    plans_abandon(&controller->base);
}

/* ---- Which operations run together ---- */

#define N_AT_ONCE 3

static gboolean
says(const Case *self, const char *what)
{
    return strstr(case_text((Case *)self, self->json, "given.operations"), what) != NULL;
}

/* "only one runs at a time", "all run at the same time" */
static void
expect_running(Case *self, unsigned n)
{
    const char *then = json_string_value(json_array_get(case_get(self, "then"), 0));
    unsigned expected = then != NULL && g_str_has_prefix(then, "all") ? N_AT_ONCE : 1;

    if (n != expected)
        case_fail(self, "%u of %u run", n, N_AT_ONCE);
}

/* Of one volume, on one node or on several. */
static void
run_attaches(Case *self)
{
    AttachDetachController *controller = controller_start(self);
    AttachVolume *volume = adc_volume(controller, word(self, DRIVER), word(self, "vol"));
    gboolean is_detach =
        g_str_has_prefix(case_text(self, self->json, "given.operations"), "detach");
    g_autoptr(Operations) operations = operations_new(&controller->base, 0, 1);
    unsigned n = 0;

    volume->is_exclusive = says(self, "RWO");
    volume->has_spec = TRUE;
    for (unsigned i = 0; i < N_AT_ONCE; i++) {
        g_autofree char *name = g_strdup_printf("node-%u", says(self, "different node") ? i : 0);
        AttachPair *pair = adc_pair(volume, adc_node(controller, word(self, name)));
        n += suite_volume_operations_start(operations, controller,
                                           is_detach ? adc_detach_key(pair)
                                                     : adc_attach_key(pair)) == OPERATION_STARTED;
    }
    plans_abandon(&controller->base);
    expect_running(self, n);
}

/* Of nodes: without a key, so that nothing is held back (ADC-50). */
static void
run_verifications(Case *self)
{
    AttachDetachController *controller = controller_start(self);
    g_autoptr(Operations) operations = operations_new(&controller->base, 0, 1);
    unsigned n = 0;

    for (unsigned i = 0; i < N_AT_ONCE; i++)
        n += suite_volume_operations_start(operations, controller, (OperationKey){0}) ==
             OPERATION_STARTED;
    plans_abandon(&controller->base);
    expect_running(self, n);
}

/* ---- A kubelet with volumes that it did not come by itself ---- */

typedef struct {
    Case *self;
    ScriptDriver *driver;
    Kubelet *kubelet;
    NodeVolume volume;
    PodWorker *workers[N_AT_ONCE];
} KubeletWorld;

static void *
kubelet_options(void *data, const ProcessClass *class)
{
    const Case *self = data;

    return process_options_new(class, objects_strings(self->objects));
}

static void *
suite_volume_operations_no_options(void *data, const ProcessClass *class)
{
    (void)data, (void)class;
    return NULL;
}

static gboolean
has_driver_error(const Case *self, const char *what)
{
    const char *text = case_string(self, "inject.driver");

    return text != NULL && strstr(text, what) != NULL;
}

static void
suite_volume_operations_answer(void *data,
                               unsigned number,
                               const CsiRequest *request,
                               CsiResponse *response)
{
    const Case *self = data;

    (void)number;
    if (request->method == CSI_NODE_GET_CAPABILITIES) {
        response->node_capabilities = CSI_NODE_STAGE_UNSTAGE_VOLUME;
        if (!has_driver_error(self, "not supported"))
            response->node_capabilities |= CSI_NODE_EXPAND_VOLUME_CAPABILITY;
        return;
    }
    if (has_driver_error(self, "infeasible"))
        response->code = CSI_OUT_OF_RANGE;
    else if (has_driver_error(self, "in use"))
        response->code = CSI_FAILED_PRECONDITION;
    else if (!has_driver_error(self, "succeed"))
        response->code = CSI_INTERNAL;
    response->message = "injected";
    response->capacity_bytes = request->required_bytes;
}

static PodWorker *
worker_new(KubeletWorld *node, unsigned i)
{
    Case *self = node->self;
    g_autofree char *name = g_strdup_printf("pod-%u", i);
    json_t *manifest = json_pack("{s:{s:s, s:s}}", "metadata", "name", name, "uid", name);
    Object *pod = case_object(self, manifest, KIND_POD);
    PodWorker *worker = g_malloc0(sizeof *worker + sizeof(PodMount));

    json_decref(manifest);
    worker->kubelet = node->kubelet;
    worker->key = (ObjectKey *)pod->key;
    worker->uid = pod->uid;
    worker->pod = pod;
    worker->n_mounts = 1;
    worker->mounts[0] = (PodMount){.worker = worker, .volume = &node->volume};
    worker->mounts[0].spec = g_new0(PodVolume, 1);
    worker->mounts[0].target_path = word(self, "/pod/mount"); /* as after the first mount */
    return worker;
}

static void
node_start(KubeletWorld *node, Case *self, Object *pv, const char *plugin)
{
    const NodePluginOptions options = {.preregistered = TRUE};
    const WorldOptions world = {.only = &kubelet_class, .live = TRUE};
    const ScriptOptions script = {.answer = suite_volume_operations_answer, .data = self};
    const VolumeSource source = {.plugin = word(self, plugin)};

    *node = (KubeletWorld){.self = self};
    case_world_new(self, &world);
    node->driver = script_driver_new(self, DRIVER, &script);
    cluster_add_driver(self->cluster, script_driver_base(node->driver), word(self, DRIVER),
                       &options, suite_volume_operations_no_options, self);
    cluster_add_node(self->cluster, word(self, NODE_NAME), kubelet_options, self);
    case_start(self, &world);
    node->kubelet = cluster_model(self->cluster, &kubelet_class, NODE_NAME);
    volume_manager_ensure(node->kubelet);
    pod_runtime_ensure(node->kubelet);
    node->volume = (NodeVolume){
        .kubelet = node->kubelet,
        .name = word(self, "volume-name"),
        .pv = pv,
        .plugin = volume_plugin_find(&source),
    };
    for (unsigned i = 0; i < N_AT_ONCE; i++)
        node->workers[i] = worker_new(node, i);
}

static void
node_end(KubeletWorld *node)
{
    plans_abandon(&node->kubelet->base);
    while (node->volume.operations != NULL) {
        PendingOperation *next = node->volume.operations->next;
        g_free(node->volume.operations);
        node->volume.operations = next;
    }
    cluster_free(node->self->cluster);
    node->self->cluster = NULL;
    csi_driver_free(script_driver_base(node->driver));
    for (unsigned i = 0; i < N_AT_ONCE; i++) {
        g_free((PodVolume *)node->workers[i]->mounts[0].spec);
        g_free(node->workers[i]);
    }
}

/* With what a kubelet needs and cases leave out: the claim, and whose volume it is. */
static Object *
pv_of(Case *self, const json_t *told, const ObjectKey *claim)
{
    json_t *manifest = told == NULL ? json_object() : json_deep_copy(told);
    json_t *spec = json_object_get(manifest, "spec");

    if (spec == NULL) {
        json_object_set_new(manifest, "metadata", json_pack("{s:s}", "name", "pv"));
        json_object_set_new(manifest, "spec", json_object());
        spec = json_object_get(manifest, "spec");
    }
    json_object_set_new(spec, "csi",
                        json_pack("{s:s, s:s}", "driver", DRIVER, "volumeHandle", "vol"));
    if (claim != NULL)
        json_object_set_new(
            spec, "claimRef",
            json_pack("{s:s, s:s}", "name", claim->name, "namespace", claim->namespace));
    Object *pv = case_object(self, manifest, KIND_VOLUME);
    json_decref(manifest);
    return pv;
}

static unsigned
n_running(const NodeVolume *volume)
{
    unsigned n = 0;

    for (const PendingOperation *entry = volume->operations; entry != NULL; entry = entry->next)
        n += entry->running;
    return n;
}

/* Mounts and unmounts of one volume for several pods, or of its device again and again; or its
 * kubelet looks whether it is attached. */
static void
run_mounts(Case *self)
{
    const char *told = case_text(self, self->json, "given.operations");
    gboolean is_plain = says(self, "neither") || says(self, "plain") ||
                        says(self, "non-attachable") || says(self, "not attachable");
    gboolean is_of_device = says(self, "device") && !says(self, "pod");
    KubeletWorld node;

    node_start(&node, self, pv_of(self, NULL, case_key(self, KIND_CLAIM, "claim")),
               is_plain ? "hostPath" : "csi");
    case_import_object(self, (Object *)node.volume.pv, CASE_API);
    node.volume.attachable = !is_plain && !says(self, "device-mountable");
    for (unsigned i = 0; i < N_AT_ONCE; i++) {
        PodMount *mount = &node.workers[i]->mounts[0];
        if (g_str_has_prefix(told, "verify"))
            volume_operation_start(node.kubelet, OPERATION_VERIFY, &node.volume, NULL);
        else if (g_str_has_prefix(told, "mount") || g_str_has_prefix(told, "map"))
            volume_operation_start(node.kubelet, OPERATION_MOUNT, &node.volume, mount);
        else if (is_of_device)
            volume_operation_start(node.kubelet, OPERATION_UNMOUNT_DEVICE, &node.volume, NULL);
        else
            volume_operation_start(node.kubelet, OPERATION_UNMOUNT, &node.volume, mount);
    }
    expect_running(self, n_running(&node.volume));
    node_end(&node);
}

static void
run_executor(Case *self)
{
    static const struct {
        const char *verb;
        void (*run)(Case *self);
    } verbs[] = {
        {"attach ",                  run_attaches     },
        {"detach ",                  run_attaches     },
        {"verify attached volumes ", run_verifications},
        {"verify ",                  run_mounts       },
        {"mount ",                   run_mounts       },
        {"unmount ",                 run_mounts       },
        {"map ",                     run_mounts       },
        {"unmap ",                   run_mounts       },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (g_str_has_prefix(case_text(self, self->json, "given.operations"), verbs[i].verb)) {
            verbs[i].run(self);
            return;
        }
    case_fail(self, "operations: %s", case_string(self, "given.operations"));
}

/* ---- Expansion on the node ---- */

static int64_t
suite_volume_operations_bytes_of(const char *text)
{
    int64_t bytes = 0;

    if (text != NULL)
        quantity_parse(text, &bytes, NULL, NULL);
    return bytes;
}

static unsigned
n_expand_calls(const KubeletWorld *node)
{
    const json_t *call;
    unsigned n = 0;
    size_t i;

    json_array_foreach(script_driver_calls(node->driver), i, call)
        n += g_strcmp0(json_path_string(call, "call"), "NodeExpandVolume") == 0;
    return n;
}

static void
expansion_ended(void *kubelet, Plan *plan, PlanEnd end, const char *message)
{
    Case *self = plan_owner(plan);

    (void)kubelet;
    self->plan_over = TRUE;
    self->plan_failed = end == PLAN_FAILED;
    self->plan_message = message;
}

/* "assume_finished" is not compared: whether it is tried again shows in whether the larger size
 * counts as there. */
static void
expect_expansion(KubeletWorld *node, const Claim *claim)
{
    Case *self = node->self;
    const json_t *calls = case_get(self, "expected.plugin_calls");

    if (calls != NULL && json_integer_value(calls) != n_expand_calls(node))
        case_fail(self, "%u calls", n_expand_calls(node));
    expect_flag(self, "expected.plugin_called", n_expand_calls(node) > 0);
    expect_flag(self, "expected.error", self->plan_failed);
    expect_flag(self, "expected.recorded_final_error", node->volume.failed_finally);
    expect_flag(self, "expected.return", node->volume.actual_bytes >= node->volume.desired_bytes);
    if (case_get(self, "expected.resize_status") != NULL)
        suite_volume_operations_expect_text(self, "expected.resize_status", claim->resize_status);
    if (case_get(self, "expected.status_size") != NULL &&
        suite_volume_operations_bytes_of(case_string(self, "expected.status_size")) !=
            claim->capacity_bytes)
        case_fail(self, "size %" G_GINT64_FORMAT, claim->capacity_bytes);
}

static void
decide_expand_at_mount(const void *kubelet, Plan *plan)
{
    (void)kubelet;
    volume_expansion_add_at_mount(plan, plan_operation(plan));
}

/* @doing: a mount expands the volume at its end */
static void
expand_on_node(Case *self, OperationName doing)
{
    Object *claim = case_object(self, case_get(self, "initial.claim"), KIND_CLAIM);
    Object *pv = pv_of(self, case_get(self, "initial.volume"), claim->key);
    PendingOperation operation = {.name = doing, .doing = doing};
    KubeletWorld node;

    node_start(&node, self, pv, "csi");
    case_import_object(self, pv, CASE_API);
    case_import_object(self, claim, CASE_API);
    node.volume.desired_bytes =
        suite_volume_operations_bytes_of(case_string(self, "initial.desired_size"));
    node.volume.actual_bytes =
        suite_volume_operations_bytes_of(case_string(self, "initial.actual_size"));
    /* Where the size that is there is the one that is wanted, "return" must still tell whether
     * anybody said so. */
    if (node.volume.actual_bytes == node.volume.desired_bytes)
        node.volume.actual_bytes--;
    operation.volume = &node.volume;
    operation.target = &node.workers[0]->mounts[0];
    self->plan_over = FALSE;
    plan_start(&(PlanStart){.component = &node.kubelet->base,
                            .decide = doing == OPERATION_MOUNT ? decide_expand_at_mount
                                                               : volume_expansion_decide,
                            .key = (ObjectKey *)claim->key,
                            .operation = &operation,
                            .owner = self,
                            .done = expansion_ended});
    case_wait(self, SIM_MINUTE);
    if (!self->plan_over)
        case_fail(self, "the expansion does not end");
    expect_expansion(&node, CLAIM_CONST(api_server_get(self->api, claim->key)));
    node_end(&node);
}

static void
run_node_expansion(Case *self)
{
    expand_on_node(self, OPERATION_EXPAND);
}

static void
run_expansion_at_mount(Case *self)
{
    expand_on_node(self, OPERATION_MOUNT);
}

static void
run_recovery_check(Case *self)
{
    const Object *claim = case_object(self, case_get(self, "args.claim"), KIND_CLAIM);

    expect_flag(self, "expected.result", volume_expansion_is_told(CLAIM_CONST(claim)));
}

/* ---- Marks in claims ---- */

static ClaimConditions *
conditions_of(Case *self, const json_t *list)
{
    json_t *manifest = json_pack("{s:{s:O}}", "status", "conditions", list);
    const Claim *claim = CLAIM_CONST(case_object(self, manifest, KIND_CLAIM));
    ClaimConditions *conditions =
        claim->conditions == NULL
            ? NULL
            : claim_conditions_new(claim->conditions->items, claim->conditions->n_items);

    json_decref(manifest);
    return conditions;
}

static void
run_merge_conditions(Case *self)
{
    g_autoptr(ClaimConditions) old = conditions_of(self, case_get(self, "args.old"));
    g_autoptr(ClaimConditions) news = conditions_of(self, case_get(self, "args.new"));
    g_autoptr(ClaimConditions) merged = claim_conditions_merge(
        old, CONDITIONS_OF_RESIZE, news == NULL ? NULL : news->items,
        news == NULL ? 0 : news->n_items, case_flag(self, "args.keep_old_resize"));
    json_t *found = json_array();

    for (unsigned i = 0; merged != NULL && i < merged->n_items; i++)
        json_array_append_new(found, json_pack("{s:s, s:s}", "status", merged->items[i].status,
                                               "type", merged->items[i].type));
    case_expect_json(self, "conditions", case_get(self, "expected.conditions"), found);
    json_decref(found);
}

/* What a mark does to status.allocatedResourceStatuses, that of other resources included. */
static void
run_mark(Case *self, const ResizeMark *mark)
{
    Object *claim = object_edit(case_object(self, case_get(self, "initial.claim"), KIND_CLAIM));
    const Object *expected = case_object(self, case_get(self, "expected.claim"), KIND_CLAIM);

    resize_mark_apply(claim, mark);
    json_t *wanted = case_comparable(self, expected), *found = case_comparable(self, claim);
    case_expect_json(self, "statuses", json_path_get(wanted, "status.allocatedResourceStatuses"),
                     json_path_get(found, "status.allocatedResourceStatuses"));
    json_decref(wanted);
    json_decref(found);
    object_unref(claim);
}

static void
run_mark_status(Case *self, ResizeStatus status, const char *condition)
{
    Strings *strings = objects_strings(self->objects);
    ResizeMark mark = {.keep_conditions = TRUE};

    resize_mark_set_status(&mark, status, strings);
    if (condition != NULL)
        resize_mark_set_condition(&mark, condition, NULL, 0, strings);
    run_mark(self, &mark);
}

static void
run_mark_in_progress(Case *self)
{
    run_mark_status(self, RESIZE_CONTROLLER_IN_PROGRESS, CONDITION_RESIZING);
}

static void
run_mark_node_pending(Case *self)
{
    run_mark_status(self, RESIZE_NODE_PENDING, CONDITION_FS_RESIZE_PENDING);
}

static void
run_mark_finished(Case *self)
{
    run_mark_status(self, RESIZE_NONE, NULL);
}

/* ---- Classes and options ---- */

/* What admission gives a claim that names none. */
static void
run_default_class(Case *self)
{
    static const WorldOptions options = {.only = &attach_detach_controller_class};
    json_t *manifest =
        json_pack("{s:{s:s}, s:{s:[s], s:{s:{s:s}}}}", "metadata", "name", "claim", "spec",
                  "accessModes", "ReadWriteOnce", "resources", "requests", "storage", "1Gi");
    Object *claim = object_edit(case_object(self, manifest, KIND_CLAIM));
    ApiResponse response;

    json_decref(manifest);
    case_world_new(self, &options);
    case_import(self, "storage_classes", KIND_STORAGE_CLASS, CASE_API);
    const ApiRequest request = {
        .verb = API_CREATE, .key = (ObjectKey *)claim->key, .object = claim};
    api_server_commit(self->api, &request, &response);
    const Object *stored = api_server_get(self->api, claim->key);
    const char *name = stored == NULL ? NULL : CLAIM_CONST(stored)->class_name;
    if (g_strcmp0(case_string(self, "expected.class"), name) != 0)
        case_fail(self, "class %s", name);
    object_unref(claim);
}

static void
run_mount_options(Case *self)
{
    const Object *volume = case_object(self, case_get(self, "args.volume"), KIND_VOLUME);
    g_autoptr(StringList) system = NULL;
    const json_t *option, *expected = case_get(self, "expected.options");
    size_t i;

    json_array_foreach(case_get(self, "args.system_options"), i, option) {
        StringList *with = string_list_with(system, word(self, json_string_value(option)));
        string_list_unref(system);
        system = with;
    }
    g_autoptr(StringList) found =
        volume_mount_options(objects_strings(self->objects), VOLUME_CONST(volume), system);
    if ((found == NULL ? 0 : found->n_items) != json_array_size(expected))
        case_fail(self, "%u options", found == NULL ? 0 : found->n_items);
    json_array_foreach(expected, i, option)
        if (!string_list_has(found, json_string_value(option)))
            case_fail(self, "no option %s", json_string_value(option));
}

/* ---- The expand controller's own expansion ---- */

#define FLEX_DRIVER "example.com/test"

static void
decide_expansion(const void *component, Plan *plan)
{
    const ExpandController *self = component;
    const Volume *volume = VOLUME_CONST(plan_object(plan, plan_last_step(plan)));

    expand_plan_in_process(
        self, plan, CLAIM_CONST(informer_get(self->claims, volume->claim_ref.claim)), volume);
}

static void
suite_volume_operations_read_volume(const void *component, Plan *plan)
{
    (void)component;
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_expansion);
}

static void *
no_sidecars(void *data, const ProcessClass *class)
{
    (void)data;
    (void)class;
    return NULL;
}

static gboolean
was_expanded(const ScriptDriver *driver)
{
    const json_t *call;
    size_t i;

    json_array_foreach(script_driver_calls(driver), i, call)
        if (g_strcmp0(json_path_string(call, "call"), "ControllerExpandVolume") == 0)
            return TRUE;
    return FALSE;
}

/* The plugin of the recorded tests leaves the file system to the node, as FlexVolume does. */
static void
run_expand_and_recover(Case *self)
{
    static const WorldOptions options = {.only = &expand_controller_class};
    static const NodePluginOptions in_process = {.in_process = TRUE};
    static const ScriptOptions script = {0};

    case_world_new(self, &options);
    ScriptDriver *driver = script_driver_new(self, FLEX_DRIVER, &script);
    cluster_add_driver(self->cluster, script_driver_base(driver), FLEX_DRIVER, &in_process,
                       no_sidecars, NULL);
    case_start(self, &options);
    Object *claim = case_object(self, case_get(self, "initial.claim"), KIND_CLAIM);
    json_t *manifest = json_deep_copy(case_get(self, "initial.volume"));
    json_object_set_new(json_object_get(manifest, "spec"), "flexVolume",
                        json_pack("{s:s}", "driver", FLEX_DRIVER));
    Object *volume = case_object(self, manifest, KIND_VOLUME);
    VOLUME(volume)->claim_ref.claim = claim->key;
    case_import_object(self, claim, CASE_API | CASE_INFORMER);
    case_import_object(self, volume, CASE_API | CASE_INFORMER);
    case_run_plan(self, case_model(self, &expand_controller_class),
                  suite_volume_operations_read_volume, (ObjectKey *)volume->key);

    const Claim *found = CLAIM_CONST(api_server_get(self->api, claim->key));
    char buffer[32];
    suite_volume_operations_expect_text(self, "expected.resize_status", found->resize_status);
    if (found->allocated_bytes > 0)
        suite_volume_operations_expect_text(
            self, "expected.allocated", quantity_format_decimal(found->allocated_bytes, buffer));
    expect_flag(self, "expected.resize_called", was_expanded(driver));
    if (!case_flag(self, "config.node_expansion"))
        case_fail(self, "a plugin that resizes file systems by itself");
    cluster_free(self->cluster);
    self->cluster = NULL;
    csi_driver_free(script_driver_base(driver));
    json_decref(manifest);
}

static const Act volume_operations_acts[] = {
    {"expandAndRecover",               run_expand_and_recover},
    {"NestedKeyConcurrency",           run_key_concurrency   },
    {"NestedPendingOperations",        story_operations      },
    {"OperationExecutor",              run_executor          },
    {"nodeExpandVolume",               run_node_expansion    },
    {"expandOnPlugin",                 run_node_expansion    },
    {"expandVolumeDuringMount",        run_expansion_at_mount},
    {"checkForRecoveryFromExpansion",  run_recovery_check    },
    {"mergeResizeConditions",          run_merge_conditions  },
    {"markControllerResizeInProgress", run_mark_in_progress  },
    {"markForFSResize",                run_mark_node_pending },
    {"markFSResizeFinished",           run_mark_finished     },
    {"markFsResize",                   run_mark_node_pending },
    {"markResizeFinished",             run_mark_finished     },
    {"getDefaultClass",                run_default_class     },
    {"mountOptionsFromSpec",           run_mount_options     },
    {NULL,                             NULL                  },
};

const Suite volume_operations_suite = {"volume_operations", volume_operations_acts};
