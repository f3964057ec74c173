/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/snapshot-controller/controller.h"
#include "models/snapshot-controller/snapshot-controller-test.h"
#include "tests/conformance/script-driver.h"
#include "tests/conformance/snapshots/snapshot-case.h"

#include <string.h>

/* The snapshot-controller: one call of one of its functions. In the recorded tests it has its
 * copies of snapshots and contents, but no informer of snapshots. */

/* ---- The world ---- */

static void
set_options(Case *self, const ProcessClass *class, void *process_options)
{
    SnapshotControllerOptions *options = process_options;

    (void)class;
    options->prevent_volume_mode_conversion =
        case_flag(self, "config.prevent_volume_mode_conversion");
    if (case_flag(self, "feature_gates.CSIVolumeGroupSnapshot"))
        options->feature_gates = "CSIVolumeGroupSnapshot=true";
}

static void
suite_external_snapshotter_common_check_words(Case *self)
{

    case_known(self, "initial", "snapshots", "contents", "snapshot_classes", "claims", "volumes",
               "secrets", "group_snapshots", "group_contents", "group_snapshot_classes");
    case_known(self, "config", "prevent_volume_mode_conversion", "distributed_snapshotting");
    case_known(self, "inject", "api_errors");
    case_known(self, "expected", "error", "events", "snapshots", "contents", "claims", "volumes",
               "group_snapshots", "group_contents");
    if (case_flag(self, "config.distributed_snapshotting"))
        case_fail(self, "distributed snapshotting is not modelled");
}

static SnapshotController *
suite_external_snapshotter_common_world_begin(Case *self)
{
    static const WorldOptions options = {.only = &snapshot_controller_class,
                                         .set_options = set_options};

    suite_external_snapshotter_common_check_words(self);
    case_world_new(self, &options);
    case_start(self, &options);
    case_wait(self, 0);
    SnapshotController *controller = case_model(self, &snapshot_controller_class);
    Process *process = controller->base.process;
    snapshot_case_import(self, "snapshots", NULL, controller->single.snapshot_store);
    snapshot_case_import(self, "contents", process, controller->single.content_store);
    if (case_flag(self, "feature_gates.CSIVolumeGroupSnapshot")) {
        snapshot_case_import(self, "group_snapshots", process, controller->group.snapshot_store);
        snapshot_case_import(self, "group_contents", process, controller->group.content_store);
        snapshot_case_import(self, "group_snapshot_classes", process, NULL);
    }
    snapshot_case_import(self, "snapshot_classes", process, NULL);
    snapshot_case_import(self, "claims", process, NULL);
    snapshot_case_import(self, "volumes", NULL, NULL);
    snapshot_case_import(self, "secrets", NULL, NULL);
    return controller;
}

static void
suite_external_snapshotter_common_run(Case *self, PlanDecide decide, const char *const *args)
{
    g_auto(SnapshotCase) adapted = snapshot_case_begin(self);
    SnapshotController *controller = suite_external_snapshotter_common_world_begin(self);
    ObjectKey *key = case_get(self, "args.snapshot") == NULL
                         ? snapshot_case_subject(self, "args.object")
                         : case_find_key(self, "initial.snapshots", KIND_VOLUME_SNAPSHOT,
                                         case_string(self, "args.snapshot"));

    (void)adapted;
    case_expect_known(self, "args", args);
    if (key == NULL) {
        case_fail(self, "no such object");
        return;
    }
    case_run_plan(self, controller, decide, key);
    snapshot_case_compare(self);
}

static const char *const object_args[] = {"object", NULL};

/* ---- Calls with a snapshot ---- */

static void
decide_over(const void *data, Plan *plan)
{
    (void)data;
    (void)plan;
}

/* The last write decides. */
static void
suite_external_snapshotter_common_decide_written(const void *data, Plan *plan)
{
    (void)data;
    if (plan_has_failed(plan))
        plan_fail(plan, "%s", plan_last_message(plan));
}

static SnapshotSync *
take_up(const SnapshotController *self, Plan *plan)
{
    SnapshotSync *sync = plan_new_notes(plan, SnapshotSync, NULL);

    sync->with_class = decide_over;
    sync->with_claim = decide_over;
    take_snapshot(plan, object_store_get(plan_side(self, plan)->snapshot_store, plan_key(plan)));
    plan_use_client(plan, NULL);
    return sync;
}

