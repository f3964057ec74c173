/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Discovery: groups, versions and resources, in the old documents and in the aggregated one. All
 * are made of one list, of the resources that the release serves and those of definitions, so they
 * cannot contradict each other. The hash of a storage version is that of a real server, since
 * kubectl compares it. */
#include "discovery-private.h"

#include <string.h>

/* Subresources that differ from status: a kind of their own, or other verbs. */
static const Subresource subresources[] = {
    {"attach",      "",                      "",   "%sAttachOptions",      "create get"                    },
    {"binding",     "",                      "",   "Binding",              "create"                        },
    {"eviction",    "policy",                "v1", "Eviction",             "create"                        },
    {"exec",        "",                      "",   "%sExecOptions",        "create get"                    },
    {"finalize",    "",                      "",   "%s",                   "update"                        },
    {"log",         "",                      "",   "%s",                   "get"                           },
    {"portforward", "",                      "",   "%sPortForwardOptions", "create get"                    },
    {"proxy",       "",                      "",   "%sProxyOptions",       "create delete get patch update"},
    {"scale",       "autoscaling",           "v1", "Scale",                "get patch update"              },
    {"token",       "authentication.k8s.io", "v1", "TokenRequest",         "create"                        },
 /* approval, ephemeralcontainers, status */
    {NULL,          "",                      "",   "%s",                   "get patch update"              },
};

static void
group_version_clear(void *self)
{
    g_ptr_array_unref(((GroupVersion *)self)->resources);
}

void
served_clear(Served *self)
{
    g_array_unref(self->versions);
}
static void
served_add(Served *self, const ApiResource *resource)
{
    for (unsigned i = 0; i < self->versions->len; i++) {
        GroupVersion *version = &g_array_index(self->versions, GroupVersion, i);

        if (strcmp(version->group, resource->group) == 0 &&
            strcmp(version->version, resource->version) == 0) {
            g_ptr_array_add(version->resources, (void *)resource);
            return;
        }
    }
    GroupVersion version = {resource->group, resource->version, g_ptr_array_new()};
    g_ptr_array_add(version.resources, (void *)resource);
    g_array_append_val(self->versions, version);
}

void
served_init(Served *self, const ServedApis *served)
{
    const ApiResource *row, *custom;

    self->versions = g_array_new(FALSE, FALSE, sizeof(GroupVersion));
    g_array_set_clear_func(self->versions, group_version_clear);
    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++)
        if (api_resource_is_in(row, served->minor) &&
            (served->serves == NULL ? served->minor == 0 || !row->is_off
                                    : served->serves(row, served->data)))
            served_add(self, row);
    for (unsigned i = 0; (custom = custom_resource(served->custom, i)) != NULL; i++)
        served_add(self, custom);
}

/* Returns: (owned): a list of the words of @text (nullable) */
static json_t *
word_list(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", " ", -1);
    json_t *list = json_array();

    for (char **word = words; *word != NULL; word++)
        json_array_append_new(list, json_string(*word));
    return list;
}

const Subresource *
subresource_find(const char *name)
{
    const Subresource *row = subresources;

    while (row->name != NULL && strcmp(row->name, name) != 0)
        row++;
    return row;
}

char *
subresource_kind(const Subresource *row, const ApiResource *resource)
{
    g_auto(GStrv) parts = g_strsplit(row->kind, "%s", 2);

    return parts[1] == NULL ? g_strdup(row->kind) : g_strconcat(resource->kind, parts[1], NULL);
}

/* Real servers leave group and version empty if they equal the document's; for custom resources
 * they are always written. */
static json_t *
response_kind(const ApiResource *resource, const char *group, const char *version, const char *kind)
{
    gboolean is_custom = strcmp(resource->verbs, CUSTOM_VERBS) == 0 && *group == '\0';

    return json_pack("{s:s, s:s, s:s}", "group", is_custom ? resource->group : group, "version",
                     is_custom ? resource->version : version, "kind", kind);
}

