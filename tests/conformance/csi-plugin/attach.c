/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/attach-detach-controller/attach-detach-controller.h"
#include "models/attach-detach-controller/controller.h"
#include "models/client/client-test.h"
#include "models/client/process-private.h"
#include "tests/conformance/csi-plugin/csi-plugin-case.h"

#include <string.h>

/* The attacher's calls of the attach/detach controller: the plugin's other half. Each runs in a
 * world of its own, with that controller in place of the kubelet. */

#define LOOK (10 * SIM_MS)            /* long before the controller's next pass */
#define LONG_ENOUGH (3 * SIM_MINUTE)  /* ADC-3: it gives up after two */
#define ENVIRONMENT_AT (100 * SIM_MS) /* while the call waits */

static const WorldOptions options = {.only = &attach_detach_controller_class};

typedef struct {
    Case *self;
    AttachDetachController *controller;
    const ObjectKey *attachment; /* of the pair in question */
} AttachWorld;

static void
attach_world_new(AttachWorld *world, Case *self)
{
    const json_t *item;
    size_t i;

    case_world_new(self, &options);
    case_start(self, &options);
    *world = (AttachWorld){self, case_model(self, &attach_detach_controller_class), NULL};
    json_array_foreach(case_get(self, "given.objects"), i, item)
        case_import_object(self, case_object_of_manifest(self, item), CASE_API | CASE_INFORMER);
    case_forget(self);
}

static AttachPair *
pair_of(const AttachWorld *world, const char *driver, const char *handle)
{
    Strings *strings = objects_strings(world->self->objects);
    const char *node = case_string(world->self, "args.node_name");
    AttachPair *pair = adc_pair(
        adc_volume(world->controller, strings_intern(strings, driver),
                   strings_intern(strings, handle)),
        adc_node(world->controller, strings_intern(strings, node == NULL ? FAKE_NODE : node)));

    adc_attachment_key(world->controller, pair);
    return pair;
}

/* Returns: (nullable): the controller forgets a pair that is detached */
static const AttachPair *
pair_now(const AttachWorld *world)
{
    return g_hash_table_lookup(world->controller->pairs_by_attachment, world->attachment);
}

/* The status that somebody else sets; nothing if there is no such attachment. */
static void
attach_set_status(const AttachWorld *world, const json_t *step)
{
    Case *self = world->self;
    ObjectKey *key = objects_key(
        self->objects, KIND_ATTACHMENT, NULL,
        strings_intern(objects_strings(self->objects), json_path_string(step, "attachment")));
    const Object *stored = api_server_get(self->api, key);

    if (stored == NULL)
        return;
    Object *copy = object_edit(stored);
    ATTACHMENT(copy)->attached = json_is_true(json_path_get(step, "status.attached"));
    g_ptr_array_add(self->owned, copy);
    case_import_object(self, copy, CASE_API | CASE_INFORMER);
    informer_tell(case_informer(self, &attach_detach_controller_class, KIND_ATTACHMENT), stored,
                  api_server_get(self->api, key));
}

static void
run_operation(AttachWorld *world, AttachPair *pair, PlanDecide decide)
{
    const json_t *step;
    size_t i;

    world->attachment = pair->attachment;
    plan_start(&(PlanStart){.component = (Component *)&world->controller->base,
                            .decide = decide,
                            .key = pair->attachment,
                            .operation = pair});
    case_wait(world->self, ENVIRONMENT_AT - LOOK);
    json_array_foreach(case_get(world->self, "environment"), i, step)
        attach_set_status(world, step);
    for (SimTime waited = 0; waited < LONG_ENOUGH; waited += LOOK) {
        if (pair_now(world) == NULL || !pair_now(world)->is_under_way)
            return;
        case_wait(world->self, LOOK);
    }
}

static void
decide_attach(const void *self, Plan *plan)
{
    adc_plan_attach_operation(self, plan, (AttachPair *)plan_operation(plan));
}

static void
decide_detach(const void *self, Plan *plan)
{
    adc_plan_detach_operation(self, plan, (AttachPair *)plan_operation(plan), DETACH_TIMED_OUT);
}

/* ---- What came of it ---- */

static json_t *
writes_of(const Case *self)
{
    json_t *writes = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(self->writes, i, item) {
        const char *verb = json_path_string(item, "verb");
        /* The controller's reports to nodes are not the attacher's. */
        if (g_str_equal(verb, "get") || g_str_equal(verb, "list") ||
            !g_str_equal(json_path_string(item, "resource"), "volumeattachments"))
            continue;
        json_t *write =
            json_pack("{s:s, s:O, s:O}", "verb", verb, "resource",
                      json_object_get(item, "resource"), "name", json_object_get(item, "name"));
        if (json_path_get(item, "object.spec") != NULL)
            json_object_set(write, "spec", (json_t *)json_path_get(item, "object.spec"));
        json_array_append_new(writes, write);
    }
    return writes;
}

