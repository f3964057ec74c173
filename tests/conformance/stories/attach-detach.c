/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/apiserver/apiserver-test.h"
#include "models/attach-detach-controller/controller.h"
#include "models/cluster/kube-controller-manager.h"
#include "tests/attach-detach-controller/attach-world.h"
#include "tests/conformance/stories/story.h"

#include <stdlib.h>
#include <string.h>

/* Stories of the attach/detach controller, told with the whole controller: pods come and go, where
 * the real tests change desired state by hand; VolumeAttachments take the place of a plugin's
 * calls, and an attacher answers them as the story's driver does. The six minutes of a forced
 * detach are not shortened: a wait of the story counts in parts of its own max_wait_for_unmount_ms.
 */

/* The node of which a story says only that it is the first, slow or failing one. */
#define FIRST_NODE "node-name1"
#define FORCED_AFTER (6 * SIM_MINUTE)

typedef enum {
    WORKS,
    SLOW_ONCE,    /* the first attach to the first node times out, but has worked */
    ALWAYS_SLOW,  /* no attach to the first node is ever answered */
    DETACH_FAILS, /* from the first node */
} AttachDetachDriver;

/* What was seen at one moment of the story. */
typedef struct {
    const char *label; /* interned */
    unsigned n_attach, n_detach, n_attached_nodes, n_multi_attach_errors;
    AttachState state; /* on the first node */
    gboolean is_reported;
} AttachDetachLook;

typedef struct {
    Case *self;
    StorageWorld world;
    gboolean has_begun, has_volume, keeps_on_timeout, has_node, is_retired;
    gboolean node_status_fails; /* no write of it succeeds any more */
    int64_t max_wait_ms;
    AttachDetachDriver driver;
    const char *first_node; /* interned; NULL: none yet */
    SimTime asked_at;       /* the slow attach; TIME_UNSET: not yet */
    GArray *looks;
    unsigned n_attach, n_detach, n_pods, n_removed;
} AttachDetachStory;

/* ---- The world ---- */

static void
no_force_detach(const ProcessClass *class, void *flags)
{
    (void)class;
    ((KubeControllerManagerOptions *)flags)->disable_force_detach_on_timeout = TRUE;
}

static gboolean
fails(const AttachDetachStory *self, const ApiRequest *request)
{
    const Attachment *stored;

    if (request->verb == API_PATCH_STATUS && request->key->kind == KIND_NODE)
        return self->node_status_fails;
    if (self->driver != DETACH_FAILS || request->verb != API_DELETE ||
        request->key->kind != KIND_ATTACHMENT)
        return FALSE;
    stored = (const Attachment *)api_server_get(self->world.api, request->key);
    return stored != NULL && g_strcmp0(stored->node_name, self->first_node) == 0;
}

static ApiCode
attach_detach_refuse(void *data, const ApiRequest *request, GString *message)
{
    if (!fails(data, request))
        return API_OK;
    g_string_assign(message, "refused by the story");
    return API_FORBIDDEN;
}

static void
attach_detach_begin(AttachDetachStory *self)
{
    if (self->has_begun)
        return;
    storage_world_init(
        &self->world,
        &(StorageWorldOptions){.only = &attach_detach_controller_class,
                               .set_flags = self->keeps_on_timeout ? no_force_detach : NULL});
    self->has_begun = TRUE;
    api_server_set_fault(self->world.api, attach_detach_refuse, self);
}

/* The volume, and the controller that sees it. */
static void
begin_volume(AttachDetachStory *self, AccessModes modes)
{
    attach_detach_begin(self);
    if (self->has_volume)
        return;
    create_bound(&self->world, modes);
    storage_world_start(&self->world);
    self->has_volume = TRUE;
}

