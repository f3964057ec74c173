/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "fault-world.h"
#include "models/apiserver/apiserver-test.h"
#include "models/csi/modelled/modelled-test.h"
#include "tests/lib/test.h"

/* The effects of each fault, and the delay after its end. */

#define AT (300 * SIM_SECOND)

static Run *
run_of(const Scenario *scenario, gboolean polling)
{
    Run *run = run_new(scenario, &(RunOptions){.seed = 1, .polling = polling}, NULL);

    assert_non_null(run);
    return run;
}

/* Counts writes within a time. */
typedef struct {
    Sim *sim;
    SimTime from, to;
    unsigned n;
    SimTime first; /* after @to; 0: none yet */
} FaultsWrites;

static void
faults_see_write(void *data, const Object *before, const Object *after)
{
    FaultsWrites *self = data;
    SimTime now = sim_now(self->sim);

    (void)before, (void)after;
    self->n += now > self->from && now <= self->to;
    if (now > self->to && self->first == 0)
        self->first = now;
}

/* During an outage nothing is written, not even an Event; a minute later all is as before. API-75:
 * clients return after their back-off, 30 to 60 s at most. */
TEST(outage)
{
    g_autoptr(Scenario) scenario =
        fault_world_new("  - {at: 300s, component: kube-apiserver, do: outage, for: 100s}\n",
                        "  - {at: 295s, delete: {kind: Pod, name: web-0}}\n");
    Run *run = run_of(scenario, FALSE);
    ApiServer *api = cluster_api(run_cluster(run));
    FaultsWrites writes = {.sim = run_sim(run), .from = AT, .to = AT + 100 * SIM_SECOND};

    api_server_observe(api, faults_see_write, &writes);
    sim_run_until(run_sim(run), AT);
    unsigned n_events = api_server_n_events(api);
    sim_run_until(run_sim(run), AT + 99 * SIM_SECOND);
    assert_true(api_server_is_down(api));
    assert_int_equal(api_server_n_events(api), n_events);
    assert_false(fault_world_is_ready(run));
    sim_run_until(run_sim(run), AT + 300 * SIM_SECOND);
    assert_int_equal(writes.n, 0);
    assert_in_range(writes.first - writes.to, 0, 60 * SIM_SECOND);
    assert_true(fault_world_is_ready(run));
    run_free(run);
}

/* CGO-62: a leader that cannot renew its lease for 10 s exits; it survives a shorter outage. */
TEST(lone_leaders_do_not_survive_an_outage)
{
    g_autoptr(Scenario) scenario =
        fault_world_new("  - {at: 200s, component: kube-apiserver, do: outage, for: 9s}\n"
                        "  - {at: 300s, component: kube-apiserver, do: outage, for: 60s}\n",
                        "");
    static const struct {
        int at_s;
        gboolean runs;
    } moments[] = {
        {212, TRUE },
        {309, TRUE },
        {311, FALSE},
        {359, FALSE},
        {362, TRUE }
    };
    Run *run = run_of(scenario, FALSE);

    for (unsigned i = 0; i < G_N_ELEMENTS(moments); i++) {
        unsigned n = 0;
        sim_run_until(run_sim(run), moments[i].at_s * SIM_SECOND);
        for (unsigned row = 0; model_classes[row] != NULL; row++)
            if (g_str_equal(model_classes[row]->process->name, "kube-scheduler"))
                n += cluster_model(run_cluster(run), model_classes[row], NULL) != NULL;
        assert_int_equal(n > 0, moments[i].runs);
    }
    run_free(run);
}

/* API-75, CGO-1: a change while watches are broken is seen by a list 0.8 to 1.6 s later. */
TEST(broken_watches)
{
    g_autoptr(Scenario) scenario =
        fault_world_new("  - {at: 300s, component: kube-apiserver, do: drop-watches}\n",
                        "  - {at: 300010ms, create: {manifest: {apiVersion: v1, kind: Pod, "
                        "metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}}}\n");
    Run *run = run_of(scenario, FALSE);
    const ObjectKey *key;

    sim_run_until(run_sim(run), AT + 800 * SIM_MS);
    key = objects_find_key(run_objects(run), KIND_POD, "default", "a");
    assert_non_null(key);
    assert_null(POD_CONST(api_server_get(cluster_api(run_cluster(run)), key))->node_name);
    sim_run_until(run_sim(run), AT + 1700 * SIM_MS);
    assert_non_null(POD_CONST(api_server_get(cluster_api(run_cluster(run)), key))->node_name);
    run_free(run);
}

/* API-90, API-92, CGO-42: a request without a seat is rejected after some time, repeated by its
 * client, and served in the end. */
