/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim import: makes a scenario of a cluster's dumps. Files are written into a folder beside the
 * target, which takes its name when it is complete, so a killed import leaves no half one. Files of
 * an earlier import are replaced, and files that are not of an import stay. */
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "commands.h"
#include "run/files/list.h"
#include "run/import/import.h"

typedef struct {
    char **audit, **metrics, **driver_manifests, *start, *out;
    gboolean anonymize, force;
} ImportCommand;

static const char *const nothing[] = {NULL};

static const char *const *
list_or_nothing(char **list)
{
    return list != NULL ? (const char *const *)list : nothing;
}

static gboolean
cmd_import_go_on(void *data, const char *doing)
{
    Progress *progress = data;

    if (progress_is_due(progress))
        progress_show(progress, "reading %s", doing);
    return !progress_is_interrupted(progress);
}

/* Returns: (owned): the names of all files in it; NULL: it cannot be read */
static GPtrArray *
list_folder(const char *folder)
{
    return list_files(folder, "", NULL);
}

static gboolean
is_in_the_way(const char *out)
{
    g_autoptr(GPtrArray) names = list_folder(out);

    return g_file_test(out, G_FILE_TEST_EXISTS) && (names == NULL || names->len > 0);
}

static void
remove_folder(const char *folder)
{
    g_autoptr(GPtrArray) names = list_folder(folder);

    for (unsigned i = 0; names != NULL && i < names->len; i++) {
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

/* Files that no import wrote stay in the folder. Files of an earlier import go, even if this import
 * writes no file of that name. */
static ExitCode
move_files(const char *from, const char *out)
{
    static const char *const ours[] = {"scenario.yaml", "objects.json.xz", "workload.json",
                                       "timing.yaml",   "recorded.json",   "import.md"};
    g_autoptr(GPtrArray) names = list_folder(from);

    if (!cli_make_folder(out))
        return EXIT_ERROR;
    for (unsigned i = 0; i < G_N_ELEMENTS(ours); i++) {
        g_autofree char *path = g_build_filename(out, ours[i], NULL);
        g_unlink(path);
    }
    for (unsigned i = 0; names != NULL && i < names->len; i++) {
        g_autofree char *source = g_build_filename(from, names->pdata[i], NULL);
        g_autofree char *target = g_build_filename(out, names->pdata[i], NULL);
        if (g_rename(source, target) != 0)
            return cli_fail("import: %s: %s", target, g_strerror(errno));
    }
    return EXIT_DONE;
}

/* The folder takes its name when it is complete. */
static ExitCode
publish(const char *made, const char *out)
{
    if (g_rename(made, out) == 0) /* also in place of an empty folder */
        return EXIT_DONE;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return cli_fail("import: %s: %s", out, g_strerror(errno));
    return move_files(made, out);
}

static ExitCode
make(const ImportCommand *self,
     const char *const *dumps,
     const char *folder,
     gboolean *is_incomplete)
{
    g_autoptr(Progress) progress = progress_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *data_dir = cli_data_dir();
    const ImportOptions options = {
        .dumps = dumps,
        .audit = list_or_nothing(self->audit),
        .metrics = list_or_nothing(self->metrics),
        .driver_manifests = list_or_nothing(self->driver_manifests),
        .start = self->start,
        .data_dir = data_dir,
        .anonymize = self->anonymize,
        .go_on = cmd_import_go_on,
        .data = progress,
        .is_incomplete = is_incomplete,
    };

    if (import_make(folder, &options, &error))
        return progress_is_interrupted(progress) ? EXIT_INTERRUPTED : EXIT_DONE;
    progress_hide(progress);
    if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INTR))
        return EXIT_INTERRUPTED;
    /* A file of the new folder: the disk is at fault, and no input. */
    return strstr(error->message, folder) != NULL ? cli_fail("import: %s", error->message)
                                                  : cli_bad_input("import: %s", error->message);
}

static ExitCode
import(const ImportCommand *self, const char *const *dumps)
{
    g_autofree char *parent = g_path_get_dirname(self->out);
    g_autofree char *made = g_strdup_printf("%s.XXXXXX", self->out);
    gboolean is_incomplete = FALSE;

    if (!self->force && is_in_the_way(self->out))
        return cli_bad_input("import: %s is there already (--force writes over it)", self->out);
    if (!cli_make_folder(parent))
        return EXIT_ERROR;
    if (g_mkdtemp_full(made, 0777) == NULL)
        return cli_fail("import: %s: %s", made, g_strerror(errno));
    ExitCode code = make(self, dumps, made, &is_incomplete);
    if (code == EXIT_DONE)
        code = publish(made, self->out);
    if (g_file_test(made, G_FILE_TEST_EXISTS))
        remove_folder(made);
    if (code != EXIT_DONE)
        return code;
    printf("%s/import.md tells what was taken, guessed and left out%s. Go on with:\n"
           "    kvolsim run %s/scenario.yaml\n",
           self->out, is_incomplete ? ", and which objects the dump lacks" : "", self->out);
    if (self->audit == NULL)
        printf(
            "Without an audit log nothing happens in it. To drain a node, put its name for NODE:\n"
            "    kvolsim run %s/scenario.yaml --set 'spec.workload=[{at: 1m, drain: {node: NODE, "
            "ignoreDaemonSets: true, deleteEmptyDirData: true}}]'\n",
            self->out);
    return code;
}

int
cmd_import(int argc, char **argv)
{
    ImportCommand self = {0};
    const GOptionEntry entries[] = {
        CLI_OPTION("out", FILENAME, &self.out, "The folder to write (needed)", "FOLDER"),
        CLI_OPTION("audit", FILENAME_ARRAY, &self.audit,
                   "An audit log; may be given several times, in any order", "FILE"),
        CLI_OPTION("metrics", FILENAME_ARRAY, &self.metrics,
                   "A scrape of a component's or sidecar's /metrics; several times", "FILE"),
        CLI_OPTION("driver-manifest", FILENAME_ARRAY, &self.driver_manifests,
                   "A driver's Deployment or DaemonSet, for its sidecars' flags; several times",
                   "FILE"),
        CLI_OPTION("start", STRING, &self.start,
                   "The time of t = 0; default: the newest time stamp of the first dump", "TIME"),
        CLI_OPTION("anonymize", NONE, &self.anonymize,
                   "Replace names, namespaces, labels and messages by stable stand-ins", NULL),
        CLI_OPTION("force", NONE, &self.force, "Write over an earlier import", NULL),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (!cli_parse(
            &argc, &argv, entries, "FILE…", "Make a scenario of your cluster.",
            "FILE is what `kubectl get ... -A -o json` or `-o yaml` printed; files of several "
            "times, too: the oldest is the start.\n"
            "It may be a folder, with a file for each object or namespace, of one time.\n"
            "All inputs may be packed with gzip, xz or zstd. The folder gets scenario.yaml, "
            "objects.json.xz (the start),\n"
            "import.md (what was taken, guessed, left out) and, with an audit log, workload.json "
            "and recorded.json.\n"
            "Secrets' data, environment variables and arguments of containers are never written "
            "out.\n"
            "Exit status: 0 done, 1 I/O error, 2 bad input, 130 interrupted."))
        ;
    else if (argc < 2)
        cli_bad_usage("import", "needs a dump");
    else if (self.out == NULL)
        cli_bad_usage("import", "needs --out");
    else
        code = import(&self, (const char *const *)argv + 1);
    cli_free_values(entries);
    return code;
}
