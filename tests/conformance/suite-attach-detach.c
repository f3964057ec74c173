/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/api/migration/migration.h"
#include "models/attach-detach-controller/attach-detach-controller.h"
#include "models/attach-detach-controller/attach-detach-test.h"
#include "models/attach-detach-controller/controller.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/stories/story.h"
#include "tests/conformance/trace.h"

#include <string.h>

/* The attach/detach controller's two states of the world, call by call, and the event that a volume
 * is held elsewhere. Here volumes have any name; pods are called by their uids. */

#define PLUGIN "fake-plugin"

typedef struct {
    Case *self;
    AttachDetachController *controller;
    GHashTable *pods; /* interned uid -> ObjectKey */
} AttachDetachWorld;

static void
suite_attach_detach_world_start(AttachDetachWorld *world, Case *self)
{
    static const WorldOptions options = {.only = &attach_detach_controller_class};

    case_world_new(self, &options);
    case_start(self, &options);
    *world = (AttachDetachWorld){
        .self = self,
        .controller = case_model(self, &attach_detach_controller_class),
        .pods = g_hash_table_new(g_direct_hash, g_direct_equal),
    };
}

static void
suite_attach_detach_world_end(AttachDetachWorld *world)
{
    g_hash_table_unref(world->pods);
}

/* ---- What calls are about ---- */

static const char *
word(const AttachDetachWorld *world, const char *text)
{
    return strings_intern(objects_strings(world->self->objects), text);
}

static const char *
arg(const AttachDetachWorld *world, const json_t *args, const char *name)
{
    const char *text = json_path_string(args, name);

    return text == NULL ? NULL : word(world, text);
}

static AttachNode *
suite_attach_detach_node_of(const AttachDetachWorld *world, const json_t *args)
{
    const char *name = arg(world, args, "nodeName");

    return adc_node(world->controller,
                    name == NULL ? word(world, case_text(world->self, args, "name")) : name);
}

static AttachVolume *
volume_named(const AttachDetachWorld *world, const char *name)
{
    const char *slash = strchr(name, '/');

    return adc_volume_named(world->controller, word(world, name), word(world, PLUGIN),
                            word(world, slash == NULL ? name : slash + 1));
}

/* Of a spec: the plugin's name for it. */
static AttachVolume *
volume_of_spec(const AttachDetachWorld *world, const json_t *args)
{
    g_autofree char *name =
        g_strconcat(PLUGIN "/", case_text(world->self, args, "volume_spec.name"), NULL);

    return volume_named(world, name);
}

static AttachVolume *
suite_attach_detach_volume_of(const AttachDetachWorld *world, const json_t *args)
{
    const char *name = json_path_string(args, "volumeName");

    if (name == NULL)
        name = json_path_string(args, "uniqueName");
    return name == NULL || name[0] == '\0' ? volume_of_spec(world, args)
                                           : volume_named(world, name);
}

static AttachPair *
pair_of(const AttachDetachWorld *world, const json_t *args)
{
    return adc_pair(suite_attach_detach_volume_of(world, args),
                    suite_attach_detach_node_of(world, args));
}

/* ---- Actual state ---- */

static const char *const state_words[] = {
    [ADC_DETACHED] = "Detached",
    [ADC_UNCERTAIN] = "Uncertain",
    [ADC_ATTACHED] = "Attached",
};

static const char *
device_path_of(const AttachVolume *volume)
{
    return volume->device_path == NULL ? "" : volume->device_path;
}

static json_t *
add_volume_node(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    AttachPair *pair = pair_of(world, args);
    const json_t *attached = json_object_get(args, "attached");

    *failed = FALSE;
    adc_set_attached(world->controller, pair, json_object_get(args, "volume_spec") != NULL,
                     word(world, json_path_string(args, "devicePath")),
                     attached == NULL || json_is_true(attached));
    return json_string(pair->volume->name);
}

