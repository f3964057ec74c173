/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/apiserver/apiserver-test.h"
#include "models/pv-controller/pv-controller.h"
#include "sim/random.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

#include <string.h>

/* The controller dies at every write that it makes, in three ways, and is started again. PVC-53,
 * PVC-14, CGO-50: nothing is lost, and nothing is done twice. */

const ModelClass *const model_classes[] = {&pv_controller_class, NULL};

#define CONTROLLER "persistent-volume-binder"
#define PROCESS "kube-controller-manager"

typedef enum {
    DIES_NOT,
    DIES_BEFORE, /* the request never arrives */
    DIES_LOSING, /* it is carried out, the reply is lost */
    DIES_AFTER,  /* the reply has come, and is the last thing that it sees */
    N_WAYS,
} Way;

static const char *const ways[] = {"not", "before", "losing the reply of", "after"};

/* A cluster whose controller dies. */
typedef struct {
    StorageWorld world;
    Way way;           /* of the next death */
    unsigned at_write; /* 0: never */
    unsigned n_writes; /* of the controller that came to the API server */
    unsigned n_deaths;
    double death_probability; /* at each write; draws the way, too */
    SimStream stream;
    /* Committed. */
    unsigned n_commits;
    unsigned n_claims_bound, n_volumes_bound; /* changes of phase */
} MortalWorld;

static void
die(MortalWorld *self)
{
    self->n_deaths++;
    self->way = DIES_NOT;
    cluster_crash(self->world.cluster, PROCESS, NULL);
    cluster_restart(self->world.cluster, PROCESS, NULL);
}

static void
die_now(Sim *sim, void *data)
{
    (void)sim;
    die(data);
}

static const SimEventType death_event = {
    .name = "test/the controller dies",
    .fire = die_now,
};

static gboolean
is_write(const ApiRequest *request)
{
    return request->verb != API_GET && request->verb != API_LIST &&
           g_strcmp0(request->client, CONTROLLER) == 0;
}

static void
draw_death(MortalWorld *self)
{
    uint64_t n = self->n_writes;

    if (sim_random_uniform(self->stream, 1, n) < self->death_probability)
        self->way = (Way)(1 + sim_random_below(self->stream, 2, n, N_WAYS - 1));
}

static ApiCode
request_comes(void *data, const ApiRequest *request, GString *message)
{
    MortalWorld *self = data;

    if (!is_write(request))
        return API_OK;
    self->n_writes++;
    if (self->death_probability > 0)
        draw_death(self);
    else if (self->n_writes != self->at_write)
        return API_OK;
    if (self->way != DIES_BEFORE)
        return API_OK;
    die(self);
    g_string_assign(message, "nobody is there to read this");
    return API_TIMEOUT;
}

static gboolean
is_dying(const MortalWorld *self, Way way)
{
    return self->way == way && (self->death_probability > 0 || self->n_writes >= self->at_write);
}

static void
crash_request_answered(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    MortalWorld *self = data;

    (void)code;
    (void)arrived_at;
    if (!is_write(request))
        return;
    if (is_dying(self, DIES_LOSING))
        die(self);
    else if (is_dying(self, DIES_AFTER))
        sim_after(self->world.sim, 0, &death_event, self, WAIT_SCENARIO);
}

/* ---- What must hold after every commit ---- */

/* The volume of a Bound claim points back. Nobody in these tests deletes volumes or changes their
 * claimRefs. */
static void
crash_check_claim(const MortalWorld *self, const Claim *claim)
{
    if (claim->phase != CLAIM_BOUND)
        return;
    const Volume *volume = storage_world_stored_volume(&self->world, claim->volume_name);
    assert_non_null(volume);
    assert_ptr_equal(volume->claim_ref.claim, claim->meta.key);
    assert_true(object_uid_equal(volume->claim_ref.uid, claim->meta.uid));
}

/* A volume goes on serving its claim as long as that exists. */
static void
crash_check_volume(const MortalWorld *self, const Volume *before, const Volume *after)
{
    const ObjectKey *key = before->claim_ref.claim;
    const Claim *claim = key == NULL ? NULL : (const Claim *)api_server_get(self->world.api, key);

    if (claim == NULL || claim->phase != CLAIM_BOUND ||
        strcmp(claim->volume_name, object_name(&before->meta)) != 0)
        return;
    assert_ptr_equal(after->claim_ref.claim, key);
}