/* The attacher's answer, or none yet. */
static gboolean
is_answered(AttachDetachStory *self, const Attachment *stored)
{
    if (g_strcmp0(stored->node_name, self->first_node) != 0)
        return TRUE;
    if (self->driver == ALWAYS_SLOW)
        return FALSE;
    if (self->driver != SLOW_ONCE)
        return TRUE;
    if (self->asked_at == TIME_UNSET)
        self->asked_at = sim_now(self->world.sim);
    return sim_now(self->world.sim) - self->asked_at > 121 * SIM_SECOND;
}

static void
attach_all(AttachDetachStory *self)
{
    AttachAnswer answer = {TRUE, NULL};

    for (uint32_t i = 0; i < objects_n_keys(self->world.objects, KIND_ATTACHMENT); i++) {
        ObjectKey *va = objects_key_at(self->world.objects, KIND_ATTACHMENT, i);
        const Attachment *stored = (const Attachment *)api_server_get(self->world.api, va);
        if (stored != NULL && !stored->attached && is_answered(self, stored))
            storage_world_patch_status(&self->world, va, edit_attached, &answer);
    }
}

static void
attach_detach_settle(AttachDetachStory *self, SimTime time)
{
    SimTime end = sim_now(self->world.sim) + time;

    while (sim_now(self->world.sim) < end) {
        go_on(&self->world, 100 * SIM_MS);
        attach_all(self);
    }
    const char *log = storage_world_log(&self->world);
    self->n_attach += count(log, "POST va/");
    self->n_detach += count(log, "DELETE va/");
}

static AttachState
state_on(const AttachDetachStory *self, const char *node)
{
    const AttachPair *pair = pair_of(&self->world, "vol-1", node);

    return pair == NULL ? ADC_DETACHED : pair->state;
}

static gboolean
is_reported_on(const AttachDetachStory *self, const char *node)
{
    const Node *stored = stored_node(&self->world, node);

    return stored != NULL && string_list_has(stored->volumes_attached, UNIQUE("vol-1"));
}

static void
look_at_nodes(const AttachDetachStory *self, AttachDetachLook *seen)
{
    for (uint32_t i = 0; i < objects_n_keys(self->world.objects, KIND_NODE); i++) {
        const char *node = objects_key_at(self->world.objects, KIND_NODE, i)->name;
        const AttachPair *pair = pair_of(&self->world, "vol-1", node);
        seen->n_attached_nodes += pair != NULL && pair->state == ADC_ATTACHED;
        seen->n_multi_attach_errors += pair != NULL && pair->multi_attach_reported;
    }
}

static void
attach_detach_look(AttachDetachStory *self, const char *label)
{
    AttachDetachLook seen = {
        .label = g_intern_string(label),
        .n_attach = self->n_attach,
        .n_detach = self->n_detach,
    };

    look_at_nodes(self, &seen);
    if (self->first_node != NULL) {
        seen.state = state_on(self, self->first_node);
        seen.is_reported = is_reported_on(self, self->first_node);
    }
    g_array_append_val(self->looks, seen);
}

static const AttachDetachLook *
attach_detach_look_at(const AttachDetachStory *self, const char *label)
{
    static const AttachDetachLook nothing = {0};

    for (unsigned i = 0; i < self->looks->len; i++)
        if (strcmp(g_array_index(self->looks, AttachDetachLook, i).label, label) == 0)
            return &g_array_index(self->looks, AttachDetachLook, i);
    case_fail(self->self, "the story has no %s", label);
    return &nothing;
}

/* ---- What is given ---- */

PHRASE(give_force)
{
    ((AttachDetachStory *)story)->keeps_on_timeout = strcmp(words[1], "false") == 0;
}

PHRASE(give_wait)
{
    ((AttachDetachStory *)story)->max_wait_ms = atoi(words[1]);
}

PHRASE(give_node)
{
    ((AttachDetachStory *)story)->has_node = TRUE;
    ((AttachDetachStory *)story)->first_node = g_intern_string(words[1]);
}

PHRASE(give_retired_node)
{
    give_node(story, words, argument);
    ((AttachDetachStory *)story)->is_retired = TRUE;
}

