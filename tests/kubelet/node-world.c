/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node-world.h"
#include "tests/lib/test.h"

#include <string.h>

#include "models/api/api-test.h"
#include "models/api/container-life.h"
#include "models/volume/plugins.h"

static void *
kubelet_options(void *data, const ProcessClass *class)
{
    World *self = data;
    void *options = process_options_new(class, self->strings);
    const char *flag = self->options.flag, *value = self->options.value;

    if (flag != NULL && class == &kubelet_process &&
        !process_flag_set(process_class_flag(class, flag), options, value, self->strings, NULL))
        g_error("%s: %s", flag, value);
    return options;
}

static void
node_world_nothing(Sim *sim, void *data)
{
    (void)sim;
    (void)data;
}

static const SimEventType nothing_event = {.name = "test", .fire = node_world_nothing};

void
node_world_run_until(World *self, SimTime at)
{
    sim_at(self->sim, at, &nothing_event, NULL, 0);
    sim_run_until(self->sim, at);
}

void
node_world_run_for(World *self, SimTime time)
{
    node_world_run_until(self, sim_now(self->sim) + time);
}

Kubelet *
node_world_kubelet(World *self)
{
    return cluster_model(self->cluster, &kubelet_class, "a");
}

void
node_world_start_node(World *self, const char *node)
{
    cluster_add_node(self->cluster, node, kubelet_options, self);
}

void
node_world_start(World *self)
{
    node_world_start_node(self, "a");
}

static gboolean
set_bound(Object *object, const void *arg)
{
    Claim *claim = CLAIM(object);

    (void)arg;
    claim->phase = CLAIM_BOUND;
    claim->capacity_bytes = claim->request_bytes;
    return TRUE;
}

void
node_world_bind(World *self, const char *name)
{
    world_edit_status(self, KIND_CLAIM, name, set_bound, NULL);
}

static void
add_pair(
    World *self, const char *name, const char *plugin, const char *driver, uint32_t volume_mode)
{
    Claim *claim = world_claim(self, name, "class", NULL);
    Volume *volume = world_volume(self, name);
    VolumeSource source = *volume->source;

    claim->volume_name = world_intern(self, name);
    claim->volume_mode = volume_mode;
    world_create(self, &claim->meta);

    source.plugin = world_intern(self, plugin);
    source.attributes = NULL;
    source.driver = world_intern(self, driver);
    volume_source_unref(volume->source);
    volume->source = volume_source_new(&source);
    volume->volume_mode = volume_mode;
    volume->claim_ref.claim = world_key(self, KIND_CLAIM, name);
    volume->claim_ref.uid = world_get(self, KIND_CLAIM, name)->uid;
    world_create(self, &volume->meta);
}

void
node_world_add_unbound(World *self, const char *name)
{
    add_pair(self, name, "csi", WORLD_DRIVER, VOLUME_FILESYSTEM);
}

void
node_world_add_volume(World *self, const char *name, const char *plugin)
{
    add_pair(self, name, plugin, strcmp(plugin, "csi") == 0 ? WORLD_DRIVER : NULL,
             VOLUME_FILESYSTEM);
    node_world_bind(self, name);
}

void
node_world_add_foreign_volume(World *self, const char *name, const char *driver)
{
    add_pair(self, name, "csi", driver, VOLUME_FILESYSTEM);
    node_world_bind(self, name);
}

void
node_world_add_other_volume(World *self, const char *name, const char *plugin, gboolean block)
{
    add_pair(self, name, plugin, NULL, block ? VOLUME_BLOCK : VOLUME_FILESYSTEM);
    node_world_bind(self, name);
}

void
node_world_add_block_volume(World *self, const char *name)
{
    add_pair(self, name, "csi", WORLD_DRIVER, VOLUME_BLOCK);
    node_world_bind(self, name);
}

static gboolean
set_modes(Object *object, const void *arg)
{
    VOLUME(object)->access_modes = *(const uint32_t *)arg;
    return TRUE;
}

void
node_world_set_access_modes(World *self, const char *name, uint32_t modes)
{
    world_edit(self, KIND_VOLUME, name, set_modes, &modes);
}