static json_t *
mark_attached(void *data, const json_t *args, gboolean *failed)
{
    json_decref(add_volume_node(data, args, failed));
    return NULL;
}

static json_t *
mark_uncertain(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;

    *failed = FALSE;
    adc_set_attached(world->controller, pair_of(world, args), TRUE, word(world, ""), FALSE);
    return NULL;
}

static json_t *
delete_volume_node(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;

    *failed = FALSE;
    adc_set_detached(world->controller, pair_of(world, args));
    return NULL;
}

static json_t *
get_attach_state(void *data, const json_t *args, gboolean *failed)
{
    *failed = FALSE;
    return json_string(state_words[pair_of(data, args)->state]);
}

static json_t *
attached_json(const AttachPair *pair)
{
    return json_pack("{s:b, s:s, s:b, s:s, s:s}", "detach_requested",
                     pair->detach_requested_at != TIME_UNSET, "device_path",
                     device_path_of(pair->volume), "mounted_by_node", adc_is_in_use(pair), "node",
                     pair->node->name, "volume", pair->volume->name);
}

static void
append_attached(json_t *list, const AttachNode *node)
{
    for (unsigned i = 0; i < node->pairs->len; i++) {
        const AttachPair *pair = node->pairs->pdata[i];
        if (pair->state != ADC_DETACHED)
            json_array_append_new(list, attached_json(pair));
    }
}

static json_t *
get_attached(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    json_t *list = json_array();
    const AttachNode *node;

    (void)args, *failed = FALSE;
    for (uint32_t slot = 0; (node = adc_next_node(world->controller, &slot)) != NULL;)
        append_attached(list, node);
    return list;
}

static json_t *
get_attached_for_node(void *data, const json_t *args, gboolean *failed)
{
    json_t *list = json_array();

    *failed = FALSE;
    append_attached(list, suite_attach_detach_node_of(data, args));
    return list;
}

static json_t *
get_attached_per_node(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    json_t *map = json_object();
    const AttachNode *node;

    (void)args, *failed = FALSE;
    for (uint32_t slot = 0; (node = adc_next_node(world->controller, &slot)) != NULL;) {
        json_t *list = json_array();
        for (unsigned i = 0; i < node->pairs->len; i++) {
            const AttachPair *pair = node->pairs->pdata[i];
            if (pair->state == ADC_ATTACHED)
                json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "device_path",
                                                      device_path_of(pair->volume), "node",
                                                      node->name, "volume", pair->volume->name));
        }
        if (json_array_size(list) > 0)
            json_object_set(map, node->name, list);
        json_decref(list);
    }
    return map;
}

static json_t *
get_nodes_of_volume(void *data, const json_t *args, gboolean *failed)
{
    const AttachVolume *volume = suite_attach_detach_volume_of(data, args);
    json_t *list = json_array();

    *failed = FALSE;
    for (const GSList *link = volume->pairs; link != NULL; link = link->next) {
        const AttachPair *pair = link->data;
        if (pair->state == ADC_ATTACHED)
            json_array_append_new(list, json_string(pair->node->name));
    }
    return list;
}

static json_t *
report_json(const AttachDetachWorld *world, const AttachNode *node)
{
    json_t *list = json_array();

    for (unsigned i = 0; node->report != NULL && i < node->report->n_items; i++) {
        const AttachVolume *volume = volume_named(world, node->report->items[i]);
        json_array_append_new(list, json_pack("{s:s, s:s}", "device_path", device_path_of(volume),
                                              "volume", volume->name));
    }
    return list;
}

static json_t *
get_reports(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    json_t *map = json_object();
    AttachNode *node;

    (void)args, *failed = FALSE;
    for (uint32_t slot = 0; (node = adc_next_node(world->controller, &slot)) != NULL;)
        if (adc_begin_report(world->controller, node))
            json_object_set_new(map, node->name, report_json(world, node));
    return map;
}

