/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/manifest.h"
#include "models/external-snapshotter/snapshotter.h"
#include "models/snapshot-controller/snapshot-controller.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world-asserts.h"

/* The snapshot-controller and a driver's csi-snapshotter together, and nothing else: each step of
 * one is a change that the other hears of. Only the waits of a case take time. */

const ModelClass *const model_classes[] = {&snapshot_controller_class, &external_snapshotter_class,
                                           NULL};

#define TAKE "CreateSnapshot"

#include "models/apiserver/apiserver-test.h"
#include "models/csi/modelled/modelled-test.h"
#include "tests/snapshot-controller/snapshot-world.h"

/* ---- A snapshot's whole life ---- */

/* All that is written for one snapshot, in order: the eleven writes of a clean one. */
TEST(every_write_of_a_clean_snapshot)
{
    const DriverCase driver = {.takes = SIM_SECOND, .ready_after = SIM_SECOND};
    g_autoptr(World) world = world_with_claim(&driver, "Delete");

    ask(world, "cut", "cuts");
    world_run(world, SIM_SECOND);
    assert_log(world, "UPDATE VolumeSnapshot, UPDATE PersistentVolumeClaim, GET PersistentVolume, "
                      "CREATE VolumeSnapshotContent, GET VolumeSnapshot, "
                      "PATCH VolumeSnapshotContent, PATCH VolumeSnapshotContent, "
                      "UPDATE_STATUS VolumeSnapshot, PATCH VolumeSnapshot, "
                      /* Each change of its own brings the snapshot back, and is read twice. */
                      "GET VolumeSnapshot, GET VolumeSnapshot, GET VolumeSnapshot, "
                      "GET VolumeSnapshot");
    assert_true(claim_is_held(world));
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(snapshot(world, "cut")->readiness, SNAPSHOT_READY);
    assert_int_equal(snapshot(world, "cut")->restore_bytes, INT64_C(1) << 30);
    assert_false(claim_is_held(world));
    assert_null(
        object_annotation(&content_of(world, "cut")->meta, ANNOTATION_SNAPSHOT_BEING_CREATED));
    assert_told(world, "cut",
                "CreatingSnapshot x1: Waiting for a snapshot default/cut to be created by the CSI "
                "driver.; "
                "SnapshotCreated x1: Snapshot default/cut was successfully created by the CSI "
                "driver.; "
                "SnapshotReady x1: Snapshot default/cut is ready to use.");
}

/* SNAP-48: nobody hears that a snapshot is ready, so it is asked for again after 1, 2, 4, ...
 * seconds, at most 300. */
