/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of metadata for all kinds: objectmeta.go of apimachinery, and the rules of each kind for
 * its name. Most names are DNS subdomains; a table has the others. Labels, annotations (256 KiB in
 * all), finalizers and owners follow; an object may have one controller. On an update of an object
 * that is being deleted no finalizer may be added. */
#include "checks-private.h"

#include <string.h>

#define ANNOTATIONS_BYTES_MAX 262144 /* 256 KiB */

/* ---- Names ---- */

/* Kinds whose names are no DNS subdomains. */
static const struct {
    const char *kind, *format;
} name_formats[] = {
    {"Service",            "dns-1035"    },
    {"Namespace",          "dns-label"   },
    {"Role",               "path-segment"},
    {"ClusterRole",        "path-segment"},
    {"RoleBinding",        "path-segment"},
    {"ClusterRoleBinding", "path-segment"},
};

static void
check_name(Check *check, const json_t *metadata)
{
    const char *kind = json_path_text(check->object, "kind");
    const json_t *name = json_path_get(metadata, "name");
    const char *format = "dns-subdomain";

    if (name != NULL && !json_is_string(name))
        return;                                      /* the parser tells */
    if (*json_path_text(metadata, "name") == '\0') { /* the caller makes it of generateName */
        check_required(check, "metadata.name", "name or generateName is required");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(name_formats); i++)
        if (strcmp(name_formats[i].kind, kind) == 0)
            format = name_formats[i].format;
    check_format(check, name, "metadata.name", format);
}

/* ---- Labels, annotations ---- */

/* @value: (nullable) */
static void
check_key(Check *check, const json_t *value, const char *key, const char *path, gboolean any_case)
{
    g_autofree char *lower = g_ascii_strdown(key, -1);
    const char *fault = name_fault_qualified(any_case ? lower : key);

    if (fault != NULL)
        check_fault(check, value, path, "Invalid value: \"%s\": %s", key, fault);
}

void
check_labels(Check *check, const json_t *labels, const char *path)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)labels, key, value) {
        check_key(check, value, key, path, FALSE);
        check_format(check, value, path, "label-value");
    }
}

static void
check_annotations(Check *check, const json_t *annotations, const char *path)
{
    const char *key;
    json_t *value;
    size_t n_bytes = 0;

    json_object_foreach((json_t *)annotations, key, value) {
        check_key(check, value, key, path, TRUE);
        n_bytes += strlen(key) + json_string_length(value);
    }
    if (n_bytes > ANNOTATIONS_BYTES_MAX)
        check_fault(check, annotations, path,
                    check->minor >= 32 ? "Too long: may not be more than %d bytes"
                                       : "Too long: must have at most %d bytes",
                    ANNOTATIONS_BYTES_MAX);
}

void
check_template_metadata(Check *check, const json_t *metadata)
{
    unsigned n_faults = check->n_faults;

    check_labels(check, json_path_get(metadata, "labels"), "labels");
    if (check->n_faults > n_faults)
        check_silence(check, "metadata.labels");
    n_faults = check->n_faults;
    check_annotations(check, json_path_get(metadata, "annotations"), "annotations");
    if (check->n_faults > n_faults)
        check_silence(check, "metadata.annotations");
}

/* ---- Finalizers, owners ---- */

/* validateKubeFinalizerName(): the legacy group's kinds, and kinds whose validation calls the pods'
 * validation. */
static void
check_finalizers(Check *check, const json_t *finalizers)
{
    static const char *const standard[] = {"kubernetes", "orphan", "foregroundDeletion", NULL};
    gboolean orphans = FALSE, deletes = FALSE;
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)finalizers, i, item) {
        const char *name = json_string_value(item);
        g_autofree char *path = g_strdup_printf("metadata.finalizers[%zu]", i);
        if (name == NULL)
            continue;
        check_format(check, item, "metadata.finalizers", "qualified-name");
        if (check->type != NULL && strchr(name, '/') == NULL && !g_strv_contains(standard, name))
            check_invalid(check, item, path,
                          "name is neither a standard finalizer name nor is it fully qualified");
        orphans = orphans || strcmp(name, "orphan") == 0;
        deletes = deletes || strcmp(name, "foregroundDeletion") == 0;
    }
    if (orphans && deletes)
        check_invalid(check, finalizers, "metadata.finalizers",
                      "finalizer orphan and foregroundDeletion cannot be both set");
}

