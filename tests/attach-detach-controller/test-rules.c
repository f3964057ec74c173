/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/migration/migration.h"
#include "models/apiserver/apiserver-test.h"
#include "models/attach-detach-controller/controller.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/csi/csi-test.h"
#include "models/csi/modelled/modelled-driver.h"
#include "tests/attach-detach-controller/attach-world.h"
#include "tests/lib/test.h"

#include <string.h>

/* The recorded stories of the real controller's own tests, by their ids, and rules that no other
 * story needs. Where the real tests call a plugin, here VolumeAttachments come and go. Each story
 * is told twice: with loops that sleep, and with loops that poll. */

typedef struct {
    ApiVerb verb;
    ObjectKind kind;
    ApiCode code;
    unsigned n; /* how often it still refuses; refused so far is counted in @n_refused */
    unsigned n_refused;
} RulesRefusal;

static ApiCode
rules_refuse(void *data, const ApiRequest *request, GString *message)
{
    RulesRefusal *refusal = data;

    if (request->verb != refusal->verb || request->key->kind != refusal->kind || refusal->n == 0)
        return API_OK;
    refusal->n--;
    refusal->n_refused++;
    g_string_assign(message, "refused by the test");
    return refusal->code;
}

/* ---- ADController: starts ---- */

static void
dangling_attachment(StorageWorld *world, gboolean attached)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    import_attachment(world, VA_1, "node-1", attached);
    storage_world_start(world);
    go_on(world, SIM_SECOND);
    assert_state(world, "node-1", ADC_UNCERTAIN, FALSE);
    assert_true(adc_is_in_use(pair_of(world, "vol-1", "node-1")));
    /* The real tests' informers tell of the Node after that. */
    kubelet_uses(world, "node-1", UNIQUE("vol-2"));
    go_on(world, SIM_SECOND);
    assert_state(world, "node-1", ADC_DETACHED, FALSE);
    assert_calls(world, 0, 1);
}

static void
dangling_attached(StorageWorld *world)
{
    dangling_attachment(world, TRUE);
}

static void
dangling_not_attached(StorageWorld *world)
{
    dangling_attachment(world, FALSE);
}

/* Five nodes with a volume each that nobody wants any more, five pods with one volume on another
 * node, and new pods. */
static void
restart(StorageWorld *world, unsigned n_before, unsigned n_after)
{
    static const char *const claims[] = {"shared", "new-0", "new-1", NULL};

    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *node = g_strdup_printf("node-%u", i);
        g_autofree char *stale = g_strdup_printf("kubernetes.io/csi/" DRIVER "^stale-%u", i);
        create_node(world, node, stale, NULL);
    }
    create_node(world, "mynode", NULL, NULL);
    create_claims(world, claims, ACCESS_RWO);
    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *pod = g_strdup_printf("running-%u", i);
        pod_with_claim(world, pod, "shared", "mynode");
    }
    if (n_before > 0)
        pod_with_claim(world, "new-0", "new-0", "node-1");
    storage_world_start(world);
    if (n_after > 0)
        pod_with_claim(world, "new-1", "new-1", "node-2");
    go_on(world, 2 * SIM_SECOND);
    attacher_attaches_all(world);
    go_on(world, 5 * SIM_MINUTE);
    assert_calls(world, 1 + n_before + n_after, 5);
}

static void
restart_0_0(StorageWorld *world)
{
    restart(world, 0, 0);
}

static void
restart_1_0(StorageWorld *world)
{
    restart(world, 1, 0);
}

static void
restart_0_1(StorageWorld *world)
{
    restart(world, 0, 1);
}

static void
restart_1_1(StorageWorld *world)
{
    restart(world, 1, 1);
}

/* ADC-29, ADC-53: known by its name only it counts as shared; the pod that comes for it elsewhere
 * knows better. */
