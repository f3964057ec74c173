/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/external-health-monitor/external-health-monitor.h"
#include "tests/lib/test.h"

#include "tests/sidecar/world-asserts.h"

const ModelClass *const model_classes[] = {&external_health_monitor_class, NULL};

#define CONDITION CSI_CONTROLLER_VOLUME_CONDITION
#define LIST CSI_CONTROLLER_LIST_VOLUMES
#define GET CSI_CONTROLLER_GET_VOLUME_CAPABILITY
#define LISTED "ListVolumes"
#define ASKED "ControllerGetVolume"
#define DAMAGED "VolumeConditionAbnormal x1: it is damaged"
#define LOST "VolumeConditionAbnormal x3: a disk is lost"
#define HEALED "; VolumeConditionNormal x3: The Volume returns to the healthy state"

typedef struct {
    uint32_t capabilities;
    CsiMethod fails; /* always UNAVAILABLE; 0: none */
} Given;

static void
make_driver(World *world, CsiModelledOptions *options)
{
    const Given *given = world->options.driver_arg;

    options->controller_capabilities &=
        ~(uint32_t)(CONDITION | LIST | GET | CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES);
    options->controller_capabilities |= given->capabilities;
    if (given->fails == 0)
        return;
    world->errors[0] =
        (CsiModelledError){.method = given->fails, .code = CSI_UNAVAILABLE, .probability = 1};
    options->errors = world->errors;
    options->n_errors = 1;
}

static gboolean
conditions_set_phase(Object *object, const void *phase)
{
    VOLUME(object)->phase = *(const uint32_t *)phase;
    return TRUE;
}

static void
conditions_add_volume(World *world, const char *name, uint32_t phase)
{
    Volume *volume = world_volume(world, name);

    world_create(world, &world_claim(world, name, "class", NULL)->meta);
    volume->claim_ref.claim = world_key(world, KIND_CLAIM, name);
    world_create(world, &volume->meta);
    world_edit_status(world, KIND_VOLUME, name, conditions_set_phase, &phase);
}

static void
set_condition(World *world, const char *volume, const char *abnormal)
{
    assert_true(csi_modelled_driver_set_condition(world->driver, world_intern(world, volume),
                                                  abnormal != NULL, abnormal));
}

static void
assert_claim(World *world, const char *name, const char *expected)
{
    assert_events_of(world, world_key(world, KIND_CLAIM, name), expected);
}

/* ---- EHM-2, EHM-10, EHM-11, EHM-13, EHM-14, EHM-23: fifteen minutes abnormal, then not ---- */

typedef struct {
    const char *name;
    Given given;
    unsigned n_lists, n_gets; /* calls that succeed in the first nine minutes */
    const char *abnormal;     /* Events after fifteen minutes */
    const char *normal;       /* ... and those of the next fifteen minutes */
} ConditionCase;

static const ConditionCase condition_cases[] = {
    {"lists",                      {CONDITION | LIST, 0},                        2, 0, LOST, HEALED},
    {"lists, though it could ask", {CONDITION | LIST | GET, 0},                  2, 0, LOST, HEALED},
    {"lists fail",                 {CONDITION | LIST, CSI_LIST_VOLUMES},         0, 0, "",   ""    },
    {"questions fail",             {CONDITION | GET, CSI_CONTROLLER_GET_VOLUME}, 0, 0, "",   ""    },
    {"neither",                    {CONDITION, 0},                               0, 0, "",   ""    },
    {"no conditions",              {LIST | GET, 0},                              0, 0, "",   ""    },
    {"nothing",                    {0, 0},                                       0, 0, "",   ""    },
};

static void
abnormal_for_a_while(void **state)
{
    const ConditionCase *row = *state;
    SidecarWorldOptions options = {.seed = 1, .driver = make_driver, .driver_arg = &row->given};
    g_autoptr(World) world = world_new(&options);
    g_autofree char *both = g_strconcat(row->abnormal, row->normal, NULL);

    conditions_add_volume(world, "pv", VOLUME_BOUND);
    conditions_add_volume(world, "other", VOLUME_BOUND);
    world_run(world, SIM_SECOND);
    set_condition(world, "pv", "a disk is lost");
    world_run(world, 9 * SIM_MINUTE);
    assert_int_equal(world_count(world, LISTED, NULL, NULL), row->n_lists);
    assert_int_equal(world_count(world, ASKED, NULL, NULL), row->n_gets);
    world_run(world, 15 * SIM_MINUTE + 30 * SIM_SECOND);
    assert_claim(world, "pv", row->abnormal);
    set_condition(world, "pv", NULL);
    world_run(world, 30 * SIM_MINUTE + 30 * SIM_SECOND);
    assert_claim(world, "pv", both);
    assert_claim(world, "other", "");
}
TEST_ROWS(condition_cases, abnormal_for_a_while);

