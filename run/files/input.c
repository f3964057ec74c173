/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static gboolean
input_fail(const char *path, int code, const char *why, GError **error)
{
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "%s: %s", path, why);
    return FALSE;
}

int
input_open(const char *path, GError **error)
{
    gboolean is_standard = strcmp(path, "-") == 0;
    const char *file = is_standard ? "/dev/stdin" : path;
    struct stat status;

    /* Looked at first: to open a device may do something, such as to rewind a tape. */
    if (stat(file, &status) != 0) {
        int code = errno;
        input_fail(path, code, g_strerror(code), error);
        return -1;
    }
    if (S_ISDIR(status.st_mode)) {
        input_fail(path, EISDIR, "is a directory: name the files in it", error);
        return -1;
    }
    gboolean is_null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
    if (!is_standard && !is_null && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
        input_fail(path, EINVAL, "is a device: only files are read", error);
        return -1;
    }
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        int code = errno;
        input_fail(path, code, g_strerror(code), error);
    }
    return fd;
}

static gboolean
input_read_all(int fd, const char *path, GByteArray *bytes, GError **error)
{
    enum { CHUNK = 1 << 18 };
    ssize_t n = 1;

    while (n > 0) {
        guint before = bytes->len;
        g_byte_array_set_size(bytes, before + CHUNK);
        n = read(fd, bytes->data + before, CHUNK);
        int code = errno;
        g_byte_array_set_size(bytes, before + (n > 0 ? (guint)n : 0));
        if (n < 0 && code == EINTR)
            n = 1;
        else if (n < 0)
            return input_fail(path, code, g_strerror(code), error);
        if (bytes->len > INPUT_BYTES_MAX)
            return input_fail(path, EFBIG, "is larger than 1 GiB", error);
    }
    return TRUE;
}

gboolean
input_get_contents(const char *path, char **contents, gsize *length, GError **error)
{
    int fd = input_open(path, error);
    struct stat status;

    if (fd < 0)
        return FALSE;
    gsize size = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? (gsize)status.st_size : 0;
    if (size > INPUT_BYTES_MAX) {
        close(fd);
        return input_fail(path, EFBIG, "is larger than 1 GiB", error);
    }
    /* One allocation of the right size, for a regular file. */
    g_autoptr(GByteArray) bytes = g_byte_array_sized_new((guint)size + (1 << 18) + 1);
    gboolean is_read = input_read_all(fd, path, bytes, error);
    close(fd);
    if (!is_read)
        return FALSE;
    if (length != NULL)
        *length = bytes->len;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    *contents = (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
    return TRUE;
}

gboolean
input_check_regular(const char *path, GError **error)
{
    struct stat status;

    return stat(path, &status) != 0 || S_ISREG(status.st_mode) ||
           input_fail(path, EINVAL, "is no regular file", error);
}

static gboolean
begins_with(const char *path, const char *folder)
{
    gsize length = strlen(folder) == 1 ? 0 : strlen(folder); /* all is below "/" */

    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

gboolean
input_is_below(const char *path, const char *folder)
{
    char *file = realpath(path, NULL), *above = realpath(*folder == '\0' ? "." : folder, NULL);
    g_autofree char *name = g_canonicalize_filename(path, NULL);
    g_autofree char *folder_name = g_canonicalize_filename(*folder == '\0' ? "." : folder, NULL);
    /* A file that is not there is judged by its name. */
    gboolean is_below =
        file != NULL && above != NULL ? begins_with(file, above) : begins_with(name, folder_name);

    free(file);
    free(above);
    return is_below;
}

char *
input_scenario_path(const char *folder, const char *data_dir, const char *name)
{
    g_autofree char *path = g_path_is_absolute(name) || g_str_equal(folder, ".")
                                ? g_strdup(name)
                                : g_build_filename(folder, name, NULL);

    if (data_dir == NULL || !g_str_has_prefix(name, "scenarios/") ||
        g_file_test(path, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&path);
    g_autofree char *own = g_build_filename(data_dir, name, NULL);
    return g_file_test(own, G_FILE_TEST_EXISTS) ? g_steal_pointer(&own) : g_steal_pointer(&path);
}
