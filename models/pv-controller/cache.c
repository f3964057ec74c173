/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The private copies of claims and volumes (PVC-7): the last version seen or written. They answer
 * which volume fits a claim: a volume that names the claim goes before a free one, and poorer sets
 * of access modes before richer ones. Free volumes are kept by class and set of modes, the smallest
 * first, so the first candidate in the order is the best.
 *
 * The cache also knows which objects are settled, so that a resync leaves them out. Invariant: a
 * change of a claim unsettles the volumes that name it, and a change of a volume the claims that it
 * named or names. */
#include "models/pv-controller/cache.h"
#include "sim/slots.h"

#include <string.h>

#define N_MODE_SETS 16 /* subsets of the four access modes */

/* Objects that are not settled, as bits by slot. */
typedef struct {
    GArray *words; /* of uint64_t */
    unsigned n;
} SlotSet;

/* The entry of a claim, by slot. */
typedef struct {
    const Claim *claim;    /* (owned): NULL: none */
    uint32_t first_volume; /* 1 + the slot of a volume whose claimRef names it; 0: none */
} ClaimEntry;

/* The entry of a volume, by slot. */
typedef struct {
    const Volume *volume;   /* (owned): NULL: none */
    GSequenceIter *free;    /* its place in a FreeVolumes; NULL: it has a claimRef */
    uint32_t next_of_claim; /* 1 + the slot of another one of its claim; 0: none */
    uint32_t awaited;       /* 1 + the slot of the claim that it waits for; 0: it does not wait */
} VolumeEntry;

/* The volumes of a class that have no claimRef, for each access mode set: the smallest first, by
 * name where equal. */
typedef struct {
    GSequence *of_modes[N_MODE_SETS]; /* of Volume, NULL: none */
} FreeVolumes;

struct PvCache {
    SimSlots claims;     /* of ClaimEntry */
    SimSlots volumes;    /* of VolumeEntry */
    GHashTable *free;    /* class name -> FreeVolumes */
    SlotSet restless[2]; /* claims, volumes */
};

/* PVC-30: by number of modes, then by the modes. So a free volume of a poorer set is found before a
 * reserved one of a richer set (PVC-36). */
static const uint8_t mode_sets[N_MODE_SETS] = {0, 1,  2,  4, 8,  3,  5,  6,
                                               9, 10, 12, 7, 11, 13, 14, 15};

/* ---- Sets of slots ---- */

static uint64_t *
slot_set_word(const SlotSet *self, uint32_t slot)
{
    return &g_array_index(self->words, uint64_t, slot / 64);
}

static void
slot_set_add(SlotSet *self, uint32_t slot)
{
    if (slot / 64 >= self->words->len)
        g_array_set_size(self->words, MAX(slot / 64 + 1, self->words->len * 2));

    uint64_t bit = UINT64_C(1) << (slot % 64);
    self->n += (*slot_set_word(self, slot) & bit) == 0;
    *slot_set_word(self, slot) |= bit;
}

static gboolean
slot_set_has(const SlotSet *self, uint32_t slot)
{
    return slot / 64 < self->words->len &&
           (*slot_set_word(self, slot) & UINT64_C(1) << (slot % 64)) != 0;
}

static void
slot_set_remove(SlotSet *self, uint32_t slot)
{
    if (!slot_set_has(self, slot))
        return;
    *slot_set_word(self, slot) &= ~(UINT64_C(1) << (slot % 64));
    self->n--;
}

static gboolean
slot_set_next(const SlotSet *self, uint32_t *slot)
{
    for (uint32_t i = *slot / 64; i < self->words->len; i++) {
        uint64_t word = g_array_index(self->words, uint64_t, i);
        if (i == *slot / 64)
            word &= UINT64_MAX << (*slot % 64);
        if (word != 0) {
            *slot = i * 64 + (uint32_t)__builtin_ctzll(word);
            return TRUE;
        }
    }
    return FALSE;
}

static SlotSet *
restless_of(PvCache *self, ObjectKind kind)
{
    return &self->restless[kind == KIND_VOLUME];
}

/* ---- Life ---- */