void
node_world_add_driver(World *self, gboolean attach_required, gboolean republish)
{
    Object *driver = object_new(world_key(self, KIND_CSI_DRIVER, WORLD_DRIVER));

    CSI_DRIVER_OBJECT(driver)->attach_required = attach_required;
    CSI_DRIVER_OBJECT(driver)->requires_republish = republish;
    world_create(self, driver);
}

static gboolean
set_attached(Object *object, const void *arg)
{
    (void)arg;
    ATTACHMENT(object)->attached = TRUE;
    return TRUE;
}

static gboolean
list_attached(Object *object, const void *arg)
{
    Node *node = NODE(object);
    StringList *before = node->volumes_attached;

    node->volumes_attached = string_list_with(before, arg);
    string_list_unref(before);
    return TRUE;
}

void
node_world_attach(World *self, const char *name, const char *node)
{
    const Volume *volume = VOLUME_CONST(world_get(self, KIND_VOLUME, name));
    ObjectKey *key =
        volume_attachment_key(self->objects, volume->source->driver, volume->source->handle, node);
    Attachment *attachment = world_attachment(self, key->name, name, node);
    const char *unique =
        volume_unique_name(self->strings, volume_plugin_find(volume->source), volume);

    world_create(self, &attachment->meta);
    world_edit_status(self, KIND_ATTACHMENT, key->name, set_attached, NULL);
    world_edit_status(self, KIND_NODE, node, list_attached, unique);
    if (!csi_driver_adopt(
            csi_modelled_driver_base(self->driver),
            &(CsiRequest){.method = CSI_CONTROLLER_PUBLISH_VOLUME,
                          .volume_id = volume->source->handle,
                          .node_id = world_intern(self, node),
                          .capabilities = &(CsiCapability){.mode = CSI_SINGLE_NODE_WRITER},
                          .n_capabilities = 1}))
        g_error("%s cannot be attached to %s", name, node);
}

/* One volume for each claim, mounted or as a device as the volume's mode has it. */
static PodVolumes *
make_volumes(World *self, const char *claims)
{
    g_auto(GStrv) names = g_strsplit(claims == NULL ? "" : claims, " ", -1);
    unsigned n = claims == NULL ? 0 : g_strv_length(names);
    g_autofree PodVolume *volumes = g_new0(PodVolume, MAX(n, 1));

    for (unsigned i = 0; i < n; i++) {
        const Object *volume = world_get(self, KIND_VOLUME, names[i]);
        volumes[i].name = world_intern(self, names[i]);
        volumes[i].claim_name = volumes[i].name;
        volumes[i].mounted = TRUE;
        volumes[i].device = volume != NULL && VOLUME_CONST(volume)->volume_mode == VOLUME_BLOCK;
    }
    return n == 0 ? NULL : pod_volumes_new(volumes, n);
}

/* Of node @node, with one container. Takes @volumes. Returns: (owned) */
static Pod *
node_world_new_pod(World *self, const char *name, const char *node, PodVolumes *volumes)
{
    Pod *pod = POD(object_new(world_key(self, KIND_POD, name)));

    if (pod->spec == NULL)
        pod->spec = pod_spec_new();
    pod->spec->n_containers = 1;
    pod->spec->containers = g_new0(PodContainer, 1);
    pod->spec->containers[0].name = world_intern(self, "c");
    pod->spec->containers[0].image = world_intern(self, "pause:1");
    pod->volumes = volumes;
    pod->node_name = world_intern(self, node);
    return pod;
}

static void
kubelet_node_world_add_pod(World *self, const char *name, const char *node, PodVolumes *volumes)
{
    world_create(self, &node_world_new_pod(self, name, node, volumes)->meta);
}

static void
node_world_annotate(World *self, Pod *pod, const char *key, const char *value)
{
    if (value != NULL)
        object_set_annotation(&pod->meta, world_intern(self, key), world_intern(self, value));
}

void
node_world_add_ending_pod(World *self,
                          const char *name,
                          const char *claims,
                          const char *policy,
                          const char *runs_for,
                          const char *exit_code)
{
    Pod *pod = node_world_new_pod(self, name, "a", make_volumes(self, claims));

    pod->spec->restart_policy = world_intern(self, policy);
    node_world_annotate(self, pod, ANNOTATION_RUNS_FOR, runs_for);
    node_world_annotate(self, pod, ANNOTATION_EXIT_CODE, exit_code);
    world_create(self, &pod->meta);
}

