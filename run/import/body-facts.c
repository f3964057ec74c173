/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of an object's body in an audit log: phases, conditions, finalizers and links of pods,
 * claims, volumes and attachments, as bits, with the few texts and sizes that the recording needs.
 * The body is scanned in place; only a body that becomes part of the workload is copied, without
 * the server's members. */
#include "body-facts.h"

#include <string.h>

#include "models/api/field.h"

const char *
body_intern(Strings *strings, JsonPart string)
{
    char small[256];

    if (string.at == NULL || string.length == 0)
        return NULL;
    if (string.length >= sizeof small) {
        g_autofree char *text = g_strndup(string.at, string.length);
        return strings_intern(strings, text);
    }
    memcpy(small, string.at, string.length);
    small[string.length] = '\0';
    return strings_intern(strings, small);
}

static const char *
body_facts_text_at(Strings *strings, JsonPart object, const char *key)
{
    return body_intern(strings, json_part_string(json_part_get(object, key)));
}

static unsigned
fact_if(gboolean holds, unsigned fact)
{
    return holds ? fact : 0;
}

/* ---- Metadata ---- */

static const char *
controller_of(Strings *strings, JsonPart metadata)
{
    JsonWalk walk;
    JsonPart owner;

    if (!json_walk_begin(&walk, json_part_get(metadata, "ownerReferences")))
        return NULL;
    while (json_walk_next(&walk, NULL, &owner)) {
        JsonPart controls = json_part_get(owner, "controller");
        if (controls.at == NULL || *controls.at != 't')
            continue;
        JsonPart kind = json_part_string(json_part_get(owner, "kind"));
        JsonPart name = json_part_string(json_part_get(owner, "name"));
        return strings_internf(strings, "%.*s/%.*s", (int)kind.length, kind.at, (int)name.length,
                               name.at);
    }
    return NULL;
}

static gboolean
body_facts_is_empty(JsonPart list)
{
    JsonWalk walk;
    JsonPart item;

    return !json_walk_begin(&walk, list) || !json_walk_next(&walk, NULL, &item);
}

static unsigned
metadata_facts(JsonPart metadata, gboolean is_pod)
{
    gint64 grace = 0;

    if (json_part_string(json_part_get(metadata, "deletionTimestamp")).at == NULL)
        return 0;
    json_part_integer(json_part_get(metadata, "deletionGracePeriodSeconds"), &grace);
    gboolean is_kept =
        !body_facts_is_empty(json_part_get(metadata, "finalizers")) || (is_pod && grace > 0);
    return is_kept ? FACT_DELETED : FACT_DELETED | FACT_GONE;
}

/* ---- Kinds ---- */

static JsonPart
find_condition(JsonPart status, const char *type)
{
    JsonWalk walk;
    JsonPart condition;

    if (json_walk_begin(&walk, json_part_get(status, "conditions")))
        while (json_walk_next(&walk, NULL, &condition))
            if (json_part_is(json_part_get(condition, "type"), type))
                return condition;
    return (JsonPart){NULL, 0};
}

const char **
body_claims_of_pod(JsonPart body, Strings *strings)
{
    GPtrArray *claims = g_ptr_array_new();
    const char *pod = body_facts_text_at(strings, json_part_get(body, "metadata"), "name");
    JsonWalk walk;
    JsonPart volume;

    if (json_walk_begin(&walk, json_part_path(body, "spec", "volumes", NULL)))
        while (json_walk_next(&walk, NULL, &volume)) {
            JsonPart source = json_part_get(volume, "persistentVolumeClaim");
            const char *claim = body_facts_text_at(strings, source, "claimName");
            if (json_part_get(volume, "ephemeral").at != NULL && pod != NULL)
                claim = strings_internf(strings, "%s-%s", pod,
                                        body_facts_text_at(strings, volume, "name"));
            if (claim != NULL)
                g_ptr_array_add(claims, (char *)claim);
        }
    if (claims->len == 0) {
        g_ptr_array_unref(claims);
        return NULL;
    }
    g_ptr_array_add(claims, NULL);
    return (const char **)g_ptr_array_free(claims, FALSE);
}

static void
read_pod(BodyFacts *self, JsonPart body, Strings *strings)
{
    JsonPart spec = json_part_get(body, "spec"), status = json_part_get(body, "status");
    JsonPart phase = json_part_get(status, "phase");
    JsonPart ready = find_condition(status, "Ready");
    JsonPart scheduled = find_condition(status, "PodScheduled");

    self->node = body_facts_text_at(strings, spec, "nodeName");
    self->facts |=
        fact_if(json_part_is(json_part_get(ready, "status"), "True"), FACT_READY) |
        fact_if(json_part_is(json_part_get(scheduled, "status"), "False"), FACT_UNSCHEDULABLE) |
        fact_if(json_part_is(phase, "Running"), FACT_RUNNING) |
        fact_if(json_part_is(phase, "Succeeded") || json_part_is(phase, "Failed"), FACT_STOPPED);
}