static void
free_volumes_free(void *data)
{
    FreeVolumes *volumes = data;

    for (unsigned i = 0; i < N_MODE_SETS; i++)
        g_clear_pointer(&volumes->of_modes[i], g_sequence_free);
    g_free(volumes);
}

PvCache *
pv_cache_new(void)
{
    PvCache *self = g_new0(PvCache, 1);

    self->claims.element_size = sizeof(ClaimEntry);
    self->volumes.element_size = sizeof(VolumeEntry);
    self->free = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_volumes_free);
    for (unsigned i = 0; i < G_N_ELEMENTS(self->restless); i++)
        self->restless[i].words = g_array_new(FALSE, TRUE, sizeof(uint64_t));
    return self;
}

void
pv_cache_free(PvCache *self)
{
    if (self == NULL)
        return;

    g_hash_table_unref(self->free);
    SIM_SLOTS_EACH(&self->claims, i)
        object_unref((const Object *)((const ClaimEntry *)sim_slots_find(&self->claims, i))->claim);
    SIM_SLOTS_EACH(&self->volumes, i)
        object_unref(
            (const Object *)((const VolumeEntry *)sim_slots_find(&self->volumes, i))->volume);
    sim_slots_clear(&self->claims);
    sim_slots_clear(&self->volumes);
    for (unsigned i = 0; i < G_N_ELEMENTS(self->restless); i++)
        g_array_unref(self->restless[i].words);
    g_free(self);
}

/* The entry of a slot, made if need be. */
static ClaimEntry *
claim_entry(PvCache *self, uint32_t slot)
{
    return sim_slots_place(&self->claims, slot);
}

static VolumeEntry *
volume_entry(PvCache *self, uint32_t slot)
{
    return sim_slots_place(&self->volumes, slot);
}

const Claim *
pv_cache_claim(const PvCache *self, const ObjectKey *key)
{
    const ClaimEntry *entry = key == NULL ? NULL : sim_slots_find(&self->claims, key->slot);

    return entry == NULL ? NULL : entry->claim;
}

const Volume *
pv_cache_volume(const PvCache *self, const ObjectKey *key)
{
    const VolumeEntry *entry = key == NULL ? NULL : sim_slots_find(&self->volumes, key->slot);

    return entry == NULL ? NULL : entry->volume;
}

const Object *
pv_cache_get(const PvCache *self, const ObjectKey *key)
{
    if (key->kind == KIND_VOLUME)
        return (const Object *)pv_cache_volume(self, key);
    return (const Object *)pv_cache_claim(self, key);
}

/* ---- Indexes of volumes: by the claim they name, and of those that name none ---- */

static int
compare_volumes(gconstpointer a, gconstpointer b, gpointer data)
{
    const Volume *x = a, *y = b;
    int order = volume_compare_capacity(x, y);

    (void)data;
    if (order != 0)
        return order;
    return strcmp(object_name(&x->meta), object_name(&y->meta));
}

static GSequence *
free_volumes(PvCache *self, const Volume *volume)
{
    FreeVolumes *of_class = g_hash_table_lookup(self->free, volume_class(volume));

    if (of_class == NULL) {
        of_class = g_new0(FreeVolumes, 1);
        /* The name is interned: it outlives the table. */
        g_hash_table_insert(self->free, (void *)volume_class(volume), of_class);
    }
    GSequence **place = &of_class->of_modes[volume->access_modes % N_MODE_SETS];
    if (*place == NULL)
        *place = g_sequence_new(NULL);
    return *place;
}

static void
index_volume(PvCache *self, VolumeEntry *entry)
{
    const Volume *volume = entry->volume;

    if (volume->claim_ref.claim == NULL) {
        GSequence *list = free_volumes(self, volume);
        entry->free = g_sequence_insert_sorted(list, (void *)volume, compare_volumes, NULL);
        return;
    }
    ClaimEntry *claim = claim_entry(self, volume->claim_ref.claim->slot);
    entry->next_of_claim = claim->first_volume;
    claim->first_volume = volume->meta.key->slot + 1;
}

static void
unindex_volume(PvCache *self, VolumeEntry *entry)
{
    const Volume *volume = entry->volume;

    if (entry->free != NULL) {
        g_sequence_remove(g_steal_pointer(&entry->free));
        return;
    }
    uint32_t *place = &claim_entry(self, volume->claim_ref.claim->slot)->first_volume;
    while (*place != volume->meta.key->slot + 1)
        place = &volume_entry(self, *place - 1)->next_of_claim;
    *place = entry->next_of_claim;
    entry->next_of_claim = 0;
}

