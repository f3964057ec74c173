/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/cluster/inspect.h"
#include "sim/distribution.h"
#include "small-worlds.h"
#include "trial.h"

/* All interleavings of a small world, up to a depth. The messages of two processes, their requests
 * and what their watches deliver, are numbered in the order in which they leave. In each run some
 * of them fare badly: one is late, so late that all others overtake it, or its process dies as it
 * leaves, and is back a second later. Every set of such fates up to the depth is tried, with the
 * invariants of tests/soak. Of two fates the second is at most @window messages after the first.
 *
 *   interleave [DEPTH [WINDOW]]     1 or 2 fates (2), within so many messages (2)
 *
 * The program proves itself: six rules are swapped with others of their tables, and each must be
 * found. Both are done from outside: the linker wraps the draws of delays and the look-up of rules
 * (-Wl,--wrap), so the models know nothing of it. */

typedef enum {
    FATE_LATE,
    FATE_VERY_LATE,
    FATE_CRASH,
    N_FATES,
} InterleaveFate;

static const SimTime late_by[] = {
    [FATE_LATE] = 300 * SIM_MS,         /* after all that is under way */
    [FATE_VERY_LATE] = 20 * SIM_SECOND, /* after time-outs and polls */
};

static const char *const fate_names[] = {"late", "very late", "it dies"};

typedef struct {
    unsigned message;
    InterleaveFate fate;
} Deviation;

#define DEPTH_MAX 2
#ifdef __SANITIZE_ADDRESS__ /* ten times as slow */
#define DEPTH_OF_CHECK 1
#else
#define DEPTH_OF_CHECK 2
#endif

typedef struct {
    const SmallWorld *small;
    Run *run;
    Deviation deviations[DEPTH_MAX];
    unsigned n_deviations;
    ScenarioAction deaths[DEPTH_MAX];
    unsigned n_deaths;
    unsigned n_messages; /* so far */
    SimStream requests, deliveries, orders;
    uint64_t client; /* that sends a request just now */
    gboolean is_watched;
    GString *told; /* the messages that fared badly */
} Explorer;

/* The run under way, for the wrapped functions; and the rule that is wrong in it. */
static Explorer *explorer;
static const PlantedBug *planted;

/* ---- Messages ---- */

/* As an action of somebody: then the invariants hear of it. */
static void
process_dies(Sim *sim, void *data)
{
    const ScenarioAction *death = data;
    const RunHand hand = {0};

    (void)sim;
    run_perform(explorer->run, death, &hand);
}

static const SimEventType death_event = {.name = "interleave/death", .fire = process_dies};

static void
schedule_death(const char *process)
{
    ScenarioAction *death = &explorer->deaths[explorer->n_deaths++];

    *death = (ScenarioAction){
        .type = ACTION_FAULT,
        .fault = FAULT_CRASH,
        .process = (char *)process,
        .instance = (char *)explorer->small->driver_of(process),
        .replica = REPLICA_LEADER,
        .lasts = SIM_SECOND,
    };
    sim_after(run_sim(explorer->run), 0, &death_event, death, WAIT_NONE);
}

/* Which of the two processes a message belongs to; NULL: neither */
static const char *
process_of_watch(uint64_t entity)
{
    const Objects *objects = run_objects(explorer->run);

    for (unsigned i = 0; i < G_N_ELEMENTS(explorer->small->processes); i++) {
        const char *name = explorer->small->processes[i];
        const char *driver = explorer->small->driver_of(name);
        g_autofree char *full =
            driver == NULL ? g_strdup(name) : g_strdup_printf("%s/%s", name, driver);
        uint64_t hash = sim_hash_string(full);
        for (unsigned kind = 0; kind < N_KINDS; kind++)
            for (uint32_t slot = 0; slot < objects_n_keys(objects, kind); slot++)
                if (sim_hash_combine(objects_key_at(objects, kind, slot)->hash, hash) == entity)
                    return name;
    }
    return NULL;
}

typedef struct {
    uint64_t client;
    const char *process;
} ClientSearch;