void
node_world_add_pod(World *self, const char *name, const char *node, const char *claims)
{
    kubelet_node_world_add_pod(self, name, node, make_volumes(self, claims));
}

void
node_world_add_reading_pod(World *self, const char *name, const char *node, const char *claim)
{
    PodVolume volume = {.name = world_intern(self, claim),
                        .claim_name = world_intern(self, claim),
                        .mounted = TRUE,
                        .read_only = TRUE};

    kubelet_node_world_add_pod(self, name, node, pod_volumes_new(&volume, 1));
}

void
node_world_add_pod_as(World *self, const char *name, const char *claim, gboolean device)
{
    PodVolume volume = {.name = world_intern(self, claim),
                        .claim_name = world_intern(self, claim),
                        .mounted = TRUE,
                        .device = device};

    kubelet_node_world_add_pod(self, name, "a", pod_volumes_new(&volume, 1));
}

static gboolean
set_owner(Object *object, const void *arg)
{
    object_set_owner(object, arg, TRUE, FALSE);
    return TRUE;
}

void
node_world_add_ephemeral_pod(World *self, const char *name, const char *node, const char *volume)
{
    const char *claim = strings_internf(self->strings, "%s-%s", name, volume);
    PodVolume spec = {.name = world_intern(self, volume),
                      .claim_name = claim,
                      .mounted = TRUE,
                      .ephemeral = TRUE};

    kubelet_node_world_add_pod(self, name, node, pod_volumes_new(&spec, 1));
    world_edit(self, KIND_CLAIM, claim, set_owner, world_get(self, KIND_POD, name));
}

static gboolean
set_failed(Object *object, const void *arg)
{
    (void)arg;
    POD(object)->phase = POD_FAILED;
    return TRUE;
}

void
node_world_set_failed(World *self, const char *name)
{
    world_edit_status(self, KIND_POD, name, set_failed, NULL);
}

static gboolean
set_running(Object *object, const void *arg)
{
    (void)arg;
    POD(object)->phase = POD_RUNNING;
    POD(object)->started_at = 0;
    POD(object)->ready.status = CONDITION_TRUE;
    return TRUE;
}

void
node_world_set_running(World *self, const char *name)
{
    world_edit_status(self, KIND_POD, name, set_running, NULL);
}

void
node_world_delete_pod(World *self, const char *name, gboolean force)
{
    ApiRequest request = {
        .verb = API_DELETE, .key = world_key(self, KIND_POD, name), .grace_s = force ? 0 : 30};
    ApiResponse response;

    api_server_commit(self->api, &request, &response);
    g_assert(response.code == API_OK);
}

static gboolean
is_read(const WorldEntry *entry)
{
    return g_str_has_prefix(entry->what, "GET ") || g_str_equal(entry->what, "NodeGetCapabilities");
}

char *
node_world_take_writes(World *self)
{
    for (unsigned i = self->log->len; i > 0; i--) {
        if (is_read(&g_array_index(self->log, WorldEntry, i - 1)))
            g_array_remove_index(self->log, i - 1);
    }
    return world_take_log(self);
}

void
node_world_assert_writes(World *self, const char *expected)
{
    g_autofree char *writes = node_world_take_writes(self);

    assert_string_equal(writes, expected);
}

char *
node_world_log(World *self)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < self->log->len; i++) {
        const WorldEntry *entry = &g_array_index(self->log, WorldEntry, i);
        g_string_append_printf(text, "%" G_GINT64_FORMAT " %s\n", entry->at, entry->what);
    }
    return g_string_free(text, FALSE);
}

const Pod *
node_world_pod(World *self, const char *name)
{
    return POD_CONST(world_get(self, KIND_POD, name));
}

char *
node_world_in_use(World *self)
{
    const Node *node = (const Node *)world_get(self, KIND_NODE, "a");
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; node->volumes_in_use != NULL && i < node->volumes_in_use->n_items; i++)
        g_string_append_printf(text, "%s%s", i == 0 ? "" : " ", node->volumes_in_use->items[i]);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

void
node_world_assert_in_use(World *self, const char *expected)
{
    g_autofree char *in_use = node_world_in_use(self);

    assert_string_equal(in_use, expected);
}
