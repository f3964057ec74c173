/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/csi-plugin/csi-plugin-case.h"

#include "models/api/fields.h"
#include "models/csi/csi-test.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/runtime/runtime.h"
#include "models/kubelet/volume-manager/volume-manager.h"

#include <string.h>

#define NO_NAME "unnamed" /* of an inline volume without a name: the API server would refuse it */

/* ---- The case as the model can have it ---- */

typedef char *(*Rewrite)(void *data, const char *key, const char *text);

/* Rewrites all strings below @value. A function returns NULL for a string that stays. */
static void
rewrite_all(json_t *value, Rewrite rewrite, void *data)
{
    const char *key;
    json_t *item;
    void *next;
    size_t i;

    json_object_foreach_safe(value, next, key, item)
    {
        g_autofree char *text =
            json_is_string(item) ? rewrite(data, key, json_string_value(item)) : NULL;
        if (text != NULL)
            json_object_set_new(value, key, json_string(text));
        else
            rewrite_all(item, rewrite, data);
    }
    json_array_foreach(value, i, item) {
        g_autofree char *text =
            json_is_string(item) ? rewrite(data, "", json_string_value(item)) : NULL;
        if (text != NULL)
            json_array_set_new(value, i, json_string(text));
        else
            rewrite_all(item, rewrite, data);
    }
}

static char *
replace(const char *text, const char *old, const char *new)
{
    if (strstr(text, old) == NULL)
        return NULL;
    g_auto(GStrv) parts = g_strsplit(text, old, -1);
    return g_strjoinv(new, parts);
}

static char *
set_root(void *data, const char *key, const char *text)
{
    (void)data;
    (void)key;
    return replace(text, "$ROOT", KUBELET_DIR);
}

static char *
name_unnamed(void *data, const char *key, const char *text)
{
    (void)data;
    if (text[0] == '\0' && (strcmp(key, "specVolID") == 0 || strcmp(key, "spec_name") == 0))
        return g_strdup(NO_NAME);
    if (g_str_has_suffix(text, "/kubernetes.io~csi"))
        return g_strconcat(text, "/" NO_NAME, NULL);
    return replace(text, "/kubernetes.io~csi/mount", "/kubernetes.io~csi/" NO_NAME "/mount");
}

/* Gives inline volumes a name. Returns: whether one had none */
static gboolean
add_names(json_t *value)
{
    json_t *volume = json_object_get(value, "volume"), *item;
    gboolean added = FALSE;
    const char *key;
    size_t i;

    if (json_object_get(volume, "csi") != NULL && json_object_get(volume, "name") == NULL) {
        json_object_set_new(volume, "name", json_string(NO_NAME));
        added = TRUE;
    }
    json_object_foreach(value, key, item)
        added |= add_names(item);
    json_array_foreach(value, i, item)
        added |= add_names(item);
    return added;
}

/* Texts that stand for others: uids, and names that are hashes of them. */
typedef struct {
    GHashTable *uids, *hashes; /* text -> text */
    GPtrArray *names, *drivers;
} Texts;

static void
add_uid(Texts *texts, const char *text, Case *self)
{
    char buffer[OBJECT_UID_BUFFER];

    if (text == NULL || text[0] == '\0')
        return;
    json_t *manifest = json_pack("{s:{s:s}}", "metadata", "uid", text);
    ObjectUid uid = case_object(self, manifest, KIND_POD)->uid;
    g_hash_table_replace(texts->uids, g_strdup(text), g_strdup(object_uid_format(uid, buffer)));
    json_decref(manifest);
}

