/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/scheduler-case.h"
#include "tests/conformance/compare.h"

#include "models/api/fields.h"
#include "models/client/process-private.h"

#include <string.h>

/* The shape of the configuration, as the flag has it. */
static void
set_shape(Case *self, const ProcessClass *class, void *process_options)
{
    KubeSchedulerOptions *options = process_options;
    g_autoptr(GString) text = g_string_new(NULL);
    const json_t *point;
    size_t i;

    (void)class;
    json_array_foreach(case_get(self, "config.shape"), i, point)
        g_string_append_printf(text, "%s%d:%d", i == 0 ? "" : ",",
                               (int)json_integer_value(json_object_get(point, "utilization")),
                               (int)json_integer_value(json_object_get(point, "score")));
    if (text->len > 0)
        options->shape = strings_intern(objects_strings(self->objects), text->str);
}

static const WorldOptions silent_world = {.only = &scheduler_class, .set_options = set_shape};

Scheduler *
scheduler_case(const Case *self)
{
    return case_model(self, &scheduler_class);
}

GArray *
scheduler_case_choices_new(void)
{
    GArray *choices = g_array_new(FALSE, TRUE, sizeof(VolumeChoice));

    g_array_set_clear_func(choices, (GDestroyNotify)volume_choice_clear);
    return choices;
}

VolumeChoice *
scheduler_case_choices(const GArray *choices)
{
    return (VolumeChoice *)(void *)choices->data;
}

Scheduler *
scheduler_case_new(Case *self)
{
    case_world_new(self, &silent_world);
    case_start(self, &silent_world);
    return case_model(self, &scheduler_class);
}

/* ---- Objects ---- */

/* The API server would set the mode; some cases ask what happens without. */
static void
seed_classes(Case *self)
{
    const json_t *manifest;
    size_t i;

    json_array_foreach(case_get(self, "storage_classes"), i, manifest) {
        Object *class = case_object(self, manifest, KIND_STORAGE_CLASS);
        if (json_object_get(manifest, "volumeBindingMode") == NULL)
            STORAGE_CLASS(class)->binding_mode = BINDING_UNSET;
        case_import_object(self, class, CASE_INFORMER);
    }
}

static void
seed_attachments(Case *self)
{
    g_autoptr(GPtrArray) attachments =
        case_objects(self, "initial.volume_attachments", KIND_ATTACHMENT);

    for (unsigned i = 0; i < attachments->len; i++) {
        case_import_object(self, attachments->pdata[i], CASE_INFORMER);
        scheduler_cache_attachment_changed(scheduler_case(self)->cache, NULL,
                                           attachments->pdata[i]);
    }
}

void
scheduler_case_seed(Case *self)
{
    seed_classes(self);
    case_import(self, "initial.volumes", KIND_VOLUME, CASE_INFORMER);
    case_import(self, "initial.claims", KIND_CLAIM, CASE_INFORMER);
    case_import(self, "initial.csi_drivers", KIND_CSI_DRIVER, CASE_INFORMER);
    case_import(self, "initial.csi_storage_capacities", KIND_STORAGE_CAPACITY, CASE_INFORMER);
    seed_attachments(self);
}

void
scheduler_case_observe(Case *self, const Object *object)
{
    Scheduler *scheduler = scheduler_case(self);
    Informer *informer = case_informer(self, &scheduler_class, object_kind(object));
    const Object *known = informer_get(informer, object->key);
    g_autoptr(Object) before = known == NULL ? NULL : object_ref(known);

    informer_put(informer, object);
    if (object_kind(object) == KIND_CLAIM)
        assume_cache_observe(scheduler->binder.claims, before, object);
    if (object_kind(object) == KIND_VOLUME)
        assume_cache_observe(scheduler->binder.volumes, before, object);
}

/* @value: of a member that is missing in @object */
static void
set_missing(json_t *object, const char *name, json_t *value)
{
    if (json_object_get(object, name) == NULL)
        json_object_set(object, name, value);
    json_decref(value);
}