static void
object_committed(void *data, const Object *before, const Object *after)
{
    MortalWorld *self = data;

    if (before == NULL || after == NULL)
        return;
    self->n_commits++;
    if (object_kind(after) == KIND_CLAIM) {
        self->n_claims_bound +=
            CLAIM_CONST(before)->phase != CLAIM_BOUND && CLAIM_CONST(after)->phase == CLAIM_BOUND;
        crash_check_claim(self, CLAIM_CONST(after));
    } else if (object_kind(after) == KIND_VOLUME) {
        self->n_volumes_bound += VOLUME_CONST(before)->phase != VOLUME_BOUND &&
                                 VOLUME_CONST(after)->phase == VOLUME_BOUND;
        crash_check_volume(self, VOLUME_CONST(before), VOLUME_CONST(after));
    }
}

static void
mortal_world_init(MortalWorld *self, uint64_t seed, int minor_version)
{
    StorageWorldOptions options = {.seed = seed, .slow = TRUE, .minor_version = minor_version};

    *self = (MortalWorld){0};
    storage_world_init(&self->world, &options);
    self->stream = sim_stream_from(seed, 0, "test/deaths");
    api_server_set_fault(self->world.api, request_comes, self);
    api_server_observe_requests(self->world.api, crash_request_answered, self);
    api_server_observe(self->world.api, object_committed, self);
}

/* ---- A bind, cut off at every write ---- */

static gboolean
edit_reserve_name(Object *object, const void *claim)
{
    VOLUME(object)->claim_ref = (ClaimReference){.claim = claim};
    return TRUE;
}

static void
volume_first(StorageWorld *world)
{
    storage_world_create(world, storage_world_volume(world, "v", 5, NULL));
    storage_world_run(world, 5 * SIM_SECOND);
    storage_world_create(world, storage_world_claim(world, "c", 5, NULL));
}

static void
claim_first(StorageWorld *world)
{
    storage_world_create(world, storage_world_claim(world, "c", 5, NULL));
    storage_world_run(world, 5 * SIM_SECOND);
    storage_world_create(world, storage_world_volume(world, "v", 5, NULL));
}

static void
claim_names_volume(StorageWorld *world)
{
    Claim *claim = storage_world_claim(world, "c", 5, NULL);

    claim->volume_name = storage_world_intern(world, "v");
    storage_world_create(world, storage_world_volume(world, "v", 5, NULL));
    storage_world_run(world, 5 * SIM_SECOND);
    storage_world_create(world, claim);
}

static void
volume_names_claim(StorageWorld *world)
{
    Volume *volume = storage_world_volume(world, "v", 5, NULL);

    edit_reserve_name(&volume->meta, storage_world_claim_key(world, "c"));
    storage_world_create(world, volume);
    storage_world_run(world, 5 * SIM_SECOND);
    storage_world_create(world, storage_world_claim(world, "c", 5, NULL));
}

static void
volume_is_provisioned(StorageWorld *world)
{
    Volume *volume = storage_world_volume(world, "v", 5, "fast");

    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_run(world, 5 * SIM_SECOND);
    storage_world_create(world, storage_world_claim(world, "c", 5, "fast"));
    storage_world_run(world, 10 * SIM_SECOND);
    const Claim *claim = storage_world_stored_claim(world, "c");
    volume->claim_ref = (ClaimReference){claim->meta.key, claim->meta.uid, 1};
    volume->reclaim_policy = RECLAIM_DELETE;
    object_set_annotation(&volume->meta, storage_world_intern(world, ANNOTATION_PROVISIONED_BY),
                          storage_world_intern(world, "csi.test"));
    storage_world_create(world, volume);
}

static const struct {
    const char *name;
    void (*act)(StorageWorld *world);
} binds[] = {
    {"the volume is there first",               volume_first         },
    {"the claim is there first",                claim_first          },
    {"the claim names the volume",              claim_names_volume   },
    {"the volume names the claim",              volume_names_claim   },
    {"the volume is provisioned for the claim", volume_is_provisioned},
};

