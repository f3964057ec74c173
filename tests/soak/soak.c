/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random-scenario.h"
#include "shrink.h"
#include "trial.h"

/* The build with sanitizers is ten times as slow, and ./check tests both. */
#ifdef __SANITIZE_ADDRESS__
#define WORLDS_OF_CHECK 80
#else
#define WORLDS_OF_CHECK 200
#endif
#define IMPORTED_EACH 5   /* of so many worlds one begins with an imported state */
#define SHRINK_TRIES 1500 /* a few minutes for most worlds */

/* Random clusters, workloads and faults, one per seed, with what must hold in all of them. Each
 * world runs in a process of its own. A failure is made as small as it gets, written into
 * soak-SEED.yaml, and printed with the command that repeats it. */
static const char usage[] =
    "usage: soak [--jobs N] [--state FILE] [--unshrunk] [--first] [WORLDS [FIRST]]\n"
    "           WORLDS random worlds of seeds FIRST (1), FIRST + 1, ...; without a number 200,\n"
    "           less thoroughly, and those of tests/soak/corpus\n"
    "           --jobs N      so many at once (as many as processors)\n"
    "           --state FILE  notes finished worlds there, and leaves out those that it notes\n"
    "           --unshrunk    leaves failures as they are\n"
    "           --first       stops at the first failure, and leaves it as it is\n"
    "       soak FILE...                     tries scenarios, such as those of tests/soak/corpus\n"
    "       soak --shrink SEED|FILE          prints the smallest scenario that fails as it does\n"
    "       soak --print SEED                prints the scenario of a seed\n"
    "       soak --log SEED|FILE [--polling] tells what every component does\n";

typedef struct {
    uint64_t seed;
    const char *file; /* NULL: a random world */
    TrialWorld *world;
    TrialProcess *process;
} SoakJob;

typedef struct {
    unsigned n_jobs;
    const char *state_file;
    gboolean is_first_only, is_unshrunk, is_quick;
    GHashTable *done; /* seed -> itself: by the state file */
    unsigned n_worlds, n_passed, n_failed;
    gint64 progress_at;
} SoakRun;

static TrialWorld *
world_of_seed(uint64_t seed)
{
    gboolean is_imported = seed % IMPORTED_EACH == IMPORTED_EACH - 1;
    g_autofree char *text =
        is_imported ? random_scenario_imported(seed) : random_scenario_new(seed);

    return world_new(text);
}

/* A seed, or a file. */
static TrialWorld *
world_of(const char *word)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    uint64_t seed;

    if (g_ascii_string_to_unsigned(word, 10, 0, UINT64_MAX, &seed, NULL))
        return world_of_seed(seed);
    if (!g_file_get_contents(word, &text, NULL, &error)) {
        fprintf(stderr, "soak: %s\n", error->message);
        return NULL;
    }
    return world_new(text);
}

/* ---- Shrinking ---- */

typedef struct {
    const char *kind;
    TrialChecks checks;
} Failure;

static gboolean
fails_alike(void *data, const char *text)
{
    const Failure *failure = data;
    g_autoptr(TrialWorld) world = world_new(text);
    g_autoptr(Trial) trial = trial_finish(trial_start(world, failure->checks), NULL);

    return g_strcmp0(trial->kind, failure->kind) == 0;
}

/* Returns: (owned) */
static char *
shrink_world(const TrialWorld *world, const char *kind)
{
    Failure failure = {kind, 0};

    /* most failures need one run only */
    if (!fails_alike(&failure, world->text))
        failure.checks = TRIAL_ALL;
    return shrink(world->text, fails_alike, &failure, SHRINK_TRIES);
}

static void
tell_smallest(const SoakRun *self, const SoakJob *job, const Trial *trial)
{
    if (self->is_unshrunk || job->file != NULL)
        return;
    g_autofree char *text = shrink_world(job->world, trial->kind);
    g_autofree char *file = g_strdup_printf("soak-%" G_GUINT64_FORMAT ".yaml", job->seed);
    g_autoptr(TrialWorld) world = world_new(text);
    g_autoptr(Trial) smallest = trial_finish(trial_start(world, TRIAL_ALL), NULL);

    printf("  the smallest such world: tests/soak/soak %s\n", file);
    if (!g_file_set_contents(file, text, -1, NULL))
        printf("  (it cannot be written)\n");
    printf("%s%s", smallest->faults->str, text);
}

