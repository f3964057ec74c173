/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "workload-private.h"

/* ValidatePriorityClass() */
#define USER_PRIORITY_MAX 1000000000

static const struct {
    const char *name;
    int32_t value;
} system_classes[] = {
    {"system-cluster-critical", 2 * USER_PRIORITY_MAX       },
    {"system-node-critical",    2 * USER_PRIORITY_MAX + 1000},
};

gboolean
priority_class_of_system(const char *name, int32_t *value)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(system_classes); i++)
        if (strcmp(system_classes[i].name, name) == 0) {
            *value = system_classes[i].value;
            return TRUE;
        }
    return FALSE;
}

static const Field priority_class_fields[] = {
    FIELD("value", field_int, PriorityClass, value, FIELD_REQUIRED),
    FIELD("globalDefault", field_flag, PriorityClass, is_default, FIELD_SPEC),
    FIELD("preemptionPolicy",
          field_preemption_policy,
          PriorityClass,
          preemption_policy,
          FIELD_OPTIONAL),
    FIELDS_END,
};

/* Every cluster has the two system classes: creating one again is valid only with its values. */
static void
priority_class_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const PriorityClass *class = PRIORITY_CLASS_CONST(object);
    const char *name = object_name(object);
    const json_t *value = json_object_get(manifest, "value");
    int32_t expected;

    if (priority_class_of_system(name, &expected)) {
        if (json_is_integer(value) && class->value != expected)
            api_parser_fault_at(parser, value, "value", NULL,
                                "Forbidden: the system class %s has the value %d", name, expected);
    } else if (g_str_has_prefix(name, "system-")) {
        api_parser_fault(parser, json_object_get(manifest, "metadata"), NULL,
                         "Forbidden: priority class names with 'system-' prefix are reserved for "
                         "system use only");
    } else if (class->value > USER_PRIORITY_MAX) {
        api_parser_fault_at(parser, value, "value", NULL,
                            "Forbidden: maximum allowed value of a user defined priority is %d",
                            USER_PRIORITY_MAX);
    }
}

const KindClass priority_class_kind = {
    .kind = "PriorityClass",
    .api_version = "scheduling.k8s.io/v1",
    .resource = "priorityclasses",
    .size = sizeof(PriorityClass),
    .fields = priority_class_fields,
    .has_generation = TRUE,
    .check = priority_class_check,
};
