/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods and pod templates: fields, defaults, checks, and questions about phase, readiness and
 * claims. Two templates are equal only if the members that no model reads are equal, too, with null
 * for absent: another argument of a container makes other pods. A volume keeps the key of its
 * claim, because each version of a pod is asked for it again and again. */
#include "pod.h"

#include <string.h>

#include "container-life.h"
#include "local/machine-use.h"
#include "pod-private.h"

static const Field template_fields[] = {
    FIELD("metadata.labels", field_labels, PodTemplate, labels, FIELD_SPEC),
    FIELD("metadata.annotations", field_string_map, PodTemplate, annotations, FIELD_SPEC),
    FIELD("spec", field_pod_spec, PodTemplate, spec, FIELD_REQUIRED),
    FIELD("spec", field_pod_volumes, PodTemplate, volumes, FIELD_SPEC | FIELD_PART),
    FIELDS_END,
};
PodTemplate *
pod_template_new(void)
{
    PodTemplate *self = g_new0(PodTemplate, 1);

    self->refs = REF_COUNT_ONE;
    self->spec = pod_spec_new();
    return self;
}

static void
pod_template_free(PodTemplate *self)
{
    fields_clear(template_fields, self);
    json_decref(self->manifest);
    g_free(self);
}

REF_COUNTED_DEFINE(PodTemplate, pod_template, pod_template_free)

static void
pod_template_parse(ApiParser *parser, const json_t *value, void *field)
{
    PodTemplate **slot = field;
    PodTemplate *template = pod_template_new();

    template->manifest = json_incref((json_t *)value); /* kept as it is */
    fields_parse(parser, value, template_fields, template);
    pod_template_unref(*slot);
    *slot = template;
}

static json_t *
pod_template_to_json(const void *field)
{
    const PodTemplate *template = *(PodTemplate *const *)field;

    return template == NULL ? NULL : fields_to_json(template_fields, template, template->manifest);
}

static gboolean json_same(const json_t *a, const json_t *b);

static gboolean
has_members_of(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)b, key, member)
        if (!json_is_null(member) && !json_same(json_object_get(a, key), member))
            return FALSE;
    return TRUE;
}

/* The API server reads null as absent, and not all releases print it. */
static gboolean
json_same(const json_t *a, const json_t *b)
{
    if (json_is_object(a) && json_is_object(b))
        return has_members_of(a, b) && has_members_of(b, a);
    if (!json_is_array(a) || json_array_size(a) != json_array_size(b))
        return json_equal(a, b);
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!json_same(json_array_get(a, i), json_array_get(b, i)))
            return FALSE;
    return TRUE;
}

/* Members that no model reads make templates different, too: another argument of a container makes
 * other pods. */
static gboolean
prints_same(const PodTemplate *a, const PodTemplate *b)
{
    json_t *x = pod_template_to_json(&a), *y = pod_template_to_json(&b);
    gboolean same = json_same(x, y);

    json_decref(x);
    json_decref(y);
    return same;
}

gboolean
pod_template_equal(const PodTemplate *a, const PodTemplate *b)
{
    return fields_equal(template_fields, a, b) && (a->manifest == b->manifest || prints_same(a, b));
}

const FieldType field_pod_template = {
    FIELD_SHARED(pod_template),
    .parse = pod_template_parse,
    .to_json = pod_template_to_json,
};

const FieldType field_condition_status = {FIELD_WORDS("", "False", "True", "Unknown")};

/* Kubernetes prints times that nobody writes as null. */
#define CONDITION_FIELDS(time)                                                                     \
    FIELD("status", field_condition_status, PodCondition, status, FIELD_REQUIRED),                 \
        FIELD("reason", field_word, PodCondition, reason, FIELD_SPEC),                             \
        FIELD("message", field_word, PodCondition, message, FIELD_SPEC),                           \
        FIELD("lastTransitionTime", field_time, PodCondition, changed_at, FIELD_OR_NULL),          \
        FIELD_WHOLE(time, field_null, FIELD_SPEC), FIELDS_END

