/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Amounts of any resource that a pod requests or is limited to, read from its manifest when a quota
 * or the kubelet asks, since the scheduler's sums have only cpu and memory. The rule is that of
 * pod-containers.c; a pod that no manifest tells of has the models' own sums. A sum keeps the
 * format of its addends ("500m", "1Gi"), as it is printed. */
#include "pod-resources.h"

#include <string.h>

#include "models/api/fields.h"

static const char *const container_lists[] = {"containers", "initContainers"};

gboolean
pod_amount_read(const json_t *text, PodAmount *amount)
{
    char number[QUANTITY_BUFFER];
    const char *quantity = json_string_value(text);

    if (json_is_number(text)) {
        g_snprintf(number, sizeof number, "%.15g", json_number_value(text));
        quantity = number;
    }
    *amount = (PodAmount){0};
    if (quantity == NULL || !quantity_parse(quantity, &amount->value, &amount->milli, NULL))
        return FALSE;
    amount->decimal = !g_str_has_suffix(quantity, "i");
    return TRUE;
}

/* Adds as Kubernetes does: zero takes the format of the addition. */
static void
pod_amount_add(PodAmount *sum, const PodAmount *more)
{
    if (sum->milli == 0)
        sum->decimal = more->decimal;
    sum->value = sim_time_add(sum->value, more->value); /* saturates */
    sum->milli = sim_time_add(sum->milli, more->milli);
}

static gboolean
listed_amount(const json_t *container, const char *list, const char *resource, PodAmount *amount)
{
    const json_t *resources = json_object_get(container, "resources");

    return pod_amount_read(json_object_get(json_object_get(resources, list), resource), amount);
}

gboolean
container_amount(const json_t *container, gboolean limit, const char *resource, PodAmount *amount)
{
    return (!limit && listed_amount(container, "requests", resource, amount)) ||
           listed_amount(container, "limits", resource, amount);
}

static gboolean
is_sidecar(const json_t *container)
{
    return g_strcmp0(json_path_string(container, "restartPolicy"), "Always") == 0;
}

/* Init containers run one after the other, each beside the sidecars that started before it; then
 * the containers run beside all sidecars. */
static gboolean
containers_amount(const json_t *spec, gboolean limit, const char *resource, PodAmount *sum)
{
    PodAmount sidecars = {.decimal = TRUE}, most = {.decimal = TRUE}, amount;
    gboolean found = FALSE;
    json_t *container;
    gsize i;

    *sum = (PodAmount){.decimal = TRUE};
    json_array_foreach(json_object_get(spec, "containers"), i, container)
        if (container_amount(container, limit, resource, &amount)) {
            pod_amount_add(sum, &amount);
            found = TRUE;
        }
    json_array_foreach(json_object_get(spec, "initContainers"), i, container) {
        if (!container_amount(container, limit, resource, &amount))
            continue;
        found = TRUE;
        if (is_sidecar(container)) {
            pod_amount_add(sum, &amount);
            pod_amount_add(&sidecars, &amount);
            amount = sidecars;
        } else {
            pod_amount_add(&amount, &sidecars);
        }
        most = amount.milli > most.milli ? amount : most;
    }
    if (most.milli > sum->milli)
        *sum = most;
    return found;
}

/* A pod that no manifest tells of: the models' own. */
static gboolean
summed_amount(const PodSpec *self, gboolean limit, const char *resource, PodAmount *amount)
{
    *amount = (PodAmount){.decimal = TRUE};
    if (!limit && strcmp(resource, "cpu") == 0)
        *amount = (PodAmount){(self->cpu_milli + 999) / 1000, self->cpu_milli, TRUE};
    else if (!limit && strcmp(resource, "memory") == 0)
        *amount = (PodAmount){self->memory_bytes, self->memory_bytes * 1000, FALSE};
    return amount->milli != 0;
}

gboolean
pod_spec_amount(const PodSpec *self, gboolean limit, const char *resource, PodAmount *amount)
{
    PodAmount overhead;

    if (self->manifest == NULL)
        return summed_amount(self, limit, resource, amount);
    gboolean found = containers_amount(self->manifest, limit, resource, amount);
    if ((found || !limit) &&
        pod_amount_read(json_object_get(json_object_get(self->manifest, "overhead"), resource),
                        &overhead)) {
        pod_amount_add(amount, &overhead);
        found = TRUE;
    }
    return found;
}

const char *
pod_json_quality(const json_t *spec)
{
    static const char *const names[] = {"cpu", "memory"};
    gboolean has_any = FALSE, is_guaranteed = TRUE;
    PodAmount request, limit;
    json_t *container;
    gsize i;

    for (gsize list = 0; list < G_N_ELEMENTS(container_lists); list++)
        json_array_foreach(json_object_get(spec, container_lists[list]), i, container)
            for (gsize k = 0; k < G_N_ELEMENTS(names); k++) {
                gboolean has_limit = container_amount(container, TRUE, names[k], &limit);
                gboolean has_request = container_amount(container, FALSE, names[k], &request);
                has_any |= request.milli != 0 || limit.milli != 0;
                is_guaranteed &=
                    has_limit && limit.milli != 0 && has_request && request.milli == limit.milli;
            }
    return !has_any ? "BestEffort" : is_guaranteed ? "Guaranteed" : "Burstable";
}

PodSpec *
pod_spec_with_resources(const PodSpec *self, json_t *manifest)
{
    PodSpec *copy = pod_spec_for_nodes(self, self->tolerations, self->required_nodes);
    PodAmount cpu, memory;

    json_decref(copy->manifest);
    copy->manifest = manifest;
    pod_spec_amount(copy, FALSE, "cpu", &cpu);
    pod_spec_amount(copy, FALSE, "memory", &memory);
    copy->cpu_milli = cpu.milli;
    copy->memory_bytes = memory.value;
    return copy;
}
