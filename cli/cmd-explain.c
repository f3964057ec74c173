/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim explain: tells the story of a run or of an object up to an instant, for three levels of
 * readers, or the consequences of each error of each CSI method. The run goes on for ten minutes
 * beyond the instant, so that the story can tell the end of each wait. Consequences are found by
 * running a scenario with one error, not from a table. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/common/language.h"
#include "cli/common/look.h"
#include "commands.h"
#include "run/files/printable.h"
#include "run/teach/narrator.h"
#include "run/teach/rule-book.h"

static gboolean
parse_level(const char *word, NarratorLevel *level)
{
    static const char *const words[] = {"beginner", "operator", "developer"};

    *level = NARRATOR_OPERATOR;
    if (word == NULL)
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(word, words[i]) == 0) {
            *level = (NarratorLevel)i;
            return TRUE;
        }
    cli_error("explain: --level: \"%s\" is not a level (beginner, operator, developer)", word);
    return FALSE;
}

/* The run goes on for so long, so that the story can tell the end of each wait. */
#define FUTURE (10 * SIM_MINUTE)
/* The column of a story's text. */
#define TELLING_INDENT 15

typedef struct {
    const LookOptions *look;
    NarratorLevel level;
    Translation translate;
    gboolean rules, csi, is_json;
} ExplainOptions;

/* One rule and its sentence per line, for authors of the rule books and for translators. */
static void
print_rules(const Narrator *narrator, const ExplainOptions *options)
{
    g_autoptr(GPtrArray) rules = narrator_rules(narrator);
    json_auto_t *list = json_array();

    for (unsigned i = 0; i < rules->len; i++) {
        const char *words = rule_book_words(rules->pdata[i]);

        if (words != NULL && options->translate != NULL) {
            const char *translated = options->translate(words);
            words = translated != words ? translated : NULL;
        }
        if (options->is_json)
            json_array_append_new(
                list, json_pack("{s:s, s:s?}", "rule", rules->pdata[i], "because", words));
        else
            printf("%s\t%s\n", (const char *)rules->pdata[i], words != NULL ? words : "");
    }
    if (options->is_json)
        cli_print_json(list);
}

/* $COLUMNS, or the width of the terminal; 0: lines may have any length, as in a file. */
static unsigned
screen_columns(void)
{
    struct winsize size;
    const char *said = g_getenv("COLUMNS");
    guint64 columns;

    if (said != NULL && g_ascii_string_to_unsigned(said, 10, 40, 10000, &columns, NULL))
        return (unsigned)columns;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return 0;
}

/* The end of the text that fits into @columns: behind the last blank or Chinese letter there, or in
 * the middle of a word if there is none. */
static const char *
fitting_end(const char *text, unsigned columns)
{
    const char *end = NULL, *at = text;
    unsigned used = 0;

    for (; *at != '\0' && *at != '\n'; at = g_utf8_next_char(at)) {
        gunichar letter = g_utf8_get_char(at);

        if ((used += g_unichar_iswide(letter) ? 2 : 1) > columns)
            return end != NULL ? end : at;
        if (letter == ' ' || g_unichar_iswide(letter))
            end = g_utf8_next_char(at);
    }
    return at;
}

/* A line that is too long continues below its own beginning. */
static void
print_wrapped(const char *text, unsigned columns)
{
    for (const char *line = text; *line != '\0'; line++) {
        gsize indent = strspn(line, " ");

        /* The time of an entry is in front of its text. */
        if (indent < TELLING_INDENT)
            indent = TELLING_INDENT;
        const char *end = columns == 0 ? line + strcspn(line, "\n") : fitting_end(line, columns);
        printf("%.*s", (int)(end - line), line);
        while (*end != '\n' && *end != '\0') {
            line = end;
            end = fitting_end(line, columns - (unsigned)indent);
            printf("\n%*s%.*s", (int)indent, "", (int)(end - line), line);
        }
        putchar('\n');
        line = end;
        if (*line == '\0')
            return;
    }
}

/* Returns: FALSE if the run has no such object */
static gboolean
print_story(const Narrator *narrator, const NarratorOptions *telling, gboolean is_json)
{
    g_autoptr(GString) out = g_string_new(NULL);
    json_auto_t *story = is_json ? narrator_json(narrator, telling) : NULL;

    if (is_json ? story == NULL : !narrator_tell(narrator, telling, out))
        return FALSE;
    if (is_json)
        cli_print_json(story);
    else {
        g_autofree char *shown = printable(out->str, "\n\t");

        print_wrapped(shown, screen_columns());
    }
    return TRUE;
}