TEST(asks_until_it_is_ready)
{
    static const struct {
        SimTime ready_after;
        const char *asked_at; /* ms */
    } cases[] = {
        {0,                "1000"                                                   },
        {500 * SIM_MS,     "1000 2000"                                              },
        {6 * SIM_SECOND,   "1000 2000 4000 8000"                                    },
        {40 * SIM_SECOND,  "1000 2000 4000 8000 16000 32000 64000"                  },
        {900 * SIM_SECOND,
         "1000 2000 4000 8000 16000 32000 64000 128000 256000 512000 812000 1112000"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const DriverCase driver = {.ready_after = cases[i].ready_after};
        g_autoptr(World) world = world_with_claim(&driver, "Delete");
        ask(world, "cut", "cuts");
        world_run(world, 1200 * SIM_SECOND);
        assert_times(world, TAKE, cases[i].asked_at);
        assert_int_equal(snapshot(world, "cut")->readiness, SNAPSHOT_READY);
    }
}

/* SNAP-32..34, SNAP-47: with policy Delete nothing is left; with Retain the content and the
 * driver's snapshot stay. */
TEST(deletes_as_its_policy_says)
{
    for (unsigned deletes = 0; deletes <= 1; deletes++) {
        g_autoptr(World) world = world_with_claim(NULL, deletes ? "Delete" : "Retain");
        (void)state;
        ask(world, "cut", "cuts");
        world_run(world, 5 * SIM_SECOND);
        g_autofree char *content = g_strdup(snapshot(world, "cut")->bound_content);
        world_delete(world, KIND_VOLUME_SNAPSHOT, "cut");
        world_run(world, 10 * SIM_SECOND);
        assert_null(snapshot(world, "cut"));
        assert_int_equal(world_get(world, KIND_SNAPSHOT_CONTENT, content) == NULL, deletes);
        assert_int_equal(csi_modelled_driver_n_snapshots(world->driver), deletes ? 0 : 1);
        assert_int_equal(world_count(world, "DeleteSnapshot", NULL, NULL), deletes);
    }
}

/* SNAP-43: kubectl delete of a content does nothing while its snapshot lives; the content goes with
 * the snapshot. */
TEST(a_content_goes_with_its_snapshot_only)
{
    g_autoptr(World) world = world_with_claim(NULL, "Delete");

    ask(world, "cut", "cuts");
    world_run(world, 5 * SIM_SECOND);
    g_autofree char *content = g_strdup(snapshot(world, "cut")->bound_content);
    world_delete(world, KIND_SNAPSHOT_CONTENT, content);
    world_run(world, 3600 * SIM_SECOND);
    assert_non_null(world_get(world, KIND_SNAPSHOT_CONTENT, content));
    world_delete(world, KIND_VOLUME_SNAPSHOT, "cut");
    world_run(world, 3610 * SIM_SECOND);
    assert_null(world_get(world, KIND_SNAPSHOT_CONTENT, content));
    assert_null(snapshot(world, "cut"));
}

/* SNAP-31: a claim that is to be restored from it holds its deletion, also some time after it is
 * bound. */
TEST(a_restore_holds_the_deletion_until_the_resync)
{
    const uint32_t bound = CLAIM_BOUND;
    g_autoptr(World) world = world_with_claim(NULL, "Delete");
    Claim *restored = world_claim(world, "restored", "lab", NULL);

    restored->data_source.api_group = world_intern(world, SNAPSHOT_API_GROUP);
    restored->data_source.kind = world_intern(world, "VolumeSnapshot");
    restored->data_source.name = world_intern(world, "cut");
    world_create(world, &restored->meta);
    ask(world, "cut", "cuts");
    world_run(world, 5 * SIM_SECOND);
    world_delete(world, KIND_VOLUME_SNAPSHOT, "cut");
    world_run(world, 10 * SIM_SECOND);
    world_edit_status(world, KIND_CLAIM, "restored", set_phase, &bound);
    world_run(world, 899 * SIM_SECOND);
    assert_non_null(snapshot(world, "cut"));
    world_run(world, 905 * SIM_SECOND);
    assert_null(snapshot(world, "cut"));
    /* The loss of its first finalizer brings the snapshot back, while the content is still there */
    assert_int_equal(world_count(world, "DELETE VolumeSnapshotContent", NULL, NULL), 2);
}

/* ---- Errors ---- */

typedef struct {
    unsigned at, n; /* which request is refused, and how many there were */
    ApiCode code;
} RefusedOnce;

static ApiCode
refuse_once(void *data, const ApiRequest *request, GString *message)
{
    RefusedOnce *refused = data;
    const ObjectKind kind = request->key == NULL ? KIND_POD : request->key->kind;

    if (kind != KIND_VOLUME_SNAPSHOT && kind != KIND_SNAPSHOT_CONTENT && kind != KIND_CLAIM &&
        kind != KIND_VOLUME)
        return API_OK;
    if (refused->n++ != refused->at)
        return API_OK;
    g_string_assign(message, "refused by the test");
    return refused->code;
}

/* Returns: how many requests there were; the one @at was refused */
static unsigned
live_with_a_refusal(unsigned at, ApiCode code)
{
    const DriverCase driver = {.takes = SIM_SECOND};
    RefusedOnce refused = {.at = at, .code = code};
    g_autoptr(World) world = world_with_claim(&driver, "Delete");

    api_server_set_fault(world->api, refuse_once, &refused);
    ask(world, "cut", "cuts");
    world_run(world, SIM_HOUR);
    assert_int_equal(snapshot(world, "cut")->readiness, SNAPSHOT_READY);
    world_delete(world, KIND_VOLUME_SNAPSHOT, "cut");
    world_run(world, 2 * SIM_HOUR);
    assert_int_equal(csi_modelled_driver_n_snapshots(world->driver), 0);
    if (snapshot(world, "cut") != NULL)
        assert_int_equal(content_of(world, "cut")->readiness, SNAPSHOT_STATUS_EMPTY);
    return refused.n;
}

/* Each request of a snapshot's life, refused in a world of its own: it becomes ready and goes all
 * the same, perhaps with the resync's help. Only the finalizer of a content whose status is cleared
 * already is not tried again (SNAP-47). */
TEST(any_request_may_be_refused_once)
{
    static const ApiCode codes[] = {API_FORBIDDEN, API_CONFLICT};

    for (unsigned i = 0; i < G_N_ELEMENTS(codes); i++) {
        unsigned at = 0;
        while (live_with_a_refusal(at, codes[i]) > at)
            at++;
        assert_true(at > 20);
    }
}

/* SNAP-44, SNAP-45: all are tried again; whether one is final decides if the content may be deleted
 * meanwhile. */
TEST(errors_of_the_driver)
{
    static const struct {
        CsiCode code;
        gboolean is_final;
    } cases[] = {
        {CSI_INTERNAL,           TRUE },
        {CSI_INVALID_ARGUMENT,   TRUE },
        {CSI_NOT_FOUND,          TRUE },
        {CSI_CANCELLED,          FALSE},
        {CSI_DEADLINE_EXCEEDED,  FALSE},
        {CSI_UNAVAILABLE,        FALSE},
        {CSI_RESOURCE_EXHAUSTED, FALSE},
        {CSI_ABORTED,            FALSE},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const DriverCase driver = {.code = cases[i].code, .n_errors = 4};
        g_autoptr(World) world = world_with_claim(&driver, "Delete");
        assert_int_equal(snapshotter_error_is_final(cases[i].code), cases[i].is_final);
        ask(world, "cut", "cuts");
        world_run(world, 5 * SIM_SECOND);
        const Object *content = &content_of(world, "cut")->meta;
        g_autofree char *key = g_strdup(content->key->name);
        assert_int_equal(object_annotation(content, ANNOTATION_SNAPSHOT_BEING_CREATED) == NULL,
                         cases[i].is_final);
        world_run(world, 20 * SIM_SECOND);
        g_autofree char *what = g_strdup_printf("CreateSnapshot %s", csi_code_name(cases[i].code));
        assert_times(world, what, "1000 2000 4000 8000");
        assert_int_equal(snapshot(world, "cut")->readiness, SNAPSHOT_READY);
        assert_null(snapshot(world, "cut")->error.message);
        g_autofree char *events = world_events(world, world_key(world, KIND_SNAPSHOT_CONTENT, key));
        g_autofree char *said = g_strdup_printf("failed to take snapshot of the volume pv: \"rpc "
                                                "error: code = %s desc = injected error\"",
                                                csi_code_go_name(cases[i].code));
        g_autofree char *expected =
            g_strdup_printf("SnapshotCreationFailed x1: Failed to create snapshot: %s; "
                            "SnapshotContentCheckandUpdateFailed x1: Failed to check and update "
                            "snapshot content: %s",
                            said, said);
        assert_string_equal(events, expected);
    }
}

/* SNAP-49: while CreateSnapshot may be under way nothing is deleted; its success comes first. */
TEST(a_deletion_waits_for_the_creation)
{
    const DriverCase driver = {.code = CSI_DEADLINE_EXCEEDED, .n_errors = 5};
    g_autoptr(World) world = world_with_claim(&driver, "Delete");

    ask(world, "cut", "cuts");
    world_run(world, 5 * SIM_SECOND);
    world_delete(world, KIND_VOLUME_SNAPSHOT, "cut");
    world_run(world, 30 * SIM_SECOND);
    assert_int_equal(world_count(world, "DeleteSnapshot", NULL, NULL), 0);
    assert_int_equal(csi_modelled_driver_n_snapshots(world->driver), 1);
    assert_non_null(snapshot(world, "cut"));
}

/* SNAP-2, SNAP-6: obstacles to a content. The controller tries again until the obstacle is gone. It
 * tells the error once, or twice (SNAP-3) if the first status conflicts with the finalizer that the
 * same sync has added. */
TEST(what_stands_in_the_way)
{
    static const struct {
        const char *class, *second_default;
        uint32_t phase; /* of the claim */
        const char *told;
        gboolean conflicts; /* the finalizer was written before: the first error cannot be */
    } cases[] = {
        {"no-such-class", NULL,   CLAIM_BOUND,
         "GetSnapshotClassFailed x1: Failed to get snapshot class with error "
         "volumesnapshotclass.snapshot.storage.k8s.io \"no-such-class\" not found", FALSE},
        {NULL,            "true", CLAIM_BOUND,
         "SetDefaultSnapshotClassFailed x1: Failed to set default snapshot class with error 2 "
         "default snapshot classes were found",                                     FALSE},
        {NULL,            NULL,   CLAIM_PENDING,
         "SetDefaultSnapshotClassFailed x1: Failed to set default snapshot class with error the "
         "PVC "
         "data is not yet bound to a PV, will not attempt to take a snapshot",      FALSE},
        {"cuts",          NULL,   CLAIM_PENDING,
         "SnapshotContentCreationFailed x1: Failed to create snapshot content with error failed to "
         "get input parameters to create snapshot cut: \"the PVC data is not yet bound to a PV, "
         "will not attempt to take a snapshot\"",                                   TRUE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(World) world = world_with_claim(NULL, "Delete");
        world_edit_status(world, KIND_CLAIM, "data", set_phase, &cases[i].phase);
        if (cases[i].second_default != NULL)
            add_class(world, "more", "Delete", cases[i].second_default);
        ask(world, "cut", cases[i].class);
        world_run(world, 20 * SIM_SECOND);
        assert_told(world, "cut", cases[i].told);
        /* SNAP-3: of an error that could not be written the Event is about no object. */
        assert_events_of(world, objects_key(world->objects, KIND_VOLUME_SNAPSHOT, "", ""),
                         cases[i].conflicts ? cases[i].told : "");
        assert_int_equal(world_count(world, "CREATE VolumeSnapshotContent", NULL, NULL), 0);
    }
}

#define TWO_SOURCES                                                                                \
    "SnapshotValidationError x1: Exactly one of PersistentVolumeClaimName and "                    \
    "VolumeSnapshotContentName should be specified"

/* SNAP-4: syncSnapshot() returns the error, and the key comes again: the next try finds that the
 * class is gone. (The schema of newer CRDs refuses such a snapshot.) */
TEST(a_snapshot_of_two_sources)
{
    g_autoptr(World) world = world_with_claim(NULL, "Delete");
    Object *object = object_new(world_key(world, KIND_VOLUME_SNAPSHOT, "cut"));

    VOLUME_SNAPSHOT(object)->claim_name = world_intern(world, "data");
    VOLUME_SNAPSHOT(object)->content_name = world_intern(world, "given");
    VOLUME_SNAPSHOT(object)->class_name = world_intern(world, "cuts");
    world_create(world, object);
    world_run(world, 2 * SIM_SECOND);
    assert_told(world, "cut", TWO_SOURCES);
    world_delete(world, KIND_SNAPSHOT_CLASS, "cuts");
    world_run(world, 20 * SIM_SECOND);
    assert_told(world, "cut",
                TWO_SOURCES "; GetSnapshotClassFailed x1: Failed to get snapshot class with error "
                            "volumesnapshotclass.snapshot.storage.k8s.io \"cuts\" not found");
}

static gboolean
drop_finalizers(Object *object, const void *data)
{
    (void)data;
    g_clear_pointer(&object->finalizers, string_list_unref);
    return TRUE;
}

/* A quoted text with quotes of its own, as Go's %q prints it. */
TEST(quotes_within_quotes)
{
    g_autoptr(World) world = world_with_claim(NULL, "Delete");

    world_delete(world, KIND_VOLUME, "pv");
    world_edit(world, KIND_VOLUME, "pv", drop_finalizers, NULL);
    ask(world, "cut", NULL);
    world_run(world, 20 * SIM_SECOND);
    assert_told(world, "cut",
                "SetDefaultSnapshotClassFailed x1: Failed to set default snapshot class with error "
                "failed to retrieve PV pv from the API server: \"persistentvolumes \\\"pv\\\" not "
                "found\"");
}

static gboolean
set_readiness(Object *object, const void *readiness)
{
    VOLUME_SNAPSHOT(object)->readiness = *(const uint32_t *)readiness;
    return TRUE;
}

/* SNAP-12: one snapshot that never gets ready holds the claim, whatever others there are. */
TEST(a_stuck_snapshot_holds_the_claim)
{
    const uint32_t not_ready = SNAPSHOT_NOT_READY;
    g_autoptr(World) world = world_with_claim(NULL, "Delete");

    ask(world, "stuck", "no-such-class");
    ask(world, "cut", "cuts");
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(snapshot(world, "cut")->readiness, SNAPSHOT_READY);
    assert_true(claim_is_held(world));
    world_delete(world, KIND_VOLUME_SNAPSHOT, "stuck");
    world_run(world, 20 * SIM_SECOND);
    /* It had no finalizer: it is gone, and the next sync of the other looks at the claim. */
    world_edit_status(world, KIND_VOLUME_SNAPSHOT, "cut", set_readiness, &not_ready);
    world_run(world, 30 * SIM_SECOND);
    assert_false(claim_is_held(world));
}

/* ---- Snapshots that somebody else took ---- */

typedef struct {
    const char *reference; /* the snapshot's name in the content */
    gboolean is_dynamic;   /* the content is of a volume */
    gboolean cannot_list, is_unknown;
    const char *told;     /* of the snapshot */
    const char *ready_by; /* the calls */
} GivenCase;

static void
add_given(World *world, const GivenCase *given)
{
    Object *object = object_new(world_key(world, KIND_SNAPSHOT_CONTENT, "given"));
    SnapshotContent *content = SNAPSHOT_CONTENT(object);
    Object *of = object_new(world_key(world, KIND_VOLUME_SNAPSHOT, "cut"));

    content->driver = world_intern(world, WORLD_DRIVER);
    content->deletion_policy = world_intern(world, "Delete");
    content->snapshot.namespace = world_intern(world, "default");
    content->snapshot.name = world_intern(world, given->reference);
    if (given->is_dynamic)
        content->volume_handle = world_intern(world, "pv");
    else
        content->given_handle =
            world_intern(world, given->is_unknown ? "nobody's" : "snapshot-old");
    world_create(world, object);
    VOLUME_SNAPSHOT(of)->content_name = world_intern(world, "given");
    world_create(world, of);
}

/* The driver has a snapshot "snapshot-old": the id is the name here. */
static void
take_old(World *world)
{
    csi_driver_call(csi_modelled_driver_base(world->driver),
                    &(CsiRequest){.method = CSI_CREATE_SNAPSHOT,
                                  .name = world_intern(world, "snapshot-old"),
                                  .volume_id = world_intern(world, "pv")},
                    NULL, NULL);
    world_run(world, 2 * SIM_SECOND);
    g_free(world_take_log(world));
}

/* SNAP-7, SNAP-46. The error is found at 1 s, when the controller's own status comes back, and
 * after 1, 4 and 8 s of back-off. */
TEST(binds_what_is_given)
{
    static const GivenCase cases[] = {
        {.reference = "cut",
         .told = "SnapshotCreated x1: Snapshot default/cut was successfully created by the CSI "
                 "driver.; SnapshotReady x1: Snapshot default/cut is ready to use.", .ready_by = "ListSnapshots"},
        {.reference = "cut",
         .cannot_list = TRUE,
         .is_unknown = TRUE,                                                                                      /* taken on trust */
         .told = "SnapshotCreated x1: Snapshot default/cut was successfully created by the CSI "
                 "driver.; SnapshotReady x1: Snapshot default/cut is ready to use."},
        {.reference = "other",
         .told =
             "SnapshotContentMisbound x1: VolumeSnapshotContent [given] is bound to a different "
             "snapshot; SnapshotFinalizerError x5: Failed to check and update snapshot: "
             "VolumeSnapshotContent [given] is bound to a different snapshot"                                                    },
        {.reference = "cut",
         .is_dynamic = TRUE,
         .told =
             "SnapshotContentMismatch x1: VolumeSnapshotContent is dynamically provisioned while "
             "expecting a pre-provisioned one; SnapshotFinalizerError x5: Failed to check and "
             "update snapshot: snapshot default/cut expects a pre-provisioned "
             "VolumeSnapshotContent given but gets a dynamically provisioned one"                                   },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const DriverCase driver = {.cannot_list = cases[i].cannot_list};
        g_autoptr(World) world = world_with_claim(&driver, "Delete");
        take_old(world);
        add_given(world, &cases[i]);
        world_run(world, 20 * SIM_SECOND);
        assert_told(world, "cut", cases[i].told);
        gboolean is_bound = strstr(cases[i].told, "SnapshotReady") != NULL;
        assert_int_equal(snapshot(world, "cut")->readiness == SNAPSHOT_READY, is_bound);
        if (cases[i].ready_by != NULL)
            assert_int_equal(world_count(world, cases[i].ready_by, NULL, NULL), 1);
        assert_int_equal(object_uid_is_set(SNAPSHOT_CONTENT_CONST(
                                               world_get(world, KIND_SNAPSHOT_CONTENT, "given"))
                                               ->snapshot.uid),
                         is_bound);
    }
}

/* SNAP-46: a handle that the driver does not know is never ready. */
TEST(an_unknown_handle_is_never_ready)
{
    const GivenCase given = {.reference = "cut", .is_unknown = TRUE};
    g_autoptr(World) world = world_with_claim(NULL, "Delete");

    add_given(world, &given);
    world_run(world, 20 * SIM_SECOND);
    assert_int_equal(snapshot(world, "cut")->readiness, SNAPSHOT_NOT_READY);
    assert_events_of(
        world, world_key(world, KIND_SNAPSHOT_CONTENT, "given"),
        "SnapshotContentCheckandUpdateFailed x1: Failed to check and update snapshot content: "
        "failed "
        "to list snapshot for content given: \"can not find snapshot for snapshotID nobody's\"");
}

/* SNAP-74: a member of a group belongs to the group's content: no call for it alone. */
TEST(members_of_groups_are_left_alone)
{
    g_autoptr(World) world = world_with_claim(NULL, "Delete");
    Object *object = object_new(world_key(world, KIND_SNAPSHOT_CONTENT, "member"));
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    content->driver = world_intern(world, WORLD_DRIVER);
    content->deletion_policy = world_intern(world, "Delete");
    content->volume_handle = world_intern(world, "pv");
    content->snapshot.uid = (ObjectUid){1, 1};
    object_add_finalizer(object, world_intern(world, FINALIZER_SNAPSHOT_CONTENT));
    object_set_annotation(object, world_intern(world, ANNOTATION_SNAPSHOT_GROUP_HANDLE),
                          world_intern(world, "group"));
    world_create(world, object);
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(world_count(world, TAKE, NULL, NULL), 0);
    world_edit_status(world, KIND_SNAPSHOT_CONTENT, "member", set_group, world_intern(world, "g"));
    world_edit(world, KIND_SNAPSHOT_CONTENT, "member", mark_being_deleted,
               world_intern(world, ANNOTATION_SNAPSHOT_BEING_DELETED));
    world_delete(world, KIND_SNAPSHOT_CONTENT, "member");
    world_run(world, 20 * SIM_SECOND);
    assert_null(world_get(world, KIND_SNAPSHOT_CONTENT, "member"));
    assert_int_equal(world_count(world, "DeleteSnapshot", NULL, NULL), 0);
}

static gboolean
name_content(Object *object, const void *content)
{
    VOLUME_SNAPSHOT(object)->bound_content = content;
    return TRUE;
}

/* SNAP-75, SNAP-76: a snapshot of a group takes the status of the content that somebody names. */
TEST(members_wait_for_their_content)
{
    g_autoptr(World) world = world_with_claim(NULL, "Delete");
    Object *object = object_new(world_key(world, KIND_VOLUME_SNAPSHOT, "member"));
    const OwnerReference owner = {
        .api_version = "groupsnapshot.storage.k8s.io/v1beta1",
        .kind = "VolumeGroupSnapshot",
        .name = "group",
        .uid = {1, 1}
    };

    object->owners = owner_references_with(NULL, &owner);
    VOLUME_SNAPSHOT(object)->claim_name = world_intern(world, "data");
    VOLUME_SNAPSHOT(object)->group_name = world_intern(world, "group");
    assert_string_equal(snapshot_group(VOLUME_SNAPSHOT(object)), "group");
    assert_false(snapshot_lacks_group(VOLUME_SNAPSHOT(object)));
    world_create(world, object);
    world_run(world, 5 * SIM_SECOND);
    assert_null(snapshot(world, "member")->class_name);
    assert_int_equal(world_count(world, "CREATE VolumeSnapshotContent", NULL, NULL), 0);
    ask(world, "other", "cuts");
    world_run(world, 15 * SIM_SECOND);
    world_edit_status(world, KIND_VOLUME_SNAPSHOT, "member", name_content,
                      snapshot(world, "other")->bound_content);
    world_run(world, 20 * SIM_SECOND);
    assert_int_equal(snapshot(world, "member")->readiness, SNAPSHOT_READY);
}

/* ---- Parameters of classes ---- */

/* SNAP-70, SNAP-73: what is wrong with a class is told where it is found: the Secret by the
 * controller, before there is a content, and the parameters by the sidecar. */
TEST(unsound_parameters)
{
    static const struct {
        const char *key, *snapshot, *content; /* content: Events of it; NULL: there is none */
    } cases[] = {
        {"csi.storage.k8s.io/snapshotter-secret-name",
         "SnapshotContentCreationFailed x1: Failed to create snapshot content with error failed to "
         "get input parameters to create snapshot cut: \"failed to get name and namespace template "
         "from params: either name and namespace for Snapshotter secrets specified, Both must be "
         "specified\"", NULL                     },
        {"csi.storage.k8s.io/unknown",
         "CreatingSnapshot x1: Waiting for a snapshot default/cut to be created by the CSI "
         "driver.",     "SnapshotCreationFailed x1: Failed to create snapshot: failed to remove CSI Parameters of "
         "prefixed keys: found unknown parameter key \"csi.storage.k8s.io/unknown\" with reserved "
         "namespace csi.storage.k8s.io/; SnapshotContentCheckandUpdateFailed x1: Failed to check "
         "and update snapshot content: failed to remove CSI Parameters of prefixed keys: found "
         "unknown parameter key \"csi.storage.k8s.io/unknown\" with reserved namespace "
         "csi.storage.k8s.io/"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(World) world = world_with_claim(NULL, "Delete");
        const StringPair pair = {world_intern(world, cases[i].key), world_intern(world, "x")};
        world_edit(world, KIND_SNAPSHOT_CLASS, "cuts", set_parameter, &pair);
        ask(world, "cut", "cuts");
        world_run(world, 5 * SIM_SECOND);
        assert_told(world, "cut", cases[i].snapshot);
        assert_int_equal(content_of(world, "cut") != NULL, cases[i].content != NULL);
        if (cases[i].content != NULL)
            assert_events_of(world, content_of(world, "cut")->meta.key, cases[i].content);
        assert_int_equal(world_count(world, TAKE, NULL, NULL), 0);
    }
}

/* SNAP-70. */
TEST(secrets_of_classes)
{
    static const struct {
        const char *namespace, *name; /* templates; NULL: not given */
        gboolean has_snapshot;
        const char *result; /* "namespace/name", "" for none, or a part of the error */
    } cases[] = {
        {NULL,                            NULL,                              TRUE,  ""                                 },
        {"ns",                            "s",                               FALSE, "ns/s"                             },
        {"${volumesnapshot.namespace}",   "${volumesnapshot.name}",          TRUE,  "lab/cut"                          },
        {"ns",                            "s-${volumesnapshotcontent.name}", FALSE, "ns/s-content"                     },
        {"${volumesnapshot.name}",        "s",                               TRUE,  "invalid tokens"                   },
        {"${volumesnapshot.namespace}",   "s",                               FALSE, "invalid tokens"                   },
        {"ns",                            "bad name",                        TRUE,  "is not a valid secret name"       },
        {"x/${volumesnapshot.namespace}", "s",                               TRUE,  "\"x/lab\" which is not a valid"   },
        {"ns",                            NULL,                              TRUE,  "Both must be specified"           },
        {"",                              "s",                               TRUE,  "either namespace or name is empty"},
    };
    g_autoptr(Objects) objects = objects_new(1);
    Strings *strings = objects_strings(objects);
    const ObjectKey *of = objects_key(objects, KIND_VOLUME_SNAPSHOT, "lab", "cut");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StringPair pairs[2];
        unsigned n = 0;
        SecretReference secret;
        if (cases[i].name != NULL)
            pairs[n++] =
                (StringPair){snapshot_secret_keys[SNAPSHOT_SECRET].name_key, cases[i].name};
        if (cases[i].namespace != NULL)
            pairs[n++] = (StringPair){snapshot_secret_keys[SNAPSHOT_SECRET].namespace_key,
                                      cases[i].namespace};
        g_autoptr(StringMap) parameters = string_map_new(pairs, n);
        g_autofree char *error =
            snapshot_secret_resolve(strings, SNAPSHOT_SECRET, parameters, "content",
                                    cases[i].has_snapshot ? of : NULL, &secret);
        g_autofree char *found = secret.name == NULL
                                     ? g_strdup(error == NULL ? "" : error)
                                     : g_strdup_printf("%s/%s", secret.namespace, secret.name);
        assert_non_null(strstr(found, cases[i].result));
        assert_int_equal(found[0] == '\0', cases[i].result[0] == '\0');
    }
}

/* ---- Decisions ---- */

/* SNAP-43 as a table. */
TEST(what_should_be_deleted)
{
    static const struct {
        gboolean is_deleted, is_given, is_bound, being_created, being_deleted, should;
    } cases[] = {
        {FALSE, FALSE, TRUE,  FALSE, TRUE,  FALSE},
        {TRUE,  FALSE, TRUE,  FALSE, FALSE, FALSE},
        {TRUE,  FALSE, TRUE,  FALSE, TRUE,  TRUE },
        {TRUE,  FALSE, TRUE,  TRUE,  TRUE,  FALSE},
        {TRUE,  TRUE,  FALSE, FALSE, FALSE, TRUE },
        {TRUE,  TRUE,  FALSE, TRUE,  FALSE, TRUE },
        {TRUE,  TRUE,  TRUE,  FALSE, FALSE, FALSE},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Objects) objects = objects_new(1);
        g_autoptr(Object) object =
            object_new(objects_key(objects, KIND_SNAPSHOT_CONTENT, NULL, "content"));
        SnapshotContent *content = SNAPSHOT_CONTENT(object);
        Strings *strings = objects_strings(objects);
        if (cases[i].is_deleted)
            object->deleted_at = 1;
        if (cases[i].is_given)
            content->given_handle = "handle";
        else
            content->volume_handle = "handle";
        if (cases[i].is_bound)
            content->snapshot.uid = (ObjectUid){1, 1};
        if (cases[i].being_created)
            object_set_annotation(object,
                                  strings_intern(strings, ANNOTATION_SNAPSHOT_BEING_CREATED),
                                  strings_intern(strings, "yes"));
        if (cases[i].being_deleted)
            object_set_annotation(object,
                                  strings_intern(strings, ANNOTATION_SNAPSHOT_BEING_DELETED),
                                  strings_intern(strings, "yes"));
        assert_int_equal(snapshotter_should_delete(content), cases[i].should);
    }
}
