/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gio/gio.h>
#include <stdio.h>

#include "cli/common/cli.h"
#include "commands.h"

int
cmd_completion(int argc, char **argv)
{
    const GOptionEntry entries[] = {G_OPTION_ENTRY_NULL};

    if (!cli_parse(&argc, &argv, entries, "bash|zsh|fish",
                   "Print the completion of commands and options for a shell.",
                   "In ~/.bashrc: source <(kvolsim completion bash). An installed kvolsim needs "
                   "no such line."))
        return EXIT_BAD_INPUT;
    if (!cli_has_one("completion", argc, "shell"))
        return EXIT_BAD_INPUT;
    g_autofree char *path = g_strconcat("/kvolsim/completion/", argv[1], NULL);
    g_autoptr(GBytes) script = g_resources_lookup_data(path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    if (script == NULL)
        return cli_bad_input("completion: \"%s\" is none of bash, zsh, fish", argv[1]);
    gsize n;
    const char *text = g_bytes_get_data(script, &n);
    fwrite(text, 1, n, stdout);
    return EXIT_DONE;
}
