/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why.h"

#include <string.h>

#include "models/external-attacher/external-attacher.h"
#include "models/external-provisioner/external-provisioner.h"
#include "run/kubectl/value.h"
#include "run/results/snapshot.h"

/* A cause, and the way out. */
typedef struct {
    const char *id, *unblock;
} Cause;

/* clang-format off */
static const Cause causes[] = {
    {"none", ""},
    {"anti-affinity", "Add a node that has no such pod, or loosen the pod's affinity."},
    {"attach-limit", "Add a node, or delete a pod whose volume takes a place on one."},
    {"attaching", "Nothing is wrong yet: the driver is at work."},
    {"claim-deleting", "The claim is being deleted; once it is gone, create it again."},
    {"claim-lost", "The volume is gone and its data with it: delete the claim and create a new one."},
    {"claim-missing", "Create the claim."},
    {"class-missing", "Create the StorageClass, or name one that is there."},
    {"cordoned", "Uncordon a node, or add one."},
    {"driver-error", "The driver refuses: mend what it complains of. The call is repeated on its own."},
    {"driver-full", "The back end has no room: make some, or let the pod go to another zone."},
    {"driver-not-registered",
     "The driver's plugin is not running on the node: start it there, or keep the pod away."},
    {"driver-slow",
     "Calls take longer than their deadline: raise --timeout of the sidecar, or mend the driver."},
    {"gated", "Whoever set the pod's scheduling gate must remove it."},
    {"mount-error",
     "The node cannot mount the volume: mend what the message tells. It is tried again on its own."},
    {"mounting", "Nothing is wrong yet: the kubelet is at work."},
    {"multi-attach",
     "The volume may be on one node only: delete the pod that uses it there; if that node is dead, taint it "
     "out-of-service."},
    {"no-attacher", "No external-attacher serves this driver: deploy it."},
    {"no-class", "Name a StorageClass in the claim, or make one the default."},
    {"no-consumer", "The class waits for a pod: create one that uses the claim."},
    {"no-provisioner",
     "No external-provisioner serves this class: deploy it, or correct the class's provisioner."},
    {"no-volume", "Create a PersistentVolume that fits the claim, or use a class that provisions."},
    {"node-not-ready", "The node's kubelet is silent: mend it. Pods elsewhere wait until this one is gone."},
    {"node-selector", "No node has the labels that the pod asks for: label one, or correct the pod."},
    {"ordered", "The StatefulSet makes its pods one after the other: help the one before."},
    {"provisioning", "Nothing is wrong yet: the driver is making the volume."},
    {"quota", "The namespace's quota is used up: raise it, or delete claims."},
    {"resources", "Add a node, or ask for less."},
    {"rwop-in-use", "The claim is for one pod only: delete the other pod."},
    {"scheduling", "Nothing is wrong yet: the scheduler has not decided."},
    {"starting", "Nothing is wrong yet: the containers are being started."},
    {"storage-capacity", "No segment has so much room (CSIStorageCapacity): make some, or ask for less."},
    {"taint", "Let the pod tolerate the taint, or remove it."},
    {"terminating", "The pod is being stopped."},
    {"volume-deleting", "The volume is being deleted and will go: give the pod another claim."},
    {"volume-missing",
     "The claim names a PersistentVolume that does not exist: create it, or correct the claim."},
    {"volume-taken", "The claim names a PersistentVolume that belongs to another claim: name another one."},
    {"volume-zone", "The volume is in a zone where the pod may not run: add a node there, or move the data."},
};
/* clang-format on */

/* The scheduler's words. The most telling about storage come first, since one message lists the
 * reasons of several nodes. */
static const struct {
    const char *words, *cause;
} scheduler_words[] = {
    {"ReadWriteOncePod access mode",             "rwop-in-use"     },
    {"exceed max volume count",                  "attach-limit"    },
    {"volume node affinity conflict",            "volume-zone"     },
    {"no available volume zone",                 "volume-zone"     },
    {"not enough free storage",                  "storage-capacity"},
    {"didn't find available persistent volumes", "no-volume"       },
    {"non-existent persistentvolume",            "claim-lost"      },
    {"Insufficient",                             "resources"       },
    {"Too many pods",                            "resources"       },
    {"anti-affinity",                            "anti-affinity"   },
    {"node affinity/selector",                   "node-selector"   },
    {"untolerated taint",                        "taint"           },
    {"were unschedulable",                       "cordoned"        },
};