static json_t *
get_report_of_node(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    AttachNode *node = suite_attach_detach_node_of(world, args);

    *failed = FALSE;
    if (!adc_begin_report(world->controller, node))
        return json_false();
    return json_pack("[b, o]", TRUE, report_json(world, node));
}

static json_t *
nodes_to_update(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    json_t *map = json_object();
    const AttachNode *node;

    (void)args, *failed = FALSE;
    for (uint32_t slot = 0; (node = adc_next_node(world->controller, &slot)) != NULL;)
        if (node->has_report)
            json_object_set_new(map, node->name, report_json(world, node));
    return map;
}

static json_t *
update_is_needed(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;

    *failed = !adc_report_again(world->controller, suite_attach_detach_node_of(world, args));
    return NULL;
}

static json_t *
report_attached(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;

    adc_report(world->controller, pair_of(world, args), TRUE);
    *failed = FALSE;
    return NULL;
}

static json_t *
report_detached(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;

    *failed = !adc_report(world->controller, pair_of(world, args), FALSE);
    return NULL;
}

static json_t *
request_detach(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    SimTime elapsed = adc_request_detach(world->controller, pair_of(world, args));

    *failed = elapsed < 0;
    return json_integer(MAX(elapsed, 0));
}

static json_t *
reset_request(void *data, const json_t *args, gboolean *failed)
{
    *failed = FALSE;
    adc_reset_detach_request(pair_of(data, args));
    return NULL;
}

static json_t *
set_mounted(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    StringList *list = NULL;
    const json_t *name;
    size_t i;

    *failed = FALSE;
    json_array_foreach(json_object_get(args, "volumeNames"), i, name) {
        StringList *with = string_list_with(list, word(world, json_string_value(name)));
        string_list_unref(list);
        list = with;
    }
    adc_set_in_use(world->controller, suite_attach_detach_node_of(world, args), list);
    string_list_unref(list);
    return NULL;
}

static const TraceCall actual_calls[] = {
    {"AddVolumeNode",                     add_volume_node      },
    {"MarkVolumeAsAttached",              mark_attached        },
    {"MarkVolumeAsUncertain",             mark_uncertain       },
    {"MarkVolumeAsDetached",              delete_volume_node   },
    {"DeleteVolumeNode",                  delete_volume_node   },
    {"GetAttachState",                    get_attach_state     },
    {"GetAttachedVolumes",                get_attached         },
    {"GetAttachedVolumesForNode",         get_attached_for_node},
    {"GetAttachedVolumesPerNode",         get_attached_per_node},
    {"GetNodesForAttachedVolume",         get_nodes_of_volume  },
    {"GetVolumesToReportAttached",        get_reports          },
    {"GetVolumesToReportAttachedForNode", get_report_of_node   },
    {"GetNodesToUpdateStatusFor",         nodes_to_update      },
    {"SetNodeStatusUpdateNeeded",         update_is_needed     },
    {"AddVolumeToReportAsAttached",       report_attached      },
    {"RemoveVolumeFromReportAsAttached",  report_detached      },
    {"SetDetachRequestTime",              request_detach       },
    {"ResetDetachRequestTime",            reset_request        },
    {"SetVolumesMountedByNode",           set_mounted          },
    {NULL,                                NULL                 },
};

/* ---- Desired state ---- */

static json_t *
suite_attach_detach_add_node(void *data, const json_t *args, gboolean *failed)
{
    *failed = FALSE;
    adc_manage_node(suite_attach_detach_node_of(data, args));
    return NULL;
}

static json_t *
delete_node(void *data, const json_t *args, gboolean *failed)
{
    *failed = !adc_delete_node(suite_attach_detach_node_of(data, args));
    return NULL;
}

static json_t *
node_exists(void *data, const json_t *args, gboolean *failed)
{
    *failed = FALSE;
    return json_boolean(suite_attach_detach_node_of(data, args)->is_managed);
}

