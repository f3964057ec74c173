/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what a cluster printed; nothing of a run comes here */
/* Reads dumps of a cluster (JSON, YAML, lists, folders, packed files) and joins files that are
 * parts of one dump. Lists are taken item by item, so a large dump is never in memory as a whole.
 * The time of a dump is its newest time stamp. Two files are of one cluster if they share a uid,
 * and of one dump if no object is in both; a folder was not written at one instant, so there the
 * newer twin counts. */
#include "dump.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/fields.h"
#include "prune.h"
#include "run/files/file-fault.h"
#include "run/files/input.h"
#include "run/files/json-items.h"
#include "run/files/packed.h"
#include "sim/order.h"
#include "sim/strings.h"

/* The work on one file. */
typedef struct {
    const char *file;
    Dump *dump;
    ImportReport *report;
    GPtrArray *bare;    /* of json_t (owned): items whose kind stands in their list */
    GArray *bare_lines; /* of unsigned */
    char newest[32];    /* of the time stamps, as text: only newer ones are parsed */
    gboolean in_folder; /* the dump is a folder of files */
} DumpReading;

/* ---- One dump ---- */

static void
dump_free(void *data)
{
    Dump *self = data;

    g_hash_table_unref(self->by_name);
    g_hash_table_unref(self->by_uid);
    g_hash_table_unref(self->nodes);
    g_ptr_array_unref(self->objects);
    g_ptr_array_unref(self->files);
    g_free(self->cluster);
    g_free(self);
}

static void
unref_json(void *value)
{
    json_decref(value);
}

static Dump *
dump_new(const char *file)
{
    Dump *self = g_new0(Dump, 1);

    self->files = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(self->files, g_strdup(file));
    self->newest = TIME_UNSET;
    self->objects = g_ptr_array_new_with_free_func(unref_json);
    self->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->by_uid = g_hash_table_new(g_str_hash, g_str_equal);
    self->nodes = g_hash_table_new(g_str_hash, g_str_equal);
    return self;
}

const char *
dump_kind(const json_t *object)
{
    return json_path_string(object, "kind");
}

const char *
dump_meta(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(json_object_get(object, "metadata"), member));
}

static char *
identity(const char *kind, const char *namespace, const char *name)
{
    return g_strconcat(kind, "/", namespace != NULL ? namespace : "", "/", name, NULL);
}

json_t *
dump_find(const Dump *self, const char *kind, const char *namespace, const char *name)
{
    g_autofree char *key = identity(kind, namespace, name);

    return g_hash_table_lookup(self->by_name, key);
}

json_t *
dump_find_uid(const Dump *self, const char *uid)
{
    return g_hash_table_lookup(self->by_uid, uid);
}

json_t *
dump_next(const Dump *self, const char *kind, guint *index)
{
    while (*index < self->objects->len) {
        json_t *object = self->objects->pdata[(*index)++];
        if (g_strcmp0(dump_kind(object), kind) == 0)
            return object;
    }
    return NULL;
}

gboolean
dump_has_node_label(const Dump *self, const char *key)
{
    const json_t *node;
    guint i = 0;

    while ((node = dump_next(self, "Node", &i)) != NULL)
        if (json_object_get(json_path_get(node, "metadata.labels"), key) != NULL)
            return TRUE;
    return FALSE;
}

void
dump_add(Dump *self, json_t *object)
{
    const char *uid = dump_meta(object, "uid"), *kind = dump_kind(object);

    g_ptr_array_add(self->objects, object);
    g_hash_table_insert(self->by_name,
                        identity(kind, dump_meta(object, "namespace"), dump_meta(object, "name")),
                        object);
    if (uid != NULL)
        g_hash_table_insert(self->by_uid, (char *)uid, object);
    if (uid != NULL && strcmp(kind, "Node") == 0)
        g_hash_table_insert(self->nodes, (char *)dump_meta(object, "name"), (char *)uid);
}

/* ---- Time stamps ---- */

static void
see_instant(DumpReading *self, const char *text, SimTime time)
{
    if (self->dump->newest != TIME_UNSET && time <= self->dump->newest)
        return;
    self->dump->newest = time;
    g_strlcpy(self->newest, text, sizeof self->newest);
}

