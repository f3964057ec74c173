/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "result-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

ResultFile *
result_file_new(const char *folder, const char *name)
{
    ResultFile *self = g_new0(ResultFile, 1);

    self->text = g_string_new(NULL);
    self->path = g_build_filename(folder, name, NULL);
    self->fd = -1;
    return self;
}

ResultFile *
result_file_new_in_memory(void)
{
    ResultFile *self = g_new0(ResultFile, 1);

    self->text = g_string_new(NULL);
    self->fd = -1;
    return self;
}

void
result_file_free(ResultFile *self)
{
    if (self == NULL)
        return;
    if (self->fd >= 0)
        close(self->fd);
    if (self->temporary != NULL)
        g_unlink(self->temporary);
    g_string_free(self->text, TRUE);
    g_free(self->temporary);
    g_free(self->path);
    g_clear_error(&self->error);
    g_free(self);
}

/* Keeps the first fault. @reason: an errno */
static void
result_file_fail(ResultFile *self, int reason)
{
    if (self->error == NULL)
        self->error = g_error_new(G_FILE_ERROR, (int)g_file_error_from_errno(reason), "%s: %s",
                                  self->path, g_strerror(reason));
}

static gboolean
open_temporary(ResultFile *self)
{
    g_autofree char *temporary = g_strconcat(self->path, ".XXXXXX", NULL);

    self->fd = g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, 0666);
    if (self->fd == -1) {
        result_file_fail(self, errno);
        return FALSE;
    }
    self->temporary = g_steal_pointer(&temporary);
    return TRUE;
}

static void
write_all(ResultFile *self)
{
    const char *rest = self->text->str;
    gsize n = self->text->len;

    while (n > 0) {
        ssize_t written = write(self->fd, rest, n);
        if (written >= 0) {
            rest += written;
            n -= (gsize)written;
        } else if (errno != EINTR) {
            result_file_fail(self, errno);
            return;
        }
    }
}

void
result_file_pass_on(ResultFile *self)
{
    if (self->path == NULL)
        return; /* in memory */
    if (self->error == NULL && self->go_on != NULL && !self->go_on(self->go_on_data))
        result_file_fail(self, EINTR);
    if (self->error == NULL && (self->fd >= 0 || open_temporary(self)))
        write_all(self);
    g_string_truncate(self->text, 0);
}

/* As g_file_set_contents() does: an earlier file must not be empty after a crash of the machine. */
static gboolean
replaces_something(const ResultFile *self)
{
    GStatBuf earlier;

    return g_stat(self->path, &earlier) == 0 && earlier.st_size > 0;
}

static void
close_temporary(ResultFile *self)
{
    if (self->error == NULL && replaces_something(self) && fsync(self->fd) != 0)
        result_file_fail(self, errno);
    if (close(self->fd) != 0)
        result_file_fail(self, errno);
    self->fd = -1;
    if (self->error == NULL && g_rename(self->temporary, self->path) != 0)
        result_file_fail(self, errno);
    if (self->error == NULL)
        g_clear_pointer(&self->temporary, g_free);
}

gboolean
result_file_finish(ResultFile *self, GError **error)
{
    if (self->text->len > 0)
        result_file_pass_on(self);
    if (self->fd >= 0)
        close_temporary(self);
    if (self->error == NULL)
        return TRUE;
    if (self->temporary != NULL)
        g_unlink(self->temporary);
    g_clear_pointer(&self->temporary, g_free);
    g_propagate_error(error, g_steal_pointer(&self->error));
    return FALSE;
}

gboolean
result_file_write(const char *folder, const char *name, const char *contents, GError **error)
{
    g_autoptr(ResultFile) file = result_file_new(folder, name);

    g_string_append(file->text, contents);
    return result_file_finish(file, error);
}