static void
csi_plugin_case_collect(Texts *texts, const json_t *value, Case *self)
{
    const json_t *pod = json_object_get(value, "pod"), *item;
    const char *uids[] = {json_path_string(pod, "metadata.uid"),
                          json_path_string(value, "pod_uid")};
    const char *name = json_path_string(value, "volume.name");
    const char *driver = json_path_string(value, "driver"), *key;
    size_t i;

    for (unsigned k = 0; k < G_N_ELEMENTS(uids); k++)
        add_uid(texts, uids[k], self);
    if (json_is_string(value) && g_str_has_prefix(json_string_value(value), KUBELET_DIR "/pods/")) {
        g_auto(GStrv) parts =
            g_strsplit(json_string_value(value) + strlen(KUBELET_DIR "/pods/"), "/", 2);
        add_uid(texts, parts[0], self);
    }
    if (name != NULL)
        g_ptr_array_add(texts->names, (void *)name);
    if (driver != NULL)
        g_ptr_array_add(texts->drivers, (void *)driver);
    json_object_foreach((json_t *)value, key, item)
        csi_plugin_case_collect(texts, item, self);
    json_array_foreach(value, i, item)
        csi_plugin_case_collect(texts, item, self);
}

static char *
hash_name(const char *first, const char *second, const char *third)
{
    g_autofree char *text = g_strconcat(first, second, third, NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

    return g_strconcat("csi-", sum, NULL);
}

/* The handles of inline volumes, and the attachments that are named after them. */
static void
add_hashes(Texts *texts, gboolean unnamed)
{
    GHashTableIter iter;
    void *old, *new;

    g_hash_table_iter_init(&iter, texts->uids);
    while (g_hash_table_iter_next(&iter, &old, &new))
        for (unsigned i = 0; i < texts->names->len; i++) {
            const char *name = texts->names->pdata[i];
            char *before = hash_name(old, unnamed ? "" : name, NULL);
            char *after = hash_name(new, name, NULL);
            for (unsigned d = 0; d < texts->drivers->len; d++)
                g_hash_table_replace(texts->hashes,
                                     hash_name(before, texts->drivers->pdata[d], FAKE_NODE),
                                     hash_name(after, texts->drivers->pdata[d], FAKE_NODE));
            g_hash_table_replace(texts->hashes, before, after);
        }
}

static char *
replace_texts(void *data, const char *key, const char *text)
{
    Texts *texts = data;
    gboolean is_uid = strcmp(key, "uid") == 0 || strcmp(key, "pod_uid") == 0 ||
                      strcmp(key, "csi.storage.k8s.io/pod.uid") == 0;
    const char *hash = g_hash_table_lookup(texts->hashes, text);

    if (hash != NULL)
        return g_strdup(hash);
    if (is_uid)
        return g_strdup(g_hash_table_lookup(texts->uids, text));
    if (text[0] != '/')
        return NULL;
    g_auto(GStrv) parts = g_strsplit(text, "/", -1);
    for (unsigned i = 0; parts[i] != NULL; i++) {
        const char *uid = g_hash_table_lookup(texts->uids, parts[i]);
        if (uid != NULL) {
            g_free(parts[i]);
            parts[i] = g_strdup(uid);
        }
    }
    return g_strjoinv("/", parts);
}

static json_t *
adapted_case(Case *self)
{
    json_t *json = json_deep_copy(self->json);
    Texts texts = {
        .uids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .hashes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .names = g_ptr_array_new(),
        .drivers = g_ptr_array_new(),
    };
    gboolean unnamed = add_names(json);

    rewrite_all(json, set_root, NULL);
    if (unnamed)
        rewrite_all(json, name_unnamed, NULL);
    csi_plugin_case_collect(&texts, json, self);
    add_hashes(&texts, unnamed);
    rewrite_all(json, replace_texts, &texts);
    g_hash_table_unref(texts.uids);
    g_hash_table_unref(texts.hashes);
    g_ptr_array_unref(texts.names);
    g_ptr_array_unref(texts.drivers);
    return json;
}

/* ---- Drivers ---- */

const char *
csi_world_word(const CsiWorld *world, const char *text)
{
    return text == NULL ? NULL : strings_intern(objects_strings(world->self->objects), text);
}

static json_t *
csi_plugin_case_capability_json(const CsiCapability *capability)
{
    json_t *access = json_object(), *flags = json_array();
    const StringList *list = capability->mount_flags;

    for (unsigned i = 0; list != NULL && i < list->n_items; i++)
        json_array_append_new(flags, json_string(list->items[i]));
    if (!csi_is_empty(capability->fs_type))
        json_object_set_new(access, "fs_type", json_string(capability->fs_type));
    if (json_array_size(flags) > 0)
        json_object_set(access, "mount_flags", flags);
    if (capability->volume_mount_group != NULL)
        json_object_set_new(access, "volume_mount_group",
                            json_string(capability->volume_mount_group));
    json_decref(flags);
    return json_pack("{s:o, s:s}", capability->type == CSI_ACCESS_BLOCK ? "block" : "mount", access,
                     "access_mode",
                     capability->mode == CSI_MODE_UNKNOWN ? "UNKNOWN"
                                                          : csi_access_mode_name(capability->mode));
}

static void
set_map(json_t *message, const char *key, const StringMap *map)
{
    if (map != NULL && map->n_pairs > 0)
        json_object_set_new(message, key, script_map_json(map));
}

static json_t *
request_json(const CsiRequest *request)
{
    gboolean of_path = request->method == CSI_NODE_EXPAND_VOLUME;
    json_t *message = json_object();

    if (!csi_is_empty(request->volume_id))
        json_object_set_new(message, "volume_id", json_string(request->volume_id));
    if (!csi_is_empty(request->staging_path))
        json_object_set_new(message, "staging_target_path", json_string(request->staging_path));
    if (!csi_is_empty(request->target_path))
        json_object_set_new(message, of_path ? "volume_path" : "target_path",
                            json_string(request->target_path));
    if (request->n_capabilities > 0)
        json_object_set_new(message, "volume_capability",
                            csi_plugin_case_capability_json(&request->capabilities[0]));
    if (request->required_bytes > 0)
        json_object_set_new(message, "capacity_range",
                            json_pack("{s:I}", "required_bytes", request->required_bytes));
    if (request->readonly)
        json_object_set_new(message, "readonly", json_true());
    set_map(message, "publish_context", request->publish_context);
    set_map(message, "volume_context", request->volume_context);
    return message;
}

/* An error of the driver. One that is no gRPC status is as good as a lost connection; volumes with
 * a speaking name have theirs in the recorded tests' fake driver. */
static CsiCode
error_code(const CsiWorld *world, const CsiRequest *request)
{
    const char *text = json_path_string(world->json, "given.driver_error");
    const char *code = text == NULL ? NULL : strstr(text, "code = ");
    CsiCode found;

    if (code != NULL) {
        g_auto(GStrv) words = g_strsplit(code + strlen("code = "), " ", 2);
        if (csi_code_parse(words[0], &found))
            return found;
    }
    if (request->volume_id != NULL && g_str_has_suffix(request->volume_id, "-timeout"))
        return CSI_DEADLINE_EXCEEDED;
    if (request->volume_id != NULL && g_str_has_suffix(request->volume_id, "-final-error"))
        return CSI_INTERNAL;
    return CSI_UNAVAILABLE;
}

static void
map_unref(void *map)
{
    string_map_unref(map);
}

/* As the call's arguments, or its result, have it. */
static void
answer_info(CsiWorld *world, CsiResponse *response)
{
    const json_t *returns = json_object_get(world->expected, "returns");
    const json_t *args = case_get(world->self, "args");
    const json_t *topology = json_array_size(returns) == 3 ? json_array_get(returns, 2)
                                                           : json_object_get(args, "topology");
    const json_t *limit = json_array_size(returns) == 3 ? json_array_get(returns, 1)
                                                        : json_object_get(args, "max_attach_limit");
    const char *id = json_array_size(returns) == 3 ? json_string_value(json_array_get(returns, 0))
                                                   : json_path_string(args, "driver_node_id");
    StringMap *segments = script_map(world->self, topology);

    response->node_id = id == NULL || id[0] == '\0' ? NULL : csi_world_word(world, id);
    response->max_volumes_per_node = json_integer_value(limit);
    if (segments == NULL)
        return;
    const StringMap **list =
        script_driver_keep(world->drivers->pdata[0], g_new0(const StringMap *, 1), g_free);
    list[0] = script_driver_keep(world->drivers->pdata[0], segments, map_unref);
    response->accessible_topology = (const StringMap *const *)list;
    response->n_accessible_topology = 1;
}

static void
csi_plugin_case_answer(void *data,
                       unsigned number,
                       const CsiRequest *request,
                       CsiResponse *response)
{
    CsiWorld *world = data;
    const json_t *told = json_array_get(json_object_get(world->expected, "csi_calls"),
                                        json_array_size(world->calls));
    gboolean fails = json_is_true(json_object_get(told, "error"));

    (void)number;
    if (request->method == CSI_NODE_GET_CAPABILITIES) {
        response->node_capabilities = world->can;
        return;
    }
    if (request->method == CSI_NODE_GET_INFO)
        answer_info(world, response);
    json_array_append_new(world->calls,
                          json_pack("{s:s, s:o, s:b}", "call", csi_method_name(request->method),
                                    "request", request_json(request), "error", fails));
    if (fails) {
        response->code = error_code(world, request);
        response->message = "as the case says";
    }
}

static CsiNodeCapabilities
capabilities_of(const Case *self)
{
    static const struct {
        const char *path;
        CsiNodeCapabilities capability;
    } flags[] = {
        {"given.driver_capabilities.stage_unstage_set",            CSI_NODE_STAGE_UNSTAGE_VOLUME       },
        {"given.driver_capabilities.volume_mount_group_set",       CSI_NODE_VOLUME_MOUNT_GROUP         },
        {"given.driver_capabilities.expansion_set",                CSI_NODE_EXPAND_VOLUME_CAPABILITY   },
        {"given.driver_capabilities.volume_stats_set",             CSI_NODE_GET_VOLUME_STATS_CAPABILITY},
        {"given.driver_capabilities.single_node_multi_writer_set",
         CSI_NODE_SINGLE_NODE_MULTI_WRITER                                                             },
    };
    CsiNodeCapabilities can = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++)
        if (case_flag(self, flags[i].path))
            can |= flags[i].capability;
    return can;
}

