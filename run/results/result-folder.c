/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index of a result folder: names, sizes and digests of its files, and a digest of the index
 * itself, so that a file that was changed or cut is found when it is read. Folders of several
 * replications have one index. Version 0.1.0 kept no digests: there the files that exist count. */
#include "result-folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/api/fields.h"
#include "run/files/input.h"
#include "run/world/run.h"
#include "sim/strings.h"

#define REPLICATION "replication-"

struct ResultFolder {
    char *path;
    char *index_path;
    char *prefix; /* of its files' names in the index: "", or "replication-0/" */
    json_t *index;
};

G_GNUC_PRINTF(2, 3)
static gboolean
result_folder_fail(GError **error, const char *format, ...)
{
    FORMATTED(message, format);
    g_set_error_literal(error, RUN_ERROR, RUN_ERROR_INVALID, message);
    return FALSE;
}

/* ---- Digests ---- */

/* @bytes, @sha256: (out) (owned). Returns: FALSE with errno set */
static gboolean
digest_file(const char *path, int64_t *bytes, char **sha256)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree guchar *buffer = g_malloc(64 * 1024);
    FILE *file = fopen(path, "re");
    size_t n;

    if (file == NULL)
        return FALSE;
    *bytes = 0;
    while ((n = fread(buffer, 1, 64 * 1024, file)) > 0) {
        g_checksum_update(sum, buffer, (gssize)n);
        *bytes += (int64_t)n;
    }
    int code = ferror(file) ? errno : 0;
    fclose(file);
    if (code != 0) {
        errno = code;
        return FALSE;
    }
    *sha256 = g_strdup(g_checksum_get_string(sum));
    return TRUE;
}

/* Of all but the member "sha256", as it is printed without blanks. (owned) */
static char *
digest_index(const json_t *index)
{
    json_auto_t *rest = json_copy((json_t *)index);

    json_object_del(rest, "sha256");
    char *text = json_dumps(rest, JSON_COMPACT | JSON_REAL_PRECISION(15));
    char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    free(text);
    return sha256;
}

gboolean
result_folder_seal(
    json_t *index, const char *folder, const char *const *names, unsigned n_names, GError **error)
{
    json_t *files = json_object();

    json_object_set_new(index, "files", files);
    for (unsigned i = 0; i < n_names; i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_autofree char *sha256 = NULL;
        int64_t bytes;
        if (!digest_file(path, &bytes, &sha256))
            return result_folder_fail(error, "%s: %s", path, g_strerror(errno));
        json_object_set_new(files, names[i],
                            json_pack("{s:I, s:s}", "bytes", (json_int_t)bytes, "sha256", sha256));
    }
    g_autofree char *sha256 = digest_index(index);
    json_object_set_new(index, "sha256", json_string(sha256));
    return TRUE;
}

/* ---- Replications ---- */

char *
result_folder_of_replication(const char *folder, unsigned replication, unsigned n)
{
    g_autofree char *name = g_strdup_printf(REPLICATION "%u", replication);

    return n == 1 ? g_strdup(folder) : g_build_filename(folder, name, NULL);
}

gboolean
result_folder_is_replication(const char *name)
{
    const char *number = name + strlen(REPLICATION);

    return g_str_has_prefix(name, REPLICATION) && *number != '\0' &&
           strspn(number, "0123456789") == strlen(number);
}

/* ---- Reading ---- */

static void
find_index(ResultFolder *self, const char *index)
{
    g_autofree char *path = g_canonicalize_filename(self->path, NULL);
    g_autofree char *name = g_path_get_basename(path);

    self->index_path = g_build_filename(self->path, index, NULL);
    self->prefix = g_strdup("");
    if (!result_folder_is_replication(name) || g_file_test(self->index_path, G_FILE_TEST_EXISTS))
        return;
    g_autofree char *above = g_path_get_dirname(path);
    g_free(self->index_path);
    g_free(self->prefix);
    self->index_path = g_build_filename(above, index, NULL);
    self->prefix = g_strconcat(name, "/", NULL);
}

/* Version 0.1.0 kept no digests: the files that are in its folder count. */
static gboolean
is_unsealed(const json_t *index)
{
    return g_strcmp0(json_path_string(index, "version"), "0.1.0") == 0 &&
           json_object_get(index, "sha256") == NULL && json_object_get(index, "files") == NULL;
}

