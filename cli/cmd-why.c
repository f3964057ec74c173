/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/look.h"
#include "commands.h"
#include "run/teach/why.h"

/* The run goes on for so long, to find what happens next. */
#define FUTURE (10 * SIM_MINUTE)

/* The simulation can look ahead: prints the next thing that a component does about the blocked
 * object. */
static void
print_next(Look *look, const Narrator *narrator, const Why *why)
{
    SimTime now = sim_now(run_sim(look->run)), at;
    char at_text[SIM_TIME_BUFFER], in_text[SIM_TIME_BUFFER];
    const char *who, *what;

    if (why->blocked == NULL || strcmp(why->cause, "none") == 0)
        return;
    run_advance(look->run, sim_time_add(now, FUTURE));
    at = narrator_next_step(narrator, why->blocked, now, &who, &what);
    if (at == SIM_TIME_MAX)
        printf("next: nothing in the next 10 minutes, unless somebody intervenes\n");
    else
        printf("next: %s, %s, at %s (in %s)\n", who, what,
               sim_time_format(at / SIM_MS * SIM_MS, at_text),
               sim_time_format((at - now) / SIM_MS * SIM_MS, in_text));
}

static ExitCode
answer(const LookOptions *options, const char *file, const char *object)
{
    g_autoptr(Look) look = look_open(options, file);
    g_autoptr(Narrator) narrator = look != NULL ? narrator_new(look->run) : NULL;

    if (look == NULL || !look_advance(look, "--at", options->at))
        return EXIT_BAD_INPUT;

    g_autoptr(Why) why = why_ask(look->run, object);
    if (why == NULL)
        return cli_bad_input("why: there is no \"%s\" at that time (pod/NAME, pvc/NAME or "
                             "volumesnapshot/NAME)",
                             object);
    g_autoptr(GString) text = g_string_new(NULL);
    why_tell(why, text);
    fputs(text->str, stdout);
    print_next(look, narrator, why);
    return EXIT_DONE;
}

int
cmd_why(int argc, char **argv)
{
    g_auto(LookOptions) options = {0};
    g_autofree GOptionEntry *entries = look_entries(&options, NULL);

    if (!cli_parse(&argc, &argv, entries, "SCENARIO OBJECT",
                   "Tell why a pod does not run, a claim is not bound or a snapshot is not ready: "
                   "what waits for what, and what would help.",
                   "OBJECT: pod/NAME, pvc/NAME, volumesnapshot/NAME, volumesnapshotcontent/NAME or "
                   "volumegroupsnapshot/NAME."))
        return EXIT_BAD_INPUT;
    if (argc != 3)
        return cli_bad_usage("why", "give a scenario file and an object");
    return answer(&options, argv[1], argv[2]);
}