/* Bound, both halves, as annotations and all; and each became so once. */
static void
check_pair(const MortalWorld *self)
{
    const Claim *claim = storage_world_stored_claim(&self->world, "c");
    const Volume *volume = storage_world_stored_volume(&self->world, "v");

    assert_int_equal(claim->phase, CLAIM_BOUND);
    assert_int_equal(volume->phase, VOLUME_BOUND);
    assert_string_equal(claim->volume_name, "v");
    assert_true(claim_is_bind_completed(claim));
    assert_ptr_equal(volume->claim_ref.claim, claim->meta.key);
    assert_true(object_uid_equal(volume->claim_ref.uid, claim->meta.uid));
    assert_int_equal(claim->capacity_bytes, volume->capacity_bytes);
    assert_int_equal(self->n_claims_bound, 1);
    assert_int_equal(self->n_volumes_bound, 1);
}

/* Returns: (owned): what is stored in the end, versions and times aside */
static char *
state_text(const StorageWorld *world)
{
    json_t *pair = json_array();

    json_array_append_new(pair, object_to_json(&storage_world_stored_claim(world, "c")->meta));
    json_array_append_new(pair, object_to_json(&storage_world_stored_volume(world, "v")->meta));
    for (size_t i = 0; i < 2; i++) {
        json_t *object = json_array_get(pair, i);
        json_object_del(json_object_get(object, "metadata"), "resourceVersion");
        json_object_del(json_object_get(object, "status"), "lastPhaseTransitionTime");
        json_object_del(json_object_get(json_object_get(object, "spec"), "claimRef"),
                        "resourceVersion");
    }
    char *text = json_dumps(pair, JSON_SORT_KEYS);
    json_decref(pair);
    return text;
}

typedef struct {
    unsigned n_writes, n_commits, n_deaths;
    char *state; /* (owned) */
} CrashOutcome;

static CrashOutcome
run_bind(unsigned bind, Way way, unsigned at_write, int minor_version)
{
    MortalWorld world;

    mortal_world_init(&world, 1 + bind, minor_version);
    world.way = way;
    world.at_write = at_write;
    storage_world_start(&world.world);
    binds[bind].act(&world.world);
    storage_world_run(&world.world, 60 * SIM_SECOND);
    check_pair(&world);
    CrashOutcome outcome = {world.n_writes, world.n_commits, world.n_deaths,
                            state_text(&world.world)};
    storage_world_clear(&world.world);
    return outcome;
}

static void
compare_outcomes(
    const CrashOutcome *whole, const CrashOutcome *cut, unsigned bind, Way way, unsigned at_write)
{
    if (cut->n_deaths == 1 && cut->n_commits == whole->n_commits &&
        strcmp(cut->state, whole->state) == 0)
        return;
    fail_msg("%s, dies %s write %u: %u deaths, %u commits instead of %u\n%s\n%s", binds[bind].name,
             ways[way], at_write, cut->n_deaths, cut->n_commits, whole->n_commits, cut->state,
             whole->state);
}

/* Every position, every way: in the end the same pair, by the same number of commits as if nobody
 * had died. */
TEST(is_bound_once_wherever_it_is_cut)
{
    static const int versions[] = {32, 36}; /* PVC-10: failed syncs are dropped, or tried again */

    for (unsigned v = 0; v < G_N_ELEMENTS(versions); v++)
        for (unsigned bind = 0; bind < G_N_ELEMENTS(binds); bind++) {
            CrashOutcome whole = run_bind(bind, DIES_NOT, 0, versions[v]);
            assert_in_range(whole.n_writes, 3, 12);
            print_message("# 1.%d, %s: %u writes, %u commits\n", versions[v], binds[bind].name,
                          whole.n_writes, whole.n_commits);
            for (unsigned at_write = 1; at_write <= whole.n_writes; at_write++)
                for (Way way = DIES_BEFORE; way < N_WAYS; way++) {
                    CrashOutcome cut = run_bind(bind, way, at_write, versions[v]);
                    compare_outcomes(&whole, &cut, bind, way, at_write);
                    free(cut.state);
                }
            free(whole.state);
        }
}

/* ---- Anything goes: random claims, volumes, and deaths ---- */

#define N_NAMES 6

