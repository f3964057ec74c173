/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what a cluster printed; nothing of a run comes here */
/* The drivers of a dump: names from CSIDrivers, CSINodes, volumes and classes, and for each the
 * profile that fits its name, its topology, its limits, its capabilities and its room. Values that
 * kubelets wrote into the CSINodes count before guesses; a pool's room is the free capacity in its
 * CSIStorageCapacity plus the size of its volumes. The report lists the guesses. */
#include "drivers.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/fields.h"
#include "sim/strings.h"

/* Names of drivers, which operators may prefix ("rook-ceph.rbd.csi.ceph.com"), and the profile that
 * fits: a name in models/profiles. */
static const struct {
    const char *driver, *profile;
} profiles[] = {
    {"ebs.csi.aws.com",                 "aws-ebs-gp3"          },
    {"disk.csi.azure.com",              "azure-disk"           },
    {"pd.csi.storage.gke.io",           "gce-pd"               },
    {"csi.vsphere.vmware.com",          "vsphere-cns"          },
    {"cinder.csi.openstack.org",        "openstack-cinder"     },
    {"diskplugin.csi.alibabacloud.com", "alibaba-cloud-disk"   },
    {"rbd.csi.ceph.com",                "ceph-rbd"             },
    {"driver.longhorn.io",              "longhorn"             },
    {"csi.trident.netapp.io",           "netapp-trident"       },
    {"csi-powerstore.dellemc.com",      "dell-powerstore-iscsi"},
    {"pxd.portworx.com",                "portworx"             },
    {"topolvm.io",                      "topolvm"              },
    {"topolvm.cybozu.com",              "topolvm"              },
    {"local.csi.openebs.io",            "openebs-lvm-localpv"  },
    {"zfs.csi.openebs.io",              "openebs-zfs-localpv"  },
    {"nfs.csi.k8s.io",                  "nfs"                  },
    {"efs.csi.aws.com",                 "nfs"                  },
    {"file.csi.azure.com",              "nfs"                  },
    {"smb.csi.k8s.io",                  "nfs"                  },
    {"filestore.csi.storage.gke.io",    "nfs"                  },
    {"cephfs.csi.ceph.com",             "nfs"                  },
};

typedef struct {
    const Dump *dump;
    ImportReport *report;
    const char *name;
    json_t *driver;    /* the result, of this driver */
    const json_t *csi; /* its CSIDriver; NULL: none */
    gboolean has_attach;
    unsigned n_nodes;  /* that it runs on */
    gboolean is_known; /* a profile fits its name */
} DriversFinding;

/* ---- Names ---- */

static void
add_name(GHashTable *names, const char *name)
{
    if (name != NULL && *name != '\0')
        g_hash_table_add(names, (char *)name);
}

static void
add_csi_node(GHashTable *names, const json_t *node)
{
    const json_t *drivers = json_path_get(node, "spec.drivers"), *driver;
    gsize i;

    json_array_foreach(drivers, i, driver) {
        add_name(names, json_path_string(driver, "name"));
    }
}

/* Provisioners inside Kubernetes: of static volumes, and of drivers that have moved to CSI. */
static gboolean
is_in_tree(const char *provisioner)
{
    return provisioner != NULL && g_str_has_prefix(provisioner, "kubernetes.io/");
}

static void
drivers_add_class(GHashTable *names, const json_t *class, ImportReport *report)
{
    const char *provisioner = json_path_string(class, "provisioner");

    if (!is_in_tree(provisioner) && provisioner != NULL && strchr(provisioner, '/') != NULL)
        import_report_count(report, REPORT_LEFT_OUT,
                            "StorageClasses of provisioners that are no CSI drivers: new claims of "
                            "theirs stay Pending",
                            dump_meta(class, "name"));
    else if (!is_in_tree(provisioner))
        add_name(names, provisioner);
    else if (strcmp(provisioner, "kubernetes.io/no-provisioner") != 0)
        import_report_count(report, REPORT_LEFT_OUT,
                            "StorageClasses of drivers inside Kubernetes, which 1.32 has no more",
                            dump_meta(class, "name"));
}