static void
known_by_name_only(StorageWorld *world)
{
    create_node(world, "node-1", UNIQUE("vol-1"), UNIQUE("vol-1"));
    create_node(world, "node-2", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    go_on(world, SIM_SECOND);
    assert_null(pair_of(world, "vol-1", "node-1")->volume->spec);
    create_pod(world, "b", "node-2");
    go_on(world, 2 * SIM_MINUTE);
    assert_calls(world, 0, 0);
    assert_false(pair_of(world, "vol-1", "node-1")->volume->has_spec);
    kubelet_uses(world, "node-1", NULL);
    go_on(world, SIM_SECOND);
    assert_calls(world, 1, 1);
}

/* ---- The populator ---- */

/* A driver that stops to require attaching takes its volumes out of desired state, within a minute;
 * requiring it again brings them back when all pods are listed; a pod that goes unseen takes them
 * out for good. */
static void
populator(StorageWorld *world)
{
    attached_pod(world);
    assert_true(is_desired(world, "vol-1", "node-1"));
    driver_object(world, FALSE);
    go_on(world, SIM_MINUTE + SIM_SECOND);
    assert_false(is_desired(world, "vol-1", "node-1")); /* ADC-36.2 */
    storage_world_remove(world, key(world, KIND_CSI_DRIVER, DRIVER));
    go_on(world, 3 * SIM_MINUTE + SIM_SECOND);
    assert_true(is_desired(world, "vol-1", "node-1")); /* ADC-36.3 */
    storage_world_patch_status(world, key(world, KIND_CLAIM, "c"), edit_lost, NULL);
    remove_pod(world, "a");
    assert_true(is_desired(world, "vol-1", "node-1"));
    go_on(world, SIM_MINUTE + SIM_SECOND);
    assert_false(is_desired(world, "vol-1", "node-1")); /* ADC-36.1 */
}

/* ADC-63: a volume is detached even if its driver no longer requires attaching. */
static void
driver_needs_no_attach(StorageWorld *world)
{
    attached_pod(world);
    driver_object(world, FALSE);
    kubelet_uses(world, "node-1", NULL);
    go_on(world, SIM_MINUTE + SIM_SECOND);
    assert_calls(world, 0, 1);
    assert_state(world, "node-1", ADC_DETACHED, FALSE);
    go_on(world, 10 * SIM_MINUTE);
    assert_calls(world, 0, 0);
}

/* ADC-V11. */
static void
one_volume_a_minute(StorageWorld *world)
{
    static const char *const claims[] = {"c-1", "c-2", "c-3", NULL};

    create_node(world, "node-1", NULL, NULL);
    create_claims(world, claims, ACCESS_RWO);
    storage_world_start(world);
    pod_with_claims(world, "a", claims, "node-1");
    go_on(world, SIM_SECOND);
    for (unsigned i = 0; claims[i] != NULL; i++)
        storage_world_patch_status(world, key(world, KIND_CLAIM, claims[i]), edit_lost, NULL);
    remove_pod(world, "a");
    for (unsigned left = 3; left > 0; left--) {
        unsigned n = 0;
        for (unsigned i = 0; claims[i] != NULL; i++)
            n += is_desired(world, claims[i], "node-1");
        assert_int_equal(n, left);
        go_on(world, SIM_MINUTE);
    }
}

/* ---- The reconciler ---- */

static void
nothing_is_desired(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    go_on(world, 10 * SIM_MINUTE);
    assert_string_equal(storage_world_log(world), "");
}

static void
attached_once(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, SIM_SECOND);
    attacher_attaches_all(world);
    go_on(world, 10 * SIM_MINUTE);
    assert_calls(world, 1, 0);
}

/* ADC-13: the Node goes while pods want the volume there: it stays managed, and a Node that is not
 * there is not healthy. */
