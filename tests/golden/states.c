/* SPDX-License-Identifier: GPL-3.0-or-later */
/* states DIR...: time travel agrees with recordings. At each milestone of a recording, that is at
 * every version of a claim, volume, VolumeAttachment or pod that a watching client saw, `get -o
 * json --at` shows the same object at the corresponding instant of a simulated run: equal in all
 * that the control plane decides. Runs of other seeds are asked as long as versions are missing,
 * since controllers race: which of two writes comes first differs from run to run, recorded ones
 * too.
 *
 * Not compared: the end of a pod, which the API server writes twice within one DELETE (grace period
 * 0, then gone) and a run once; times, uids, versions and hashes of templates; which node and zone
 * were chosen (a draw); the driver's own words (volume and attachment attributes); of pods, what
 * only the API server's defaults and containers fill in. */
#include <stdio.h>
#include <string.h>

#include "packed.h"
#include "run/kubectl/kubectl.h"
#include "run/results/snapshot.h"
#include "timeline.h"

#define SEEDS_MAX 40

/* Members that differ from run to run, at any depth. */
static const char *const dropped[] = {
    "creationTimestamp",
    "resourceVersion",
    "uid",
    "lastTransitionTime",
    "lastProbeTime",
    "lastPhaseTransitionTime",
    "time",
    "volumeAttributes",
    "attachmentMetadata",
    "deletionTimestamp",
    "observedGeneration",
    "controller-revision-hash"}; /* of a template: not simulated */

static void
drop_members(json_t *value)
{
    const char *key;
    json_t *member;
    void *next;
    gsize i;

    for (unsigned d = 0; d < G_N_ELEMENTS(dropped); d++)
        json_object_del(value, dropped[d]);
    json_object_foreach_safe(value, next, key, member) drop_members(member);
    json_array_foreach(value, i, member)
        drop_members(member);
}

/* The compared part of a pod: its node, phase and conditions. */
static json_t *
relevant_pod(json_t *object)
{
    json_t *node = value_at(object, "spec.nodeName"),
           *conditions = value_at(object, "status.conditions");
    json_t *relevant = json_pack("{s:s, s:O*, s:O*}", "phase", value_text(object, "status.phase"),
                                 "nodeName", node, "conditions", conditions);

    return relevant;
}

/* Returns: (owned): the compared part of an object, as "kind name {...}"; NULL: not compared */
static char *
relevant_text(const char *kind, json_t *object)
{
    static const char *const members[] = {"labels", "annotations", "finalizers",
                                          "deletionGracePeriodSeconds"};
    gboolean is_pod = strcmp(kind, "Pod") == 0,
             is_named = is_pod || strcmp(kind, "PersistentVolumeClaim") == 0;
    json_auto_t *relevant = json_object(), *copy = json_deep_copy(object);
    g_autoptr(GRegex) uids =
        g_regex_new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", 0, 0, NULL);
    g_autoptr(GRegex) places = g_regex_new("(node|zone)-[a-z][0-9]*", 0, 0, NULL);

    if (!is_named && strcmp(kind, "PersistentVolume") != 0 && strcmp(kind, "VolumeAttachment") != 0)
        return NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++) {
        json_t *member = json_object_get(json_object_get(copy, "metadata"), members[i]);

        if (member != NULL)
            json_object_set(relevant, members[i], member);
    }
    if (is_pod) {
        json_object_set_new(relevant, "pod", relevant_pod(copy));
    } else {
        json_object_set(relevant, "spec", json_object_get(copy, "spec"));
        json_object_set(relevant, "status", json_object_get(copy, "status"));
    }
    drop_members(relevant);

    char *json = json_dumps(relevant, JSON_SORT_KEYS | JSON_COMPACT);
    g_autofree char *text = g_strdup_printf(
        "%s %s %s", kind, is_named ? value_text(object, "metadata.name") : "", json);
    free(json);
    g_autofree char *without_uids = g_regex_replace_literal(uids, text, -1, 0, "UID", 0, NULL);
    return g_regex_replace(places, without_uids, -1, 0, "\\1", 0, NULL);
}

typedef struct {
    Sim *sim;
    GArray *times; /* SimTime, each once */
} Changes;

static void
states_object_changed(void *data, const Object *before, const Object *after)
{
    Changes *self = data;
    SimTime now = sim_now(self->sim);

    (void)before, (void)after;
    if (self->times->len == 0 || g_array_index(self->times, SimTime, self->times->len - 1) != now)
        g_array_append_val(self->times, now);
}