/* Text in UTC compares as the times do, up to the seconds. */
static void
see_time(DumpReading *self, const json_t *value)
{
    const char *text = json_string_value(value);
    SimTime time;

    if (text != NULL && strncmp(text, self->newest, strlen("2026-01-01T00:00:00")) >= 0 &&
        api_time_parse(text, &time))
        see_instant(self, text, time);
}

static void
see_times(DumpReading *self, const json_t *parent, const char *const *members)
{
    for (; *members != NULL; members++)
        see_time(self, json_object_get(parent, *members));
}

static void
see_items(DumpReading *self, const json_t *list, const char *const *members)
{
    for (gsize i = 0; i < json_array_size(list); i++)
        see_times(self, json_array_get(list, i), members);
}

/* A deletionTimestamp lies ahead of the request by the grace period. */
static void
see_deletion(DumpReading *self, const json_t *metadata)
{
    const char *text = json_path_string(metadata, "deletionTimestamp");
    SimTime time;
    char buffer[API_TIME_BUFFER];

    if (text == NULL || !api_time_parse(text, &time))
        return;
    json_int_t grace_s =
        json_integer_value(json_object_get(metadata, "deletionGracePeriodSeconds"));
    time = sim_time_add(time, -SIM_SECOND * CLAMP(grace_s, 0, G_MAXINT32));
    see_instant(self, api_time_format(time, FALSE, buffer), time);
}

/* managedFields tell when something last changed, even if no condition does. */
static void
see_object_times(DumpReading *self, const json_t *object)
{
    static const char *const of_metadata[] = {"creationTimestamp", NULL};
    static const char *const of_managers[] = {"time", NULL};
    static const char *const of_conditions[] = {"lastTransitionTime", "lastHeartbeatTime",
                                                "lastUpdateTime", NULL};
    static const char *const of_leases[] = {"acquireTime", "renewTime", NULL};
    static const char *const of_events[] = {"eventTime", "firstTimestamp", "lastTimestamp", NULL};
    const json_t *metadata = json_object_get(object, "metadata");

    see_times(self, metadata, of_metadata);
    see_deletion(self, metadata);
    see_items(self, json_object_get(metadata, "managedFields"), of_managers);
    see_items(self, json_object_get(json_object_get(object, "status"), "conditions"),
              of_conditions);
    if (strcmp(dump_kind(object), "Lease") == 0)
        see_times(self, json_object_get(object, "spec"), of_leases);
    if (strcmp(dump_kind(object), "Event") == 0)
        see_times(self, object, of_events);
}

static guint64
version_of(const json_t *object)
{
    const char *text = dump_meta(object, "resourceVersion");

    return text != NULL ? g_ascii_strtoull(text, NULL, 10) : 0;
}

static void
see_version(DumpReading *self, const json_t *object)
{
    self->dump->resource_version = MAX(self->dump->resource_version, version_of(object));
}

/* ---- Objects ---- */

static gboolean
dump_fail(const DumpReading *self, unsigned line, const char *message, GError **error)
{
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s:%u: %s", self->file, line, message);
    return FALSE;
}

static void
leave_out(DumpReading *self, const char *reason, const json_t *object, unsigned line)
{
    const char *namespace = dump_meta(object, "namespace");
    g_autofree char *base = g_path_get_basename(self->file);
    g_autofree char *example =
        g_strdup_printf("%s %s%s%s (%s:%u)", dump_kind(object), namespace != NULL ? namespace : "",
                        namespace != NULL ? "/" : "", dump_meta(object, "name"), base, line);

    import_report_count(self->report, REPORT_LEFT_OUT, reason, example);
}

/* Kinds that no model knows. */
static void
leave_out_kind(DumpReading *self, const json_t *object)
{
    const char *kind = dump_kind(object);
    const char *version = json_path_string(object, "apiVersion");
    const char *dot = version != NULL ? strchr(version, '.') : NULL;
    ObjectKind same;
    g_autofree char *reason = NULL;

    if (kind_find(NULL, kind, &same))
        reason = g_strdup_printf("%s of %s, a version that no model knows", kind,
                                 version != NULL ? version : "no apiVersion");
    else if (dot != NULL && strstr(dot, ".k8s.io/") == NULL)
        reason = g_strdup("Custom resources, which no model reads");
    else
        reason = g_strdup_printf("%s, which has no effect on storage", kind);
    import_report_count(self->report, REPORT_LEFT_OUT, reason, dump_meta(object, "name"));
}