static void
mounted_on_a_node_that_is_gone(StorageWorld *world)
{
    attached_pod(world);
    node_is_gone(world, "node-1");
    go_on(world, SIM_SECOND);
    assert_true(adc_find_node(controller_of(world), word(world, "node-1"))->is_managed);
    remove_pod(world, "a");
    go_on(world, 6 * SIM_MINUTE);
    assert_string_equal(storage_world_log(world), "");
    go_on(world, SIM_SECOND);
    /* The check of ADC-50 may follow, when the VolumeAttachment has gone and the detach has not
     * looked yet. */
    assert_true(
        g_str_has_prefix(storage_world_log(world), "PATCH/st node/node-1 404, DELETE " VA_1));
    assert_int_equal(controller_of(world)->n_detaches[DETACH_TIMED_OUT], 1); /* ADC-48 */
}

static void
shared_by_two_nodes(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_node(world, "node-2", NULL, NULL);
    create_bound(world, ACCESS_RWX);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    create_pod(world, "b", "node-2");
    go_on(world, SIM_SECOND);
    attacher_attaches_all(world);
    go_on(world, SIM_SECOND);
    assert_calls(world, 2, 0);
    kubelet_uses(world, "node-1", UNIQUE("vol-1"));
    kubelet_uses(world, "node-2", UNIQUE("vol-1"));
    node_is_gone(world, "node-1");
    node_is_gone(world, "node-2");
    remove_pod(world, "a");
    go_on(world, 7 * SIM_MINUTE);
    assert_calls(world, 0, 1);
    remove_pod(world, "b");
    go_on(world, 7 * SIM_MINUTE);
    assert_calls(world, 0, 1);
}

/* The attacher is so slow that the controller gives up, and then it has done it. */
static void
attach_times_out_but_works(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_node(world, "node-2", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, 121 * SIM_SECOND);
    assert_state(world, "node-1", ADC_UNCERTAIN, FALSE);
    attacher_says(world, VA_1, TRUE, NULL);
    go_on(world, 10 * SIM_SECOND);
    assert_state(world, "node-1", ADC_ATTACHED, TRUE);
    remove_pod(world, "a");
    go_on(world, SIM_SECOND);
    assert_state(world, "node-1", ADC_DETACHED, FALSE);
    create_pod(world, "b", "node-2");
    go_on(world, SIM_SECOND);
    attacher_says(world, VA_2, TRUE, NULL);
    go_on(world, SIM_SECOND);
    assert_state(world, "node-2", ADC_ATTACHED, TRUE);
}

/* ADC-63: the VolumeAttachment is deleted though nothing says that the volume was ever attached. */
static void
attach_always_times_out(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_node(world, "node-2", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, 121 * SIM_SECOND);
    assert_state(world, "node-1", ADC_UNCERTAIN, FALSE);
    kubelet_uses(world, "node-1", UNIQUE("vol-2"));
    remove_pod(world, "a");
    go_on(world, 130 * SIM_SECOND); /* another try had begun */
    assert_calls(world, 1, 1);
    assert_state(world, "node-1", ADC_DETACHED, FALSE);
    create_pod(world, "b", "node-2");
    go_on(world, SIM_SECOND);
    attacher_says(world, VA_2, TRUE, NULL);
    go_on(world, SIM_SECOND);
    assert_state(world, "node-2", ADC_ATTACHED, TRUE);
}

/* ADC-57.3: a pod that comes back after a failed detach has its volume attached anew, and holds it
 * again. */
static void
detach_fails(StorageWorld *world)
{
    RulesRefusal refusal = {API_DELETE, KIND_ATTACHMENT, API_FORBIDDEN, 1, 0};

    attached_pod(world);
    api_server_set_fault(world->api, rules_refuse, &refusal);
    remove_pod(world, "a");
    kubelet_uses(world, "node-1", NULL);
    go_on(world, 250 * SIM_MS);
    assert_int_equal(refusal.n_refused, 1);
    assert_state(world, "node-1", ADC_UNCERTAIN, FALSE);
    storage_world_log(world);
    create_pod(world, "b", "node-1");
    go_on(world, 10 * SIM_SECOND);
    assert_state(world, "node-1", ADC_ATTACHED, TRUE);
    assert_calls(world, 0, 0); /* its VolumeAttachment was there, and attached */
    create_pod(world, "d", "node-2");
    go_on(world, SIM_MINUTE);
    assert_state(world, "node-1", ADC_ATTACHED, TRUE);
    assert_state(world, "node-2", ADC_DETACHED, FALSE);
    assert_calls(world, 0, 0);
}