static void
check_owner(Check *check, const json_t *owner)
{
    static const struct {
        const char *member, *fault;
    } members[] = {
        {"apiVersion", "version must not be empty"},
        {"kind",       "must not be empty"        },
        {"name",       "must not be empty"        },
        {"uid",        "must not be empty"        },
    };

    for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
        g_autofree char *path = g_strdup_printf("metadata.ownerReferences.%s", members[i].member);
        if (*json_path_text(owner, members[i].member) == '\0')
            check_fault(check, owner, path, "Invalid value: \"\": %s", members[i].fault);
    }
    if (strcmp(json_path_text(owner, "apiVersion"), "v1") == 0 &&
        strcmp(json_path_text(owner, "kind"), "Event") == 0)
        check_invalid(check, owner, "metadata.ownerReferences",
                      "/v1, Kind=Event is disallowed from being an owner");
}

static void
check_owners(Check *check, const json_t *owners)
{
    g_autofree char *first = NULL;
    const json_t *owner;
    size_t i;

    json_array_foreach((json_t *)owners, i, owner) {
        check_owner(check, owner);
        if (!check_flag(owner, "controller"))
            continue;
        g_autofree char *name =
            g_strdup_printf("%s/%s", json_path_text(owner, "kind"), json_path_text(owner, "name"));
        if (first != NULL) {
            g_autofree char *detail = g_strdup_printf(
                "Only one reference can have Controller set to true. Found \"true\" "
                "in references for %s and %s",
                first, name);
            check_invalid(check, owners, "metadata.ownerReferences", detail);
        } else {
            first = g_steal_pointer(&name);
        }
    }
}

/* ---- Updates ---- */

/* ValidateNoNewFinalizers(). */
static void
check_new_finalizers(Check *check, const json_t *metadata)
{
    const json_t *old = json_path_get(check->old, "metadata.finalizers"),
                 *new = json_path_get(metadata, "finalizers");
    g_autoptr(GString) added = g_string_new(NULL);

    if (!check_has(check->old, "metadata.deletionTimestamp"))
        return;
    for (size_t i = 0; i < json_array_size(new); i++) {
        const char *name = json_string_value(json_array_get(new, i));
        if (name != NULL && !json_list_has(old, name))
            g_string_append_printf(added, "%s\"%s\"", added->len > 0 ? ", " : "", name);
    }
    if (added->len > 0)
        check_fault(check, new, "metadata.finalizers",
                    "Forbidden: no new finalizers can be added if the object is being deleted, "
                    "found new finalizers []string{%s}",
                    added->str);
}

static void
check_metadata_updates(Check *check, const json_t *metadata)
{
    static const char *const fixed[] = {"metadata.name", "metadata.namespace", "metadata.uid",
                                        "metadata.creationTimestamp"};

    check_new_finalizers(check, metadata);
    for (gsize i = 0; i < G_N_ELEMENTS(fixed); i++)
        check_immutable(check, fixed[i], fixed[i]);
}

void
check_metadata(Check *check)
{
    const json_t *metadata = json_path_get(check->object, "metadata");

    if (metadata != NULL && !json_is_object(metadata))
        return; /* the parser tells */
    if (metadata != NULL)
        check->place = metadata;
    check_name(check, metadata);
    check_labels(check, json_path_get(metadata, "labels"), "metadata.labels");
    check_annotations(check, json_path_get(metadata, "annotations"), "metadata.annotations");
    check_owners(check, json_path_get(metadata, "ownerReferences"));
    check_finalizers(check, json_path_get(metadata, "finalizers"));
    if (check->old != NULL)
        check_metadata_updates(check, metadata);
    check->place = check->object;
}