static ExitCode
explain(const ExplainOptions *options, const char *file, const char *namespace, const char *object)
{
    g_autoptr(Look) look = look_open(options->look, file);
    g_autoptr(Narrator) narrator = look != NULL ? narrator_new(look->run) : NULL;

    if (look == NULL || !look_advance(look, "--at", options->look->at))
        return EXIT_BAD_INPUT;
    if (options->rules) {
        print_rules(narrator, options);
        return EXIT_DONE;
    }

    NarratorOptions telling = {.level = options->level,
                               .object = object,
                               .namespace = namespace,
                               .until = SIM_TIME_MAX,
                               .translate = options->translate};
    if (options->look->at != NULL) {
        telling.until = sim_now(run_sim(look->run));
        run_advance(look->run, sim_time_add(telling.until, FUTURE));
    }
    if (!print_story(narrator, &telling, options->is_json))
        return cli_bad_input("explain: the run has no \"%s\" (as kind/name: pod/web-0, pvc/data)",
                             object);
    return EXIT_DONE;
}

/* The methods in the life of a volume. */
static const struct {
    CsiMethod method;
    const char *binding_mode, *note;
} methods[] = {
    {CSI_CREATE_VOLUME,               "Immediate",            ""                                  },
    {CSI_CREATE_VOLUME,               "WaitForFirstConsumer", " (for a pod, WaitForFirstConsumer)"},
    {CSI_CONTROLLER_PUBLISH_VOLUME,   "Immediate",            ""                                  },
    {CSI_NODE_STAGE_VOLUME,           "Immediate",            ""                                  },
    {CSI_NODE_PUBLISH_VOLUME,         "Immediate",            ""                                  },
    {CSI_CONTROLLER_EXPAND_VOLUME,    "Immediate",            ""                                  },
    {CSI_NODE_EXPAND_VOLUME,          "Immediate",            ""                                  },
    {CSI_NODE_UNPUBLISH_VOLUME,       "Immediate",            ""                                  },
    {CSI_NODE_UNSTAGE_VOLUME,         "Immediate",            ""                                  },
    {CSI_CONTROLLER_UNPUBLISH_VOLUME, "Immediate",            ""                                  },
    {CSI_DELETE_VOLUME,               "Immediate",            ""                                  },
};

/* "external-provisioner: again after 1s, 2s, 4s (ProvisioningFailed)". (owned) */
static char *
retries_text(const NarratorRetries *retries)
{
    GString *text = g_string_new(NULL);
    char buffer[SIM_TIME_BUFFER];

    g_string_append_printf(text, "%s: ", retries->caller);
    if (retries->n_delays == 0)
        g_string_append(text, "not called again");
    for (unsigned i = 0; i < retries->n_delays; i++)
        g_string_append_printf(
            text, "%s%s", i == 0 ? "again after " : ", ",
            sim_time_format((retries->delays[i] + 50 * SIM_MS) / (100 * SIM_MS) * (100 * SIM_MS),
                            buffer));
    for (unsigned i = 0; i < retries->reasons->len; i++)
        g_string_append_printf(text, "%s%s%s", i == 0 ? " (" : ", ",
                               (const char *)retries->reasons->pdata[i],
                               i + 1 == retries->reasons->len ? ")" : "");
    return g_string_free(text, FALSE);
}

/* Runs the scenario with one error of one method. Returns: (owned): the consequences; NULL with the
 * fault printed */
static char *
try_code(const char *file, CsiMethod method, const char *binding_mode, CsiCode code)
{
    g_autofree char *set_method =
        g_strdup_printf("spec.drivers[0].errors[0].method=%s", csi_method_name(method));
    g_autofree char *set_code =
        g_strdup_printf("spec.drivers[0].errors[0].code=%s", csi_code_name(code));
    g_autofree char *set_mode =
        g_strdup_printf("StorageClass/lab.volumeBindingMode=%s", binding_mode);
    char *set[] = {set_method, set_code, set_mode, NULL};
    const LookOptions options = {.set = set};
    g_autoptr(Look) look = look_open(&options, file);
    g_autoptr(Narrator) narrator = look != NULL ? narrator_new(look->run) : NULL;
    NarratorRetries retries;

    if (look == NULL || !look_advance(look, "--at", NULL))
        return NULL;
    gboolean is_found = narrator_retries(narrator, method, code, &retries);
    char *text = is_found ? retries_text(&retries) : g_strdup("is not called");
    g_ptr_array_unref(retries.reasons);
    return text;
}