/* Returns: (owned): of const char *, sorted */
static GPtrArray *
find_names(const Dump *dump, ImportReport *report)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *sorted = g_ptr_array_new();
    GHashTableIter iter;
    void *name;

    for (unsigned i = 0; i < dump->objects->len; i++) {
        const json_t *object = dump->objects->pdata[i];
        const char *kind = dump_kind(object);
        if (strcmp(kind, "CSIDriver") == 0)
            add_name(names, dump_meta(object, "name"));
        else if (strcmp(kind, "CSINode") == 0)
            add_csi_node(names, object);
        else if (strcmp(kind, "StorageClass") == 0)
            drivers_add_class(names, object, report);
        else if (strcmp(kind, "PersistentVolume") == 0)
            add_name(names, json_path_string(object, "spec.csi.driver"));
        else if (strcmp(kind, "VolumeAttachment") == 0)
            add_name(names, json_path_string(object, "spec.attacher"));
    }
    g_hash_table_iter_init(&iter, names); /* sorted below */
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_ptr_array_add(sorted, name);
    g_ptr_array_sort(sorted, strings_compare);
    return sorted;
}

/* ---- Members ---- */

/* Whether @name is @known, or an operator's prefix stands before it. */
static gboolean
drivers_is_named(const char *name, const char *known)
{
    gsize length = strlen(name), tail = strlen(known);

    return g_str_has_suffix(name, known) && (length == tail || name[length - tail - 1] == '.');
}

static void
find_profile(DriversFinding *self)
{
    const char *profile = "generic";

    for (unsigned i = 0; i < G_N_ELEMENTS(profiles) && !self->is_known; i++) {
        self->is_known = drivers_is_named(self->name, profiles[i].driver);
        if (self->is_known)
            profile = profiles[i].profile;
    }
    json_object_set_new(self->driver, "profile", json_string(profile));
    import_report_say(self->report, self->is_known ? REPORT_TAKEN : REPORT_GUESSED,
                      "Driver %s: latencies of the profile %s%s, where no scrape measured them.",
                      self->name, profile,
                      self->is_known ? "" : ", because no profile fits its name");
}

/* The driver's entry in a CSINode. */
static const json_t *
find_on_node(const DriversFinding *self, const json_t *node)
{
    const json_t *drivers = json_path_get(node, "spec.drivers"), *driver;
    gsize i;

    json_array_foreach(drivers, i, driver) {
        if (g_strcmp0(json_path_string(driver, "name"), self->name) == 0)
            return driver;
    }
    return NULL;
}

static void
add_keys(json_t *keys, const json_t *entry)
{
    const json_t *topology = json_object_get(entry, "topologyKeys"), *key, *known;
    gsize i, j;

    json_array_foreach(topology, i, key) {
        gboolean is_new = TRUE;
        json_array_foreach(keys, j, known) {
            is_new = is_new && !json_equal(key, known);
        }
        if (is_new)
            json_array_append(keys, (json_t *)key);
    }
}

static void
set_topology(DriversFinding *self, json_t *keys)
{
    for (gsize i = json_array_size(keys); i-- > 0;) {
        const char *key = json_string_value(json_array_get(keys, i));
        if (key != NULL && dump_has_node_label(self->dump, key))
            continue;
        import_report_say(self->report, REPORT_GUESSED,
                          "Driver %s: its topology key %s is left out, because no node has such a "
                          "label.",
                          self->name, key != NULL ? key : "?");
        json_array_remove(keys, i);
    }
    json_object_set(self->driver, "topology",
                    json_array_size(keys) == 0   ? json_false()
                    : json_array_size(keys) == 1 ? json_array_get(keys, 0)
                                                 : keys);
}

