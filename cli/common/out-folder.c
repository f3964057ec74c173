/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of results: written under a partial name, with a lock, and renamed or moved in place at
 * the end, so that a reader never sees half of a run. Results of an earlier run are removed first,
 * since they would pass for results of this one; other files stay. The remains of a killed run are
 * removed if its lock is free. */
#include "out-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "run/results/result-folder.h"
#include "run/results/results.h"

struct OutFolder {
    char *path;
    char *partial; /* NULL: finished */
    int lock;      /* of @partial, while the run lives; -1: none */
};

static void
remove_tree(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    g_remove(path);
}

/* Returns: (owned): a descriptor of the folder that holds its lock; -1: another process has it */
static int
lock_folder(const char *path)
{
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (lock != -1 && flock(lock, LOCK_EX | LOCK_NB) == -1) {
        close(lock);
        return -1;
    }
    return lock;
}

/* Removes the remains of killed runs of @path: no process has that number, and no other machine
 * holds the lock. */
static void
remove_abandoned(const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path), *base = g_path_get_basename(path);
    g_autofree char *prefix = g_strconcat(base, ".partial-", NULL);
    g_autoptr(GDir) folder = g_dir_open(parent, 0, NULL);
    const char *name;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        guint64 pid;
        if (!g_str_has_prefix(name, prefix) ||
            !g_ascii_string_to_unsigned(name + strlen(prefix), 10, 1, G_MAXINT, &pid, NULL) ||
            kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        g_autofree char *partial = g_build_filename(parent, name, NULL);
        int lock = lock_folder(partial);
        if (lock == -1)
            continue;
        remove_tree(partial);
        close(lock);
    }
}

OutFolder *
out_folder_new(const char *path)
{
    g_autofree char *partial = g_strdup_printf("%s.partial-%d", path, (int)getpid());

    remove_abandoned(path);
    if (!cli_make_folder(partial))
        return NULL;
    int lock = lock_folder(partial);
    OutFolder *self = g_new(OutFolder, 1);
    *self = (OutFolder){.path = g_strdup(path), .partial = g_steal_pointer(&partial), .lock = lock};
    return self;
}

void
out_folder_free(OutFolder *self)
{
    if (self == NULL)
        return;
    if (self->partial != NULL)
        remove_tree(self->partial);
    if (self->lock != -1)
        close(self->lock);
    g_free(self->partial);
    g_free(self->path);
    g_free(self);
}

const char *
out_folder_partial(const OutFolder *self)
{
    return self->partial;
}

char *
out_folder_of_replication(const OutFolder *self, unsigned replication, unsigned n)
{
    g_autofree char *folder = result_folder_of_replication(self->partial, replication, n);

    return cli_make_folder(folder) ? g_steal_pointer(&folder) : NULL;
}

/* The earlier run may have had more files or more replications. Files left of it would pass for
 * results of the new run. */
static void
remove_earlier_results(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;

    results_remove_run(path);
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        if (result_folder_is_replication(name))
            remove_tree(child);
    }
}

static ExitCode
move_each(const char *partial, const char *folder)
{
    g_autoptr(GDir) from = g_dir_open(partial, 0, NULL);
    const char *name;

    while (from != NULL && (name = g_dir_read_name(from)) != NULL) {
        g_autofree char *source = g_build_filename(partial, name, NULL);
        g_autofree char *target = g_build_filename(folder, name, NULL);
        if (g_rename(source, target) != 0)
            return cli_fail("%s: %s", target, g_strerror(errno));
    }
    return EXIT_DONE;
}

/* The lock makes two runs into one folder take turns: all files there come from the second. */
static ExitCode
move_results(const char *partial, const char *folder)
{
    if (g_rename(partial, folder) == 0)
        return EXIT_DONE;

    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock == -1 || flock(lock, LOCK_EX) == -1) {
        cli_error("%s: %s", folder, g_strerror(errno));
        if (lock != -1)
            close(lock);
        return EXIT_ERROR;
    }
    remove_earlier_results(folder);
    ExitCode code = move_each(partial, folder);
    close(lock);
    remove_tree(partial);
    return code;
}

ExitCode
out_folder_finish(OutFolder *self)
{
    ExitCode code = move_results(self->partial, self->path);

    if (code == EXIT_DONE)
        g_clear_pointer(&self->partial, g_free);
    return code;
}