static void
healthy_nodes_are_not_forced(StorageWorld *world)
{
    attached_pod(world);
    remove_pod(world, "a");
    go_on(world, 30 * SIM_MINUTE);
    assert_calls(world, 0, 0);
    storage_world_patch_status(world, key(world, KIND_NODE, "node-1"), edit_not_ready, NULL);
    go_on(world, SIM_SECOND);
    assert_calls(world, 0, 1);
    assert_int_equal(controller_of(world)->n_detaches[DETACH_TIMED_OUT], 1);
}

static void
force_is_switched_off(StorageWorld *world)
{
    attached_pod(world);
    remove_pod(world, "a");
    go_on(world, 30 * SIM_MINUTE);
    storage_world_patch_status(world, key(world, KIND_NODE, "node-1"), edit_not_ready, NULL);
    go_on(world, 30 * SIM_MINUTE);
    assert_calls(world, 0, 0);
    storage_world_patch(world, key(world, KIND_NODE, "node-1"), edit_out_of_service,
                        word(world, "node.kubernetes.io/out-of-service"));
    go_on(world, SIM_SECOND);
    assert_calls(world, 0, 1);
    assert_int_equal(controller_of(world)->n_detaches[DETACH_OUT_OF_SERVICE], 1);
    assert_int_equal(controller_of(world)->n_detaches[DETACH_TIMED_OUT], 0);
}

static void
two_nodes_are_told(StorageWorld *world)
{
    static const char *const claims[] = {"c-1", "c-2", NULL};

    create_node(world, "node-1", NULL, NULL);
    create_node(world, "node-2", NULL, NULL);
    create_claims(world, claims, ACCESS_RWO);
    storage_world_start(world);
    pod_with_claim(world, "a", "c-1", "node-1");
    pod_with_claim(world, "b", "c-2", "node-2");
    go_on(world, SIM_SECOND);
    attacher_attaches_all(world);
    go_on(world, SIM_SECOND);
    assert_int_equal(stored_node(world, "node-1")->volumes_attached->n_items, 1);
    assert_string_equal(stored_node(world, "node-1")->volumes_attached->items[0], UNIQUE("c-1"));
    assert_int_equal(stored_node(world, "node-2")->volumes_attached->n_items, 1);
    assert_string_equal(stored_node(world, "node-2")->volumes_attached->items[0], UNIQUE("c-2"));
    assert_int_equal(controller_of(world)->nodes_to_update->len, 0);
}

/* ---- What is attached is verified (ADC-50) ---- */

/* Somebody deletes the VolumeAttachment of a pod that runs: within a minute it is attached again */
static void
attachment_is_deleted(StorageWorld *world)
{
    attached_pod(world);
    SimTime at = sim_now(world->sim);
    storage_world_delete(world, attachment(world, VA_1));
    go_on(world, SIM_SECOND);
    while (api_server_get(world->api, attachment(world, VA_1)) == NULL) {
        go_on(world, 10 * SIM_MS);
        assert_true(sim_now(world->sim) - at < 61 * SIM_SECOND);
    }
    /* Asked for in the API, since the cache has none; then it is as if it never had been attached.
     */
    assert_true(g_str_has_prefix(storage_world_log(world), "GET " VA_1 " 404, "));
    attacher_says(world, VA_1, TRUE, NULL);
    go_on(world, 10 * SIM_SECOND);
    assert_state(world, "node-1", ADC_ATTACHED, TRUE);
    go_on(world, 10 * SIM_MINUTE);
    assert_calls(world, 0, 0);
}