/* Returns: (owned): an APIResourceDiscovery */
static json_t *
resource_discovery(const ApiResource *resource, int minor)
{
    g_autofree char *singular = g_ascii_strdown(resource->kind, -1);
    g_auto(GStrv) names = api_resource_subresources(resource, minor);
    json_t *described =
        json_pack("{s:s, s:o, s:s, s:s, s:o}", "resource", resource->resource, "responseKind",
                  response_kind(resource, "", "", resource->kind), "scope",
                  resource->namespaced ? "Namespaced" : "Cluster", "singularResource", singular,
                  "verbs", word_list(resource->verbs));

    if (resource->short_names != NULL)
        json_object_set_new(described, "shortNames", word_list(resource->short_names));
    if (resource->categories != NULL)
        json_object_set_new(described, "categories", word_list(resource->categories));
    if (names[0] == NULL)
        return described;
    json_t *list = json_array();
    for (char **name = names; *name != NULL; name++) {
        const Subresource *row = subresource_find(*name);
        g_autofree char *kind = subresource_kind(row, resource);

        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o}", "subresource", *name, "responseKind",
                                        response_kind(resource, row->group, row->version, kind),
                                        "verbs", word_list(row->verbs)));
    }
    json_object_set_new(described, "subresources", list);
    return described;
}

/* Returns: (owned): an APIVersionDiscovery */
static json_t *
version_discovery(const GroupVersion *version, int minor)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < version->resources->len; i++)
        json_array_append_new(list,
                              resource_discovery(g_ptr_array_index(version->resources, i), minor));
    return json_pack("{s:s, s:o, s:s}", "version", version->version, "resources", list, "freshness",
                     "Current");
}

json_t *
discovery_aggregated(const ServedApis *served, gboolean legacy)
{
    g_auto(Served) all = {0};
    json_t *items = json_array(), *versions = NULL;
    const char *group = NULL;

    served_init(&all, served);
    for (unsigned i = 0; i < all.versions->len; i++) {
        const GroupVersion *version = &g_array_index(all.versions, GroupVersion, i);

        if ((*version->group == '\0') != legacy)
            continue;
        if (g_strcmp0(group, version->group) != 0) {
            json_t *meta = json_object();
            group = version->group;
            if (*group != '\0')
                json_object_set_new(meta, "name", json_string(group));
            json_object_set_new(meta, "creationTimestamp", json_null());
            versions = json_array();
            json_array_append_new(items,
                                  json_pack("{s:o, s:o}", "metadata", meta, "versions", versions));
        }
        json_array_append_new(versions, version_discovery(version, served->minor));
    }
    return json_pack("{s:s, s:s, s:{}, s:o}", "kind", "APIGroupDiscoveryList", "apiVersion",
                     "apidiscovery.k8s.io/v2", "metadata", "items", items);
}

json_t *
discovery_api_versions(const char *server_address)
{
    return json_pack("{s:s, s:[s], s:[{s:s, s:s}]}", "kind", "APIVersions", "versions", "v1",
                     "serverAddressByClientCIDRs", "clientCIDR", "0.0.0.0/0", "serverAddress",
                     server_address);
}

/* Returns: (owned): the members of an APIGroup; NULL: nothing of @group is served */
static json_t *
group_members(const Served *all, const char *group)
{
    json_t *versions = json_array();

    for (unsigned i = 0; i < all->versions->len; i++) {
        const GroupVersion *version = &g_array_index(all->versions, GroupVersion, i);
        g_autofree char *text = g_strconcat(group, "/", version->version, NULL);

        if (strcmp(version->group, group) == 0)
            json_array_append_new(versions, json_pack("{s:s, s:s}", "groupVersion", text, "version",
                                                      version->version));
    }
    json_t *preferred = json_array_get(versions, 0);
    if (preferred == NULL || *group == '\0') {
        json_decref(versions);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:O}", "name", group, "versions", versions, "preferredVersion",
                     preferred);
}

json_t *
discovery_groups(const ServedApis *served)
{
    g_auto(Served) all = {0};
    json_t *groups = json_array();
    const char *last = "";

    served_init(&all, served);
    for (unsigned i = 0; i < all.versions->len; i++) {
        const GroupVersion *version = &g_array_index(all.versions, GroupVersion, i);

        if (strcmp(version->group, last) != 0)
            json_array_append_new(groups, group_members(&all, version->group));
        last = version->group;
    }
    return json_pack("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion", "v1", "groups",
                     groups);
}