static void
add_driver_names(GHashTable *names, const json_t *value)
{
    static const char *const keys[] = {"driver", "driverName", "driver_name"};
    const json_t *item;
    const char *key;
    size_t i;

    for (unsigned k = 0; k < G_N_ELEMENTS(keys); k++) {
        const char *name = json_path_string(value, keys[k]);
        if (name != NULL && name[0] != '\0')
            g_hash_table_add(names, (void *)name);
    }
    json_object_foreach((json_t *)value, key, item)
        add_driver_names(names, item);
    json_array_foreach(value, i, item)
        add_driver_names(names, item);
}

static void *
options_of_kubelet(void *data, const ProcessClass *class)
{
    const Case *self = data;

    return class == &kubelet_process ? process_options_new(class, objects_strings(self->objects))
                                     : NULL;
}

/* Of a staged volume. Returns: (owned); NULL: none, or not JSON */
static json_t *
saved_file(const CsiWorld *world)
{
    const char *text = json_path_string(world->json, "given.settings.json_file");

    return text == NULL ? NULL : json_loads(text, 0, NULL);
}

static void
add_drivers(CsiWorld *world)
{
    static const NodePluginOptions plugin = {.preregistered = TRUE};
    ScriptOptions script = {.answer = csi_plugin_case_answer, .data = world};
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GList) sorted = NULL;

    json_t *file = saved_file(world);
    add_driver_names(names, world->json);
    add_driver_names(names, file);
    /* Cases about statistics name a volume and its path, and leave their only driver unnamed. */
    if (g_hash_table_size(names) == 0 && case_get(world->self, "args.on.volume_id") != NULL)
        g_hash_table_add(names, (void *)"fake-driver");
    sorted = g_list_sort(g_hash_table_get_keys(names), (GCompareFunc)strcmp);
    for (const GList *link = sorted; link != NULL; link = link->next) {
        ScriptDriver *driver = script_driver_new(world->self, link->data, &script);
        g_ptr_array_add(world->drivers, driver);
        cluster_add_driver(world->self->cluster, script_driver_base(driver),
                           csi_world_word(world, link->data), &plugin, options_of_kubelet,
                           world->self);
    }
    json_decref(file);
}