static const Field node_condition_fields[] = {CONDITION_FIELDS("lastHeartbeatTime")};
static const Field pod_condition_fields[] = {CONDITION_FIELDS("lastProbeTime")};

const FieldType field_node_condition = {FIELD_STRUCT(PodCondition, node_condition_fields)};
static const FieldType field_pod_condition = {FIELD_STRUCT(PodCondition, pod_condition_fields)};

static const FieldType pod_phase_type = {
    FIELD_WORDS("Pending", "Running", "Succeeded", "Failed", "Unknown"),
};

static const Field pod_fields[] = {
    /* clang-format off */
    FIELD("spec", field_pod_spec, Pod, spec, FIELD_REQUIRED),
    FIELD("spec", field_pod_volumes, Pod, volumes, FIELD_SPEC | FIELD_PART),
    FIELD("spec.nodeName", field_word, Pod, node_name, FIELD_SPEC),
    FIELD("spec.hostname", field_word, Pod, hostname, FIELD_SPEC),
    FIELD("status.nominatedNodeName", field_word, Pod, nominated_node, FIELD_STATUS),
    FIELD("status.reason", field_word, Pod, reason, FIELD_STATUS),
    FIELD("status.message", field_word, Pod, message, FIELD_STATUS),
    FIELD("status.conditions[PodReadyToStartContainers]", field_pod_condition, Pod, ready_to_start, FIELD_STATUS),
    FIELD("status.conditions[Initialized]", field_pod_condition, Pod, initialized, FIELD_STATUS),
    FIELD("status.conditions[Ready]", field_pod_condition, Pod, ready, FIELD_STATUS),
    FIELD("status.conditions[ContainersReady]", field_pod_condition, Pod, containers_ready, FIELD_STATUS),
    FIELD("status.conditions[PodScheduled]", field_pod_condition, Pod, scheduled, FIELD_STATUS),
    FIELD("status.conditions[DisruptionTarget]", field_pod_condition, Pod, disruption, FIELD_STATUS),
    FIELD("status.startTime", field_time, Pod, started_at, FIELD_STATUS),
    FIELD("status.disruptionFirst", field_flag, Pod, disruption_first, FIELD_STATUS | FIELD_INTERNAL),
    FIELD("status.restarts", field_count, Pod, restarts, FIELD_STATUS | FIELD_INTERNAL),
    FIELD("status.restartsAlone", field_word, Pod, restarts_alone, FIELD_STATUS | FIELD_INTERNAL),
    FIELD("status.exitCode", field_count, Pod, exit_code, FIELD_STATUS | FIELD_INTERNAL),
    FIELD("status.observedGeneration", field_count, Pod, observed_generation, FIELD_STATUS),
    FIELD("status.phase", pod_phase_type, Pod, phase, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

static void
pod_set_defaults(Object *object)
{
    POD(object)->spec = pod_spec_new();
}

void
annotation_fault(ApiParser *parser,
                 const json_t *manifest,
                 const char *annotation,
                 const char *hint,
                 const GError *error)
{
    const json_t *values = json_path_get(manifest, "metadata.annotations");
    const json_t *value = json_object_get(values, annotation);
    gsize length = api_parser_enter(parser, "metadata.annotations");

    api_parser_fault_at(parser, value != NULL ? value : values, annotation, hint, "%s",
                        error->message);
    api_parser_leave(parser, length);
}

static void
check_uses(ApiParser *parser, const json_t *manifest, const StringMap *annotations)
{
    const char *text = string_map_get(annotations, ANNOTATION_USES);
    g_autoptr(GError) error = NULL;
    g_autofree MachineUses *uses = text == NULL ? NULL : machine_uses_parse(text, TRUE, &error);
    PodEmptyDir dir;

    for (unsigned i = 0; uses != NULL && error == NULL && i < uses->n; i++)
        if (uses->items[i].kind == USE_EMPTY_DIR &&
            !pod_empty_dir_read(json_path_get(manifest, "spec"), uses->items[i].volume, &dir))
            g_set_error(&error, SIM_ERROR, SIM_ERROR_INVALID, "the pod has no emptyDir \"%s\"",
                        uses->items[i].volume);
    if (error != NULL)
        annotation_fault(parser, manifest, ANNOTATION_USES,
                         "for example \"memory start=1Gi; disk start=1Gi step=100Mi every=1m\"",
                         error);
}

void
pod_check_annotations(ApiParser *parser, const json_t *manifest, const StringMap *annotations)
{
    g_autoptr(GError) error = NULL;
    ContainerLife life;
    const char *which;

    check_uses(parser, manifest, annotations);
    if (!container_life_is_told(annotations))
        return;
    if (container_life_parse(annotations, &life, &which, &error))
        container_life_clear(&life);
    else
        annotation_fault(parser, manifest, which,
                         "for example " ANNOTATION_RUNS_FOR ": 30s, or \"uniform 10s 1m\"", error);
}

static void
pod_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const json_t *spec = json_path_get(manifest, "spec");
    gsize length = api_parser_enter(parser, "spec");

    if (json_is_object(spec))
        pod_check_mounts(parser, spec, NULL);
    api_parser_leave(parser, length);
    pod_check_annotations(parser, manifest, object->annotations);
}

const KindClass pod_kind = {
    .kind = "Pod",
    .api_version = "v1",
    .resource = "pods",
    .size = sizeof(Pod),
    .fields = pod_fields,
    .namespaced = TRUE,
    .set_defaults = pod_set_defaults,
    .check = pod_check,
};

void
pod_set_spec(Pod *self, const PodSpec *spec, const PodVolumes *volumes)
{
    PodSpec *old_spec = self->spec;
    PodVolumes *old_volumes = self->volumes;

    self->spec = pod_spec_ref(spec);
    self->volumes = pod_volumes_ref(volumes);
    pod_spec_unref(old_spec);
    pod_volumes_unref(old_volumes);
}

gboolean
pod_is_terminal(const Pod *self)
{
    return self->phase == POD_SUCCEEDED || self->phase == POD_FAILED;
}

gboolean
pod_is_ready(const Pod *self)
{
    return self->ready.status == CONDITION_TRUE;
}

gboolean
pod_disruption_differs(const Pod *self, const PodCondition *wanted)
{
    return self->disruption.status != CONDITION_TRUE || self->disruption.reason != wanted->reason ||
           self->disruption.message != wanted->message;
}

gboolean
pod_set_disruption(Pod *self, const PodCondition *wanted)
{
    SimTime since = self->disruption.status == CONDITION_TRUE ? self->disruption.changed_at
                                                              : wanted->changed_at;

    if (!pod_disruption_differs(self, wanted))
        return FALSE;
    self->disruption = *wanted;
    self->disruption.changed_at = since;
    return TRUE;
}

/* Pods of several namespaces may share a list of volumes. */
static gboolean
is_claim_of(const ObjectKey *claim, const char *namespace, const char *name)
{
    return claim != NULL && claim->name == name && claim->namespace == namespace;
}

/* A pod's versions share its volumes, and each is asked for its claims again and again, so the
 * volume keeps the answer, although it is const. */
ObjectKey *
pod_claim_key(Objects *objects, const Pod *self, const PodVolume *volume)
{
    const ObjectKey *key = self->meta.key;
    char buffer[512];

    if (!volume->ephemeral) {
        if (!is_claim_of(volume->claim, key->namespace, volume->claim_name))
            ((PodVolume *)volume)->claim =
                objects_key(objects, KIND_CLAIM, key->namespace, volume->claim_name);
        return volume->claim;
    }
    g_snprintf(buffer, sizeof buffer, "%s-%s", key->name, volume->name); /* VB-9 */
    return objects_key(objects, KIND_CLAIM, key->namespace, buffer);
}

const char *
pod_phase_name(PodPhase phase)
{
    return pod_phase_type.words[phase];
}