static int64_t
bytes_at(JsonPart object, const char *key)
{
    g_autofree char *text = json_part_text(json_part_path(object, key, "storage", NULL));
    int64_t bytes;

    return text != NULL && quantity_parse(text, &bytes, NULL, NULL) ? bytes : -1;
}

static void
read_claim(BodyFacts *self, JsonPart body, Strings *strings)
{
    JsonPart spec = json_part_get(body, "spec"), status = json_part_get(body, "status");
    JsonPart marks = json_part_path(body, "metadata", "annotations", NULL);
    JsonPart phase = json_part_get(status, "phase");
    JsonPart resizing = json_part_path(status, "allocatedResourceStatuses", "storage", NULL);

    self->volume = body_facts_text_at(strings, spec, "volumeName");
    self->node = body_facts_text_at(strings, marks, "volume.kubernetes.io/selected-node");
    self->requested_bytes = bytes_at(json_part_get(spec, "resources"), "requests");
    self->capacity_bytes = bytes_at(status, "capacity");
    self->facts |=
        fact_if(self->node != NULL, FACT_SELECTED) |
        fact_if(json_part_get(marks, "volume.kubernetes.io/storage-provisioner").at != NULL,
                FACT_ASKED) |
        fact_if(json_part_is(resizing, "NodeResizePending") ||
                    find_condition(status, "FileSystemResizePending").at != NULL,
                FACT_NODE_AWAITED) |
        fact_if(json_part_is(phase, "Bound"), FACT_BOUND) |
        fact_if(json_part_is(phase, "Lost"), FACT_LOST);
}

static void
body_facts_read_volume(BodyFacts *self, JsonPart body, Strings *strings)
{
    JsonPart spec = json_part_get(body, "spec");
    JsonPart phase = json_part_path(body, "status", "phase", NULL);
    JsonPart ref = json_part_get(spec, "claimRef");
    const char *namespace = body_facts_text_at(strings, ref, "namespace"),
               *name = body_facts_text_at(strings, ref, "name");

    if (namespace != NULL && name != NULL)
        self->claim = strings_internf(strings, "%s/%s", namespace, name);
    self->driver = body_facts_text_at(strings, json_part_get(spec, "csi"), "driver");
    self->capacity_bytes = bytes_at(spec, "capacity");
    self->facts |= fact_if(json_part_is(phase, "Bound"), FACT_BOUND) |
                   fact_if(json_part_is(phase, "Released"), FACT_RELEASED);
}

static void
read_attachment(BodyFacts *self, JsonPart body, Strings *strings)
{
    JsonPart attached = json_part_path(body, "status", "attached", NULL);

    self->node = body_facts_text_at(strings, json_part_get(body, "spec"), "nodeName");
    self->volume = body_intern(strings, json_part_string(json_part_path(
                                            body, "spec", "source", "persistentVolumeName", NULL)));
    self->facts |= fact_if(attached.at != NULL && *attached.at == 't', FACT_ATTACHED);
}

void
body_facts_read(BodyFacts *self, const WriteKind *kind, JsonPart body, Strings *strings)
{
    JsonPart metadata = json_part_get(body, "metadata");

    *self = (BodyFacts){.requested_bytes = -1, .capacity_bytes = -1};
    self->facts = metadata_facts(metadata, kind->model == KIND_POD);
    self->owner = controller_of(strings, metadata);
    switch (write_kind_recorded(kind)) {
    case RECORDED_POD:
        read_pod(self, body, strings);
        return;
    case RECORDED_CLAIM:
        read_claim(self, body, strings);
        return;
    case RECORDED_VOLUME:
        body_facts_read_volume(self, body, strings);
        return;
    case RECORDED_ATTACHMENT:
        read_attachment(self, body, strings);
        return;
    default:
        return;
    }
}

/* ---- Copies ---- */

static void
copy_without(GString *copy, JsonPart object, const char *const *left_out)
{
    const char *separator = "{";
    JsonPart key, value;
    JsonWalk walk;

    if (json_walk_begin(&walk, object))
        while (json_walk_next(&walk, &key, &value)) {
            g_autofree char *name = g_strndup(key.at, key.length);
            if (g_strv_contains(left_out, name))
                continue;
            g_string_append_printf(copy, "%s\"%s\":", separator, name);
            if (g_str_equal(name, "metadata"))
                copy_without(copy, value, (const char *const[]){"managedFields", NULL});
            else
                g_string_append_len(copy, value.at, (gssize)value.length);
            separator = ",";
        }
    g_string_append(copy, *separator == '{' ? "{}" : "}");
}

char *
body_copy(JsonPart body)
{
    GString *copy;

    if (body.at == NULL)
        return NULL;
    if (*body.at != '{') /* a JSON patch is a list */
        return g_strndup(body.at, body.length);
    copy = g_string_new(NULL);
    gboolean is_node = json_part_is(json_part_get(body, "kind"), "Node");
    copy_without(copy, body, (const char *const[]){is_node ? "" : "status", NULL});
    return g_string_free(copy, FALSE);
}