/* Codes with the same consequences are printed together. */
static void
print_method(unsigned row, char *texts[CSI_N_CODES])
{
    printf("%s%s\n", csi_method_name(methods[row].method), methods[row].note);
    for (unsigned code = CSI_OK + 1; code < CSI_N_CODES; code++) {
        g_autoptr(GString) codes = g_string_new(csi_code_name((CsiCode)code));

        if (texts[code] == NULL)
            continue;
        for (unsigned other = code + 1; other < CSI_N_CODES; other++)
            if (texts[other] != NULL && strcmp(texts[other], texts[code]) == 0) {
                g_string_append_printf(codes, ", %s", csi_code_name((CsiCode)other));
                g_clear_pointer(&texts[other], g_free);
            }
        printf("  %s\n    %s\n", codes->str, texts[code]);
    }
}

static void
add_method(unsigned row, char *const texts[CSI_N_CODES], json_t *list)
{
    for (unsigned code = CSI_OK + 1; code < CSI_N_CODES; code++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "method",
                                              csi_method_name(methods[row].method), "bindingMode",
                                              methods[row].binding_mode, "code",
                                              csi_code_name((CsiCode)code), "then", texts[code]));
}

/* @list: gets the consequences; NULL: they are printed */
static gboolean
explain_method(const char *file, unsigned row, json_t *list)
{
    char *texts[CSI_N_CODES] = {NULL};
    gboolean is_sound = TRUE;

    for (unsigned code = CSI_OK + 1; code < CSI_N_CODES && is_sound; code++)
        is_sound = (texts[code] = try_code(file, methods[row].method, methods[row].binding_mode,
                                           (CsiCode)code)) != NULL;
    if (is_sound && list != NULL)
        add_method(row, texts, list);
    else if (is_sound)
        print_method(row, texts);
    for (unsigned code = 0; code < CSI_N_CODES; code++)
        g_free(texts[code]);
    return is_sound;
}

/* For authors of drivers: the consequences of each error of each method, found by running
 * scenarios/csi-errors.yaml. */
static ExitCode
explain_csi(gboolean is_json)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autofree char *file = g_build_filename(data_dir, "scenarios", "csi-errors.yaml", NULL);
    json_auto_t *list = is_json ? json_array() : NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(methods); i++)
        if (!explain_method(file, i, list))
            return EXIT_ERROR;
    if (is_json)
        cli_print_json(list);
    return EXIT_DONE;
}

int
cmd_explain(int argc, char **argv)
{
    g_auto(LookOptions) look = {0};
    g_autofree char *level = NULL, *language = NULL, *format = NULL, *namespace = NULL;
    ExplainOptions options = {.look = &look};
    const GOptionEntry more[] = {
        CLI_OPTION("level", STRING, &level, "beginner, operator (default) or developer", "LEVEL"),
        {"namespace", 'n', 0, G_OPTION_ARG_STRING, &namespace, "of the object (default: any)",
                                                                                         "NAMESPACE"},
        CLI_OPTION("lang", STRING, &language, "en or zh (default: from $LANG)", "LANG"),
        CLI_OPTION("csi", NONE, &options.csi,
                   "Without a scenario: list the consequences of each error of each CSI method",
                   NULL),
        CLI_OPTION("rules", NONE, &options.rules, "List only the rules that were applied", NULL),
        CLI_FORMAT_OPTION(&format),
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *entries = look_entries(&look, more);

    if (!cli_parse(
            &argc, &argv, entries, "SCENARIO [OBJECT]",
            "Tell a run as a story: what each component did, by which rule, with what outcome.",
            "OBJECT: kind/name; the story of this object and of its parts only.\n"
            "With --at the story ends at that time, with the waits that are open then.") ||
        !cli_parse_format("explain", format, &options.is_json))
        return EXIT_BAD_INPUT;
    if (options.csi && argc == 1)
        return explain_csi(options.is_json);
    if (options.csi || (argc != 2 && argc != 3))
        return cli_bad_usage("explain", "give one scenario file, and an object if you like");
    if (!parse_level(level, &options.level) || !language_choose(language, &options.translate))
        return EXIT_BAD_INPUT;
    return explain(&options, argv[1], namespace, argc == 3 ? argv[2] : NULL);
}
