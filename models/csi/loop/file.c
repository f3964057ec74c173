/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* The files behind volumes and snapshots: creation, growth, copies. A new file has a temporary name
 * until it is complete and on the disk; then it is renamed, so a file under its final name is
 * always whole. Room is reserved with fallocate, or the file only made longer where the file system
 * lacks it (LOOP-1). A copy shares blocks (FICLONE) if it can; else holes stay holes. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CHUNK (1 << 20)

/* ---- New files have another name until they are complete ---- */

typedef struct {
    LoopLedger *ledger;
    const char *path;
    char *partial;
    int file;
    gboolean is_fleeting; /* it need not survive a power cut */
} NewFile;

static gboolean
file_begin(NewFile *self, LoopLedger *ledger, const char *path, GError **error)
{
    *self = (NewFile){ledger, path, g_strconcat(path, ".partial", NULL), -1, FALSE};
    g_autofree char *full = loop_ledger_path(ledger, self->partial);

    if (!loop_ledger_do(ledger, LOOP_FILE, self->partial, error))
        return FALSE;
    self->file = open(full, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (self->file == -1) {
        loop_refuse_errno(error, errno, "%s", full);
        loop_ledger_undo(ledger, LOOP_FILE, self->partial);
    }
    return self->file != -1;
}

static gboolean
rename_into_place(const NewFile *self, GError **error)
{
    g_autofree char *from = loop_ledger_path(self->ledger, self->partial);
    g_autofree char *to = loop_ledger_path(self->ledger, self->path);
    g_autofree char *folder = g_path_get_dirname(self->path);

    if (!loop_ledger_do(self->ledger, LOOP_FILE, self->path, error))
        return FALSE;
    if (rename(from, to) != 0)
        return loop_refuse_errno(error, errno, "%s", to);
    loop_ledger_undo(self->ledger, LOOP_FILE, self->partial);
    return self->is_fleeting || loop_ledger_flush_folder(self->ledger, folder, error);
}

/* @good: no error so far. Returns: whether the file is on the disk under its final name */
static gboolean
file_finish(NewFile *self, gboolean good, GError **error)
{
    if (self->file != -1 && good && !self->is_fleeting && fsync(self->file) != 0) {
        loop_refuse_errno(error, errno, "%s", self->partial);
        good = FALSE;
    }
    if (self->file != -1) {
        close(self->file);
        good = good && rename_into_place(self, error);
        if (!good)
            loop_ledger_remove(self->ledger, LOOP_FILE, self->partial, NULL);
    }
    g_free(self->partial);
    return self->file != -1 && good;
}

/* ---- Room ---- */

/* Reserves blocks from @from to @to, or just makes the file longer where the file system has no
 * fallocate (LOOP-1). Returns: 0 or an errno */
static int
lengthen(int file, int64_t from, int64_t to, gboolean sparse)
{
    if (to <= from)
        return 0;
    if (!sparse && fallocate(file, 0, from, to - from) == 0)
        return 0;
    if (!sparse && errno != EOPNOTSUPP)
        return errno;
    return ftruncate(file, to) == 0 ? 0 : errno;
}

gboolean
loop_file_create(
    LoopLedger *ledger, const char *path, int64_t bytes, gboolean sparse, GError **error)
{
    NewFile new;
    gboolean good = file_begin(&new, ledger, path, error);
    int code = good ? lengthen(new.file, 0, bytes, sparse) : 0;

    if (code != 0)
        loop_refuse_errno(error, code, "%s", path);
    return file_finish(&new, good && code == 0, error);
}

gboolean
loop_file_grow(
    const LoopLedger *ledger, const char *path, int64_t bytes, gboolean sparse, GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, path);
    int file = open(full, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    int code = file != -1 && fstat(file, &status) == 0 ? 0 : errno;

    if (code == 0) {
        code = lengthen(file, status.st_size, bytes, sparse);
        if (code == 0 && fsync(file) != 0)
            code = errno;
        /* fallocate() keeps the blocks that it got before the disk was full; nobody has seen the
         * new end yet. */
        if (code != 0 && ftruncate(file, status.st_size) != 0)
            code = errno;
    }
    if (file != -1)
        close(file);
    if (code == ENOENT)
        loop_refuse(error, CSI_NOT_FOUND, "%s is gone", full);
    else if (code != 0)
        loop_refuse_errno(error, code, "%s", full);
    return code == 0;
}

/* ---- Copies ---- */

/* 0 or an errno. */
static int
copy_by_hand(int from, int to, int64_t start, int64_t end)
{
    g_autofree char *buffer = g_malloc(CHUNK);

    while (start < end) {
        ssize_t n = pread(from, buffer, (size_t)MIN(end - start, CHUNK), start);
        if (n == 0)
            return EIO; /* the file became shorter meanwhile */
        if (n < 0)
            return errno;
        for (ssize_t done = 0; done < n;) {
            ssize_t written = pwrite(to, buffer + done, (size_t)(n - done), start + done);
            if (written < 0)
                return errno;
            done += written;
        }
        start += n;
    }
    return 0;
}

static int
copy_range(int from, int to, int64_t start, int64_t end)
{
    while (start < end) {
        loff_t in = start, out = start;
        ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - start), 0);
        if (n == 0)
            return EIO;
        if (n < 0)
            return errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP
                       ? copy_by_hand(from, to, start, end)
                       : errno;
        start += n;
    }
    return 0;
}

