/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/lib/test.h"

/* kvolsim step at a terminal: each case talks to it through a pseudo-terminal as somebody would,
 * and waits for what it says. How fast either side is does not matter: nothing sleeps, and DEADLINE
 * is only there so that a fault ends. */

#define DEADLINE (120 * G_USEC_PER_SEC)

typedef struct {
    pid_t pid;
    int master;
    GString *said; /* all that came from the program */
    gsize heard;   /* what a case has waited for so far */
} Terminal;

static char *state_home; /* of all cases */

static Terminal
open_terminal(const char *scenario, const char *set)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 80};
    g_autofree char *program = g_build_filename(g_getenv("KVOLSIM_BUILDDIR"), "kvolsim", NULL);
    g_autofree char *file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios", scenario, NULL);
    g_auto(GStrv) environment = g_get_environ();
    Terminal self = {.said = g_string_new(NULL)};

    environment = g_environ_setenv(environment, "TERM", "vt100", TRUE);
    environment = g_environ_setenv(environment, "INPUTRC", "/dev/null", TRUE);
    environment = g_environ_setenv(environment, "XDG_STATE_HOME", state_home, TRUE);
    environment = g_environ_unsetenv(environment, "COLUMNS");
    environment = g_environ_unsetenv(environment, "LINES");
    const char *const arguments[] = {"kvolsim", "step", file, set != NULL ? "--set" : NULL,
                                     set,       NULL};
    self.pid = forkpty(&self.master, NULL, NULL, &size);
    if (self.pid == 0) {
        execve(program, (char *const *)arguments, environment);
        _exit(127);
    }
    assert_true(self.pid > 0);
    return self;
}

/* Waits until the program has something to say. Returns: FALSE: it has ended */
static gboolean
listen_on(Terminal *self, gint64 until)
{
    struct pollfd wait = {.fd = self->master, .events = POLLIN};
    char buffer[4096];
    gint64 left = (until - g_get_monotonic_time()) / 1000;

    if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
        fail_msg("nothing came; said so far:\n%s", self->said->str);
    ssize_t length = read(self->master, buffer, sizeof buffer);
    if (length <= 0) /* EIO: the other side is closed */
        return FALSE;
    for (ssize_t i = 0; i < length; i++)
        if (buffer[i] != '\0') /* old terminals are given time by these */
            g_string_append_c(self->said, buffer[i]);
    return TRUE;
}

/* Waits for @text after what was waited for before. */
static void
hear(Terminal *self, const char *text)
{
    gint64 until = g_get_monotonic_time() + DEADLINE;
    const char *found;

    while ((found = strstr(self->said->str + self->heard, text)) == NULL)
        if (!listen_on(self, until))
            fail_msg("\"%s\" did not come before the end; said so far:\n%s", text, self->said->str);
    self->heard = (gsize)(found - self->said->str) + strlen(text);
}

static void
type(Terminal *self, const char *text)
{
    size_t length = strlen(text);

    assert_int_equal(write(self->master, text, length), length);
}

