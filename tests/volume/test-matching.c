/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/plain-search.h"
#include "tests/lib/test.h"

#define GIB (INT64_C(1) << 30)
#define VOLUMES_MAX 4

/* The claim in the claimRef of a volume. */
typedef enum {
    FREE,
    RESERVED, /* the claim's name, no uid */
    OURS,     /* name and uid */
    STALE,    /* the name, but the uid of an earlier claim */
    OTHERS,
} MatchingReference;

/* A volume in a case: Available, ReadWriteOnce, Filesystem and of class "" unless it says
 * otherwise. */
typedef struct {
    const char *name; /* NULL: no more */
    int gib;
    MatchingReference reference;
    uint32_t access_modes, phase, volume_mode;
    const char *class_name, *attributes_class;
    const char *zone;  /* its node affinity */
    const char *label; /* value of the label "kind" */
    gboolean deleted;
} VolumeSpec;

#define PV(volume_name, size_gib, ...)                                                             \
    {                                                                                              \
        .name = volume_name, .gib = size_gib, ##__VA_ARGS__                                        \
    }

/* A claim of 5 GiB, ReadWriteOnce, Filesystem and of class "" unless it says otherwise. */
typedef struct {
    const char *title;
    struct {
        int gib;
        uint32_t access_modes, volume_mode;
        const char *class_name, *attributes_class;
        const char *kind; /* its selector */
        gboolean delayed, attributes_classes;
    } claim;
    VolumeSpec volumes[VOLUMES_MAX];
    const char *expected; /* NULL: none; "!": refused */
    const char *rule;     /* of the verdict on the first volume; NULL: whatever */
} MatchingMatchCase;

#define PENDING_PHASE (VOLUME_PENDING + 100) /* 0 means Available here */

/* clang-format off */
static const MatchingMatchCase cases[] = {
    {"takes the only one", {0}, {PV("a", 5)}, "a", "PVC-32.14"},
    {"takes the smallest", {0}, {PV("a", 10), PV("b", 6), PV("c", 7)}, "b", NULL},
    {"of equals the first by name", {0}, {PV("c", 6), PV("a", 6), PV("b", 6)}, "a", NULL},
    /* PVC-35 */
    {"there is no upper limit", {.gib = 1}, {PV("a", 1024)}, "a", NULL},
    {"too small", {0}, {PV("a", 4)}, NULL, "PVC-32.3"},
    {"another claim's", {0}, {PV("a", 5, .reference = OTHERS), PV("b", 9)}, "b", "PVC-32.2"},
    {"an earlier claim's of that name", {0}, {PV("a", 5, .reference = STALE)}, NULL, "PVC-32.2"},
    {"reserved by name wins over a smaller one", {0},
     {PV("a", 5), PV("b", 50, .reference = RESERVED)}, "b", NULL},
    {"reserved with uid wins over a smaller one", {0}, {PV("a", 5), PV("b", 50, .reference = OURS)},
     "b", NULL},
    {"reserved: class, phase, selector do not matter", {.class_name = "fast", .kind = "red"},
     {PV("a", 5, .reference = RESERVED, .phase = PENDING_PHASE, .class_name = "slow")}, "a",
     "PVC-32.8"},
    {"reserved but too small", {0}, {PV("a", 4, .reference = RESERVED), PV("b", 6)}, "b",
     "PVC-32.3"},
    {"reserved but of another mode", {.volume_mode = VOLUME_BLOCK}, {PV("a", 5, .reference = OURS)},
     NULL, "PVC-32.4"},
    {"of another mode", {0}, {PV("a", 5, .volume_mode = VOLUME_BLOCK)}, NULL, "PVC-32.4"},
    {"being deleted", {0}, {PV("a", 5, .deleted = TRUE)}, NULL, "PVC-32.6"},
    {"being deleted, though reserved", {0}, {PV("a", 5, .reference = OURS, .deleted = TRUE)}, NULL,
     "PVC-32.6"},
    {"late binding takes nothing free", {.delayed = TRUE}, {PV("a", 5)}, NULL, "PVC-32.9"},
    {"late binding takes what is reserved", {.delayed = TRUE},
     {PV("a", 5), PV("b", 6, .reference = OURS)}, "b", NULL},
    {"not Available", {0}, {PV("a", 5, .phase = VOLUME_RELEASED)}, NULL, "PVC-32.10"},
    {"not Available yet", {0}, {PV("a", 5, .phase = PENDING_PHASE)}, NULL, "PVC-32.10"},
    {"selector", {.kind = "red"}, {PV("a", 5, .label = "blue"), PV("b", 6, .label = "red")}, "b",
     "PVC-32.11"},
    {"selector, no labels", {.kind = "red"}, {PV("a", 5)}, NULL, "PVC-32.11"},
    {"class", {.class_name = "fast"}, {PV("a", 5), PV("b", 6, .class_name = "fast")}, "b",
     "PVC-32.12"},
    {"no class takes none with a class", {0}, {PV("a", 5, .class_name = "fast")}, NULL,
     "PVC-32.12"},
    {"without a node affinity does not matter", {0}, {PV("a", 5, .zone = "z1")}, "a", NULL},
    {"attributes class, gate off: not this volume", {0},
     {PV("a", 5, .attributes_class = "gold"), PV("b", 6)}, "b", "PVC-32.5"},
    {"attributes class, gate off: not this claim", {.attributes_class = "gold"}, {PV("a", 5)}, "!",
     "PVC-32.5"},
    {"attributes class, gate off: too small to be an error", {.attributes_class = "gold"},
     {PV("a", 1)}, NULL, NULL},
    {"attributes class, gate on", {.attributes_class = "gold", .attributes_classes = TRUE},
     {PV("a", 5), PV("b", 6, .attributes_class = "gold")}, "b", "PVC-32.5"},
};
/* clang-format on */