PHRASE(give_failing_status)
{
    ((AttachDetachStory *)story)->node_status_fails = TRUE;
}

PHRASE_OF(give_driver, driver)
{
    ((AttachDetachStory *)story)->driver = (AttachDetachDriver)driver;
}

/* clang-format off */
static const Phrase given[] = {
    {"plugin: fake attachable",                                story_nothing,   0},
    {"loop_period_ms: \\d+",                                   story_nothing,   0},
    {"force_detach_on_timeout: (true|false)",                  give_force,      0},
    {"max_wait_for_unmount_ms: (\\d+)",                        give_wait,       0},
    {"node_object: absent from the node cache \\(counts as not healthy\\)", story_nothing, 0},
    {"node: (\\S+) (?:Ready=True|without taints)",             give_node,       0},
    {"node: (\\S+) with taint node.kubernetes.io/out-of-service effect NoExecute", give_retired_node, 0},
    {"node_status_update: always fails",                       give_failing_status, 0},
    {"driver: first attach to the node returns a timeout although the volume gets attached; a repeated attach succeeds", give_driver, SLOW_ONCE},
    {"driver: every attach to the node returns a timeout",     give_driver,     ALWAYS_SLOW},
    {"driver: detach from the first node always fails",        give_driver,     DETACH_FAILS},
    {NULL,                                                     NULL,            0},
};
/* clang-format on */

/* ---- Steps of the reconciler ---- */

static void
retire_node(AttachDetachStory *self)
{
    storage_world_patch(&self->world, key(&self->world, KIND_NODE, self->first_node),
                        edit_out_of_service,
                        word(&self->world, "node.kubernetes.io/out-of-service"));
}

/* A pod on a node; the first one brings the volume into being. */
static void
want(AttachDetachStory *self, const char *pod, const char *node, AccessModes modes)
{
    attach_detach_begin(self);
    if (self->first_node == NULL)
        self->first_node = g_intern_string(node);
    if (api_server_get(self->world.api, key(&self->world, KIND_NODE, node)) == NULL)
        create_node(&self->world, node, NULL, NULL);
    if (self->is_retired && self->n_pods == 0)
        retire_node(self);
    begin_volume(self, modes);
    self->n_pods++;
    create_pod(&self->world, pod, node);
}

static const char *
node_named(const AttachDetachStory *self, const char *text)
{
    if (strstr(text, "first") != NULL || strstr(text, "slow") != NULL ||
        strstr(text, "failing") != NULL || strcmp(text, "node A") == 0)
        return FIRST_NODE;
    if (strstr(text, "second") != NULL)
        return "node-name2";
    return text[0] != '\0' ? text : self->has_node ? self->first_node : FIRST_NODE;
}

/* @words: the pod, the node; each may be missing. @modes: of the volume */
PHRASE_OF(desire, modes)
{
    AttachDetachStory *self = story;
    g_autofree char *name = g_strdup_printf("pod-%u", self->n_pods);

    want(self, words[1][0] == '\0' ? name : words[1], node_named(self, words[2]),
         (AccessModes)modes);
    if (self->n_pods > 1) {
        attach_detach_settle(self, SIM_MINUTE);
        attach_detach_look(self, words[1][0] == '\0' ? "again" : words[1]);
    }
}

/* Where a story has left out the pod of which it goes on to tell. */
static void
begin_pod(AttachDetachStory *self)
{
    if (self->n_pods == 0)
        want(self, "pod-0", node_named(self, ""), ACCESS_RWO);
}

PHRASE(desire_two)
{
    AttachDetachStory *self = story;
    AccessModes modes = strcmp(words[5], "RWX") == 0 ? ACCESS_RWX : ACCESS_RWO;

    want(self, words[1], node_named(self, words[2]), modes);
    want(self, words[3], node_named(self, words[4]), modes);
}

PHRASE(desire_two_unnamed)
{
    AccessModes modes = strcmp(words[1], "RWX") == 0 ? ACCESS_RWX : ACCESS_RWO;

    want(story, "pod-0", node_named(story, "first"), modes);
    want(story, "pod-1", node_named(story, "second"), modes);
}