/* The attacher withdraws its status: the cache shows it, no request is needed. */
static void
attachment_is_not_attached(StorageWorld *world)
{
    attached_pod(world);
    attacher_says(world, VA_1, FALSE, NULL);
    go_on(world, 61 * SIM_SECOND);
    assert_state(world, "node-1", ADC_DETACHED, FALSE);
    assert_string_equal(storage_world_log(world), TELL_1);
    attacher_says(world, VA_1, TRUE, NULL);
    go_on(world, 10 * SIM_SECOND);
    assert_state(world, "node-1", ADC_ATTACHED, TRUE);
}

/* ADC-2. */
static void
nothing_is_verified(StorageWorld *world)
{
    attached_pod(world);
    storage_world_delete(world, attachment(world, VA_1));
    go_on(world, 60 * SIM_MINUTE);
    assert_string_equal(storage_world_log(world), "");
    assert_state(world, "node-1", ADC_ATTACHED, TRUE);
}

/* A pod's node tells that the volume is attached, and there is no VolumeAttachment: found at the
 * first check after the start. */
static void
node_is_wrong_at_the_start(StorageWorld *world)
{
    create_node(world, "node-1", UNIQUE("vol-1"), UNIQUE("vol-1"));
    create_bound(world, ACCESS_RWO);
    create_pod(world, "a", "node-1");
    storage_world_start(world);
    go_on(world, 61 * SIM_SECOND);
    assert_calls(world, 1, 0);
}

/* ---- Single rules ---- */

/* ADC-37: a Node that is made anew has no volumesAttached; it is told, though nothing has changed.
 */
static void
node_is_made_anew(StorageWorld *world)
{
    attached_pod(world);
    node_is_gone(world, "node-1");
    go_on(world, SIM_SECOND);
    create_node(world, "node-1", NULL, UNIQUE("vol-1"));
    go_on(world, SIM_SECOND);
    assert_string_equal(storage_world_log(world), TELL_1);
    assert_state(world, "node-1", ADC_ATTACHED, TRUE);
}

/* ADC-9: a node that attaches by itself is left alone. Once managed, always managed. */
static void
node_is_not_managed(StorageWorld *world)
{
    Node *node = NODE(object_new(key(world, KIND_NODE, "node-1")));

    storage_world_import(world, node);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, 10 * SIM_MINUTE);
    assert_string_equal(storage_world_log(world), "");
    const StringPair managed = {
        word(world, "volumes.kubernetes.io/controller-managed-attach-detach"), word(world, "true")};
    storage_world_patch(world, key(world, KIND_NODE, "node-1"), storage_world_annotate, &managed);
    go_on(world, 3 * SIM_MINUTE + SIM_SECOND); /* when all pods are listed again */
    assert_calls(world, 1, 0);
}

/* ADC-57.1: the Node itself says that it uses the volume, though the cache does not know. */
static void
node_says_no(StorageWorld *world)
{
    attached_pod(world);
    api_server_set_fault(world->api, NULL, NULL);
    kubelet_uses(world, "node-1", NULL);
    go_on(world, SIM_SECOND);
    sim_dist_unref(world->timing.watch);
    world->timing.watch = sim_dist_new_constant(150 * SIM_MS);
    remove_pod(world, "a");
    go_on(world, 149 * SIM_MS);
    kubelet_uses(world, "node-1", UNIQUE("vol-1"));
    go_on(world, 140 * SIM_MS);
    assert_string_equal(storage_world_log(world), TELL_1 ", GET node/node-1");
    assert_int_equal(pair_of(world, "vol-1", "node-1")->state, ADC_UNCERTAIN);
}

/* ADC-57.1: a Node that is gone uses nothing; any other error fails the detach. */
static void
node_cannot_be_asked(StorageWorld *world)
{
    RulesRefusal refusal = {API_GET, KIND_NODE, API_FORBIDDEN, 1, 0};

    attached_pod(world);
    api_server_set_fault(world->api, rules_refuse, &refusal);
    remove_pod(world, "a");
    kubelet_uses(world, "node-1", NULL);
    go_on(world, 250 * SIM_MS);
    assert_int_equal(refusal.n_refused, 1);
    assert_calls(world, 0, 0);
    refusal = (RulesRefusal){API_GET, KIND_NODE, API_NOT_FOUND, 1, 0};
    go_on(world, SIM_SECOND);
    assert_int_equal(refusal.n_refused, 1);
    assert_calls(world, 0, 1);
}