typedef struct {
    Objects *objects;
    Claim *claim;
    Volume *volumes[VOLUMES_MAX];
    unsigned n_volumes;
    MatchQuery query;
} MatchingFixture;

static const char *
matching_intern(const MatchingFixture *fixture, const char *text)
{
    return strings_intern(objects_strings(fixture->objects), text);
}

static StringMap *
one_pair(const MatchingFixture *fixture, const char *key, const char *value)
{
    StringPair pair = {matching_intern(fixture, key), matching_intern(fixture, value)};

    return string_map_new(&pair, 1);
}

static ClaimReference
reference_of(MatchingFixture *fixture, MatchingReference reference)
{
    const ObjectKey *ours = fixture->claim->meta.key;
    const ObjectKey *other = objects_key(fixture->objects, KIND_CLAIM, "default", "other");

    switch (reference) {
    case FREE:
        return (ClaimReference){0};
    case RESERVED:
        return (ClaimReference){.claim = ours};
    case OURS:
        return (ClaimReference){.claim = ours, .uid = fixture->claim->meta.uid};
    case STALE:
        return (ClaimReference){
            .claim = ours, .uid = {7, 7}
        };
    case OTHERS:
        return (ClaimReference){
            .claim = other, .uid = {8, 8}
        };
    }
    g_assert_not_reached();
}

static Volume *
volume_build(MatchingFixture *fixture, const VolumeSpec *spec)
{
    Volume *volume =
        VOLUME(object_new(objects_key(fixture->objects, KIND_VOLUME, NULL, spec->name)));

    volume->capacity_bytes = spec->gib * GIB;
    volume->claim_ref = reference_of(fixture, spec->reference);
    volume->access_modes = spec->access_modes == 0 ? ACCESS_RWO : spec->access_modes;
    volume->phase = spec->phase == 0               ? VOLUME_AVAILABLE
                    : spec->phase == PENDING_PHASE ? VOLUME_PENDING
                                                   : spec->phase;
    volume->volume_mode = spec->volume_mode;
    volume->class_name = matching_intern(fixture, spec->class_name);
    volume->attributes_class = matching_intern(fixture, spec->attributes_class);
    if (spec->deleted)
        volume->meta.deleted_at = 0;
    if (spec->label != NULL)
        volume->meta.labels = one_pair(fixture, "kind", spec->label);
    if (spec->zone != NULL) {
        g_autoptr(StringMap) segment = one_pair(fixture, "zone", spec->zone);
        volume->node_affinity = node_selector_from_segments((const StringMap *const *)&segment, 1);
    }
    return volume;
}

static void
claim_build(MatchingFixture *fixture, const MatchingMatchCase *row)
{
    Claim *claim = CLAIM(object_new(objects_key(fixture->objects, KIND_CLAIM, "default", "claim")));

    fixture->claim = claim;
    claim->meta.uid = (ObjectUid){1, 1};
    claim->request_bytes = (row->claim.gib == 0 ? 5 : row->claim.gib) * GIB;
    claim->access_modes = row->claim.access_modes == 0 ? ACCESS_RWO : row->claim.access_modes;
    claim->volume_mode = row->claim.volume_mode;
    claim->class_name =
        matching_intern(fixture, row->claim.class_name == NULL ? "" : row->claim.class_name);
    claim->attributes_class = matching_intern(fixture, row->claim.attributes_class);
    if (row->claim.kind != NULL) {
        const char *value = matching_intern(fixture, row->claim.kind);
        SelectRequirement wanted = {matching_intern(fixture, "kind"), SELECT_IN,
                                    string_list_new(&value, 1)};
        claim->selector = label_selector_new(&wanted, 1);
    }
}

