/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "value.h"

/* kubectl's get, describe and events, to the letter: what kubectl 1.32 prints for the objects of a
 * cluster at an instant. Works on JSON as the API has it, whether a run made it or a real cluster;
 * knows neither runs nor files. */

/* All objects of a cluster at one instant. */
typedef struct KubectlCluster KubectlCluster;

/**
 * kubectl_cluster_new:
 * @list: (borrowed), outlives it: an array of objects of any kinds and namespaces; those of unknown
 * kinds are left out Returns: (owned)
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

/* For g_option_context_add_main_entries(): they fill @options. (owned: g_free()) */
GOptionEntry *kubectl_option_entries(KubectlOptions *options);
/* Once they are read: lists in commas become words. */
void kubectl_options_finish(KubectlOptions *options);
void kubectl_options_clear(KubectlOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(KubectlOptions, kubectl_options_clear)

typedef struct {
    const KubectlCluster *cluster;
    const KubectlOptions *options;
    ValueTime now;   /* of printing: ages are told from it */
    GString *out;    /* gets what goes to standard output */
    GString *errors; /* ... to standard error */
} KubectlRequest;

/* @args: the words behind the command, "pvc", "data"; ends with NULL. Each returns the exit code of
 * kubectl: 0, 1 */
int kubectl_get(const KubectlRequest *self, char **args);
int kubectl_describe(const KubectlRequest *self, char **args);
int kubectl_events(const KubectlRequest *self, char **args);
/* @words: a whole command line behind "kubectl": "get", "pvc", "-o", "wide". @self has no options.
 * Returns: -1: not one of the three commands; 1 with the error told if the words make no sense */
int kubectl_run(const KubectlRequest *self, char **words);

/* get -w: prints a table that grows by one row with each change. */
typedef struct KubectlWatch KubectlWatch;
/* @options: (borrowed), outlives it. Returns: (owned): NULL with the error told if @args do not
 * name one kind */
KubectlWatch *kubectl_watch_new(const KubectlRequest *request, char **args);
void kubectl_watch_free(KubectlWatch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubectlWatch, kubectl_watch_free)
/* The objects that are there as the watch begins: those of the request's cluster. */
void kubectl_watch_list(KubectlWatch *self, GString *out);
/* A change of an object at @now; those that the watch is not about are left out. @type: "ADDED",
 * "MODIFIED", "DELETED" */
void kubectl_watch_print(
    KubectlWatch *self, const char *type, json_t *object, ValueTime now, GString *out);
