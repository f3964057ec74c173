/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "seen.h"

/* Kubelets that evict (EVM-1 to EVM-46): what becomes of pods on a node that runs short. */

#define MACHINE(extra)                                                                             \
    "  nodes:\n  - name: n-0\n    annotations:\n      kvolsim.io/capacity: memory=16Gi "           \
    "disk=100Gi inodes=1M pids=1k\n" extra
#define PODS "  workload:\n  - at: 0s\n    create:\n      manifest:\n"
#define POD_USING(name, uses, spec)                                                                \
    "      - {apiVersion: v1, kind: Pod, metadata: {name: " name                                   \
    ", annotations: {kvolsim.io/uses: " uses "}}, spec: {nodeName: n-0, " spec "}}\n"
#define ASKS(requests) "containers: [{name: c, image: i, resources: {requests: {" requests "}}}]"
#define LIMIT(limits) "{name: c, image: i, resources: {limits: {" limits "}}}"
#define DIR(limit) "volumes: [{name: d, emptyDir: {" limit "}}], containers: [{name: c, image: i}]"
#define MACHINE_USES(uses)                                                                         \
    "  - {at: 60s, patch: {kind: Node, name: n-0, patch: {metadata: {annotations: "                \
    "{kvolsim.io/uses: " uses "}}}}}\n"

static const Pod *
eviction_pod_of(Seen *seen, const char *name)
{
    const Object *pod = seen_object(seen, KIND_POD, name);

    assert_non_null(pod);
    return POD_CONST(pod);
}

static gboolean
is_evicted(Seen *seen, const char *name)
{
    const Pod *pod = eviction_pod_of(seen, name);

    return pod->phase == POD_FAILED && g_strcmp0(pod->reason, "Evicted") == 0;
}

/* "a b": the pods that are evicted at the end, of those named in @all */
static char *
evicted(Seen *seen, const char *all)
{
    g_auto(GStrv) names = g_strsplit(all, " ", -1);
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; names[i] != NULL; i++)
        if (is_evicted(seen, names[i]))
            g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", names[i]);
    return g_string_free(text, FALSE);
}

/* ---- Who goes, and what is said ---- */

typedef struct {
    const char *name, *kubelet, *pods, *then;
    const char *all, *gone; /* names */
    const char *message;    /* of the first that is gone */
    gboolean disrupted;
} EvictionStory;

#define TWO_WRITERS                                                                                \
    POD_USING("a", "disk start=2Gi", ASKS("ephemeral-storage: 1Gi"))                               \
    POD_USING("b", "disk start=3Gi", ASKS("ephemeral-storage: 4Gi"))

