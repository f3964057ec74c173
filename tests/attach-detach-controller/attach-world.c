/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attach-world.h"
#include "tests/lib/test.h"

#include "models/api/api-test.h"
#include "models/attach-detach-controller/controller.h"

#include <string.h>

const char *
word(const StorageWorld *world, const char *text)
{
    return storage_world_intern(world, text);
}

ObjectKey *
key(const StorageWorld *world, ObjectKind kind, const char *name)
{
    return objects_key(world->objects, kind,
                       kind == KIND_POD || kind == KIND_CLAIM ? "default" : "", name);
}

void
go_on(StorageWorld *world, SimTime time)
{
    storage_world_run(world, sim_now(world->sim) + time);
}

/* ---- What others do ---- */

const StringList *
list(const StorageWorld *world, const char *item)
{
    const char *interned = word(world, item);

    return item == NULL ? NULL : string_list_new(&interned, 1);
}

void
create_node(StorageWorld *world, const char *name, const char *attached, const char *in_use)
{
    Node *node = NODE(object_new(key(world, KIND_NODE, name)));

    object_set_annotation(&node->meta,
                          word(world, "volumes.kubernetes.io/controller-managed-attach-detach"),
                          word(world, "true"));
    node->ready.status = CONDITION_TRUE;
    node->volumes_attached = (StringList *)list(world, attached);
    node->volumes_in_use = (StringList *)list(world, in_use);
    storage_world_import(world, node);
}

static gboolean
edit_bound(Object *object, const void *volume)
{
    CLAIM(object)->volume_name = volume;
    CLAIM(object)->phase = CLAIM_BOUND;
    return TRUE;
}

void
bind_claim(StorageWorld *world, const char *claim, const char *volume)
{
    storage_world_patch(world, key(world, KIND_CLAIM, claim), edit_bound, word(world, volume));
    storage_world_patch_status(world, key(world, KIND_CLAIM, claim), edit_bound,
                               word(world, volume));
}

/* A claim, and a volume that is reserved for it; the claim does not know of it. */
void
create_reserved_as(StorageWorld *world,
                   const char *claim_name,
                   const char *name,
                   const char *handle,
                   AccessModes modes)
{
    const Object *claim =
        storage_world_create(world, storage_world_claim(world, claim_name, 1, "fast"));
    Volume *volume = storage_world_volume(world, name, 1, "fast");
    VolumeSource source = {.refs = REF_COUNT_ONE,
                           .plugin = word(world, "csi"),
                           .driver = word(world, DRIVER),
                           .handle = word(world, handle)};

    volume_source_unref(volume->source);
    volume->source = volume_source_new(&source);
    volume->access_modes = modes;
    volume->claim_ref = (ClaimReference){claim->key, claim->uid, 1};
    storage_world_create(world, volume);
}

void
create_reserved(StorageWorld *world, AccessModes modes)
{
    create_reserved_as(world, "c", "v", "vol-1", modes);
}

void
create_bound(StorageWorld *world, AccessModes modes)
{
    create_reserved(world, modes);
    bind_claim(world, "c", "v");
}

gboolean
edit_lost(Object *object, const void *arg)
{
    (void)arg;
    CLAIM(object)->phase = CLAIM_LOST;
    return TRUE;
}

void
create_pod(StorageWorld *world, const char *name, const char *node)
{
    storage_world_create(world, storage_world_pod(world, name, "c", node));
}

static gboolean
attach_world_edit_phase(Object *object, const void *phase)
{
    POD(object)->phase = *(const uint32_t *)phase;
    return TRUE;
}

void
set_phase(StorageWorld *world, const char *pod, uint32_t phase)
{
    storage_world_patch_status(world, key(world, KIND_POD, pod), attach_world_edit_phase, &phase);
}

/* As its kubelet does in the end. */
void
remove_pod(StorageWorld *world, const char *pod)
{
    ApiRequest request = {
        .verb = API_DELETE, .key = key(world, KIND_POD, pod), .client = "kubelet", .grace_s = 0};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
    assert_int_equal(response.code, API_OK);
}

gboolean
edit_attached(Object *object, const void *data)
{
    const AttachAnswer *answer = data;

    ATTACHMENT(object)->attached = answer->attached;
    ATTACHMENT(object)->attach_error.message = answer->error;
    return TRUE;
}

gboolean
edit_detach_error(Object *object, const void *message)
{
    ATTACHMENT(object)->detach_error.message = message;
    return TRUE;
}

ObjectKey *
attachment(const StorageWorld *world, const char *name)
{
    return key(world, KIND_ATTACHMENT, name + strlen("va/"));
}

void
attacher_says(StorageWorld *world, const char *name, gboolean attached, const char *error)
{
    AttachAnswer answer = {attached, word(world, error)};

    storage_world_patch_status(world, attachment(world, name), edit_attached, &answer);
}

static gboolean
edit_finalizer(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

static gboolean
edit_no_finalizers(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&object->finalizers, string_list_unref);
    return TRUE;
}

/* An attacher that has work to do before a VolumeAttachment may go. */
void
attacher_holds(StorageWorld *world, const char *name)
{
    storage_world_patch(world, attachment(world, name), edit_finalizer,
                        word(world, "test/attacher"));
}

void
attacher_lets_go(StorageWorld *world, const char *name)
{
    storage_world_patch(world, attachment(world, name), edit_no_finalizers, NULL);
}

static gboolean
edit_in_use(Object *object, const void *in_use)
{
    string_list_unref(NODE(object)->volumes_in_use);
    NODE(object)->volumes_in_use = string_list_ref(in_use);
    return TRUE;
}

