/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/client/client-test.h"
#include "models/client/process-private.h"
#include "models/ephemeral-volume/ephemeral-volume-test.h"
#include "models/ephemeral-volume/ephemeral-volume.h"
#include "models/expand-controller/expand-controller.h"
#include "models/expand-controller/expand-test.h"
#include "models/pvc-pv-protection/pvc-pv-protection.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/engine.h"

#include <string.h>

/* Protection of claims and volumes that are in use: events are told, then the queue is processed
 * until it is empty. */

/* The recorded tests hand each key through the whole controller before the next is taken, so every
 * batch of claims has just one: as before 1.32, where there were no batches. */
static const WorldOptions claims_world = {.only = &pvc_protection_class, .minor_version = 31};
static const WorldOptions volumes_world = {.only = &pv_protection_class};

/* Whether the cache has an object of the API: all of them, or those in its list; else it is late,
 * and has not seen pods. */
static gboolean
is_cached(const json_t *cached, const Object *object)
{
    if (cached == NULL || g_strcmp0(json_string_value(cached), "same as api") == 0)
        return TRUE;
    return !json_is_array(cached) && object_kind(object) != KIND_POD;
}

static void
import_objects(Case *self)
{
    const json_t *cached = case_get(self, "initial.cache"), *manifest;
    size_t i;

    json_array_foreach(case_get(self, "initial.api_objects"), i, manifest) {
        Object *object = case_object_of_manifest(self, manifest);
        case_import_object(self, object,
                           is_cached(cached, object) ? CASE_API | CASE_INFORMER : CASE_API);
    }
    json_array_foreach(cached, i, manifest)
        case_import_object(self, case_object_of_manifest(self, manifest), CASE_INFORMER);
}

/* An update: nobody looks at the state before. */
static void
tell_updated(Case *self, const ModelClass *class, ObjectKind kind, const json_t *name)
{
    const ObjectKey *key = case_key(self, kind, json_string_value(name));
    Informer *informer = case_informer(self, class, kind);
    const Object *object = informer_get(informer, key);

    if (object == NULL)
        case_fail(self, "no such object: %s", key->text);
    else
        informer_tell(informer, object, object);
}

static Object *
suite_protection_pod_of(Case *self, const json_t *trigger, const char *which)
{
    const json_t *manifest = json_object_get(trigger, which);

    return manifest == NULL ? NULL : case_object(self, manifest, KIND_POD);
}

static void
tell_trigger(Case *self, const ModelClass *class, const json_t *trigger)
{
    const char *event = json_path_string(trigger, "event");
    Object *before = suite_protection_pod_of(self, trigger, "old"),
           *after = suite_protection_pod_of(self, trigger, "new");
    const json_t *name;
    size_t i;

    if (g_strcmp0(event, "claim_updated") == 0)
        json_array_foreach(json_object_get(trigger, "claims"), i, name)
            tell_updated(self, class, KIND_CLAIM, name);
    else if (g_strcmp0(event, "volume_updated") == 0)
        tell_updated(self, class, KIND_VOLUME, json_object_get(trigger, "volume"));
    else if (before != NULL || after != NULL)
        informer_tell(case_informer(self, class, KIND_POD),
                      before == NULL && g_strcmp0(event, "pod_updated") == 0 ? after : before,
                      after);
    else
        case_fail(self, "no such trigger: %s", event);
}

/* Writes tell the object that was sent; our lists do not say of which namespace. */
static void
expect_actions(Case *self)
{
    const json_t *item;
    json_t *expected = json_deep_copy(case_get(self, "expected.actions"));
    size_t i;

    json_array_foreach(expected, i, item) {
        const json_t *manifest = json_object_get(item, "object");
        if (g_strcmp0(json_path_string(item, "verb"), "list") == 0)
            json_object_del((json_t *)item, "namespace");
        if (manifest != NULL)
            json_object_set_new((json_t *)item, "object",
                                case_comparable(self, case_object_of_manifest(self, manifest)));
    }
    json_array_foreach(self->writes, i, item) {
        json_t *metadata = json_object_get(json_object_get(item, "object"), "metadata");
        const json_t *wanted = json_path_get(json_array_get(expected, i), "object.metadata");
        if (json_object_get(wanted, "uid") == NULL)
            json_object_del(metadata, "uid");
    }
    case_expect_json(self, "actions", expected, self->writes);
    json_decref(expected);
}