TEST(no_seat_is_free)
{
    g_autoptr(Scenario) scenario = fault_world_new(
        "  - {at: 55s, component: kube-apiserver, do: limit-seats, seats: 1, for: 400s}\n"
        "  - {at: 55s, component: kube-apiserver, do: slow, factor: 3000, for: 100s}\n",
        "  - {at: 58s, create: {count: 40, manifest: {apiVersion: v1, kind: Pod, metadata: {name: "
        "a}, spec: {nodeName: n-0, containers: [{name: c, image: i}]}}}}\n");
    Run *run = run_of(scenario, FALSE);

    sim_run_until(run_sim(run), SCALE_DOWN_AT - SIM_SECOND);
    assert_true(api_server_n_turned_away(cluster_api(run_cluster(run))) > 0);
    assert_true(fault_world_is_ready(run));
    run_free(run);
}

typedef struct {
    unsigned n_staged, n_targets, n_attached;
} Places;

static void
count_places(void *data, const CsiModelledVolume *volume)
{
    const void *const *pair = data;
    const Run *run = pair[0];
    Places *places = (Places *)pair[1];
    const CsiModelledDriver *driver =
        csi_modelled_driver_cast(cluster_find_driver(run_cluster(run), "csi.lab"));

    places->n_attached += volume->n_published;
    for (uint32_t i = 0; i < objects_n_keys(run_objects(run), KIND_NODE); i++) {
        const char *node = objects_key_at(run_objects(run), KIND_NODE, i)->name;
        places->n_staged += csi_modelled_driver_is_staged(driver, volume->id, node);
        places->n_targets += csi_modelled_driver_n_targets(driver, volume->id, node);
    }
}

static Places
places_of(const Run *run)
{
    Places places = {0};
    const void *pair[] = {run, &places};

    csi_modelled_driver_each_volume(
        csi_modelled_driver_cast(cluster_find_driver(run_cluster(run), "csi.lab")), count_places,
        pair);
    return places;
}

/* KVM-68: a power cut removes mounts but not attachments; containers start again in the same pod */
TEST(reboot)
{
    g_autoptr(Scenario) scenario =
        fault_world_new("  - {at: 300s, nodeOfPod: web-0, do: reboot, restartAfter: 20s}\n", "");
    Run *run = run_of(scenario, FALSE);

    sim_run_until(run_sim(run), AT - SIM_SECOND);
    ObjectUid uid = fault_world_pod(run)->meta.uid;
    assert_int_equal(places_of(run).n_staged + places_of(run).n_targets, 2);
    unsigned n_started = fault_world_n_events(run, "Started");
    sim_run_until(run_sim(run), AT + SIM_SECOND);
    assert_int_equal(places_of(run).n_staged + places_of(run).n_targets, 0);
    assert_int_equal(places_of(run).n_attached, 1);
    sim_run_until(run_sim(run), AT + 60 * SIM_SECOND);
    assert_int_equal(places_of(run).n_staged + places_of(run).n_targets, 2);
    assert_true(object_uid_equal(fault_world_pod(run)->meta.uid, uid));
    assert_true(fault_world_is_ready(run));
    assert_int_equal(fault_world_n_events(run, "Started"), n_started + 1);
    run_free(run);
}

/* NL-2, NL-22: a node without network counts as dead although it runs; 10 s after its return the
 * node is ready, and so is its pod. */
TEST(cut_off)
{
    g_autoptr(Scenario) scenario =
        fault_world_new("  - {at: 300s, nodeOfPod: web-0, do: cut-network, for: 100s}\n", "");
    Run *run = run_of(scenario, FALSE);

    sim_run_until(run_sim(run), AT + 39 * SIM_SECOND);
    assert_true(fault_world_is_ready(run));
    sim_run_until(run_sim(run), AT + 60 * SIM_SECOND);
    assert_false(fault_world_is_ready(run));
    assert_int_equal(places_of(run).n_targets, 1);
    sim_run_until(run_sim(run), AT + 170 * SIM_SECOND);
    assert_true(fault_world_is_ready(run));
    assert_int_equal(fault_world_n_events(run, "Killing"), 0);
    run_free(run);
}

/* CGO-62: the leader exits when it loses the lease, and the other replica takes over when the lease
 * has expired: 13 to 24 s later. */
TEST(lost_leadership)
{
    g_autoptr(Scenario) scenario = fault_world_new(
        "  - {at: 300s, component: kube-controller-manager, do: lose-leadership}\n", "");
    Run *run = run_of(scenario, FALSE);
    const Cluster *cluster = run_cluster(run);

    sim_run_until(run_sim(run), AT - SIM_SECOND);
    assert_non_null(cluster_leader(cluster, "kube-controller-manager", NULL));
    sim_run_until(run_sim(run), AT + 10 * SIM_SECOND);
    assert_null(cluster_leader(cluster, "kube-controller-manager", NULL));
    sim_run_until(run_sim(run), AT + 26 * SIM_SECOND);
    assert_non_null(cluster_leader(cluster, "kube-controller-manager", NULL));
    run_free(run);
}

