/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pv-controller/cache.h"
#include "sim/random.h"
#include "tests/lib/plain-search.h"
#include "tests/lib/test.h"

#define GIB (INT64_C(1) << 30)
#define N_VOLUMES 40
#define N_CLAIMS 6
#define N_ROUNDS 4000

typedef struct {
    Objects *objects;
    PvCache *cache;
    SimStream stream;
    uint64_t n_draws, version;
    const Volume *volumes[N_VOLUMES]; /* a copy of the contents of the cache; (owned) */
} CacheWorld;

static unsigned
cache_draw(CacheWorld *world, unsigned below)
{
    return (unsigned)sim_random_below(world->stream, 0, world->n_draws++, below);
}

static ObjectKey *
numbered_key(const CacheWorld *world, ObjectKind kind, unsigned i)
{
    g_autofree char *name = g_strdup_printf("%s%u", kind == KIND_CLAIM ? "c" : "v", i);

    return objects_key(world->objects, kind, kind == KIND_CLAIM ? "default" : NULL, name);
}

static const char *
draw_class(CacheWorld *world)
{
    static const char *const classes[] = {"", "fast", "slow"};

    return strings_intern(objects_strings(world->objects),
                          classes[cache_draw(world, G_N_ELEMENTS(classes))]);
}

static Claim *
draw_claim(CacheWorld *world)
{
    Claim *claim = CLAIM(object_new(numbered_key(world, KIND_CLAIM, cache_draw(world, N_CLAIMS))));

    claim->meta.uid = (ObjectUid){1, 1 + cache_draw(world, 2)};
    claim->meta.resource_version = ++world->version;
    claim->class_name = draw_class(world);
    claim->request_bytes = (1 + cache_draw(world, 6)) * GIB;
    claim->access_modes = 1 + cache_draw(world, 7);
    claim->volume_mode = cache_draw(world, 4) == 0;
    return claim;
}

static Volume *
draw_volume(CacheWorld *world, unsigned i)
{
    Volume *volume = VOLUME(object_new(numbered_key(world, KIND_VOLUME, i)));

    volume->meta.resource_version = ++world->version;
    volume->class_name = draw_class(world);
    volume->capacity_bytes = (1 + cache_draw(world, 6)) * GIB;
    volume->access_modes = 1 + cache_draw(world, 15);
    volume->volume_mode = cache_draw(world, 4) == 0;
    volume->phase = cache_draw(world, 4) == 0 ? VOLUME_PENDING : VOLUME_AVAILABLE;
    if (cache_draw(world, 3) == 0) {
        volume->claim_ref.claim = numbered_key(world, KIND_CLAIM, cache_draw(world, N_CLAIMS));
        volume->claim_ref.uid = (ObjectUid){cache_draw(world, 2), 0};
        if (volume->claim_ref.uid.high != 0)
            volume->claim_ref.uid.low = 1 + cache_draw(world, 2);
    }
    return volume;
}

static void
change_a_volume(CacheWorld *world)
{
    unsigned i = cache_draw(world, N_VOLUMES);
    const Volume *before = world->volumes[i];

    if (before != NULL && cache_draw(world, 4) == 0) {
        pv_cache_forget(world->cache, before->meta.key);
        world->volumes[i] = NULL;
    } else {
        world->volumes[i] = draw_volume(world, i);
        pv_cache_store(world->cache, &world->volumes[i]->meta);
    }
    if (before != NULL)
        object_unref(&before->meta);
}

static unsigned
n_modes(uint32_t modes)
{
    return (unsigned)__builtin_popcount(modes);
}

/* PVC-30 by looking at everything: set after set, and within a set in the order of names. */
static const Volume *
search_everything(const CacheWorld *world, const MatchQuery *query)
{
    for (unsigned n = 1; n <= 4; n++)
        for (uint32_t modes = 1; modes < 16; modes++) {
            const Volume *sorted[N_VOLUMES];
            unsigned n_sorted = 0;
            if (n_modes(modes) != n || !access_modes_include(modes, query->claim->access_modes))
                continue;
            for (unsigned i = 0; i < N_VOLUMES; i++) {
                const Volume *volume = world->volumes[i];
                if (volume == NULL || volume->access_modes != modes)
                    continue;
                unsigned place = n_sorted++;
                for (; place > 0 && g_strcmp0(object_name(&sorted[place - 1]->meta),
                                              object_name(&volume->meta)) > 0;
                     place--)
                    sorted[place] = sorted[place - 1];
                sorted[place] = volume;
            }
            gboolean refused;
            const Volume *found = plain_search(query, sorted, n_sorted, &refused);
            if (found != NULL)
                return found;
        }
    return NULL;
}

static void
world_init(CacheWorld *world)
{
    *world = (CacheWorld){.objects = objects_new(1),
                          .cache = pv_cache_new(),
                          .stream = sim_stream_from(1, 0, "test/cache")};
}

