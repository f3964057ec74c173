/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "report.h"
#include "run/files/yaml.h"
#include "sim/sim-time.h"

/* The objects of a cluster at one instant, as `kubectl get ... -A -o json` or `-o yaml` printed
 * them, in one file or several. Without managedFields and the data of Secrets, which no model
 * reads. */
typedef struct {
    GPtrArray *files; /* of char *: their paths */
    SimTime newest;   /* greatest time stamp, as api_time_parse() gives it; TIME_UNSET: none */
    guint64 resource_version; /* greatest of all objects; 0: none has one */
    GPtrArray *objects;       /* of json_t (owned), in the files' order: kinds that models know */
    /* Private: */
    GHashTable *by_name; /* "Kind/namespace/name" -> json_t (borrowed) */
    GHashTable *by_uid;  /* uid -> json_t (borrowed) */
    GHashTable *nodes;   /* names of Nodes -> uid (borrowed) */
    unsigned n_changed;  /* objects that files of a folder have in several versions */
    char *cluster;       /* uid of the Namespace kube-system; NULL: not in the dump */
} Dump;

/**
 * dumps_read:
 * @files: NULL-terminated paths; JSON or YAML, plain or packed with gzip, xz or zstd; or folders of
 * such files, each one dump
 *
 * Files with an object in common are dumps of different times; files without are parts of one.
 * @error: %G_FILE_ERROR, or %SIM_ERROR_INVALID with file and line
 * Returns: (owned): of Dump, the oldest first; %NULL with @error
 */
GPtrArray *dumps_read(const char *const *files, ImportReport *report, GError **error);

/* Adds an object that no file has. @object: owned */
void dump_add(Dump *self, json_t *object);

/* Each returns: (borrowed): %NULL if it is not in the dump. @namespace: %NULL for kinds without */
json_t *dump_find(const Dump *self, const char *kind, const char *namespace, const char *name);
json_t *dump_find_uid(const Dump *self, const char *uid);

/* Members of objects. Each returns: (borrowed): %NULL if there is none. */
const char *dump_kind(const json_t *object);
const char *dump_meta(const json_t *object, const char *member); /* "name", "namespace", "uid" */
/* Whether a Node has the label. */
gboolean dump_has_node_label(const Dump *self, const char *key);
/* Walks the dump: `for (guint i = 0; (object = dump_next(dump, "Pod", &i)) != NULL;)` */
json_t *dump_next(const Dump *self, const char *kind, guint *index);