/* Longer than an attach may take; then kubelets use what is attached. */
PHRASE(attach_detach_run)
{
    AttachDetachStory *self = story;

    begin_volume(self, ACCESS_RWO);
    attach_detach_settle(self, 150 * SIM_SECOND);
    attach_detach_look(self, "run");
    for (uint32_t i = 0; i < objects_n_keys(self->world.objects, KIND_NODE); i++) {
        const char *node = objects_key_at(self->world.objects, KIND_NODE, i)->name;
        if (is_reported_on(self, node))
            kubelet_uses(&self->world, node, UNIQUE("vol-1"));
    }
    attach_detach_settle(self, SIM_SECOND);
}

static void
stop_using(AttachDetachStory *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->world.objects, KIND_NODE); i++) {
        ObjectKey *node = objects_key_at(self->world.objects, KIND_NODE, i);
        if (api_server_get(self->world.api, node) != NULL)
            kubelet_uses(&self->world, node->name, NULL);
    }
}

PHRASE(use_nothing)
{
    begin_pod(story);
    stop_using(story);
    attach_detach_settle(story, SIM_SECOND);
}

/* Time for a detach, if one is to come. */
PHRASE(go_on_using)
{
    begin_pod(story);
    attach_detach_settle(story, SIM_MINUTE);
}

/* Nobody uses the volume any more, so only the status can hold it back. */
PHRASE(let_status_fail)
{
    begin_pod(story);
    ((AttachDetachStory *)story)->node_status_fails = TRUE;
    stop_using(story);
}

PHRASE(pass_loops)
{
    begin_pod(story);
    attach_detach_settle(story, SIM_SECOND);
}

/* The oldest pod that is left, unless it is named. A driver's detach can fail only where nothing
 * else holds the volume back. */
PHRASE(remove_one)
{
    AttachDetachStory *self = story;
    const char *name = words[1];

    begin_pod(story);
    for (uint32_t i = 0; name[0] == '\0' && i < objects_n_keys(self->world.objects, KIND_POD);
         i++) {
        ObjectKey *pod = objects_key_at(self->world.objects, KIND_POD, i);
        if (api_server_get(self->world.api, pod) != NULL)
            name = pod->name;
    }
    if (name[0] == '\0' ||
        api_server_get(self->world.api, key(&self->world, KIND_POD, name)) == NULL) {
        case_fail(self->self, "no pod is left");
        return;
    }
    remove_pod(&self->world, name);
    if (self->driver == DETACH_FAILS) {
        stop_using(self);
        attach_detach_settle(self, SIM_SECOND);
        attach_detach_look(self, "failed detach");
    }
    self->n_removed++;
}

/* Then the other node gets the volume. */
PHRASE(remove_where_attached)
{
    AttachDetachStory *self = story;

    begin_pod(self);
    for (uint32_t i = 0; i < objects_n_keys(self->world.objects, KIND_POD); i++) {
        ObjectKey *pod = objects_key_at(self->world.objects, KIND_POD, i);
        const Object *stored = api_server_get(self->world.api, pod);
        if (stored == NULL || state_on(self, POD_CONST(stored)->node_name) != ADC_ATTACHED)
            continue;
        remove_pod(&self->world, pod->name);
        self->n_removed++;
        use_nothing(self, words, argument);
        attach_detach_settle(self, SIM_MINUTE);
        return;
    }
    case_fail(self->self, "no node has the volume");
}

/* Where a story gives no Node, none is healthy. */
static void
lose_nodes(AttachDetachStory *self)
{
    for (uint32_t i = 0; !self->has_node && i < objects_n_keys(self->world.objects, KIND_NODE);
         i++) {
        ObjectKey *node = objects_key_at(self->world.objects, KIND_NODE, i);
        if (api_server_get(self->world.api, node) != NULL)
            node_is_gone(&self->world, node->name);
    }
}

