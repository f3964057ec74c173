/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* A folder of results as its readers see it. Its index, summary.json for a run, has the size and
 * the SHA-256 of each other file, and the SHA-256 of its own content: a reader never takes a
 * damaged or a strange file for a result. */
typedef struct ResultFolder ResultFolder;

/**
 * result_folder_open:
 * @index: the name of the index, such as "summary.json". A replication has it in the folder above
 * Returns: (owned): %NULL with an error that names the file
 */
ResultFolder *result_folder_open(const char *path, const char *index, GError **error);
void result_folder_free(ResultFolder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResultFolder, result_folder_free)

const json_t *result_folder_index(const ResultFolder *self);
/* Whether the index has a file of this name, which may be damaged or missing all the same. */
gboolean result_folder_has(const ResultFolder *self, const char *name);
/* Returns: FALSE with an error that names the file: missing, damaged, or not in the index */
gboolean result_folder_check(const ResultFolder *self, const char *name, GError **error);
/* The content of a file that is as it was written. (owned) */
char *result_folder_read(const ResultFolder *self, const char *name, GError **error);

/* The folder of a replication; that of the run if it has only one. (owned) */
char *result_folder_of_replication(const char *folder, unsigned replication, unsigned n);
/* "replication-12" */
gboolean result_folder_is_replication(const char *name);

/**
 * result_folder_seal:
 * @names: of files below @folder, which exist
 * Adds "files" and "sha256" to @index. Nothing may be added to it afterwards.
 * Returns: FALSE with an error: a file could not be read
 */
gboolean result_folder_seal(
    json_t *index, const char *folder, const char *const *names, unsigned n_names, GError **error);
