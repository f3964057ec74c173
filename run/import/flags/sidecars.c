/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sidecars of each driver, from the containers of its workloads. Manifests that the user gives
 * count before workloads of the dump, and these before pods whose workload is not there. A workload
 * is a driver's by the only CSIDriver of its manifest or by a driver's name in its containers.
 * Sidecars of the models that run in no workload of a driver are switched off for it. */
#include <string.h>

#include "flags-private.h"
#include "models/api/fields.h"
#include "run/scenario/driver-workloads.h"

/* A Deployment, StatefulSet or DaemonSet, or a pod whose controller is not in the dump. */
typedef struct {
    const json_t *object;   /* borrowed from its dump */
    const json_t *template; /* the pod's spec */
    json_int_t replicas;
    gboolean on_nodes;      /* a DaemonSet's */
    gboolean from_manifest; /* given by the user */
    const char *given;      /* the only CSIDriver of its manifest; NULL: not told */
    const char *driver;     /* whose it is; NULL: nobody's */
} SidecarsWorkload;

typedef struct {
    json_t *drivers;
    GArray *workloads;
    int minor;
    ImportReport *report;
} SidecarsFinding;

/* ---- Workloads ---- */

static gboolean
has_sidecar(const json_t *template)
{
    const json_t *container;
    gsize i;

    json_array_foreach(json_object_get(template, "containers"), i, container)
        if (workload_sidecar(container) != NULL)
            return TRUE;
    return FALSE;
}

static void
add_workloads(SidecarsFinding *self, const Dump *dump, const char *given, gboolean from_manifest)
{
    static const char *const kinds[] = {"Deployment", "StatefulSet", "DaemonSet"};
    const json_t *object;

    for (unsigned kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
        for (guint i = 0; (object = dump_next(dump, kinds[kind], &i)) != NULL;) {
            const json_t *replicas = json_path_get(object, "spec.replicas");
            SidecarsWorkload workload = {
                .object = object,
                .template = json_path_get(object, "spec.template.spec"),
                .replicas = json_is_integer(replicas) ? json_integer_value(replicas) : 1,
                .on_nodes = strcmp(kinds[kind], "DaemonSet") == 0,
                .from_manifest = from_manifest,
                .given = given,
            };
            if (has_sidecar(workload.template))
                g_array_append_val(self->workloads, workload);
        }
}

static const char *
owner_uid(const json_t *object)
{
    const json_t *owners = json_path_get(object, "metadata.ownerReferences");

    return json_path_string(json_array_get(owners, 0), "uid");
}

/* Pods whose workload is not in the dump: the pods of one controller are its replicas. */
static void
sidecars_add_pods(SidecarsFinding *self, const Dump *dump)
{
    unsigned n_others = self->workloads->len;
    const json_t *pod;

    for (guint i = 0; (pod = dump_next(dump, "Pod", &i)) != NULL;) {
        const char *uid = owner_uid(pod);
        const json_t *owner = uid == NULL ? NULL : dump_find_uid(dump, uid), *above;
        SidecarsWorkload *known = NULL;
        if (owner != NULL && owner_uid(owner) != NULL &&
            (above = dump_find_uid(dump, owner_uid(owner))) != NULL)
            owner = above; /* a ReplicaSet's Deployment */
        if (!has_sidecar(json_object_get(pod, "spec")) ||
            (owner != NULL && strcmp(dump_kind(owner), "ReplicaSet") != 0))
            continue;
        for (unsigned k = n_others; known == NULL && k < self->workloads->len; k++) {
            SidecarsWorkload *other = &g_array_index(self->workloads, SidecarsWorkload, k);
            known = uid != NULL && g_strcmp0(owner_uid(other->object), uid) == 0 ? other : NULL;
        }
        if (known != NULL) {
            known->replicas++;
            continue;
        }
        const json_t *owners = json_path_get(pod, "metadata.ownerReferences");
        const char *kind = json_path_string(json_array_get(owners, 0), "kind");
        SidecarsWorkload workload = {.object = pod,
                                     .template = json_object_get(pod, "spec"),
                                     .replicas = 1,
                                     .on_nodes = g_strcmp0(kind, "DaemonSet") == 0};
        g_array_append_val(self->workloads, workload);
    }
}

/* ---- Whose it is ---- */

static void
sidecars_find_driver(const SidecarsFinding *self, SidecarsWorkload *workload)
{
    unsigned best = 0;
    gboolean is_unique = FALSE;
    const json_t *driver;
    gsize i;

    json_array_foreach(self->drivers, i, driver) {
        const char *name = json_path_string(driver, "name");
        unsigned score =
            workload->given != NULL
                ? (unsigned)(strcmp(name, workload->given) == 0)
                : workload_likeness(workload->template, dump_meta(workload->object, "name"), name);
        is_unique = score != best ? is_unique || score > best : FALSE;
        if (score > best) {
            best = score;
            workload->driver = name;
        }
    }
    if (best > 0 && is_unique)
        return;
    workload->driver = NULL;
    import_report_count(self->report, REPORT_LEFT_OUT,
                        "Workloads with sidecars that fit no driver, or several",
                        dump_meta(workload->object, "name"));
}

/* ---- Sidecars ---- */

static void
read_sidecar(const SidecarsFinding *self,
             const SidecarsWorkload *workload,
             const json_t *container,
             json_t *sidecars,
             GString *told)
{
    const ProcessClass *class = workload_sidecar(container);
    g_autofree char *release = flags_image_release(container);

    if (class == NULL || workload->replicas == 0 || json_object_get(sidecars, class->name) != NULL)
        return;
    json_t *flags = flags_of_container(class, container, self->minor, self->report);
    if (!workload->on_nodes && workload->replicas > 1)
        json_object_set_new(flags, "replicas",
                            json_integer(MIN(workload->replicas, PROCESS_REPLICAS_MAX)));
    json_object_set_new(sidecars, class->name, flags);
    g_string_append_printf(told, "%s%s%s%s", told->len > 0 ? ", " : "", class->name,
                           release != NULL ? " " : "", release != NULL ? release : "");
}

/* Sidecars of the models that run in none of the driver's workloads. */
static void
add_absent(const SidecarsFinding *self, const char *driver, json_t *sidecars)
{
    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->scope != PER_DRIVER || class->is_optional ||
            json_object_get(sidecars, class->name) != NULL)
            continue;
        json_object_set_new(sidecars, class->name, json_false());
        import_report_say(self->report, REPORT_TAKEN, "%s runs without %s.", driver, class->name);
    }
}

