/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Imports spoilt files of clusters and runs what comes of them: an error is fine, a crash or a hang
 * is not. Then spoils what was made, too: the workload and the recording, and replays it. Seeds are
 * dumps, audit logs (*audit*) and scrapes (*.prom). The files that a crash came from stay in the
 * folder that is printed at the start. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/files/packed.h"
#include "run/import/import.h"
#include "run/import/recorded.h"
#include "run/import/replay/replay.h"
#include "run/world/run.h"
#include "tests/lib/spoil.h"

#define ROUND_SECONDS 60   /* longer is a hang */
#define LINES_PER_LOG 2000 /* of an audit log, from a random place on */

typedef enum { SEED_DUMP, SEED_AUDIT, SEED_METRICS, N_SEED_KINDS } SeedKind;

typedef struct {
    char *text;
    gsize length;
    json_t *json;     /* of dumps; NULL: YAML */
    GPtrArray *lines; /* of audit logs: of char *, borrowed from @text */
} Seed;

typedef struct {
    GPtrArray *seeds[N_SEED_KINDS];
    GRand *random;
    char *folder;
    unsigned n_imported, n_run, n_replayed;
} FuzzImportFuzzer;

static gboolean
is_likely(FuzzImportFuzzer *self, unsigned percent)
{
    return (unsigned)g_rand_int_range(self->random, 0, 100) < percent;
}

static const Seed *
draw_seed(FuzzImportFuzzer *self, SeedKind kind)
{
    GPtrArray *seeds = self->seeds[kind];

    return seeds->len == 0 ? NULL
                           : seeds->pdata[g_rand_int_range(self->random, 0, (gint32)seeds->len)];
}

/* ---- Seeds ---- */

static void
seed_free(void *data)
{
    Seed *self = data;

    json_decref(self->json);
    g_clear_pointer(&self->lines, g_ptr_array_unref);
    g_free(self->text);
    g_free(self);
}

static gboolean
read_seed(FuzzImportFuzzer *self, const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    SeedKind kind = g_str_has_suffix(base, ".prom") ? SEED_METRICS
                    : strstr(base, "audit") != NULL ? SEED_AUDIT
                                                    : SEED_DUMP;
    Seed *seed = g_new0(Seed, 1);
    g_autoptr(GError) error = NULL;

    if (!packed_get_contents(path, &seed->text, &seed->length, &error)) {
        fprintf(stderr, "%s\n", error->message);
        g_free(seed);
        return FALSE;
    }
    if (kind == SEED_DUMP)
        seed->json = json_loadb(seed->text, seed->length, 0, NULL);
    if (kind == SEED_AUDIT) {
        seed->lines = g_ptr_array_new();
        for (char *line = strtok(seed->text, "\n"); line != NULL; line = strtok(NULL, "\n"))
            g_ptr_array_add(seed->lines, line);
    }
    g_ptr_array_add(self->seeds[kind], seed);
    return TRUE;
}

/* ---- Spoilt files ---- */

static void
spoil_bytes(FuzzImportFuzzer *self, GString *text)
{
    for (int i = g_rand_int_range(self->random, 1, 4); i > 0; i--)
        spoil_text(text, self->random);
}

/* Returns: (owned): JSON with some values spoilt */
static char *
spoil_values(FuzzImportFuzzer *self, const json_t *json)
{
    json_t *spoilt = json_deep_copy(json);

    for (int i = g_rand_int_range(self->random, 0, 5); i > 0; i--) {
        json_t *more = spoil_json(spoilt, self->random);
        json_decref(spoilt);
        spoilt = more;
    }
    char *text = json_dumps(spoilt, JSON_ENCODE_ANY);
    json_decref(spoilt);
    return text;
}

static GString *
spoil_dump(FuzzImportFuzzer *self, const Seed *seed)
{
    if (seed->json != NULL && is_likely(self, 80)) {
        g_autofree char *text = spoil_values(self, seed->json);
        return g_string_new(text);
    }
    GString *text = g_string_new_len(seed->text, (gssize)seed->length);
    spoil_bytes(self, text);
    return text;
}

static GString *
spoil_audit(FuzzImportFuzzer *self, const Seed *seed)
{
    guint n = MIN(seed->lines->len, LINES_PER_LOG);
    guint from = seed->lines->len == n
                     ? 0
                     : (guint)g_rand_int_range(self->random, 0, (gint32)(seed->lines->len - n));
    GString *text = g_string_new(NULL);

    for (guint i = from; i < from + n; i++) {
        const char *line = seed->lines->pdata[i];
        json_t *json = is_likely(self, 1) ? json_loads(line, 0, NULL) : NULL;
        g_autofree char *spoilt = json == NULL ? NULL : spoil_values(self, json);
        g_string_append(text, spoilt == NULL ? line : spoilt);
        g_string_append_c(text, '\n');
        json_decref(json);
    }
    if (is_likely(self, 30))
        spoil_bytes(self, text);
    return text;
}

static GString *
spoil_metrics(FuzzImportFuzzer *self, const Seed *seed)
{
    GString *text = g_string_new_len(seed->text, (gssize)seed->length);

    spoil_bytes(self, text);
    return text;
}

/* Writes a spoilt seed. Returns: (owned): its path; NULL: there is no seed of this kind */
static char *
write_spoilt(FuzzImportFuzzer *self, SeedKind kind, const char *name)
{
    static GString *(*const spoilers[])(FuzzImportFuzzer *,
                                        const Seed *) = {spoil_dump, spoil_audit, spoil_metrics};
    const Seed *seed = draw_seed(self, kind);

    if (seed == NULL)
        return NULL;
    char *path = g_build_filename(self->folder, name, NULL);
    g_autoptr(GString) text = spoilers[kind](self, seed);
    if (!g_file_set_contents(path, text->str, (gssize)text->len, NULL))
        g_error("%s cannot be written", path);
    return path;
}

