/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/local-volume/local-volume.h"
#include "models/local-volume/placement.h"
#include "tests/lib/test.h"

const ModelClass *const model_classes[] = {&local_volume_controller_class, NULL};

#define GI (INT64_C(1) << 30)
#define MI (INT64_C(1) << 20)

/* LOC-12, LOC-13: nodes a, b and c with volumes "node:pool:GiB", in the order in which they are
 * tried. */
typedef struct {
    const char *name, *scheduler, *volumes, *order;
} PlacementOrderCase;

static const PlacementOrderCase order_cases[] = {
    {"nothing is there: the order of the nodes",   "",                 "",                                    "abc"},
    {"an empty node comes before all others",      "",                 "a:p:1 b:p:9",                         "cab"},
    {"the fewest bytes",                           "CapacityWeighted", "a:p:5 a:p:1 b:p:4 c:p:9",             "bac"},
    {"the fewest volumes",                         "VolumeWeighted",   "a:p:1 a:p:1 b:p:9 c:p:1 c:p:1 c:p:1", "bac"},
    {"equals keep their order",                    "",                 "a:p:2 b:p:1 b:p:1 c:p:2",             "abc"},
    {"other pools do not count",                   "",                 "a:q:9 b:p:1",                         "acb"},
    {"another spelling is CapacityWeighted",       "volumeweighted",   "a:p:1 a:p:1 b:p:9 c:p:1",             "cab"},
    {"a node that nobody wants",                   "",                 "z:p:9 a:p:1",                         "bca"},
    {"a volume of no bytes makes it occupied too", "",                 "a:p:0",                               "bca"},
};

static void
nodes_are_ordered(void **state)
{
    const PlacementOrderCase *row = *state;
    LocalCandidate candidates[] = {{.node = g_intern_string("a")},
                                   {.node = g_intern_string("b")},
                                   {.node = g_intern_string("c")}};
    g_auto(GStrv) volumes = g_strsplit(row->volumes, " ", -1);
    char order[G_N_ELEMENTS(candidates) + 1] = "";

    for (unsigned i = 0; volumes[i] != NULL; i++) {
        g_auto(GStrv) parts = g_strsplit(volumes[i], ":", -1);
        const LocalVolume volume = {.node = g_intern_string(parts[0]),
                                    .pool = parts[1],
                                    .capacity_bytes = g_ascii_strtoll(parts[2], NULL, 10) * GI};
        local_weigh(candidates, G_N_ELEMENTS(candidates), &volume, "p",
                    local_scheduler_of(row->scheduler));
    }
    local_order(candidates, G_N_ELEMENTS(candidates));
    for (unsigned i = 0; i < G_N_ELEMENTS(candidates); i++)
        order[i] = candidates[i].node[0];
    assert_string_equal(order, row->order);
}
TEST_ROWS(order_cases, nodes_are_ordered);

/* LOC-11 */
TEST(capacities_are_rounded)
{
    static const struct {
        int64_t bytes, rounded;
    } rows[] = {
        {0,             0        },
        {1,             MI       },
        {MI + 1,        2 * MI   },
        {GI,            GI       },
        {GI + 1,        2 * GI   },
        {5 * GI,        5 * GI   },
        {INT64_MAX - 1, INT64_MAX},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        assert_int_equal(local_round_capacity(rows[i].bytes), rows[i].rounded);
}

TEST(parameters_have_any_case)
{
    const StringPair pair = {"PoolName", "tank"};
    g_autoptr(StringMap) map = string_map_new(&pair, 1);

    assert_string_equal(local_parameter(map, "poolname"), "tank");
    assert_null(local_parameter(map, "scheduler"));
    assert_null(local_parameter(NULL, "poolname"));
}