static void
sync_snapshot(const void *data, Plan *plan)
{
    take_up(data, plan);
    decide_begin(data, plan);
}

static void
run_sync_snapshot(Case *self)
{
    suite_external_snapshotter_common_run(self, sync_snapshot, object_args);
}

static void
sync_unready(const void *data, Plan *plan)
{
    take_up(data, plan);
    plan_binding(data, plan);
}

static void
run_sync_unready(Case *self)
{
    suite_external_snapshotter_common_run(self, sync_unready, object_args);
}

static void
find_class(const void *data, Plan *plan)
{
    take_up(data, plan);
    plan_class(data, plan);
}

static void
run_class(Case *self)
{
    suite_external_snapshotter_common_run(self, find_class, object_args);
}

static void
hold_claim(const void *data, Plan *plan)
{
    take_up(data, plan);
    plan_hold_claim(data, plan);
}

static void
run_hold_claim(Case *self)
{
    suite_external_snapshotter_common_run(self, hold_claim, object_args);
}

static void
release_claim(const void *data, Plan *plan)
{
    take_up(data, plan);
    plan_release_claim(data, plan);
}

static void
run_release_claim(Case *self)
{
    suite_external_snapshotter_common_run(self, release_claim, object_args);
}

static const char *const finalizer_args[] = {"object", "source_finalizer", "bound_finalizer", NULL};

static void
add_finalizers(const void *data, Plan *plan)
{
    const Case *self = plan_owner(plan);

    take_up(data, plan);
    plan_add_finalizers(plan, case_flag(self, "args.source_finalizer"),
                        case_flag(self, "args.bound_finalizer"));
    plan_then(plan, suite_external_snapshotter_common_decide_written);
}

static void
run_add_finalizers(Case *self)
{
    suite_external_snapshotter_common_run(self, add_finalizers, finalizer_args);
}

static void
remove_finalizers(const void *data, Plan *plan)
{
    take_up(data, plan);
    plan_remove_finalizers(data, plan);
}

static void
run_remove_finalizers(Case *self)
{
    if (!case_flag(self, "args.source_finalizer") || !case_flag(self, "args.bound_finalizer"))
        case_fail(self, "only both finalizers go together");
    suite_external_snapshotter_common_run(self, remove_finalizers, finalizer_args);
}

static void
update_status(const void *data, Plan *plan)
{
    const SnapshotController *controller = data;
    const SnapshotContent *content =
        stored_content(controller, plan, case_string(plan_owner(plan), "args.content"));

    take_up(controller, plan);
    if (content == NULL)
        plan_fail(plan, "no such content");
    else
        plan_snapshot_status(data, plan, content);
}

static void
run_update_status(Case *self)
{
    static const char *const args[] = {"snapshot", "content", NULL};

    suite_external_snapshotter_common_run(self, update_status, args);
}

/* ---- Calls with a content ---- */

static void
run_sync_content(Case *self)
{
    suite_external_snapshotter_common_run(self, snapshot_controller_sync_content, object_args);
}

/* ---- Pure functions ---- */

static void
run_is_default(Case *self)
{
    json_t *manifest = json_pack("{s:O?}", "metadata", case_get(self, "args.metadata"));

    case_known(self, "args", "kind", "metadata");
    ObjectKind kind = g_strcmp0(case_string(self, "args.kind"), group_class_kind.kind) == 0
                          ? KIND_GROUP_CLASS
                          : KIND_SNAPSHOT_CLASS;
    case_expect_flag(self, "expected.default",
                     snapshot_class_is_default(case_object(self, manifest, kind)));
    json_decref(manifest);
}

static void
run_parameters(Case *self)
{
    g_autoptr(StringMap) parameters = script_map(self, case_get(self, "args.parameters"));
    g_autofree char *error = NULL;
    g_autoptr(StringMap) left = snapshot_driver_parameters(parameters, &error);

    case_known(self, "args", "parameters");
    case_expect_flag(self, "expected.error", error != NULL);
    if (error != NULL)
        return;
    json_t *found = script_map_json(left);
    case_expect_json(self, "parameters", case_get(self, "expected.parameters"), found);
    json_decref(found);
}

