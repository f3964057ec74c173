/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DELETE of an object or a collection, POST of an eviction and of a binding. Options come from the
 * body and from the query, with preconditions of uid and version. A collection is answered when the
 * last object is; one that is gone already is fine. The custom resources of a definition go before
 * it. Versions from before the garbage collector orphan by default (API-55). */
#include <string.h>

#include "made/made.h"
#include "models/api/fields.h"
#include "write-private.h"

typedef struct {
    int32_t grace_s; /* -1: the object's */
    ApiPropagation propagation;
    const char *uid, *version; /* preconditions; NULL: none. In the body */
    gboolean is_dry;
} DeleteOptions;

static gboolean
parse_propagation(const char *word, ApiPropagation *propagation)
{
    static const char *const words[] = {
        [API_BACKGROUND] = "Background", [API_FOREGROUND] = "Foreground", [API_ORPHAN] = "Orphan"};

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i], word) == 0) {
            *propagation = (ApiPropagation)i;
            return TRUE;
        }
    return FALSE;
}

static json_t *
invalid_options(const char *fault)
{
    g_autoptr(GPtrArray) faults = g_ptr_array_new();

    g_ptr_array_add(faults, (char *)fault);
    return status_invalid(&(StatusSubject){"meta.k8s.io", "deleteoptions", "DeleteOptions", NULL},
                          faults);
}

/* API-55: versions whose objects leave what they own if nobody says otherwise, as they did before
 * there was a garbage collector. */
static gboolean
orphans_by_default(const Target *target)
{
    static const char *const rows[][2] = {
        {"batch/v1",      "Job"                  },
        {"batch/v1beta1", "CronJob"              },
        {"v1",            "ReplicationController"}
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i][0], target->api_version) == 0 &&
            strcmp(rows[i][1], target->row->kind) == 0)
            return TRUE;
    return FALSE;
}

/* Reads options of the body and of the query. Returns: (owned): a refusal */
static json_t *
read_options(const Target *target, const json_t *body, DeleteOptions *options)
{
    const Exchange *exchange = target->exchange;
    const json_t *orphan = json_path_get(body, "orphanDependents");
    const json_t *grace = json_path_get(body, "gracePeriodSeconds");
    const char *query_grace = exchange_query(exchange, "gracePeriodSeconds");
    const char *policy = json_path_string(body, "propagationPolicy");
    gint64 seconds = grace != NULL         ? json_integer_value(grace)
                     : query_grace != NULL ? g_ascii_strtoll(query_grace, NULL, 10)
                                           : -1;

    if (body != NULL && !json_is_object(body))
        return status_format(400, "the body of the request must be an object");
    *options = (DeleteOptions){.grace_s = -1,
                               .uid = json_path_string(body, "preconditions.uid"),
                               .version = json_path_string(body, "preconditions.resourceVersion")};
    options->is_dry = g_strcmp0(exchange_query(exchange, "dryRun"), "All") == 0 ||
                      json_array_size(json_path_get(body, "dryRun")) > 0;
    if (grace != NULL || query_grace != NULL)
        options->grace_s = seconds < 0 ? 1 : (int32_t)MIN(seconds, G_MAXINT32); /* WL-91 */
    if (policy == NULL)
        policy = exchange_query(exchange, "propagationPolicy");
    if (orphan != NULL ? json_is_true(orphan) : orphans_by_default(target))
        options->propagation = API_ORPHAN;
    if (policy != NULL && !parse_propagation(policy, &options->propagation)) {
        g_autofree char *fault = g_strdup_printf(
            "propagationPolicy: Unsupported value: \"%s\": supported values: \"Foreground\", "
            "\"Background\", \"Orphan\", \"nil\"",
            policy);
        return invalid_options(fault);
    }
    return NULL;
}

