/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/pv-controller/cache.h"
#include "models/volume/matching.h"
#include "tests/conformance/engine.h"

#include <string.h>

/* Which volume a claim takes: pure functions of claims, volumes and nodes. */

/* The claim or volume of a bare spec. */
static Object *
object_of_spec(Case *self, const char *path, ObjectKind kind)
{
    json_t *manifest = json_pack("{s:O}", "spec", case_get(self, path));
    Object *object = case_object(self, manifest, kind);

    json_decref(manifest);
    return object;
}

static uint32_t
modes_of(Case *self, const json_t *modes)
{
    json_t *manifest = json_pack("{s:{s:O}}", "spec", "accessModes", modes);
    uint32_t set = CLAIM(case_object(self, manifest, KIND_CLAIM))->access_modes;

    json_decref(manifest);
    return set;
}

static const Claim *
claim_of(Case *self)
{
    const json_t *manifest = case_get(self, "args.claim");

    return CLAIM(case_object(self, manifest != NULL ? manifest : case_get(self, "initial.claim"),
                             KIND_CLAIM));
}

static MatchQuery
query_of(Case *self, const Claim *claim)
{
    return (MatchQuery){
        .claim = claim,
        .delayed = case_flag(self, "args.delay_binding"),
        .attributes_classes = case_gate(self, "VolumeAttributesClass", FALSE),
    };
}

static void
expect_volume(Case *self, gboolean refused, const Volume *volume)
{
    const char *expected = case_string(self, "expected.volume");
    const char *found = volume == NULL ? NULL : object_name(&volume->meta);

    if (refused != case_flag(self, "expected.error"))
        case_fail(self, refused ? "the search failed" : "the search did not fail");
    if (g_strcmp0(expected, found) != 0)
        case_fail(self, "expected volume %s, found %s", expected == NULL ? "(none)" : expected,
                  found == NULL ? "(none)" : found);
}

static void
expect_flag(Case *self, const char *path, gboolean found)
{
    if (case_flag(self, path) != found)
        case_fail(self, "%s: found %s", path, found ? "true" : "false");
}

/* All volumes in the controller's private cache. */
static PvCache *
cache_of(Case *self)
{
    g_autoptr(GPtrArray) volumes = case_objects(self, "initial.volumes", KIND_VOLUME);
    PvCache *cache = pv_cache_new();

    for (unsigned i = 0; i < volumes->len; i++)
        pv_cache_store(cache, volumes->pdata[i]);
    return cache;
}

static void
run_best_match(Case *self)
{
    g_autoptr(PvCache) cache = cache_of(self);
    const Claim *claim = claim_of(self);
    MatchQuery query = query_of(self, claim);
    const Volume *volume;
    gboolean answered = pv_cache_find_match(cache, &query, &volume);

    expect_volume(self, !answered, volume);
}

static const StringMap *
node_labels_of(Case *self)
{
    const json_t *labels = case_get(self, "initial.node_labels");
    const json_t *node = case_get(self, "initial.node");

    if (node != NULL)
        return case_object(self, node, KIND_NODE)->labels;
    if (labels == NULL)
        return NULL;
    json_t *manifest = json_pack("{s:{s:O}}", "metadata", "labels", labels);
    const StringMap *map = case_object(self, manifest, KIND_NODE)->labels;
    json_decref(manifest);
    return map;
}

static void
run_find_matching(Case *self)
{
    g_autoptr(GPtrArray) volumes = case_objects(self, "initial.volumes", KIND_VOLUME);
    g_autoptr(GPtrArray) excluded = g_ptr_array_new();
    const Claim *claim = claim_of(self);
    MatchQuery query = query_of(self, claim);
    VolumeMatch match = {.query = &query};
    const json_t *name;
    size_t i;

    json_array_foreach(case_get(self, "args.excluded_volumes"), i, name)
        g_ptr_array_add(excluded, case_key(self, KIND_VOLUME, json_string_value(name)));
    query.has_node = case_get(self, "initial.node") != NULL;
    query.node_labels = node_labels_of(self);
    query.excluded = (const ObjectKey *const *)excluded->pdata;
    query.n_excluded = excluded->len;
    for (unsigned k = 0; k < volumes->len; k++)
        if (!volume_match_offer(&match, volumes->pdata[k]))
            break;
    expect_volume(self, match.refused, match.volume);
}

static void
run_mode_mismatch(Case *self)
{
    const Claim *claim = CLAIM(object_of_spec(self, "args.claim_spec", KIND_CLAIM));
    const Volume *volume = VOLUME(object_of_spec(self, "args.volume_spec", KIND_VOLUME));

    expect_flag(self, "expected.mismatch", claim->volume_mode != volume->volume_mode);
}

static void
run_access_modes(Case *self)
{
    uint32_t wanted = modes_of(self, case_get(self, "args.claim_access_modes"));
    uint32_t offered = modes_of(self, case_get(self, "args.volume_access_modes"));

    expect_flag(self, "expected.ok", access_modes_include(offered, wanted));
}

