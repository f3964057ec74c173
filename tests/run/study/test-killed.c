/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/wait.h>

#include "rows.h"
#include "tests/lib/test.h"

/* kill -9 at random instants, each time followed by --resume: in the end the file has the same rows
 * as after one quiet run. */

#define KILLS 50

static GPid
killed_start(const char *file)
{
    g_autofree char *program = g_build_filename(g_getenv("KVOLSIM_BUILDDIR"), "kvolsim", NULL);
    g_autofree char *sweep = source_file("tests/run/study/small.yaml");
    const char *const argv[] = {program,          "sweep", sweep,   "-j", "2", "--resume",
                                "--replications", "40",    "--out", file, NULL};
    GPid pid;

    assert_true(g_spawn_async(NULL, (char **)argv, NULL,
                              G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                              &pid, NULL));
    return pid;
}

/* Returns: whether it was killed; else it had finished */
static gboolean
wait_for(GPid pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    g_spawn_close_pid(pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return TRUE;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return FALSE;
}

TEST(same_rows_after_50_kills)
{
    g_autofree char *folder = scratch_folder();
    g_autofree char *quiet = g_build_filename(folder, "quiet.sqlite", NULL);
    g_autofree char *killed = g_build_filename(folder, "killed.sqlite", NULL);
    g_autoptr(GRand) random = g_rand_new_with_seed(20);
    unsigned n_kills = 0, n_finished = 0;

    gint64 started_at = g_get_monotonic_time();
    assert_false(wait_for(killed_start(quiet)));
    /* Instants are spread over what a whole run takes here; later ones come as rarely as they
     * should. */
    double span = (double)(g_get_monotonic_time() - started_at);
    g_autofree char *wanted = all_rows(quiet);
    while (n_kills < KILLS || n_finished == 0) {
        GPid pid = killed_start(killed);
        if (n_kills < KILLS) {
            g_usleep((gulong)(g_rand_double(random) * g_rand_double(random) * span));
            kill(pid, SIGKILL);
        }
        if (wait_for(pid)) {
            n_kills++;
            continue;
        }
        g_autofree char *rows = all_rows(killed);
        assert_string_equal(rows, wanted);
        n_finished++;
        g_unlink(killed);
    }
    print_message("# %u kills; compared %u times\n", n_kills, n_finished);
    scratch_remove(folder);
}