typedef struct {
    const Run *run;
    json_t *objects;
    Why *why;
} Question;

static const Cause *
cause_of(const char *id)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(causes); i++)
        if (strcmp(causes[i].id, id) == 0)
            return &causes[i];
    g_assert_not_reached();
}

/* Ends the chain with the cause. Returns: TRUE */
static gboolean
because(Question *self, const char *id)
{
    const Cause *cause = cause_of(id);

    self->why->cause = cause->id;
    self->why->unblock = cause->unblock;
    return TRUE;
}

/* Adds a link to the chain. @cause: NULL: the chain goes on. Returns: TRUE */
static gboolean G_GNUC_PRINTF(4, 5)
    add_link(Question *self, const char *cause, json_t *object, const char *format, ...)
{
    g_autofree char *kind = g_ascii_strdown(value_text(object, "kind"), -1);
    va_list args;

    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_free(self->why->blocked);
    self->why->blocked = g_strdup_printf("%s/%s", kind, value_text(object, "metadata.name"));
    g_ptr_array_add(self->why->chain, g_strdup_printf("%s %s", self->why->blocked, text));
    return cause == NULL || because(self, cause);
}

/* @namespace: NULL: any */
static json_t *
find(const Question *self, const char *kind, const char *namespace, const char *name)
{
    json_t *object;
    gsize i;

    json_array_foreach(self->objects, i, object)
        if (strcmp(value_text(object, "kind"), kind) == 0 &&
            strcmp(value_text(object, "metadata.name"), name) == 0 &&
            (namespace == NULL || strcmp(value_text(object, "metadata.namespace"), namespace) == 0))
            return object;
    return NULL;
}

/* Returns: the text of the object's newest Event with this reason; "" if there is none */
static const char *
last_event(const Question *self, json_t *object, const char *reason)
{
    const char *found = "";
    ValueTime found_at = VALUE_TIME_NONE;
    json_t *event;
    gsize i;

    json_array_foreach(self->objects, i, event) {
        ValueTime at = value_time(event, "lastTimestamp");

        if (strcmp(value_text(event, "kind"), "Event") != 0 ||
            strcmp(value_text(event, "reason"), reason) != 0 ||
            strcmp(value_text(event, "involvedObject.uid"), value_text(object, "metadata.uid")) !=
                0 ||
            (at < found_at && *found != '\0'))
            continue;
        found = value_text(event, "message");
        found_at = at;
    }
    return found;
}

/* Returns: the cause behind a driver's error */
static const char *
cause_of_refusal(const char *message)
{
    /* After a timeout, the call goes on in the driver, and the next call meets it. */
    if (strstr(message, "DeadlineExceeded") != NULL || strstr(message, "already exists") != NULL)
        return "driver-slow";
    if (strstr(message, "ResourceExhausted") != NULL)
        return "driver-full";
    if (strstr(message, "CSINode") != NULL &&
        (strstr(message, "topology") != NULL || strstr(message, "does not contain driver") != NULL))
        return "driver-not-registered";
    return "driver-error";
}

/* The class exists. */
static gboolean
ask_provisioned_claim(Question *self, json_t *claim, json_t *class, gboolean has_pod)
{
    const char *provisioner = value_text(class, "provisioner"),
               *name = value_text(class, "metadata.name");
    const char *node = json_string_value(json_object_get(value_at(claim, "metadata.annotations"),
                                                         "volume.kubernetes.io/selected-node"));
    const char *refusal = last_event(self, claim, "ProvisioningFailed");

    if (strcmp(value_text(class, "volumeBindingMode"), "WaitForFirstConsumer") == 0 &&
        node == NULL) {
        if (*refusal != '\0' && strstr(refusal, "ResourceExhausted") != NULL)
            return add_link(self, "driver-full", claim, "is Pending: %s", refusal);
        if (has_pod)
            return FALSE; /* the claim waits for the same cause as the pod */
        return add_link(self, "no-consumer", claim, "is Pending: its class %s waits for a pod",
                        name);
    }
    if (strcmp(provisioner, "kubernetes.io/no-provisioner") == 0)
        return add_link(self, "no-volume", claim,
                        "is Pending: no PersistentVolume of class %s fits, and nobody makes one",
                        name);
    if (cluster_model(run_cluster(self->run), &external_provisioner_class, provisioner) == NULL)
        return add_link(self, "no-provisioner", claim,
                        "is Pending: its provisioner %s does not run", provisioner);
    if (*refusal != '\0')
        return add_link(self, cause_of_refusal(refusal), claim, "is Pending: %s said: %s",
                        provisioner, refusal);
    return add_link(self, "provisioning", claim, "is Pending: %s is making its volume",
                    provisioner);
}