const Pod *
scheduler_case_pod(Case *self, const json_t *manifest, unsigned number)
{
    json_t *named = json_deep_copy(manifest);
    json_t *volume;
    size_t i;

    set_missing(named, "metadata", json_object());
    set_missing(json_object_get(named, "metadata"), "name", json_sprintf("-%u", number));
    json_array_foreach((json_t *)json_path_get(named, "spec.volumes"), i, volume)
        set_missing(volume, "name", json_sprintf("-%zu", i));
    const Pod *pod = POD_CONST(case_object(self, named, KIND_POD));
    json_decref(named);
    return pod;
}

const NodeInfo *
scheduler_case_node(Case *self, const json_t *manifest)
{
    Scheduler *scheduler = scheduler_case(self);
    json_t *none = json_pack("{s:{s:s}}", "metadata", "name", "node");
    const Object *node = case_object(self, manifest == NULL ? none : manifest, KIND_NODE);

    json_decref(none);
    case_import_object(self, (Object *)node, CASE_INFORMER);
    scheduler_cache_set_node(scheduler->cache, node->key, (const Node *)node);
    return scheduler_cache_find_node(scheduler->cache, node->key);
}

void
scheduler_case_pods_on(Case *self, const char *path, const NodeInfo *node)
{
    Scheduler *scheduler = scheduler_case(self);
    const json_t *manifest;
    size_t i;

    json_array_foreach(case_get(self, path), i, manifest) {
        const Pod *pod = scheduler_case_pod(self, manifest, (unsigned)i + 1);
        if (scheduler_cache_find_pod(scheduler->cache, pod->meta.key, pod->meta.uid) == NULL)
            scheduler_cache_add_pod(scheduler->cache, pod, node->key->name, NULL);
    }
}

/* ---- Statuses ---- */

static const char *
code_of(Verdict verdict)
{
    switch (verdict) {
    case VERDICT_OK:
    case VERDICT_ANY_NODE:
        return "Success";
    case VERDICT_SKIP:
        return "Skip";
    case VERDICT_UNSCHEDULABLE:
        return "Unschedulable";
    case VERDICT_UNRESOLVABLE:
        return "UnschedulableAndUnresolvable";
    case VERDICT_ERROR:
        return "Error";
    }
    g_assert_not_reached();
}

/* Listers of a real scheduler name one object, those of the recorded tests the resource:
 * `persistentvolumeclaims "c" not found`. */
static char *
as_lister_says(const char *reason)
{
    static const char *const plurals[][2] = {
        {"persistentvolumeclaims \"",        "persistentvolumeclaim \""      },
        {"persistentvolumes \"",             "persistentvolume \""           },
        {"storageclasses.storage.k8s.io \"", "storageclass.storage.k8s.io \""},
    };
    GString *text = g_string_new(reason);

    for (unsigned i = 0; i < G_N_ELEMENTS(plurals); i++)
        g_string_replace(text, plurals[i][0], plurals[i][1], 0);
    return g_string_free(text, FALSE);
}

static json_t *
reasons_of(const Cycle *cycle)
{
    json_t *reasons = json_array();

    if (cycle->text->len > 0)
        json_array_append_new(reasons, json_string(cycle->text->str));
    for (unsigned i = 0; i < cycle->reasons->len; i++)
        json_array_append_new(reasons, json_string(g_array_index(cycle->reasons, Reason, i).text));
    return reasons;
}

void
scheduler_case_expect(Case *self, const char *path, const json_t *expected, Verdict verdict)
{
    json_t *reasons = reasons_of(scheduler_case(self)->cycle), *wanted = json_array();
    const json_t *reason;
    size_t i;

    json_array_foreach(json_object_get(expected, "reasons"), i, reason) {
        g_autofree char *text = as_lister_says(json_string_value(reason));
        json_array_append_new(wanted, json_string(text));
    }
    if (g_strcmp0(json_path_string(expected, "code"), code_of(verdict)) != 0)
        case_fail(self, "%s: found %s", path, code_of(verdict));
    else if (verdict != VERDICT_ERROR)
        case_expect_json(self, path, wanted, reasons);
    json_decref(reasons);
    json_decref(wanted);
}