static void
run_queue(Case *self)
{
    const json_t *volume = NULL, *trigger;
    size_t i;

    json_array_foreach(case_get(self, "args.triggers"), i, trigger)
        if (volume == NULL)
            volume = json_object_get(trigger, "volume");
    const WorldOptions *options = volume != NULL ? &volumes_world : &claims_world;
    case_world_new(self, options);
    case_start(self, options);
    import_objects(self);
    json_array_foreach(case_get(self, "args.triggers"), i, trigger)
        tell_trigger(self, options->only, trigger);
    case_wait(self, 60 * SIM_SECOND);
    expect_actions(self);
}

/* ---- Generic ephemeral volumes: one sync of a pod ---- */

/* The recorded tests' API has no admission: StorageObjectInUseProtection did not add its finalizer
 * there. */
static gboolean
edit_undo_admission(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&object->finalizers, string_list_unref);
    return TRUE;
}

static void
undo_admission(Case *self)
{
    for (unsigned i = 0; i < self->changed->len; i++) {
        ApiRequest request = {
            .verb = API_PATCH, .key = self->changed->pdata[i], .edit = edit_undo_admission};
        ApiResponse response;
        api_server_commit(self->api, &request, &response);
    }
}

static void
run_sync_pod(Case *self)
{
    static const WorldOptions options = {.only = &ephemeral_volume_class};
    ObjectKey *key = case_key(self, KIND_POD, case_string(self, "args.key"));

    case_world_new(self, &options);
    case_start(self, &options);
    case_import(self, "initial.pods", KIND_POD, CASE_API | CASE_INFORMER);
    case_import(self, "initial.claims", KIND_CLAIM, CASE_API | CASE_INFORMER);
    case_run_plan(self, case_model(self, &ephemeral_volume_class), ephemeral_volume_sync_pod, key);
    case_expect_error(self, "expected.error");
    json_t *metrics =
        json_pack("{s:I, s:I}", "created", (json_int_t)json_array_size(self->writes), "failures",
                  (json_int_t)json_array_size(self->writes) - self->changed->len);
    case_expect_json(self, "metrics", case_get(self, "expected.metrics"), metrics);
    json_decref(metrics);
    undo_admission(self);
    case_expect_objects(self, "expected.claims", KIND_CLAIM);
}

/* ---- The expand controller: one sync of a claim ---- */

/* It expands nothing itself, so the recorded calls of in-tree plugins are none. */
static void
run_expand_claim(Case *self)
{
    static const WorldOptions options = {.only = &expand_controller_class};
    ObjectKey *key = case_key(self, KIND_CLAIM, case_string(self, "args.key"));
    const json_t *volume;
    size_t i;

    case_world_new(self, &options);
    case_start(self, &options);
    json_array_foreach(case_get(self, "initial.volumes"), i, volume) {
        json_t *copy = json_deep_copy(volume);
        json_t *reference = json_object_get(json_object_get(copy, "spec"), "claimRef");
        if (reference != NULL) /* upstream's have no name, which the API server would refuse */
            json_object_set_new(reference, "name", json_string(key->name));
        case_import_object(self, case_object(self, copy, KIND_VOLUME), CASE_API | CASE_INFORMER);
        json_decref(copy);
    }
    case_import(self, "initial.claims", KIND_CLAIM, CASE_API | CASE_INFORMER);
    case_run_plan(self, case_model(self, &expand_controller_class), expand_controller_sync, key);
    case_expect_error(self, "expected.error");
    if (case_flag(self, "expected.in_tree_expansion_called"))
        case_fail(self, "no in-tree plugin expands");
    const Object *claim = api_server_get(self->api, key);
    if (claim == NULL ||
        case_get(self, "expected.claim_annotations") == NULL) /* not compared upstream */
        return;
    json_t *found = case_comparable(self, claim);
    case_expect_json(self, "annotations", case_get(self, "expected.claim_annotations"),
                     json_path_get(found, "metadata.annotations"));
    json_decref(found);
}

static const Act protection_acts[] = {
    {"process queue until empty",  run_queue       },
    {"syncPod",                    run_sync_pod    },
    {"expandController.syncClaim", run_expand_claim},
    {NULL,                         NULL            },
};

const Suite protection_suite = {"protection_ephemeral_expand", protection_acts};