/* ADC-45: a node that cannot be told keeps its volume. */
static void
node_cannot_be_told(StorageWorld *world)
{
    RulesRefusal refusal = {API_PATCH_STATUS, KIND_NODE, API_FORBIDDEN, 3, 0};

    attached_pod(world);
    api_server_set_fault(world->api, rules_refuse, &refusal);
    remove_pod(world, "a");
    storage_world_patch(world, key(world, KIND_NODE, "node-1"), edit_out_of_service,
                        word(world, "node.kubernetes.io/out-of-service"));
    go_on(world, 10 * SIM_MS); /* at the latest in a pass's time */
    go_on(world, 90 * SIM_MS);
    assert_calls(world, 0, 0);
    go_on(world, SIM_SECOND);
    assert_int_equal(refusal.n_refused, 3);
    assert_calls(world, 0, 1);
    assert_state(world, "node-1", ADC_DETACHED, FALSE);
}

/* ADC-65: while the old VolumeAttachment is going each try fails at once, and nothing shortens the
 * back-off when it has gone. */
static void
old_attachment_is_going(StorageWorld *world)
{
    attached_pod(world);
    attacher_holds(world, VA_1);
    remove_pod(world, "a");
    kubelet_uses(world, "node-1", NULL);
    go_on(world, SIM_SECOND);
    storage_world_patch_status(world, attachment(world, VA_1), edit_detach_error,
                               word(world, "no answer"));
    go_on(world, SIM_SECOND);
    assert_state(world, "node-1", ADC_UNCERTAIN, FALSE);
    storage_world_log(world);
    create_pod(world, "b", "node-1");
    go_on(world, 13 * SIM_SECOND);
    attacher_lets_go(world, VA_1);
    go_on(world, SIM_SECOND);
    assert_calls(world, 0, 0);
    go_on(world, 16 * SIM_SECOND);
    assert_calls(world, 1, 0);
}

/* ADC-58: uncertain there, it may be attached here at once; but only one operation on the volume at
 * a time. */
static void
uncertain_blocks_nobody(StorageWorld *world)
{
    RulesRefusal refusal = {API_DELETE, KIND_ATTACHMENT, API_FORBIDDEN, 1, 0};

    attached_pod(world);
    api_server_set_fault(world->api, rules_refuse, &refusal);
    remove_pod(world, "a");
    create_pod(world, "b", "node-2");
    kubelet_uses(world, "node-1", NULL);
    go_on(world, 350 * SIM_MS);
    assert_int_equal(refusal.n_refused, 1);
    assert_calls(world, 1, 1);
    go_on(world, SIM_MINUTE);
    assert_calls(world, 0, 0); /* the detach waits for the attach to end */
    attacher_says(world, VA_2, TRUE, NULL);
    go_on(world, 10 * SIM_SECOND);
    assert_calls(world, 0, 1);
}

/* ADC-55: each pod is told once, and again only when it comes anew. */
static void
multi_attach_is_told_once(StorageWorld *world)
{
    attached_pod(world);
    create_pod(world, "b", "node-2");
    go_on(world, 30 * SIM_MINUTE);
    assert_int_equal(api_server_n_events(world->api), 2); /* the first: a's success */
    assert_int_equal(api_server_event(world->api, 1)->count, 1);
    remove_pod(world, "b");
    go_on(world, SIM_SECOND);
    create_pod(world, "d", "node-2");
    go_on(world, 30 * SIM_MINUTE);
    assert_int_equal(api_server_n_events(world->api), 3);
}

/* OP-10. */
static void
percent_in_an_error(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, SIM_SECOND);
    attacher_says(world, VA_1, FALSE, "quota used to 100% of 5");
    go_on(world, SIM_SECOND);
    assert_string_equal(api_server_event(world->api, 0)->message,
                        "AttachVolume.Attach failed for volume \"v\" : quota used to "
                        "100%!o(MISSING)f 5");
}

