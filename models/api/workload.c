/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of all kinds that own pods: templates, selectors, replicas, IntOrPercent and conditions,
 * found by offsets in the kind's WorkloadClass. Templates are compared without the label
 * pod-template-hash, as Deployments do. The hash of a template is made of its printed form, so
 * equal templates have equal hashes in every run. */
#include "models/api/workloads/workload-private.h"

#include <stdlib.h>
#include <string.h>

#include "sim/random.h"

int32_t
int_or_percent_of(const IntOrPercent *self, int32_t total, gboolean round_up)
{
    if (!self->is_percent)
        return self->value;
    int64_t hundredths = (int64_t)self->value * total;
    return (int32_t)((hundredths + (round_up ? 99 : 0)) / 100);
}

static void
int_or_percent_parse(ApiParser *parser, const json_t *value, void *field)
{
    IntOrPercent *number = field;
    guint64 percent;

    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= INT32_MAX) {
        *number = (IntOrPercent){.value = (int32_t)json_integer_value(value), .is_set = TRUE};
        return;
    }
    if (json_is_string(value) && g_str_has_suffix(json_string_value(value), "%")) {
        g_autofree char *digits =
            g_strndup(json_string_value(value), json_string_length(value) - 1);
        if (g_ascii_string_to_unsigned(digits, 10, 0, INT32_MAX, &percent, NULL)) {
            *number = (IntOrPercent){.value = (int32_t)percent, .is_percent = TRUE, .is_set = TRUE};
            return;
        }
    }
    api_parser_invalid(parser, value, "write 1 or \"25%\"",
                       "must be an integer that is not negative, or a percentage (e.g '5%')");
}

static gboolean
int_or_percent_equal(const void *a, const void *b)
{
    const IntOrPercent *x = a, *y = b;

    return x->is_set == y->is_set && x->value == y->value && x->is_percent == y->is_percent;
}

static json_t *
int_or_percent_to_json(const void *field)
{
    const IntOrPercent *number = field;
    char text[16];

    if (!number->is_set)
        return NULL;
    if (!number->is_percent)
        return json_integer(number->value);
    g_snprintf(text, sizeof text, "%d%%", number->value);
    return json_string(text);
}

const FieldType field_int_or_percent = {
    .size = sizeof(IntOrPercent),
    .equal = int_or_percent_equal,
    .parse = int_or_percent_parse,
    .to_json = int_or_percent_to_json,
};

/* ---- Conditions ---- */

static const Field condition_fields[] = {
    FIELD("status", field_condition_status, WorkloadCondition, status, FIELD_REQUIRED),
    FIELD("reason", field_word, WorkloadCondition, reason, FIELD_SPEC),
    FIELD("message", field_word, WorkloadCondition, message, FIELD_SPEC),
    FIELD("lastTransitionTime", field_time, WorkloadCondition, changed_at, FIELD_SPEC),
    FIELD("lastUpdateTime", field_time, WorkloadCondition, updated_at, FIELD_SPEC),
    FIELDS_END,
};
const FieldType field_workload_condition = {FIELD_STRUCT(WorkloadCondition, condition_fields)};

gboolean
workload_condition_equal(const WorkloadCondition *a, const WorkloadCondition *b)
{
    return field_equal(&field_workload_condition, a, b);
}

/* ---- Templates ---- */

const PodTemplate *
workload_template(const Object *object)
{
    const WorkloadClass *workload = kind_class(object_kind(object))->workload;

    if (object_kind(object) == KIND_CRON_JOB)
        return CRON_JOB_CONST(object)->job_template == NULL
                   ? NULL
                   : JOB_CONST(CRON_JOB_CONST(object)->job_template)->template;
    return workload == NULL
               ? NULL
               : *(const PodTemplate *const *)G_STRUCT_MEMBER_P(object, workload->template);
}

const LabelSelector *
workload_selector(const Object *object)
{
    const WorkloadClass *workload = kind_class(object_kind(object))->workload;

    return workload == NULL || workload->selector == 0
               ? NULL
               : *(const LabelSelector *const *)G_STRUCT_MEMBER_P(object, workload->selector);
}

int32_t
workload_wanted(const Object *object)
{
    const WorkloadClass *workload = kind_class(object_kind(object))->workload;

    return workload == NULL || workload->wanted == 0
               ? -1
               : *(const int32_t *)G_STRUCT_MEMBER_P(object, workload->wanted);
}

gboolean
kind_scales(ObjectKind kind)
{
    return kind_class(kind)->workload != NULL && kind_class(kind)->workload->scales;
}

void
workload_scale(Object *object, int32_t replicas)
{
    g_assert(kind_scales(object_kind(object)));
    *(int32_t *)G_STRUCT_MEMBER_P(object, kind_class(object_kind(object))->workload->wanted) =
        replicas;
}

gboolean
workload_kind_of_controller(const char *controller, ObjectKind *kind)
{
    for (ObjectKind i = 0; i < N_KINDS; i++)
        if (kind_class(i)->workload != NULL &&
            strcmp(kind_class(i)->workload->controller, controller) == 0) {
            *kind = i;
            return TRUE;
        }
    return FALSE;
}

PodTemplate *
pod_template_with_labels(const PodTemplate *self, StringMap *labels)
{
    PodTemplate *copy = pod_template_new();

    pod_spec_unref(copy->spec);
    copy->spec = pod_spec_ref(self->spec);
    copy->labels = labels;
    copy->annotations = string_map_ref(self->annotations);
    copy->volumes = pod_volumes_ref(self->volumes);
    copy->manifest = json_incref(self->manifest);
    return copy;
}

static PodTemplate *
without_hash(const PodTemplate *self)
{
    return pod_template_with_labels(self,
                                    string_map_with(self->labels, LABEL_POD_TEMPLATE_HASH, NULL));
}

gboolean
pod_template_same(const PodTemplate *a, const PodTemplate *b)
{
    PodTemplate *plain_a = without_hash(a), *plain_b = without_hash(b);
    gboolean same = field_equal(&field_pod_template, &plain_a, &plain_b);

    pod_template_unref(plain_a);
    pod_template_unref(plain_b);
    return same;
}

uint32_t
pod_template_hash(const PodTemplate *self)
{
    json_t *printed = field_type_to_json(&field_pod_template, &self, NULL, 0);
    char *text = json_dumps(printed, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t hash = sim_hash_string(text);

    json_decref(printed);
    free(text);
    return (uint32_t)(hash >> 32 ^ hash);
}

/* ---- Checks ---- */

void
workload_check_template(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const WorkloadClass *workload = kind_class(object_kind(object))->workload;
    const json_t *json = json_path_get(manifest, "spec.template");
    const PodTemplate *template = workload->template == 0 ? NULL : workload_template(object);

    if (!json_is_object(json) || template == NULL)
        return;
    gsize length = api_parser_enter(parser, "spec.template");
    pod_check_annotations(parser, json, template->annotations);
    gsize inner = api_parser_enter(parser, "spec");
    pod_check_mounts(parser, json_path_get(json, "spec"),
                     workload->claim_templates == 0 ? NULL
                                                    : *(ClaimTemplates *const *)G_STRUCT_MEMBER_P(
                                                          object, workload->claim_templates));
    api_parser_leave(parser, inner);
    api_parser_leave(parser, length);
}
