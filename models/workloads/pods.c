/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common steps of controllers of pods: names, pods from templates, availability, adoption and
 * release. A generated name is a draw from the owner and a count; a name that was in use before is
 * passed over, because a controller counts from 0 again after a restart. Readiness counts from
 * whole seconds, as timestamps in the API have no finer unit. */
#include "models/workloads/pods.h"

#include "sim/random.h"

#define GENERATED_BASE_MAX 58 /* API-60 */
#define GENERATED_LETTERS 5
#define TRY_SHIFT 40 /* no owner has so many pods */
static const char generated_alphabet[] = "bcdfghjklmnpqrstvwxz2456789";

int64_t
annotated_number(const Object *object, const char *annotation, int64_t min, int64_t otherwise)
{
    const char *text = object_annotation(object, annotation);
    gint64 number;

    return text != NULL && g_ascii_string_to_signed(text, 10, min, INT32_MAX, &number, NULL)
               ? number
               : otherwise;
}

void
index_by_controller(InformerIndex *index, const Object *object, Objects *objects)
{
    const OwnerReference *owner = object_controller(object);

    (void)objects;
    if (owner != NULL && owner->key != NULL)
        index_emit(index, owner->key);
}

void
index_orphans(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (object->labels != NULL && object_controller(object) == NULL)
        index_emit(index, object->key->namespace);
}

const ObjectKey *
controller_of_kind(const Object *object, ObjectKind kind)
{
    const OwnerReference *owner = object_controller(object);

    return owner != NULL && owner->key != NULL && owner->key->kind == kind ? owner->key : NULL;
}

/* The @n-th name for this owner at the @try-th attempt. */
static ObjectKey *
draw_pod_key(
    const Component *component, const Object *owner, const char *base, uint64_t n, uint64_t try)
{
    SimStream stream = sim_stream(component->sim, "apiserver/generated names");
    uint64_t entity = owner->key->hash ^ objects_uid_salt(component->objects);
    uint64_t drawn = sim_random_bits(stream, entity, n + (try << TRY_SHIFT));
    char letters[GENERATED_LETTERS + 1] = "";

    for (unsigned i = 0; i < GENERATED_LETTERS; i++) {
        letters[i] = generated_alphabet[drawn % (sizeof generated_alphabet - 1)];
        drawn /= sizeof generated_alphabet - 1;
    }
    return objects_key(
        component->objects, KIND_POD, owner->key->namespace,
        strings_internf(component->strings, "%.*s%s", GENERATED_BASE_MAX, base, letters));
}

/* API-60. After its restart a controller counts from 0 again, so names of earlier pods are left
 * out: in a real cluster a random name hardly ever comes twice. */
ObjectKey *
generated_pod_key_of(const Component *component, const Object *owner, const char *base, uint64_t n)
{
    ObjectKey *key = draw_pod_key(component, owner, base, n, 0);

    for (uint64_t try = 1; key->incarnation > 0; try++)
        key = draw_pod_key(component, owner, base, n, try);
    return key;
}

ObjectKey *
generated_pod_key(const Component *component, const Object *owner, uint64_t n)
{
    return generated_pod_key_of(component, owner,
                                strings_internf(component->strings, "%s-", object_name(owner)), n);
}

static gboolean
has_ephemeral_volumes(const PodVolumes *volumes)
{
    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (volumes->items[i].ephemeral)
            return TRUE;
    return FALSE;
}

/* The template's volumes in a pod called @pod_name: the names of ephemeral claims begin with it.
 * Returns: (owned) */
static PodVolumes *
template_pod_volumes(Objects *objects, const PodVolumes *given, const char *pod_name)
{
    if (!has_ephemeral_volumes(given))
        return pod_volumes_ref(given);

    g_autofree PodVolume *volumes = pod_volumes_copy_items(given);
    for (unsigned i = 0; i < given->n_items; i++)
        if (volumes[i].ephemeral)
            volumes[i].claim_name =
                strings_internf(objects_strings(objects), "%s-%s", pod_name, volumes[i].name);
    return pod_volumes_new_with_inline(volumes, given->n_items, given->n_inline);
}