/* Topology and limits, as the kubelets wrote them into the CSINodes. */
static void
find_nodes(DriversFinding *self)
{
    json_auto_t *keys = json_array();
    const json_t *node;
    json_int_t least = G_MAXINT64, most = -1;
    guint i = 0, n_csi_nodes = 0;

    while ((node = dump_next(self->dump, "CSINode", &i)) != NULL) {
        const json_t *entry = find_on_node(self, node);
        const json_t *count = json_path_get(entry, "allocatable.count");
        n_csi_nodes++;
        if (entry == NULL)
            continue;
        self->n_nodes++;
        add_keys(keys, entry);
        least = MIN(least, count != NULL ? json_integer_value(count) : 0);
        most = MAX(most, count != NULL ? json_integer_value(count) : 0);
    }
    if (self->n_nodes == 0) {
        import_report_say(self->report, REPORT_GUESSED,
                          n_csi_nodes == 0
                              ? "Driver %s: the dump has no CSINodes, so limits and topology are "
                                "those of its profile."
                              : "Driver %s runs on no node: limits and topology are those of its "
                                "profile.",
                          self->name);
        return;
    }
    set_topology(self, keys);
    if (least == most && most == 0 && !self->is_known)
        return; /* its stand-in has no limit either */
    if (least == most)
        json_object_set_new(self->driver, "attachLimit", json_integer(most));
    else
        import_report_say(self->report, REPORT_TAKEN,
                          "Driver %s: from %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT
                          " volumes per node, as the CSINodes say.",
                          self->name, least, most);
}

static gboolean
has_snapshots(const DriversFinding *self)
{
    const json_t *class;
    guint i = 0;

    while ((class = dump_next(self->dump, "VolumeSnapshotClass", &i)) != NULL)
        if (g_strcmp0(json_path_string(class, "driver"), self->name) == 0)
            return TRUE;
    return FALSE;
}

/* Capabilities of most drivers, and those that the objects show. A profile may know more. */
static void
find_capabilities(DriversFinding *self)
{
    gboolean snapshots = has_snapshots(self);
    gboolean capacity = json_is_true(json_path_get(self->csi, "spec.storageCapacity"));
    json_t *list;

    if (!snapshots && !capacity)
        return;
    list = json_pack("[s, s]", "CREATE_DELETE_VOLUME", "EXPAND_VOLUME");
    if (self->has_attach)
        json_array_append_new(list, json_string("PUBLISH_UNPUBLISH_VOLUME"));
    if (snapshots)
        json_array_append_new(list, json_string("CREATE_DELETE_SNAPSHOT"));
    if (capacity) { /* a guess, until a workload of the driver tells its flags */
        json_array_append_new(list, json_string("GET_CAPACITY"));
        json_object_set_new(
            self->driver, "sidecars",
            json_pack("{s:{s:b}}", "external-provisioner", "enable-capacity", TRUE));
    }
    json_object_set_new(self->driver, "controllerCapabilities", list);
}

/* ---- Room ---- */

static int64_t
drivers_quantity_of(const json_t *value)
{
    const char *text = json_string_value(value);
    int64_t bytes = 0;

    return text != NULL && quantity_parse(text, &bytes, NULL, NULL) ? bytes : 0;
}

/* Whether a term of the volume's node affinity allows the place. */
static gboolean
term_allows(const json_t *term, const json_t *segments)
{
    const json_t *expressions = json_object_get(term, "matchExpressions"), *expression, *value;
    gsize i, j;

    json_array_foreach(expressions, i, expression) {
        const json_t *segment = json_object_get(
            segments,
            json_path_string(expression, "key") != NULL ? json_path_string(expression, "key") : "");
        gboolean found = segment == NULL;
        json_array_foreach(json_object_get(expression, "values"), j, value) {
            found = found || json_equal(segment, value);
        }
        if (!found)
            return FALSE;
    }
    return TRUE;
}

static gboolean
is_in_place(const json_t *volume, const json_t *segments)
{
    const json_t *terms = json_path_get(volume, "spec.nodeAffinity.required.nodeSelectorTerms");
    const json_t *term;
    gsize i;

    json_array_foreach(terms, i, term) {
        if (term_allows(term, segments))
            return TRUE;
    }
    return json_array_size(terms) == 0;
}

