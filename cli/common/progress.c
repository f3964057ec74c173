/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SHOW_AFTER_US (G_USEC_PER_SEC / 2) /* short runs show nothing */
#define SHOW_EVERY_US (G_USEC_PER_SEC / 5)

struct Progress {
    int signals; /* a signalfd; -1: none */
    gboolean is_interrupted, is_terminal, is_shown;
    gint64 started_us, shown_us, counted_us; /* of the monotonic clock */
    unsigned done;                           /* since @counted_us */
};

Progress *
progress_new(void)
{
    Progress *self = g_new0(Progress, 1);

    self->signals = cli_open_signals(0);
    self->is_terminal = isatty(STDERR_FILENO);
    self->started_us = self->counted_us = g_get_monotonic_time();
    return self;
}

void
progress_free(Progress *self)
{
    if (self == NULL)
        return;
    progress_hide(self);
    if (self->signals >= 0)
        close(self->signals);
    g_free(self);
}

gboolean
progress_is_due(const Progress *self)
{
    if (!self->is_terminal)
        return FALSE;
    gint64 now = g_get_monotonic_time();
    return now - self->started_us >= SHOW_AFTER_US && now - self->shown_us >= SHOW_EVERY_US;
}

void
progress_show(Progress *self, const char *format, ...)
{
    va_list args;

    if (!self->is_terminal)
        return;
    va_start(args, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, args);
    fflush(stderr);
    va_end(args);
    self->shown_us = g_get_monotonic_time();
    self->is_shown = TRUE;
}

void
progress_hide(Progress *self)
{
    if (self->is_shown)
        fputs("\r\033[K", stderr);
    self->is_shown = FALSE;
}

double
progress_seconds(const Progress *self)
{
    return (double)(g_get_monotonic_time() - self->started_us) / G_USEC_PER_SEC;
}

double
progress_rate(Progress *self, unsigned done)
{
    gint64 now = g_get_monotonic_time();

    if (done < self->done)
        self->counted_us = now;
    self->done = done;
    return (double)done * G_USEC_PER_SEC / (double)MAX(now - self->counted_us, 1);
}

gboolean
progress_is_interrupted(Progress *self)
{
    struct signalfd_siginfo info;

    if (!self->is_interrupted && self->signals >= 0 &&
        read(self->signals, &info, sizeof info) == sizeof info) {
        self->is_interrupted = TRUE;
        kill(getpid(), (int)info.ssi_signo); /* stays pending, for cli_end() */
    }
    return self->is_interrupted;
}