typedef struct {
    const char *title;
    void (*tell)(StorageWorld *world);
    void (*set_flags)(const ProcessClass *class, void *flags);
} RulesStory;

static void
no_force_detach(const ProcessClass *class, void *flags)
{
    (void)class;
    ((KubeControllerManagerOptions *)flags)->disable_force_detach_on_timeout = TRUE;
}

static void
no_verification(const ProcessClass *class, void *flags)
{
    (void)class;
    ((KubeControllerManagerOptions *)flags)->disable_attach_detach_reconcile_sync = TRUE;
}

static void
too_frequent_verification(const ProcessClass *class, void *flags)
{
    (void)class;
    ((KubeControllerManagerOptions *)flags)->attach_detach_reconcile_sync_period = SIM_SECOND - 1;
}

static const RulesStory stories[] = {
    {"ad-ADController-02 dangling, attached",                 dangling_attached,              NULL                     },
    {"ad-ADController-03 dangling, not attached",             dangling_not_attached,          NULL                     },
    {"ad-ADController-06 restart, no new pods",               restart_0_0,                    NULL                     },
    {"ad-ADController-07 restart, a new pod before",          restart_1_0,                    NULL                     },
    {"ad-ADController-08 restart, a new pod after",           restart_0_1,                    NULL                     },
    {"ad-ADController-09 restart, one before and one after",  restart_1_1,                    NULL                     },
    {"ad-ADPopulator-01 in and out of desired state",         populator,                      NULL                     },
    {"ad-ADReconciler-01 nothing is desired",                 nothing_is_desired,             NULL                     },
    {"ad-ADReconciler-02 attached once",                      attached_once,                  NULL                     },
    {"ad-ADReconciler-04 forced from a node that is gone",    mounted_on_a_node_that_is_gone, NULL                     },
    {"ad-ADReconciler-06 shared by two nodes",                shared_by_two_nodes,            NULL                     },
    {"ad-ADReconciler-08 an attach that times out but works", attach_times_out_but_works,     NULL                     },
    {"ad-ADReconciler-09 one that always times out",          attach_always_times_out,        NULL                     },
    {"ad-ADReconciler-11 a detach that fails",                detach_fails,                   NULL                     },
    {"ad-ADReconciler-14 healthy nodes are not forced",       healthy_nodes_are_not_forced,   NULL                     },
    {"ad-ADReconciler-15 nobody is forced",                   force_is_switched_off,          no_force_detach          },
    {"ad-NodeStatusUpdater-01 two nodes are told",            two_nodes_are_told,             NULL                     },
    {"ADC-2 the check is switched off",                       nothing_is_verified,            no_verification          },
    {"ADC-2 the check is too frequent",                       nothing_is_verified,            too_frequent_verification},
    {"ADC-9 a node that attaches by itself",                  node_is_not_managed,            NULL                     },
    {"ADC-29 known by its name only",                         known_by_name_only,             NULL                     },
    {"ADC-37 a Node made anew",                               node_is_made_anew,              NULL                     },
    {"ADC-45 a node that cannot be told",                     node_cannot_be_told,            NULL                     },
    {"ADC-50 the VolumeAttachment is deleted",                attachment_is_deleted,          NULL                     },
    {"ADC-50 it is not attached any more",                    attachment_is_not_attached,     NULL                     },
    {"ADC-50 a Node that is wrong at the start",              node_is_wrong_at_the_start,     NULL                     },
    {"ADC-55 told once",                                      multi_attach_is_told_once,      NULL                     },
    {"ADC-57 the Node says no",                               node_says_no,                   NULL                     },
    {"ADC-57 the Node cannot be asked",                       node_cannot_be_asked,           NULL                     },
    {"ADC-58 uncertain blocks nobody",                        uncertain_blocks_nobody,        NULL                     },
    {"ADC-63 a driver that needs no attach any more",         driver_needs_no_attach,         NULL                     },
    {"ADC-65 the old one is going",                           old_attachment_is_going,        NULL                     },
    {"ADC-V11 a volume a minute",                             one_volume_a_minute,            NULL                     },
    {"OP-10 a percent sign",                                  percent_in_an_error,            NULL                     },
};