static json_t *
volume_exists(void *data, const json_t *args, gboolean *failed)
{
    *failed = FALSE;
    return json_boolean(attach_pair_is_wanted(pair_of(data, args)));
}

static json_t *
suite_attach_detach_add_pod(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    AttachPair *pair =
        adc_pair(volume_of_spec(world, args), suite_attach_detach_node_of(world, args));
    ObjectKey *pod = case_key(world->self, KIND_POD, json_path_string(args, "pod"));

    g_hash_table_insert(world->pods, (void *)arg(world, args, "podName"), pod);
    *failed = !adc_add_pod(world->controller, pair, pod);
    return json_string(*failed ? "" : pair->volume->name);
}

static json_t *
suite_attach_detach_delete_pod(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    const ObjectKey *pod = g_hash_table_lookup(world->pods, arg(world, args, "podName"));

    *failed = FALSE;
    adc_delete_pod(world->controller, pair_of(world, args), pod);
    return NULL;
}

static json_t *
set_multi_attach_error(void *data, const json_t *args, gboolean *failed)
{
    *failed = FALSE;
    pair_of(data, args)->multi_attach_reported = TRUE;
    return NULL;
}

static json_t *
wanted_json(const AttachPair *pair)
{
    json_t *pods = json_array();

    for (const GSList *link = pair->pods; link != NULL; link = link->next)
        json_array_append_new(pods, json_string(((const ObjectKey *)link->data)->text));
    return json_pack("{s:b, s:s, s:o, s:s}", "multi_attach_reported", pair->multi_attach_reported,
                     "node", pair->node->name, "pods", pods, "volume", pair->volume->name);
}

static json_t *
get_wanted(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    json_t *list = json_array();
    const AttachNode *node;

    (void)args, *failed = FALSE;
    for (uint32_t slot = 0; (node = adc_next_node(world->controller, &slot)) != NULL;)
        for (unsigned i = 0; i < node->pairs->len; i++)
            if (attach_pair_is_wanted(node->pairs->pdata[i]))
                json_array_append_new(list, wanted_json(node->pairs->pdata[i]));
    return list;
}

static const char *
uid_of(const AttachDetachWorld *world, const ObjectKey *pod)
{
    GHashTableIter iter;
    void *uid, *key;

    g_hash_table_iter_init(&iter, world->pods);
    while (g_hash_table_iter_next(&iter, &uid, &key))
        if (key == pod)
            return uid;
    return "";
}

static json_t *
get_pods(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    json_t *map = json_object();
    const AttachNode *node;

    (void)args, *failed = FALSE;
    for (uint32_t slot = 0; (node = adc_next_node(world->controller, &slot)) != NULL;)
        for (unsigned i = 0; i < node->pairs->len; i++) {
            const AttachPair *pair = node->pairs->pdata[i];
            for (const GSList *link = pair->pods; link != NULL; link = link->next) {
                const ObjectKey *pod = link->data;
                json_object_set_new(map, uid_of(world, pod),
                                    json_pack("{s:s, s:{s:s}, s:s}", "NodeName", node->name, "Pod",
                                              "pod", pod->text, "VolumeName", pair->volume->name));
            }
        }
    return map;
}

/* Of the volume, on some nodes. */
static json_t *
get_pods_on_nodes(void *data, const json_t *args, gboolean *failed)
{
    const AttachDetachWorld *world = data;
    AttachVolume *volume = suite_attach_detach_volume_of(world, args);
    json_t *pods = json_array();
    const json_t *name;
    size_t i;

    *failed = FALSE;
    json_array_foreach(json_object_get(args, "nodes"), i, name) {
        const AttachNode *node =
            adc_find_node(world->controller, word(world, json_string_value(name)));
        for (unsigned k = 0; node != NULL && k < node->pairs->len; k++) {
            const AttachPair *pair = node->pairs->pdata[k];
            for (const GSList *link = pair->volume == volume ? pair->pods : NULL; link != NULL;
                 link = link->next)
                json_array_append_new(
                    pods, json_pack("{s:s}", "pod", ((const ObjectKey *)link->data)->text));
        }
    }
    return pods;
}

