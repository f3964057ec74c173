/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of a stranger for every reader of the program: an error is fine; a crash, a critical
 * message, undefined behaviour or a hang is not. A row of the table is a target. Most of them are
 * commands as users type them, in a scratch folder.
 *
 * Built twice: for libFuzzer, which makes up inputs (`make fuzz`; the environment variable
 * FUZZ_TARGET names the target), and as the program fuzz-replay with main() below:
 *     fuzz-replay [TARGET [FILE...]]     reads FILEs, by default all of tests/fuzz/corpus/<target>/
 *         FUZZ_LOUD=1 shows what commands print
 *     fuzz-replay --list                 names the targets
 *     fuzz-replay --seeds TARGET FOLDER  writes first inputs, which other files of the tree give */
#include "config.h"

#include "fuzz.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "sim/strings.h"

typedef struct {
    const char *name;
    const char *before; /* commands that make what the target needs; NULL: none */
    const char *input;  /* the file, below the scratch folder, that has the bytes; NULL: no file */
    const char *command;
    void (*take)(const char *text, gsize length); /* before the command */
    /* files below the source tree, or ./ the scratch folder; a * stands for many */
    const char *seeds;
} FuzzTarget;

#define RUN "run base.yaml --out run"
#define IMPORT "import dump.yaml --audit audit.log --out mine"
#define IMPORTED "check mine/scenario.yaml"

/* clang-format off */
static const FuzzTarget targets[] = {
    {"scenario", NULL, "input.yaml", "check input.yaml", NULL, "scenarios/*.yaml"},
    {"sweep", NULL, "input.yaml", "check input.yaml", NULL, "scenarios/sweeps/*.yaml"},
    {"profile", NULL, "input.yaml", "check profile.yaml", NULL, "models/profiles/*.yaml"},
    {"timing", NULL, "input.yaml", "check timing.yaml", NULL, "models/profiles/timing*.yaml"},
    {"dump", NULL, "input.yaml", "import input.yaml --out out --force", NULL, "./dump.yaml"},
    {"audit", NULL, "input.log", "import dump.yaml --audit input.log --out out --force", NULL,
     "./audit.log"},
    {"metrics", NULL, "input.prom",
     "import dump.yaml --metrics input.prom --out out --force; fit input.prom", NULL,
     "scenarios/manifests/*.prom"},
    {"imported", IMPORT, "mine/workload.json", IMPORTED, NULL, "./mine/workload.json"},
    {"recording", IMPORT, "mine/recorded.json", "replay mine --replications 1 --jobs 1", NULL,
     "./mine/recorded.json"},
    {"journal", NULL, "input.jsonl", "validate base.yaml --replay input.jsonl --replications 1",
     put_hash, NULL},
    {"samples", NULL, "input.csv", "calibrate --from input.csv", NULL, NULL},
    {"ledger", NULL, NULL, "loop list --state-dir state", put_ledger, NULL},
    {"summary", RUN, "run/summary.json", "compare run run", NULL, "./run/summary.json"},
    {"objects", RUN, "run/objects.csv", "compare run run", seal_results, "./run/objects.csv"},
    {"database", "sweep sweep.yaml --out db.sqlite", "input.sqlite",
     "export input.sqlite; export input.sqlite --table runs; export input.sqlite --table pairs",
     NULL, "./db.sqlite"},
    {"rows", "sweep sweep.yaml --out db.sqlite", NULL,
     "export input.sqlite; export input.sqlite --table runs; export input.sqlite --table pairs",
     take_sql, NULL},
    {"json-path", NULL, NULL, NULL, take_json_path, NULL},
    {"selector", NULL, NULL, NULL, take_selector, NULL},
    {"kubectl", NULL, NULL, NULL, take_kubectl, NULL},
    {"patch", NULL, NULL, NULL, take_patch, NULL},
    {"step", NULL, NULL, NULL, take_step, NULL},
#ifdef WITH_SERVE
    {"http", NULL, NULL, NULL, take_http, NULL},
#endif
#ifdef WITH_CSI
    {"csi", NULL, NULL, NULL, take_csi, NULL},
#endif
};
/* clang-format on */

