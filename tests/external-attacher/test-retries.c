/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/external-attacher/attacher.h"
#include "tests/sidecar/world.h"

/* When the attacher tries again, to the millisecond: nothing takes time here but the driver. The
 * attachments have finalizer and annotation already, so that no own patch queues them once more
 * (EA-36) and each attempt lies on the grid of the back-off (EA-2: 1 s, doubling, at most 5 min),
 * counted from the end of the one before. Fresh ones are in test-external-attacher.c. */

const ModelClass *const model_classes[] = {&external_attacher_class, NULL};

#define FINALIZER "external-attacher/csi-test-example"
#define GRID "0 1000 3000 7000 15000 31000 63000 127000 255000 511000 811000 1111000"

typedef struct {
    const char *title;
    CsiMethod method;
    CsiCode code;     /* CSI_OK: it works */
    unsigned count;   /* so many times; 0: always */
    int latency_ms;   /* of every call */
    gboolean forgets; /* a call whose caller gives up is undone */
    const char *flag, *value, *flag2, *value2;
    const char *times; /* of the calls since the attachment came, or was deleted; for 20 min */
    gboolean succeeds;
} RetryCase;

/* Each for ControllerPublishVolume and for ControllerUnpublishVolume: EA-22, EA-24. */
static const RetryCase cases[] = {
    {.title = "EA-V3: for ever, at most every 5 min", .code = CSI_INTERNAL, .times = GRID},
    {                                                                 .title = "EA-2: counted from the end of a slow refusal",
     .code = CSI_INTERNAL,
     .count = 4,
     .latency_ms = 2500,
     .times = "0 3500 8000 14500 25000",
     .succeeds = TRUE},
    {                                                                                                                     .title = "EA-2: the flags of the grid",
     .code = CSI_INTERNAL,
     .count = 6,
     .flag = "retry-interval-start",
     .value = "5s",
     .flag2 = "retry-interval-max",
     .value2 = "30s",
     .times = "0 5000 15000 35000 65000 95000 125000",
     .succeeds = TRUE},
 /* Given up after 15 s; the retry meets the call that is still under way, until that is done. */
    {                                                                                                                                             .title = "EA-3: takes 17 s",                                   .latency_ms = 17000,                                         .times = "0 16000 18000",                                                                      .succeeds = TRUE},
    {                                                                                                       .title = "EA-3: takes 1 min",
     .latency_ms = 60000,
     .times = "0 16000 18000 22000 30000 46000 78000",
     .succeeds = TRUE},
    {.title = "EA-3: the flag of the deadline",
     .latency_ms = 17000,
     .flag = "timeout",
     .value = "20s",
     .times = "0",
     .succeeds = TRUE},
    {                                                                                                       .title = "EA-3: takes 17 s, and is undone at the deadline: never",
     .latency_ms = 17000,
     .forgets = TRUE,
     .times = "0 16000 33000 52000 75000 106000 153000 232000 375000 646000 961000"},
};

static void
obey(World *world, CsiModelledOptions *options)
{
    const RetryCase *row = world->options.driver_arg;
    CsiModelledError *error = &world->errors[0];

    options->latency[CSI_CONTROLLER_PUBLISH_VOLUME] = NULL;
    options->latency[CSI_CONTROLLER_UNPUBLISH_VOLUME] = NULL;
    options->latency[row->method] =
        row->latency_ms == 0 ? NULL : world_constant(world, row->latency_ms * SIM_MS);
    options->latency[CSI_LATENCY_REPEAT] = world_constant(world, 0);
    options->aborts_with_caller = row->forgets;
    if (row->code == CSI_OK)
        return;
    *error = (CsiModelledError){
        .method = row->method, .code = row->code, .probability = 1, .count = row->count};
    options->errors = error;
    options->n_errors = 1;
}

static World *
world_of(const RetryCase *row)
{
    WorldOptions options = {.seed = 1,
                            .driver = obey,
                            .driver_arg = row,
                            .flag = row->flag,
                            .value = row->value,
                            .flag2 = row->flag2,
                            .value2 = row->value2};

    return world_new(&options);
}

static const Attachment *
attachment(World *world)
{
    return (const Attachment *)world_get(world, KIND_ATTACHMENT, "va");
}

/* Attachment "va" of volume "pv" to node "b", as the attacher has marked it before. */
static void
create_marked(World *world)
{
    Attachment *marked = world_attachment(world, "va", "pv", "b");
    Volume *volume = world_volume(world, "pv");

    object_add_finalizer(&volume->meta, world_intern(world, FINALIZER));
    world_create(world, &volume->meta);
    object_add_finalizer(&marked->meta, world_intern(world, FINALIZER));
    object_set_annotation(&marked->meta, world_intern(world, ANNOTATION_NODE_ID),
                          world_intern(world, "b"));
    world_create(world, &marked->meta);
}

