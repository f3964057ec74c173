/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/migration/migration.h"
#include "models/pv-controller/pv-controller-private.h"

#include <string.h>

/* Marks claims and volumes of in-tree plugins: MIG-60 to MIG-62. */

static const InTreePlugin *
migrated_plugin(const PvController *self, const char *provisioner)
{
    const InTreePlugin *plugin =
        pv_is_in_tree(provisioner) ? in_tree_plugin_find(provisioner) : NULL;

    return plugin != NULL && in_tree_plugin_is_migrated(plugin, self->release) ? plugin : NULL;
}

const char *
pv_driver_of(const PvController *self, const char *provisioner)
{
    const InTreePlugin *plugin = migrated_plugin(self, provisioner);

    return plugin == NULL ? provisioner
                          : strings_intern(self->base.strings, in_tree_plugin_driver(plugin));
}

/* The name of the provisioner that an object notes. NULL: none */
static const char *
noted_provisioner(const Object *object)
{
    if (object_kind(object) == KIND_VOLUME)
        return object_annotation(object, ANNOTATION_PROVISIONED_BY);
    const char *provisioner = object_annotation(object, ANNOTATION_STORAGE_PROVISIONER);
    return provisioner != NULL ? provisioner
                               : object_annotation(object, ANNOTATION_BETA_STORAGE_PROVISIONER);
}

/* MIG-60: updateMigrationAnnotations(). */
static gboolean
mark_driver(const PvController *self, Object *object, const char *provisioner)
{
    const InTreePlugin *plugin = migrated_plugin(self, provisioner);
    const char *driver =
        plugin == NULL ? NULL : strings_intern(self->base.strings, in_tree_plugin_driver(plugin));

    return object_set_annotation(object, self->words.migrated_to, driver);
}

/* MIG-61: modifyDeletionFinalizers(). A volume of an in-tree plugin is held by this controller, of
 * a CSI driver by its provisioner. */
static gboolean
mark_holder(const PvController *self, Object *object, const char *provisioner)
{
    const Words *words = &self->words;

    if (object_kind(object) != KIND_VOLUME ||
        !release_has_gate(self->release, "HonorPVReclaimPolicy"))
        return FALSE;
    if (migrated_plugin(self, provisioner) != NULL)
        return edit_remove_finalizer(object, words->in_tree_finalizer);
    if (!pv_is_in_tree(provisioner))
        return FALSE;
    gboolean changed = VOLUME(object)->reclaim_policy == RECLAIM_DELETE
                           ? edit_add_finalizer(object, words->in_tree_finalizer)
                           : edit_remove_finalizer(object, words->in_tree_finalizer);
    return edit_remove_finalizer(object, words->provisioner_finalizer) || changed;
}

/* ObjectEdit. */
static gboolean
edit_marks(Object *object, const void *data)
{
    const PvController *self = data;
    const char *provisioner = noted_provisioner(object);
    gboolean changed = FALSE;

    if (provisioner != NULL) {
        changed = mark_driver(self, object, provisioner);
        changed |= mark_holder(self, object, provisioner);
    }
    return changed;
}

gboolean
pv_plan_marks(const PvController *self, Plan *plan, const Object *object)
{
    if (object->annotations == NULL ||
        (object_kind(object) == KIND_VOLUME &&
         (VOLUME_CONST(object)->source == NULL || VOLUME_CONST(object)->source->in_tree == NULL)))
        return FALSE; /* most objects */
    const char *provisioner = noted_provisioner(object);
    if (provisioner == NULL || (!pv_is_in_tree(provisioner) && !pv_is_migrated(object)))
        return FALSE;
    g_autoptr(Object) marked = object_edit(object);
    if (!edit_marks(marked, self))
        return FALSE;
    plan_because(plan, object_kind(object) == KIND_VOLUME ? "MIG-61" : "MIG-60");
    pv_plan_kept(plan, plan_update(plan, object, edit_marks, self, PLAN_STOP));
    return TRUE;
}