/* EHM-12: a lost volume has no Event. EHM-14: an hour after the last Event there is no other. */
TEST(lost_or_healed_late)
{
    const Given given = {CONDITION | LIST, 0};
    SidecarWorldOptions options = {.seed = 1, .driver = make_driver, .driver_arg = &given};
    g_autoptr(World) world = world_new(&options);

    conditions_add_volume(world, "pv", VOLUME_BOUND);
    conditions_add_volume(world, "lost", VOLUME_BOUND);
    world_run(world, SIM_SECOND);
    set_condition(world, "pv", "a disk is lost");
    set_condition(world, "lost", "a disk is lost");
    assert_true(csi_modelled_driver_lose_volume(world->driver, world_intern(world, "lost")));
    world_run(world, 7 * SIM_MINUTE);
    set_condition(world, "pv", NULL);
    world_run(world, 3 * SIM_HOUR);
    assert_claim(world, "pv",
                 "VolumeConditionAbnormal x1: a disk is lost; "
                 "VolumeConditionNormal x11: The Volume returns to the healthy state");
    assert_claim(world, "lost", "");
}

/* ---- EHM-20: so many calls from the first search with volumes, after 5 minutes, to the 10th
 * minute ---- */

typedef struct {
    const char *name;
    unsigned n_volumes;
    const char *n_workers;
    unsigned n_calls;
} ConditionsWorkerCase;

static const ConditionsWorkerCase worker_cases[] = {
    {"no volume",             0,  "10", 0 },
    {"one",                   1,  "10", 50},
    {"two",                   2,  "10", 50},
    {"thirty",                30, "10", 50},
    {"thirty for one worker", 30, "1",  5 },
};

static void
workers_rest(void **state)
{
    const ConditionsWorkerCase *row = *state;
    const Given given = {CONDITION | GET, 0};
    SidecarWorldOptions options = {.seed = 1,
                                   .driver = make_driver,
                                   .driver_arg = &given,
                                   .flag = "worker-threads",
                                   .value = row->n_workers};
    g_autoptr(World) world = world_new(&options);

    for (unsigned i = 0; i < row->n_volumes; i++) {
        g_autofree char *name = g_strdup_printf("pv-%u", i);
        conditions_add_volume(world, name, VOLUME_BOUND);
    }
    world_run(world, 9 * SIM_MINUTE + 30 * SIM_SECOND);
    assert_int_equal(world_count(world, ASKED, NULL, NULL), row->n_calls);
    assert_int_equal(world_count(world, LISTED, NULL, NULL), 0);
}
TEST_ROWS(worker_cases, workers_rest);

/* ---- EHM-21, EHM-22: a volume that is created, bound and deleted in these minutes ---- */

typedef struct {
    const char *name;
    int created, bound, deleted; /* -1: never */
    const char *events;          /* of its claim, by the 20th minute */
} PhaseCase;

static const PhaseCase phase_cases[] = {
    {"bound at the first search",  0, 0,  -1, DAMAGED},
    {"bound after it",             0, 7,  -1, ""     },
    {"bound at the second search", 7, 8,  -1, DAMAGED},
    {"never bound",                1, -1, -1, ""     },
    {"deleted before the search",  1, 2,  4,  ""     },
};

static void
queued_once(void **state)
{
    const PhaseCase *row = *state;
    const Given given = {CONDITION | GET, 0};
    SidecarWorldOptions options = {.seed = 1,
                                   .driver = make_driver,
                                   .driver_arg = &given,
                                   .flag = "worker-threads",
                                   .value = "1",
                                   .flag2 = "monitor-interval",
                                   .value2 = "16m"};
    const uint32_t bound = VOLUME_BOUND;
    g_autoptr(World) world = world_new(&options);

    for (int minute = 0; minute < 20; minute++) {
        if (minute == row->created) {
            conditions_add_volume(world, "pv",
                                  minute == row->bound ? VOLUME_BOUND : VOLUME_PENDING);
            set_condition(world, "pv", "it is damaged");
        } else if (minute == row->bound) {
            world_edit_status(world, KIND_VOLUME, "pv", conditions_set_phase, &bound);
        }
        if (minute == row->deleted)
            world_delete(world, KIND_VOLUME, "pv");
        world_run(world, (minute + 1) * SIM_MINUTE);
    }
    assert_claim(world, "pv", row->events);
}
TEST_ROWS(phase_cases, queued_once);
