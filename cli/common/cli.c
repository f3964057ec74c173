/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of all commands: the process (streams, signals, memory, locale, folders of data),
 * arguments, and files. A closed standard stream is replaced, or the next file opened would take
 * its number. A pipe becomes a file, since commands read a scenario as often as they please. The
 * end of the process checks that stdout was written, because a script may read only the status.
 * Data are found beside the program, in a build folder and installed. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "paint.h"
#include "run/files/input.h"
#include "run/results/result-folder.h"

/* ---- The process ---- */

/* If a standard stream is closed, the next file that is opened takes its number, and the summary
 * would go into a result file. Here a write to a closed stdout fails, and close_stdout() reports
 * that. */
static void
keep_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) == -1 &&
            open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) == -1)
            _exit(EXIT_ERROR);
}

/* Runs at the very end, also after --help: a script that reads only the exit status must learn of a
 * full disk. */
static void
close_stdout(void)
{
    gboolean has_failed = ferror(stdout) != 0;

    errno = 0; /* of a write that failed earlier errno tells nothing any more */
    if (fflush(stdout) == 0 && !has_failed)
        return;
    cli_error("standard output: %s", errno != 0 ? g_strerror(errno) : "a write failed");
    _exit(EXIT_ERROR);
}

/* Commands read a scenario several times: once to tell it from a sweep, once for each candidate of
 * a study. A pipe is therefore copied into a file. If that fails, the later reader reports it. */
static void
keep_standard_input(int argc, char **argv)
{
    char block[1 << 16];
    ssize_t n;
    gboolean is_wanted = FALSE;

    for (int i = 1; i < argc; i++)
        is_wanted |= strcmp(argv[i], "-") == 0;
    if (!is_wanted || lseek(STDIN_FILENO, 0, SEEK_CUR) != -1)
        return;
    int copy = memfd_create("standard input", MFD_CLOEXEC);
    while (copy >= 0 && (n = read(STDIN_FILENO, block, sizeof block)) > 0)
        if (write(copy, block, (size_t)n) != n)
            break;
    if (copy >= 0) {
        dup2(copy, STDIN_FILENO);
        close(copy);
    }
}

/* GLib ends a process without memory by a trap. Nothing here allocates. */
static void
say_out_of_memory(const char *domain, GLogLevelFlags level, const char *message, void *data)
{
    static const char text[] = "kvolsim: out of memory: a smaller scenario, fewer runs at once "
                               "(--jobs) or more memory is needed\n";

    if (strstr(message, "failed to allocate") == NULL)
        g_log_default_handler(domain, level, message, data);
    else if (write(STDERR_FILENO, text, sizeof text - 1) >= 0)
        _exit(EXIT_ERROR);
}

int
cli_end(int code)
{
    sigset_t pending;

    sigpending(&pending);
    return code == EXIT_INTERRUPTED && sigismember(&pending, SIGTERM) == 1 ? EXIT_TERMINATED : code;
}

int
cli_open_signals(int another)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    if (another != 0)
        sigaddset(&signals, another);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Beside a program in a build folder are the other program, a link to the source tree and a folder
 * of catalogues; an installed one, in bin/ or libexec/kvolsim/, has them below the folder above, to
 * wherever it was moved. @configured: where make install was told to put them. */
static char *
find_beside_program(const char *in_build, const char *installed, const char *configured)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = program == NULL ? NULL : g_path_get_dirname(program);
    const struct {
        const char *up, *place;
    } places[] = {
        {".",     in_build },
        {"..",    installed},
        {"../..", installed}
    };

    for (unsigned i = 0; folder != NULL && i < G_N_ELEMENTS(places); i++) {
        g_autofree char *path = g_build_filename(folder, places[i].up, places[i].place, NULL);
        char *real = realpath(path, NULL);
        if (real != NULL)
            return real;
    }
    return g_strdup(configured);
}

char *
cli_data_dir(void)
{
    return find_beside_program("kvolsim.source", "share/kvolsim", KVOLSIM_DATADIR);
}

char *
cli_locale_dir(void)
{
    return find_beside_program("kvolsim.po", "share/locale", KVOLSIM_LOCALEDIR);
}

int
cli_run_network_program(int argc, char **argv)
{
    g_autofree char *program =
        find_beside_program("kvolsim-network", "libexec/kvolsim/kvolsim-network",
                            KVOLSIM_LIBEXECDIR "/kvolsim-network");
    g_autofree char **words = g_new0(char *, (size_t)argc + 2);
    char name[] = "kvolsim";

    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *argv);
    execv(program, words);
    cli_error("%s: %s (it came with kvolsim, and \"%s\" needs it)", program, g_strerror(errno),
              argv[0]);
    return EXIT_ERROR;
}