json_t *
discovery_group(const ServedApis *served, const char *group)
{
    g_auto(Served) all = {0};

    served_init(&all, served);
    json_t *members = group_members(&all, group);
    if (members == NULL)
        return NULL;
    json_t *document = json_pack("{s:s, s:s}", "kind", "APIGroup", "apiVersion", "v1");
    json_object_update_missing(document, members);
    json_decref(members);
    return document;
}

/* The name under which etcd stores the kind: of the preferred version; Events are stored in the
 * legacy group (discovery.StorageVersionHash() in k8s.io/apiserver). Returns: (owned); NULL: it is
 * never stored */
static char *
storage_hash(const ApiResource *resource, int minor)
{
    gboolean is_event = strcmp(resource->kind, "Event") == 0;
    const char *version = resource->version;
    const ApiResource *row;
    guint8 digest[32];
    gsize length = sizeof digest;

    if (strstr(resource->verbs, "create") == NULL || strstr(resource->verbs, "list") == NULL)
        return NULL;
    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++)
        if (api_resource_is_in(row, minor) && strcmp(row->group, resource->group) == 0 &&
            strcmp(row->resource, resource->resource) == 0) {
            version = row->version;
            break;
        }
    g_autofree char *name =
        g_strdup_printf("%s/%s/%s", is_event ? "" : resource->group, version, resource->kind);
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(checksum, (const guchar *)name, -1);
    g_checksum_get_digest(checksum, digest, &length);
    return g_base64_encode(digest, 8);
}

/* Adds an APIResource, and one for each of its subresources. */
static void
add_resource(json_t *list, const ApiResource *resource, int minor)
{
    g_autofree char *singular = g_ascii_strdown(resource->kind, -1);
    g_autofree char *hash = storage_hash(resource, minor);
    g_auto(GStrv) names = api_resource_subresources(resource, minor);
    json_t *described = json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", resource->resource,
                                  "singularName", singular, "namespaced", resource->namespaced,
                                  "kind", resource->kind, "verbs", word_list(resource->verbs));

    if (resource->short_names != NULL)
        json_object_set_new(described, "shortNames", word_list(resource->short_names));
    if (resource->categories != NULL)
        json_object_set_new(described, "categories", word_list(resource->categories));
    if (hash != NULL)
        json_object_set_new(described, "storageVersionHash", json_string(hash));
    json_array_append_new(list, described);
    for (char **name = names; *name != NULL; name++) {
        const Subresource *row = subresource_find(*name);
        g_autofree char *kind = subresource_kind(row, resource);
        g_autofree char *path = g_strconcat(resource->resource, "/", *name, NULL);
        json_t *below = json_pack("{s:s, s:s, s:b}", "name", path, "singularName", "", "namespaced",
                                  resource->namespaced);

        if (*row->group != '\0') {
            json_object_set_new(below, "group", json_string(row->group));
            json_object_set_new(below, "version", json_string(row->version));
        }
        json_object_set_new(below, "kind", json_string(kind));
        json_object_set_new(below, "verbs", word_list(row->verbs));
        json_array_append_new(list, below);
    }
}

json_t *
discovery_resources(const ServedApis *served, const char *group, const char *version)
{
    g_auto(Served) all = {0};
    g_autofree char *both =
        *group == '\0' ? g_strdup(version) : g_strconcat(group, "/", version, NULL);

    served_init(&all, served);
    for (unsigned i = 0; i < all.versions->len; i++) {
        const GroupVersion *row = &g_array_index(all.versions, GroupVersion, i);

        if (strcmp(row->group, group) != 0 || strcmp(row->version, version) != 0)
            continue;
        json_t *list = json_array();
        for (unsigned j = 0; j < row->resources->len; j++)
            add_resource(list, g_ptr_array_index(row->resources, j), served->minor);
        /* The legacy group's document has no apiVersion. */
        json_t *document = json_pack("{s:s}", "kind", "APIResourceList");
        if (*group != '\0')
            json_object_set_new(document, "apiVersion", json_string("v1"));
        json_object_set_new(document, "groupVersion", json_string(both));
        json_object_set_new(document, "resources", list);
        return document;
    }
    return NULL;
}