/* A volume named by the claim. */
static void
run_satisfies(Case *self)
{
    const json_t *manifest = case_get(self, "args.volume");
    Object *volume = case_object(
        self, manifest != NULL ? manifest : case_get(self, "initial.volume"), KIND_VOLUME);
    const char *mismatch = volume_mismatch(claim_of(self), VOLUME(volume),
                                           case_gate(self, "VolumeAttributesClass", FALSE),
                                           objects_strings(self->objects));

    if (case_get(self, "expected.satisfies") != NULL)
        expect_flag(self, "expected.satisfies", mismatch == NULL);
    else
        expect_flag(self, "expected.error", mismatch != NULL);
}

static void
run_node_affinity(Case *self)
{
    const Volume *volume = VOLUME(case_object(self, case_get(self, "initial.volume"), KIND_VOLUME));

    expect_flag(self, "expected.fits",
                volume->node_affinity == NULL ||
                    node_selector_matches(volume->node_affinity, node_labels_of(self), NULL));
}

/* PVC-21: no class, or one that does not exist, does not delay. The API server never stores one
 * without a mode. */
static void
run_delay(Case *self)
{
    const char *name = claim_class(claim_of(self));
    gboolean delays = FALSE, has_no_mode = FALSE;
    const json_t *manifest;
    size_t i;

    json_array_foreach(case_get(self, "initial.storage_classes"), i, manifest) {
        const StorageClass *class = STORAGE_CLASS(case_object(self, manifest, KIND_STORAGE_CLASS));
        if (strcmp(object_name(&class->meta), name) != 0)
            continue;
        has_no_mode = json_object_get(manifest, "volumeBindingMode") == NULL;
        delays = !has_no_mode && class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER;
    }
    expect_flag(self, "expected.delay", delays);
    expect_flag(self, "expected.error", has_no_mode);
}

static void
run_has_class(Case *self)
{
    const Claim *claim = claim_of(self);

    expect_flag(self, "expected.has_class",
                claim->class_name != NULL ||
                    object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_CLASS) != NULL);
}

/* ---- The index by access modes ---- */

static gboolean
list_has_modes(Case *self, const json_t *list, uint32_t modes)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        if (modes_of(self, item) == modes)
            return TRUE;
    return FALSE;
}

/* The sets of modes that volumes have and that include what is asked for. */
static void
run_possible_modes(Case *self)
{
    g_autoptr(GPtrArray) volumes = case_objects(self, "initial.volumes", KIND_VOLUME);
    uint32_t wanted = modes_of(self, case_get(self, "args.access_modes"));
    const json_t *expected = case_get(self, "expected.result");
    g_autoptr(GHashTable) found = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < volumes->len; i++) {
        uint32_t modes = VOLUME_CONST(volumes->pdata[i])->access_modes;
        if (!access_modes_include(modes, wanted))
            continue;
        g_hash_table_add(found, GUINT_TO_POINTER(modes));
        if (!list_has_modes(self, expected, modes))
            case_fail(self, "modes %u should not be possible", modes);
    }
    if (g_hash_table_size(found) != json_array_size(expected))
        case_fail(self, "%u sets of modes are possible", g_hash_table_size(found));
}

static void
run_list_modes(Case *self)
{
    g_autoptr(GPtrArray) volumes = case_objects(self, "initial.volumes", KIND_VOLUME);
    uint32_t modes = modes_of(self, case_get(self, "args.access_modes"));
    const json_t *expected = case_get(self, "expected.result"), *item;
    unsigned n = 0;
    size_t k;

    for (unsigned i = 0; i < volumes->len; i++) {
        const Volume *volume = volumes->pdata[i];
        gboolean listed = FALSE;
        json_array_foreach(expected, k, item)
            listed = listed || g_strcmp0(json_string_value(item), object_name(&volume->meta)) == 0;
        if (listed != (volume->access_modes == modes))
            case_fail(self, "%s", object_name(&volume->meta));
        n += volume->access_modes == modes;
    }
    if (n != json_array_size(expected))
        case_fail(self, "%u volumes have these modes", n);
}

static const Act pv_matching_acts[] = {
    {"findBestMatchForClaim",          run_best_match    },
    {"FindMatchingVolume",             run_find_matching },
    {"CheckVolumeModeMismatches",      run_mode_mismatch },
    {"CheckAccessModes",               run_access_modes  },
    {"checkVolumeSatisfyClaim",        run_satisfies     },
    {"CheckNodeAffinity",              run_node_affinity },
    {"IsDelayBindingMode",             run_delay         },
    {"PersistentVolumeClaimHasClass",  run_has_class     },
    {"allPossibleMatchingAccessModes", run_possible_modes},
    {"listByAccessModes",              run_list_modes    },
    {NULL,                             NULL              },
};

const Suite pv_matching_suite = {"pv_matching", pv_matching_acts};