/* A folder was not written at one instant, and may have an object in a list and in a file of its
 * own. */
static void
take_newer(Dump *self, json_t *object)
{
    const char *uid = dump_meta(object, "uid"), *name = dump_meta(object, "name");
    json_t *twin = dump_find(self, dump_kind(object), dump_meta(object, "namespace"), name);

    if (twin == NULL || uid == NULL || g_strcmp0(dump_meta(twin, "uid"), uid) != 0 ||
        version_of(object) == version_of(twin))
        return;
    self->n_changed++;
    if (version_of(object) < version_of(twin))
        return;
    g_hash_table_remove(self->by_uid, uid);
    if (strcmp(dump_kind(object), "Node") == 0)
        g_hash_table_remove(self->nodes, name);
    prune_while_reading(object);
    json_object_clear(twin);
    json_object_update(twin, object);
    g_hash_table_insert(self->by_uid, (char *)dump_meta(twin, "uid"), twin);
    if (strcmp(dump_kind(twin), "Node") == 0)
        g_hash_table_insert(self->nodes, (char *)dump_meta(twin, "name"),
                            (char *)dump_meta(twin, "uid"));
}

/* Returns: why the object is not taken; NULL: it is new */
static const char *
find_twin(const DumpReading *self, const json_t *object)
{
    const char *uid = dump_meta(object, "uid");
    const json_t *twin = dump_find(self->dump, dump_kind(object), dump_meta(object, "namespace"),
                                   dump_meta(object, "name"));

    if (twin != NULL)
        return g_strcmp0(dump_meta(twin, "uid"), uid) == 0
                   ? self->in_folder ? "Objects that a folder has twice; the newer one is taken"
                                     : "Objects that a file has twice"
                   : "A second object of one name, with another uid";
    return uid != NULL && dump_find_uid(self->dump, uid) != NULL
               ? "A second object with the uid of another"
               : NULL;
}

/* As the API server, which puts objects without a namespace into "default". */
static void
complete_namespace(json_t *object, ObjectKind kind)
{
    if (kind_class(kind)->namespaced && dump_meta(object, "namespace") == NULL)
        json_object_set_new(json_object_get(object, "metadata"), "namespace",
                            json_string("default"));
}

/* @object: owned */
static void
take_object(DumpReading *self, json_t *object, unsigned line)
{
    const char *version = json_path_string(object, "apiVersion");
    const char *twin = find_twin(self, object);
    ObjectKind kind;

    see_object_times(self, object);
    see_version(self, object);
    if (strcmp(dump_kind(object), "Namespace") == 0 &&
        g_strcmp0(dump_meta(object, "name"), "kube-system") == 0 && self->dump->cluster == NULL)
        self->dump->cluster = g_strdup(dump_meta(object, "uid"));
    if (twin != NULL && self->in_folder)
        take_newer(self->dump, object);
    if (twin != NULL)
        leave_out(self, twin, object, line);
    else if (!kind_find(version != NULL ? version : "", dump_kind(object), &kind))
        leave_out_kind(self, object);
    else {
        complete_namespace(object, kind);
        if (dump_meta(object, "uid") == NULL)
            import_report_count(self->report, REPORT_GUESSED,
                                "Objects without uid, which no cluster printed: made at the start",
                                dump_meta(object, "name"));
        prune_while_reading(object);
        dump_add(self->dump, object);
        return;
    }
    json_decref(object);
}

static gboolean dump_take(DumpReading *self, json_t *value, unsigned line, GError **error);

static gboolean
take_items(DumpReading *self, const json_t *list, unsigned line, GError **error)
{
    const json_t *items = json_object_get(list, "items");

    for (gsize i = 0; i < json_array_size(items); i++)
        if (!dump_take(self, json_incref(json_array_get(items, i)), line, error))
            return FALSE;
    return TRUE;
}