/* The room that the driver's volumes take there. */
static int64_t
taken_in(const DriversFinding *self, const json_t *segments)
{
    const json_t *volume;
    int64_t bytes = 0;
    guint i = 0;

    while ((volume = dump_next(self->dump, "PersistentVolume", &i)) != NULL)
        if (g_strcmp0(json_path_string(volume, "spec.csi.driver"), self->name) == 0 &&
            is_in_place(volume, segments))
            bytes += drivers_quantity_of(json_path_get(volume, "spec.capacity.storage"));
    return bytes;
}

static gboolean
is_class_of_driver(const DriversFinding *self, const char *name)
{
    const json_t *class = name != NULL ? dump_find(self->dump, "StorageClass", NULL, name) : NULL;

    return class != NULL && g_strcmp0(json_path_string(class, "provisioner"), self->name) == 0;
}

/* The pool of that place. Returns: (borrowed) */
static json_t *
get_pool(json_t *pools, const json_t *segments)
{
    json_t *pool;
    gsize i;

    json_array_foreach(pools, i, pool) {
        if (json_equal(json_object_get(pool, "topology"), segments))
            return pool;
    }
    pool = json_pack("{s:O, s:I}", "topology", segments, "capacity", (json_int_t)0);
    json_array_append_new(pools, pool);
    return pool;
}

/* CSIStorageCapacity has the free room, by class and place; a pool has all the room, and several
 * classes of a driver share it. */
static void
find_room(DriversFinding *self)
{
    json_t *pools = json_array(), *pool;
    const json_t *object;
    guint i = 0;
    gsize j;

    while ((object = dump_next(self->dump, "CSIStorageCapacity", &i)) != NULL) {
        const json_t *segments = json_path_get(object, "nodeTopology.matchLabels");
        const json_t *free_room = json_object_get(object, "capacity");
        if (!is_class_of_driver(self, json_path_string(object, "storageClassName")) ||
            !json_is_object(segments) || free_room == NULL)
            continue;
        pool = get_pool(pools, segments);
        json_int_t bytes = MAX(json_integer_value(json_object_get(pool, "capacity")),
                               (json_int_t)drivers_quantity_of(free_room));
        json_object_set_new(pool, "capacity", json_integer(bytes));
    }
    json_array_foreach(pools, j, pool) {
        json_int_t bytes = json_integer_value(json_object_get(pool, "capacity")) +
                           taken_in(self, json_object_get(pool, "topology"));
        char buffer[QUANTITY_BUFFER];
        json_object_set_new(pool, "capacity", json_string(quantity_format(bytes, buffer)));
    }
    if (json_array_size(pools) > 0) {
        json_object_set(self->driver, "pools", pools);
        import_report_say(self->report, REPORT_TAKEN,
                          "Driver %s: room in %" G_GSIZE_FORMAT
                          " places, free (CSIStorageCapacity) and taken (volumes).",
                          self->name, json_array_size(pools));
    }
    json_decref(pools);
}

json_t *
drivers_of_dump(const Dump *dump, ImportReport *report)
{
    g_autoptr(GPtrArray) names = find_names(dump, report);
    json_t *drivers = json_array();

    for (unsigned i = 0; i < names->len; i++) {
        DriversFinding self = {.dump = dump, .report = report, .name = names->pdata[i]};
        self.csi = dump_find(dump, "CSIDriver", NULL, self.name);
        self.has_attach = !json_is_false(json_path_get(self.csi, "spec.attachRequired"));
        self.driver = json_pack("{s:s}", "name", self.name);
        json_array_append_new(drivers, self.driver);
        find_profile(&self);
        find_nodes(&self);
        if (!self.is_known)
            find_capabilities(&self);
        find_room(&self);
        if (self.csi == NULL)
            import_report_say(report, REPORT_GUESSED,
                              "Driver %s has no CSIDriver in the dump: it attaches volumes.",
                              self.name);
    }
    return drivers;
}
