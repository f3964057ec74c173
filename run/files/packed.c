/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "packed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "libarchive.h"

#define BLOCK_BYTES ((gsize)256 * 1024) /* of one read */

struct PackedFile {
    char *path;
    int fd;
    Libarchive lib;
    struct archive *archive;
    gboolean is_empty; /* libarchive finds no entry in a file without a byte */
};

static gboolean
packed_fail(const char *path, int code, const char *why, GError **error)
{
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "%s: %s", path, why);
    return FALSE;
}

/* libarchive says "truncated gzip input" and the like. */
static gboolean
fail_reading(PackedFile *self, GError **error)
{
    const char *why = self->lib.archive_error_string(self->archive);
    int code = self->lib.archive_errno(self->archive);

    if (why == NULL)
        why = "cannot be read";
    if (code == EIO || code == EACCES) /* of the system; else of libarchive */
        return packed_fail(self->path, code, g_strerror(code), error);
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: damaged or cut off: %s", self->path,
                why);
    return FALSE;
}

static gboolean
packed_begin(PackedFile *self, GError **error)
{
    struct archive_entry *entry;

    self->archive = self->lib.archive_read_new();
    self->lib.archive_read_support_filter_gzip(self->archive);
    self->lib.archive_read_support_filter_xz(self->archive);
    self->lib.archive_read_support_filter_zstd(self->archive);
    self->lib.archive_read_support_format_raw(self->archive);
    self->lib.archive_read_support_format_empty(self->archive);
    if (self->lib.archive_read_open_fd(self->archive, self->fd, BLOCK_BYTES) != ARCHIVE_OK)
        return fail_reading(self, error);
    int result = self->lib.archive_read_next_header(self->archive, &entry);
    self->is_empty = result == ARCHIVE_EOF;
    return result == ARCHIVE_OK || self->is_empty || fail_reading(self, error);
}

/* Returns: (borrowed): @path, or where the standard input is for "-" */
static const char *
packed_path(const char *path)
{
    return strcmp(path, "-") == 0 ? "/dev/stdin" : path;
}

PackedFile *
packed_file_open(const char *path, GError **error)
{
    g_autoptr(PackedFile) self = g_new0(PackedFile, 1);

    self->path = g_strdup(path);
    self->fd = input_open(path, error);
    if (self->fd < 0 || !libarchive_load(&self->lib, path, error))
        return NULL;
    return packed_begin(self, error) ? g_steal_pointer(&self) : NULL;
}

void
packed_file_free(PackedFile *self)
{
    if (self == NULL)
        return;
    if (self->archive != NULL)
        self->lib.archive_read_free(self->archive);
    if (self->fd >= 0)
        close(self->fd);
    g_free(self->path);
    g_free(self);
}

gssize
packed_file_next(PackedFile *self, const char **data, GError **error)
{
    const void *block;
    size_t n = 0;
    la_int64_t offset;

    while (!self->is_empty) {
        int result = self->lib.archive_read_data_block(self->archive, &block, &n, &offset);
        if (result == ARCHIVE_EOF)
            break;
        if (result != ARCHIVE_OK)
            return fail_reading(self, error) ? 0 : -1;
        *data = block;
        if (n > 0)
            return (gssize)n;
    }
    return 0;
}

/* Returns: whether the file begins as a packed one; a pipe is not looked into */
static gboolean
looks_packed(const char *path)
{
    static const struct {
        const char *bytes;
        gsize n;
    } magics[] = {
        {"\x1f\x8b",         2},
        {"\xfd\x37zXZ",      5},
        {"\x28\xb5\x2f\xfd", 4},
    };
    char head[8] = "";
    /* Whoever writes into a pipe would see it closed. */
    const char *file = packed_path(path);
    int fd = g_file_test(file, G_FILE_TEST_IS_REGULAR) ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof head, 0) : 0;

    if (fd >= 0)
        close(fd);
    for (unsigned i = 0; i < G_N_ELEMENTS(magics); i++)
        if (n >= (ssize_t)magics[i].n && memcmp(head, magics[i].bytes, magics[i].n) == 0)
            return TRUE;
    return FALSE;
}

gboolean
packed_get_contents(const char *path, char **contents, gsize *length, GError **error)
{
    const char *data;
    gssize n;

    if (!looks_packed(path))
        return input_get_contents(path, contents, length, error);
    g_autoptr(PackedFile) file = packed_file_open(path, error);
    g_autoptr(GString) text = g_string_new(NULL);
    if (file == NULL)
        return FALSE;
    while ((n = packed_file_next(file, &data, error)) > 0 && text->len <= INPUT_BYTES_MAX)
        g_string_append_len(text, data, n);
    if (n > 0)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC, "%s: unpacks to more than 1 GiB",
                    path);
    if (n != 0)
        return FALSE;
    if (length != NULL)
        *length = text->len;
    *contents = g_string_free(g_steal_pointer(&text), FALSE);
    return TRUE;
}

static la_ssize_t
gather(struct archive *archive, void *data, const void *bytes, size_t n)
{
    (void)archive;
    g_byte_array_append(data, bytes, (guint)n);
    return (la_ssize_t)n;
}

GBytes *
packed_xz(const char *text, gsize length, GError **error)
{
    Libarchive lib;
    if (!libarchive_load(&lib, "xz", error))
        return NULL;
    GByteArray *packed = g_byte_array_new();
    struct archive *archive = lib.archive_write_new();
    struct archive_entry *entry = lib.archive_entry_new();
    gboolean done;

    lib.archive_write_add_filter_xz(archive);
    lib.archive_write_set_format_raw(archive);
    lib.archive_write_set_options(archive, "xz:compression-level=1");
    lib.archive_write_set_bytes_in_last_block(archive, 1);
    lib.archive_entry_set_filetype(entry, AE_IFREG);
    done = lib.archive_write_open(archive, packed, NULL, gather, NULL) == ARCHIVE_OK &&
           lib.archive_write_header(archive, entry) == ARCHIVE_OK &&
           lib.archive_write_data(archive, text, length) == (la_ssize_t)length &&
           lib.archive_write_close(archive) == ARCHIVE_OK;
    if (!done)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "xz: %s",
                    lib.archive_error_string(archive));
    lib.archive_entry_free(entry);
    lib.archive_write_free(archive);
    GBytes *bytes = g_byte_array_free_to_bytes(packed);
    if (done)
        return bytes;
    g_bytes_unref(bytes);
    return NULL;
}
