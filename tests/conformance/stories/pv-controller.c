/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/client/process-private.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/pv-controller/pv-controller-private.h"
#include "models/pv-controller/pv-controller-test.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/stories/story.h"

#include <stdlib.h>
#include <string.h>

/* Stories of the PV controller: its cache of versions, and a controller without provisioning. */

typedef struct {
    Case *self;
    gboolean has_begun, was_refused;
    const char *name;        /* of the object in the cache */
    uint64_t version;        /* its version there at first */
    uint64_t version_before; /* as the last one was offered; 0: none */
    unsigned n_faults;       /* of the last object that was offered */
} PvControllerStory;

static void
set_provisioning(Case *self, const ProcessClass *class, void *process_options)
{
    KubeControllerManagerOptions *options = process_options;

    (void)class;
    options->enable_dynamic_provisioning = case_flag(self, "given.enable_dynamic_provisioning");
}

static const WorldOptions world_options = {
    .only = &pv_controller_class,
    .set_options = set_provisioning,
};

static PvController *
pv_controller_begin(PvControllerStory *self)
{
    if (!self->has_begun) {
        case_world_new(self->self, &world_options);
        case_start(self->self, &world_options);
        pv_controller_hold(case_model(self->self, &pv_controller_class));
    }
    self->has_begun = TRUE;
    return case_model(self->self, &pv_controller_class);
}

static Object *
make_object(PvControllerStory *self, ObjectKind kind, const char *name, json_t *spec)
{
    json_t *manifest = json_pack("{s:{s:s}, s:o}", "metadata", "name", name, "spec", spec);
    Object *object = case_object(self->self, manifest, kind);

    json_decref(manifest);
    return object;
}

/* ---- No provisioning ---- */

PHRASE(pv_controller_provision)
{
    PvControllerStory *self = story;
    Case *case_ = self->self;
    PvController *controller = pv_controller_begin(self);
    json_t *manifest = json_pack("{s:{s:s}, s:s}", "metadata", "name", "gold", "provisioner",
                                 "vendor.example/driver");

    case_import_object(case_, case_object(case_, manifest, KIND_STORAGE_CLASS),
                       CASE_API | CASE_INFORMER);
    json_decref(manifest);
    Object *claim = make_object(self, KIND_CLAIM, "claim",
                                json_pack("{s:s, s:[s], s:{s:{s:s}}}", "storageClassName", "gold",
                                          "accessModes", "ReadWriteOnce", "resources", "requests",
                                          "storage", "1Gi"));
    case_import_object(case_, claim, CASE_API | CASE_INFORMER);
    pv_cache_store(pv_controller_cache(controller), api_server_get(case_->api, claim->key));
    case_run_plan(case_, controller, pv_controller_sync_claim, (ObjectKey *)claim->key);
}

PHRASE(then_no_error)
{
    const Case *self = ((PvControllerStory *)story)->self;

    if (!self->plan_over || self->plan_failed)
        case_fail((Case *)self, "the sync failed");
}

PHRASE(then_no_write)
{
    Case *self = ((PvControllerStory *)story)->self;

    if (self->changed->len > 0)
        case_fail(self, "%u objects were written", self->changed->len);
}

/* ---- The cache ---- */

/* The API server takes small letters only: another name would be a fault, too. */
static void
set_name(PvControllerStory *self, const char *name)
{
    g_autofree char *lower = g_ascii_strdown(name, -1);

    self->name = g_intern_string(lower);
}

PHRASE(give_name)
{
    set_name(story, words[1]);
}

PHRASE(give_object)
{
    PvControllerStory *self = story;
    Object *volume;

    PvController *controller = pv_controller_begin(self);
    set_name(self, words[1]);
    self->version = (uint64_t)atoi(words[2]);
    volume = make_object(self, KIND_VOLUME, self->name, json_object());
    volume->resource_version = self->version;
    pv_cache_store(pv_controller_cache(controller), volume);
}