static void
look_for_client(void *data, const ProcessView *process)
{
    ClientSearch *search = data;

    for (unsigned i = 0; i < process->components->len; i++) {
        const Component *component = process->components->pdata[i];
        if (component->client != NULL && api_client_hash(component->client) == search->client)
            search->process = process->name;
    }
}

static const char *
process_of_request(uint64_t client)
{
    ClientSearch search = {.client = client};

    cluster_inspect_processes(run_cluster(explorer->run), look_for_client, &search);
    for (unsigned i = 0; search.process != NULL && i < G_N_ELEMENTS(explorer->small->processes);
         i++)
        if (g_str_equal(search.process, explorer->small->processes[i]))
            return explorer->small->processes[i];
    return NULL;
}

static SimTime
fate_of(const char *process, const char *what, SimTime delay)
{
    unsigned number = explorer->n_messages++;
    Sim *sim = run_sim(explorer->run);
    char buffer[SIM_TIME_BUFFER];

    for (unsigned i = 0; i < explorer->n_deviations; i++) {
        const Deviation *deviation = &explorer->deviations[i];
        if (deviation->message != number)
            continue;
        if (deviation->fate == FATE_VERY_LATE && g_str_equal(what, "request"))
            continue; /* its client would have given up */
        g_string_append_printf(explorer->told, "  at %s: %s %u of %s: %s\n",
                               sim_time_format(sim_now(sim), buffer), what, number, process,
                               fate_names[deviation->fate]);
        if (deviation->fate != FATE_CRASH)
            return delay + late_by[deviation->fate];
        schedule_death(process);
    }
    return delay;
}

SimTime __real_sim_dist_draw(const SimDist *self, SimStream stream, uint64_t entity, uint64_t n);
SimTime __wrap_sim_dist_draw(const SimDist *self, SimStream stream, uint64_t entity, uint64_t n);

SimTime
__wrap_sim_dist_draw(const SimDist *self, SimStream stream, uint64_t entity, uint64_t n)
{
    SimTime delay = __real_sim_dist_draw(self, stream, entity, n);
    const char *process;

    if (explorer == NULL || !explorer->is_watched)
        return delay;
    if (memcmp(&stream, &explorer->deliveries, sizeof stream) == 0) {
        process = process_of_watch(entity);
        return process == NULL ? delay : fate_of(process, "delivery", delay);
    }
    if (explorer->client != 0 && memcmp(&stream, &explorer->requests, sizeof stream) == 0) {
        process = process_of_request(explorer->client);
        explorer->client = 0; /* its first draw only */
        return process == NULL ? delay : fate_of(process, "request", delay);
    }
    return delay;
}

double __real_sim_random_uniform(SimStream stream, uint64_t entity, uint64_t n);
double __wrap_sim_random_uniform(SimStream stream, uint64_t entity, uint64_t n);

/* Watches of different kinds are streams of their own: a late one does not hold up the others, as
 * it mostly does by TIM-9. */
double
__wrap_sim_random_uniform(SimStream stream, uint64_t entity, uint64_t n)
{
    double draw = __real_sim_random_uniform(stream, entity, n);

    if (explorer != NULL && explorer->is_watched && explorer->n_deviations > 0 &&
        memcmp(&stream, &explorer->orders, sizeof stream) == 0)
        return MAX(draw, 0.9999999);
    return draw;
}

void __real_api_server_request(
    ApiServer *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data);
void __wrap_api_server_request(
    ApiServer *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data);

void
__wrap_api_server_request(
    ApiServer *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data)
{
    if (explorer != NULL)
        explorer->client = request->client_hash;
    __real_api_server_request(self, request, reply, drop, data);
    if (explorer != NULL)
        explorer->client = 0;
}

/* ---- Planted bugs ---- */

const Rule *__real_rules_find(const RuleTable *self, uint32_t facts, const Release *release);
const Rule *__wrap_rules_find(const RuleTable *self, uint32_t facts, const Release *release);

const Rule *
__wrap_rules_find(const RuleTable *self, uint32_t facts, const Release *release)
{
    const Rule *rule = __real_rules_find(self, facts, release);

    if (planted == NULL || !g_str_equal(self->name, planted->table) ||
        rule != &self->rows[planted->row])
        return rule;
    g_assert(planted->other < self->n_rows);
    return &self->rows[planted->other];
}