/* ---- Worlds, several at once ---- */

/* ./check looks at many worlds, and repeats some of them. */
static TrialChecks
checks_of(const SoakRun *self, uint64_t seed)
{
    if (!self->is_quick)
        return TRIAL_ALL;
    return (seed % 8 == 1 ? TRIAL_REPEATS | TRIAL_POLLS : 0) | (seed % 4 == 2 ? TRIAL_CUT : 0);
}

static void
note_done(const SoakRun *self, uint64_t seed, gboolean is_good)
{
    FILE *file = self->state_file == NULL ? NULL : fopen(self->state_file, "a");

    if (file == NULL)
        return;
    fprintf(file, "%" G_GUINT64_FORMAT " %s\n", seed, is_good ? "passed" : "failed");
    fclose(file);
}

static void
read_done(SoakRun *self)
{
    g_autofree char *text = NULL;

    if (self->state_file == NULL || !g_file_get_contents(self->state_file, &text, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        char *end;
        uint64_t seed = g_ascii_strtoull(lines[i], &end, 10);
        if (g_str_equal(end, " passed"))
            g_hash_table_add(self->done, g_memdup2(&seed, sizeof seed));
    }
}

static void
tell_progress(SoakRun *self)
{
    gint64 now = g_get_monotonic_time();

    if (now - self->progress_at < 10 * G_USEC_PER_SEC)
        return;
    self->progress_at = now;
    fprintf(stderr, "soak: %u of %u worlds, %u failed\n", self->n_passed + self->n_failed,
            self->n_worlds, self->n_failed);
}

static void
end_job(SoakRun *self, SoakJob *job, int status)
{
    g_autoptr(Trial) trial = trial_finish(g_steal_pointer(&job->process), &status);
    gboolean is_good = trial->kind == NULL;
    g_autofree char *seed = g_strdup_printf("%" G_GUINT64_FORMAT, job->seed);
    const char *name = job->file == NULL ? seed : job->file;

    self->n_passed += is_good;
    self->n_failed += !is_good;
    if (!is_good) {
        printf("%s %s%s%s (to repeat: tests/soak/soak %s%s)\n%s",
               job->file == NULL ? "seed" : "file", name, job->world->is_easy ? ", easy" : "",
               job->world->is_small ? ", small" : "", job->file == NULL ? "1 " : "", name,
               trial->faults->str);
        tell_smallest(self, job, trial);
        fflush(stdout);
    }
    if (job->file == NULL)
        note_done(self, job->seed, is_good);
    world_free(job->world);
    *job = (SoakJob){0};
    tell_progress(self);
}

static void
wait_for_one(SoakRun *self, SoakJob *jobs)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);

    for (unsigned i = 0; i < self->n_jobs; i++)
        if (jobs[i].process != NULL && trial_pid(jobs[i].process) == pid) {
            end_job(self, &jobs[i], status);
            return;
        }
    if (pid < 0 && errno == ECHILD)
        g_error("the processes of worlds are gone");
}

static gboolean
start_job(SoakRun *self, SoakJob *jobs, const SoakJob *next)
{
    for (unsigned i = 0; i < self->n_jobs; i++)
        if (jobs[i].process == NULL) {
            jobs[i] = *next;
            jobs[i].process = trial_start(
                next->world, next->file != NULL ? TRIAL_ALL : checks_of(self, next->seed));
            return TRUE;
        }
    return FALSE;
}

