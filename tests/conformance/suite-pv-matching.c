/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/pv-controller/cache.h"
#include "models/volume/matching.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/scheduler-case.h"

#include <string.h>

/* Which volume a claim takes: as the PV controller searches, and as the scheduler does for a node.
 */

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
suite_pv_matching_claim_of(Case *self)
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
    const Claim *claim = suite_pv_matching_claim_of(self);
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

/* ---- With a node: the scheduler's search ---- */

/* Names are keys here, and the recorded lists have two volumes of one name: the later one is called
 * "NAME~2". */
static json_t *
with_names_of_their_own(const json_t *manifests)
{
    json_t *named = json_deep_copy(manifests), *names = json_object(), *manifest;
    size_t i;

    json_array_foreach(named, i, manifest) {
        json_t *metadata = json_object_get(manifest, "metadata");
        const char *name = json_path_string(manifest, "metadata.name");
        json_int_t n = json_integer_value(json_object_get(names, name)) + 1;
        json_object_set_new(names, name, json_integer(n));
        if (n > 1)
            json_object_set_new(metadata, "name",
                                json_sprintf("%s~%" JSON_INTEGER_FORMAT, name, n));
    }
    json_decref(names);
    return named;
}

static gboolean
is_excluded(Case *self, const json_t *volume)
{
    const json_t *name;
    size_t i;

    json_array_foreach(case_get(self, "args.excluded_volumes"), i, name)
        if (g_strcmp0(json_string_value(name), json_path_string(volume, "metadata.name")) == 0)
            return TRUE;
    return FALSE;
}

/* A claim that takes this very volume, before the case's own claim as it asks for less. Its name is
 * the volume's. */
static json_t *
taker_of(json_t *volume, const char *namespace)
{
    const json_t *spec = json_object_get(volume, "spec");
    json_t *claim = json_pack("{s:{s:O, s:s}, s:{s:{s:{s:s}}, s:{s:{s:O}}}}", "metadata", "name",
                              json_path_get(volume, "metadata.name"), "namespace", namespace,
                              "spec", "resources", "requests", "storage", "1", "selector",
                              "matchLabels", "taker", json_path_get(volume, "metadata.name"));
    static const char *const same[] = {"storageClassName", "volumeAttributesClassName",
                                       "volumeMode", "accessModes"};

    for (unsigned i = 0; i < G_N_ELEMENTS(same); i++)
        if (json_object_get(spec, same[i]) != NULL)
            json_object_set(json_object_get(claim, "spec"), same[i],
                            json_object_get(spec, same[i]));
    json_t *labels = json_pack("{s:O}", "taker", json_path_get(volume, "metadata.name"));
    json_object_set_new(json_object_get(volume, "metadata"), "labels", labels);
    return claim;
}

static void
import_claim(Case *self, json_t *manifest, json_t *volumes)
{
    Object *claim = case_object(self, manifest, KIND_CLAIM);

    case_import_object(self, claim, CASE_INFORMER);
    json_array_append_new(
        volumes, json_pack("{s:{s:s}}", "persistentVolumeClaim", "claimName", object_name(claim)));
}

/* Returns: the pod's volumes: of the case's claim, then of those that take excluded volumes */
static json_t *
import_for_search(Case *self)
{
    const json_t *manifest = case_get(self, "args.claim");
    json_t *class = json_pack(
        "{s:{s:O}, s:s, s:s}", "metadata", "name", json_path_get(manifest, "spec.storageClassName"),
        "provisioner", "kubernetes.io/no-provisioner", "volumeBindingMode",
        case_flag(self, "args.delay_binding") ? "WaitForFirstConsumer" : "Immediate");
    json_t *volumes = with_names_of_their_own(case_get(self, "initial.volumes")), *volume;
    json_t *of_pod = json_array();
    size_t i;

    case_import_object(self, case_object(self, class, KIND_STORAGE_CLASS), CASE_INFORMER);
    import_claim(self, (json_t *)manifest, of_pod);
    json_array_foreach(volumes, i, volume) {
        if (is_excluded(self, volume)) {
            json_t *taker = taker_of(volume, suite_pv_matching_claim_of(self)->meta.key->namespace);
            import_claim(self, taker, of_pod);
            json_decref(taker);
        }
        case_import_object(self, case_object(self, volume, KIND_VOLUME), CASE_INFORMER);
    }
    json_decref(class);
    json_decref(volumes);
    return of_pod;
}

/* Returns: what the scheduler found for the claim on the node; NULL: nothing */
static const Volume *
found_by_scheduler(Case *self, const Cycle *cycle, const ObjectKey *key)
{
    const Volume *found = NULL;
    unsigned n_taken = 0;

    for (unsigned i = 0; i < cycle->choices->len; i++) {
        const VolumeChoice *choice = &g_array_index(cycle->choices, VolumeChoice, i);
        if (!volume_choice_is_static(choice))
            continue;
        if (choice->claim == key)
            found = VOLUME_CONST(choice->chosen);
        else if (strcmp(choice->claim->name, object_name(choice->chosen)) != 0)
            case_fail(self, "%s is not excluded", choice->claim->name);
        else
            n_taken++;
    }
    if (n_taken != cycle->claims->len - 1)
        case_fail(self, "%u of the excluded volumes are free", cycle->claims->len - 1 - n_taken);
    return found;
}