/* Takes the items before, whose kind only their list has: `kubectl get --raw` prints it so. */
static gboolean
end_list(DumpReading *self, const json_t *list, GError **error)
{
    const char *kind = dump_kind(list);
    g_autofree char *of =
        kind != NULL && g_str_has_suffix(kind, "List") && strlen(kind) > strlen("List")
            ? g_strndup(kind, strlen(kind) - strlen("List"))
            : NULL;
    json_t *version = json_object_get(list, "apiVersion");

    if (self->bare->len > 0 && (of == NULL || version == NULL))
        return dump_fail(self, g_array_index(self->bare_lines, unsigned, 0),
                         "has no kind: not an object of Kubernetes", error);
    for (unsigned i = 0; i < self->bare->len; i++) {
        json_t *object = self->bare->pdata[i];
        json_object_set_new(object, "kind", json_string(of));
        json_object_set(object, "apiVersion", version);
        if (!dump_take(self, json_incref(object), g_array_index(self->bare_lines, unsigned, i),
                       error))
            return FALSE;
    }
    g_ptr_array_set_size(self->bare, 0);
    g_array_set_size(self->bare_lines, 0);
    return TRUE;
}

static gboolean
is_audit_event(const json_t *object)
{
    const char *version = json_path_string(object, "apiVersion");

    return version != NULL && g_str_has_prefix(version, "audit.k8s.io/");
}

/* @value: owned */
static gboolean
dump_take(DumpReading *self, json_t *value, unsigned line, GError **error)
{
    json_auto_t *object = value;
    const char *kind = dump_kind(object);

    if (!json_is_object(object))
        return dump_fail(self, line, "expected an object of Kubernetes", error);
    if (kind == NULL && json_is_object(json_object_get(object, "metadata"))) {
        g_ptr_array_add(self->bare, json_incref(object));
        g_array_append_val(self->bare_lines, line);
        return TRUE;
    }
    if (kind == NULL)
        return dump_fail(self, line, "has no kind: not an object of Kubernetes", error);
    if (g_str_has_suffix(kind, "List") && json_is_array(json_object_get(object, "items")))
        return take_items(self, object, line, error) && end_list(self, object, error);
    const char *name = dump_meta(object, "name");
    if (name == NULL && is_audit_event(object))
        return dump_fail(self, line, "is an audit log, no dump: give it with --audit", error);
    if (name == NULL || *name == '\0')
        return dump_fail(self, line, "the object has no metadata.name", error);
    take_object(self, json_incref(object), line);
    return TRUE;
}

static gboolean
take_item(void *data, json_t *value, unsigned line, GError **error)
{
    return dump_take(data, value, line, error);
}

static gboolean
take_list_end(void *data, const json_t *list, unsigned line, GError **error)
{
    (void)line;
    return end_list(data, list, error);
}

/* ---- Files ---- */

static gboolean
read_yaml(DumpReading *self, const GString *text, GError **error)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) faults = file_faults_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func(unref_json);

    if (!yaml_read(positions, self->file, text->str, text->len, faults, documents)) {
        g_autofree char *first = file_fault_text(faults->pdata[0]);
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s", first);
        return FALSE;
    }
    for (unsigned i = 0; i < documents->len; i++) {
        YamlPosition at = {.line = 1};
        json_t *document = documents->pdata[i];
        const json_t *items = json_object_get(document, "items");
        yaml_positions_find(positions, document, &at);
        if (!json_is_array(items)) {
            if (!dump_take(self, json_incref(document), at.line, error))
                return FALSE;
            continue;
        }
        for (gsize j = 0; j < json_array_size(items); j++) {
            yaml_positions_item(positions, items, j, &at);
            if (!dump_take(self, json_incref(json_array_get(items, j)), at.line, error))
                return FALSE;
        }
        if (!end_list(self, document, error))
            return FALSE;
    }
    return TRUE;
}

/* The first character that is no space tells JSON from YAML. Returns: 0: there is none yet */
static char
first_character(const char *text, gssize n)
{
    for (gssize i = 0; i < n; i++)
        if (!g_ascii_isspace(text[i]))
            return text[i];
    return '\0';
}

static gboolean
dump_read_text(DumpReading *self, PackedFile *file, GError **error)
{
    const JsonItemsSeen seen = {take_item, take_list_end, self};
    g_autoptr(JsonItems) items = json_items_new(self->file, &seen);
    g_autoptr(GString) yaml = g_string_new(NULL);
    const char *text;
    char first = '\0';
    gssize n;

    while ((n = packed_file_next(file, &text, error)) > 0) {
        if (!import_report_go_on(self->report, self->file, error))
            return FALSE;
        if (first == '\0')
            first = first_character(text, n);
        if (yaml->len > INPUT_BYTES_MAX)
            return dump_fail(self, 1, "more than 1 GiB of YAML: print it as JSON", error);
        if (first != '{' && first != '[')
            g_string_append_len(yaml, text, n);
        else if (!json_items_feed(items, text, (gsize)n, error))
            return FALSE;
    }
    if (n < 0 || !json_items_end(items, error))
        return FALSE;
    if (first == '\0')
        return dump_fail(self, 1, "the file is empty", error);
    return yaml->len == 0 || read_yaml(self, yaml, error);
}

