/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/stateful-set/objects.h"

#include "models/api/selector.h"
#include "models/api/workload.h"
#include "models/workloads/revisions.h"

#define LABEL_POD_INDEX "apps.kubernetes.io/pod-index"

ObjectKey *
stateful_pod_key(Objects *objects, const ObjectKey *set, int32_t ordinal)
{
    return objects_key(objects, KIND_POD, set->namespace,
                       strings_internf(objects_strings(objects), "%s-%d", set->name, ordinal));
}

/* Called for each pod in each sync, so it is fast. */
int32_t
stateful_pod_ordinal(const ObjectKey *set, const ObjectKey *pod)
{
    const char *of_set = set->name, *digit = pod->name;
    int64_t ordinal = 0;

    for (; *of_set != '\0'; of_set++, digit++)
        if (*of_set != *digit)
            return -1;
    if (digit[0] != '-' || digit[1] == '\0')
        return -1;
    while (*++digit != '\0') {
        if (!g_ascii_isdigit(*digit))
            return -1;
        ordinal = ordinal * 10 + (*digit - '0');
        if (ordinal > INT32_MAX)
            return -1;
    }
    return (int32_t)ordinal;
}

ObjectKey *
stateful_claim_key(Objects *objects, const ClaimTemplate *template, const ObjectKey *pod)
{
    return objects_key(
        objects, KIND_CLAIM, pod->namespace,
        strings_internf(objects_strings(objects), "%s-%s", template->name, pod->name));
}

/* WL-22: the claim gets the template's labels and the labels of the set's selector. */
Object *
stateful_claim_new(const StatefulSet *set, const ClaimTemplate *template, ObjectKey *key)
{
    Object *object = object_edit_as(&template->claim->meta, key);

    for (unsigned i = 0; set->selector != NULL && i < set->selector->n_requirements; i++) {
        const SelectRequirement *requirement = &set->selector->requirements[i];
        if (requirement->operator== SELECT_IN && requirement->values->n_items == 1)
            object_set_label(object, requirement->key, requirement->values->items[0]);
    }
    return object;
}

/* The pod's volume for a claim of the set. */
static PodVolume
claim_volume(Objects *objects, const StatefulPod *pod, const ClaimTemplate *template)
{
    const PodSpec *spec = pod->template->spec;
    gboolean device = string_list_has(spec->devices, template->name);

    return (PodVolume){
        .name = template->name,
        .claim_name = stateful_claim_key(objects, template, pod->key)->name,
        .device = device,
        .mounted = device || string_list_has(spec->mounts, template->name),
    };
}

static gboolean
is_taken_over(const PodVolume *volume, const ClaimTemplates *templates)
{
    for (unsigned i = 0; templates != NULL && i < templates->n_items; i++)
        if (templates->items[i]->name == volume->name)
            return TRUE;
    return FALSE;
}

/* The volumes of claims, and the template's other volumes. A claim replaces the template's volume
 * of its name. Returns: (owned): NULL: none */
static PodVolumes *
new_pod_volumes(Objects *objects, const StatefulSet *set, const StatefulPod *pod)
{
    const PodVolumes *given = pod->template->volumes;
    const ClaimTemplates *templates = set->claim_templates;
    unsigned n_given = given == NULL ? 0 : given->n_items;
    unsigned n_templates = templates == NULL ? 0 : templates->n_items;
    unsigned n = 0;

    if (n_given + n_templates == 0)
        return NULL;
    g_autofree PodVolume *volumes = g_new0(PodVolume, n_given + n_templates);
    while (n < n_templates) {
        volumes[n] = claim_volume(objects, pod, templates->items[n]);
        n++;
    }
    for (unsigned i = 0; i < n_given; i++) {
        PodVolume *volume = &volumes[n];
        if (is_taken_over(&given->items[i], templates))
            continue;
        *volume = given->items[i];
        if (volume->ephemeral) {
            volume->claim_name =
                strings_internf(objects_strings(objects), "%s-%s", pod->key->name, volume->name);
            claim_template_ref(volume->claim_template);
        }
        n++;
    }
    return pod_volumes_new(volumes, n);
}

Object *
stateful_pod_new(Objects *objects, const StatefulSet *set, const StatefulPod *pod)
{
    Strings *strings = objects_strings(objects);
    Object *object = object_new(pod->key);
    PodVolumes *volumes = new_pod_volumes(objects, set, pod);

    pod_set_spec(POD(object), pod->template->spec, volumes);
    pod_volumes_unref(volumes);
    POD(object)->hostname = pod->key->name;
    object->labels = string_map_ref(pod->template->labels);
    object->annotations = string_map_ref(pod->template->annotations);
    object_set_label(object, strings_intern(strings, LABEL_POD_NAME), pod->key->name);
    object_set_label(object, strings_intern(strings, LABEL_POD_INDEX),
                     strings_internf(strings, "%d", pod->ordinal));
    object_set_label(object, strings_intern(strings, LABEL_REVISION), pod->revision);
    object_set_owner(object, &set->meta, TRUE, TRUE);
    return object;
}