void
csi_world_set_registered(CsiWorld *world, const char *driver)
{
    const json_t *listed = case_get(world->self, "given.registered_drivers"), *item;
    gboolean missing = world->no_client || case_flag(world->self, "given.settings.unset_client") ||
                       case_flag(world->self, "given.settings.skip_client_setup");
    gboolean is_listed = listed == NULL || driver == NULL;
    size_t i;

    json_array_foreach(listed, i, item)
        is_listed |= g_strcmp0(json_string_value(item), driver) == 0;
    for (unsigned n = 0; n < world->kubelet->plugin_manager->n_plugins; n++)
        world->kubelet->plugin_manager->plugins[n].registered = is_listed && !missing;
}

/* ---- The world ---- */

static void
import_objects(CsiWorld *world)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(world->self, "given.objects"), i, item)
        case_import_object(world->self, case_object_of_manifest(world->self, item), CASE_API);
}

/* Cases about Node and CSINode have both under "initial"; an empty CSINode is there before. */
static const char *
import_initial(CsiWorld *world)
{
    const json_t *node = case_get(world->self, "initial.node");
    const char *name = json_path_string(node, "metadata.name");

    if (node == NULL)
        return FAKE_NODE;
    json_t *empty = json_pack("{s:{s:s, s:[{s:s, s:s, s:s}]}}", "metadata", "name", name,
                              "ownerReferences", "apiVersion", "v1", "kind", "Node", "name", name);
    const json_t *csi_node = case_get(world->self, "initial.csi_node");
    case_import_object(world->self, case_object(world->self, node, KIND_NODE), CASE_API);
    Object *object = case_object(world->self, csi_node == NULL ? empty : csi_node, KIND_CSI_NODE);
    const PluginNodeInfo info = {.strings = objects_strings(world->self->objects),
                                 .migrated = cluster_migrated_plugins(world->self->cluster, name)};
    node_info_set_migrated(object, &info); /* these tests know no plugins that are migrated */
    case_import_object(world->self, object, CASE_API);
    json_decref(empty);
    return csi_world_word(world, name);
}

