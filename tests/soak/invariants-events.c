/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"

#include <string.h>

#include "models/api/snapshot.h"

/* Events are true: each names a change of the cluster, and its type and reason suit its words. And
 * each of these changes has its Event. */

/* ---- What they say ---- */

/* Failures are warnings, and successes are none. */
static void
invariants_events_check_words(Invariants *self, const ApiEvent *event)
{
    gboolean is_failure =
        strstr(event->reason, "Failed") != NULL || strstr(event->reason, "Error") != NULL;
    gboolean is_warning = g_str_equal(event->type, "Warning");
    gboolean is_success = g_str_has_prefix(event->message, "Successfully") ||
                          g_str_has_suffix(event->message, "successful") ||
                          strstr(event->message, " succeeded ") != NULL;

    /* PVC-21.5: a claim without a class that waits for a volume is told so. */
    if (is_failure && !is_warning && !g_str_equal(event->reason, "FailedBinding"))
        invariants_fault(self, "event %s of %s: a failure, not told as a warning", event->reason,
                         event->involved->text);
    if (is_success && (is_failure || is_warning))
        invariants_fault(self, "event %s of %s: a success, told as a warning", event->reason,
                         event->involved->text);
}

/* Returns: (owned) (nullable): the word after @before in the message, without quotes */
static char *
word_after(const char *message, const char *before)
{
    const char *at = strstr(message, before);

    if (at == NULL)
        return NULL;
    at += strlen(before);
    at += strspn(at, "\"");
    return g_strndup(at, strcspn(at, "\" "));
}

static gboolean
has_been(const Invariants *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key = objects_find_key(self->objects, kind, namespace, name);

    return key != NULL && key->incarnation > 0;
}

static void
check_scheduled(Invariants *self, const ApiEvent *event, const Object *pod)
{
    g_autofree char *node = word_after(event->message, " to ");

    if (g_strcmp0(POD_CONST(pod)->node_name, node) != 0)
        invariants_fault(self, "event Scheduled of %s: to %s, and it is on %s", pod->key->text,
                         node, POD_CONST(pod)->node_name);
}

static void
check_attached(Invariants *self, const ApiEvent *event, const Object *pod)
{
    g_autofree char *volume = word_after(event->message, "for volume ");

    if (volume != NULL && has_been(self, KIND_VOLUME, NULL, volume) &&
        !history_was_attached(self->history, volume, POD_CONST(pod)->node_name))
        invariants_fault(self, "event SuccessfulAttachVolume of %s: %s was never attached to %s",
                         pod->key->text, volume, POD_CONST(pod)->node_name);
}

static void
check_provisioned(Invariants *self, const ApiEvent *event, const Object *claim)
{
    g_autofree char *volume = word_after(event->message, "provisioned volume ");

    if (volume == NULL || !has_been(self, KIND_VOLUME, NULL, volume))
        invariants_fault(self, "event ProvisioningSucceeded of %s: there never was %s",
                         claim->key->text, volume);
}

static void
check_waits(Invariants *self, const ApiEvent *event, const Object *claim)
{
    const StorageClass *class = (const StorageClass *)invariants_find(
        self, KIND_STORAGE_CLASS, claim_class(CLAIM_CONST(claim)));

    (void)event;
    if (class != NULL && class->binding_mode != BINDING_WAIT_FOR_FIRST_CONSUMER)
        invariants_fault(self, "event WaitForFirstConsumer of %s: it waits for none",
                         claim->key->text);
}

static void
check_provisioner(Invariants *self, const ApiEvent *event, const Object *claim)
{
    const StorageClass *class = (const StorageClass *)invariants_find(
        self, KIND_STORAGE_CLASS, claim_class(CLAIM_CONST(claim)));

    if (class != NULL && strstr(event->message, class->provisioner) == NULL)
        invariants_fault(self, "event ExternalProvisioning of %s: names another provisioner",
                         claim->key->text);
}