PHRASE(wait_for_timeout)
{
    AttachDetachStory *self = story;
    SimTime time = self->max_wait_ms == 0 || words[1][0] == '\0'
                       ? FORCED_AFTER
                       : FORCED_AFTER * atoi(words[1]) / self->max_wait_ms;
    g_autofree char *label = g_strdup_printf("removal %u", self->n_removed);

    begin_pod(story);
    lose_nodes(self);
    attach_detach_settle(self, time + SIM_MINUTE);
    attach_detach_look(self, label);
}

PHRASE(wait_until_gone)
{
    AttachDetachStory *self = story;

    begin_pod(story);
    attach_detach_settle(self, 150 * SIM_SECOND);
    attach_detach_look(self, "left");
}

/* Returns: FALSE: the node is gone, and the case fails */
static gboolean
begin_pod_on_node(AttachDetachStory *self)
{
    begin_pod(self);
    if (stored_node(&self->world, self->first_node) != NULL)
        return TRUE;
    case_fail(self->self, "%s is gone", self->first_node);
    return FALSE;
}

PHRASE(make_unready)
{
    AttachDetachStory *self = story;

    if (!begin_pod_on_node(self))
        return;
    storage_world_patch_status(&self->world, key(&self->world, KIND_NODE, self->first_node),
                               edit_not_ready, NULL);
    attach_detach_settle(self, 5 * FORCED_AFTER);
    attach_detach_look(self, "unready");
}

PHRASE(add_taint)
{
    AttachDetachStory *self = story;

    if (!begin_pod_on_node(self))
        return;
    retire_node(self);
    attach_detach_settle(self, SIM_SECOND);
    attach_detach_look(self, "taint");
}

PHRASE(now_attached)
{
    AttachDetachStory *self = story;

    story_expect_count(self->self, "attaches", self->n_attach, words[1]);
}

PHRASE(now_detached)
{
    AttachDetachStory *self = story;

    story_expect_count(self->self, "detaches", self->n_detach, words[1]);
}

static void
expect_state(AttachDetachStory *self,
             const char *when,
             const AttachDetachLook *seen,
             AttachState state,
             gboolean reported)
{
    if (seen->state != state || seen->is_reported != reported)
        case_fail(self->self, "%s: state %d, %sreported", when, (int)seen->state,
                  seen->is_reported ? "" : "not ");
}

/* @argument: the state; reported if it is attached. @words: when, of the first node */
PHRASE_OF(then_state, state)
{
    AttachDetachStory *self = story;
    const char *when = words[1][0] == '\0' ? "run" : words[1];

    expect_state(self, when, attach_detach_look_at(self, when), (AttachState)state,
                 state == ADC_ATTACHED);
}