/* ---- The scratch folder ---- */

static char *scratch; /* absolute */
static int own_stderr = STDERR_FILENO;

void
fuzz_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    dprintf(own_stderr, "fuzz: %s\n", text);
    abort();
}

void
fuzz_write(const char *name, const char *text, gsize length)
{
    FILE *file = fopen(name, "we");

    if (file == NULL || fwrite(text, 1, length, file) != length || fclose(file) != 0)
        fuzz_fail("%s cannot be written", name);
}

static void
fail_on_message(const char *domain, GLogLevelFlags level, const char *message, void *data)
{
    (void)domain, (void)data;
    if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING)) != 0)
        fuzz_fail("%s", message);
}

static void
leave_scratch(void)
{
    const char *const words[] = {"rm", "-rf", scratch, NULL};

    if (scratch == NULL)
        return;
    g_spawn_sync("/", (char **)words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
                 NULL);
    g_clear_pointer(&scratch, g_free);
}

static const char *
source_dir(void)
{
    const char *dir = g_getenv("KVOLSIM_SRCDIR");

    if (dir == NULL)
        fuzz_fail("KVOLSIM_SRCDIR does not name the source tree");
    return dir;
}

static void
copy(const char *from, const char *to)
{
    g_autofree char *text = NULL;
    gsize length;

    if (!g_file_get_contents(from, &text, &length, NULL))
        fuzz_fail("%s cannot be read", from);
    fuzz_write(to, text, length);
}

/* Returns: (owned): names in @folder, sorted; empty: there is no such folder */
static GPtrArray *
names_in(const char *folder)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, strings_compare);
    return names;
}

static void
enter_scratch(void)
{
    g_autofree char *files = g_build_filename(source_dir(), "tests", "fuzz", "files", NULL);
    g_autoptr(GPtrArray) names = names_in(files);

    scratch = g_dir_make_tmp("kvolsim-fuzz-XXXXXX", NULL);
    if (scratch == NULL || chdir(scratch) != 0)
        fuzz_fail("no scratch folder");
    for (unsigned i = 0; i < names->len; i++) {
        g_autofree char *from = g_build_filename(files, names->pdata[i], NULL);
        copy(from, names->pdata[i]);
    }
}

/* ---- Targets ---- */

static int
run_words(char **words)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"calibrate", cmd_calibrate},
        {"check",     cmd_check    },
        {"compare",   cmd_compare  },
        {"export",    cmd_export   },
        {"fit",       cmd_fit      },
        {"import",    cmd_import   },
        {"loop",      cmd_loop     },
        {"replay",    cmd_replay   },
        {"run",       cmd_run      },
        {"sweep",     cmd_sweep    },
        {"validate",  cmd_validate },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(commands[i].name, words[0]) == 0)
            return commands[i].run((int)g_strv_length(words), words);
    fuzz_fail("there is no command %s", words[0]);
}

/* Returns: the largest exit status */
static int
run_commands(const char *commands)
{
    g_auto(GStrv) lines = g_strsplit(commands, "; ", -1);
    int worst = 0;

    for (char **line = lines; *line != NULL; line++) {
        g_auto(GStrv) words = g_strsplit(*line, " ", -1);
        g_autofree char **given = g_memdup2(words, sizeof(char *) * (g_strv_length(words) + 1));

        int status = run_words(given); /* which may remove words */
        worst = MAX(worst, status);
    }
    return worst;
}

static const FuzzTarget *
find_target(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(targets); i++)
        if (g_strcmp0(targets[i].name, name) == 0)
            return &targets[i];
    fuzz_fail("there is no target %s", name);
}

static void
fuzz_prepare(const FuzzTarget *target)
{
    if (target->before != NULL && run_commands(target->before) != 0)
        fuzz_fail("%s failed", target->before);
}

static void
fuzz_take(const FuzzTarget *target, const uint8_t *bytes, size_t length)
{
    g_autofree char *text = g_malloc(length + 1);

    if (length > 0)
        memcpy(text, bytes, length);
    text[length] = '\0';
    if (target->input != NULL)
        fuzz_write(target->input, text, length);
    if (target->take != NULL)
        target->take(text, length);
    if (target->command != NULL)
        run_commands(target->command);
    fflush(stdout);
}