static void
cache_world_clear(CacheWorld *world)
{
    for (unsigned i = 0; i < N_VOLUMES; i++)
        if (world->volumes[i] != NULL)
            object_unref(&world->volumes[i]->meta);
    pv_cache_free(world->cache);
    objects_free(world->objects);
}

TEST(finds_what_a_search_of_everything_finds)
{
    CacheWorld world;

    world_init(&world);
    unsigned n_found = 0;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        change_a_volume(&world);
        Claim *claim = draw_claim(&world);
        MatchQuery query = {.claim = claim, .delayed = cache_draw(&world, 4) == 0};
        const Volume *found;
        assert_true(pv_cache_find_match(world.cache, &query, &found));
        assert_ptr_equal(found, search_everything(&world, &query));
        n_found += found != NULL;
        object_unref(&claim->meta);
    }
    assert_true(n_found > N_ROUNDS / 10);
    cache_world_clear(&world);
}

TEST(keeps_the_newer_version)
{
    CacheWorld world;

    world_init(&world);
    Volume *first = draw_volume(&world, 0);
    Volume *second = draw_volume(&world, 0);
    pv_cache_store(world.cache, &second->meta);
    assert_true(pv_cache_is_newer(world.cache, &first->meta));
    pv_cache_store(world.cache, &first->meta);
    assert_ptr_equal(pv_cache_volume(world.cache, first->meta.key), second);
    assert_false(pv_cache_is_newer(world.cache, &second->meta)); /* equal is fine: PVC-6 */
    object_unref(&first->meta);
    object_unref(&second->meta);
    cache_world_clear(&world);
}

TEST(a_change_unsettles_both_halves)
{
    CacheWorld world;

    world_init(&world);
    Claim *claim = draw_claim(&world);
    Volume *volume = draw_volume(&world, 0);
    volume->claim_ref.claim = claim->meta.key;
    pv_cache_store(world.cache, &claim->meta);
    pv_cache_store(world.cache, &volume->meta);
    assert_false(pv_cache_is_settled(world.cache, claim->meta.key));
    pv_cache_settle(world.cache, claim->meta.key);
    pv_cache_settle(world.cache, volume->meta.key);
    assert_true(pv_cache_is_at_rest(world.cache));

    Object *newer = object_edit(&claim->meta);
    newer->resource_version = ++world.version;
    pv_cache_store(world.cache, newer);
    assert_false(pv_cache_is_settled(world.cache, claim->meta.key));
    assert_false(pv_cache_is_settled(world.cache, volume->meta.key));
    uint32_t slot = 0;
    assert_true(pv_cache_next_unsettled(world.cache, KIND_VOLUME, &slot));
    assert_int_equal(slot, volume->meta.key->slot);
    slot++;
    assert_false(pv_cache_next_unsettled(world.cache, KIND_VOLUME, &slot));

    pv_cache_settle(world.cache, claim->meta.key);
    pv_cache_forget(world.cache, volume->meta.key);
    assert_false(pv_cache_is_settled(world.cache, claim->meta.key));
    assert_true(pv_cache_is_settled(world.cache, volume->meta.key));
    object_unref(newer);
    object_unref(&claim->meta);
    object_unref(&volume->meta);
    cache_world_clear(&world);
}

/* ---- Stories of the recorded tests, by their ids ---- */

static void
cache_count_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    (void)where;
    (void)message;
    (void)hint;
    ++*(unsigned *)parser->data;
}

/* A version that cannot be read is a fault where objects come in, so none such is ever offered to
 * the cache. */
TEST_CALLED("pvctrl-VersionedCache-02", an_unreadable_version_comes_not_in)
{
    g_autoptr(GString) path = g_string_new(NULL);
    unsigned n_faults = 0;
    CacheWorld world;

    world_init(&world);
    ApiParser parser = {
        .objects = world.objects, .report = cache_count_fault, .data = &n_faults, .path = path};
    json_t *manifest = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:[s], s:{s:s}, s:{s:s}}}", "apiVersion", "v1", "kind",
        "PersistentVolume", "metadata", "name", "pv-name", "resourceVersion", "1", "spec",
        "accessModes", "ReadWriteOnce", "capacity", "storage", "1Gi", "hostPath", "path", "/data");
    Object *good = api_parser_object(&parser, manifest);
    assert_int_equal(n_faults, 0);
    pv_cache_store(world.cache, good);

    json_object_set_new(json_object_get(manifest, "metadata"), "resourceVersion",
                        json_string("xxx"));
    Object *bad = api_parser_object(&parser, manifest);
    assert_int_equal(n_faults, 1);
    pv_cache_store(world.cache, bad);
    assert_ptr_equal(pv_cache_get(world.cache, good->key), good);
    json_decref(manifest);
    object_unref(good);
    object_unref(bad);
    cache_world_clear(&world);
}
