/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/common/sweep-tools.h"
#include "commands.h"

static ExitCode
merge(const char *out, char **files)
{
    g_autoptr(GError) error = NULL;

    /* Checks all files first: a damaged file must not leave half a result behind. */
    for (unsigned i = 0; files[i] != NULL; i++)
        if (!sweep_store_verify(files[i], &error))
            return cli_store_error(error);
    g_autoptr(SweepStore) store = sweep_store_create_like(out, files[0], &error);

    for (unsigned i = 0; store != NULL && files[i] != NULL; i++)
        if (!sweep_store_merge(store, files[i], &error))
            return cli_store_error(error);
    return store == NULL ? cli_store_error(error) : EXIT_DONE;
}

int
cmd_merge(int argc, char **argv)
{
    g_autofree char *out = NULL;
    const GOptionEntry entries[] = {
        CLI_OPTION("out", FILENAME, &out, "The file to merge into; it may exist", "DB"),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "DB…", "Merge the result files of a sweep's shards.",
            "The files must be of one sweep; their order does not matter. A run that is in two "
            "of them must be the same in both.\n"
            "Exit status: 0 done, 1 I/O error, 2 the files do not belong together."))
        return EXIT_BAD_INPUT;
    if (argc < 2 || out == NULL)
        return cli_bad_input("merge: %s (see kvolsim merge --help)",
                             out == NULL ? "--out: no file given" : "no files given");
    return merge(out, argv + 1);
}