static void
ensure_node(CsiWorld *world)
{
    json_t *node = json_pack("{s:{s:s}}", "metadata", "name", FAKE_NODE);
    Object *object = case_object(world->self, node, KIND_NODE);

    if (api_server_get(world->self->api, object->key) == NULL)
        case_import_object(world->self, object, CASE_API);
    json_decref(node);
}

void
csi_world_new(CsiWorld *world, Case *self)
{
    static const WorldOptions options = {.only = &kubelet_class};

    *world = (CsiWorld){
        .self = self,
        .drivers = g_ptr_array_new(),
        .files = json_object(),
        .calls = json_array(),
        .environment = json_array(),
    };
    case_world_new(self, &options);
    self->json = world->json = adapted_case(self);
    world->can = capabilities_of(self);
    import_objects(world);
    const char *node = import_initial(world);
    if (strcmp(node, FAKE_NODE) == 0)
        ensure_node(world);
    add_drivers(world);
    case_start(self, &options);
    cluster_add_node(self->cluster, node, options_of_kubelet, self);
    case_wait(self, 0);
    world->kubelet = cluster_model(self->cluster, &kubelet_class, node);
    volume_manager_ensure(world->kubelet);
    pod_runtime_ensure(world->kubelet);
    case_forget(self);
}

void
csi_world_free(CsiWorld *world)
{
    cluster_free(world->self->cluster);
    world->self->cluster = NULL;
    for (unsigned i = 0; i < world->drivers->len; i++)
        csi_driver_free(script_driver_base(world->drivers->pdata[i]));
    g_ptr_array_unref(world->drivers);
    json_decref(world->files);
    json_decref(world->calls);
    json_decref(world->environment);
    world->self->json = NULL;
    json_decref(world->json);
}