/* ---- A round ---- */

static gboolean
never_interrupted(void *data, SimTime now, uint64_t n_events)
{
    (void)data;
    return now < 5 * SIM_MINUTE && n_events < 2000000;
}

/* What import made must load, or say why not, and run. */
static void
run_made(FuzzImportFuzzer *self, const char *file)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);
    const RunOptions run_options = {.seed = 1, .untraced = TRUE, .progress = never_interrupted};
    g_autoptr(Run) run = scenario == NULL ? NULL : run_new(scenario, &run_options, NULL);

    if (run == NULL)
        return;
    run_execute(run);
    self->n_run++;
}

/* The same for its recording. */
static void
replay_made(FuzzImportFuzzer *self, const char *file, const char *recording)
{
    const ReplayOptions options = {
        .file = file,
        .data_dir = g_getenv("KVOLSIM_SRCDIR"),
        .seed = 1,
        .replications = 1,
        .jobs = 1,
        .tolerance = REPLAY_TOLERANCE,
        .progress = never_interrupted,
    };
    Recorded *recorded = recorded_read(recording, NULL);
    g_autoptr(Replay) replay = recorded == NULL ? NULL : replay_new(recorded, &options, NULL);

    if (replay == NULL)
        return;
    g_autofree char *table = replay_table(replay);
    g_autofree char *data = replay_plot_data(replay);
    json_decref(replay_json(replay));
    self->n_replayed++;
}

static void
try_made(FuzzImportFuzzer *self, gboolean has_audit)
{
    g_autofree char *file = g_build_filename(self->folder, "made", "scenario.yaml", NULL);
    g_autofree char *recording = g_build_filename(self->folder, "made", "recorded.json", NULL);

    if (has_audit && is_likely(self, 50))
        replay_made(self, file, recording);
    else
        run_made(self, file);
}

/* Spoils a file of those that import made. */
static void
spoil_made(FuzzImportFuzzer *self, const char *name)
{
    g_autofree char *path = g_build_filename(self->folder, "made", name, NULL);
    Seed seed = {0};

    if (!g_file_get_contents(path, &seed.text, &seed.length, NULL))
        return;
    seed.json = json_loadb(seed.text, seed.length, 0, NULL);
    g_autoptr(GString) text = spoil_dump(self, &seed);
    if (!g_file_set_contents(path, text->str, (gssize)text->len, NULL))
        g_error("%s cannot be written", path);
    json_decref(seed.json);
    g_free(seed.text);
}

static void
fuzz_once(FuzzImportFuzzer *self)
{
    g_autofree char *dump = write_spoilt(self, SEED_DUMP, "dump.txt");
    g_autofree char *audit =
        is_likely(self, 60) ? write_spoilt(self, SEED_AUDIT, "audit.log") : NULL;
    g_autofree char *metrics =
        is_likely(self, 30) ? write_spoilt(self, SEED_METRICS, "scrape.prom") : NULL;
    g_autofree char *made = g_build_filename(self->folder, "made", NULL);
    const char *const dumps[] = {dump, NULL};
    const char *const audits[] = {audit, NULL};
    const char *const scrapes[] = {metrics, NULL};
    const char *const none[] = {NULL};
    const ImportOptions options = {
        .dumps = dumps,
        .audit = audits,
        .metrics = scrapes,
        .driver_manifests = is_likely(self, 20) ? dumps : none,
        .data_dir = g_getenv("KVOLSIM_SRCDIR"),
        .anonymize = is_likely(self, 20),
    };
    g_autoptr(GError) error = NULL;

    alarm(ROUND_SECONDS);
    if (import_make(made, &options, &error)) {
        self->n_imported++;
        try_made(self, audit != NULL);
        if (audit != NULL) {
            spoil_made(self, is_likely(self, 50) ? "recorded.json" : "workload.json");
            try_made(self, TRUE);
        }
    }
    alarm(0);
}

int
main(int argc, char **argv)
{
    const char *path_of_folder = g_getenv("TMPDIR");
    FuzzImportFuzzer self = {0};

    if (argc < 4) {
        fprintf(stderr, "fuzz-import SECONDS SEED FILE...\n");
        return 2;
    }
    for (unsigned kind = 0; kind < N_SEED_KINDS; kind++)
        self.seeds[kind] = g_ptr_array_new_with_free_func(seed_free);
    for (int i = 3; i < argc; i++)
        if (!read_seed(&self, argv[i]))
            return 2;
    self.random = g_rand_new_with_seed((guint32)atoi(argv[2]));
    self.folder = g_build_filename(path_of_folder == NULL ? g_get_tmp_dir() : path_of_folder,
                                   "fuzz-import-XXXXXX", NULL);
    if (self.seeds[SEED_DUMP]->len == 0 || g_mkdtemp(self.folder) == NULL)
        return 2;
    g_autofree char *made = g_build_filename(self.folder, "made", NULL);
    g_mkdir_with_parents(made, 0777);
    printf("%s\n", self.folder);
    fflush(stdout);

    gint64 end = g_get_monotonic_time() + atoi(argv[1]) * G_TIME_SPAN_SECOND;
    unsigned rounds = 0;
    while (g_get_monotonic_time() < end) {
        fuzz_once(&self);
        rounds++;
    }
    printf("%u rounds, %u imported, %u run, %u replayed: no crash\n", rounds, self.n_imported,
           self.n_run, self.n_replayed);
    for (unsigned kind = 0; kind < N_SEED_KINDS; kind++)
        g_ptr_array_unref(self.seeds[kind]);
    g_rand_free(self.random);
    g_free(self.folder);
    return 0;
}