/* @files: NULL: random worlds */
static void
soak(SoakRun *self, uint64_t first, char *const *files)
{
    g_autofree SoakJob *jobs = g_new0(SoakJob, self->n_jobs);
    gboolean is_over = FALSE;

    self->progress_at = g_get_monotonic_time();
    for (unsigned i = 0; i < self->n_worlds && !is_over; i++) {
        SoakJob job = {.seed = first + i, .file = files == NULL ? NULL : files[i]};
        if (job.file == NULL && g_hash_table_contains(self->done, &job.seed)) {
            self->n_passed++;
            continue;
        }
        job.world = job.file == NULL ? world_of_seed(job.seed) : world_of(job.file);
        if (job.world == NULL) {
            self->n_failed++;
            continue;
        }
        while (!start_job(self, jobs, &job))
            wait_for_one(self, jobs);
        is_over = self->is_first_only && self->n_failed > 0;
    }
    for (unsigned i = 0; i < self->n_jobs; i++)
        while (jobs[i].process != NULL)
            wait_for_one(self, jobs);
}

/* Worlds that failed once. */
static void
try_corpus(SoakRun *self)
{
    static const char folder[] = KVOLSIM_SRCDIR "/tests/soak/corpus";
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
        if (g_str_has_suffix(name, ".yaml"))
            g_ptr_array_add(files, g_build_filename(folder, name, NULL));
    self->n_worlds = files->len;
    soak(self, 1, (char *const *)files->pdata);
}

/* ---- The command line ---- */

static int
soak_look_at(const char *what, const char *word, gboolean polling)
{
    g_autoptr(TrialWorld) world = world_of(word);

    if (world == NULL)
        return 1;
    if (g_str_equal(what, "--print")) {
        fputs(world->text, stdout);
        return 0;
    }
    if (g_str_equal(what, "--log")) {
        g_autofree char *folder = g_dir_make_tmp("kvolsim-soak-XXXXXX", NULL);
        g_autofree char *file = g_build_filename(folder, "soak.yaml", NULL);
        trial_log(world, folder, polling);
        unlink(file);
        rmdir(folder);
        return 0;
    }
    g_autoptr(Trial) trial = trial_finish(trial_start(world, TRIAL_ALL), NULL);
    if (trial->kind == NULL) {
        fprintf(stderr, "soak: %s does not fail\n", word);
        return 1;
    }
    g_autofree char *text = shrink_world(world, trial->kind);
    fputs(text, stdout);
    return 0;
}

int
main(int argc, char **argv)
{
    SoakRun self = {
        .n_jobs = g_get_num_processors(), .n_worlds = WORLDS_OF_CHECK, .is_quick = TRUE};
    const char *state = g_getenv("SOAK_STATE"); /* of make */
    uint64_t first = 1, number;
    int i = 1;

    if (state != NULL && state[0] != '\0')
        self.state_file = state;

    for (; i < argc && g_str_has_prefix(argv[i], "--"); i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        gboolean is_look = g_str_equal(argv[i], "--print") || g_str_equal(argv[i], "--log") ||
                           g_str_equal(argv[i], "--shrink");
        if (is_look && value != NULL)
            return soak_look_at(argv[i], value, i + 2 < argc);
        if (g_str_equal(argv[i], "--first")) {
            self.is_first_only = self.is_unshrunk = TRUE;
        } else if (g_str_equal(argv[i], "--unshrunk")) {
            self.is_unshrunk = TRUE;
        } else if (g_str_equal(argv[i], "--jobs") && value != NULL) {
            self.n_jobs = CLAMP((unsigned)atoi(value), 1, 1024);
            i++;
        } else if (g_str_equal(argv[i], "--state") && value != NULL) {
            self.state_file = value;
            i++;
        } else {
            fputs(usage, stderr);
            return 2;
        }
    }
    self.done = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    read_done(&self);
    if (i < argc && !g_ascii_string_to_unsigned(argv[i], 10, 0, UINT32_MAX, &number, NULL)) {
        self.n_worlds = (unsigned)(argc - i);
        soak(&self, 1, argv + i);
    } else {
        self.is_quick = i >= argc;
        self.n_worlds = i < argc ? (unsigned)number : self.n_worlds;
        first = i + 1 < argc ? g_ascii_strtoull(argv[i + 1], NULL, 10) : first;
        soak(&self, first, NULL);
        if (self.is_quick && (!self.is_first_only || self.n_failed == 0))
            try_corpus(&self);
    }
    g_hash_table_unref(self.done);
    printf("%u passed, %u failed, 0 skipped\n", self.n_passed, self.n_failed);
    return self.n_failed == 0 ? 0 : 1;
}