/* Takes the flags from the manifests that were given, from workloads of the dump, and last from
 * pods: the list is in this order. */
static void
set_sidecars(const SidecarsFinding *self, json_t *driver)
{
    const char *name = json_path_string(driver, "name");
    json_t *sidecars = json_object();

    for (unsigned i = 0; i < self->workloads->len; i++) {
        const SidecarsWorkload *workload = &g_array_index(self->workloads, SidecarsWorkload, i);
        g_autoptr(GString) told = g_string_new(NULL);
        const json_t *container;
        gsize k;
        if (g_strcmp0(workload->driver, name) != 0)
            continue;
        json_array_foreach(json_object_get(workload->template, "containers"), k, container)
            read_sidecar(self, workload, container, sidecars, told);
        if (told->len > 0)
            import_report_say(self->report, REPORT_TAKEN, "%s: %s from %s %s%s.", name, told->str,
                              dump_kind(workload->object), dump_meta(workload->object, "name"),
                              workload->from_manifest ? " of the manifest" : "");
    }
    if (json_object_size(sidecars) == 0) {
        json_decref(sidecars);
        import_report_say(self->report, REPORT_GUESSED,
                          "%s: all sidecars with default flags, as no workload of it is known%s.",
                          name,
                          json_object_get(driver, "sidecars") == NULL
                              ? ""
                              : "; but --enable-capacity, as its CSIDriver has storageCapacity");
        return;
    }
    add_absent(self, name, sidecars);
    json_object_set_new(driver, "sidecars", sidecars);
}

/* ---- Manifests ---- */

/* The name of the only CSIDriver. */
static const char *
only_driver(const Dump *dump)
{
    guint i = 0;
    const json_t *first = dump_next(dump, "CSIDriver", &i);

    return first == NULL || dump_next(dump, "CSIDriver", &i) != NULL ? NULL
                                                                     : dump_meta(first, "name");
}

/* @read: gets the dumps, whose objects the workloads borrow */
static gboolean
add_manifest(SidecarsFinding *self, const char *file, GPtrArray *read, GError **error)
{
    const char *const files[] = {file, NULL};
    g_autoptr(ImportReport) unused = import_report_new(); /* what it says holds for dumps */
    GPtrArray *dumps = dumps_read(files, unused, error);
    unsigned n_before = self->workloads->len;

    if (dumps == NULL)
        return FALSE;
    g_ptr_array_add(read, dumps);
    for (unsigned i = 0; i < dumps->len; i++)
        add_workloads(self, dumps->pdata[i], only_driver(dumps->pdata[i]), TRUE);
    if (self->workloads->len == n_before)
        import_report_count(self->report, REPORT_LEFT_OUT, "Manifests without a known sidecar",
                            file);
    return TRUE;
}

gboolean
flags_of_drivers(json_t *drivers,
                 const Dump *dump,
                 const char *const *manifests,
                 ImportReport *report,
                 GError **error)
{
    g_autoptr(GArray) workloads = g_array_new(FALSE, FALSE, sizeof(SidecarsWorkload));
    g_autoptr(GPtrArray) read = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    SidecarsFinding self = {drivers, workloads, flags_minor(dump), report};
    json_t *driver;
    gsize k;

    for (; *manifests != NULL; manifests++)
        if (!add_manifest(&self, *manifests, read, error))
            return FALSE;
    if (dump != NULL) {
        add_workloads(&self, dump, NULL, FALSE);
        sidecars_add_pods(&self, dump);
    }
    for (unsigned i = 0; i < workloads->len; i++)
        sidecars_find_driver(&self, &g_array_index(workloads, SidecarsWorkload, i));
    json_array_foreach(drivers, k, driver)
        set_sidecars(&self, driver);
    return TRUE;
}