static gboolean
read_into(Dump *dump, const char *path, gboolean in_folder, ImportReport *report, GError **error)
{
    g_autoptr(PackedFile) file = packed_file_open(path, error);
    DumpReading self = {.file = path, .report = report, .dump = dump, .in_folder = in_folder};

    if (file == NULL)
        return FALSE;
    self.bare = g_ptr_array_new_with_free_func(unref_json);
    self.bare_lines = g_array_new(FALSE, FALSE, sizeof(unsigned));
    gboolean is_good = dump_read_text(&self, file, error);
    if (is_good && self.bare->len > 0)
        is_good = dump_fail(&self, g_array_index(self.bare_lines, unsigned, 0),
                            "has no kind: not an object of Kubernetes", error);
    g_ptr_array_unref(self.bare);
    g_array_unref(self.bare_lines);
    return is_good;
}

/* ---- Folders ---- */

static gboolean
may_have_objects(const char *name)
{
    static const char *const packed[] = {".gz", ".xz", ".zst"};
    static const char *const endings[] = {".json", ".yaml", ".yml"};
    g_autofree char *plain = g_strdup(name);

    for (unsigned i = 0; i < G_N_ELEMENTS(packed); i++)
        if (g_str_has_suffix(plain, packed[i]))
            plain[strlen(plain) - strlen(packed[i])] = '\0';
    for (unsigned i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(plain, endings[i]))
            return TRUE;
    return FALSE;
}

/* Links are not followed: a folder may lead to itself. */
static gboolean
list_files(const char *folder, GPtrArray *paths, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, error);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_SYMLINK))
            continue;
        if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
            if (!list_files(path, paths, error))
                return FALSE;
        } else if (may_have_objects(name))
            g_ptr_array_add(paths, g_steal_pointer(&path));
    }
    return dir != NULL;
}

/* Such folders have files of other kinds, too, logs and settings. A tool that writes one takes some
 * time, in which a few objects change. */
static gboolean
read_folder(Dump *dump, const char *folder, ImportReport *report, GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

    if (!list_files(folder, paths, error))
        return FALSE;
    g_ptr_array_sort(paths, strings_compare);
    for (unsigned i = 0; i < paths->len; i++) {
        GError *fault = NULL;
        if (read_into(dump, paths->pdata[i], TRUE, report, &fault))
            continue;
        if (!g_error_matches(fault, SIM_ERROR, SIM_ERROR_INVALID)) {
            g_propagate_error(error, fault);
            return FALSE;
        }
        g_autofree char *base = g_path_get_basename(paths->pdata[i]);
        import_report_count(report, REPORT_LEFT_OUT,
                            "Files of the folder that are no objects of Kubernetes, or damaged",
                            base);
        g_error_free(fault);
    }
    if (dump->n_changed <= dump->objects->len / 10)
        return TRUE;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                "%s: has %u of %u objects in several versions: if it holds dumps of several times, "
                "name the files instead",
                folder, dump->n_changed, dump->objects->len);
    return FALSE;
}

/* Returns: (owned): NULL with an error */
static Dump *
dump_read_file(const char *path, ImportReport *report, GError **error)
{
    Dump *dump = dump_new(path);

    if (g_file_test(path, G_FILE_TEST_IS_DIR) ? read_folder(dump, path, report, error)
                                              : read_into(dump, path, FALSE, report, error))
        return dump;
    dump_free(dump);
    return NULL;
}

/* ---- Several files ---- */

/* Namespaces do not count: they tell of the cluster, and may be in each of its parts. */
static gboolean
has_uid_of(const Dump *self, const Dump *other)
{
    for (unsigned i = 0; i < other->objects->len; i++) {
        const json_t *object = other->objects->pdata[i];
        const char *uid = dump_meta(object, "uid");
        if (uid != NULL && strcmp(dump_kind(object), "Namespace") != 0 &&
            g_hash_table_contains(self->by_uid, uid))
            return TRUE;
    }
    return FALSE;
}

