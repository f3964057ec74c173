/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the files of a scenario, each once: by path, so that a file that several items name has one
 * tree of values. All texts enter the hash of the run, in the order of reading. A path in a file
 * may only lead below the scenario's folder or the program's data, without links that lead out: the
 * scenario may be a stranger's. Only paths that the user gave, on the command line or in --set,
 * lead anywhere. JSON is read without positions until one is needed. */
#include <string.h>

#include "models/api/fields.h"
#include "run/files/input.h"
#include "run/files/list.h"
#include "run/files/packed.h"
#include "scenario-private.h"

gboolean
loader_is_scenario(const json_t *document)
{
    return g_strcmp0(json_path_string(document, "kind"), "Scenario") == 0;
}

void
loader_hash(Loader *self, const char *data, gsize length)
{
    if (self->checksum != NULL)
        g_checksum_update(self->checksum, (const guchar *)data, (gssize)length);
}

/* Reads objects in JSON, such as a cluster's dump, without positions of values. Returns: FALSE:
 * positions are needed, or the text is no JSON */
static gboolean
read_unlocated(Loader *self, const char *text, gsize length, GPtrArray *documents)
{
    if (self->is_located || !yaml_read_json(text, length, documents))
        return FALSE;
    if (loader_is_scenario(documents->pdata[0])) { /* a run prints its line numbers */
        g_ptr_array_set_size(documents, 0);
        return FALSE;
    }
    self->lacks_places = TRUE;
    return TRUE;
}

/* Returns: (borrowed): the documents of the text */
static GPtrArray *
loader_read_text(Loader *self, const char *file, GBytes *bytes)
{
    GPtrArray *documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    gsize length;
    const char *data = g_bytes_get_data(bytes, &length), *text = data == NULL ? "" : data;

    g_ptr_array_add(self->files, g_strdup(file));
    loader_hash(self, text, length);
    loader_hash(self, "", 1); /* a separator */
    if (!read_unlocated(self, text, length, documents) &&
        !yaml_read(self->positions, file, text, length, self->faults, documents))
        self->is_incomplete = TRUE;
    g_hash_table_insert(self->files_read, g_strdup(file), documents);
    return documents;
}

/* Whether the user gave this path: as the file to run, or within a --set. */
static gboolean
is_named_by_user(const Loader *self, const char *path)
{
    const ScenarioOptions *options = self->options;
    gsize length = self->directory->len;
    const char *name = length > 0 && g_str_has_prefix(path, self->directory->str) &&
                               path[length] == G_DIR_SEPARATOR
                           ? path + length + 1
                           : path;

    if (self->files->len == 0 || g_strcmp0(path, options->overlay) == 0)
        return TRUE;
    for (unsigned i = 0;
         !options->set_is_foreign && options->set != NULL && options->set[i] != NULL; i++) {
        const char *value = strchr(options->set[i], '=');
        if (value != NULL && (strstr(value, name) != NULL || strstr(value, path) != NULL))
            return TRUE;
    }
    return FALSE;
}

static gboolean
may_read(const Loader *self, const char *path, GError **error)
{
    if (!self->options->is_confined && (self->options->is_own || is_named_by_user(self, path)))
        return TRUE;
    if (!input_is_below(path, self->options->data_dir) &&
        (self->options->is_confined || !input_is_below(path, self->directory->str))) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM, "%s: %s", path,
                    self->options->is_confined
                        ? "no file can be named here"
                        : "it is outside of the scenario's folder: only you may name it, by --set");
        return FALSE;
    }
    return input_check_regular(path, error);
}

/* The text of a file, which may be a pipe: it is read once. Returns: (borrowed) */
static GBytes *
get_text(Loader *self, const char *path, GError **error)
{
    GBytes *bytes = g_hash_table_lookup(self->texts, path);
    char *text;
    gsize length;

    if (bytes == NULL && self->options->texts != NULL)
        bytes = g_hash_table_lookup(self->options->texts, path);
    if (bytes == NULL && may_read(self, path, error) &&
        packed_get_contents(path, &text, &length, error)) {
        bytes = g_bytes_new_take(text, length);
        g_hash_table_insert(self->texts, g_strdup(path), bytes);
    }
    return bytes;
}

GPtrArray *
loader_read_path(Loader *self, const char *path)
{
    GPtrArray *documents = g_hash_table_lookup(self->files_read, path);
    g_autoptr(GError) error = NULL;

    if (documents != NULL)
        return documents;
    GBytes *text = get_text(self, path, &error);
    if (text == NULL) {
        const char *why = strstr(error->message, ": ");
        why = why != NULL ? why + 2 : error->message;
        if (g_strcmp0(self->reader.at.file, path) == 0) /* the fault names the file already */
            schema_fault(&self->reader, NULL, "cannot be read: %s", why);
        else
            schema_fault(&self->reader, NULL, "cannot read %s: %s", path, why);
        self->is_incomplete = TRUE;
        return NULL;
    }
    return loader_read_text(self, path, text);
}

GPtrArray *
loader_read_file(Loader *self, const char *name)
{
    g_autofree char *path = g_path_is_absolute(name) || self->directory->len == 0
                                ? g_strdup(name)
                                : g_build_filename(self->directory->str, name, NULL);

    return loader_read_path(self, path);
}

/* Returns: (owned): a hint at the profile that @name may mean; else, where profiles are */
static char *
profile_hint(const Loader *self, const char *name)
{
    g_autofree char *path = g_build_filename(self->options->data_dir, "models", "profiles", NULL);
    g_autoptr(GPtrArray) names = list_files(path, ".yaml", NULL);
    char *nearest =
        names == NULL ? NULL : name_hint(name, (const char *const *)names->pdata, names->len);
    return nearest != NULL
               ? nearest
               : g_strdup("kvolsim profiles lists them; a file's name has a / or .yaml");
}

const json_t *
loader_read_profile(Loader *self, const char *name)
{
    GPtrArray *documents;

    if (strchr(name, '/') != NULL || g_str_has_suffix(name, ".yaml")) {
        documents = loader_read_file(self, name);
    } else {
        g_autofree char *file = g_strdup_printf("%s.yaml", name);
        g_autofree char *path =
            g_build_filename(self->options->data_dir, "models", "profiles", file, NULL);
        if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
            g_autofree char *hint = profile_hint(self, name);
            schema_fault(&self->reader, hint, "there is no profile \"%s\"", name);
            self->is_incomplete = TRUE;
            return NULL;
        }
        documents = loader_read_path(self, path);
    }
    if (documents == NULL)
        return NULL;

    const json_t *profile = documents->len == 1 ? documents->pdata[0] : NULL;
    if (!json_is_object(profile)) {
        schema_fault(&self->reader, NULL, "profile \"%s\" must be one mapping", name);
        return NULL;
    }
    return profile;
}
