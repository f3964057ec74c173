/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why-private.h"

#include <string.h>

/* The scheduler's words. The most telling about storage come first, since one message lists the
 * reasons of several nodes. */
static const struct {
    const char *words, *cause;
} scheduler_words[] = {
    {"ReadWriteOncePod access mode",             "rwop-in-use"     },
    {"exceed max volume count",                  "attach-limit"    },
    {"volume node affinity conflict",            "volume-zone"     },
    {"no available volume zone",                 "volume-zone"     },
    {"did not have enough free storage",         "storage-capacity"},
    {"didn't find available persistent volumes", "no-volume"       },
    {"non-existent persistentvolume",            "claim-lost"      },
    {"Insufficient",                             "resources"       },
    {"Too many pods",                            "resources"       },
    {"anti-affinity",                            "anti-affinity"   },
    {"node affinity/selector",                   "node-selector"   },
    {"untolerated taint",                        "taint"           },
    {"were unschedulable",                       "cordoned"        },
};

/* Returns: whether one of the pod's claims blocks */
static gboolean
ask_claims(Question *self, json_t *pod)
{
    json_t *volume;
    gsize i;

    json_array_foreach(value_at(pod, "spec.volumes"), i, volume) {
        g_autofree char *name = why_claim_name(pod, volume);
        json_t *claim = name != NULL ? why_find(self, "PersistentVolumeClaim",
                                                value_text(pod, "metadata.namespace"), name)
                                     : NULL;

        if (name != NULL && claim == NULL) {
            g_ptr_array_add(self->why->chain,
                            g_strdup_printf("persistentvolumeclaim/%s does not exist", name));
            return why_because(self, "claim-missing");
        }
        if (claim != NULL && why_ask_claim(self, claim, TRUE))
            return TRUE;
    }
    return FALSE;
}

static gboolean
ask_unscheduled(Question *self, json_t *pod)
{
    json_t *condition = value_find(value_at(pod, "status.conditions"), "type", "PodScheduled");
    const char *message = value_text(condition, "message");

    if (strcmp(value_text(condition, "reason"), "SchedulingGated") == 0 ||
        value_length(pod, "spec.schedulingGates") > 0)
        return why_link(self, "gated", pod, "is Pending: a scheduling gate holds it");
    why_link(self, NULL, pod, "is Pending: %s",
             *message != '\0' ? message
                              : "the scheduler has not come to it yet, or waits for its claims");
    if (ask_claims(self, pod))
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(scheduler_words); i++)
        if (strstr(message, scheduler_words[i].words) != NULL)
            return why_because(self, scheduler_words[i].cause);
    return why_because(self, "scheduling");
}

gboolean
why_ask_pod(Question *self, json_t *pod)
{
    const char *phase = value_text(pod, "status.phase"),
               *node_name = value_text(pod, "spec.nodeName");
    json_t *node = why_find(self, "Node", NULL, node_name);
    json_t *ready = value_find(value_at(node, "status.conditions"), "type", "Ready");

    if (*node_name != '\0' && (node == NULL || strcmp(value_text(ready, "status"), "True") != 0))
        return why_link(self, "node-not-ready", pod, "is on %s, whose kubelet is silent",
                        node_name);
    if (value_at(pod, "metadata.deletionTimestamp") != NULL)
        return why_link(self, "terminating", pod, "is being stopped");
    if (strcmp(phase, "Pending") != 0) {
        why_link(self, NULL, pod, "is %s", phase);
        return why_because(self,
                           strcmp(phase, "Running") == 0 &&
                                   strcmp(value_text(value_find(value_at(pod, "status.conditions"),
                                                                "type", "Ready"),
                                                     "status"),
                                          "True") != 0
                               ? "starting"
                               : "none");
    }
    if (*node_name == '\0')
        return ask_unscheduled(self, pod);
    why_link(self, NULL, pod, "is Pending on %s: its volumes are not mounted yet", node_name);
    return why_ask_mount(self, pod, node_name) || why_because(self, "starting");
}

gboolean
why_ask_missing_pod(Question *self, const char *name)
{
    const char *dash = strrchr(name, '-');
    guint64 ordinal;

    if (dash == NULL || !g_ascii_string_to_unsigned(dash + 1, 10, 0, G_MAXINT32, &ordinal, NULL))
        return FALSE;
    g_autofree char *set_name = g_strndup(name, (gsize)(dash - name));
    json_t *set = why_find(self, "StatefulSet", NULL, set_name);
    const char *refusal = set != NULL ? why_last_event(self, set, "FailedCreate") : "";

    if (set == NULL)
        return FALSE;
    g_ptr_array_add(self->why->chain, g_strdup_printf("pod/%s is not made yet", name));
    if (strstr(refusal, "exceeded quota") != NULL)
        return why_link(self, "quota", set, "cannot make %s: %s", name, refusal);
    for (guint64 i = 0; i < ordinal; i++) {
        g_autofree char *before = g_strdup_printf("%s-%" G_GUINT64_FORMAT, set_name, i);
        json_t *pod = why_find(self, "Pod", value_text(set, "metadata.namespace"), before);

        if (pod == NULL)
            break;
        why_ask_pod(self, pod);
        if (strcmp(self->why->cause, "none") == 0) {
            g_ptr_array_set_size(self->why->chain, 1); /* this pod does not block */
            continue;
        }
        g_ptr_array_insert(
            self->why->chain, 1,
            g_strdup_printf("statefulset/%s makes %s when %s is ready", set_name, name, before));
        return TRUE;
    }
    return why_link(self, "ordered", set, "has not made %s yet", name);
}