void
kubelet_uses(StorageWorld *world, const char *node, const char *volume)
{
    StringList *in_use = (StringList *)list(world, volume);

    storage_world_patch_status(world, key(world, KIND_NODE, node), edit_in_use, in_use);
    string_list_unref(in_use);
}

gboolean
edit_not_ready(Object *object, const void *arg)
{
    (void)arg;
    NODE(object)->ready.status = CONDITION_UNKNOWN;
    return TRUE;
}

gboolean
edit_out_of_service(Object *object, const void *key_word)
{
    Taint taint = {.key = key_word, .value = "", .effect = TAINT_NO_EXECUTE};

    NODE(object)->taints = taints_new(&taint, 1);
    return TRUE;
}

const Node *
stored_node(const StorageWorld *world, const char *name)
{
    return (const Node *)api_server_get(world->api, key(world, KIND_NODE, name));
}

/* Pod "a" on node-1 has the volume, and its kubelet uses it; the log is empty. */
void
attached_pod(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_node(world, "node-2", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    set_phase(world, "a", POD_RUNNING);
    go_on(world, 200 * SIM_MS);
    attacher_says(world, VA_1, TRUE, NULL);
    go_on(world, SIM_SECOND);
    assert_true(string_list_has(stored_node(world, "node-1")->volumes_attached, UNIQUE("vol-1")));
    kubelet_uses(world, "node-1", UNIQUE("vol-1"));
    go_on(world, SIM_SECOND);
    storage_world_log(world);
}

void
import_attachment(StorageWorld *world, const char *name, const char *node, gboolean attached)
{
    Attachment *stored = ATTACHMENT(object_new(attachment(world, name)));

    stored->attacher = word(world, DRIVER);
    stored->node_name = word(world, node);
    stored->volume_name = word(world, "v");
    stored->attached = attached;
    storage_world_import(world, stored);
}

/* ---- What the controller believes ---- */

AttachDetachController *
controller_of(const StorageWorld *world)
{
    return cluster_model(world->cluster, &attach_detach_controller_class, NULL);
}

const AttachPair *
pair_of(const StorageWorld *world, const char *handle, const char *node)
{
    const AttachDetachController *controller = controller_of(world);
    g_autofree char *name = g_strconcat("kubernetes.io/csi/" DRIVER "^", handle, NULL);
    const AttachVolume *volume =
        g_hash_table_lookup(controller->volumes_by_name, word(world, name));
    const AttachNode *known = adc_find_node(controller, word(world, node));

    return volume == NULL || known == NULL ? NULL : adc_find_pair(volume, known);
}

void
assert_state(const StorageWorld *world, const char *node, AttachState state, gboolean is_reported)
{
    const AttachPair *pair = pair_of(world, "vol-1", node);

    assert_int_equal(pair == NULL ? ADC_DETACHED : pair->state, state);
    assert_int_equal(string_list_has(stored_node(world, node)->volumes_attached, UNIQUE("vol-1")),
                     is_reported);
}

gboolean
is_desired(const StorageWorld *world, const char *handle, const char *node)
{
    const AttachPair *pair = pair_of(world, handle, node);

    return pair != NULL && attach_pair_is_wanted(pair);
}

unsigned
count(const char *log, const char *what)
{
    unsigned n = 0;

    for (const char *at = strstr(log, what); at != NULL; at = strstr(at + 1, what))
        n++;
    return n;
}

void
assert_calls(StorageWorld *world, unsigned n_attach, unsigned n_detach)
{
    const char *log = storage_world_log(world);

    assert_int_equal(count(log, "POST va/"), n_attach);
    assert_int_equal(count(log, "DELETE va/"), n_detach);
}

/* ---- What others do ---- */

void
node_is_gone(StorageWorld *world, const char *node)
{
    storage_world_remove(world, key(world, KIND_NODE, node));
}

void
driver_object(StorageWorld *world, gboolean attach_required)
{
    CsiDriverObject *driver = CSI_DRIVER_OBJECT(object_new(key(world, KIND_CSI_DRIVER, DRIVER)));

    driver->attach_required = attach_required;
    storage_world_create(world, driver);
}

/* Attaches all that is not attached yet. */
void
attacher_attaches_all(StorageWorld *world)
{
    AttachAnswer answer = {TRUE, NULL};

    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_ATTACHMENT); i++) {
        ObjectKey *va = objects_key_at(world->objects, KIND_ATTACHMENT, i);
        const Attachment *stored = (const Attachment *)api_server_get(world->api, va);
        if (stored != NULL && !stored->attached)
            storage_world_patch_status(world, va, edit_attached, &answer);
    }
}

/* Claims, each bound to a volume of its name. */
void
create_claims(StorageWorld *world, const char *const *names, AccessModes modes)
{
    for (unsigned i = 0; names[i] != NULL; i++) {
        create_reserved_as(world, names[i], names[i], names[i], modes);
        bind_claim(world, names[i], names[i]);
    }
}

void
pod_with_claim(StorageWorld *world, const char *name, const char *claim, const char *node)
{
    storage_world_create(world, storage_world_pod(world, name, claim, node));
}

void
pod_with_claims(StorageWorld *world, const char *name, const char *const *claims, const char *node)
{
    Pod *pod = storage_world_pod(world, name, claims[0], node);
    PodVolume items[4] = {0};
    unsigned n = 0;

    for (; claims[n] != NULL; n++)
        items[n] =
            (PodVolume){.name = word(world, claims[n]), .claim_name = word(world, claims[n])};
    PodVolumes *volumes = pod_volumes_new(items, n);
    pod_set_spec(pod, pod->spec, volumes);
    pod_volumes_unref(volumes);
    storage_world_create(world, pod);
}
