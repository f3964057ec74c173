/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "timeline-private.h"

/* Steps that ran a real kubectl. Its requests were recorded, and most are repeated as they were:
 * those follow from its arguments alone. What drain evicts follows from the pods on the node. */

#define COMMAND_LASTS_S 60.0

static const char *
timeline_kubectl_member(const json_t *value, const char *name)
{
    return json_string_value(json_object_get(value, name));
}

/* Returns: (transfer container): the arguments that are no flags, from the second on; ends with
 * NULL
 */
static GPtrArray *
operands(const json_t *args)
{
    GPtrArray *words = g_ptr_array_new();

    for (size_t i = 1; i < json_array_size(args); i++) {
        const char *word = json_string_value(json_array_get(args, i));
        if (word != NULL && word[0] != '-')
            g_ptr_array_add(words, (char *)word);
    }
    g_ptr_array_add(words, NULL);
    return words;
}

/* Names the node of a command: "@pod:web-0" is that of the pod, which differs from run to run. */
static void
set_node(json_t *action, const char *word)
{
    if (word != NULL && g_str_has_prefix(word, "@pod:"))
        json_object_set_new(action, "nodeOfPod", json_string(word + strlen("@pod:")));
    else if (word != NULL)
        json_object_set_new(
            action, "node",
            json_string(word + (g_str_has_prefix(word, "node/") ? strlen("node/") : 0)));
}

/* Returns: (owned): NULL with an error */
static json_t *
drain_json(const json_t *args, GError **error)
{
    static const struct {
        const char *flag, *member;
        enum { SETS, SECONDS, TEXT } type;
    } flags[] = {
        {"--ignore-daemonsets",    "ignoreDaemonSets",   SETS   },
        {"--delete-emptydir-data", "deleteEmptyDirData", SETS   },
        {"--force",                "force",              SETS   },
        {"--grace-period",         "gracePeriodSeconds", SECONDS},
        {"--timeout",              "timeout",            TEXT   },
    };
    g_autoptr(GPtrArray) words = operands(args);
    json_auto_t *drain = json_object();

    set_node(drain, words->pdata[0]);
    for (size_t i = 1; i < json_array_size(args); i++) {
        const char *word = json_string_value(json_array_get(args, i));
        unsigned k = 0;
        if (word[0] != '-')
            continue;
        g_auto(GStrv) parts = g_strsplit(word, "=", 2);
        while (k < G_N_ELEMENTS(flags) && strcmp(flags[k].flag, parts[0]) != 0)
            k++;
        if (k == G_N_ELEMENTS(flags)) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "kubectl drain: %s is not known",
                        word);
            return NULL;
        }
        json_t *value = flags[k].type == SETS      ? json_boolean(g_strcmp0(parts[1], "false") != 0)
                        : flags[k].type == SECONDS ? json_integer(atoi(parts[1]))
                                                   : json_string(parts[1]);
        json_object_set_new(drain, flags[k].member, value);
    }
    return json_incref(drain);
}

/* Members of a strategic merge patch that a merge patch would take for data. */
static void
drop_directives(json_t *patch)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(patch, next, key, value)
    {
        if (key[0] == '$')
            json_object_del(patch, key);
        else
            drop_directives(value);
    }
}

static const KindClass *
kind_of_resource(const char *resource)
{
    for (unsigned i = 0; i < N_KINDS; i++)
        if (g_strcmp0(kind_class((ObjectKind)i)->resource, resource) == 0)
            return kind_class((ObjectKind)i);
    return NULL;
}

static json_t *
timeline_kubectl_target_json(const KindClass *kind, const json_t *request)
{
    return json_pack("{s:s, s:O*, s:O*}", "kind", kind->kind, "name",
                     json_object_get(request, "name"), "namespace",
                     kind->namespaced ? json_object_get(request, "namespace") : NULL);
}