/* The names as the case has them. */
static const Volume *
with_its_own_name(Case *self, const Volume *volume)
{
    const char *end = volume == NULL ? NULL : strchr(object_name(&volume->meta), '~');

    if (end == NULL)
        return volume;
    g_autofree char *name =
        g_strndup(object_name(&volume->meta), (gsize)(end - object_name(&volume->meta)));
    json_t *manifest = json_pack("{s:{s:s}}", "metadata", "name", name);
    volume = VOLUME_CONST(case_object(self, manifest, KIND_VOLUME));
    json_decref(manifest);
    return volume;
}

static void
run_find_matching(Case *self)
{
    if (case_get(self, "initial.node") == NULL) { /* so it is the controller who asks */
        run_best_match(self);
        return;
    }
    Cycle *cycle = scheduler_case_new(self)->cycle;
    json_t *pod = json_pack("{s:{s:s}, s:{s:o}}", "metadata", "namespace",
                            suite_pv_matching_claim_of(self)->meta.key->namespace, "spec",
                            "volumes", import_for_search(self));
    const NodeInfo *node = scheduler_case_node(self, case_get(self, "initial.node"));

    cycle_begin(cycle, scheduler_case_pod(self, pod, 0), 1);
    Verdict verdict = volume_binding_pre_filter(cycle);
    if (verdict == VERDICT_OK || verdict == VERDICT_ANY_NODE)
        verdict = volume_binding_filter(cycle, node);
    gboolean failed = verdict == VERDICT_ERROR;
    const Volume *found =
        failed ? NULL : found_by_scheduler(self, cycle, suite_pv_matching_claim_of(self)->meta.key);
    expect_volume(self, failed, with_its_own_name(self, found));
    json_decref(pod);
}

/* ---- Pure functions ---- */

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
    const char *mismatch = volume_mismatch(suite_pv_matching_claim_of(self), VOLUME(volume),
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
    const char *name = claim_class(suite_pv_matching_claim_of(self));
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
    const Claim *claim = suite_pv_matching_claim_of(self);

    expect_flag(self, "expected.has_class",
                claim->class_name != NULL ||
                    object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_CLASS) != NULL);
}

/* ---- The index by access modes ---- */

/* A volume of which only its modes matter. Returns: (owned) */
static Object *
free_volume(const Volume *volume)
{
    Volume *copy = VOLUME(object_edit(&volume->meta));

    copy->claim_ref = (ClaimReference){0};
    copy->phase = VOLUME_AVAILABLE;
    copy->class_name = copy->attributes_class = NULL;
    copy->volume_mode = VOLUME_FILESYSTEM;
    return &copy->meta;
}

static void
unref_volume(void *volume)
{
    object_unref(volume);
}

/* Lets the controller search again and again, each time without what it has found. Returns:
 * (owned): of Volume, as they were found */
static GPtrArray *
search_for_all(Case *self, uint32_t modes)
{
    g_autoptr(GPtrArray) volumes = case_objects(self, "initial.volumes", KIND_VOLUME);
    g_autoptr(PvCache) cache = pv_cache_new();
    GPtrArray *found = g_ptr_array_new_with_free_func(unref_volume);
    json_t *manifest = json_pack("{s:{s:s}}", "metadata", "name", "claim");
    Claim *claim = CLAIM(case_object(self, manifest, KIND_CLAIM));
    const Volume *volume;

    claim->access_modes = modes;
    for (unsigned i = 0; i < volumes->len; i++) {
        g_autoptr(Object) copy = free_volume(volumes->pdata[i]);
        pv_cache_store(cache, copy);
    }
    while (pv_cache_find_match(cache, &(MatchQuery){.claim = claim}, &volume) && volume != NULL) {
        g_ptr_array_add(found, object_ref(&volume->meta));
        pv_cache_forget(cache, volume->meta.key);
    }
    json_decref(manifest);
    return found;
}

/* The sets of modes that volumes have and that include what is asked for, the poorest first. */
static void
run_possible_modes(Case *self)
{
    g_autoptr(GPtrArray) found =
        search_for_all(self, modes_of(self, case_get(self, "args.access_modes")));
    const json_t *expected = case_get(self, "expected.result");
    uint32_t last = 0;
    size_t n = 0;

    for (unsigned i = 0; i < found->len; i++) {
        uint32_t modes = VOLUME_CONST(found->pdata[i])->access_modes;
        if (modes == last)
            continue;
        if (n >= json_array_size(expected) || modes_of(self, json_array_get(expected, n)) != modes)
            case_fail(self, "modes %u are in place %zu", modes, n);
        last = modes;
        n++;
    }
    if (n != json_array_size(expected))
        case_fail(self, "%zu sets of modes are possible", n);
}

/* Those of the very modes are the first. */
static void
run_list_modes(Case *self)
{
    uint32_t modes = modes_of(self, case_get(self, "args.access_modes"));
    g_autoptr(GPtrArray) found = search_for_all(self, modes);
    json_t *expected = json_object(), *listed = json_object();
    const json_t *item;
    size_t k;

    json_array_foreach(case_get(self, "expected.result"), k, item)
        json_object_set_new(expected, json_string_value(item), json_true());
    for (unsigned i = 0; i < found->len; i++)
        if (VOLUME_CONST(found->pdata[i])->access_modes == modes)
            json_object_set_new(listed, object_name(found->pdata[i]), json_true());
        else
            break;
    case_expect_json(self, "expected.result", expected, listed);
    json_decref(expected);
    json_decref(listed);
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