/* The claim names its volume. */
static gboolean
ask_named_volume(Question *self, json_t *claim, const char *name)
{
    json_t *volume = find(self, "PersistentVolume", NULL, name);

    if (volume == NULL)
        return add_link(self, "volume-missing", claim,
                        "is Pending: it names the volume %s, which does not exist", name);
    if (value_at(volume, "spec.claimRef") != NULL &&
        strcmp(value_text(volume, "spec.claimRef.name"), value_text(claim, "metadata.name")) != 0)
        return add_link(self, "volume-taken", claim,
                        "is Pending: it names the volume %s, which belongs to %s/%s", name,
                        value_text(volume, "spec.claimRef.namespace"),
                        value_text(volume, "spec.claimRef.name"));
    return FALSE;
}

/* Returns: whether the claim blocks. @has_pod: the question is about its pod */
static gboolean
ask_claim(Question *self, json_t *claim, gboolean has_pod)
{
    const char *phase = value_text(claim, "status.phase"),
               *volume = value_text(claim, "spec.volumeName");
    const char *class_name = value_text(claim, "spec.storageClassName");
    json_t *class;

    if (strcmp(phase, "Lost") == 0)
        return add_link(self, "claim-lost", claim, "is Lost: its volume %s is gone", volume);
    if (value_at(claim, "metadata.deletionTimestamp") != NULL)
        return add_link(self, "claim-deleting", claim, "is being deleted");
    if (strcmp(phase, "Bound") == 0)
        return FALSE;
    if (*volume != '\0')
        return ask_named_volume(self, claim, volume);
    if (*class_name == '\0') {
        gboolean is_static = value_at(claim, "spec.storageClassName") != NULL;

        return add_link(self, is_static ? "no-volume" : "no-class", claim,
                        is_static ? "is Pending: no PersistentVolume without a class fits"
                                  : "is Pending: it names no class and there is no default");
    }
    class = find(self, "StorageClass", NULL, class_name);
    if (class == NULL)
        return add_link(self, "class-missing", claim, "is Pending: there is no StorageClass %s",
                        class_name);
    return ask_provisioned_claim(self, claim, class, has_pod);
}

/* Returns: (owned): the claim of a pod's volume; NULL if the volume has none */
static char *
claim_name_of(json_t *pod, json_t *volume)
{
    if (value_at(volume, "ephemeral") != NULL)
        return g_strdup_printf("%s-%s", value_text(pod, "metadata.name"),
                               value_text(volume, "name"));
    if (value_at(volume, "persistentVolumeClaim") == NULL)
        return NULL;
    return g_strdup(value_text(volume, "persistentVolumeClaim.claimName"));
}

/* Returns: whether one of the pod's claims blocks */
static gboolean
ask_claims(Question *self, json_t *pod)
{
    json_t *volume;
    gsize i;

    json_array_foreach(value_at(pod, "spec.volumes"), i, volume) {
        g_autofree char *name = claim_name_of(pod, volume);
        json_t *claim = name != NULL ? find(self, "PersistentVolumeClaim",
                                            value_text(pod, "metadata.namespace"), name)
                                     : NULL;

        if (name != NULL && claim == NULL) {
            g_ptr_array_add(self->why->chain,
                            g_strdup_printf("persistentvolumeclaim/%s does not exist", name));
            return because(self, "claim-missing");
        }
        if (claim != NULL && ask_claim(self, claim, TRUE))
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
        return add_link(self, "gated", pod, "is Pending: a scheduling gate holds it");
    add_link(self, NULL, pod, "is Pending: %s",
             *message != '\0' ? message
                              : "the scheduler has not come to it yet, or waits for its claims");
    if (ask_claims(self, pod))
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(scheduler_words); i++)
        if (strstr(message, scheduler_words[i].words) != NULL)
            return because(self, scheduler_words[i].cause);
    return because(self, "scheduling");
}

