/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/client/index.h"
#include "models/scheduler/binding.h"
#include "models/scheduler/scheduler-test.h"
#include "tests/conformance/stories/story.h"
#include "tests/lib/storage-world.h"

#include <stdlib.h>
#include <string.h>

/* Stories of the assume caches of VolumeBinding (VB-70 to VB-75): objects come, change and go in
 * the API, and are assumed. */

/* What a reading of the cache gave. */
typedef enum {
    NOTHING,
    ORIGINAL, /* what the API has */
    ASSUMED,
} CachesReading;

typedef struct {
    Case *self;
    StorageWorld world;
    Process *process;
    ObjectKind kind;
    AssumeCache *cache;
    InformerIndex *by_class;
    ObjectKey *key; /* of the object that the story is about; NULL: there is none at first */
    Object *assumed;
    GArray *readings;   /* of Reading: of that object, after each step */
    GArray *lists;      /* of unsigned: how many were listed, of each class */
    GPtrArray *classes; /* names: of the volumes that are listed; none: those without a class */
    gboolean unknown_found, lists_wrong;
    char *updated; /* the name of an object that is newer than at first */
    uint64_t old_version;
} CachesStory;

/* The scheduler's handlers call it first of all. */
static void
caches_observe(void *cache, const Object *before, const Object *after)
{
    assume_cache_observe(cache, before, after);
}

static void
caches_begin(CachesStory *self, ObjectKind kind)
{
    self->kind = kind;
    storage_world_init(&self->world, NULL);
    ProcessOptions options = {self->world.sim, self->world.objects, self->world.api,
                              &self->world.timing, "kube-scheduler"};
    self->process = process_new(&options);
    Informer *informer = process_informer(self->process, kind, NULL);
    self->cache = assume_cache_new(informer, kind_class(kind)->kind);
    informer_add_handler(informer, caches_observe, self->cache);
    if (kind == KIND_VOLUME)
        self->by_class = informer_add_index(informer, storage_world_index_class);
}

static void
let_informers_see(CachesStory *self)
{
    storage_world_run(&self->world, sim_now(self->world.sim) + SIM_SECOND);
}

static ObjectKey *
caches_key_of(const CachesStory *self, const char *name)
{
    return self->kind == KIND_CLAIM ? storage_world_claim_key(&self->world, name)
                                    : storage_world_volume_key(&self->world, name);
}

static const Object *
caches_create(CachesStory *self, const char *name, const char *class_name)
{
    return self->kind == KIND_CLAIM
               ? storage_world_create(&self->world,
                                      storage_world_claim(&self->world, name, 1, class_name))
               : storage_world_create(&self->world,
                                      storage_world_volume(&self->world, name, 1, class_name));
}

static void
read_cache(CachesStory *self)
{
    const Object *found = assume_cache_get(self->cache, self->key);
    CachesReading reading = found == NULL                                         ? NOTHING
                            : found == self->assumed                              ? ASSUMED
                            : found == api_server_get(self->world.api, self->key) ? ORIGINAL
                                                                                  : NOTHING;

    g_array_append_val(self->readings, reading);
}

/* ---- What is given ---- */

/* "test-ns/name", or a volume's "name" */
PHRASE(give_object)
{
    CachesStory *self = story;
    const char *slash = strchr(words[1], '/');
    const char *name = slash == NULL ? words[1] : slash + 1;

    caches_begin(self, slash == NULL ? KIND_VOLUME : KIND_CLAIM);
    self->key = (ObjectKey *)caches_create(self, name, "late")->key;
    let_informers_see(self);
}

PHRASE(give_nothing)
{
    caches_begin(story, KIND_VOLUME);
}

static void
create_many(CachesStory *self, const char *prefix, int first, int last, const char *class_name)
{
    for (int i = first; i <= last; i++) {
        g_autofree char *name = g_strdup_printf("%s%d", prefix, i);
        caches_create(self, name, class_name);
    }
}

/* "test-pv0..9 of class1": the prefix, the numbers of both ends, the class */
PHRASE(give_volumes_of_class)
{
    CachesStory *self = story;

    if (self->process == NULL)
        caches_begin(self, KIND_VOLUME);
    create_many(self, words[1], atoi(words[2]), atoi(words[3]), words[4]);
    g_ptr_array_add(self->classes, g_strdup(words[4]));
    let_informers_see(self);
}

static const Phrase given[] = {
    {"cache: (\\S+) at version \\d+",                        give_object,           0},
    {"cache: empty",                                         give_nothing,          0},
    {"(?:cache: )?(\\S*?)(\\d+)\\.\\.\\S*?(\\d+) of (\\w+)", give_volumes_of_class, 0},
    {"all version \\d+",                                     story_nothing,         0},
    {NULL,                                                   NULL,                  0},
};

