/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides whether an object of a name exists: at the start, by the workload, or by a controller.
 * Data: the parsed manifests by key, and the counts of numbered copies. "web-3" exists if a create
 * makes four copies of "web", while "web" itself exists within that create alone. Names that
 * controllers make are taken apart at each dash, since a name may have dashes itself. Hints stop
 * after a hundred faults: the search for the nearest name walks over all objects. */
#include <string.h>

#include "check-private.h"
#include "models/api/fields.h"
#include "models/api/workload.h"
#include "sim/strings.h"

void
checker_fault(Checker *self,
              const ManifestInfo *info,
              const char *path,
              const char *hint,
              const char *format,
              ...)
{
    g_autofree char *whole = g_strdup_printf("%s.%s", info->path, path);
    YamlPosition at = info->at;

    FORMATTED(message, format);
    yaml_positions_path(self->loader->positions, info->json, path, &at);
    file_faults_add(self->loader->faults, &at, whole, message, hint);
}

/* The search for a similar name walks over all objects: after so many faults nobody reads the
 * hints. */
#define HINTED_FAULTS_MAX 100
#define HINT_NAMES_MAX 2000

/* The nearest name among the manifests' objects of a kind. Returns: (owned): NULL: no name is near
 */
char *
checker_nearest(const Checker *self, ObjectKind kind, const char *name)
{
    const GArray *manifests = self->loader->manifests;
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    if (self->loader->faults->len >= HINTED_FAULTS_MAX)
        return NULL;
    for (unsigned i = 0; i < manifests->len && names->len < HINT_NAMES_MAX; i++) {
        const ManifestInfo *info = &g_array_index(manifests, ManifestInfo, i);
        if (info->object == NULL || object_kind(info->object) != kind)
            continue;
        if (g_str_equal(object_name(info->object), name))
            return g_strdup_printf("there is one in namespace %s", info->object->key->namespace);
        g_ptr_array_add(names, (char *)object_name(info->object));
    }
    return name_hint(name, (const char *const *)names->pdata, names->len);
}

/* ---- What is there ---- */

const ManifestInfo *
checker_find(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key = objects_find_key(self->loader->objects, kind, namespace, name);
    return key != NULL ? g_hash_table_lookup(self->known, key) : NULL;
}

/* Whether the object is created in copies "web-0" and so on: then "web" exists only within the same
 * create. */
gboolean
checker_is_numbered(const Checker *self, const ManifestInfo *info)
{
    const ActionFields *actions = self->loader->fields.spec.workload.items;
    return info->action >= 0 && actions[info->action].create.count > 0;
}

/* Splits "web-12" into "web" and 12. Returns: (owned): NULL: there is no number */
static char *
without_number(const char *name, unsigned *number)
{
    const char *dash = strrchr(name, '-');
    guint64 value;

    if (dash == NULL || !g_ascii_string_to_unsigned(dash + 1, 10, 0, G_MAXUINT, &value, NULL))
        return NULL;
    *number = (unsigned)value;
    return g_strndup(name, (gsize)(dash - name));
}

static gboolean
is_numbered_copy(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ActionFields *actions = self->loader->fields.spec.workload.items;
    unsigned number;
    g_autofree char *base = without_number(name, &number);
    const ManifestInfo *info = base != NULL ? checker_find(self, kind, namespace, base) : NULL;

    return info != NULL && checker_is_numbered(self, info) &&
           number < actions[info->action].create.count;
}

static gboolean
has_template(const StatefulSet *set, const char *name, gsize length)
{
    for (unsigned i = 0; set->claim_templates != NULL && i < set->claim_templates->n_items; i++) {
        const char *template = object_name(&set->claim_templates->items[i]->meta);
        if (strncmp(template, name, length) == 0 && template[length] == '\0')
            return TRUE;
    }
    return FALSE;
}

static gboolean
has_ephemeral_volume(const PodVolumes *volumes, const char *name)
{
    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (volumes->items[i].ephemeral && g_str_equal(volumes->items[i].name, name))
            return TRUE;
    return FALSE;
}

/* "<template>-<set>-<n>", or "<pod>-<volume>" of a generic ephemeral volume. Names may have dashes,
 * so all splits are tried. */