/* Returns: (owned): a refusal */
static json_t *
check_preconditions(const Target *target, const json_t *live, const DeleteOptions *options)
{
    const char *uid = json_path_string(live, "metadata.uid"),
               *version = json_path_string(live, "metadata.resourceVersion");
    StatusSubject subject = target_subject(target);
    g_autofree char *why = NULL;

    if (options->uid != NULL && g_strcmp0(options->uid, uid) != 0)
        why =
            g_strdup_printf("Precondition failed: UID in precondition: %s, UID in object meta: %s",
                            options->uid, uid);
    else if (options->version != NULL && g_strcmp0(options->version, version) != 0)
        why = g_strdup_printf("Precondition failed: ResourceVersion in precondition: %s, "
                              "ResourceVersion in object meta: %s",
                              options->version, version);
    return why == NULL ? NULL : status_conflict(&subject, why);
}

/* Kinds whose deletion answers with the object even if it is gone (ReturnDeletedObject). */
static gboolean
returns_object(const ApiResource *row)
{
    static const char *const kinds[] = {"Pod",         "PersistentVolumeClaim", "PersistentVolume",
                                        "PodTemplate", "ServiceAccount",        "ResourceQuota"};

    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i], row->kind) == 0)
            return TRUE;
    return FALSE;
}

static void
answer_deleted(const Target *target, json_t *last /* taken */, gboolean is_gone)
{
    StatusSubject subject = target_subject(target);

    if (is_gone && !returns_object(target->row)) {
        target_answer(target, 200,
                      status_deleted(&subject, json_path_string(last, "metadata.uid")));
        json_decref(last);
        return;
    }
    target_set_version(target, last);
    target_answer(target, 200, last);
}

static void
deletion_answered(void *data, const ApiResponse *response)
{
    Write *self = data;
    const Target *target = self->target;
    StatusSubject subject = target_subject(target);

    if (response->code != API_OK) {
        write_refuse(self, status_of_refusal(&subject, response->code, response->message));
        return;
    }
    const Object *left = self->is_dry ? response->object
                                      : store_object(target->kind, target->namespace, target->name);
    gboolean is_gone =
        left == NULL || (self->is_dry && left->finalizers == NULL && left->deletion_grace_s <= 0);
    json_t *last = response->object != NULL ? store_print(target->kind, response->object)
                                            : json_incref(self->body);
    answer_deleted(target, last, is_gone);
    write_free(self);
}

/* The custom resources of a definition go before it. */
static gboolean
see_custom(void *data, const char *place, json_t *object)
{
    (void)place;
    g_ptr_array_add(data, object);
    return TRUE;
}

static void
delete_custom(const Target *target, const json_t *definition)
{
    const char *group = json_path_string(definition, "spec.group"),
               *plural = json_path_string(definition, "spec.names.plural");
    const json_t *versions = json_path_get(definition, "spec.versions");
    const char *version = json_path_string(json_array_get(versions, 0), "name");
    g_autoptr(GPtrArray) objects = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    const ApiResource *row;

    if (group == NULL || plural == NULL || version == NULL)
        return;
    StoreKind *kind = serve_store_kind(target->api->store, group, version, plural, &row);
    if (kind == NULL)
        return;
    store_list(kind, NULL, NULL, see_custom, objects);
    for (unsigned i = 0; i < objects->len; i++) {
        const char *namespace = json_path_string(objects->pdata[i], "metadata.namespace");
        SessionTarget to = {.kind = kind->kind,
                            .namespace = namespace != NULL ? namespace : "",
                            .name = json_path_string(objects->pdata[i], "metadata.name"),
                            .group = group,
                            .api_version = json_path_string(objects->pdata[i], "apiVersion"),
                            .kind_name = row->kind};
        serve_session_delete(target->api->options.session, &to, -1, API_BACKGROUND, NULL, NULL);
    }
}

/* The same as a dry run. @live: (taken) */
static void
try_deletion(Write *self, const DeleteOptions *options)
{
    const Target *target = self->target;
    const Object *object = store_object(target->kind, target->namespace, target->name);
    ApiRequest request = {.verb = API_DELETE,
                          .key = (ObjectKey *)object->key,
                          .grace_s = options->grace_s,
                          .propagation = options->propagation};
    ApiResponse response;

    api_server_try(cluster_api(run_cluster(target->api->options.run)), &request, &response);
    deletion_answered(self, &response);
    object_unref(response.object);
}