#ifdef FUZZ_WITH_LIBFUZZER

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const FuzzTarget *target;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    own_stderr = dup(STDERR_FILENO);
    g_log_set_default_handler(fail_on_message, NULL);
    enter_scratch();
    atexit(leave_scratch);
    target = find_target(g_getenv("FUZZ_TARGET"));
    fuzz_prepare(target);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    fuzz_take(target, bytes, length);
    return 0;
}

#else

/* ---- The corpus ---- */

static void
take_file(const FuzzTarget *target, const char *file)
{
    g_autofree char *text = NULL;
    gsize length;

    if (!g_file_get_contents(file, &text, &length, NULL))
        fuzz_fail("%s cannot be read", file);
    g_autofree uint8_t *exact = g_memdup2(text, length); /* so that sanitizers see its end */
    dprintf(own_stderr, "# %s\n", file);
    fuzz_take(target, exact, length);
}

static void
fuzz_replay(const FuzzTarget *target, char **files)
{
    g_autofree char *folder =
        g_build_filename(source_dir(), "tests", "fuzz", "corpus", target->name, NULL);
    g_autoptr(GPtrArray) names = names_in(folder);

    enter_scratch();
    fuzz_prepare(target);
    for (; *files != NULL; files++)
        take_file(target, *files);
    for (unsigned i = 0; i < names->len; i++) {
        g_autofree char *file = g_build_filename(folder, names->pdata[i], NULL);
        take_file(target, file);
    }
    leave_scratch();
}

/* Copies the files that seeds are to @folder. */
static void
write_seeds(const FuzzTarget *target, const char *folder)
{
    g_auto(GStrv) patterns = g_strsplit(target->seeds != NULL ? target->seeds : "", " ", 0);
    unsigned n = 0;

    enter_scratch();
    fuzz_prepare(target);
    for (char **pattern = patterns; *pattern != NULL; pattern++) {
        g_autofree char *path = g_str_has_prefix(*pattern, "./")
                                    ? g_strdup(*pattern)
                                    : g_build_filename(source_dir(), *pattern, NULL);
        g_autofree char *above = g_path_get_dirname(path), *glob = g_path_get_basename(path);
        g_autoptr(GPtrArray) names = names_in(above);

        for (unsigned i = 0; i < names->len; i++) {
            g_autofree char *from = g_build_filename(above, names->pdata[i], NULL);
            g_autofree char *to = g_strdup_printf("%s/seed-%u", folder, n++);

            if (g_pattern_match_simple(glob, names->pdata[i]))
                copy(from, to);
        }
    }
    leave_scratch();
}

int
main(int argc, char **argv)
{
    char *const none[] = {NULL};
    int own_stdout = dup(STDOUT_FILENO), silent = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (unsigned i = 0; i < G_N_ELEMENTS(targets); i++)
            puts(targets[i].name);
        return 0;
    }
    for (int i = 2; i < argc; i++) /* before the folder changes */
        if (i > 2 || strcmp(argv[1], "--seeds") != 0)
            argv[i] = g_canonicalize_filename(argv[i], NULL);
    own_stderr = dup(STDERR_FILENO);
    if (g_getenv("FUZZ_LOUD") == NULL) {
        dup2(silent, STDOUT_FILENO);
        dup2(silent, STDERR_FILENO);
    }
    g_log_set_default_handler(fail_on_message, NULL);
    if (argc == 4 && strcmp(argv[1], "--seeds") == 0) {
        write_seeds(find_target(argv[2]), argv[3]);
        return 0;
    }
    if (argc > 1)
        fuzz_replay(find_target(argv[1]), argv + 2);
    for (unsigned i = 0; i < G_N_ELEMENTS(targets) && argc == 1; i++) {
        fuzz_replay(&targets[i], (char **)none);
        dprintf(own_stdout, "ok %u - %s\n", i + 1, targets[i].name);
    }
    dprintf(own_stdout, "1..%u\n", argc == 1 ? (unsigned)G_N_ELEMENTS(targets) : 0);
    return 0;
}

#endif
