/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "value.h"

/* kubectl's get, describe and events, to the letter: the output of kubectl 1.32 for the objects of
 * a cluster at an instant. Works on the JSON of the API, of a run or a real cluster; knows neither
 * runs nor files. */

/* All objects of a cluster at one instant. */
typedef struct KubectlCluster KubectlCluster;

/**
 * kubectl_cluster_new:
 * @list: (borrowed): outlives it: objects of any kinds and namespaces; unknown kinds are ignored
 * Returns: (owned)
 */
KubectlCluster *kubectl_cluster_new(json_t *list);
void kubectl_cluster_free(KubectlCluster *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubectlCluster, kubectl_cluster_free)

/* The options of the three commands. */
typedef struct {
    gboolean all_namespaces, no_headers, show_labels, show_kind, watch, watch_events,
        ignore_not_found;
    char *namespace; /* NULL: default */
    char *output, *selector, *field_selector, *sort_by, *for_object;
    char **label_columns, **types;
} KubectlOptions;

/* Returns: (owned): the entries for g_option_context_add_main_entries(), which fill @options; free
 * with g_free() */
GOptionEntry *kubectl_option_entries(KubectlOptions *options);
/* Call once the options are read: splits lists at commas. */
void kubectl_options_finish(KubectlOptions *options);
void kubectl_options_clear(KubectlOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(KubectlOptions, kubectl_options_clear)

typedef struct {
    const KubectlCluster *cluster;
    const KubectlOptions *options;
    ValueTime now;   /* when the output is printed: the base of ages */
    GString *out;    /* gets the standard output */
    GString *errors; /* gets the standard error */
} KubectlRequest;

/* @args: the words after the command: "pvc", "data"; ends with NULL. Returns: the exit code of
 * kubectl, 0 or 1 */
int kubectl_get(const KubectlRequest *self, char **args);
int kubectl_describe(const KubectlRequest *self, char **args);
int kubectl_events(const KubectlRequest *self, char **args);
/* @words: the command line after "kubectl": "get", "pvc", "-o", "wide". @self has no options.
 * Returns: the exit code; -1: another command */
int kubectl_run(const KubectlRequest *self, char **words);

/* get -w: a table that grows by a row with each change. */
typedef struct KubectlWatch KubectlWatch;
/* @options: (borrowed), outlives it. Returns: (owned): NULL with the error told if @args do not
 * name one kind */
KubectlWatch *kubectl_watch_new(const KubectlRequest *request, char **args);
void kubectl_watch_free(KubectlWatch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubectlWatch, kubectl_watch_free)
/* Prints the objects of the request's cluster: the start of the watch. */
void kubectl_watch_list(KubectlWatch *self, GString *out);
/* Prints a change of an object at @now, if the watch shows the object. @type: "ADDED", "MODIFIED",
 * "DELETED" */
void kubectl_watch_print(
    KubectlWatch *self, const char *type, json_t *object, ValueTime now, GString *out);