/* Holes stay holes. */
static int
copy_data(int from, int to, int64_t bytes)
{
    int64_t at = 0;

    if (ftruncate(to, bytes) != 0)
        return errno;
    while (at < bytes) {
        int64_t start = lseek(from, at, SEEK_DATA);
        if (start == -1 && errno == ENXIO)
            return 0; /* only a hole up to the end */
        int64_t end = start == -1 ? -1 : lseek(from, start, SEEK_HOLE);
        if (end == -1)
            return errno;
        int code = copy_range(from, to, start, MIN(end, bytes));
        if (code != 0)
            return code;
        at = end;
    }
    return 0;
}

static int
share_or_copy(int from, int to, int64_t bytes, gboolean *shared)
{
    *shared = ioctl(to, FICLONE, from) == 0;
    if (*shared)
        return 0;
    if (errno != EOPNOTSUPP && errno != EXDEV && errno != EINVAL && errno != ENOTTY)
        return errno;
    return copy_data(from, to, bytes);
}

/* 0 or an errno. */
static int
copy_open(int from, int to, int64_t bytes, gboolean *shared)
{
    struct stat status;

    if (fstat(from, &status) != 0)
        return errno;
    int code = share_or_copy(from, to, status.st_size, shared);
    return code != 0 ? code : lengthen(to, status.st_size, bytes, *shared);
}

gboolean
loop_file_copy(LoopLedger *ledger,
               const char *source,
               const char *path,
               int64_t bytes,
               gboolean *shared,
               GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, source);
    int from = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    gboolean is_shared = FALSE;
    NewFile new;

    if (from == -1)
        return loop_refuse(error, errno == ENOENT ? CSI_NOT_FOUND : CSI_INTERNAL, "%s: %s", full,
                           g_strerror(errno));
    gboolean good = file_begin(&new, ledger, path, error);
    int code = good ? copy_open(from, new.file, bytes, &is_shared) : 0;
    if (code != 0)
        loop_refuse_errno(error, code, "copy of %s", full);
    close(from);
    if (shared != NULL)
        *shared = is_shared;
    return file_finish(&new, good && code == 0, error);
}

/* ---- The rest ---- */

gboolean
loop_file_remove(LoopLedger *ledger, const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);

    return loop_ledger_remove(ledger, LOOP_FILE, path, error) &&
           loop_ledger_flush_folder(ledger, folder, error);
}

int64_t
loop_file_bytes(const LoopLedger *ledger, const char *path)
{
    g_autofree char *full = loop_ledger_path(ledger, path);
    struct stat status;

    return lstat(full, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : -1;
}

int64_t
loop_file_room(const LoopLedger *ledger)
{
    struct statvfs status;

    return statvfs(loop_ledger_folder(ledger), &status) == 0
               ? (int64_t)(status.f_bavail * status.f_frsize)
               : 0;
}

gboolean
loop_file_write(
    LoopLedger *ledger, const char *path, const char *text, gboolean durable, GError **error)
{
    NewFile new;
    gboolean good = file_begin(&new, ledger, path, error);
    size_t length = strlen(text);

    new.is_fleeting = !durable;
    if (good && write(new.file, text, length) != (ssize_t)length) {
        loop_refuse_errno(error, errno, "%s", path);
        good = FALSE;
    }
    return file_finish(&new, good, error);
}