/* ---- Changes ---- */

static void
unsettle_volume_slot(PvCache *self, uint32_t slot)
{
    slot_set_add(restless_of(self, KIND_VOLUME), slot);
    volume_entry(self, slot)->awaited = 0;
}

/* A claim has changed: the outcome of its sync, and of the syncs of volumes that name it, may
 * change. */
static void
unsettle_claim(PvCache *self, const ObjectKey *key)
{
    slot_set_add(restless_of(self, KIND_CLAIM), key->slot);
    uint32_t next = claim_entry(self, key->slot)->first_volume;
    for (; next != 0; next = volume_entry(self, next - 1)->next_of_claim)
        unsettle_volume_slot(self, next - 1);
}

/* The same of a volume, and of the claim that it named or names. */
static void
unsettle_volume(PvCache *self, const Volume *volume)
{
    const ObjectKey *claim = volume->claim_ref.claim;

    unsettle_volume_slot(self, volume->meta.key->slot);
    if (pv_cache_claim(self, claim) != NULL)
        slot_set_add(restless_of(self, KIND_CLAIM), claim->slot);
}

static void
set_claim(PvCache *self, const ObjectKey *key, const Object *claim)
{
    ClaimEntry *entry = claim_entry(self, key->slot);
    const Claim *before = entry->claim;

    entry->claim = claim == NULL ? NULL : CLAIM_CONST(object_ref(claim));
    unsettle_claim(self, key);
    if (before != NULL)
        object_unref(&before->meta);
}

static void
set_volume(PvCache *self, const ObjectKey *key, const Object *volume)
{
    VolumeEntry *entry = volume_entry(self, key->slot);
    const Volume *before = entry->volume;

    if (before != NULL) {
        unsettle_volume(self, before);
        unindex_volume(self, entry);
    }
    entry->volume = volume == NULL ? NULL : VOLUME_CONST(object_ref(volume));
    if (volume != NULL) {
        unsettle_volume(self, entry->volume);
        index_volume(self, entry);
    }
    if (before != NULL)
        object_unref(&before->meta);
}

gboolean
pv_cache_is_newer(const PvCache *self, const Object *object)
{
    const Object *known = pv_cache_get(self, object->key);

    return known != NULL && known->resource_version > object->resource_version;
}

void
pv_cache_store(PvCache *self, const Object *object)
{
    if (pv_cache_get(self, object->key) == object || pv_cache_is_newer(self, object))
        return;
    if (object_kind(object) == KIND_VOLUME)
        set_volume(self, object->key, object);
    else
        set_claim(self, object->key, object);
}

void
pv_cache_forget(PvCache *self, const ObjectKey *key)
{
    if (pv_cache_get(self, key) == NULL)
        return;
    if (key->kind == KIND_VOLUME)
        set_volume(self, key, NULL);
    else
        set_claim(self, key, NULL);
    pv_cache_settle(self, key); /* nothing there to be synced */
}

/* ---- Matching ---- */

/* The volume of this access mode set that names the claim and may be taken; of several the first by
 * name. */
static const Volume *
find_reserved(const PvCache *self, const MatchQuery *query, uint32_t modes)
{
    const Volume *found = NULL;
    const ClaimEntry *claim = sim_slots_find(&self->claims, query->claim->meta.key->slot);
    uint32_t next = claim == NULL ? 0 : claim->first_volume;

    while (next != 0) {
        const VolumeEntry *entry = sim_slots_find(&self->volumes, next - 1);
        const Volume *volume = entry->volume;
        next = entry->next_of_claim;
        if (volume->access_modes != modes ||
            volume_match_judge(query, volume, NULL) != MATCH_RESERVED)
            continue;
        if (found == NULL || strcmp(object_name(&volume->meta), object_name(&found->meta)) < 0)
            found = volume;
    }
    return found;
}