/* Finds the volume's attachment to the node or, with @elsewhere, to another one. */
static json_t *
find_attachment(const Question *self, const char *volume, const char *node, gboolean elsewhere)
{
    json_t *object;
    gsize i;

    json_array_foreach(self->objects, i, object)
        if (strcmp(value_text(object, "kind"), "VolumeAttachment") == 0 &&
            strcmp(value_text(object, "spec.source.persistentVolumeName"), volume) == 0 &&
            (strcmp(value_text(object, "spec.nodeName"), node) != 0) == elsewhere)
            return object;
    return NULL;
}

/* Returns: whether the attachment of the volume blocks */
static gboolean
ask_attachment(Question *self, json_t *pod, json_t *volume, const char *node)
{
    const char *name = value_text(volume, "metadata.name"),
               *driver = value_text(volume, "spec.csi.driver");
    json_t *attachment = find_attachment(self, name, node, FALSE),
           *other = find_attachment(self, name, node, TRUE);
    const char *message = last_event(self, pod, "FailedAttachVolume");

    if (attachment != NULL && value_is_true(attachment, "status.attached"))
        return FALSE;
    if (value_at(volume, "metadata.deletionTimestamp") != NULL)
        return add_link(self, "volume-deleting", volume, "is being deleted, so nobody attaches it");
    if (other != NULL && value_at(other, "status.detachError") != NULL) {
        const char *error = value_text(other, "status.detachError.message");

        add_link(self, NULL, volume, "is not on %s yet", node);
        return add_link(self, cause_of_refusal(error), other, "cannot be detached from %s: %s",
                        value_text(other, "spec.nodeName"), error);
    }
    if (attachment == NULL && other != NULL && strstr(message, "Multi-Attach") != NULL)
        return add_link(self, "multi-attach", volume, "is still on %s: %s",
                        value_text(other, "spec.nodeName"), message);
    if (attachment == NULL) {
        if (json_is_false(value_at(find(self, "CSIDriver", NULL, driver), "spec.attachRequired")))
            return FALSE;
        return add_link(self, *message != '\0' ? cause_of_refusal(message) : "attaching", volume,
                        "is not on %s yet%s%s", node, *message != '\0' ? ": " : "", message);
    }
    if (value_at(attachment, "status.attachError") != NULL) {
        const char *error = value_text(attachment, "status.attachError.message");

        return add_link(self, cause_of_refusal(error), attachment, "is not attached: %s", error);
    }
    add_link(self, NULL, attachment, "is not attached%s%s", *message != '\0' ? ": " : "", message);
    return because(self,
                   cluster_model(run_cluster(self->run), &external_attacher_class, driver) == NULL
                       ? "no-attacher"
                       : "attaching");
}

static gboolean
driver_is_on_node(const Question *self, const char *driver, const char *node)
{
    json_t *csi_node = find(self, "CSINode", NULL, node);

    return value_find(value_at(csi_node, "spec.drivers"), "name", driver) != NULL;
}

static gboolean
ask_mount(Question *self, json_t *pod, const char *node)
{
    const char *message = last_event(self, pod, "FailedMount");
    json_t *item;
    gsize i;

    json_array_foreach(value_at(pod, "spec.volumes"), i, item) {
        g_autofree char *name = claim_name_of(pod, item);
        json_t *claim = name != NULL ? find(self, "PersistentVolumeClaim",
                                            value_text(pod, "metadata.namespace"), name)
                                     : NULL;
        json_t *volume = find(self, "PersistentVolume", NULL, value_text(claim, "spec.volumeName"));
        const char *driver = value_text(volume, "spec.csi.driver");

        if (volume == NULL || *driver == '\0')
            continue;
        if (ask_attachment(self, pod, volume, node))
            return TRUE;
        if (!driver_is_on_node(self, driver, node))
            return add_link(self, "driver-not-registered", volume,
                            "cannot be mounted: %s is not registered on %s", driver, node);
        if (*message != '\0')
            return add_link(self,
                            strstr(message, "not found in the list of registered") != NULL
                                ? "driver-not-registered"
                                : "mount-error",
                            volume, "is not mounted on %s: %s", node, message);
        return add_link(self, "mounting", volume, "is being mounted on %s", node);
    }
    return FALSE;
}

