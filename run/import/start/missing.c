/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists the objects that a dump names but does not have. A table of references has the effect of
 * each on a run: claims become Lost, volumes are released, pods are deleted. A name is told once.
 * Owners are looked for only among the kinds that models know, as the garbage collector does.
 * Volumes that are not Bound and pods that have ended may name objects that are gone. */
#include "missing.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/object.h"

/* A reference to another object. @effect: of a run without it */
typedef struct {
    const char *kind, *path; /* of the object that names it; "[]": each item of a list */
    const char *wanted, *effect;
    gboolean only_if_none; /* told only if the dump has no object of that kind */
} MissingReference;

/* clang-format off */
static const MissingReference references[] = {
    {"Pod", "spec.nodeName", "Node", "pods on them are deleted", FALSE},
    {"Pod", "spec.volumes[].persistentVolumeClaim.claimName", "PersistentVolumeClaim",
     "pods that use them and stop do not start again", FALSE},
    {"PersistentVolumeClaim", "spec.volumeName", "PersistentVolume", "claims on them are Lost",
     FALSE},
    {"PersistentVolume", "spec.claimRef.name", "PersistentVolumeClaim",
     "volumes of theirs are released, and deleted if their policy is Delete", FALSE},
    {"PersistentVolumeClaim", "spec.storageClassName", "StorageClass",
     "new claims of theirs stay Pending", TRUE},
    {"Node", "status.volumesAttached[].name", "VolumeAttachment", "all volumes are attached anew",
     TRUE},
};
/* clang-format on */

typedef struct {
    const Dump *dump;
    ImportReport *report;
    GHashTable *told; /* of "Kind/namespace/name" */
} MissingSearch;

static gboolean
has_kind(const Dump *dump, const char *kind)
{
    guint i = 0;

    return dump_next(dump, kind, &i) != NULL;
}

static void
start_missing_tell(MissingSearch *self,
                   const char *wanted,
                   const char *namespace,
                   const char *name,
                   const char *effect)
{
    g_autofree char *reason =
        g_strdup_printf("%s%s: %s", wanted, g_str_has_suffix(wanted, "s") ? "es" : "s", effect);
    g_autofree char *full =
        g_strconcat(namespace != NULL ? namespace : "", namespace != NULL ? "/" : "", name, NULL);
    char *key = g_strconcat(reason, full, NULL);

    if (g_hash_table_add(self->told, key))
        import_report_count(self->report, REPORT_MISSING, reason, full);
}

/* Volumes that are Released name the claim that they once had. */
static gboolean
is_over(const json_t *object)
{
    const char *phase = json_path_string(object, "status.phase");

    return (strcmp(dump_kind(object), "PersistentVolume") == 0 && g_strcmp0(phase, "Bound") != 0) ||
           (strcmp(dump_kind(object), "Pod") == 0 &&
            (g_strcmp0(phase, "Succeeded") == 0 || g_strcmp0(phase, "Failed") == 0));
}

static void
see_name(MissingSearch *self, const MissingReference *row, const json_t *object, const char *name)
{
    ObjectKind kind;
    const char *namespace = NULL;

    if (name == NULL || *name == '\0' || !kind_find(NULL, row->wanted, &kind))
        return;
    if (kind_class(kind)->namespaced) {
        namespace = json_path_string(object, "spec.claimRef.namespace");
        namespace = namespace != NULL ? namespace : dump_meta(object, "namespace");
    }
    if (dump_find(self->dump, row->wanted, namespace, name) == NULL)
        start_missing_tell(self, row->wanted, namespace, name, row->effect);
}

static void
see_reference(MissingSearch *self, const MissingReference *row, const json_t *object)
{
    const char *list = strstr(row->path, "[].");
    const json_t *items, *item;
    gsize i;

    if (list == NULL) {
        see_name(self, row, object, json_path_string(object, row->path));
        return;
    }
    g_autofree char *path = g_strndup(row->path, (gsize)(list - row->path));
    items = json_path_get(object, path);
    json_array_foreach(items, i, item) {
        see_name(self, row, object, json_path_string(item, list + strlen("[].")));
    }
}

/* Owners of kinds that models know: the garbage collector looks for these alone. */
static void
see_owners(MissingSearch *self, const json_t *object)
{
    const json_t *owners = json_path_get(object, "metadata.ownerReferences"), *owner;
    gsize i;

    json_array_foreach(owners, i, owner) {
        const char *version = json_path_string(owner, "apiVersion");
        const char *kind = json_path_string(owner, "kind");
        const char *name = json_path_string(owner, "name");
        const char *uid = json_path_string(owner, "uid");
        ObjectKind known;
        if (version == NULL || kind == NULL || name == NULL || uid == NULL ||
            !kind_find(version, kind, &known) || dump_find_uid(self->dump, uid) != NULL)
            continue;
        start_missing_tell(self, kind,
                           kind_class(known)->namespaced ? dump_meta(object, "namespace") : NULL,
                           name, "what they own is deleted by the garbage collector");
    }
}

gboolean
missing_tell(const Dump *dump, ImportReport *report, GError **error)
{
    g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    MissingSearch self = {dump, report, told};
    const json_t *object;

    for (unsigned row = 0; row < G_N_ELEMENTS(references); row++) {
        guint i = 0;
        if (references[row].only_if_none && has_kind(dump, references[row].wanted))
            continue;
        while ((object = dump_next(dump, references[row].kind, &i)) != NULL)
            if (!is_over(object))
                see_reference(&self, &references[row], object);
        if (row > 0 || g_hash_table_size(told) == 0 || has_kind(dump, "Node"))
            continue;
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "%s: has pods and no Nodes: `kubectl get all` prints no nodes, volumes, claims "
                    "or classes (docs/your-cluster.md has the kinds that are needed)",
                    (const char *)dump->files->pdata[0]);
        return FALSE;
    }
    for (guint i = 0; i < dump->objects->len; i++)
        see_owners(&self, dump->objects->pdata[i]);
    return TRUE;
}