/* @live: (taken) */
static void
delete_object(const Target *target, json_t *live, const DeleteOptions *options)
{
    Write *self = write_new(target);
    SessionTarget to = write_session_target(self);

    self->body = live;
    if (options->is_dry) {
        try_deletion(self, options);
        return;
    }
    if (strcmp(target->row->resource, "customresourcedefinitions") == 0)
        delete_custom(target, live);
    serve_session_delete(target->api->options.session, &to, options->grace_s, options->propagation,
                         deletion_answered, self);
}

void
write_delete(const Target *target)
{
    DeleteOptions options;
    json_t *refusal = NULL;
    StatusSubject subject = target_subject(target);

    serve_clock_next_instant(target->api->options.clock);
    json_auto_t *body = body_read(target->exchange, NULL, &refusal);
    json_t *live = store_get(target->kind, target->namespace, target->name);
    if (refusal == NULL)
        refusal = write_check_options(target, "DeleteOptions");
    if (refusal == NULL)
        refusal = read_options(target, body, &options);
    if (refusal == NULL && live == NULL)
        refusal = status_not_found(&subject);
    if (refusal == NULL)
        refusal = check_preconditions(target, live, &options);
    if (refusal == NULL)
        refusal = classes_deletion_fault(target);
    if (refusal == NULL)
        refusal = write_check_stored(target);
    if (refusal != NULL) {
        json_decref(live);
        target_refuse(target, refusal);
        return;
    }
    delete_object(target, live, &options);
}

/* ---- Collections ---- */

/* A deletion of several objects: answered when the last one is. */
typedef struct {
    Target *target;
    json_t *items;
    unsigned n_open;
} Collection;

static void
collection_release(Collection *self)
{
    if (--self->n_open > 0)
        return;
    g_autofree char *kind = g_strdup_printf("%sList", self->target->row->kind);
    target_send(self->target, 200,
                json_pack("{s:s, s:s, s:{}, s:o}", "kind", kind, "apiVersion",
                          self->target->api_version, "metadata", "items", self->items));
    target_free(self->target);
    g_free(self);
}

static void
one_deleted(void *data, const ApiResponse *response)
{
    (void)response; /* 404 is fine */
    collection_release(data);
}

typedef struct {
    const Selection *selection;
    json_t *items;
} Collected;

static gboolean
see_collected(void *data, const char *place, json_t *object)
{
    Collected *self = data;

    (void)place;
    if (selection_takes(self->selection, object))
        json_array_append(self->items, object);
    json_decref(object);
    return TRUE;
}

static void
delete_each(Collection *self, const DeleteOptions *options)
{
    const Target *target = self->target;
    ServeSession *session = target->api->options.session;
    json_t *object;
    gsize i;

    json_array_foreach(self->items, i, object) {
        const char *namespace = json_path_string(object, "metadata.namespace"),
                   *name = json_path_string(object, "metadata.name");
        SessionTarget to =
            write_session_target_of(target, namespace != NULL ? namespace : "", name);
        serve_clock_next_instant(target->api->options.clock);
        if (store_object(target->kind, to.namespace, name) == NULL)
            continue;
        self->n_open++;
        serve_session_delete(session, &to, options->grace_s, options->propagation, one_deleted,
                             self);
    }
}

void
write_delete_collection(const Target *target)
{
    Selection selection;
    DeleteOptions options;
    json_t *refusal = NULL;
    json_auto_t *body = body_read(target->exchange, NULL, &refusal);

    if (refusal == NULL)
        refusal = write_check_options(target, "DeleteOptions");
    if (refusal == NULL)
        refusal = read_options(target, body, &options);
    if (refusal == NULL)
        refusal = selection_read(target, &selection);
    if (refusal == NULL && target->kind->has_events)
        refusal = status_format(405, "Events of a simulated cluster are written by its components");
    if (refusal != NULL) {
        target_refuse(target, refusal);
        return;
    }
    Collection *self = g_new0(Collection, 1);
    *self = (Collection){target_copy(target), json_array(), 1};
    Collected collected = {&selection, self->items};
    store_list(target->kind, *target->namespace == '\0' ? NULL : target->namespace, NULL,
               see_collected, &collected);
    if (!options.is_dry)
        delete_each(self, &options);
    collection_release(self);
}

