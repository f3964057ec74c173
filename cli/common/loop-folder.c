/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "loop-folder.h"

ExitCode
loop_folder_fail(const char *command, const GError *error)
{
    cli_error("%s: %s", command, error->message);
    if (g_error_matches(error, LOOP_ERROR, CSI_PERMISSION_DENIED))
        return EXIT_NOT_PERMITTED;
    return g_error_matches(error, LOOP_ERROR, CSI_NOT_FOUND) ? EXIT_BAD_INPUT : EXIT_ERROR;
}

LoopBackend *
loop_folder_open(const LoopOptions *options, GError **error)
{
    g_autoptr(LoopBackend) backend = loop_backend_open(options, error);

    if (backend != NULL && loop_backend_n_volumes(backend) > 0) {
        g_set_error(error, LOOP_ERROR, CSI_ABORTED,
                    "%s has volumes of an earlier run: kvolsim loop clean removes them",
                    options->state_dir);
        return NULL;
    }
    return g_steal_pointer(&backend);
}

gboolean
loop_folder_close(LoopBackend *backend)
{
    g_autofree char *folder = g_strdup(loop_ledger_folder(loop_backend_ledger(backend)));

    loop_backend_close(backend);
    if (loop_remains_clean(folder, LOOP_FOLDER_WAIT_US, NULL, NULL, NULL))
        return TRUE;
    cli_error("something is left in %s: see kvolsim loop list, kvolsim loop clean", folder);
    return FALSE;
}