static gboolean
is_made_claim(const Checker *self, const char *namespace, const char *name)
{
    unsigned number;
    g_autofree char *base = without_number(name, &number);

    for (const char *dash = base != NULL ? strchr(base, '-') : NULL; dash != NULL;
         dash = strchr(dash + 1, '-')) {
        const ManifestInfo *info = checker_find(self, KIND_STATEFUL_SET, namespace, dash + 1);
        if (info != NULL && has_template(STATEFUL_SET(info->object), base, (gsize)(dash - base)))
            return TRUE;
    }
    for (const char *dash = strchr(name, '-'); dash != NULL; dash = strchr(dash + 1, '-')) {
        g_autofree char *pod = g_strndup(name, (gsize)(dash - name));
        const ManifestInfo *info = checker_find(self, KIND_POD, namespace, pod);
        if (info != NULL && has_ephemeral_volume(POD_CONST(info->object)->volumes, dash + 1))
            return TRUE;
    }
    return FALSE;
}

/* Whether a controller makes objects of this kind for @maker: their names are not known before. */
gboolean
object_makes(const Object *maker, ObjectKind kind)
{
    if (kind == KIND_REPLICA_SET)
        return object_kind(maker) == KIND_DEPLOYMENT;
    if (kind == KIND_VOLUME_SNAPSHOT)
        return object_kind(maker) == KIND_GROUP_SNAPSHOT;
    return (kind == KIND_POD || kind == KIND_CLAIM) && workload_template(maker) != NULL;
}

/* "<set>-<n>" for a StatefulSet, "<owner>-..." for other owners. */
static gboolean
is_made_object(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const GArray *manifests = self->loader->manifests;
    unsigned number;
    g_autofree char *base = without_number(name, &number);

    if (kind == KIND_POD && base != NULL &&
        checker_find(self, KIND_STATEFUL_SET, namespace, base) != NULL)
        return TRUE;
    for (unsigned i = 0; i < manifests->len; i++) {
        const Object *object = g_array_index(manifests, ManifestInfo, i).object;
        if (object == NULL || object_kind(object) == KIND_STATEFUL_SET ||
            !object_makes(object, kind) || !g_str_equal(object->key->namespace, namespace))
            continue;
        size_t length = strlen(object_name(object));
        if (strncmp(name, object_name(object), length) == 0 && name[length] == '-')
            return TRUE;
    }
    return FALSE;
}

/* Whether the action of @from creates the object, too: another action may have created a namesake
 * before. */
static gboolean
is_in_same_create(const Checker *self, const ManifestInfo *info, const ManifestInfo *from)
{
    const GArray *manifests = self->loader->manifests;

    for (unsigned i = 0; i < manifests->len; i++) {
        const ManifestInfo *other = &g_array_index(manifests, ManifestInfo, i);
        if (other->action == from->action && other->object != NULL &&
            other->object->key == info->object->key)
            return TRUE;
    }
    return FALSE;
}

/* @from: the manifest with the reference; NULL: the scenario */
gboolean
checker_has(const Checker *self,
            ObjectKind kind,
            const char *namespace,
            const char *name,
            const ManifestInfo *from)
{
    const ManifestInfo *info = checker_find(self, kind, namespace, name);

    if (info != NULL &&
        (!checker_is_numbered(self, info) || (from != NULL && is_in_same_create(self, info, from))))
        return TRUE;
    return is_numbered_copy(self, kind, namespace, name) ||
           (kind == KIND_CLAIM && is_made_claim(self, namespace, name)) ||
           (namespace != NULL && is_made_object(self, kind, namespace, name)) ||
           (kind == KIND_NODE && g_hash_table_contains(self->node_names, name)) ||
           (kind == KIND_CSI_DRIVER && g_hash_table_contains(self->driver_names, name));
}

/* A hint for a name that no object has. Returns: (owned): NULL: none */
char *
checker_hint(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ManifestInfo *info = checker_find(self, kind, namespace, name);

    if (info == NULL || !checker_is_numbered(self, info))
        return checker_nearest(self, kind, name);
    return g_strdup_printf(
        "its copies are \"%s-0\" and so on; references follow only within one create", name);
}
