/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/api/secret.h"
#include "models/external-attacher/attacher-test.h"
#include "models/external-attacher/attacher.h"
#include "tests/lib/test.h"
#include "tests/sidecar/retries.h"

/* When the attacher tries again: tests/sidecar/retries.h. The attachments have finalizer and
 * annotation already, so that no own patch queues them once more (EA-36). Fresh ones are in
 * test-external-attacher.c. */

const ModelClass *const model_classes[] = {&external_attacher_class, NULL};

#define FINALIZER "external-attacher/csi-test-example"

/* For ControllerPublishVolume and for ControllerUnpublishVolume: EA-22, EA-24. The attacher gives a
 * call up after 15 s (EA-3); the retry meets the call that is still under way, until that is done.
 */
/* clang-format off */
static const RetryCase cases[] = {
    {"EA-3: takes 17 s", 17000, PLAIN, NULL, NULL, "0 16000 18000", TRUE},
    {"EA-3: takes 1 min", 60000, PLAIN, NULL, NULL, "0 16000 18000 22000 30000 46000 78000", TRUE},
    {"EA-3: the flag of the deadline", 17000, PLAIN, "timeout", "20s", "0", TRUE},
    {"EA-3: takes 17 s, and is undone at the deadline: never", 17000, FORGETS, NULL, NULL,
     "0 16000 33000 52000 75000 106000 153000 232000 375000 646000 961000", FALSE},
};
/* clang-format on */

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
publish(const RetryCase *row)
{
    g_autoptr(World) world = retry_world(row);

    create_marked(world);
    world_run(world, RETRY_TIME);
    assert_attempts(world, row);
    assert_int_equal(attachment(world)->attached, row->succeeds);
    assert_int_equal(n_published(world), row->succeeds); /* however often it was asked for */
    /* EA-6: only success clears the error. */
    assert_int_equal(attachment(world)->attach_error.message == NULL, row->succeeds);
}

static void
unpublish(const RetryCase *row)
{
    g_autoptr(World) world = retry_world(row);

    create_marked(world);
    world_run(world, 0);
    assert_true(attachment(world)->attached);
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, RETRY_TIME);
    assert_attempts(world, row);
    assert_int_equal(attachment(world) == NULL, row->succeeds);
    assert_int_equal(n_published(world), !row->succeeds);
    if (!row->succeeds)
        assert_non_null(attachment(world)->detach_error.message);
}

TEST(attempts_lie_on_the_grid)
{
    retry_all(CSI_CONTROLLER_PUBLISH_VOLUME, cases, G_N_ELEMENTS(cases), publish);
    retry_all(CSI_CONTROLLER_UNPUBLISH_VOLUME, cases, G_N_ELEMENTS(cases), unpublish);
}

/* EA-35: the volume may be attached in spite of the time-out: the driver is asked to detach, and
 * nothing is left. */
TEST(a_publish_that_timed_out_is_undone)
{
    const RetryCase row = {
        .title = "EA-35", .method = CSI_CONTROLLER_PUBLISH_VOLUME, .latency_ms = 20000};
    g_autoptr(World) world = retry_world(&row);

    create_marked(world);
    world_run(world, 15500 * SIM_MS);
    assert_false(attachment(world)->attached);
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, SIM_MINUTE);
    assert_null(attachment(world));
    assert_int_equal(n_published(world), 0);
}

/* EA-14: the attacher's own error in the status does not queue the attachment; a deletion does, at
 * once, and the back-off goes on. */
TEST(a_deletion_does_not_wait_for_the_back_off)
{
    const RetryCase row = {
        .title = "EA-14", .method = CSI_CONTROLLER_PUBLISH_VOLUME, .code = CSI_INTERNAL};
    g_autoptr(World) world = retry_world(&row);

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

TEST(finalizers_bear_the_drivers_name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(finalizer_cases); i++) {
        g_autofree char *finalizer = attacher_finalizer(finalizer_cases[i].driver);
        assert_string_equal(finalizer, finalizer_cases[i].finalizer);
    }
}

/* ---- Secrets (EA-19.6, EA-23) ---- */

static void
want_secrets(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->needs_secrets = TRUE;
}

/* @n_keys: of the Secret that the volume names; negative: there is none */
static World *
world_with_secret(int n_keys)
{
    World *world = world_new(&(SidecarWorldOptions){.seed = 1, .driver = want_secrets});
    Volume *volume = world_volume(world, "pv");
    VolumeSecrets *secrets = g_new0(VolumeSecrets, 1);

    secrets->refs = REF_COUNT_ONE;
    secrets->of[SECRET_CONTROLLER_PUBLISH] =
        (SecretReference){world_intern(world, "default"), world_intern(world, "keys")};
    volume->source->secrets = secrets;
    if (n_keys >= 0) {
        Object *secret = object_new(world_key(world, KIND_SECRET, "keys"));
        SECRET(secret)->n_keys = (uint32_t)n_keys;
        world_create(world, secret);
    }
    world_create(world, &volume->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, SIM_MINUTE);
    return world;
}

TEST(secrets_are_handed_on)
{
    static const struct {
        int n_keys;
        gboolean attached;
        const char *error; /* NULL: none */
    } rows[] = {
        {2,  TRUE,  NULL                                                                 },
        {0,  FALSE, "rpc error: code = Unauthenticated desc = secrets missing in request"},
        {-1, FALSE, "failed to load secret \"default/keys\": secrets \"keys\" not found" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(World) world = world_with_secret(rows[i].n_keys);
        assert_int_equal(attachment(world)->attached, rows[i].attached);
        if (rows[i].error != NULL)
            assert_string_equal(attachment(world)->attach_error.message, rows[i].error);
        world_delete(world, KIND_ATTACHMENT, "va");
        world_run(world, 2 * SIM_MINUTE);
        assert_int_equal(n_published(world), 0);
    }
}