/* The index of the first volume that is large enough. */
static GSequenceIter *
first_large_enough(GSequence *list, int64_t bytes)
{
    GSequenceIter *low = g_sequence_get_begin_iter(list), *high = g_sequence_get_end_iter(list);

    while (low != high) {
        GSequenceIter *middle = g_sequence_range_get_midpoint(low, high);
        const Volume *volume = g_sequence_get(middle);
        if (volume->capacity_bytes >= bytes)
            high = middle;
        else
            low = g_sequence_iter_next(middle);
    }
    return low;
}

/* In the order of the list the first candidate is the best. */
static const Volume *
find_free(const FreeVolumes *volumes, const MatchQuery *query, uint32_t modes)
{
    GSequence *list = volumes == NULL ? NULL : volumes->of_modes[modes];

    if (list == NULL)
        return NULL;
    GSequenceIter *iter = first_large_enough(list, query->claim->request_bytes);
    for (; !g_sequence_iter_is_end(iter); iter = g_sequence_iter_next(iter)) {
        const Volume *volume = g_sequence_get(iter);
        if (volume_match_judge(query, volume, NULL) == MATCH_CANDIDATE)
            return volume;
    }
    return NULL;
}

/* Whether the search would be refused by some volume. Called only for claims that ask for a feature
 * that is off. */
static gboolean
is_refused(const PvCache *self, const MatchQuery *query)
{
    if (query->attributes_classes || query->claim->attributes_class == NULL ||
        query->claim->attributes_class[0] == '\0')
        return FALSE;
    SIM_SLOTS_EACH(&self->volumes, i) {
        const Volume *volume = ((const VolumeEntry *)sim_slots_find(&self->volumes, i))->volume;
        if (volume != NULL &&
            access_modes_include(volume->access_modes, query->claim->access_modes) &&
            volume_match_judge(query, volume, NULL) == MATCH_REFUSED)
            return TRUE;
    }
    return FALSE;
}

gboolean
pv_cache_find_match(const PvCache *self, const MatchQuery *query, const Volume **volume)
{
    const FreeVolumes *of_class = g_hash_table_lookup(self->free, claim_class(query->claim));

    *volume = NULL;
    if (is_refused(self, query))
        return FALSE;
    for (unsigned i = 0; i < N_MODE_SETS && *volume == NULL; i++) {
        uint32_t modes = mode_sets[i];
        if (!access_modes_include(modes, query->claim->access_modes))
            continue;
        *volume =
            find_reserved(self, query, modes);  /* of any zone: no node is asked for (PVC-33) */
        if (*volume == NULL && !query->delayed) /* PVC-32.9 */
            *volume = find_free(of_class, query, modes);
    }
    return TRUE;
}

/* ---- Rest ---- */

void
pv_cache_settle(PvCache *self, const ObjectKey *key)
{
    slot_set_remove(restless_of(self, key->kind), key->slot);
}

void
pv_cache_unsettle(PvCache *self, const ObjectKey *key)
{
    slot_set_add(restless_of(self, key->kind), key->slot);
}

gboolean
pv_cache_is_settled(const PvCache *self, const ObjectKey *key)
{
    return !slot_set_has(&self->restless[key->kind == KIND_VOLUME], key->slot);
}

void
pv_cache_wait_for_claim(PvCache *self, const ObjectKey *volume)
{
    VolumeEntry *entry = volume_entry(self, volume->slot);

    entry->awaited = entry->volume->claim_ref.claim->slot + 1;
}

void
pv_cache_end_wait(PvCache *self, const ObjectKey *volume)
{
    volume_entry(self, volume->slot)->awaited = 0;
}

gboolean
pv_cache_waits_for_claim(const PvCache *self, uint32_t volume, uint32_t *claim, gboolean *is_only)
{
    const VolumeEntry *entry = sim_slots_find(&self->volumes, volume);

    if (entry == NULL || entry->awaited == 0)
        return FALSE;
    *claim = entry->awaited - 1;
    *is_only = entry->next_of_claim == 0;
    return TRUE;
}

gboolean
pv_cache_is_at_rest(const PvCache *self)
{
    return self->restless[0].n == 0 && self->restless[1].n == 0;
}

gboolean
pv_cache_next_unsettled(const PvCache *self, ObjectKind kind, uint32_t *slot)
{
    return slot_set_next(&self->restless[kind == KIND_VOLUME], slot);
}