static const EvictionStory stories[] = {
    {"enough is free (EVM-13)",                 "",                    TWO_WRITERS,                                  MACHINE_USES("disk start=79Gi"),                                                                   "a b",                                                                                                                "",                              NULL,
     FALSE                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            },
    {                                                                                                                                                                                                                                                                                                                                                                                                                                             "one disk: 15 % of it are the images' (EVM-3), and one pod is enough (EVM-30)", "",
     TWO_WRITERS,                                                            MACHINE_USES("disk start=81Gi"),                                                                                               "a b",                                                                                                                                                                                                                                                                                                                   "a",
     "The node was low on resource: ephemeral-storage. Threshold quantity: 16106128000, available: "
     "14Gi. Container c was using 2Gi, request is 1Gi, has larger consumption of "
     "ephemeral-storage. ",                                                                                                                                                                                                                                                                                                                                                                                                                                                                         TRUE                                                                                                                                                                                                                                                                                                          },
    {                                                                                                                                                                                                                                                                                                                                                                  "a setting replaces all (EVM-10)",             "evictionHard: {nodefs.available: 10Gi}",                                                       TWO_WRITERS,
     MACHINE_USES("disk start=84Gi"),                                                                                                                                                                                           "a b",                                                                                                                     "",       NULL,                                                                                                                                                                                                                                                                                                                                                                                                                           FALSE                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              },
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "or adds to them (EVM-10)",
     "evictionHard: {nodefs.available: 1Gi}, mergeDefaultEvictionSettings: true",                            TWO_WRITERS,
     MACHINE_USES("disk start=81Gi"),                                                                                                                                               "a b",                                                                                                                                                                                                                         "a",                                                                                                                                                                                                                  "The node was low on resource",                                                                        TRUE                                                                                                                                                                                                                                                  },
    {                                                                                                                                                                                                                                                                                         "all, if one is not enough",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             "",                            TWO_WRITERS,                      MACHINE_USES("disk start=90Gi"),                                                                                    "a b",                                                                                                                                                "a b",
     "The node was low on resource: ephemeral-storage. ", TRUE                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                    },
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               "until enough is won back (EVM-12)",
     "evictionHard: {nodefs.available: 10Gi}, evictionMinimumReclaim: {nodefs.available: 3Gi}",                         TWO_WRITERS,                          MACHINE_USES("disk start=86Gi"),                                                                                                       "a b",                                                                                                                                                                                          "a b",
     "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi. ",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               TRUE                                                                                                                                                                                                                                                                                                                                       },
    { "a soft threshold waits (EVM-11)",
     "evictionHard: {}, evictionSoft: {memory.available: 4Gi}, evictionSoftGracePeriod: "
     "{memory.available: 10m}",                          POD_USING("a", "memory start=2Gi", ASKS("memory: 1Gi")), MACHINE_USES("memory start=13Gi"),
     "a",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               NULL, FALSE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       "and then it counts (EVM-11)",
     "evictionHard: {}, evictionSoft: {memory.available: 4Gi}, evictionSoftGracePeriod: "
     "{memory.available: 1m}",                                                    POD_USING("a",                                                                              "memory start=2Gi",                                                                                    ASKS("memory: 1Gi")),                                                                                                                                                                                      MACHINE_USES("memory start=13Gi"),
     "a",                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "a",
     "The node was low on resource: memory. Threshold quantity: 4Gi, available: 1Gi. Container c "
     "was using 2Gi, request is 1Gi, has larger consumption of memory. ", TRUE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                "memory: above the request first (EVM-30)",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "",
     POD_USING("a",                                                                       "memory start=5Gi",                                                                                                                                                                                                     ASKS("memory: 6Gi"))
         POD_USING("b",                                                                                                                                                                                               "memory start=1Gi",                                                                                                                                                                                                         ASKS("memory: 512Mi")),
     MACHINE_USES("memory start=10200Mi"), "a b", "b", "The node was low on resource: memory. ",
     TRUE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             "then the lower priority (EVM-30)",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "",
     POD_USING("a",                                                                                                         "memory start=5Gi",                                                                                                                                                                              "priority: 10, " ASKS("memory: 1Gi"))
         POD_USING("b",                                                                                                                                                                                                                                                             "memory start=2Gi",                                                                                                                                                                                                                                                                                                                                                            "priority: 1, " ASKS("memory: 1Gi")),
     MACHINE_USES("memory start=9200Mi"),                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "a b", "b", "The node was low on resource: memory. ",
     TRUE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "critical pods stay (EVM-32)",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                "",
     POD_USING("a",                                                          "memory start=5Gi",                                                                                                                                                       "priority: 2000000000, " ASKS("memory: 1Gi"))
         POD_USING("b",                                                                                                                                                                                                                                                                           "memory start=1Gi",                                                                                                                                                                                                                                                            ASKS("memory: 1Gi")),
     MACHINE_USES("memory start=11Gi"),                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     "a b", "b", "The node was low on resource: memory. ", TRUE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               "and if there are no others, all stay (EVM-31)",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                    "",
     POD_USING("a",                                                                                                 "memory start=5Gi",                                                                                                                                                                                             "priority: 2000000000, " ASKS("memory: 1Gi")),
     MACHINE_USES("memory start=11Gi"),                                                                                                                                                                                                                                                                                                                                    "a",                                                         "",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     NULL, FALSE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        "process ids",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        "evictionHard: {pid.available: 100}",
     POD_USING("a",                                                                          "pids start=300",                                                                                                                                                                        ASKS("")) POD_USING("b",                                                                                                                                                                                                                                                          "pids start=400",                                                                                                                                                                                                                                                                                     ASKS("")),
     MACHINE_USES("pids start=250"),                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "a b", "b",
     "The node was low on resource: pids. Threshold quantity: 100, available: 50. ", TRUE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          "inodes",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "",
     POD_USING("a",                                               "disk start=1Gi fileSize=2Ki",                                                                                                                                                                     ASKS(""))
         POD_USING("b",                                                                                                                                                                                                                                                                                    "disk start=5Gi fileSize=1Mi",                                                                                                                                                                                                                                                                                                                ASKS("")),
     MACHINE_USES("disk start=20Gi fileSize=48Ki"),                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                    "a b", "a",
     "The node was low on resource: inodes. ", TRUE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                "a fault leaves nothing (EVM-4)",                                               "", TWO_WRITERS,
     "  faults: [{at: 60s, node: n-0, do: disk-pressure, for: 1m}]\n",                                                                                                                                    "a b",                                                                                                                                                                                                                                                                                                                                   "a b",
     "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, available: "
     "0. ",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         TRUE                                                                                                                                                                                                                                                                                                      },
    {                                                                                                                                                                                                                                                                                                                                                                                                                        "an emptyDir over its limit (EVM-21)",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "",
     POD_USING("a",                                         "emptyDir/d start=500M step=100M every=10s",                                                                                                                                                                                                                DIR("sizeLimit: 1G"))
         POD_USING("b",                                                                                                                                                                                                                                                                                                                               "emptyDir/d start=500M",                                                                                                                                                                                                                                                                                                                                                           DIR("sizeLimit: 1G")),
     "",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                "a b", "a", "Usage of EmptyDir volume \"d\" exceeds the limit \"1G\". ", FALSE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                             "in memory it gets no larger (EVM-5)",                                          "",
     POD_USING("a",                                  "emptyDir/d start=2Gi",                                                                                                DIR("medium: Memory, sizeLimit: 1Gi")),                                                                                                                  "",                              "a",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "",
     NULL, FALSE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "a pod over the sum of its limits (EVM-22)",                                    "",
     POD_USING(
         "a",                       "disk start=600Mi; emptyDir/d start=600Mi",
     "volumes: [{name: d, emptyDir: {}}], containers: [" LIMIT("ephemeral-storage: 1Gi") "]"),
     "",                                                                                                                                                                                                                                                                                                                                                             "a",                                             "a",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
     FALSE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "a container over its own (EVM-23)",                                            "",
     POD_USING("a",
     "disk start=1200Mi",                                                                                                                                                                                                                "containers: [" LIMIT("ephemeral-storage: 1Gi") ", {name: e, image: i, resources: "
                                                               "{limits: {ephemeral-storage: "
                                                               "1Gi}}}]"),
     "",                                                                                                                                                                                                                                                                                                                                                             "a",                                                          "a",                                                                                                                                                                                                                                                                                                                                      "Container c exceeded its local ephemeral storage limit \"1Gi\". ", FALSE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                             "unless nobody looks (EVM-20)",                                                 "localStorageCapacityIsolation: false",
     POD_USING("a",                                                    "emptyDir/d start=2G",                                                                                                DIR("sizeLimit: 1G")),                                                                                                                  "",                              "a",                                                                                                                        "",                                                                                                                                                                                                                                                                                                                                      NULL, FALSE},
    {                                                                                                                                                                                                                                                                                                                                                                                                                                             "critical pods may have more (EVM-32)",                                         "",
     POD_USING("a",                           "emptyDir/d start=2G",                                                                                                "priority: 2000000000, " DIR("sizeLimit: 1G")),                                                                                                                  "",                                                                                                                                                                                                                                                                                                                                                                       "a",
     "",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   NULL, FALSE},
};

