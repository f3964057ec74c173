/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "priorities.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/workload.h"

/* @spec: of a pod of the class, or of a template */
static void
priorities_add_class(Dump *dump, const char *name, const json_t *spec, ImportReport *report)
{
    const json_t *policy = json_object_get(spec, "preemptionPolicy");
    json_int_t value = json_integer_value(json_object_get(spec, "priority"));
    json_t *class = json_pack("{s:s, s:s, s:{s:s}, s:I}", "apiVersion", "scheduling.k8s.io/v1",
                              "kind", "PriorityClass", "metadata", "name", name, "value", value);

    if (json_is_string(policy))
        json_object_set(class, "preemptionPolicy", (json_t *)policy);
    dump_add(dump, class);
    import_report_count(report, REPORT_GUESSED,
                        "PriorityClasses that the dump lacks: made of their pods", name);
}

/* @spec: of a pod, or of a template (nullable) */
static void
see_spec(Dump *dump, const json_t *spec, ImportReport *report)
{
    const char *name = json_path_string(spec, "priorityClassName");
    int32_t value;

    if (name != NULL && *name != '\0' && !priority_class_of_system(name, &value) &&
        dump_find(dump, "PriorityClass", NULL, name) == NULL)
        priorities_add_class(dump, name, spec, report);
}

void
priorities_complete(Dump *dump, ImportReport *report)
{
    guint n_objects = dump->objects->len, first = 0;
    const json_t *pod;

    if (dump_next(dump, "PriorityClass", &first) != NULL) /* then it has all of them */
        return;
    /* Pods first: templates do not tell the value. */
    for (guint i = 0; (pod = dump_next(dump, "Pod", &i)) != NULL;)
        see_spec(dump, json_object_get(pod, "spec"), report);
    for (guint i = 0; i < n_objects; i++) {
        const json_t *object = dump->objects->pdata[i];
        see_spec(dump, json_path_get(object, "spec.template.spec"), report);
        see_spec(dump, json_path_get(object, "spec.jobTemplate.spec.template.spec"), report);
    }
}