/* README and manual name scenarios by their path in the source tree. Elsewhere such a name means
 * the scenario that was installed with the program. */
static void
find_own_scenarios(int argc, char **argv)
{
    g_autofree char *data_dir = NULL;

    for (int i = 1; i < argc; i++) {
        if (!g_str_has_prefix(argv[i], "scenarios/") || g_file_test(argv[i], G_FILE_TEST_EXISTS))
            continue;
        if (data_dir == NULL)
            data_dir = cli_data_dir();
        g_autofree char *path = g_build_filename(data_dir, argv[i], NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            argv[i] = (char *)g_intern_string(path);
    }
}

void
cli_begin(int argc, char **argv)
{
    g_log_set_handler("GLib", G_LOG_LEVEL_ERROR | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION,
                      say_out_of_memory, NULL);
    keep_standard_streams();
    keep_standard_input(argc, argv);
    find_own_scenarios(argc, argv);
    atexit(close_stdout);
    setlocale(LC_CTYPE, ""); /* for file names in messages; numbers are the same in every locale */
}

/* ---- Arguments ---- */

G_GNUC_PRINTF(1, 0)
static void
print_error(const char *format, va_list args)
{
    g_autofree char *text = g_strdup_vprintf(format, args);
    g_autofree char *line = g_strdup_printf("kvolsim: %s\n", text);

    paint_print(stderr, line);
}

void
cli_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_error(format, args);
    va_end(args);
}

ExitCode
cli_bad_input(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_error(format, args);
    va_end(args);
    return EXIT_BAD_INPUT;
}

ExitCode
cli_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_error(format, args);
    va_end(args);
    return EXIT_ERROR;
}

ExitCode
cli_bad_usage(const char *command, const char *message)
{
    return cli_bad_input("%s: %s (see kvolsim %s --help)", command, message, command);
}

/* GLib takes "-j 4" and "--jobs=4", but not "-j4": it is given the second. */
static char *
spell_out(const GOptionEntry *entries, char *word)
{
    for (; word[0] == '-' && word[1] != '\0' && word[2] != '\0' && entries->long_name != NULL;
         entries++)
        if (entries->short_name == word[1] && entries->arg != G_OPTION_ARG_NONE &&
            entries->arg != G_OPTION_ARG_CALLBACK) {
            g_autofree char *spelt = g_strdup_printf("--%s=%s", entries->long_name, word + 2);
            return (char *)g_intern_string(spelt);
        }
    return word;
}

GOptionEntry *
cli_join_entries(const GOptionEntry *one, const GOptionEntry *other)
{
    GArray *all = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));

    for (; one->long_name != NULL; one++)
        g_array_append_vals(all, one, 1);
    for (; other != NULL && other->long_name != NULL; other++)
        g_array_append_vals(all, other, 1);
    return (GOptionEntry *)g_array_free(all, FALSE);
}

gboolean
cli_parse(int *argc,
          char ***argv,
          const GOptionEntry *entries,
          const char *arguments,
          const char *summary,
          const char *description)
{
    g_autoptr(GOptionContext) context = g_option_context_new(arguments);
    g_autofree char *command = g_strdup((*argv)[0]);
    g_autofree char *program = g_strdup_printf("kvolsim %s", command);
    g_autofree char *color = NULL;
    const GOptionEntry common[] = {
        CLI_OPTION("color", STRING, &color,
                   "Colours: auto (default: on a terminal, without $NO_COLOR), always or never",
                   "WHEN"),
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GError) error = NULL;

    for (int i = 1; i < *argc && strcmp((*argv)[i], "--") != 0; i++)
        (*argv)[i] = spell_out(entries, (*argv)[i]);
    g_set_prgname(program);
    g_option_context_set_summary(context, summary);
    g_option_context_set_description(context, description);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_main_entries(context, common, NULL);
    gboolean is_parsed = g_option_context_parse(context, argc, argv, &error);
    if (is_parsed && paint_choose(color))
        return TRUE;
    if (is_parsed)
        cli_error("%s: --color: \"%s\" is none of auto, always, never", command, color);
    else
        cli_error("%s: %s (see kvolsim %s --help)", command, error->message, command);
    return FALSE;
}

void
cli_free_values(const GOptionEntry *entries)
{
    for (; entries->long_name != NULL; entries++)
        if (entries->arg == G_OPTION_ARG_STRING_ARRAY ||
            entries->arg == G_OPTION_ARG_FILENAME_ARRAY)
            g_strfreev(*(char ***)entries->arg_data);
        else if (entries->arg == G_OPTION_ARG_STRING || entries->arg == G_OPTION_ARG_FILENAME)
            g_free(*(char **)entries->arg_data);
}