/* Waits for the end of the program. Returns: its exit status; -1: a signal ended it */
static int
await_end(Terminal *self)
{
    gint64 until = g_get_monotonic_time() + DEADLINE;
    int status = -1;

    if (self->master >= 0) {
        while (listen_on(self, until))
            continue;
        close(self->master);
    }
    struct pollfd end = {.fd = pidfd_open(self->pid, 0), .events = POLLIN};
    assert_true(end.fd >= 0);
    assert_int_equal(poll(&end, 1, (int)(DEADLINE / 1000)), 1);
    close(end.fd);
    assert_int_equal(waitpid(self->pid, &status, 0), self->pid);
    g_string_free(self->said, TRUE);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
leave(Terminal *self)
{
    type(self, "quit\r");
    assert_int_equal(await_end(self), 0);
}

#define SCENARIO "wait-for-first-consumer.yaml"

TEST(a_prompt_tells_the_time_and_commands_are_carried_out)
{
    Terminal terminal = open_terminal(SCENARIO, NULL);

    hear(&terminal, "0s> ");
    type(&terminal, "until 11.5s\r");
    hear(&terminal, "11.5s (+11.5s) as asked for");
    hear(&terminal, "11.5s> ");
    type(&terminal, "get pvc data -o name\r");
    hear(&terminal, "persistentvolumeclaim/data\r\n");
    hear(&terminal, "11.5s> ");
    type(&terminal, "nonsense\r");
    hear(&terminal, "there is no command \"nonsense\"");
    hear(&terminal, "11.5s> ");
    leave(&terminal);
}

TEST(ctrl_c_at_the_prompt_drops_the_line)
{
    Terminal terminal = open_terminal(SCENARIO, NULL);

    hear(&terminal, "0s> ");
    type(&terminal, "nonsense");
    hear(&terminal, "nonsense");
    type(&terminal, "\003");
    hear(&terminal, "^C\r\n");
    hear(&terminal, "0s> ");
    type(&terminal, "until 1s\r");
    hear(&terminal, "1s (+1s) as asked for");
    leave(&terminal);
}

/* A claim that is tried again every few minutes for 285 years: to the end it would take minutes. */
TEST(ctrl_c_breaks_off_what_takes_long)
{
    Terminal terminal =
        open_terminal("../tests/cli/stuck/10-provision-error.yaml", "spec.until=2500000h");

    for (unsigned i = 0; i < 2; i++) {
        hear(&terminal, "s> ");
        type(&terminal, "continue\r");
        hear(&terminal, "continue\r\n");
        type(&terminal, "\003");
        hear(&terminal, ") interrupted");
    }
    hear(&terminal, "s> ");
    type(&terminal, "get pods -o name\r");
    hear(&terminal, "pod/");
    hear(&terminal, "s> ");
    leave(&terminal);
}

TEST(the_end_of_the_input_is_the_end)
{
    Terminal terminal = open_terminal(SCENARIO, NULL);

    hear(&terminal, "0s> ");
    type(&terminal, "until 1s\r");
    hear(&terminal, "1s> ");
    type(&terminal, "\004");
    assert_int_equal(await_end(&terminal), 0);
}

/* The terminal goes, as when its window is closed. */
TEST(a_hang_up_ends_it)
{
    Terminal terminal = open_terminal(SCENARIO, NULL);

    hear(&terminal, "0s> ");
    close(terminal.master);
    terminal.master = -1;
    assert_in_range(await_end(&terminal), 0, 130);
}

/* Whoever ends it gets the terminal back as it was. */
TEST(a_kill_leaves_the_terminal_as_it_was)
{
    Terminal terminal = open_terminal(SCENARIO, NULL);
    struct termios modes;

    hear(&terminal, "0s> ");
    int slave =
        open(ptsname(terminal.master), O_RDWR | O_NOCTTY); /* so that the modes outlive it */
    assert_true(slave >= 0);
    assert_int_equal(tcgetattr(slave, &modes), 0);
    assert_true((modes.c_lflag & ICANON) == 0);
    kill(terminal.pid, SIGTERM);
    struct pollfd end = {.fd = pidfd_open(terminal.pid, 0), .events = POLLIN};
    assert_int_equal(poll(&end, 1, (int)(DEADLINE / 1000)), 1);
    close(end.fd);
    assert_int_equal(tcgetattr(slave, &modes), 0);
    assert_true((modes.c_lflag & ICANON) != 0 && (modes.c_lflag & ECHO) != 0);
    close(slave);
    assert_int_equal(await_end(&terminal), 143);
}

/* The prompt is drawn anew, and a line that is longer than the new width is read whole. */
TEST(a_new_size_of_the_window_is_heeded)
{
    const struct winsize narrow = {.ws_row = 24, .ws_col = 40},
                         wide = {.ws_row = 50, .ws_col = 200};
    Terminal terminal = open_terminal(SCENARIO, NULL);

    hear(&terminal, "0s> ");
    assert_int_equal(ioctl(terminal.master, TIOCSWINSZ, &narrow), 0);
    hear(&terminal, "0s> ");
    type(&terminal,
         "get storageclasses lab-wffc -o jsonpath={.volumeBindingMode},{.reclaimPolicy}\r");
    hear(&terminal, "WaitForFirstConsumer,Delete");
    hear(&terminal, "0s> ");
    assert_int_equal(ioctl(terminal.master, TIOCSWINSZ, &wide), 0);
    hear(&terminal, "0s> ");
    leave(&terminal);
}

TEST(names_are_completed)
{
    static const struct {
        const char *typed, *completed;
    } cases[] = {
        {"expl\t",                "explain "                }, /* a command */
        {"get storagecl\t",       "storageclass "           }, /* a kind */
        {"get sc la\t",           "lab-wffc "               }, /* a name of that kind */
        {"until pvc/d\t",         "pvc/data "               }, /* an object */
        {"break ControllerPub\t", "ControllerPublishVolume "},
    };
    Terminal terminal = open_terminal(SCENARIO, NULL);

    hear(&terminal, "0s> ");
    type(&terminal, "until 2s\r");
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        hear(&terminal, "2s> ");
        type(&terminal, cases[i].typed);
        hear(&terminal, cases[i].completed);
        type(&terminal, "\003"); /* the line is not meant */
        hear(&terminal, "^C\r\n");
    }
    hear(&terminal, "2s> ");
    leave(&terminal);
}

TEST(lines_are_remembered_to_the_next_time)
{
    Terminal first = open_terminal(SCENARIO, NULL);

    hear(&first, "0s> ");
    type(&first, "until 4321ms\r");
    hear(&first, "4.321s> ");
    type(&first, "\004");
    assert_int_equal(await_end(&first), 0);

    Terminal second = open_terminal(SCENARIO, NULL);
    hear(&second, "0s> ");
    type(&second, "\033[A");
    hear(&second, "until 4321ms");
    type(&second, "\r");
    hear(&second, "4.321s> ");
    leave(&second);
}

static int
make_state_home(void **state)
{
    (void)state;
    state_home = g_dir_make_tmp("kvolsim-step-XXXXXX", NULL);
    return state_home == NULL;
}

static int
remove_state_home(void **state)
{
    g_autofree char *folder = g_build_filename(state_home, "kvolsim", NULL);
    g_autofree char *file = g_build_filename(folder, "step-history", NULL);

    (void)state;
    g_unlink(file);
    g_rmdir(folder);
    g_rmdir(state_home);
    g_clear_pointer(&state_home, g_free);
    return 0;
}
TEST_PROGRAM(make_state_home, remove_state_home);