static void
pv_controller_count_fault(ApiParser *parser,
                          const json_t *where,
                          const char *message,
                          const char *hint)
{
    (void)where, (void)message, (void)hint;
    ((PvControllerStory *)parser->data)->n_faults++;
}

/* A version that cannot be read is a fault where objects come in. */
static Object *
pv_controller_read_volume(PvControllerStory *self, const char *version)
{
    g_autoptr(GString) path = g_string_new(NULL);
    ApiParser parser = {.objects = self->self->objects,
                        .report = pv_controller_count_fault,
                        .data = self,
                        .path = path};
    json_t *manifest = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:[s], s:{s:s}, s:{s:s}}}", "apiVersion", "v1", "kind",
        "PersistentVolume", "metadata", "name", self->name, "resourceVersion", version, "spec",
        "accessModes", "ReadWriteOnce", "capacity", "storage", "1Gi", "hostPath", "path", "/data");
    Object *object = api_parser_object(&parser, manifest);

    json_decref(manifest);
    return object;
}

static const Object *
cached(PvControllerStory *self)
{
    return pv_cache_get(pv_controller_cache(pv_controller_begin(self)),
                        objects_key(self->self->objects, KIND_VOLUME, NULL, self->name));
}

/* As the last version was offered. */
PHRASE(expect_version)
{
    PvControllerStory *self = story;
    uint64_t expected = g_ascii_strtoull(words[1], NULL, 10); /* "null": 0 */

    if (self->version_before != expected)
        case_fail(self->self, "the cache did not have version %s", words[1]);
}

PHRASE(offer)
{
    PvControllerStory *self = story;

    if (self->name == NULL)
        set_name(self, "pvName");
    const Object *before = cached(self);
    self->version_before = before == NULL ? 0 : before->resource_version;
    self->n_faults = 0;
    g_autoptr(Object) object = pv_controller_read_volume(self, words[1]);
    self->was_refused = self->n_faults == 0 &&
                        pv_cache_is_newer(pv_controller_cache(pv_controller_begin(self)), object);
    if (self->n_faults == 0)
        pv_cache_store(pv_controller_cache(pv_controller_begin(self)), object);
}

/* Whether the last one offered was taken. */
PHRASE(expect_taken)
{
    PvControllerStory *self = story;
    gboolean was_taken = self->n_faults == 0 && !self->was_refused;

    if (was_taken != (strcmp(words[1], "true") == 0))
        case_fail(self->self, "the version was %s", was_taken ? "taken" : "not taken");
}

PHRASE(then_fault)
{
    PvControllerStory *self = story;

    if (self->n_faults == 0)
        case_fail(self->self, "no error");
}

PHRASE(then_kept)
{
    PvControllerStory *self = story;
    const Object *object = cached(self);

    if (object == NULL || object->resource_version != self->version)
        case_fail(self->self, "another version");
}

/* clang-format off */
static const Phrase phrases[] = {
    {"enable_dynamic_provisioning: false",              story_nothing, 0},
    {"object: volume (\\S+) at version (\\d+) in the cache", give_object, 0},
    {"object: one volume (\\S+)",                       give_name,     0},
    {"version_in_cache: (null|\\d+)",                   expect_version, 0},
    {"each offer is stored exactly when \"stored\" is true", story_nothing, 0},
    {"ask the controller to provision any claim",       pv_controller_provision,     0},
    {"returns at once without error",                   then_no_error, 0},
    {"nothing is written",                              then_no_write, 0},
    {"offered_version: (\\S+)",                         offer,         0},
    {"(?:stored|accepted|taken|returns): (true|false)", expect_taken,  0},
    {"offer fails with an error",                       then_fault,    0},
    {"cache still holds the earlier version",           then_kept,     0},
    {NULL,                                              NULL,          0},
};
/* clang-format on */

void
story_pv_controller(Case *case_)
{
    PvControllerStory self = {.self = case_};

    story_tell(case_, "given", phrases, &self);
    story_tell(case_, "steps", phrases, &self);
    if (self.has_begun)
        story_tell(case_, "then", phrases, &self);
    else
        case_fail(case_, "nothing was done");
}