static const TraceCall desired_calls[] = {
    {"GetVolumePodsOnNodes", get_pods_on_nodes             },
    {"AddNode",              suite_attach_detach_add_node  },
    {"DeleteNode",           delete_node                   },
    {"NodeExists",           node_exists                   },
    {"AddPod",               suite_attach_detach_add_pod   },
    {"DeletePod",            suite_attach_detach_delete_pod},
    {"VolumeExists",         volume_exists                 },
    {"SetMultiAttachError",  set_multi_attach_error        },
    {"GetVolumesToAttach",   get_wanted                    },
    {"GetPodToAdd",          get_pods                      },
    {NULL,                   NULL                          },
};

static void
suite_attach_detach_replay(Case *self, const TraceCall *calls)
{
    AttachDetachWorld world;

    suite_attach_detach_world_start(&world, self);
    case_replay(self, calls, &world);
    suite_attach_detach_world_end(&world);
}

static void
run_actual_state(Case *self)
{
    suite_attach_detach_replay(self, actual_calls);
}

static void
run_desired_state(Case *self)
{
    suite_attach_detach_replay(self, desired_calls);
}

/* ---- Held elsewhere ---- */

#define HELD "volume-name"

static void
import_pod(AttachDetachWorld *world, const char *node, const char *name)
{
    Case *self = world->self;
    ObjectKey *key = case_key(self, KIND_POD, name);
    json_t *manifest = json_pack("{s:{s:s, s:s}, s:{s:s}}", "metadata", "name", key->name,
                                 "namespace", key->namespace, "spec", "nodeName", node);

    case_import_object(self, case_object(self, manifest, KIND_POD), CASE_API | CASE_INFORMER);
    json_decref(manifest);
}

/* The volume is wanted where pods are, and attached where the case says. */
static void
import_users(AttachDetachWorld *world)
{
    Case *self = world->self;
    AttachVolume *volume = volume_named(world, HELD);
    const json_t *item, *pod, *name;
    size_t i, k;

    volume->spec = case_key(self, KIND_VOLUME, HELD);
    volume->is_exclusive = TRUE;
    json_array_foreach(case_get(self, "initial.nodes"), i, item) {
        AttachNode *node = adc_node(world->controller, word(world, case_text(self, item, "node")));
        adc_manage_node(node);
        json_array_foreach(json_object_get(item, "pods"), k, pod) {
            import_pod(world, node->name, json_string_value(pod));
            adc_add_pod(world->controller, adc_pair(volume, node),
                        case_key(self, KIND_POD, json_string_value(pod)));
        }
    }
    json_array_foreach(case_get(self, "args.attached_to"), i, name) {
        if (!json_is_string(name)) {
            case_fail(self, "attached_to: a list of names is wanted");
            continue;
        }
        AttachNode *node = adc_node(world->controller, word(world, json_string_value(name)));
        adc_set_attached(world->controller, adc_pair(volume, node), TRUE, CSI_DEVICE_PATH, TRUE);
    }
}

static AttachPair *
wanted_pair(const AttachDetachController *controller, const char *node)
{
    const AttachNode *wanted = adc_find_node(controller, node);

    for (unsigned i = 0; wanted != NULL && i < wanted->pairs->len; i++)
        if (attach_pair_is_wanted(wanted->pairs->pdata[i]))
            return wanted->pairs->pdata[i];
    return NULL;
}

static void
decide_error(const void *data, Plan *plan)
{
    AttachPair *pair = wanted_pair(data, plan_key(plan)->name);

    if (pair != NULL && pair->volume->spec != NULL)
        adc_plan_multi_attach_error(data, plan, pair);
}