Object *
template_pod_new(Objects *objects, const PodTemplate *template, ObjectKey *key, const Object *owner)
{
    Object *object = object_new(key);
    PodVolumes *volumes = template_pod_volumes(objects, template->volumes, key->name);

    pod_set_spec(POD(object), template->spec, volumes);
    pod_volumes_unref(volumes);
    object->labels = string_map_ref(template->labels);
    object->annotations = string_map_ref(template->annotations);
    object_set_owner(object, owner, TRUE, TRUE);
    return object;
}

gboolean
pod_is_active(const Pod *pod)
{
    return !pod_is_terminal(pod) && !object_is_deleted(&pod->meta);
}

SimTime
whole_seconds(SimTime time)
{
    return time / SIM_SECOND * SIM_SECOND;
}

gboolean
pod_is_available(const Pod *pod, int32_t min_ready_s, SimTime now)
{
    return pod_is_ready(pod) &&
           (min_ready_s == 0 ||
            whole_seconds(pod->ready.changed_at) + min_ready_s * SIM_SECOND < now);
}

/* ---- Adoption ---- */

static void
look_at_owned(Claimed *self, const ClaimOptions *options)
{
    unsigned n;
    const Object *const *objects =
        informer_index_get(options->by_controller, options->owner->key, &n);

    for (unsigned i = 0; i < n; i++) {
        const Object *object = objects[i];
        if (!object_is_controlled_by(object, options->owner) ||
            (options->is_member != NULL && !options->is_member(options->owner, object)))
            continue;
        gboolean matches = label_selector_matches(options->selector, object->labels);
        if (matches || !object_is_deleted(options->owner))
            g_ptr_array_add(matches ? self->owned : self->release, object_ref(object));
    }
}

static void
look_at_orphans(Claimed *self, const ClaimOptions *options)
{
    unsigned n;
    const Object *const *objects =
        informer_index_get(options->orphans, options->owner->key->namespace, &n);

    for (unsigned i = 0; i < n && !object_is_deleted(options->owner); i++) {
        const Object *object = objects[i];
        if (object_is_deleted(object) ||
            (options->is_member != NULL && !options->is_member(options->owner, object)) ||
            !label_selector_matches(options->selector, object->labels))
            continue;
        g_ptr_array_add(self->owned, object_ref(object));
        g_ptr_array_add(self->adopt, (Object *)object);
    }
}

void
claimed_look(Claimed *self, const ClaimOptions *options)
{
    claimed_clear(self);
    self->owned = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
    self->release = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
    self->adopt = g_ptr_array_new();
    self->finalizer = options->finalizer;
    look_at_owned(self, options);
    if (options->orphans != NULL)
        look_at_orphans(self, options);
}

void
claimed_clear(Claimed *self)
{
    g_clear_pointer(&self->owned, g_ptr_array_unref);
    g_clear_pointer(&self->adopt, g_ptr_array_unref);
    g_clear_pointer(&self->release, g_ptr_array_unref);
}

void
claimed_free(void *self)
{
    claimed_clear(self);
    g_free(self);
}

typedef struct {
    const Object *owner;
    const char *finalizer; /* NULL: none */
} OwnerEdit;

static gboolean
edit_adopt(Object *object, const void *data)
{
    const OwnerEdit *edit = data;

    object_set_owner(object, edit->owner, TRUE, TRUE);
    if (edit->finalizer != NULL)
        object_add_finalizer(object, edit->finalizer);
    return TRUE;
}

static gboolean
edit_release(Object *object, const void *data)
{
    const OwnerEdit *edit = data;
    gboolean changed = edit->finalizer != NULL && object_remove_finalizer(object, edit->finalizer);

    return object_remove_owner(object, edit->owner) || changed;
}

void
claimed_plan(const Claimed *self, Plan *plan, const Object *owner)
{
    OwnerEdit *edit = plan_new_arg(plan, OwnerEdit);

    *edit = (OwnerEdit){owner, self->finalizer};
    plan_keep(plan, owner); /* the cache may have a newer version soon */
    for (unsigned i = 0; i < self->release->len; i++) {
        const Object *object = self->release->pdata[i];
        plan_patch(plan, object->key, edit_release, edit, PLAN_GONE_IS_FINE);
    }
    if (self->adopt->len > 0)
        plan_get(plan, owner->key, PLAN_STOP);
    for (unsigned i = 0; i < self->adopt->len; i++) {
        const Object *object = self->adopt->pdata[i];
        plan_patch(plan, object->key, edit_adopt, edit, PLAN_GONE_IS_FINE);
    }
}