/* The event comes before the status of the snapshot. */
static void
check_snapshot(Invariants *self, const ApiEvent *event, const Object *snapshot)
{
    (void)event;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_SNAPSHOT_CONTENT); i++) {
        const Object *content = invariants_stored(self, KIND_SNAPSHOT_CONTENT, i);
        if (content != NULL && SNAPSHOT_CONTENT_CONST(content)->readiness == SNAPSHOT_READY &&
            snapshot_content_is_of(SNAPSHOT_CONTENT_CONST(content),
                                   VOLUME_SNAPSHOT_CONST(snapshot)))
            return;
    }
    if (!object_is_deleted(snapshot) && !invariants_is_group_member(snapshot))
        invariants_fault(self, "event SnapshotReady of %s: it is not", snapshot->key->text);
}

static const struct {
    const char *reason;
    ObjectKind kind;
    void (*check)(Invariants *self, const ApiEvent *event, const Object *object);
} rows[] = {
    {"Scheduled",              KIND_POD,             check_scheduled  },
    {"SuccessfulAttachVolume", KIND_POD,             check_attached   },
    {"ProvisioningSucceeded",  KIND_CLAIM,           check_provisioned},
    {"WaitForFirstConsumer",   KIND_CLAIM,           check_waits      },
    {"ExternalProvisioning",   KIND_CLAIM,           check_provisioner},
    {"SnapshotReady",          KIND_VOLUME_SNAPSHOT, check_snapshot   },
};

/* An ApiEventObserver. The object may have gone since. */
void
invariants_saw_event(void *data, const ApiEventWrite *write, SimTime responds_at)
{
    Invariants *self = data;
    const ApiEvent *event = &write->event;
    const Object *object =
        event->involved == NULL ? NULL : api_server_get(self->api, event->involved);

    (void)responds_at;
    if (event->involved == NULL)
        return;
    invariants_events_check_words(self, event);
    if (object == NULL || !object_uid_equal(object->uid, event->involved_uid) ||
        g_str_has_prefix(event->message, "(combined"))
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].kind == object_kind(object) && g_str_equal(rows[i].reason, event->reason))
            rows[i].check(self, event, object);
}

/* ---- What was told ---- */

static gboolean
was_told(const Invariants *self, const Object *object, const char *reason)
{
    for (unsigned i = 0; i < api_server_n_events(self->api); i++) {
        const ApiEvent *event = api_server_event(self->api, i);
        if (event->involved == object->key && object_uid_equal(event->involved_uid, object->uid) &&
            g_str_equal(event->reason, reason))
            return TRUE;
    }
    return FALSE;
}

static void
expect_told(Invariants *self, const Object *object, const char *reason)
{
    if (!was_told(self, object, reason))
        invariants_fault(self, "%s %s: nobody told %s", kind_class(object_kind(object))->kind,
                         object->key->text, reason);
}

static void
check_told(Invariants *self, const Object *object)
{
    switch ((unsigned)object_kind(object)) {
    case KIND_POD:
        if (history_decided_at(self->history, object->key) != TIME_UNSET &&
            POD_CONST(object)->node_name != NULL)
            expect_told(self, object, "Scheduled");
        if (pod_is_ready(POD_CONST(object)))
            expect_told(self, object, "Started");
        break;
    case KIND_CLAIM: {
        const Object *volume = (const Object *)invariants_volume_of_claim(self, object->key);
        if (volume != NULL && object_annotation(volume, ANNOTATION_PROVISIONED_BY) != NULL)
            expect_told(self, object, "ProvisioningSucceeded");
        break;
    }
    case KIND_VOLUME_SNAPSHOT:
        if (VOLUME_SNAPSHOT_CONST(object)->readiness == SNAPSHOT_READY &&
            !invariants_is_group_member(object))
            expect_told(self, object, "SnapshotReady");
        break;
    }
}

/* Only without faults: a process that dies takes its events along. */
void
invariants_check_told(Invariants *self)
{
    static const ObjectKind kinds[] = {KIND_POD, KIND_CLAIM, KIND_VOLUME_SNAPSHOT};
    const GArray *faults = run_faults(self->run);

    if (faults != NULL && faults->len > 0)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kinds[i]); slot++) {
            const Object *object = invariants_stored(self, kinds[i], slot);
            if (object != NULL && object->created_at > 0 && invariants_is_old(self, object))
                check_told(self, object);
        }
}