/* Returns: (owned): the times of all changes in the run of @seed */
static GArray *
change_times(const Scenario *scenario, uint64_t seed)
{
    const RunOptions options = {.seed = seed};
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    Changes changes = {.sim = run_sim(run), .times = g_array_new(FALSE, FALSE, sizeof(SimTime))};

    api_server_observe(cluster_api(run_cluster(run)), states_object_changed, &changes);
    run_execute(run);
    return changes.times;
}

/* The output of `get ... -o json --at` at each change of the run of @seed. */
static void
add_states(GHashTable *states, const Scenario *scenario, uint64_t seed)
{
    g_auto(GStrv) words = g_strsplit("get pvc,pv,volumeattachment,pods -A -o json", " ", -1);
    const RunOptions options = {.seed = seed};
    g_autoptr(GArray) times = change_times(scenario, seed);
    g_autoptr(Run) run = run_new(scenario, &options, NULL);

    for (unsigned t = 0; t < times->len; t++) {
        g_autoptr(GString) out = g_string_new(NULL), errors = g_string_new(NULL);

        run_advance(run, g_array_index(times, SimTime, t));
        json_auto_t *list = snapshot_take(run);
        g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(list);
        const KubectlRequest request = {
            .cluster = cluster, .now = snapshot_now(run), .out = out, .errors = errors};
        kubectl_run(&request, words);
        json_auto_t *shown = json_loads(out->str, 0, NULL);
        json_t *object;
        gsize i;
        json_array_foreach(value_at(shown, "items"), i, object) {
            char *text = relevant_text(value_text(object, "kind"), object);

            if (text != NULL)
                g_hash_table_add(states, text);
        }
    }
}

/* The first of the two writes that end a pod. */
static gboolean
is_last_moment(json_t *line)
{
    return strcmp(value_text(line, "kind"), "Pod") == 0 &&
           value_integer(line, "object.metadata.deletionGracePeriodSeconds", -1) == 0;
}

/* Returns: (owned): the versions that the client saw after the start, each once */
static GPtrArray *
recorded_states(const char *folder)
{
    GPtrArray *states = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned n = 1;; n++) {
        g_autofree char *run = g_strdup_printf("%s/run%u", folder, n);
        g_autofree char *contents = packed_text(run, "watch.jsonl", NULL);

        if (contents == NULL)
            return states;
        g_auto(GStrv) lines = g_strsplit(contents, "\n", -1);
        for (unsigned i = 0; lines[i] != NULL; i++) {
            json_auto_t *line = json_loads(lines[i], 0, NULL);

            if (line == NULL || value_is_true(line, "initial") || is_last_moment(line) ||
                strcmp(value_text(line, "type"), "DELETED") == 0)
                continue;
            char *text = relevant_text(value_text(line, "kind"), value_at(line, "object"));
            if (text == NULL || g_hash_table_contains(known, text)) {
                g_free(text);
                continue;
            }
            g_hash_table_add(known, text);
            g_ptr_array_add(states, text);
        }
    }
}

static unsigned
n_missing(GPtrArray *recorded, GHashTable *states)
{
    unsigned n = 0;

    for (unsigned i = 0; i < recorded->len; i++)
        n += !g_hash_table_contains(states, recorded->pdata[i]);
    return n;
}

static gboolean
compare_folder(const char *folder, unsigned *n_passed, unsigned *n_failed)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Timeline) timeline = timeline_read(folder, NULL, &error);
    g_autoptr(Scenario) scenario =
        timeline == NULL ? NULL : timeline_scenario(timeline, NULL, &error);
    g_autoptr(GPtrArray) recorded = recorded_states(folder);
    g_autoptr(GHashTable) states = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    if (scenario == NULL) {
        printf("%s: skipped: %s\n", folder, error->message);
        return FALSE;
    }
    for (uint64_t seed = 1; seed <= SEEDS_MAX && n_missing(recorded, states) > 0; seed++)
        add_states(states, scenario, seed);
    for (unsigned i = 0; i < recorded->len; i++)
        if (!g_hash_table_contains(states, recorded->pdata[i]))
            printf("%s: never shown: %s\n", folder, (char *)recorded->pdata[i]);
    *n_failed += n_missing(recorded, states);
    *n_passed += recorded->len - n_missing(recorded, states);
    return TRUE;
}

int
main(int argc, char **argv)
{
    unsigned n_passed = 0, n_failed = 0, n_skipped = 0;

    for (int i = 1; i < argc; i++)
        n_skipped += !compare_folder(argv[i], &n_passed, &n_failed);
    printf("%u passed, %u failed, %u skipped\n", n_passed, n_failed, n_skipped);
    return n_failed > 0;
}
