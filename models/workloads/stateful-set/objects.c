/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pods and claims of a StatefulSet: their names, a pod's identity and its volumes, and repairs
 * where a pod lacks them (WL-67). Names are the set's with an ordinal, so ordinal and key follow
 * from each other. A claim template replaces a volume of the pod template of the same name.
 * Functions without requests, called for each pod in each sync. */
#include "models/workloads/stateful-set/objects.h"

#include "models/api/selector.h"
#include "models/api/workload.h"
#include "models/workloads/revisions.h"
#include "models/workloads/stateful-set/stateful-set-test.h"

#include <string.h>

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
stateful_claim_key(Objects *objects, const Claim *template, const ObjectKey *pod)
{
    return objects_key(objects, KIND_CLAIM, pod->namespace,
                       strings_internf(objects_strings(objects), "%s-%s",
                                       object_name(&template->meta), pod->name));
}

/* WL-22: the claim gets the template's labels and the labels of the set's selector. */
Object *
stateful_claim_new(const StatefulSet *set, const Claim *template, ObjectKey *key)
{
    Object *object = object_edit_as(&template->meta, key);

    for (unsigned i = 0; set->selector != NULL && i < set->selector->n_requirements; i++) {
        const SelectRequirement *requirement = &set->selector->requirements[i];
        if (requirement->operator== SELECT_IN && requirement->values->n_items == 1)
            object_set_label(object, requirement->key, requirement->values->items[0]);
    }
    return object;
}

/* The pod's volume for a claim of the set. */
static PodVolume
claim_volume(Objects *objects, const ObjectKey *pod, const PodSpec *spec, const Claim *template)
{
    gboolean device = string_list_has(spec->devices, object_name(&template->meta));

    return (PodVolume){
        .name = object_name(&template->meta),
        .claim_name = stateful_claim_key(objects, template, pod)->name,
        .device = device,
        .mounted = device || string_list_has(spec->mounts, object_name(&template->meta)),
    };
}

static gboolean
is_taken_over(const PodVolume *volume, const ClaimTemplates *templates)
{
    for (unsigned i = 0; templates != NULL && i < templates->n_items; i++)
        if (object_name(&templates->items[i]->meta) == volume->name)
            return TRUE;
    return FALSE;
}

/* The volumes of claims, and the other volumes. A claim replaces a volume of its name. */
PodVolumes *
stateful_pod_volumes(Objects *objects,
                     const StatefulSet *set,
                     const ObjectKey *pod,
                     const PodSpec *spec,
                     const PodVolumes *others)
{
    const ClaimTemplates *templates = set->claim_templates;
    unsigned n_others = others == NULL ? 0 : others->n_items + others->n_inline;
    unsigned n_templates = templates == NULL ? 0 : templates->n_items;
    unsigned n = 0, n_inline = 0;

    if (n_others + n_templates == 0)
        return NULL;
    g_autofree PodVolume *volumes = g_new0(PodVolume, n_others + n_templates);
    while (n < n_templates) {
        volumes[n] = claim_volume(objects, pod, spec, templates->items[n]);
        n++;
    }
    for (unsigned i = 0; i < n_others; i++) {
        PodVolume *volume = &volumes[n];
        if (is_taken_over(&others->items[i], templates))
            continue;
        *volume = others->items[i];
        volume_source_ref(volume->source);
        n_inline += volume->source != NULL ? 1 : 0;
        if (volume->ephemeral) {
            volume->claim_name =
                strings_internf(objects_strings(objects), "%s-%s", pod->name, volume->name);
            object_ref(&volume->claim_template->meta);
        }
        n++;
    }
    return pod_volumes_new_with_inline(volumes, n - n_inline, n_inline);
}

/* WL-21. */
static void
set_identity(Strings *strings, Object *pod, const char *name, int32_t ordinal)
{
    object_set_label(pod, strings_intern(strings, LABEL_POD_NAME), name);
    object_set_label(pod, strings_intern(strings, LABEL_POD_INDEX),
                     strings_internf(strings, "%d", ordinal));
}

Object *
stateful_pod_new(Objects *objects, const StatefulSet *set, const StatefulPod *pod)
{
    Strings *strings = objects_strings(objects);
    Object *object = object_new(pod->key);
    PodVolumes *volumes =
        stateful_pod_volumes(objects, set, pod->key, pod->template->spec, pod->template->volumes);

    pod_set_spec(POD(object), pod->template->spec, volumes);
    pod_volumes_unref(volumes);
    POD(object)->hostname = pod->key->name;
    object->labels = string_map_ref(pod->template->labels);
    object->annotations = string_map_ref(pod->template->annotations);
    set_identity(strings, object, pod->key->name, pod->ordinal);
    object_set_label(object, strings_intern(strings, LABEL_REVISION), pod->revision);
    object_set_owner(object, &set->meta, TRUE, TRUE);
    return object;
}

/* ---- Repair (WL-67) ---- */

/* The number at the end of the name; -1: none. */
static int32_t
ordinal_of_name(const char *name)
{
    const char *digits = strrchr(name, '-');
    char *end;

    if (digits == NULL || !g_ascii_isdigit(digits[1]))
        return -1;
    int64_t ordinal = g_ascii_strtoll(digits + 1, &end, 10);
    return *end == '\0' && ordinal <= INT32_MAX ? (int32_t)ordinal : -1;
}

gboolean
stateful_identity_matches(const StatefulSet *set, const Pod *pod)
{
    return stateful_pod_ordinal(set->meta.key, pod->meta.key) >= 0 &&
           g_strcmp0(object_label(&pod->meta, LABEL_POD_NAME), object_name(&pod->meta)) == 0;
}

static gboolean
has_claim(const PodVolumes *volumes, const char *name, const char *claim)
{
    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (volumes->items[i].name == name)
            return !volumes->items[i].ephemeral && volumes->items[i].claim_name == claim;
    return FALSE;
}

gboolean
stateful_volumes_match(Objects *objects, const StatefulSet *set, const Pod *pod)
{
    const ClaimTemplates *templates = set->claim_templates;
    ObjectKey *key = stateful_pod_key_of(objects, set, pod);

    if (ordinal_of_name(object_name(&pod->meta)) < 0)
        return FALSE;
    for (unsigned i = 0; templates != NULL && i < templates->n_items; i++)
        if (!has_claim(pod->volumes, object_name(&templates->items[i]->meta),
                       stateful_claim_key(objects, templates->items[i], key)->name))
            return FALSE;
    return TRUE;
}

ObjectKey *
stateful_pod_key_of(Objects *objects, const StatefulSet *set, const Pod *pod)
{
    int32_t ordinal = ordinal_of_name(object_name(&pod->meta));

    return ordinal < 0 ? (ObjectKey *)pod->meta.key
                       : stateful_pod_key(objects, set->meta.key, ordinal);
}

Object *
stateful_pod_corrected(Objects *objects, const StatefulSet *set, const Pod *pod)
{
    ObjectKey *key = stateful_pod_key_of(objects, set, pod);
    Object *object = object_edit(&pod->meta);

    if (!stateful_identity_matches(set, pod)) {
        object->key = key;
        set_identity(objects_strings(objects), object, key->name, ordinal_of_name(key->name));
    }
    if (!stateful_volumes_match(objects, set, pod)) {
        PodVolumes *volumes = stateful_pod_volumes(objects, set, key, pod->spec, pod->volumes);
        pod_set_spec(POD(object), pod->spec, volumes);
        pod_volumes_unref(volumes);
    }
    return object;
}