static void
fixture_init(MatchingFixture *fixture, const MatchingMatchCase *row)
{
    *fixture = (MatchingFixture){.objects = objects_new(1)};
    claim_build(fixture, row);
    for (unsigned i = 0; i < VOLUMES_MAX && row->volumes[i].name != NULL; i++)
        fixture->volumes[fixture->n_volumes++] = volume_build(fixture, &row->volumes[i]);
    fixture->query = (MatchQuery){
        .claim = fixture->claim,
        .delayed = row->claim.delayed,
        .attributes_classes = row->claim.attributes_classes,
    };
}

static void
fixture_clear(MatchingFixture *fixture)
{
    for (unsigned i = 0; i < fixture->n_volumes; i++)
        object_unref(&fixture->volumes[i]->meta);
    object_unref(&fixture->claim->meta);
    objects_free(fixture->objects);
}

/* The name of the volume that a search in the order i, i + 1, ... finds; "!" if it is refused. */
static const char *
search(const MatchingFixture *fixture, unsigned first)
{
    const Volume *volumes[VOLUMES_MAX];
    gboolean refused;

    for (unsigned i = 0; i < fixture->n_volumes; i++)
        volumes[i] = fixture->volumes[(first + i) % fixture->n_volumes];
    const Volume *found = plain_search(&fixture->query, volumes, fixture->n_volumes, &refused);
    return refused ? "!" : found == NULL ? NULL : object_name(&found->meta);
}

TEST(finds_what_fits)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const MatchingMatchCase *row = &cases[i];
        const char *rule;
        MatchingFixture fixture;

        fixture_init(&fixture, row);
        for (unsigned first = 0; first < fixture.n_volumes; first++)
            if (g_strcmp0(search(&fixture, first), row->expected) != 0)
                fail_msg("%s: found %s, not %s", row->title, search(&fixture, first),
                         row->expected);
        volume_match_judge(&fixture.query, fixture.volumes[0], &rule);
        if (row->rule != NULL && g_strcmp0(rule, row->rule) != 0)
            fail_msg("%s: by %s, not %s", row->title, rule, row->rule);
        fixture_clear(&fixture);
    }
}

/* clang-format off */
static const struct {
    const char *title;
    MatchingMatchCase pair; /* the claim and its one volume */
    const char *expected;
} mismatches[] = {
    {"fits", {.volumes = {PV("a", 5)}}, NULL},
    {"phase and affinity do not matter",
     {.volumes = {PV("a", 5, .phase = VOLUME_RELEASED, .zone = "z")}}, NULL},
    {"selector does not matter", {.claim = {.kind = "red"}, .volumes = {PV("a", 5)}}, NULL},
    {"deleted", {.volumes = {PV("a", 1, .deleted = TRUE)}},
     "the volume is marked for deletion \"a\""},
    {"size before class", {.volumes = {PV("a", 1, .class_name = "fast")}},
     "requested PV is too small"},
    {"class before mode",
     {.volumes = {PV("a", 5, .class_name = "fast", .volume_mode = VOLUME_BLOCK)}},
     "storageClassName does not match"},
    {"attributes class, gate off", {.volumes = {PV("a", 5, .attributes_class = "gold")}},
     "volumeAttributesClassName is not supported when the feature-gate VolumeAttributesClass is disabled"},
    {"attributes class, gate on",
     {.claim = {.attributes_classes = TRUE}, .volumes = {PV("a", 5, .attributes_class = "gold")}},
     "volumeAttributesClassName does not match"},
    {"mode", {.volumes = {PV("a", 5, .volume_mode = VOLUME_BLOCK)}}, "incompatible volumeMode"},
    {"access modes", {.claim = {.access_modes = ACCESS_RWX}, .volumes = {PV("a", 5)}},
     "incompatible accessMode"},
};
/* clang-format on */

TEST(tells_why_a_named_volume_does_not_fit)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(mismatches); i++) {
        MatchingFixture fixture;

        fixture_init(&fixture, &mismatches[i].pair);
        const char *why =
            volume_mismatch(fixture.claim, fixture.volumes[0], fixture.query.attributes_classes,
                            objects_strings(fixture.objects));
        if (g_strcmp0(why, mismatches[i].expected) != 0)
            fail_msg("%s: %s, not %s", mismatches[i].title, why, mismatches[i].expected);
        fixture_clear(&fixture);
    }
}