static void
pods_go_as_told(void **state)
{
    const EvictionStory *story = *state;
    g_autofree char *spec =
        g_strdup_printf("  until: 8m\n" MACHINE("    kubelet: {%s}\n") PODS "%s%s", story->kubelet,
                        story->pods, story->then);
    g_autoptr(Scenario) scenario = scenario_of(spec);

    for (uint64_t seed = 1; seed <= 3; seed++) {
        Seen *seen = seen_new(scenario, seed);
        g_autofree char *gone = evicted(seen, story->all);
        assert_string_equal(gone, story->gone);
        if (story->message != NULL) {
            const char first[] = {story->gone[0], '\0'};
            const Pod *pod = eviction_pod_of(seen, first);
            assert_true(g_str_has_prefix(pod->message, story->message));
            assert_int_equal(pod->disruption.status == CONDITION_TRUE, story->disrupted);
            assert_int_equal(seen_n_events(seen, first, "Evicted", pod->message), 1);
        }
        seen_free(seen);
    }
}

/* EVM-3: what containers write lies on the disk of the images, if there is one, and directories of
 * pods never do. Here pod "a" has directories and "b" writes less, or more on the other disk. */
static void
each_disk_has_its_own_users(void **state)
{
    static const struct {
        const char *capacity, *b_writes, *machine_uses;
    } rows[] = {
        {"disk=100Gi",             "1Gi", "disk start=83Gi"},
        {"disk=100Gi images=50Gi", "9Gi", "disk start=89Gi"},
    };

    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *spec = g_strdup_printf(
            "  until: 8m\n  nodes:\n  - name: n-0\n    annotations:\n      "
            "kvolsim.io/capacity: memory=16Gi inodes=1M pids=1k %s\n" PODS POD_USING(
                "a", "emptyDir/d start=2Gi", DIR("")) POD_USING("b", "disk start=%s", ASKS(""))
                MACHINE_USES("%s"),
            rows[i].capacity, rows[i].b_writes, rows[i].machine_uses);
        g_autoptr(Scenario) scenario = scenario_of(spec);
        Seen *seen = seen_new(scenario, 1);
        g_autofree char *gone = evicted(seen, "a b");
        assert_string_equal(gone, "a");
        seen_free(seen);
    }
}