/* ---- Steps ---- */

static Object *
copy_stored(CachesStory *self)
{
    g_clear_pointer(&self->assumed, object_unref);
    self->assumed = object_edit(api_server_get(self->world.api, self->key));
    return self->assumed;
}

static void
assume_copy(CachesStory *self)
{
    g_autofree char *why = assume_cache_assume(self->cache, self->assumed);

    if (why != NULL)
        case_fail(self->self, "%s", why);
    read_cache(self);
}

PHRASE(caches_assume)
{
    CachesStory *self = story;

    object_set_annotation(
        copy_stored(self), storage_world_intern(&self->world, ANNOTATION_SELECTED_NODE),
        storage_world_intern(&self->world, words[1][0] == '\0' ? "node" : words[1]));
    assume_copy(self);
}

PHRASE(assume_for_claim)
{
    CachesStory *self = story;

    VOLUME(copy_stored(self))->claim_ref.claim = storage_world_claim_key(&self->world, words[1]);
    assume_copy(self);
}

PHRASE(restore)
{
    CachesStory *self = story;

    assume_cache_restore(self->cache, self->key);
    read_cache(self);
}

PHRASE(restore_unknown)
{
    CachesStory *self = story;

    assume_cache_restore(self->cache, caches_key_of(self, "unknown"));
    self->unknown_found |= assume_cache_get(self->cache, caches_key_of(self, "unknown")) != NULL;
}

PHRASE(read_unknown)
{
    CachesStory *self = story;

    self->unknown_found |= assume_cache_get(self->cache, caches_key_of(self, "unknown")) != NULL;
}

/* The informer tells the version once more. */
PHRASE(tell_again)
{
    CachesStory *self = story;
    const Object *stored = api_server_get(self->world.api, self->key);

    assume_cache_observe(self->cache, stored, stored);
    read_cache(self);
}

/* "test-pv0..test-pv9": the numbers of both ends */
PHRASE(add_many)
{
    CachesStory *self = story;

    create_many(self, words[1], atoi(words[2]), atoi(words[3]), "");
    let_informers_see(self);
}

PHRASE(update)
{
    CachesStory *self = story;
    StringPair pair = {storage_world_intern(&self->world, "a"),
                       storage_world_intern(&self->world, "b")};

    const Object *stored = api_server_get(self->world.api, caches_key_of(self, words[1]));
    if (stored == NULL) {
        case_fail(self->self, "no such object: %s", words[1]);
        return;
    }
    g_free(self->updated);
    self->updated = g_strdup(words[1]);
    self->old_version = stored->resource_version;
    storage_world_patch(&self->world, caches_key_of(self, words[1]), storage_world_annotate, &pair);
    let_informers_see(self);
}

PHRASE(delete_one)
{
    CachesStory *self = story;

    if (api_server_get(self->world.api, caches_key_of(self, words[1])) == NULL) {
        case_fail(self->self, "no such object: %s", words[1]);
        return;
    }
    storage_world_remove(&self->world, caches_key_of(self, words[1]));
    let_informers_see(self);
    self->unknown_found |= assume_cache_get(self->cache, caches_key_of(self, words[1])) != NULL;
}

static void
list_class(CachesStory *self, const char *name)
{
    unsigned n = 0;
    const Object *const *listed =
        informer_index_get(self->by_class, storage_world_intern(&self->world, name), &n);

    for (unsigned i = 0; i < n; i++) {
        const Object *found = assume_cache_get(self->cache, listed[i]->key);
        self->lists_wrong |= found != api_server_get(self->world.api, listed[i]->key) ||
                             strcmp(volume_class(VOLUME_CONST(listed[i])), name) != 0;
    }
    g_array_append_val(self->lists, n);
}

PHRASE(caches_list)
{
    CachesStory *self = story;

    if (self->classes->len == 0)
        list_class(self, "");
    for (unsigned i = 0; i < self->classes->len; i++)
        list_class(self, self->classes->pdata[i]);
}

