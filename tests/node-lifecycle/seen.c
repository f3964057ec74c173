/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "seen.h"
#include "tests/lib/test.h"

static void
once(SimTime *at, gboolean is_so, SimTime now)
{
    if (is_so && *at == TIME_UNSET)
        *at = now;
}

static void *
times_of(GHashTable *table, const Object *object, size_t size)
{
    SimTime *times = g_hash_table_lookup(table, object_name(object));

    if (times == NULL) {
        times = g_malloc0(size);
        for (unsigned i = 0; i < size / sizeof *times; i++)
            times[i] = TIME_UNSET;
        g_hash_table_insert(table, (void *)object_name(object), times);
    }
    return times;
}

static gboolean
has_taint(const Seen *self, const Node *node, TaintEffect effect)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (node->taints->items[i].effect == effect &&
            g_str_equal(node->taints->items[i].key, self->taint))
            return TRUE;
    return FALSE;
}

static void
seen_see_node(Seen *self, const Node *node, SimTime now)
{
    NodeSeen *times = times_of(self->nodes, &node->meta, sizeof *times);

    once(&times->unknown_at, node->ready.status == CONDITION_UNKNOWN, now);
    once(&times->no_schedule_at, has_taint(self, node, TAINT_NO_SCHEDULE), now);
    once(&times->schedulable_at,
         times->no_schedule_at != TIME_UNSET && !has_taint(self, node, TAINT_NO_SCHEDULE), now);
    once(&times->no_execute_at, has_taint(self, node, TAINT_NO_EXECUTE), now);
    once(&times->ready_again_at,
         times->unknown_at != TIME_UNSET && node->ready.status == CONDITION_TRUE, now);
    once(&times->untainted_at,
         times->no_execute_at != TIME_UNSET && !has_taint(self, node, TAINT_NO_EXECUTE), now);
}

static void
seen_see_pod(Seen *self, const Pod *before, const Pod *after, SimTime now)
{
    const Pod *pod = after == NULL ? before : after;
    PodSeen *times = times_of(self->pods, &pod->meta, sizeof *times);

    if (before != NULL && after != NULL)
        once(&times->not_ready_at, pod_is_ready(before) && !pod_is_ready(after), now);
    once(&times->ready_at, after != NULL && pod_is_ready(after), now);
    once(&times->deleted_at, object_is_deleted(&pod->meta), now);
    once(&times->gone_at, after == NULL, now);
    once(&times->ready_again_at,
         times->not_ready_at != TIME_UNSET && after != NULL && pod_is_ready(after), now);
}

static void
seen_see(void *data, const Object *before, const Object *after)
{
    Seen *self = data;
    SimTime now = sim_now(run_sim(self->run));
    ObjectKind kind = object_kind(after == NULL ? before : after);

    if (kind == KIND_NODE && after != NULL)
        seen_see_node(self, (const Node *)after, now);
    if (kind == KIND_POD)
        seen_see_pod(self, (const Pod *)before, (const Pod *)after, now);
}

Scenario *
scenario_of(const char *spec)
{
    g_autofree char *file = NULL;
    g_autofree char *text = g_strdup_printf(
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: t}\nspec:\n%s", spec);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    int descriptor = g_file_open_tmp("node-lifecycle-XXXXXX.yaml", &file, NULL);

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(g_file_set_contents(file, text, -1, NULL));
    Scenario *scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *fault = file_fault_text(faults->pdata[i]);
        print_message("%s\n", fault);
    }
    g_unlink(file);
    assert_non_null(scenario);
    return scenario;
}

Seen *
seen_watching(const Scenario *scenario, const RunOptions *options, const char *taint)
{
    Seen *self = g_new0(Seen, 1);

    self->taint = taint;
    self->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    self->pods = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    self->run = run_new(scenario, options, NULL);
    assert_non_null(self->run);
    api_server_observe(cluster_api(run_cluster(self->run)), seen_see, self);
    assert_int_equal(run_execute(self->run), RUN_DONE);
    return self;
}

Seen *
seen_new_with(const Scenario *scenario, const RunOptions *options)
{
    return seen_watching(scenario, options, UNREACHABLE);
}

Seen *
seen_new(const Scenario *scenario, uint64_t seed)
{
    return seen_new_with(scenario, &(RunOptions){.seed = seed});
}

void
seen_free(Seen *self)
{
    g_hash_table_unref(self->nodes);
    g_hash_table_unref(self->pods);
    run_free(self->run);
    g_free(self);
}

const NodeSeen *
seen_node(const Seen *self, const char *name)
{
    const NodeSeen *times = g_hash_table_lookup(self->nodes, name);
    static const NodeSeen never = {TIME_UNSET, TIME_UNSET, TIME_UNSET,
                                   TIME_UNSET, TIME_UNSET, TIME_UNSET};

    return times == NULL ? &never : times;
}

const PodSeen *
seen_pod(const Seen *self, const char *name)
{
    const PodSeen *times = g_hash_table_lookup(self->pods, name);

    assert_non_null(times);
    return times;
}

void
assert_within(SimTime at, SimTime after, double min_s, double max_s)
{
    double passed = (double)(at - after) / (double)SIM_SECOND;

    if (at == TIME_UNSET || passed < min_s || passed > max_s)
        fail_msg("%.3f s is not within %.3f and %.3f s", passed, min_s, max_s);
}

const Object *
seen_object(const Seen *self, ObjectKind kind, const char *name)
{
    const char *namespace = kind == KIND_POD ? "default" : NULL;
    const ObjectKey *key = objects_find_key(run_objects(self->run), kind, namespace, name);

    return key == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), key);
}

SimTime
seen_event_at(const Seen *self, const char *name, const char *reason)
{
    const ApiServer *api = cluster_api(run_cluster(self->run));

    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent *event = api_server_event(api, i);
        if (g_str_equal(event->involved->name, name) && g_str_equal(event->reason, reason))
            return event->written_at;
    }
    return TIME_UNSET;
}

unsigned
seen_n_events(const Seen *self, const char *name, const char *reason, const char *text)
{
    const ApiServer *api = cluster_api(run_cluster(self->run));
    unsigned n = 0;

    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent *event = api_server_event(api, i);
        if (g_str_equal(event->involved->name, name) && g_str_equal(event->reason, reason) &&
            (text == NULL || strstr(event->message, text) != NULL))
            n += event->count;
    }
    return n;
}
