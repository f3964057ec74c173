/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/external-resizer/resizer.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world-asserts.h"

/* Changes of a claim's class of attributes: the requests, calls, Events and the status that they
 * leave. */

const ModelClass *const model_classes[] = {&external_resizer_class, NULL};

#define MS(ms) ((ms)*SIM_MS)
#define MARK "PATCH_STATUS PersistentVolumeClaim"
#define CALL "ControllerModifyVolume"
#define WRITE "PATCH PersistentVolume"
#define CHANGED(class)                                                                             \
    "VolumeModify x1: external resizer is modifying volume data with vac " class                   \
        "; VolumeModifySuccessful x1: external resizer modified volume data with vac " class " su" \
                                                                                             "cce" \
                                                                                             "ssf" \
                                                                                             "ull" \
                                                                                             "y "

typedef struct {
    const char *had; /* NULL: no class */
    const ObjectKey *claim;
    ObjectUid uid;
} Start;

static gboolean
modify_bind_claim(Object *object, const void *data)
{
    const Start *start = data;
    Claim *claim = CLAIM(object);

    claim->phase = CLAIM_BOUND;
    claim->capacity_bytes = claim->request_bytes;
    claim->current_attributes_class = start->had;
    return TRUE;
}

static gboolean
bind_volume(Object *object, const void *data)
{
    const Start *start = data;

    VOLUME(object)->claim_ref = (ClaimReference){start->claim, start->uid, 0};
    return TRUE;
}

static const Claim *
the_claim(World *world)
{
    return CLAIM_CONST(world_get(world, KIND_CLAIM, "data"));
}

static const Volume *
the_volume(World *world)
{
    return VOLUME_CONST(world_get(world, KIND_VOLUME, "pv"));
}

/* A bound claim, its volume, and the classes silver and gold. */
static World *
world_with_claim(const SidecarWorldOptions *options, const char *had)
{
    World *world = world_new(options);
    Claim *claim = world_claim(world, "data", "fast", NULL);
    Volume *volume = world_volume(world, "pv");
    Start start = {.had = had == NULL ? NULL : world_intern(world, had)};

    world_create(world, &world_class(world, "fast", BINDING_IMMEDIATE, RECLAIM_DELETE)->meta);
    world_create(world, world_attributes_class(world, "silver", WORLD_DRIVER, "iops"));
    world_create(world, world_attributes_class(world, "gold", WORLD_DRIVER, "iops"));
    claim->volume_name = world_intern(world, "pv");
    claim->attributes_class = volume->attributes_class = start.had;
    world_create(world, &claim->meta);
    world_create(world, &volume->meta);
    world_edit_status(world, KIND_CLAIM, "data", modify_bind_claim, &start);
    start.claim = the_claim(world)->meta.key;
    start.uid = the_claim(world)->meta.uid;
    world_edit(world, KIND_VOLUME, "pv", bind_volume, &start);
    world_run(world, MS(1000));
    g_free(world_take_log(world));
    return world;
}

static gboolean
modify_set_class(Object *object, const void *name)
{
    CLAIM(object)->attributes_class = name;
    return TRUE;
}

static void
ask_for(World *world, const char *class)
{
    world_edit(world, KIND_CLAIM, "data", modify_set_class, world_intern(world, class));
}

/* "Infeasible gold, has silver: ModifyingVolume" */
static void
assert_status(World *world, const char *expected)
{
    const Claim *claim = the_claim(world);
    g_autoptr(GString) found = g_string_new(claim->modify_status);
    const char *target = claim->modify_target, *current = claim->current_attributes_class;

    g_string_append_printf(found, " %s, has %s:", target == NULL ? "none" : target,
                           current == NULL ? "none" : current);
    for (unsigned i = 0; claim->conditions != NULL && i < claim->conditions->n_items; i++)
        g_string_append_printf(found, " %s", claim->conditions->items[i].type);
    assert_string_equal(found->str, expected);
}