/* ---- Evictions and bindings ---- */

static json_t *
created_status(void)
{
    return json_pack("{s:s, s:s, s:{}, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "metadata",
                     "status", "Success", "code", 201);
}

static void
done_answered(void *data, const ApiResponse *response)
{
    Write *self = data;
    StatusSubject subject = target_subject(self->target);

    if (response->code == API_CONFLICT && self->target->qualified != NULL)
        subject.resource = self->target->qualified;
    if (response->code != API_OK) {
        write_refuse(self, status_of_refusal(&subject, response->code, response->message));
        return;
    }
    target_answer(self->target, 201, created_status());
    write_free(self);
}

/* Returns: (owned): the write of a pod's subresource; NULL: it is answered */
static Write *
begin_on_pod(const Target *target)
{
    StatusSubject subject = target_subject(target);
    json_t *refusal = NULL;

    serve_clock_next_instant(target->api->options.clock);
    json_t *body = body_read(target->exchange, NULL, &refusal);
    if (refusal == NULL && store_object(target->kind, target->namespace, target->name) == NULL)
        refusal = status_not_found(&subject);
    if (refusal != NULL) {
        json_decref(body);
        target_refuse(target, refusal);
        return NULL;
    }
    Write *self = write_new(target);
    self->body = body;
    return self;
}

void
write_eviction(const Target *target)
{
    Write *self = begin_on_pod(target);
    DeleteOptions options;

    if (self == NULL)
        return;
    const json_t *given = json_path_get(self->body, "deleteOptions");
    json_t *refusal = read_options(target, given, &options);
    if (refusal != NULL) {
        write_refuse(self, refusal);
        return;
    }
    if (options.is_dry) {
        target_answer(target, 201, created_status());
        write_free(self);
        return;
    }
    SessionTarget to = write_session_target(self);
    serve_session_evict(target->api->options.session, &to, options.grace_s, done_answered, self);
}

/* BindingREST.Create() of pkg/registry/core/pod/storage: faults of the target are passed on as they
 * are, without a reason. Returns: (owned): NULL: there is none */
static json_t *
binding_fault(const Target *pod, const json_t *body)
{
    const char *name = json_path_string(body, "metadata.name"),
               *kind = json_path_string(body, "target.kind"),
               *node = json_path_string(body, "target.name");
    gboolean is_other = kind != NULL && *kind != '\0' && strcmp(kind, "Node") != 0,
             is_nameless = node == NULL || *node == '\0';
    g_autofree char *why = NULL;

    if (g_strcmp0(name, pod->name) != 0)
        return status_format(400, "name in URL does not match name in Binding object");
    if (!is_other)
        return is_nameless ? status_format(500, "target.name: Required value") : NULL;
    why = g_strdup_printf("target.kind: Unsupported value: \"%s\": supported values: \"Node\", "
                          "\"<empty>\"",
                          kind);
    return status_format(500, is_nameless ? "[%s, target.name: Required value]" : "%s", why);
}

void
write_binding(const Target *target)
{
    g_autoptr(Target) pod = target_copy(target);
    const ApiResource *row;

    if (target->name == NULL) { /* POST .../bindings */
        json_t *refusal = NULL;
        json_auto_t *body = body_read(target->exchange, NULL, &refusal);
        const char *name = json_path_string(body, "metadata.name");
        if (refusal == NULL && name == NULL)
            refusal = status_format(400, "name in URL does not match name in Binding object");
        if (refusal != NULL) {
            target_refuse(target, refusal);
            return;
        }
        pod->name = g_strdup(name);
        pod->kind = serve_store_kind(target->api->store, "", "v1", "pods", &row);
        pod->row = row;
    }
    pod->qualified = g_strdup("pods/binding");
    Write *self = begin_on_pod(pod);
    if (self == NULL)
        return;
    const char *node = json_path_string(self->body, "target.name");
    json_t *fault = binding_fault(pod, self->body);
    if (fault != NULL) {
        write_refuse(self, fault);
        return;
    }
    SessionTarget to = write_session_target(self);
    serve_session_bind(target->api->options.session, &to, node, done_answered, self);
}