static void
create_volume(MortalWorld *self, const char *name, const char *class, uint64_t n)
{
    StorageWorld *world = &self->world;
    uint64_t kind = sim_random_below(self->stream, 10, n, 4);
    Volume *volume =
        storage_world_volume(world, name, 1 + (int)sim_random_below(self->stream, 11, n, 5), class);
    char claim[16];

    g_snprintf(claim, sizeof claim, "c%u",
               (unsigned)sim_random_below(self->stream, 12, n, N_NAMES));
    const Claim *stored = storage_world_stored_claim(world, claim);
    if (kind == 0)
        edit_reserve_name(&volume->meta, storage_world_claim_key(world, claim));
    if (kind == 1 && stored != NULL) /* a provisioner's, or a second one's */
        volume->claim_ref = (ClaimReference){stored->meta.key, stored->meta.uid, 1};
    storage_world_create(world, volume);
}

static void
create_claim(MortalWorld *self, const char *name, const char *class, uint64_t n)
{
    StorageWorld *world = &self->world;
    Claim *claim =
        storage_world_claim(world, name, 1 + (int)sim_random_below(self->stream, 13, n, 5), class);

    if (sim_random_below(self->stream, 14, n, 4) == 0)
        claim->volume_name = storage_world_intern(
            world, (const char *[]){"v0", "v1", "v2", "v3", "v4",
                                    "v5"}[sim_random_below(self->stream, 15, n, N_NAMES)]);
    storage_world_create(world, claim);
}

static void
do_something(MortalWorld *self, uint64_t n)
{
    static const char *const classes[] = {NULL, "fast", "late"};
    StorageWorld *world = &self->world;
    unsigned number = (unsigned)sim_random_below(self->stream, 3, n, N_NAMES);
    const char *class = classes[sim_random_below(self->stream, 4, n, G_N_ELEMENTS(classes))];
    char claim[16], volume[16];

    g_snprintf(claim, sizeof claim, "c%u", number);
    g_snprintf(volume, sizeof volume, "v%u", number);
    switch (sim_random_below(self->stream, 5, n, 5)) {
    case 0:
    case 1:
        if (storage_world_stored_claim(world, claim) == NULL)
            create_claim(self, claim, class, n);
        return;
    case 2:
    case 3:
        if (storage_world_stored_volume(world, volume) == NULL)
            create_volume(self, volume, class, n);
        return;
    default:
        if (storage_world_stored_claim(world, claim) != NULL)
            storage_world_remove(world, storage_world_claim_key(world, claim));
    }
}

/* In the end: no volume serves two claims (PVC-54). */
static void
check_servants(const StorageWorld *world)
{
    g_autoptr(GHashTable) serving = g_hash_table_new(g_str_hash, g_str_equal);

    for (uint32_t slot = 0; slot < objects_n_keys(world->objects, KIND_CLAIM); slot++) {
        const Claim *claim = (const Claim *)api_server_get(
            world->api, objects_key_at(world->objects, KIND_CLAIM, slot));
        if (claim != NULL && claim->phase == CLAIM_BOUND)
            assert_true(g_hash_table_add(serving, (void *)claim->volume_name));
    }
}

static unsigned
run_at_random(uint64_t seed)
{
    MortalWorld world;
    SimTime now = 0;

    mortal_world_init(&world, seed, seed % 2 == 0 ? 32 : 36);
    world.death_probability = 0.15;
    storage_world_class(&world.world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_class(&world.world, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(&world.world);
    for (uint64_t n = 0; n < 60; n++) {
        now += (SimTime)sim_random_below(world.stream, 6, n,
                                         n % 3 == 0 ? 20 * SIM_SECOND : 9 * SIM_MS);
        storage_world_run(&world.world, now);
        do_something(&world, n);
        check_servants(&world.world);
    }
    storage_world_run(&world.world, now + 60 * SIM_SECOND);
    check_servants(&world.world);
    unsigned n_deaths = world.n_deaths;
    storage_world_clear(&world.world);
    return n_deaths;
}

TEST(no_volume_serves_two_whoever_dies)
{
    unsigned n_deaths = 0;

    for (uint64_t seed = 1; seed <= 60; seed++)
        n_deaths += run_at_random(seed);
    assert_true(n_deaths > 200);
}