static unsigned
n_published(World *world)
{
    CsiModelledVolume volume;

    assert_true(csi_modelled_driver_get_volume(world->driver, world_intern(world, "pv"), &volume));
    return volume.n_published;
}

static void
assert_attempts(World *world, const RetryCase *row)
{
    g_autofree char *times = world_times(world, csi_method_name(row->method));

    if (strcmp(times, row->times) != 0)
        fail_msg("%s: %s at %s, not %s", row->title, csi_method_name(row->method), times,
                 row->times);
}

static void
publish(RetryCase row)
{
    row.method = CSI_CONTROLLER_PUBLISH_VOLUME;
    g_autoptr(World) world = world_of(&row);

    create_marked(world);
    world_run(world, 20 * SIM_MINUTE);
    assert_attempts(world, &row);
    assert_int_equal(attachment(world)->attached, row.succeeds);
    assert_int_equal(n_published(world), row.succeeds); /* however often it was asked for */
    /* EA-6: only success clears the error. */
    assert_int_equal(attachment(world)->attach_error.message == NULL, row.succeeds);
}

static void
unpublish(RetryCase row)
{
    row.method = CSI_CONTROLLER_UNPUBLISH_VOLUME;
    g_autoptr(World) world = world_of(&row);

    create_marked(world);
    world_run(world, 0);
    assert_true(attachment(world)->attached);
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, 20 * SIM_MINUTE);
    assert_attempts(world, &row);
    assert_int_equal(attachment(world) == NULL, row.succeeds);
    assert_int_equal(n_published(world), !row.succeeds);
    if (!row.succeeds)
        assert_non_null(attachment(world)->detach_error.message);
}

static void
attempts_lie_on_the_grid(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        publish(cases[i]);
        unpublish(cases[i]);
    }
}

/* EA-22: final and non-final errors alike. */
static void
each_error_is_retried_alike(void **state)
{
    (void)state;
    for (int code = CSI_OK + 1; code < CSI_N_CODES; code++) {
        RetryCase row = {
            .title = csi_code_name((CsiCode)code), .code = (CsiCode)code, .times = GRID};
        publish(row);
        unpublish(row);
    }
}

/* EA-35: what timed out may be attached all the same: the driver is asked to detach, and nothing is
 * left. */
static void
a_publish_that_timed_out_is_undone(void **state)
{
    const RetryCase row = {
        .title = "EA-35", .method = CSI_CONTROLLER_PUBLISH_VOLUME, .latency_ms = 20000};
    g_autoptr(World) world = world_of(&row);

    (void)state;
    create_marked(world);
    world_run(world, 15500 * SIM_MS);
    assert_false(attachment(world)->attached);
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, SIM_MINUTE);
    assert_null(attachment(world));
    assert_int_equal(n_published(world), 0);
}

/* EA-14: an own note of an error is no reason to look again, a deletion is, at once; the back-off
 * goes on. */
static void
a_deletion_does_not_wait_for_the_back_off(void **state)
{
    const RetryCase row = {
        .title = "EA-14", .method = CSI_CONTROLLER_PUBLISH_VOLUME, .code = CSI_INTERNAL};
    g_autoptr(World) world = world_of(&row);

    (void)state;
    create_marked(world);
    world_run(world, 8 * SIM_SECOND); /* the next attempt were at 15 s */
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(world_count(world, "ControllerUnpublishVolume", NULL, NULL), 1);
    assert_null(attachment(world));
}

/* EA-7, EA-V1, EA-V2 */
static const struct {
    const char *driver, *finalizer;
} finalizer_cases[] = {
    {"hostpath.csi.k8s.io",        "external-attacher/hostpath-csi-k8s-io"       },
    {"pangu.csi.alibabacloud.com", "external-attacher/pangu-csi-alibabacloud-com"},
    {"ebs.csi.aws.com.",           "external-attacher/ebs-csi-aws-com-X"         },
    {"UPPER_case/2",               "external-attacher/UPPER-case-2"              },
};

static void
finalizers_bear_the_drivers_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(finalizer_cases); i++) {
        g_autofree char *finalizer = attacher_finalizer(finalizer_cases[i].driver);
        assert_string_equal(finalizer, finalizer_cases[i].finalizer);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_lie_on_the_grid),
        cmocka_unit_test(each_error_is_retried_alike),
        cmocka_unit_test(a_publish_that_timed_out_is_undone),
        cmocka_unit_test(a_deletion_does_not_wait_for_the_back_off),
        cmocka_unit_test(finalizers_bear_the_drivers_name),
    };

    return cmocka_run_group_tests_name("external-attacher/retries", tests, NULL, NULL);
}