static gboolean
has_more_than_nodes(const Dump *self)
{
    return self->objects->len > g_hash_table_size(self->nodes);
}

/* Whether both have nodes, and none in common. A file of single nodes may be part of a dump. */
static gboolean
has_other_nodes(const Dump *self, const Dump *other)
{
    GHashTableIter iter;
    void *name, *uid;

    if (g_hash_table_size(other->nodes) == 0 || g_hash_table_size(self->nodes) == 0 ||
        !has_more_than_nodes(self) || !has_more_than_nodes(other))
        return FALSE;
    g_hash_table_iter_init(&iter, other->nodes); /* the answer does not depend on the order */
    while (g_hash_table_iter_next(&iter, &name, &uid))
        if (g_hash_table_contains(self->by_uid, uid))
            return FALSE;
    return TRUE;
}

static gboolean
check_same_cluster(const Dump *first, const Dump *other, GError **error)
{
    const char *why = NULL;

    if (first->cluster != NULL && other->cluster != NULL &&
        strcmp(first->cluster, other->cluster) != 0)
        why = "their Namespace kube-system has different uids";
    else if (has_other_nodes(first, other))
        why = "they have no node in common";
    if (why == NULL)
        return TRUE;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                "%s and %s are dumps of different clusters: %s",
                (const char *)first->files->pdata[0], (const char *)other->files->pdata[0], why);
    return FALSE;
}

static gboolean
check_clusters(const GPtrArray *files, GError **error)
{
    for (unsigned i = 0; i < files->len; i++)
        for (unsigned j = i + 1; j < files->len; j++)
            if (!check_same_cluster(files->pdata[i], files->pdata[j], error))
                return FALSE;
    return TRUE;
}

/* @from is emptied. */
static void
merge(Dump *self, Dump *from, ImportReport *report)
{
    for (unsigned i = 0; i < from->objects->len; i++) {
        json_t *object = from->objects->pdata[i];
        if (dump_find(self, dump_kind(object), dump_meta(object, "namespace"),
                      dump_meta(object, "name")) == NULL)
            dump_add(self, json_incref(object));
        else if (strcmp(dump_kind(object), "Namespace") != 0)
            import_report_count(report, REPORT_LEFT_OUT,
                                "A second object of one name, with another uid",
                                dump_meta(object, "name"));
    }
    g_ptr_array_add(self->files, g_strdup(from->files->pdata[0]));
    self->newest = MAX(self->newest, from->newest); /* TIME_UNSET is the smallest */
    self->resource_version = MAX(self->resource_version, from->resource_version);
    if (self->cluster == NULL)
        self->cluster = g_steal_pointer(&from->cluster);
}

/* Time stamps have whole seconds; resource versions are exact. */
static int
compare_dumps(const void *a, const void *b)
{
    const Dump *first = *(Dump *const *)a, *second = *(Dump *const *)b;

    return ORDER(first->newest, second->newest)
               ?: ORDER(first->resource_version, second->resource_version);
}

/* Takes each file to the oldest dump that has none of its objects. */
static GPtrArray *
join_parts(GPtrArray *files, ImportReport *report)
{
    GPtrArray *dumps = g_ptr_array_new_with_free_func(dump_free);

    g_ptr_array_sort(files, compare_dumps); /* stable */
    for (unsigned i = 0; i < files->len; i++) {
        unsigned j = 0;
        while (j < dumps->len && has_uid_of(dumps->pdata[j], files->pdata[i]))
            j++;
        if (j < dumps->len)
            merge(dumps->pdata[j], files->pdata[i], report);
        else
            g_ptr_array_add(dumps, g_steal_pointer(&files->pdata[i]));
    }
    g_ptr_array_sort(dumps, compare_dumps);
    return dumps;
}

static void
dump_free_or_nothing(void *data)
{
    if (data != NULL)
        dump_free(data);
}

GPtrArray *
dumps_read(const char *const *files, ImportReport *report, GError **error)
{
    g_autoptr(GPtrArray) read = g_ptr_array_new_with_free_func(dump_free_or_nothing);

    for (; *files != NULL; files++) {
        Dump *dump = dump_read_file(*files, report, error);
        if (dump == NULL)
            return NULL;
        g_ptr_array_add(read, dump);
    }
    return check_clusters(read, error) ? join_parts(read, report) : NULL;
}