gboolean
cli_has_one(const char *command, int argc, const char *what)
{
    if (argc == 2)
        return TRUE;
    cli_error("%s: %s %s given (see kvolsim %s --help)", command, argc < 2 ? "no" : "more than one",
              what, command);
    return FALSE;
}

gboolean
cli_is_between(const char *command, const char *option, int value, int min, int max)
{
    if (value >= min && value <= max)
        return TRUE;
    cli_error("%s: %s: %d is not between %d and %d", command, option, value, min, max);
    return FALSE;
}

gboolean
cli_parse_format(const char *command, const char *format, gboolean *is_json)
{
    *is_json = g_strcmp0(format, "json") == 0;
    if (format == NULL || *is_json || strcmp(format, "table") == 0)
        return TRUE;
    cli_error("%s: --format: \"%s\" is neither table nor json", command, format);
    return FALSE;
}

gboolean
cli_parse_seed(const char *text, const Scenario *scenario, uint64_t *seed)
{
    guint64 number = scenario->seed;
    g_autoptr(GError) error = NULL;

    if (text != NULL && !g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, &number, &error)) {
        cli_error("--seed: %s", error->message);
        return FALSE;
    }
    *seed = number;
    return TRUE;
}

gboolean
cli_parse_time(const char *option, const char *text, SimTime *time)
{
    g_autoptr(GError) error = NULL;

    if (text == NULL || sim_time_parse(text, time, &error))
        return TRUE;
    cli_error("%s: %s", option, error->message);
    return FALSE;
}

/* ---- Files ---- */

void
cli_print_faults(const GPtrArray *faults)
{
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        g_autofree char *line = g_strconcat(text, "\n", NULL);

        paint_print(stderr, line);
    }
}

Scenario *
cli_load_scenario(const char *file, char *const *set)
{
    g_autofree char *data_dir = cli_data_dir();
    const ScenarioOptions options = {.data_dir = data_dir, .set = (const char *const *)set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    cli_print_faults(faults);
    return scenario;
}

Scenario *
cli_load_profile(const char *profile, const char *driver_name, char *const *set)
{
    static const char name[] = "--profile";
    g_autofree char *path = g_file_test(profile, G_FILE_TEST_EXISTS)
                                ? g_canonicalize_filename(profile, NULL)
                                : g_strdup(profile);
    g_autofree char *data_dir = cli_data_dir();
    json_auto_t *driver = json_pack("{s:s, s:s}", "name", driver_name, "profile", path);
    g_autofree char *value = json_dumps(driver, 0);
    g_autofree char *text = g_strdup_printf(
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: csi}\nspec:\n  until: 87600h\n"
        "  nodes: [{count: 1, name: \"node-%%d\", zones: [zone-a]}]\n"
        "  drivers: [%s]\n",
        value != NULL ? value : "");
    g_autoptr(GHashTable) texts =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_bytes_unref);
    const ScenarioOptions options = {
        .data_dir = data_dir, .set = (const char *const *)set, .texts = texts, .is_own = TRUE};
    g_autoptr(GPtrArray) faults = NULL;

    g_hash_table_insert(texts, (char *)name, g_bytes_new(text, strlen(text)));
    Scenario *scenario = scenario_load(name, &options, &faults);
    cli_print_faults(faults);
    return scenario;
}

gboolean
cli_read_origin(const char *path, Origin *origin)
{
    FILE *file = input_check_regular(path, NULL) ? fopen(path, "r") : NULL;
    int n = file == NULL
                ? 0
                : fscanf(file, "# kvolsim %*s scenario %255s hash %79s seed %31s replication %u",
                         origin->scenario, origin->hash, origin->seed, &origin->replication);

    if (file != NULL)
        fclose(file);
    return n == 4;
}

gboolean
cli_make_folder(const char *folder)
{
    if (g_mkdir_with_parents(folder, 0777) == 0)
        return TRUE;
    cli_error("%s: %s", folder, g_strerror(errno));
    return FALSE;
}

gboolean
cli_write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GError) error = NULL;

    if (g_file_set_contents(path, text, -1, &error))
        return TRUE;
    cli_error("%s", error->message);
    return FALSE;
}

static char *
json_text(const json_t *json)
{
    return json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

gboolean
cli_write_json(const char *folder, const char *name, const json_t *json)
{
    char *text = json_text(json);
    g_autofree char *lines = g_strconcat(text, "\n", NULL);

    free(text);
    return cli_write_file(folder, name, lines);
}

gboolean
cli_write_index(const char *folder, const char *name, json_t *json, const char *of)
{
    g_autoptr(GError) error = NULL;

    if (result_folder_seal(json, folder, &of, 1, &error))
        return cli_write_json(folder, name, json);
    cli_error("%s", error->message);
    return FALSE;
}

void
cli_print_json(const json_t *json)
{
    char *text = json_text(json);

    puts(text);
    free(text);
}