static const VolumeSnapshot *
told_snapshot(Case *self)
{
    const json_t *manifest = case_get(self, "args.snapshot");

    case_known(self, "args", "snapshot");
    return manifest == NULL ? NULL
                            : VOLUME_SNAPSHOT(case_object(self, manifest, KIND_VOLUME_SNAPSHOT));
}

static void
run_group(Case *self)
{
    const VolumeSnapshot *snapshot = told_snapshot(self);
    const char *group = snapshot == NULL ? NULL : snapshot_group(snapshot);
    g_autofree char *key = group == NULL
                               ? g_strdup("")
                               : g_strdup_printf("%s^%s", snapshot->meta.key->namespace, group);

    case_known(self, "expected", "member", "parent", "index_key");
    case_expect_flag(self, "expected.member", group != NULL);
    if (g_strcmp0(case_string(self, "expected.parent"), group == NULL ? "" : group) != 0)
        case_fail(self, "another group: %s", group == NULL ? "" : group);
    if (g_strcmp0(case_string(self, "expected.index_key"), key) != 0)
        case_fail(self, "another key: %s", key);
}

static void
run_lacks_group(Case *self)
{
    const VolumeSnapshot *snapshot = told_snapshot(self);

    case_known(self, "expected", "needed");
    case_expect_flag(self, "expected.needed", snapshot != NULL && snapshot_lacks_group(snapshot));
}

/* The parameters' keys tell which Secret is asked for. */
static SnapshotSecret
secret_use(Case *self)
{
    for (unsigned i = 0; i < N_SNAPSHOT_SECRETS; i++)
        if (g_strcmp0(case_string(self, "args.name_key"), snapshot_secret_keys[i].name_key) == 0 &&
            g_strcmp0(case_string(self, "args.namespace_key"),
                      snapshot_secret_keys[i].namespace_key) == 0)
            return i;
    case_fail(self, "no Secret has these keys");
    return SNAPSHOT_SECRET;
}

static const char *
text_or_empty(const json_t *json, const char *path)
{
    const char *text = json_path_string(json, path);

    return text == NULL ? "" : text;
}

static void
run_secret(Case *self)
{
    g_autoptr(StringMap) parameters = script_map(self, case_get(self, "args.parameters"));
    const json_t *manifest = json_array_get(case_get(self, "initial.snapshots"), 0);
    const ObjectKey snapshot = {.namespace = text_or_empty(manifest, "metadata.namespace"),
                                .name = text_or_empty(manifest, "metadata.name")};
    SecretReference secret;
    g_autofree char *error =
        snapshot_secret_resolve(objects_strings(self->objects), secret_use(self), parameters,
                                text_or_empty(self->json, "args.content_name"),
                                manifest == NULL ? NULL : &snapshot, &secret);

    case_known(self, "args", "parameters", "content_name", "name_key", "namespace_key");
    case_expect_flag(self, "expected.error", error != NULL);
    json_t *found = secret.name == NULL ? NULL
                                        : json_pack("{s:s, s:s}", "name", secret.name, "namespace",
                                                    secret.namespace);
    case_expect_json(self, "secret", case_get(self, "expected.secret_ref"), found);
    json_decref(found);
}

static const Act external_snapshotter_common_acts[] = {
    {"syncSnapshot",                run_sync_snapshot    },
    {"syncGroupSnapshot",           run_sync_snapshot    },
    {"syncUnreadySnapshot",         run_sync_unready     },
    {"syncContent",                 run_sync_content     },
    {"checkAndUpdateSnapshotClass", run_class            },
    {"ensurePVCFinalizer",          run_hold_claim       },
    {"checkandRemovePVCFinalizer",  run_release_claim    },
    {"addSnapshotFinalizer",        run_add_finalizers   },
    {"removeSnapshotFinalizer",     run_remove_finalizers},
    {"updateSnapshotStatus",        run_update_status    },
    {"isDefaultClass",              run_is_default       },
    {"isGroupMember",               run_group            },
    {"needGroupOwner",              run_lacks_group      },
    {"RemovePrefixedParameters",    run_parameters       },
    {"GetSecretReference",          run_secret           },
    {NULL,                          NULL                 },
};

const Suite external_snapshotter_common_suite = {"external_snapshotter_common",
                                                 external_snapshotter_common_acts};