/* ---- Acts ---- */

void
scheduler_case_run_plugin(Case *self, PluginId id, gboolean recomputes)
{
    const Plugin *plugin = &plugins[id];
    Scheduler *scheduler = scheduler_case_new(self);
    const json_t *csi_node = case_get(self, "initial.csi_node");
    const json_t *expected = case_get(self, "expected.filter");

    scheduler_case_seed(self);
    const NodeInfo *node = scheduler_case_node(self, case_get(self, "initial.node"));
    if (csi_node != NULL)
        scheduler_cache_set_csi_node(scheduler->cache, node->key,
                                     CSI_NODE(case_object(self, csi_node, KIND_CSI_NODE)));
    scheduler_case_pods_on(self, "initial.pods_on_node", node);
    scheduler_case_pods_on(self, "initial.other_pods", node);

    cycle_begin(scheduler->cycle, scheduler_case_pod(self, case_get(self, "initial.pod"), 0), 1);
    Verdict verdict = plugin->pre_filter(scheduler->cycle);
    scheduler_case_expect(self, "prefilter", case_get(self, "expected.prefilter"), verdict);
    if (expected == NULL)
        return;
    if (verdict == VERDICT_OK || verdict == VERDICT_SKIP || verdict == VERDICT_ANY_NODE)
        verdict = plugin->filter(scheduler->cycle, node);
    else if (!recomputes)
        case_fail(self, "there is nothing to filter");
    scheduler_case_expect(self, "filter", expected, verdict);
}

static const struct {
    ObjectKind kind;
    EventResource resource;
} event_kinds[] = {
    {KIND_NODE,             EVENT_NODE      },
    {KIND_POD,              EVENT_POD       },
    {KIND_CLAIM,            EVENT_CLAIM     },
    {KIND_VOLUME,           EVENT_VOLUME    },
    {KIND_STORAGE_CLASS,    EVENT_CLASS     },
    {KIND_CSI_NODE,         EVENT_CSI_NODE  },
    {KIND_STORAGE_CAPACITY, EVENT_CAPACITY  },
    {KIND_ATTACHMENT,       EVENT_ATTACHMENT},
    {KIND_CSI_DRIVER,       EVENT_CSI_DRIVER},
};

static const Object *
event_object(Case *self, const json_t *manifest)
{
    const char *kind = json_path_string(manifest, "kind");

    if (!json_is_object(manifest))
        return NULL;
    return g_strcmp0(kind, "Pod") == 0 ? &scheduler_case_pod(self, manifest, 1)->meta
                                       : case_object_of_manifest(self, manifest);
}

void
scheduler_case_expect_hint(Case *self, PluginId plugin, const json_t *old, const json_t *new)
{
    const Object *before = event_object(self, old), *after = event_object(self, new);
    const Pod *pod = scheduler_case_pod(self, case_get(self, "initial.pod"), 0);
    const char *hint = NULL;

    if ((before == NULL && after == NULL) || pod == NULL || pod->spec == NULL) {
        case_fail(self, "the event has no object, or there is no pod");
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(event_kinds); i++) {
        if (event_kinds[i].kind != object_kind(after == NULL ? before : after))
            continue;
        ClusterEvent event = cluster_event(event_kinds[i].resource, before, after, 32);
        hint =
            cluster_event_helps(&event, pod, UINT32_C(1) << plugin) == NULL ? "QueueSkip" : "Queue";
    }
    if (g_strcmp0(hint, case_string(self, "expected.hint")) != 0)
        case_fail(self, "found %s", hint == NULL ? "no such event" : hint);
}