/* What the event tells: as a case does. (owned) */
static json_t *
told_json(const ApiEvent *event)
{
    g_autoptr(GRegex) names = g_regex_new("pod\\(s\\) ([^ ]+(, [^ ]+)*)", 0, 0, NULL);
    g_autoptr(GRegex) count = g_regex_new("(\\d+) pod\\(s\\) in different", 0, 0, NULL);
    g_autoptr(GMatchInfo) named = NULL, counted = NULL;
    json_t *pods = json_array();

    gboolean has_count = g_regex_match(count, event->message, 0, &counted);
    if (g_regex_match(names, event->message, 0, &named)) {
        g_autofree char *text = g_match_info_fetch(named, 1);
        g_auto(GStrv) parts = g_strsplit(text, ", ", -1);
        for (unsigned i = 0; parts[i] != NULL && strcmp(parts[i], "in") != 0; i++)
            json_array_append_new(pods, json_string(parts[i]));
    }
    g_autofree char *n = has_count ? g_match_info_fetch(counted, 1) : NULL;
    return json_pack("{s:s?, s:o, s:b, s:s, s:s}", "counts_other_namespace_pods", n, "named_pods",
                     pods, "on_different_node_only",
                     strstr(event->message, "exclusively attached to one node") != NULL, "reason",
                     event->reason, "type", event->type);
}

static void
run_multi_attach_error(Case *self)
{
    AttachDetachWorld world;

    suite_attach_detach_world_start(&world, self);
    import_users(&world);
    ObjectKey *node = case_key(self, KIND_NODE, case_string(self, "args.wanted_on"));
    /* Of the loops nothing is wanted here. */
    g_clear_pointer(&world.controller->reconciler, sim_ticker_free);
    case_run_plan(self, world.controller, decide_error, node);
    if (api_server_n_events(self->api) != 1) {
        case_fail(self, "%u events", api_server_n_events(self->api));
    } else {
        json_t *found = told_json(api_server_event(self->api, 0));
        case_expect_json(self, "event", case_get(self, "expected.event"), found);
        json_decref(found);
    }
    suite_attach_detach_world_end(&world);
}

/* CreateVolumeSpec() of volumes that stand in pods (ADC-72). Claims and volumes are not in the
 * cases. */
static void
run_volume_spec(Case *self)
{
    const json_t *volume = json_array_get(case_get(self, "initial.pod.spec.volumes"), 0);
    const InTreePlugin *plugin = in_tree_plugin_of_source(volume);
    json_t *found = NULL;

    if (json_object_get(volume, "persistentVolumeClaim") != NULL) {
        case_fail(self, "the claim is not in the case");
        return;
    }
    if (plugin != NULL && in_tree_plugin_is_migrated(plugin, &(Release){.minor = 32})) {
        found = in_tree_plugin_inline_to_csi(
            plugin, volume, case_text(self, case_get(self, "initial.pod"), "metadata.namespace"),
            NULL);
        json_object_set_new(json_object_get(found, "spec"), "volumeMode",
                            json_string("Filesystem"));
    }
    case_expect_json(self, "volume", case_get(self, "expected.volume"),
                     found == NULL ? volume : NULL);
    case_expect_json(self, "persistent volume", case_get(self, "expected.persistent_volume"),
                     found);
    json_decref(found);
}

static const Act attach_detach_acts[] = {
    {"ADController",           story_attach_starts   },
    {"ADPopulator",            story_attach_starts   },
    {"ADReconciler",           story_attach_detach   },
    {"ActualStateOfWorld",     run_actual_state      },
    {"DesiredStateOfWorld",    run_desired_state     },
    {"NodeStatusUpdater",      story_attach_starts   },
    {"createVolumeSpec",       run_volume_spec       },
    {"reportMultiAttachError", run_multi_attach_error},
    {NULL,                     NULL                  },
};

const Suite attach_detach_suite = {"attachdetach", attach_detach_acts};