static void
expect(AttachWorld *world, gboolean failed)
{
    Case *self = world->self;
    json_t *wanted = json_array(), *found = writes_of(self);
    const json_t *item;
    size_t i;

    if (json_is_boolean(case_get(self, "expected.error")) &&
        case_flag(self, "expected.error") != failed)
        case_fail(self, "%s: %s", case_string(self, "act"), failed ? "failed" : "did not fail");
    json_array_foreach(case_get(self, "expected.api_writes"), i, item) {
        if (g_str_equal(json_path_string(item, "resource"), "csinodes"))
            continue; /* the kubelet's, as it starts */
        json_t *write =
            json_pack("{s:O, s:O, s:O}", "verb", json_object_get(item, "verb"), "resource",
                      json_object_get(item, "resource"), "name", json_object_get(item, "name"));
        if (json_path_get(item, "object.spec") != NULL)
            json_object_set(write, "spec", (json_t *)json_path_get(item, "object.spec"));
        json_array_append_new(wanted, write);
    }
    /* A write that the API refuses is none: the recorded tests list those that it took. */
    if (case_get(self, "inject.api_errors") == NULL)
        case_expect_json(self, "api_writes", wanted, found);
    json_decref(wanted);
    json_decref(found);
}

static void
attach(AttachWorld *world)
{
    const json_t *manifest = csi_spec_persistent(case_get(world->self, "args.spec"));
    const char *driver = json_path_string(manifest, "spec.csi.driver");

    if (driver == NULL) { /* nothing to attach, to whichever node */
        (void)case_string(world->self, "args.node_name");
        expect(world, TRUE);
        return;
    }
    Object *volume = case_object(world->self, manifest, KIND_VOLUME);
    AttachPair *pair = pair_of(world, driver, json_path_string(manifest, "spec.csi.volumeHandle"));
    pair->volume->spec = volume->key;
    run_operation(world, pair, decide_attach);
    expect(world, pair_now(world) == NULL || pair_now(world)->state != ADC_ATTACHED);
    const json_t *wanted = case_get(world->self, "expected.returns");
    json_t *path = wanted == NULL ? NULL : json_string(CSI_DEVICE_PATH);
    case_expect_json(world->self, "device path", wanted, path);
    json_decref(path);
}

static void
csi_plugin_attach_detach(AttachWorld *world)
{
    const char *name = case_string(world->self, "args.volume_name");
    g_auto(GStrv) parts = g_strsplit(name == NULL ? "" : name, "^", 2);

    if (g_strv_length(parts) != 2) { /* no volume has such a name */
        expect(world, TRUE);
        return;
    }
    AttachPair *pair = pair_of(world, parts[0], parts[1]);
    adc_set_attached(world->controller, pair, TRUE, CSI_DEVICE_PATH, TRUE);
    run_operation(world, pair, decide_detach);
    expect(world, pair_now(world) != NULL && pair_now(world)->state != ADC_DETACHED);
}

/* Whether each volume is attached: a table from handle to flag, in the order of the specs. */
static void
verify(AttachWorld *world)
{
    const json_t *told = case_get(world->self, "expected.returns.per_volume"), *spec;
    json_t *wanted = json_array(), *found = json_array(), *value;
    const char *handle;
    size_t i;

    json_object_foreach((json_t *)told, handle, value)
        json_array_append(wanted, value);
    json_array_foreach(case_get(world->self, "args.specs"), i, spec) {
        const json_t *manifest = csi_spec_persistent(spec);
        gboolean attached = FALSE;
        if (manifest != NULL) {
            const Volume *volume = VOLUME_CONST(case_object(world->self, manifest, KIND_VOLUME));
            const AttachPair *pair = pair_of(world, volume->source->driver, volume->source->handle);
            const Attachment *attachment = adc_find_attachment(world->controller, pair);
            attached = !adc_is_attachable(world->controller, volume->source) ||
                       (attachment != NULL && attachment->attached);
        }
        json_array_append_new(found, json_boolean(attached));
    }
    case_expect_json(world->self, "attached", wanted, found);
    json_decref(wanted);
    json_decref(found);
}

static void
attach_run(Case *self)
{
    const char *act = case_string(self, "act");
    AttachWorld world;

    attach_world_new(&world, self);
    if (strcmp(act, "attacher.attach") == 0)
        attach(&world);
    else if (strcmp(act, "attacher.detach") == 0)
        csi_plugin_attach_detach(&world);
    else
        verify(&world);
}

static const Act acts[] = {
    {"attacher.attach",               attach_run},
    {"attacher.detach",               attach_run},
    {"attacher.volumes_are_attached", attach_run},
    {NULL,                            NULL      },
};

gboolean
csi_is_attach_call(const char *name)
{
    for (const Act *act = acts; act->act != NULL; act++)
        if (g_strcmp0(act->act, name) == 0)
            return TRUE;
    return FALSE;
}

/* A failure without a write: the API has refused it. */
static json_t *
injected(const char *name, const json_t *args, const json_t *expected)
{
    gboolean refused = json_is_true(json_object_get(expected, "error")) &&
                       json_object_get(expected, "api_writes") == NULL &&
                       strcmp(name, "attacher.detach") == 0 && args != NULL;

    return refused ? json_pack("{s:[{s:s, s:s, s:i}]}", "api_errors", "verb", "*", "resource",
                               "volumeattachments", "times", 100)
                   : json_object();
}

void
csi_run_attach_call(Case *self,
                    const char *name,
                    const json_t *args,
                    const json_t *expected,
                    const json_t *environment)
{
    g_autoptr(GString) faults = g_string_new(NULL);
    json_t *given = json_pack("{s:O?}", "objects", case_get(self, "given.objects"));
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:O?, s:O?, s:O?, s:o}", "id", self->id, "suite",
                  "csi_plugin", "act", name, "given", given, "args", args, "expected", expected,
                  "environment", environment, "inject", injected(name, args, expected));

    if (!case_run(acts, json, faults))
        case_fail(self, "%s", faults->str);
    json_decref(json);
}