/* Sleeping loops see every fault as polling loops do. */
static const char *const polled[] = {
    "node: n-0, do: power-off, restartAfter: 30s",
    "zone: a, do: reboot, restartAfter: 10s",
    "zone: a, do: shut-down, restartAfter: 30s",
    "node: n-1, do: cut-network, for: 50s",
    "component: kube-controller-manager, do: hang, for: 20s",
    "component: kube-scheduler, do: slow, factor: 500, for: 50s",
    "component: kube-apiserver, do: outage, for: 5s",
    "component: kube-apiserver, do: outage, for: 30s",
    "component: kube-apiserver, do: slow, factor: 100, for: 30s",
    "component: kube-apiserver, do: drop-watches",
    "component: kube-apiserver, do: limit-seats, seats: 1, for: 30s",
    "driver: csi.lab, do: hang, for: 20s",
    "driver: csi.lab, do: restart, restartAfter: 5s",
};

static void
faults_sleeping_equals_polling(void **state)
{
    const char *const *fault = *state;
    g_autofree char *line = g_strdup_printf("  - {at: 67s, %s}\n", *fault);
    g_autoptr(Scenario) scenario =
        fault_world_new(line, "  - {at: 100s, delete: {kind: Pod, name: web-0}}\n");
    Run *sleeping = run_of(scenario, FALSE), *polling = run_of(scenario, TRUE);

    sim_run_until(run_sim(sleeping), 160 * SIM_SECOND);
    sim_run_until(run_sim(polling), 160 * SIM_SECOND);
    const ApiServer *one = cluster_api(run_cluster(sleeping)),
                    *other = cluster_api(run_cluster(polling));
    assert_int_equal(api_server_resource_version(one), api_server_resource_version(other));
    assert_int_equal(api_server_n_events(one), api_server_n_events(other));
    for (unsigned i = 0; i < api_server_n_events(one); i++)
        assert_true(api_server_event(one, i)->written_at == api_server_event(other, i)->written_at);
    run_free(sleeping);
    run_free(polling);
}
TEST_ROWS(polled, faults_sleeping_equals_polling);

/* A failed action leaves a note (WL-110) and the run continues: after all of them a good patch
 * still works. */
TEST(what_is_refused_is_told)
{
#define BARE(name, volumes)                                                                        \
    "create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: " name                        \
    "}, spec: {containers: [{name: c, image: i}]" volumes "}}}"
    static const struct {
        const char *actions;
        const char *note; /* NULL: none */
    } cases[] = {
        {"  - {at: 3m, drain: {nodeOfPod: web-0}}\n",                                          NULL                                             },
        {"  - {at: 2m, " BARE("bare",                                                          "") "}\n  - {at: 3m, drain: {nodeOfPod: bare}}\n",
         "cannot delete Pods that declare no controller (force: true allows it): default/bare"},
        {"  - {at: 2m, " BARE("bare",
         "") "}\n  - {at: 3m, drain: {nodeOfPod: bare, force: true}}\n",
         NULL},
        {"  - {at: 2m, " BARE(
             "bare",                                                                                 ", volumes: [{name: s, emptyDir: {}}]") "}\n"
                                                             "  - {at: 3m, drain: {nodeOfPod: "
                                                             "bare, force: true}}\n",                                                                                                                                  "cannot delete Pods with local storage (deleteEmptyDirData: true allows it): "
         "default/bare"},
        {"  - {at: 2m, " BARE("bare", "") "}\n  - {at: 3m, " BARE("bare",                            "") "}\n",
         "pods \"bare\" already exists"},
        {"  - {at: 3m, patch: {kind: Pod, name: web-0, patch: {spec: "
         "{terminationGracePeriodSeconds: many}}}}\n",                                                          "the patch of Pod web-0 is refused: spec.terminationGracePeriodSeconds: Invalid value"                                                                        },
        {"  - {at: 3m, delete: {kind: Pod, name: web-*}}\n",                                                       NULL                                                                                                       },
    };
    static const char good[] = "  - {at: 4m, patch: {kind: StatefulSet, name: web, patch: "
                               "{metadata: {labels: {a: b}}}}}\n";

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *actions = g_strconcat(cases[i].actions, good, NULL);
        g_autoptr(Scenario) scenario = fault_world_new("", actions);
        Run *run = run_of(scenario, FALSE);
        sim_run_until(run_sim(run), AT);
        const GPtrArray *notes = run_notes(run);
        assert_int_equal(notes->len, cases[i].note != NULL);
        if (cases[i].note != NULL) {
            assert_non_null(strstr(notes->pdata[0], ": at 3m0"));
            assert_non_null(strstr(notes->pdata[0], cases[i].note));
        }
        const Object *set =
            api_server_get(cluster_api(run_cluster(run)),
                           objects_key(run_objects(run), KIND_STATEFUL_SET, "default", "web"));
        assert_string_equal(object_label(set, "a"), "b");
        run_free(run);
    }
}