/* ---- Drivers ---- */

static void
changes(World *world, CsiModelledOptions *options)
{
    const CsiModelledError *error = world->options.driver_arg;

    world_allow_changes(world, options, "iops");
    options->latency[CSI_CONTROLLER_MODIFY_VOLUME] = world_constant(world, MS(700));
    if (error == NULL)
        return;
    world->errors[0] = *error;
    options->errors = world->errors;
    options->n_errors = 1;
}

#define REFUSE(n, what)                                                                            \
    {                                                                                              \
        .method = CSI_CONTROLLER_MODIFY_VOLUME, .code = (what), .probability = 1, .count = (n)     \
    }
#define GATES .gate_on = "VolumeAttributesClass", .flag = "feature-gates"
#define ON GATES, .value = "VolumeAttributesClass=true", .driver = changes

static const CsiModelledError invalid = REFUSE(0, CSI_INVALID_ARGUMENT);
static const CsiModelledError invalid_once = REFUSE(1, CSI_INVALID_ARGUMENT);
static const CsiModelledError internal_twice = REFUSE(2, CSI_INTERNAL);
static const CsiModelledError aborted_once = REFUSE(1, CSI_ABORTED);

/* ---- What a change comes to ---- */

static const struct {
    const char *title;
    const char *had, *wanted;
    const CsiModelledError *error;
    const char *log, *status, *volume_class, *events;
} changes_cases[] = {
    {"RSZ-66, RSZ-67: another class",                                           "silver", "gold",    NULL,     MARK ", " CALL ", " WRITE ", " MARK,
     " none, has gold:",                             "gold",   CHANGED("gold")       },
    {"RSZ-66, RSZ-67: the first class",                                         NULL,     "gold",    NULL,     MARK ", " CALL ", " WRITE ", " MARK,
     " none, has gold:",                             "gold",   CHANGED("gold")       },
    {"RSZ-65: a class that is not there",                                       "silver", "nothere", NULL,     MARK,
     "Pending none, has silver:",                    "silver", ""                    },
    {"RSZ-68: infeasible",                                                      "silver", "gold",    &invalid,
     MARK ", " CALL " INVALID_ARGUMENT, " MARK ", " MARK,
     "Infeasible gold, has silver: ModifyingVolume", "silver",
     "VolumeModify x1: external resizer is modifying volume data with vac gold; "
     "VolumeModifyFailed x1: rpc error: code = InvalidArgument desc = injected error"},
    {"RSZ-68: any other error, ABORTED too, is tried again from the beginning", "silver", "gold",
     &aborted_once,                                                                                            MARK ", " CALL " ABORTED, " MARK ", " MARK ", " CALL ", " WRITE ", " MARK,
     " none, has gold:",                             "gold",   NULL                  },
};

TEST(a_class_changes)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(changes_cases); i++) {
        SidecarWorldOptions options = {.seed = 1, .driver_arg = changes_cases[i].error, ON};
        g_autoptr(World) world = world_with_claim(&options, changes_cases[i].had);
        print_message("%s\n", changes_cases[i].title);
        ask_for(world, changes_cases[i].wanted);
        world_run(world, SIM_MINUTE);
        assert_log(world, changes_cases[i].log);
        assert_status(world, changes_cases[i].status);
        assert_string_equal(the_volume(world)->attributes_class, changes_cases[i].volume_class);
        if (changes_cases[i].events != NULL)
            assert_events_of(world, the_claim(world)->meta.key, changes_cases[i].events);
    }
}

/* RSZ-60: with the sidecar's gate off. */
TEST(nobody_changes_it)
{
    SidecarWorldOptions off = {
        .seed = 1, .driver = changes, GATES, .value = "VolumeAttributesClass=false"};
    g_autoptr(World) world = world_with_claim(&off, "silver");

    ask_for(world, "gold");
    world_run(world, SIM_MINUTE);
    assert_log(world, "");
}