/* clang-format off */
static const Phrase steps[] = {
    {"read an unknown volume",                                                 read_unknown,    0},
    {"add (\\S*?)(\\d+)\\.\\.\\S*?(\\d+) at version \\d+ without class",      add_many,        0},
    {"list(?: class \"\"| both(?: classes)?)?",                                caches_list,            0},
    {"update (\\S+) to version \\d+",                                          update,          0},
    {"delete (\\S+)",                                                          delete_one,          0},
    {"restore an unknown name",                                                restore_unknown, 0},
    {"restore(?: \\S+)?(?: \\(nothing assumed\\))?",                           restore,         0},
    {"assume (?:another \\S+ object of|a copy at) version \\d+",               caches_assume,          0},
    {"assume a copy with claimRef name (\\S+), version \\d+",                   assume_for_claim, 0},
    {"assume a copy with the selected-node annotation (\\S+), version \\d+",   caches_assume,          0},
    {"API update of the original at version \\d+ arrives",                     tell_again,      0},
    {NULL,                                                                     NULL,            0},
};
/* clang-format on */

/* ---- Then ---- */

static void
expect_reading(CachesStory *self, unsigned i, CachesReading expected)
{
    if (i >= self->readings->len || g_array_index(self->readings, CachesReading, i) != expected)
        case_fail(self->self, "reading %u is wrong", i + 1);
}

PHRASE(then_unknown)
{
    CachesStory *self = story;

    if (self->unknown_found)
        case_fail(self->self, "something is found");
}

PHRASE(then_assumed)
{
    CachesStory *self = story;

    expect_reading(self, self->readings->len - 1, ASSUMED);
}

/* Of restore, assume, restore. */
PHRASE(then_in_turn)
{
    CachesStory *self = story;

    expect_reading(self, 0, ORIGINAL);
    expect_reading(self, 1, ASSUMED);
    expect_reading(self, 2, ORIGINAL);
}

static void
expect_list(CachesStory *self, unsigned i, const char *expected)
{
    if (i >= self->lists->len ||
        g_array_index(self->lists, unsigned, i) != (unsigned)atoi(expected))
        case_fail(self->self, "list %u is wrong", i + 1);
}

/* Also that the volume which was updated is seen so. */
static void
expect_news(CachesStory *self)
{
    const Object *updated = self->updated == NULL
                                ? NULL
                                : assume_cache_get(self->cache, caches_key_of(self, self->updated));

    if (self->lists_wrong || updated == NULL || updated->resource_version <= self->old_version)
        case_fail(self->self, "an old version, or one of another class");
}

PHRASE(then_lists)
{
    CachesStory *self = story;

    expect_list(self, 0, words[1]);
    expect_list(self, 1, words[2]);
    expect_list(self, 2, words[4]);
    if (g_strcmp0(words[3], self->updated) != 0)
        case_fail(self->self, "%s was not updated", words[3]);
    expect_news(self);
}

/* "10/10, 10/10, 9/10": for each look the number of each class */
PHRASE(then_lists_of_classes)
{
    CachesStory *self = story;
    g_auto(GStrv) counts = g_strsplit_set(words[1], "/, ", -1);
    unsigned n = 0;

    for (unsigned i = 0; counts[i] != NULL; i++)
        if (counts[i][0] != '\0')
            expect_list(self, n++, counts[i]);
    if (n != self->lists->len)
        case_fail(self->self, "%u lists", self->lists->len);
    expect_news(self);
}

/* clang-format off */
static const Phrase then[] = {
    {"the assumed copy(?: with (?:the annotation|claimRef \\S+))? is still returned", then_assumed, 0},
    {"each list returns only volumes of the asked class: (.*)",                 then_lists_of_classes, 0},
    {"reading an unknown \\w+ is an error and yields nothing",                  then_unknown, 0},
    {"unknown name: no effect",                                                 then_unknown, 0},
    {"each list holds exactly the live volumes: (\\d+), (\\d+) with the newer (\\S+), then (\\d+)", then_lists, 0},
    {"reading (?:\\S+ )?returns the original, then the assumed object, then the original again", then_in_turn, 0},
    {"reading returns the original after each restore",                         then_in_turn, 0},
    {NULL,                                                                      NULL,         0},
};
/* clang-format on */

void
story_assume_cache(Case *case_)
{
    CachesStory self = {.self = case_};

    self.readings = g_array_new(FALSE, FALSE, sizeof(CachesReading));
    self.lists = g_array_new(FALSE, FALSE, sizeof(unsigned));
    self.classes = g_ptr_array_new_with_free_func(g_free);
    story_tell(case_, "given", given, &self);
    if (self.process == NULL) {
        case_fail(case_, "there is no cache");
    } else {
        story_tell(case_, "steps", steps, &self);
        story_tell(case_, "then", then, &self);
        assume_cache_free(self.cache);
        g_clear_pointer(&self.assumed, object_unref);
        process_free(self.process);
        storage_world_clear(&self.world);
    }
    g_free(self.updated);
    g_array_unref(self.readings);
    g_array_unref(self.lists);
    g_ptr_array_unref(self.classes);
}