/* ---- When ---- */

/* EVM-34: the next pass comes when the pod is cleaned up, so pods go within seconds of each other,
 * not one each 10 s. EVM-13: a pass comes 10 s after the last. */
static void
passes_follow_cleanups(void **state)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 5m\n" MACHINE("") PODS TWO_WRITERS MACHINE_USES("disk start=90Gi"));

    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        Seen *seen = seen_new(scenario, seed);
        SimTime first = seen_event_at(seen, "a", "Evicted");
        assert_within(first, 60 * SIM_SECOND, 0, 10.1);
        assert_within(seen_event_at(seen, "b", "Evicted"), first, 0.9, 4.1);
        seen_free(seen);
    }
}

/* NL-25, EVM-2: the condition stays for 5 minutes after the pod's files are gone. */
static void
pressure_ends_after_the_pod(void **state)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 8m\n" MACHINE("") PODS TWO_WRITERS MACHINE_USES("disk start=81Gi"));

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_watching(scenario, &(RunOptions){.seed = seed},
                                   "node.kubernetes.io/disk-pressure");
        SimTime evicted_at = seen_event_at(seen, "a", "Evicted");
        assert_within(seen_node(seen, "n-0")->no_schedule_at, evicted_at, 0, 10.6);
        assert_within(seen_node(seen, "n-0")->schedulable_at, evicted_at, 290, 320);
        seen_free(seen);
    }
}

/* ---- Admission ---- */

