/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/loop-folder.h"
#include "commands.h"

static void
print_remain(const LoopRemain *remain)
{
    if (remain->deed == LOOP_NUMBER)
        printf("%-8s loop%s: %s\n", loop_deed_name(remain->deed), remain->what, remain->state);
    else
        printf("%-8s %s: %s\n", loop_deed_name(remain->deed), remain->what, remain->state);
}

static ExitCode
cmd_loop_list(const char *state_dir)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) remains = loop_remains_list(state_dir, &error);

    if (g_error_matches(error, LOOP_ERROR, CSI_NOT_FOUND)) {
        printf("nothing: there is no %s\n", state_dir);
        return EXIT_DONE;
    }
    if (remains == NULL)
        return loop_folder_fail("loop", error);
    if (loop_ledger_is_taken(state_dir))
        printf("a process works in %s\n", state_dir);
    for (unsigned i = 0; i < remains->len; i++)
        print_remain(remains->pdata[i]);
    return EXIT_DONE;
}

static void
print_report(void *data, const char *text)
{
    (void)data;
    cli_error("loop: left in place: %s", text);
}

static ExitCode
clean(const char *state_dir)
{
    g_autoptr(GError) error = NULL;

    if (loop_remains_clean(state_dir, LOOP_FOLDER_WAIT_US, print_report, NULL, &error)) {
        printf("%s: clean\n", state_dir);
        return EXIT_DONE;
    }
    if (g_error_matches(error, LOOP_ERROR, CSI_NOT_FOUND)) {
        printf("nothing to clean: there is no %s\n", state_dir);
        return EXIT_DONE;
    }
    return error == NULL ? EXIT_ERROR : loop_folder_fail("loop", error);
}

int
cmd_loop(int argc, char **argv)
{
    g_autofree char *given = NULL;
    const GOptionEntry entries[] = {LOOP_FOLDER_OPTION(&given), G_OPTION_ENTRY_NULL};

    if (!cli_parse(
            &argc, &argv, entries, "list|clean",
            "List what the loop driver made on this machine and has not removed, or remove it.",
            "It touches only what is in the ledger of the state folder. Run clean after a crash; "
            "it can be\nrepeated. Exit status: 0 done, 1 something is left (it prints what and "
            "why), 2 bad input, 4 not permitted."))
        return EXIT_BAD_INPUT;
    g_autofree char *folder =
        g_canonicalize_filename(given != NULL ? given : LOOP_FOLDER_DEFAULT, NULL);
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return cmd_loop_list(folder);
    if (argc == 2 && strcmp(argv[1], "clean") == 0)
        return clean(folder);
    return cli_bad_usage("loop", "give list or clean");
}
