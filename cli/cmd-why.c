/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim why: why an object is stuck at an instant of a run, or all that is stuck. The answer is
 * that of run/why; the simulation can also look ahead: it goes on for ten minutes and prints the
 * next thing that a component does about the blocked object. */
#include <stdio.h>
#include <string.h>

#include "cli/common/language.h"
#include "cli/common/look.h"
#include "cli/common/paint.h"
#include "commands.h"
#include "config.h"
#include "run/why/why.h"

/* The run goes on for so long, to find what happens next. */
#define FUTURE (10 * SIM_MINUTE)

#define N_(text) text /* for translators: po/ */

#ifdef WITH_TEACH

#include "run/teach/narrator.h"

static const char *words(Translation translate, const char *english) G_GNUC_FORMAT(2);

static const char *
words(Translation translate, const char *english)
{
    return translate == NULL ? english : translate(english);
}

/* The simulation can look ahead: prints the next thing that a component does about the blocked
 * object. */
static void
print_next(Look *look, const Narrator *narrator, const Why *why, Translation translate)
{
    SimTime now = sim_now(run_sim(look->run)), at = SIM_TIME_MAX;
    char at_text[SIM_TIME_BUFFER], in_text[SIM_TIME_BUFFER];
    const char *who = NULL, *what = NULL;

    if (strcmp(why->cause, "none") == 0)
        return;
    run_advance(look->run, sim_time_add(now, FUTURE));
    for (unsigned i = why->chain->len; i-- > 0 && at == SIM_TIME_MAX;) {
        const WhyLink *link = why->chain->pdata[i];
        at = narrator_next_step(narrator, link->namespace, link->object, now, &who, &what);
    }
    if (at == SIM_TIME_MAX)
        fputs(words(translate,
                    N_("next: nothing in the next 10 minutes, unless somebody intervenes\n")),
              stdout);
    else
        printf(words(translate, N_("next: %s, %s, at %s (in %s)\n")), who, what,
               sim_time_format(at / SIM_MS * SIM_MS, at_text),
               sim_time_format((at - now) / SIM_MS * SIM_MS, in_text));
}

#endif

typedef struct {
    LookOptions look;
    char *namespace, *format, *language;
} Options;

static void
options_clear(Options *self)
{
    look_options_clear(&self->look);
    g_free(self->namespace);
    g_free(self->format);
    g_free(self->language);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static void
cmd_why_print_json(json_t *json /* taken */)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(json);
}

static ExitCode
answer_all(const WhyView *view, gboolean as_json)
{
    g_autoptr(GPtrArray) groups = as_json ? why_ask_all(view, UINT_MAX) : NULL;
    g_autoptr(GString) text = g_string_new(NULL);

    if (as_json) {
        cmd_why_print_json(why_groups_to_json(view, groups));
        return EXIT_DONE;
    }
    why_tell_all(view, text);
    plain_print(stdout, text->str);
    return EXIT_DONE;
}

static ExitCode
cmd_why_answer(const Options *options,
               gboolean as_json,
               Translation translate,
               const char *file,
               const char *object)
{
    g_autoptr(Look) look = look_open(&options->look, file);
#ifdef WITH_TEACH
    g_autoptr(Narrator) narrator = look != NULL ? narrator_new(look->run) : NULL;
#endif
    g_autoptr(WhyCalls) calls = look != NULL ? why_calls_new(look->run) : NULL;

    if (look == NULL || !look_advance(look, "--at", options->look.at))
        return EXIT_BAD_INPUT;
    const WhyView view = {look->run, calls, translate};
    if (object == NULL)
        return answer_all(&view, as_json);

    g_autoptr(Why) why = why_ask(&view, options->namespace, object);
    if (why == NULL)
        return cli_bad_input("why: there is no \"%s\" at that time (pod/NAME, pvc/NAME, node/NAME, "
                             "...)",
                             object);
    if (as_json) {
        cmd_why_print_json(why_to_json(&view, why));
        return EXIT_DONE;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    why_tell(&view, why, text);
    plain_print(stdout, text->str);
#ifdef WITH_TEACH
    print_next(look, narrator, why, translate);
#endif
    return EXIT_DONE;
}

int
cmd_why(int argc, char **argv)
{
    g_auto(Options) options = {0};
    const GOptionEntry more[] = {
        {"namespace", 'n', 0, G_OPTION_ARG_STRING, &options.namespace,
         "of the object (default: any)",                                                                 "NAMESPACE"},
        {"format",    0,   0, G_OPTION_ARG_STRING, &options.format,    "table (default) or json",        "FORMAT"   },
        {"lang",      0,   0, G_OPTION_ARG_STRING, &options.language,  "en or zh (default: from $LANG)",
         "LANG"                                                                                                     },
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *entries = look_entries(&options.look, more);
    Translation translate;
    gboolean as_json;

    if (!cli_parse(
            &argc, &argv, entries, "SCENARIO [OBJECT]",
            "Tell why an object is stuck: what waits for what, down to the object at fault, "
            "and what would help. Without an object: all that is stuck, by cause.",
            "OBJECT: KIND/NAME, of any kind that kubectl knows: pod/NAME, pvc/NAME, pv/NAME, "
            "node/NAME, volumesnapshot/NAME, statefulset/NAME, ...; or driver/NAME, "
            "process/NAME") ||
        !cli_parse_format("why", options.format, &as_json) ||
        !language_choose(options.language, &translate))
        return EXIT_BAD_INPUT;
    if (argc != 2 && argc != 3)
        return cli_bad_usage("why", "give a scenario file, and perhaps an object");
    return cmd_why_answer(&options, as_json, translate, argv[1], argc == 3 ? argv[2] : NULL);
}