#define A_POD "(pod-\\w+)"
/* clang-format off */
static const Phrase reconciler_steps[] = {
    {"run(?: \\d+ s| the reconciler with empty caches)?",     attach_detach_run,              0},
    {"desired: node ()(\\S+)(?:, pod \\S+, volume \\S+)",     desire,           ACCESS_RWO},
    {"desired: one (?:node/)?pod/volume()(?: on (\\S+))?",    desire,           ACCESS_RWO},
    {"desired: RWO volume()(?: on (?|the (slow|failing) node|(\\S+)))?", desire, ACCESS_RWO},
    {"desired: two pods on two nodes, same (RW[XO]) volume, added together", desire_two_unnamed, 0},
    {"one loop",                                              attach_detach_run,              0},
    {"one loop, wait \\d+ ms, one loop",                      pass_loops,       0},
    {"node status updates start to fail",                     let_status_fail,  0},
    {"desired: RWO volume, " A_POD " on (node \\w|[^ ,]+)",     desire,           ACCESS_RWO},
    {"desired: " A_POD " on (node \\w|[^ ,]+)(?: again)?",      desire,           ACCESS_RWO},
    {"desired: same volume on ()([^ ,]+)",                    desire,           ACCESS_RWO},
    {"desired: pods " A_POD " on ([^ ,]+) and " A_POD " on (a second node|[^ ,]+), same (RW[XO]) volume", desire_two, 0},
    {"(?:exactly )?(\\d+) attach(?:es)?",                     now_attached,     0},
    {"(\\d+) detach(?:es)?",                                  now_detached,     0},
    {"()[Aa]ttached and reported",                            then_state,       ADC_ATTACHED},
    {"remove (?:the|first|second) pod(?: from the desired state)?", remove_one, 0},
    {"remove the pod on the node that got the volume",        remove_where_attached, 0},
    {"remove " A_POD,                                           remove_one,       0},
    {"node still reports the volume in use",                  story_nothing,    0},
    {"volume still mounted",                                  go_on_using,      0},
    {"(?:the )?node (?:reports nothing|no longer reports (?:the volume|it)|reports the volume as no longer) in use|(?:the )?volume (?:is )?unmounted", use_nothing, 0},
    {"wait (?:more than )?(\\d+) ms|wait for the timeout",    wait_for_timeout, 0},
    {"after the volume left the node",                        wait_until_gone,  0},
    {"set Ready=False",                                       make_unready,     0},
    {"add the out-of-service taint",                          add_taint,        0},
    {NULL,                                                    NULL,             0},
};
/* clang-format on */

/* ---- Then ---- */

PHRASE_OF(then_metric, reason)
{
    AttachDetachStory *self = story;

    story_expect_count(self->self, "metric",
                       (unsigned)controller_of(&self->world)->n_detaches[reason], words[1]);
}

PHRASE(then_nodes)
{
    AttachDetachStory *self = story;

    story_expect_count(self->self, "nodes", attach_detach_look_at(self, "run")->n_attached_nodes,
                       words[1]);
}

/* @words: how many; @argument: the label of the look */
static const char *const moments[] = {"removal 1", "removal 2", "unready", "taint"};

PHRASE_OF(then_detached_at, moment)
{
    AttachDetachStory *self = story;

    story_expect_count(self->self, moments[moment],
                       attach_detach_look_at(self, moments[moment])->n_detach, words[1]);
}

PHRASE(then_has_left)
{
    AttachDetachStory *self = story;
    const AttachDetachLook *seen = attach_detach_look_at(self, "left");

    expect_state(self, "left", seen, ADC_DETACHED, FALSE);
    if (seen->n_detach == 0)
        case_fail(self->self, "no detach");
}

PHRASE_OF(then_on_node, state)
{
    AttachDetachStory *self = story;
    AttachState found = state_on(self, words[1]);

    if (found != (AttachState)state)
        case_fail(self->self, "on %s: state %d", words[1], (int)found);
}

/* The volume's attachment is there and says that it is attached: the attach that is called again
 * ends with that, and nothing is written. */
PHRASE(then_attached_again)
{
    AttachDetachStory *self = story;
    const AttachDetachLook *seen = attach_detach_look_at(self, words[1]);

    expect_state(self, words[1], seen, ADC_ATTACHED, TRUE);
    if (self->n_detach != attach_detach_look_at(self, "failed detach")->n_detach)
        case_fail(self->self, "another detach");
}

PHRASE(then_one_is_refused)
{
    AttachDetachStory *self = story;
    const AttachDetachLook *seen = attach_detach_look_at(self, "run");

    story_expect_count(self->self, "nodes", seen->n_attached_nodes, words[1]);
    if (seen->n_multi_attach_errors != 1)
        case_fail(self->self, "%u multi-attach errors", seen->n_multi_attach_errors);
}

/* Of the first node, now. */
PHRASE_OF(then_now, state)
{
    AttachDetachStory *self = story;
    AttachState found = state_on(self, self->first_node);

    if (found != (AttachState)state)
        case_fail(self->self, "state %d", (int)found);
}

