/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scheduler/binding.h"
#include "tests/lib/test.h"

#include "models/scheduler/scheduler-test.h"
#include "tests/lib/storage-world.h"

/* The assume caches of VolumeBinding (VB-70..75): an assumption hides the API's version until the
 * API has a newer one. */

const ModelClass *const model_classes[] = {NULL};

typedef struct {
    const char *title; /* begins with the case's id */
    void (*tell)(StorageWorld *world, Process *process);
} AssumeCacheStory;

/* The scheduler's handlers call it first of all. */
static void
scheduler_assume_cache_observe(void *cache, const Object *before, const Object *after)
{
    assume_cache_observe(cache, before, after);
}

static AssumeCache *
cache_of_story(Process *process, ObjectKind kind, const char *name)
{
    Informer *informer = process_informer(process, kind, NULL);
    AssumeCache *cache = assume_cache_new(informer, name);

    informer_add_handler(informer, scheduler_assume_cache_observe, cache);
    return cache;
}

static void
let_informers_see(StorageWorld *world)
{
    storage_world_run(world, sim_now(world->sim) + SIM_SECOND);
}

/* (owned): a copy, of the same version. */
static Object *
assumed_copy(StorageWorld *world, const Object *object)
{
    Object *copy = object_edit(object);

    object_set_annotation(copy, storage_world_intern(world, ANNOTATION_SELECTED_NODE),
                          storage_world_intern(world, "test-node"));
    return copy;
}

static void
scheduler_assume_cache_assume(AssumeCache *cache, const Object *object)
{
    g_autofree char *why = assume_cache_assume(cache, object);

    assert_null(why);
}

/* VB-71: only a newer version counts. */
static void
update_of_the_same_version(StorageWorld *world, Process *process)
{
    g_autoptr(AssumeCache) cache = cache_of_story(process, KIND_CLAIM, "v1.PersistentVolumeClaim");
    const Object *claim =
        storage_world_create(world, storage_world_claim(world, "test-pvc0", 1, "late"));

    let_informers_see(world);
    g_autoptr(Object) copy = assumed_copy(world, claim);
    scheduler_assume_cache_assume(cache, copy);
    assume_cache_observe(cache, claim, claim);
    assert_ptr_equal(assume_cache_get(cache, claim->key), copy);
    assert_ptr_equal(assume_cache_api(cache, claim->key), claim);

    /* And a newer one does. */
    StringPair pair = {storage_world_intern(world, "a"), storage_world_intern(world, "b")};
    storage_world_patch(world, storage_world_claim_key(world, "test-pvc0"), storage_world_annotate,
                        &pair);
    let_informers_see(world);
    assert_ptr_equal(assume_cache_get(cache, storage_world_claim_key(world, "test-pvc0")),
                     storage_world_stored_claim(world, "test-pvc0"));
}

static void
assert_lists(StorageWorld *world, const InformerIndex *by_class, AssumeCache *cache, unsigned n)
{
    unsigned n_listed;
    const Object *const *listed =
        informer_index_get(by_class, storage_world_intern(world, ""), &n_listed);

    assert_int_equal(n_listed, n);
    for (unsigned i = 0; i < n_listed; i++)
        assert_ptr_equal(assume_cache_get(cache, listed[i]->key),
                         api_server_get(world->api, listed[i]->key));
}

/* VB-70, VB-72 */
static void
volumes_come_change_and_go(StorageWorld *world, Process *process)
{
    g_autoptr(AssumeCache) cache = cache_of_story(process, KIND_VOLUME, "v1.PersistentVolume");
    InformerIndex *by_class =
        informer_add_index(process_informer(process, KIND_VOLUME, NULL), storage_world_index_class);
    StringPair pair = {storage_world_intern(world, "a"), storage_world_intern(world, "b")};

    assert_null(assume_cache_get(cache, storage_world_volume_key(world, "test-pv0")));
    for (unsigned i = 0; i < 10; i++) {
        g_autofree char *name = g_strdup_printf("test-pv%u", i);
        storage_world_create(world, storage_world_volume(world, name, 1, ""));
    }
    let_informers_see(world);
    assert_lists(world, by_class, cache, 10);

    const Object *before = assume_cache_get(cache, storage_world_volume_key(world, "test-pv3"));
    uint64_t version = before->resource_version;
    storage_world_patch(world, storage_world_volume_key(world, "test-pv3"), storage_world_annotate,
                        &pair);
    let_informers_see(world);
    assert_lists(world, by_class, cache, 10);
    assert_true(
        assume_cache_get(cache, storage_world_volume_key(world, "test-pv3"))->resource_version >
        version);

    storage_world_remove(world, storage_world_volume_key(world, "test-pv7"));
    let_informers_see(world);
    assert_lists(world, by_class, cache, 9);
    assert_null(assume_cache_get(cache, storage_world_volume_key(world, "test-pv7")));
}

/* VB-74 */
static void
restored(StorageWorld *world, AssumeCache *cache, const Object *object)
{
    g_autoptr(Object) copy = assumed_copy(world, object);

    assume_cache_restore(cache, object->key);
    assert_ptr_equal(assume_cache_get(cache, object->key), object);
    scheduler_assume_cache_assume(cache, copy);
    assert_ptr_equal(assume_cache_get(cache, object->key), copy);
    assume_cache_restore(cache, object->key);
    assert_ptr_equal(assume_cache_get(cache, object->key), object);
    assume_cache_restore(cache, object->key);
    assert_ptr_equal(assume_cache_get(cache, object->key), object);
}

static void
volume_is_restored(StorageWorld *world, Process *process)
{
    g_autoptr(AssumeCache) cache = cache_of_story(process, KIND_VOLUME, "v1.PersistentVolume");
    const Object *volume =
        storage_world_create(world, storage_world_volume(world, "pv1", 1, "late"));

    let_informers_see(world);
    assume_cache_restore(cache, storage_world_volume_key(world, "unknown"));
    assert_null(assume_cache_get(cache, storage_world_volume_key(world, "unknown")));
    restored(world, cache, volume);
}

static void
claim_is_restored(StorageWorld *world, Process *process)
{
    g_autoptr(AssumeCache) cache = cache_of_story(process, KIND_CLAIM, "v1.PersistentVolumeClaim");
    const Object *claim =
        storage_world_create(world, storage_world_claim(world, "pvc1", 1, "late"));

    let_informers_see(world);
    restored(world, cache, claim);
}

static const AssumeCacheStory stories[] = {
    {"vb-AssumeUpdatePVCCache-01 an update of the same version", update_of_the_same_version},
    {"vb-BasicPVCache-01 volumes come, change and go",           volumes_come_change_and_go},
    {"vb-RestorePV-01 an assumed volume is taken back",          volume_is_restored        },
    {"vb-RestorePVC-01 an assumed claim is taken back",          claim_is_restored         },
};

static void
assume_cache_tell_story(void **state)
{
    const AssumeCacheStory *story = *state;
    StorageWorld world;

    storage_world_init(&world, NULL);
    ProcessOptions options = {world.sim, world.objects, world.api, &world.timing, "kube-scheduler"};
    Process *process = process_new(&options);
    story->tell(&world, process);
    process_free(process);
    storage_world_clear(&world);
}
TEST_ROWS(stories, assume_cache_tell_story);