/* ---- Runs ---- */

static void
begun(void *data, Run *run)
{
    Explorer *self = data;

    self->run = run;
    self->requests = sim_stream(run_sim(run), "api/latency");
    self->deliveries = sim_stream(run_sim(run), "api/watch");
    self->orders = sim_stream(run_sim(run), "api/watch order");
    self->is_watched = TRUE;
}

typedef struct {
    const SmallWorld *small;
    TrialWorld *world;
    Scenario *scenario;
    unsigned n_runs, n_messages;
    gboolean is_quiet; /* a bug is planted: failures are what is wanted */
} InterleaveSearch;

/* Returns: whether the world holds */
static gboolean
try(InterleaveSearch *self, const Deviation *deviations, unsigned n)
{
    g_autoptr(GString) told = g_string_new(NULL);
    Explorer now = {.small = self->small, .n_deviations = n, .told = told};

    if (n > 0)
        memcpy(now.deviations, deviations, n * sizeof *deviations);
    explorer = &now;
    g_autoptr(Trial) trial = trial_watch(self->world, self->scenario, begun, &now);
    explorer = NULL;
    self->n_runs++;
    self->n_messages = now.n_messages;
    if (trial->kind != NULL && !self->is_quiet)
        printf("%s:\n%s%s", self->small->name, told->str, trial->faults->str);
    return trial->kind == NULL;
}

/* Stops at the first failure. */
static gboolean
try_all(InterleaveSearch *self, unsigned depth, unsigned window)
{
    if (!try(self, NULL, 0))
        return FALSE;
    unsigned n = self->n_messages;
    for (unsigned i = 0; i < n; i++)
        for (unsigned fate = 0; fate < N_FATES; fate++) {
            Deviation deviations[DEPTH_MAX] = {
                {i, fate}
            };
            if (!try(self, deviations, 1))
                return FALSE;
            for (unsigned k = i + 1; depth > 1 && k <= i + window; k++)
                for (unsigned other = 0; other < N_FATES; other++) {
                    deviations[1] = (Deviation){k, other};
                    if (!try(self, deviations, 2))
                        return FALSE;
                }
        }
    return TRUE;
}

static InterleaveSearch
search_new(const SmallWorld *small, const char *folder)
{
    InterleaveSearch search = {.small = small, .world = world_new(small->text)};
    g_autoptr(Trial) trial = NULL;

    search.scenario = trial_load(search.world, folder, &trial);
    fputs(trial->faults->str, stdout);
    g_assert(search.scenario != NULL);
    return search;
}

static void
search_clear(InterleaveSearch *self)
{
    scenario_free(self->scenario);
    world_free(self->world);
}

int
main(int argc, char **argv)
{
    unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : DEPTH_OF_CHECK;
    unsigned window = argc > 2 ? (unsigned)atoi(argv[2]) : 2;
    g_autofree char *folder = g_dir_make_tmp("kvolsim-soak-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "soak.yaml", NULL);
    unsigned n_passed = 0, n_failed = 0;

    for (const SmallWorld *small = small_worlds; small->name != NULL; small++) {
        InterleaveSearch search = search_new(small, folder);
        gboolean is_good = try_all(&search, depth, window);
        printf("%s: %u messages, %u interleavings: %s\n", small->name, search.n_messages,
               search.n_runs, is_good ? "all hold" : "one fails");
        n_passed += is_good;
        n_failed += !is_good;
        search_clear(&search);
    }
    for (const PlantedBug *bug = planted_bugs; bug->table != NULL; bug++) {
        InterleaveSearch search = search_new(bug->world, folder);
        planted = bug;
        search.is_quiet = TRUE;
        gboolean is_found = !try_all(&search, depth, window);
        planted = NULL;
        printf("%s: row %u does as row %u: %s after %u interleavings\n", bug->table, bug->row,
               bug->other, is_found ? "found" : "NOT found", search.n_runs);
        n_passed += is_found;
        n_failed += !is_found;
        search_clear(&search);
    }
    g_remove(file);
    g_rmdir(folder);
    printf("%u passed, %u failed, 0 skipped\n", n_passed, n_failed);
    return n_failed == 0 ? 0 : 1;
}
