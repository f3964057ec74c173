/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim step: a stepper at a prompt, or with commands from a pipe. At a terminal readline gets
 * one character at a time. In between, poll() waits for characters and signals together, so that a
 * signal never interrupts anything. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "cli/common/language.h"
#include "cli/common/look.h"
#include "cli/common/paint.h"
#include "commands.h"
#include "run/teach/stepper.h"

#define HISTORY_MAX 500

typedef struct {
    Stepper *stepper;
    GString *out, *errors;
    int signals; /* signalfd */
    /* Signals that came: Ctrl-C; SIGTERM or SIGHUP; SIGWINCH */
    gboolean is_interrupted, is_ended, is_resized;
    gboolean was_refused;
} StepCommand;

/* Global, because readline's callbacks have no argument for it. */
static struct {
    StepCommand *command;
    char *line; /* (owned): NULL with @is_read: the end of the input */
    gboolean is_read;
    char **candidates; /* (owned): for a completion */
} prompt;

/* ---- Signals ---- */

static void
take_signals(StepCommand *self)
{
    struct signalfd_siginfo signal;

    while (self->signals >= 0 && read(self->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGWINCH)
            self->is_resized = TRUE;
        else if (signal.ssi_signo == SIGINT)
            self->is_interrupted = TRUE;
        else {
            self->is_ended = TRUE;
            kill(getpid(), (int)signal.ssi_signo); /* stays pending, for cli_end() */
            break;
        }
    }
}

static gboolean
wants_to_stop(void *data)
{
    StepCommand *self = data;

    take_signals(self);
    return self->is_interrupted || self->is_ended;
}

/* ---- Commands ---- */

static StepperAnswer
cmd_step_carry_out(StepCommand *self, const char *line)
{
    StepperAnswer answer = stepper_command(self->stepper, line, self->out, self->errors);

    plain_print(stdout, self->out->str);
    fflush(stdout);
    plain_print(stderr, self->errors->str);
    g_string_truncate(self->out, 0);
    g_string_truncate(self->errors, 0);
    self->was_refused |= answer == STEPPER_REFUSED;
    return answer;
}

/* For scripts: the status tells whether every line was understood. */
static ExitCode
exit_code(const StepCommand *self, StepperAnswer last)
{
    if (last == STEPPER_INTERRUPTED || self->is_ended)
        return EXIT_INTERRUPTED;
    return self->was_refused ? EXIT_BAD_INPUT : EXIT_DONE;
}

static ExitCode
carry_out_lines(StepCommand *self, char **lines)
{
    StepperAnswer answer = STEPPER_DONE;

    for (; *lines != NULL && answer != STEPPER_QUIT && answer != STEPPER_INTERRUPTED; lines++)
        answer = cmd_step_carry_out(self, *lines);
    return exit_code(self, answer);
}

static ExitCode
carry_out_pipe(StepCommand *self)
{
    StepperAnswer answer = STEPPER_DONE;
    char *line = NULL;
    size_t capacity = 0;

    while (answer != STEPPER_QUIT && answer != STEPPER_INTERRUPTED &&
           getline(&line, &capacity, stdin) >= 0)
        answer = cmd_step_carry_out(self, line);
    free(line);
    return exit_code(self, answer);
}

/* ---- At a terminal ---- */

static void
line_is_read(char *line)
{
    prompt.line = line;
    prompt.is_read = TRUE;
    rl_callback_handler_remove(); /* restores the terminal while a command runs */
}

/* Returns: (owned): the next one at each call; readline frees it */
static char *
next_candidate(const char *text, int state)
{
    static unsigned i;

    (void)text;
    if (state == 0)
        i = 0;
    return prompt.candidates[i] != NULL ? strdup(prompt.candidates[i++]) : NULL;
}

static char **
cmd_step_complete(const char *text, int start, int end)
{
    gboolean may_be_file = g_str_has_prefix(rl_line_buffer, "create ");
    char **matches;

    rl_attempted_completion_over = !may_be_file;
    prompt.candidates =
        stepper_complete(prompt.command->stepper, rl_line_buffer, (unsigned)start, (unsigned)end);
    matches = rl_completion_matches(text, next_candidate);
    g_clear_pointer(&prompt.candidates, g_strfreev);
    return matches;
}

/* Ctrl-C at the prompt starts a new, empty line. */
static void
begin_line_again(void)
{
    rl_callback_sigcleanup();
    fputs("^C\n", stdout);
    rl_replace_line("", 0);
    rl_on_new_line();
    rl_redisplay();
}