static gboolean
ask_pod(Question *self, json_t *pod)
{
    const char *phase = value_text(pod, "status.phase"),
               *node_name = value_text(pod, "spec.nodeName");
    json_t *node = find(self, "Node", NULL, node_name);
    json_t *ready = value_find(value_at(node, "status.conditions"), "type", "Ready");

    if (*node_name != '\0' && (node == NULL || strcmp(value_text(ready, "status"), "True") != 0))
        return add_link(self, "node-not-ready", pod, "is on %s, whose kubelet is silent",
                        node_name);
    if (value_at(pod, "metadata.deletionTimestamp") != NULL)
        return add_link(self, "terminating", pod, "is being stopped");
    if (strcmp(phase, "Pending") != 0) {
        add_link(self, NULL, pod, "is %s", phase);
        return because(self,
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
    add_link(self, NULL, pod, "is Pending on %s: its volumes are not mounted yet", node_name);
    return ask_mount(self, pod, node_name) || because(self, "starting");
}

/* "web-3" does not exist: its StatefulSet waits for web-2, or a quota refuses the claim. */
static gboolean
ask_missing_pod(Question *self, const char *name)
{
    const char *dash = strrchr(name, '-');
    guint64 ordinal;

    if (dash == NULL || !g_ascii_string_to_unsigned(dash + 1, 10, 0, G_MAXINT32, &ordinal, NULL))
        return FALSE;
    g_autofree char *set_name = g_strndup(name, (gsize)(dash - name));
    json_t *set = find(self, "StatefulSet", NULL, set_name);
    const char *refusal = set != NULL ? last_event(self, set, "FailedCreate") : "";

    if (set == NULL)
        return FALSE;
    g_ptr_array_add(self->why->chain, g_strdup_printf("pod/%s is not made yet", name));
    if (strstr(refusal, "exceeded quota") != NULL)
        return add_link(self, "quota", set, "cannot make %s: %s", name, refusal);
    for (guint64 i = 0; i < ordinal; i++) {
        g_autofree char *before = g_strdup_printf("%s-%" G_GUINT64_FORMAT, set_name, i);
        json_t *pod = find(self, "Pod", value_text(set, "metadata.namespace"), before);

        if (pod == NULL)
            break;
        ask_pod(self, pod);
        if (strcmp(self->why->cause, "none") == 0) {
            g_ptr_array_set_size(self->why->chain, 1); /* this pod does not block */
            continue;
        }
        g_ptr_array_insert(
            self->why->chain, 1,
            g_strdup_printf("statefulset/%s makes %s when %s is ready", set_name, name, before));
        return TRUE;
    }
    return add_link(self, "ordered", set, "has not made %s yet", name);
}

Why *
why_ask(const Run *run, const char *object)
{
    json_auto_t *objects = snapshot_take(run);
    g_autoptr(Why) why = g_new0(Why, 1);
    Question self = {.run = run, .objects = objects, .why = why};
    const char *slash = strchr(object, '/');
    g_autofree char *kind =
        slash != NULL ? g_ascii_strdown(object, (gssize)(slash - object)) : NULL;
    json_t *found = NULL;

    why->chain = g_ptr_array_new_with_free_func(g_free);
    if (slash == NULL)
        return NULL;
    if (strcmp(kind, "pod") == 0 || strcmp(kind, "pods") == 0) {
        found = find(&self, "Pod", NULL, slash + 1);
        if (found != NULL ? !ask_pod(&self, found) : !ask_missing_pod(&self, slash + 1))
            return NULL;
    } else if (strcmp(kind, "pvc") == 0 || g_str_has_prefix(kind, "persistentvolumeclaim")) {
        found = find(&self, "PersistentVolumeClaim", NULL, slash + 1);
        if (found == NULL)
            return NULL;
        if (!ask_claim(&self, found, FALSE)) {
            add_link(&self, NULL, found, "is %s", value_text(found, "status.phase"));
            because(&self, "none");
        }
    } else {
        return NULL;
    }
    return g_steal_pointer(&why);
}

void
why_free(Why *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->chain, g_ptr_array_unref);
    g_free(self->blocked);
    g_free(self);
}

void
why_tell(const Why *self, GString *out)
{
    for (unsigned i = 0; i < self->chain->len; i++)
        g_string_append_printf(out, "%*s%s%s\n", (int)i * 2, "", i > 0 ? "<- " : "",
                               (const char *)self->chain->pdata[i]);
    g_string_append_printf(out, "cause: %s\n", self->cause);
    if (*self->unblock != '\0')
        g_string_append_printf(out, "unblock: %s\n", self->unblock);
}