typedef struct {
    const char *name, *fault, *spec;
    gboolean admitted;
    const char *message;
} Comer;

/* clang-format off */
static const Comer comers[] = {
    {"no pressure (EVM-41)", "network-unavailable", ASKS(""), TRUE, NULL},
    {"memory, best effort (EVM-45)", "memory-pressure", ASKS(""), FALSE,
     "Pod was rejected: The node had condition: [MemoryPressure]. "},
    {"memory, with requests (EVM-43)", "memory-pressure", ASKS("cpu: 1"), TRUE, NULL},
    {"memory, tolerated (EVM-44)", "memory-pressure",
     "tolerations: [{key: node.kubernetes.io/memory-pressure, operator: Exists}], " ASKS(""), TRUE,
     NULL},
    {"disk, with requests (EVM-46)", "disk-pressure", ASKS("cpu: 1"), FALSE,
     "Pod was rejected: The node had condition: [DiskPressure]. "},
    {"disk, tolerated (EVM-46)", "disk-pressure", "tolerations: [{operator: Exists}], " ASKS(""),
     FALSE, "Pod was rejected: The node had condition: [DiskPressure]. "},
    {"process ids (EVM-46)", "pid-pressure", ASKS("cpu: 1"), FALSE,
     "Pod was rejected: The node had condition: [PIDPressure]. "},
    {"critical (EVM-42)", "disk-pressure", "priority: 2000000000, " ASKS(""), TRUE, NULL},
};
/* clang-format on */

static void
pods_come_or_not(void **state)
{
    const Comer *comer = *state;
    g_autofree char *spec = g_strdup_printf(
        "  until: 3m\n  nodes: [{name: n-0}]\n  workload:\n  - at: 100s\n    create:\n      "
        "manifest:\n      - {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n-0, "
        "%s}}\n  faults: [{at: 60s, node: n-0, do: %s}]\n",
        comer->spec, comer->fault);
    g_autoptr(Scenario) scenario = scenario_of(spec);
    Seen *seen = seen_new(scenario, 1);
    const Pod *pod = eviction_pod_of(seen, "p");

    if (comer->admitted) {
        assert_true(pod_is_ready(pod));
    } else {
        assert_true(is_evicted(seen, "p"));
        assert_string_equal(pod->message, comer->message);
        assert_int_equal(seen_n_events(seen, "p", "Evicted", "The node had condition:"), 1);
    }
    seen_free(seen);
}

/* EVM-1: without annotations a fault evicts nobody. */
static void
nobody_goes_untold(void **state)
{
    g_autoptr(Scenario) scenario = scenario_of("  until: 5m\n  nodes: [{name: n-0}]\n" PODS POD_ON(
        "app", "n-0") "  faults: [{at: 60s, node: n-0, do: disk-pressure}]\n");
    Seen *seen = seen_new(scenario, 1);

    (void)state;
    assert_true(pod_is_ready(eviction_pod_of(seen, "app")));
    assert_true(seen_event_at(seen, "n-0", "EvictionThresholdMet") == TIME_UNSET);
    seen_free(seen);
}

int
main(void)
{
    struct CMUnitTest tests[G_N_ELEMENTS(stories) + G_N_ELEMENTS(comers) + 3] = {
        cmocka_unit_test(each_disk_has_its_own_users),
        cmocka_unit_test(passes_follow_cleanups),
        cmocka_unit_test(pressure_ends_after_the_pod),
        cmocka_unit_test(nobody_goes_untold),
    };
    unsigned n = 3;

    for (unsigned i = 0; i < G_N_ELEMENTS(stories); i++)
        tests[n++] =
            (struct CMUnitTest){stories[i].name, pods_go_as_told, NULL, NULL, (void *)&stories[i]};
    for (unsigned i = 0; i < G_N_ELEMENTS(comers); i++)
        tests[n++] =
            (struct CMUnitTest){comers[i].name, pods_come_or_not, NULL, NULL, (void *)&comers[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
