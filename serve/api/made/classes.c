/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"
#include "models/api/fields.h"

/* The PriorityClasses of the system, which every API server makes for itself
 * (pkg/registry/scheduling/rest/storage_scheduling.go). Admission knows them without. */
static const struct {
    const char *name, *description;
    int value;
} classes[] = {
    {"system-cluster-critical",
     "Used for system critical pods that must run in the cluster, but can be moved to another node "
     "if necessary.",                                                                 2000000000},
    {"system-node-critical",
     "Used for system critical pods that must not be moved from their current node.", 2000001000},
};

void
classes_make(ServeApi *self)
{
    const ApiResource *row;
    StoreKind *kind =
        serve_store_kind(self->store, "scheduling.k8s.io", "v1", "priorityclasses", &row);
    char time[API_TIME_BUFFER];

    api_time_format(sim_start(run_sim(self->options.run)), FALSE, time);
    for (gsize i = 0; kind != NULL && i < G_N_ELEMENTS(classes); i++) {
        if (store_object(kind, "", classes[i].name) != NULL) /* of a dump */
            continue;
        json_t *made = store_put_made(
            kind,
            json_pack("{s:s, s:s, s:{s:s, s:i}, s:i, s:s, s:s}", "apiVersion",
                      "scheduling.k8s.io/v1", "kind", "PriorityClass", "metadata", "name",
                      classes[i].name, "generation", 1, "value", classes[i].value, "description",
                      classes[i].description, "preemptionPolicy", "PreemptLowerPriority"));
        json_object_set_new(json_object_get(made, "metadata"), "creationTimestamp",
                            json_string(time));
    }
}

json_t *
classes_deletion_fault(const Target *target)
{
    StatusSubject subject = target_subject(target);

    if (strcmp(target->row->kind, "PriorityClass") != 0 ||
        store_made(target->kind, "", target->name) == NULL)
        return NULL;
    return status_of(status_format(403,
                                   "%s.%s \"%s\" is forbidden: this is a system priority class and "
                                   "cannot be deleted",
                                   subject.resource, subject.group, subject.name),
                     &subject);
}