/* Returns: (owned): the action of a recorded request; NULL: none */
static json_t *
request_json(const KindClass *kind, const json_t *request, const char *of_pod, const char **what)
{
    const char *verb = timeline_kubectl_member(request, "verb"),
               *subresource = timeline_kubectl_member(request, "subresource");
    json_t *body = json_object_get(request, "body");
    json_t *target = timeline_kubectl_target_json(kind, request);

    *what = verb;
    if (g_strcmp0(subresource, "scale") == 0) {
        *what = "scale";
        json_object_set(target, "replicas",
                        json_object_get(json_object_get(body, "spec"), "replicas"));
    } else if (subresource != NULL && subresource[0] != '\0') {
        g_clear_pointer(&target, json_decref);
    } else if (strcmp(verb, "create") == 0) {
        json_decref(target);
        target = json_pack("{s:[O]}", "manifest", body);
        json_object_del(body, "status");
    } else if (strcmp(verb, "delete") == 0) {
        json_t *grace = json_object_get(body, "gracePeriodSeconds");
        if (grace != NULL)
            json_object_set(target, "gracePeriodSeconds", grace);
    } else {
        *what = "patch";
        drop_directives(body);
        json_object_set(target, "patch", body);
        if (kind == kind_class(KIND_NODE) && of_pod != NULL) {
            json_object_del(target, "name");
            json_object_set_new(target, "nodeOfPod", json_string(of_pod));
        }
    }
    return target;
}

static gboolean
repeat_requests(const json_t *step,
                double from,
                double until,
                GoldenReplay *replay,
                json_t *workload,
                GError **error)
{
    const ReplayAsked any = {.client = "kubectl", .from = from, .until = until};
    const json_t *args = json_object_get(step, "args"), *request;
    g_autoptr(GPtrArray) words = operands(args);
    const char *of_pod = NULL, *what;

    for (unsigned i = 0; words->pdata[i] != NULL; i++)
        if (g_str_has_prefix(words->pdata[i], "@pod:"))
            of_pod = (const char *)words->pdata[i] + strlen("@pod:");
    while ((request = replay_take(replay, &any)) != NULL) {
        const KindClass *kind = kind_of_resource(timeline_kubectl_member(request, "resource"));
        if (kind != NULL && json_object_get(request, "body") == NULL &&
            strcmp(timeline_kubectl_member(request, "verb"), "delete") != 0) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "kubectl %s: its request was recorded without a body",
                        json_string_value(json_array_get(args, 0)));
            return FALSE;
        }
        json_t *action = kind == NULL ? NULL : request_json(kind, request, of_pod, &what);
        if (action == NULL)
            printf("  note: not repeated: kubectl's %s of %s\n",
                   timeline_kubectl_member(request, "verb"),
                   timeline_kubectl_member(request, "resource"));
        else
            json_array_append_new(
                workload,
                json_pack("{s:o, s:o}", "at",
                          timeline_instant(json_number_value(json_object_get(request, "t"))), what,
                          action));
    }
    return TRUE;
}

gboolean
timeline_add_kubectl(const json_t *step, GoldenReplay *replay, json_t *workload, GError **error)
{
    static const char *const known[] = {"at", "do", "args", NULL};
    static const char *const commands[] = {
        "annotate", "apply",    "cordon",  "create",        "delete", "edit",    "label",
        "patch",    "replace",  "rollout", "scale",         "set",    "taint",   "uncordon",
        "get",      "describe", "logs",    "wait",          "events", "version", "top",
        "explain",  "auth",     "diff",    "api-resources", NULL};
    const json_t *args = json_object_get(step, "args"),
                 *noted = replay_take_step(replay, "kubectl");
    const char *command = json_string_value(json_array_get(args, 0));
    double from = json_number_value(
        json_object_get(noted != NULL ? noted : step, noted != NULL ? "t" : "at"));
    double until =
        noted != NULL ? json_number_value(json_object_get(noted, "t_end")) : from + COMMAND_LASTS_S;

    if (!timeline_check_keys(step, "kubectl", known, error))
        return FALSE;
    if (g_strcmp0(command, "drain") == 0) {
        const ReplayAsked cordon = {.client = "kubectl",
                                    .verb = "patch",
                                    .resource = "nodes",
                                    .from = from,
                                    .until = until};
        const json_t *request = replay_take(replay, &cordon);
        json_t *drain = drain_json(args, error);
        if (request != NULL)
            from = json_number_value(json_object_get(request, "t"));
        if (drain != NULL)
            json_array_append_new(
                workload, json_pack("{s:o, s:o}", "at", timeline_instant(from), "drain", drain));
        return drain != NULL;
    }
    if (command == NULL || !g_strv_contains(commands, command)) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "kubectl %s is not known",
                    command == NULL ? "" : command);
        return FALSE;
    }
    return repeat_requests(step, from, until, replay, workload, error);
}