/* Returns: (owned): malloc; NULL: the end */
static char *
cmd_step_read_line(StepCommand *self)
{
    char time[SIM_TIME_BUFFER];
    g_autofree char *text = g_strdup_printf("%s> ", stepper_time(self->stepper, time));

    self->is_interrupted = FALSE;
    prompt.is_read = FALSE;
    prompt.line = NULL;
    rl_callback_handler_install(text, line_is_read);
    while (!prompt.is_read && !self->is_ended) {
        struct pollfd waits[] = {
            {.fd = STDIN_FILENO,  .events = POLLIN},
            {.fd = self->signals, .events = POLLIN},
        };

        if (self->is_resized)
            rl_resize_terminal();
        if (self->is_interrupted)
            begin_line_again();
        self->is_resized = self->is_interrupted = FALSE;
        fflush(stdout); /* readline does it only before it reads */
        if (poll(waits, G_N_ELEMENTS(waits), -1) < 0 && errno != EINTR)
            break;
        take_signals(self);
        if (waits[0].revents != 0 && !self->is_ended)
            rl_callback_read_char();
    }
    if (!prompt.is_read)
        rl_callback_handler_remove();
    return g_steal_pointer(&prompt.line);
}

/* The file with the lines of earlier sessions. (owned) */
static char *
history_file(void)
{
    g_autofree char *folder = g_build_filename(g_get_user_state_dir(), "kvolsim", NULL);

    g_mkdir_with_parents(folder, 0700);
    return g_build_filename(folder, "step-history", NULL);
}

static void
remember(const char *line)
{
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;

    if (*line != '\0' && (last == NULL || strcmp(last->line, line) != 0))
        add_history(line);
}

static ExitCode
talk(StepCommand *self)
{
    g_autofree char *history = history_file();
    StepperAnswer answer = STEPPER_DONE;
    char *line;

    prompt.command = self;
    rl_readline_name = "kvolsim";
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_attempted_completion_function = cmd_step_complete;
    rl_completer_word_break_characters = " \t";
    using_history();
    stifle_history(HISTORY_MAX);
    read_history(history); /* fails the first time: there is none */
    puts("Time stands still. `help` lists the commands; `continue` lets it pass.");
    while (answer != STEPPER_QUIT && (line = cmd_step_read_line(self)) != NULL) {
        remember(line);
        answer = cmd_step_carry_out(self, line);
        free(line);
    }
    if (answer != STEPPER_QUIT)
        putchar('\n');
    write_history(history); /* fails without a state folder */
    return self->is_ended ? EXIT_INTERRUPTED : EXIT_DONE;
}

static ExitCode
step(const LookOptions *options, const char *file, char **lines, Translation translate)
{
    g_autoptr(Look) look = look_open(options, file);
    g_autofree char *data_dir = cli_data_dir();
    StepCommand self = {0};
    ExitCode code;

    if (look == NULL)
        return EXIT_BAD_INPUT;
    self.stepper = stepper_new(&(StepperOptions){
        .run = look->run,
        .file = file,
        .options = {.data_dir = data_dir, .set = (const char *const *)options->set},
        .translate = translate,
        .is_interrupted = wants_to_stop,
        .data = &self,
    });
    self.out = g_string_new(NULL);
    self.errors = g_string_new(NULL);
    self.signals = cli_open_signals(SIGWINCH);
    if (options->at != NULL && !look_advance(look, "--at", options->at))
        code = EXIT_BAD_INPUT;
    else if (lines != NULL)
        code = carry_out_lines(&self, lines);
    else
        code = isatty(STDIN_FILENO) ? talk(&self) : carry_out_pipe(&self);
    if (self.signals >= 0)
        close(self.signals);
    g_string_free(self.out, TRUE);
    g_string_free(self.errors, TRUE);
    g_clear_pointer(&look->run, run_free); /* first: it borrows the actions of the stepper */
    stepper_free(self.stepper);
    return code;
}

int
cmd_step(int argc, char **argv)
{
    g_auto(LookOptions) options = {0};
    g_auto(GStrv) lines = NULL;
    g_autofree char *language = NULL;
    Translation translate;
    const GOptionEntry more[] = {
        {"command", 'c', 0, G_OPTION_ARG_STRING_ARRAY, &lines,
         "Carry out this line; may be repeated; end after the last one", "LINE"},
        CLI_OPTION("lang", STRING, &language,
                   "Language of the story: en or zh (default: from $LANG)", "LANG"),
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *entries = look_entries(&options, more);

    entries[0].description = "Let time pass to here first (default: the start of the run)";

    if (!cli_parse(
            &argc, &argv, entries, "SCENARIO",
            "Step through a run: event by event, write by write, up to a time, a condition or "
            "a breakpoint;\nshow objects, list the components that act next, and change things by "
            "hand.",
            "Commands come from the terminal, with completion and history, or from a pipe, one "
            "per line; `help`\nlists them. Exit status without a terminal: 2 if a line was not "
            "understood, 130 interrupted."))
        return EXIT_BAD_INPUT;
    if (!cli_has_one("step", argc, "scenario") || !language_choose(language, &translate))
        return EXIT_BAD_INPUT;
    return step(&options, argv[1], lines, translate);
}