/* In the Node, and in what the controller would write to it. */
PHRASE(then_reported_on)
{
    AttachDetachStory *self = story;
    const AttachPair *pair = pair_of(&self->world, "vol-1", words[1]);

    if (!is_reported_on(self, words[1]) || pair == NULL ||
        !string_list_has(pair->node->report, UNIQUE("vol-1")))
        case_fail(self->self, "not reported on %s", words[1]);
}

PHRASE(then_no_detach)
{
    AttachDetachStory *self = story;

    story_expect_count(self->self, "detaches", self->n_detach, "0");
}

PHRASE(then_stays)
{
    AttachDetachStory *self = story;

    expect_state(self, words[1], attach_detach_look_at(self, words[1]), ADC_ATTACHED, TRUE);
    if (state_on(self, words[2]) != ADC_DETACHED)
        case_fail(self->self, "attached to %s", words[2]);
}

/* clang-format off */
static const Phrase reconciler_then[] = {
    {"(?|(\\d+) attach calls?|attach calls stay (\\d+))",                         now_attached,        0},
    {"(\\d+) detach(?:es| calls?| operations reach the driver)?(?: at the end| without waiting| \\(wait is .*\\))?", now_detached, 0},
    {"then a second attach to the other node \\(total (\\d+)\\)",           now_attached,        0},
    {"after the first attach the volume is on (\\d+) node and the other node/volume pair is marked with a multi-attach error", then_one_is_refused, 0},
    {"volume still Attached",                                                 then_now,            ADC_ATTACHED},
    {"volume is still (?:\\(again\\) )?reported as attached on (\\S+)",       then_reported_on,    0},
    {"no detach happened",                                                    then_no_detach,      0},
    {"force-detach metric reason timeout is (\\d+)",                          then_metric,         DETACH_TIMED_OUT},
    {"force-detach metric (?:for|reason) out-of-service (?:grows by|is) (\\d+)", then_metric,      DETACH_OUT_OF_SERVICE},
    {"volume attached to (\\d+) nodes? after the first step",                 then_nodes,          0},
    {"(\\d+) detach(?:es)? after the first removal",                          then_detached_at,    0},
    {"(\\d+) detach(?:es)? after the second removal",                         then_detached_at,    1},
    {"(?:healthy node: )?(\\d+) detach(?:es)? (?:while healthy|even after five times the wait)", then_detached_at, 0},
    {"(?|after Ready=False: (\\d+) detach(?:es)?|(\\d+) detach(?:es)? while unhealthy without the taint)", then_detached_at, 2},
    {"(\\d+) detach(?:es)? after the taint",                                  then_detached_at,    3},
    {"()first node reaches state Attached and is reported as attached",       then_state,          ADC_ATTACHED},
    {"()first node: state Uncertain and not reported as attached",            then_state,          ADC_UNCERTAIN},
    {"after the (failed detach): state Uncertain, not reported as attached",  then_state,          ADC_UNCERTAIN},
    {"(?:volume is removed|a detach is still issued and removes the volume) from the first node", then_has_left, 0},
    {"state on (\\S+) becomes Attached",                                      then_on_node,        ADC_ATTACHED},
    {"after " A_POD ": attach is called again, state Attached and reported, no more detaches", then_attached_again, 0},
    {"after " A_POD ": still Attached to node \\w, not attached to (\\S+)",     then_stays,          0},
    {NULL,                                                                    NULL,                0},
};
/* clang-format on */

void
story_attach_detach(Case *case_)
{
    AttachDetachStory self = {.self = case_, .asked_at = TIME_UNSET};

    self.looks = g_array_new(FALSE, TRUE, sizeof(AttachDetachLook));
    story_tell(case_, "given", given, &self);
    story_tell(case_, "steps", reconciler_steps, &self);
    if (self.has_begun) {
        story_tell(case_, "then", reconciler_then, &self);
        storage_world_clear(&self.world);
    } else {
        case_fail(case_, "nothing was done");
    }
    g_array_unref(self.looks);
}