static gboolean
read_index(ResultFolder *self, GError **error)
{
    g_autofree char *text = NULL;
    json_error_t fault;
    gsize length;

    if (!g_file_test(self->index_path, G_FILE_TEST_EXISTS)) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_NO_FILE,
                    "%s: no such file; is %s the --out folder of a run?", self->index_path,
                    self->path);
        return FALSE;
    }
    if (!input_check_regular(self->index_path, error) ||
        !input_get_contents(self->index_path, &text, &length, error))
        return FALSE;
    self->index = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
    if (self->index == NULL)
        return result_folder_fail(error, "%s: line %d: %s; the file is damaged", self->index_path,
                                  fault.line, fault.text);
    if (is_unsealed(self->index))
        return TRUE;
    const char *sealed = json_path_string(self->index, "sha256");
    if (sealed == NULL || !json_is_object(json_object_get(self->index, "files")))
        return result_folder_fail(
            error,
            "%s: it lacks the list of the run's files, or its own SHA-256: run the "
            "scenario again",
            self->index_path);
    g_autofree char *sha256 = digest_index(self->index);
    if (strcmp(sealed, sha256) != 0)
        return result_folder_fail(error, "%s: it was changed after the run: its SHA-256 differs",
                                  self->index_path);
    return TRUE;
}

ResultFolder *
result_folder_open(const char *path, const char *index, GError **error)
{
    g_autoptr(ResultFolder) self = g_new0(ResultFolder, 1);

    self->path = g_strdup(path);
    find_index(self, index);
    return read_index(self, error) ? g_steal_pointer(&self) : NULL;
}

void
result_folder_free(ResultFolder *self)
{
    if (self == NULL)
        return;
    json_decref(self->index);
    g_free(self->path);
    g_free(self->index_path);
    g_free(self->prefix);
    g_free(self);
}

const json_t *
result_folder_index(const ResultFolder *self)
{
    return self->index;
}

static const json_t *
find_file(const ResultFolder *self, const char *name)
{
    g_autofree char *key = g_strconcat(self->prefix, name, NULL);

    return json_object_get(json_object_get(self->index, "files"), key);
}

gboolean
result_folder_has(const ResultFolder *self, const char *name)
{
    g_autofree char *path = g_build_filename(self->path, name, NULL);

    return find_file(self, name) != NULL ||
           (is_unsealed(self->index) && g_file_test(path, G_FILE_TEST_EXISTS));
}

gboolean
result_folder_check(const ResultFolder *self, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(self->path, name, NULL);
    const json_t *entry = find_file(self, name);
    g_autofree char *sha256 = NULL;
    int64_t bytes;

    if (entry == NULL && json_integer_value(json_object_get(self->index, "replications")) > 1)
        return result_folder_fail(
            error, "%s: no such file; give the folder of one replication: %s/" REPLICATION "0",
            path, self->path);
    if (is_unsealed(self->index) && g_file_test(path, G_FILE_TEST_EXISTS))
        return TRUE;
    if (entry == NULL)
        return result_folder_fail(error, "%s: the run has written no such file, says %s", path,
                                  self->index_path);
    if (!input_check_regular(path, error))
        return FALSE;
    if (!digest_file(path, &bytes, &sha256))
        return result_folder_fail(error, "%s: %s", path, g_strerror(errno));
    int64_t wanted = json_integer_value(json_object_get(entry, "bytes"));
    if (bytes != wanted)
        return result_folder_fail(
            error, "%s: damaged: it has %" PRId64 " bytes, and the run has written %" PRId64, path,
            bytes, wanted);
    if (g_strcmp0(sha256, json_path_string(entry, "sha256")) != 0)
        return result_folder_fail(
            error, "%s: damaged: its SHA-256 is not that of the file that the run has written",
            path);
    return TRUE;
}

char *
result_folder_read(const ResultFolder *self, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(self->path, name, NULL);
    char *text = NULL;

    if (!result_folder_check(self, name, error) || !g_file_get_contents(path, &text, NULL, error))
        return NULL;
    return text;
}