static void
rules_tell_story(void **state)
{
    const RulesStory *story = *state;

    for (unsigned i = 0; i < 2; i++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = i + 1,
                                                          .polling = i == 1,
                                                          .set_flags = story->set_flags});
        story->tell(&world);
        storage_world_clear(&world);
    }
}
TEST_ROWS(stories, rules_tell_story);

/* ---- INT-3: the controller attaches in-tree volumes itself ---- */

static void *
rules_no_options(void *data, const ProcessClass *class)
{
    (void)data, (void)class;
    return NULL;
}

static void
rules_see_call(void *data, const CsiCallRecord *record)
{
    const CsiRequest *request = record->request;
    const CsiCapability *capability = request->n_capabilities > 0 ? request->capabilities : NULL;

    g_string_append_printf(data, "%s %s to %s as %s %s\n", csi_method_name(request->method),
                           request->volume_id, request->node_id,
                           csi_access_mode_name(capability->mode),
                           capability->type == CSI_ACCESS_BLOCK ? "block" : "mount");
}

TEST(in_tree_volumes_are_attached_as_they_are)
{
    static const struct {
        VolumeMode mode;
        AccessModes modes;
        const char *call;
    } rows[] = {
        {VOLUME_FILESYSTEM, ACCESS_RWO,
         "ControllerPublishVolume vol-1 to node-1 as SINGLE_NODE_WRITER mount\n"    },
        {VOLUME_BLOCK,      ACCESS_RWO,
         "ControllerPublishVolume vol-1 to node-1 as SINGLE_NODE_WRITER block\n"    },
        {VOLUME_FILESYSTEM, ACCESS_ROX,
         "ControllerPublishVolume vol-1 to node-1 as MULTI_NODE_READER_ONLY mount\n"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        StorageWorld world;
        g_autoptr(GString) calls = g_string_new(NULL);
        CsiModelledOptions options;
        storage_world_init(&world, &(StorageWorldOptions){.minor_version = 22});
        csi_modelled_options_init(&options);
        options.name = word(&world, "ebs.csi.aws.com");
        options.adopts_unknown_volumes = TRUE;
        CsiDriver *driver = csi_modelled_driver_base(
            csi_modelled_driver_new(world.sim, objects_strings(world.objects), &options, NULL));
        world.driver = driver;
        csi_driver_add_observer(driver, &(CsiObserver){.answered = rules_see_call, .data = calls});
        cluster_add_driver(world.cluster, driver, options.name,
                           &(NodePluginOptions){.attaches = TRUE}, rules_no_options, NULL);
        const VolumeSource source = {.refs = REF_COUNT_ONE,
                                     .plugin = "awsElasticBlockStore",
                                     .handle = word(&world, "vol-1"),
                                     .in_tree = in_tree_plugin_find("kubernetes.io/aws-ebs")};
        Volume *volume = storage_world_volume(&world, "v", 1, "fast");
        const Object *claim =
            storage_world_create(&world, storage_world_claim(&world, "c", 1, "fast"));
        volume_source_unref(volume->source);
        volume->source = volume_source_new(&source);
        volume->volume_mode = rows[i].mode;
        volume->access_modes = rows[i].modes;
        volume->claim_ref = (ClaimReference){claim->key, claim->uid, 1};
        storage_world_create(&world, volume);
        bind_claim(&world, "c", "v");
        create_node(&world, "node-1", NULL, NULL);
        csi_driver_add_node(driver, word(&world, "node-1"), word(&world, "node-1"), NULL);
        storage_world_start(&world);
        create_pod(&world, "p", "node-1");
        go_on(&world, SIM_MINUTE);
        assert_string_equal(calls->str, rows[i].call);
        storage_world_clear(&world);
    }
}