/* RSZ-60: the sidecar does not look at the capability. */
TEST(a_driver_cannot)
{
    SidecarWorldOptions options = {.seed = 1, GATES, .value = "VolumeAttributesClass=true"};
    g_autoptr(World) world = world_with_claim(&options, "silver");

    ask_for(world, "gold");
    world_run(world, MS(1500));
    assert_log(world, MARK ", " CALL " UNIMPLEMENTED, " MARK);
    assert_status(world, "InProgress gold, has silver: ModifyVolumeError");
}

/* RSZ-68: 1 s, 2 s after each failure. */
TEST(a_final_error_is_retried)
{
    SidecarWorldOptions options = {.seed = 1, .driver_arg = &internal_twice, ON};
    g_autoptr(World) world = world_with_claim(&options, "silver");

    ask_for(world, "gold");
    world_run(world, SIM_MINUTE);
    assert_times(world, CALL, "1000 2700 5400");
    assert_status(world, " none, has gold:");
}

/* RSZ-63: the back-off comes after 1, 2, 4, ... 256 s; the first attempt after 5 min calls. */
TEST(an_infeasible_class_waits)
{
    SidecarWorldOptions options = {.seed = 1, .driver_arg = &invalid_once, ON};
    g_autoptr(World) world = world_with_claim(&options, "silver");

    ask_for(world, "gold");
    world_run(world, 20 * SIM_MINUTE);
    assert_times(world, CALL, "1000 512700");
    assert_status(world, " none, has gold:");
}

/* RSZ-64: going back calls nobody, and the old status stays. Then another class: RSZ-63. */
TEST(going_back_leaves_the_status)
{
    SidecarWorldOptions options = {.seed = 1, .driver_arg = &invalid_once, ON};
    g_autoptr(World) world = world_with_claim(&options, "silver");

    ask_for(world, "gold");
    world_run(world, SIM_MINUTE);
    g_free(world_take_log(world));
    ask_for(world, "silver");
    world_run(world, 20 * SIM_MINUTE);
    assert_log(world, "");
    assert_status(world, "Infeasible gold, has silver: ModifyingVolume");
    ask_for(world, "gold");
    world_run(world, 21 * SIM_MINUTE);
    assert_log(world, MARK ", " CALL ", " WRITE ", " MARK);
    assert_status(world, " none, has gold:");
}

/* RSZ-65: the class that comes later wakes nobody. */
TEST(a_late_class_wakes_nobody)
{
    SidecarWorldOptions options = {.seed = 1, ON};
    g_autoptr(World) world = world_with_claim(&options, "silver");

    ask_for(world, "late");
    world_run(world, MS(2000));
    world_create(world, world_attributes_class(world, "late", WORLD_DRIVER, "iops"));
    world_run(world, SIM_HOUR);
    assert_log(world, MARK);
    assert_status(world, "Pending none, has silver:");
}

/* RSZ-69: after a restart the call is repeated without a mark and without the first Event. */
TEST(a_restart_goes_on)
{
    SidecarWorldOptions options = {.seed = 1, ON};
    g_autoptr(World) world = world_with_claim(&options, "silver");

    ask_for(world, "gold");
    world_run(world, MS(1300));
    assert_true(cluster_crash(world->cluster, "external-resizer", WORLD_DRIVER));
    world_run(world, MS(3000));
    g_free(world_take_log(world));
    assert_true(cluster_restart(world->cluster, "external-resizer", WORLD_DRIVER));
    world_run(world, SIM_MINUTE);
    assert_log(world, CALL ", " WRITE ", " MARK);
    assert_status(world, " none, has gold:");
    assert_events_of(world, the_claim(world)->meta.key, CHANGED("gold"));

    /* The next change meets a nil pointer after the call; the successor begins again. */
    ask_for(world, "silver");
    world_run(world, 2 * SIM_MINUTE);
    assert_log(world, CALL ", " MARK ", " CALL ", " WRITE ", " MARK);
    assert_status(world, " none, has silver:");
}
