/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POST, PUT and PATCH. What is refused without a look at the run is refused at once. All else is a
 * request to the run's API server, which asks at its commit, when no other write can come between:
 * the body is applied to the stored version, completed, checked and stored. A dry run is the same,
 * at this instant, without storing. */
#include "write-private.h"

#include <string.h>

#include "complete.h"
#include "models/api/fields.h"
#include "models/api/patch/patch.h"
#include "models/api/schema/strict-fields.h"
#include "serve/api/apply/defaults.h"
#include "serve/api/openapi/custom.h"
#include "versions.h"

void
write_free(Write *self)
{
    if (self == NULL)
        return;
    target_free(self->target);
    json_decref(self->body);
    json_decref(self->refusal);
    json_decref(self->managers);
    g_free(self->agent);
    g_free(self->time);
    g_free(self);
}

static gboolean
is_dry_run(const Target *target)
{
    return g_strcmp0(exchange_query(target->exchange, "dryRun"), "All") == 0;
}

Write *
write_new(const Target *target)
{
    const ExchangeRequest *request = &target->exchange->request;
    const char *manager = exchange_query(target->exchange, "fieldManager");
    Write *self = g_new0(Write, 1);

    *self = (Write){.target = target_copy(target),
                    .agent = manager_of_user_agent(request->user_agent),
                    .time = serve_store_now(target->api->store),
                    .is_dry = is_dry_run(target)};
    self->writer = (FieldWriter){
        .manager = manager != NULL && *manager != '\0' ? manager : self->agent,
        .time = self->time,
        .subresource = self->target->subresource,
        .has_status = write_has_status(target->row),
    };
    return self;
}

/* Answers with a refusal. @status: (taken). Frees @self. */
void
write_refuse(Write *self, json_t *status)
{
    target_refuse(self->target, status);
    write_free(self);
}

SessionTarget
write_session_target_of(const Target *target, const char *namespace, const char *name)
{
    SessionTarget to = {.kind = target->kind->kind, .namespace = namespace, .name = name};

    if (to.kind == KIND_OTHER) {
        to.group = target->kind->group;
        to.api_version = target->api_version;
        to.kind_name = target->row->kind;
    }
    return to;
}

SessionTarget
write_session_target(const Write *self)
{
    return write_session_target_of(self->target, self->target->namespace, self->target->name);
}

void
write_set_defaults(const Target *target, json_t *object)
{
    if (target->row->custom != NULL)
        custom_set_defaults(target->type, object);
    else
        defaults_set(object, target->type);
}

/* ---- Answers ---- */

json_t *
write_take_managers(Write *self, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");

    json_decref(self->managers);
    self->managers = json_incref(json_object_get(metadata, "managedFields"));
    json_object_del(metadata, "managedFields");
    return object;
}

static void
keep_managers(Write *self, const json_t *object)
{
    store_set_managers(self->target->kind, object, g_steal_pointer(&self->managers));
}

/* What an API server has to say about an object that it took. */
static void
warn(const Target *target, const json_t *object)
{
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);

    if (target->subresource == NULL && strcmp(target->row->resource, "persistentvolumeclaims") == 0)
        claim_warnings(object, warnings);
    for (unsigned i = 0; i < warnings->len; i++)
        exchange_warn(target->exchange, warnings->pdata[i]);
}

void
write_answered(void *data, const ApiResponse *response)
{
    Write *self = data;
    const Target *target = self->target;
    StatusSubject subject = target_subject(target);

    if (self->refusal != NULL) {
        write_refuse(self, g_steal_pointer(&self->refusal));
        return;
    }
    if (response->code != API_OK) {
        write_refuse(self, status_of_refusal(&subject, response->code, response->message));
        return;
    }
    json_t *object = response->object == NULL
                         ? store_get(target->kind, target->namespace, target->name)
                         : store_print(target->kind, response->object);
    if (object == NULL) {
        write_refuse(self, status_not_found(&subject));
        return;
    }
    warn(target, object);
    if (self->managers != NULL) {
        json_object_set(json_object_get(object, "metadata"), "managedFields", self->managers);
        if (!self->is_dry)
            keep_managers(self, object);
    }
    if (target_is(target, "scale")) {
        json_t *scale = scale_of(target->row, object);
        json_decref(object);
        object = scale;
    } else {
        target_set_version(target, object);
    }
    target_answer(target, self->is_new ? 201 : 200, object);
    write_free(self);
}

char *
write_type_error(const Target *target, const json_t *object)
{
    return target->row->custom != NULL ? NULL : strict_type_error(target->type, object);
}

/* ---- Update and patch ---- */

static const struct {
    const char *type;
    WriteWay way;
} ways[] = {
    {"application/json-patch+json",            WAY_JSON_PATCH     },
    {"application/merge-patch+json",           WAY_MERGE_PATCH    },
    {"application/strategic-merge-patch+json", WAY_STRATEGIC_PATCH},
    {"application/apply-patch+yaml",           WAY_APPLY          },
};

/* Returns: (owned): a refusal */
static json_t *
find_way(Write *self)
{
    const ExchangeRequest *request = &self->target->exchange->request;
    const char *manager = exchange_query(self->target->exchange, "fieldManager");

    self->way = WAY_PUT;
    if (strcmp(request->method, "PUT") == 0)
        return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (strcmp(ways[i].type, request->content_type) != 0)
            continue;
        self->way = ways[i].way;
        g_autofree char *fault =
            manager_fault(manager != NULL ? manager : "", self->way == WAY_APPLY);
        g_autoptr(GPtrArray) faults = g_ptr_array_new();
        if (fault == NULL)
            return NULL;
        g_ptr_array_add(faults, fault);
        return status_invalid(&(StatusSubject){"meta.k8s.io", "patchoptions", "PatchOptions", NULL},
                              faults);
    }
    return status_format(415,
                         "the body of the request was in an unknown format - accepted media types "
                         "include: application/json-patch+json, application/merge-patch+json, "
                         "application/strategic-merge-patch+json, application/apply-patch+yaml");
}

static json_t *
refuse_conflicts(const GPtrArray *conflicts, const char *message)
{
    json_t *status = status_format(409, "%s", message);

    for (unsigned i = 0; i < conflicts->len; i++) {
        const FieldConflict *conflict = conflicts->pdata[i];
        status_add_cause(status, "FieldManagerConflict", conflict->message, conflict->field);
    }
    return status;
}

/* Returns: (owned): what the body makes of @live (nullable: apply creates); NULL with self->refusal
 */
static json_t *
apply_body(Write *self, const json_t *live)
{
    const Target *target = self->target;
    gboolean force = exchange_flag(target->exchange, "force");
    g_autoptr(GPtrArray) conflicts = NULL;
    g_autoptr(GError) error = NULL;
    json_t *after = NULL;

    switch (self->way) {
    case WAY_PUT:
        return json_deep_copy(self->body);
    case WAY_JSON_PATCH:
        after = json_patch_apply(live, self->body, &error);
        break;
    case WAY_MERGE_PATCH:
        after = merge_patch_apply(live, self->body, &error);
        break;
    case WAY_STRATEGIC_PATCH:
        if (write_is_custom(target))
            self->refusal = status_format(
                415, "the body of the request was in an unknown format - accepted media types "
                     "include: application/json-patch+json, application/merge-patch+json, "
                     "application/apply-patch+yaml");
        else
            after = strategic_merge_apply(live, self->body, target->type, &error);
        break;
    case WAY_APPLY:
        after = managed_fields_apply(live, self->body, target->type, &self->writer, force,
                                     &conflicts, &error);
        break;
    }
    if (after == NULL && self->refusal == NULL)
        self->refusal = error->code == 409 && conflicts != NULL
                            ? refuse_conflicts(conflicts, error->message)
                            : status_format((unsigned)error->code, "%s", error->message);
    return after;
}

/* Copies a member of @from, or its absence. */
static void
copy_member(json_t *to, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);

    if (value != NULL)
        json_object_set_new(to, name, json_deep_copy(value));
    else
        json_object_del(to, name);
}

/* dropNonResizeUpdatesForContainers(). A list with other names stays as it is, and is refused. */
static void
keep_containers(json_t *after, const json_t *live, const char *list)
{
    json_auto_t *kept = json_deep_copy(json_object_get(live, list));
    const json_t *given = json_object_get(after, list);
    json_t *container;
    gsize i;

    if (json_array_size(kept) != json_array_size(given))
        return;
    json_array_foreach(kept, i, container) {
        const json_t *from = json_array_get(given, i);
        if (g_strcmp0(json_path_string(container, "name"), json_path_string(from, "name")) != 0)
            return;
        copy_member(container, from, "resources");
        copy_member(container, from, "resizePolicy");
    }
    if (kept != NULL)
        json_object_set(after, list, kept);
}

/* dropNonResizeUpdates(), dropNonEphemeralContainerUpdates(): what a subresource of a pod writes of
 * its spec. */
static void
keep_pod_spec(const Target *target, const json_t *live, json_t *kept, const json_t *after)
{
    json_t *spec = json_object_get(kept, "spec");
    const json_t *given = json_object_get(after, "spec");

    if (target_is(target, "ephemeralcontainers")) {
        copy_member(spec, given, "ephemeralContainers");
        return;
    }
    copy_member(spec, given, "containers");
    copy_member(spec, given, "initContainers");
    keep_containers(spec, json_object_get(live, "spec"), "containers");
    keep_containers(spec, json_object_get(live, "spec"), "initContainers");
}

/* A write of the object leaves its status alone, a write of a subresource all but that and
 * metadata. Returns: (owned): @after (taken) */
static json_t *
keep_other_part(const Write *self, const json_t *live, json_t *after)
{
    const Target *target = self->target;
    json_t *kept;

    if (target->subresource == NULL) {
        if (write_has_status(target->row))
            copy_member(after, live, "status");
        return after;
    }
    kept = json_deep_copy(live);
    copy_member(kept, after, "metadata");
    if (target_is(target, "status") || target_is(target, "approval"))
        copy_member(kept, after, "status");
    else if (target_is(target, "finalize"))
        copy_member(kept, after, "spec");
    else
        keep_pod_spec(target, live, kept, after);
    json_decref(after);
    return kept;
}

/* Returns: (owned): a refusal */
static json_t *
check_metadata(const Write *self, const json_t *live, json_t *after)
{
    static const char *const kept[] = {"name",
                                       "namespace",
                                       "uid",
                                       "creationTimestamp",
                                       "deletionTimestamp",
                                       "deletionGracePeriodSeconds",
                                       "generation",
                                       "generateName"};
    const json_t *stored = json_object_get(live, "metadata");
    json_t *refusal = NULL, *metadata = write_metadata_of(after, &refusal);
    const char *version = json_path_string(metadata, "resourceVersion"),
               *name = json_path_string(metadata, "name"), *uid = json_path_string(metadata, "uid");
    StatusSubject subject = target_subject(self->target);

    if (metadata == NULL)
        return refusal;
    if (name != NULL && strcmp(name, self->target->name) != 0)
        return status_format(400,
                             "the name of the object (%s) does not match the name on the URL (%s)",
                             name, self->target->name);
    if (version != NULL && *version != '\0' &&
        g_strcmp0(version, json_path_string(stored, "resourceVersion")) != 0)
        return status_conflict(&subject, "the object has been modified; please apply your changes "
                                         "to the latest version and try again");
    if (uid != NULL && *uid != '\0' && g_strcmp0(uid, json_path_string(stored, "uid")) != 0) {
        g_autofree char *why =
            g_strdup_printf("Precondition failed: UID in precondition: %s, UID in object meta: %s",
                            uid, json_path_string(stored, "uid"));
        return status_conflict(&subject, why);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
        copy_member(metadata, stored, kept[i]);
    copy_member(metadata, stored, "resourceVersion");
    return write_check_namespace(self->target, metadata);
}

/* Returns: (owned): a refusal: fields that the type does not have, in an object that a patch made
 */
static json_t *
check_patched_fields(const Write *self, json_t *after)
{
    const Target *target = self->target;
    g_autofree char *strict = self->way == WAY_PUT ? NULL : body_check_fields(target, after, FALSE);
    StatusSubject subject = target_subject(target);
    g_autoptr(GPtrArray) faults = g_ptr_array_new();

    if (strict != NULL) {
        g_autofree char *fault = g_strdup_printf("patch: Invalid value: %s", strict);
        g_ptr_array_add(faults, fault);
        return status_invalid(&subject, faults);
    }
    g_autofree char *type_fault = write_type_error(target, after);
    return type_fault == NULL ? NULL : status_format(400, "%s", type_fault);
}

/* Returns: (owned): the object as it is to be stored, with its managedFields; NULL with
 * self->refusal. @live: with its own */
static json_t *
compute(Write *self, const json_t *live)
{
    json_t *after = apply_body(self, live);

    if (after == NULL)
        return NULL;
    after = keep_other_part(self, live, after);
    self->refusal = check_metadata(self, live, after);
    if (self->refusal == NULL)
        self->refusal = check_patched_fields(self, after);
    if (self->refusal != NULL) {
        json_decref(after);
        return NULL;
    }
    strict_drop_nulls(self->target->type, after);
    target_set_version(self->target, after);
    write_set_defaults(self->target, after);
    if (self->way == WAY_APPLY)
        return after;
    json_t *managed = managed_fields_update(live, after, self->target->type, &self->writer);
    json_decref(after);
    return managed;
}

/* @path: "spec.replicas". @value: (taken) */
static void
set_at(json_t *object, const char *path, json_t *value)
{
    g_auto(GStrv) names = g_strsplit(path, ".", -1);
    unsigned i = 0;

    for (; names[i] != NULL && names[i + 1] != NULL; i++) {
        if (!json_is_object(json_object_get(object, names[i])))
            json_object_set_new(object, names[i], json_object());
        object = json_object_get(object, names[i]);
    }
    json_object_set_new(object, names[i] != NULL ? names[i] : "", value);
}

/* Returns: (owned): the whole object after a write of its Scale; NULL with self->refusal */
static json_t *
compute_scale(Write *self, const json_t *live)
{
    json_auto_t *scale = scale_of(self->target->row, live), *after = apply_body(self, scale);
    const char *version = json_path_string(after, "metadata.resourceVersion");
    StatusSubject subject = target_subject(self->target);
    const json_t *replicas = json_path_get(after, "spec.replicas");

    if (after == NULL)
        return NULL;
    if (version != NULL && *version != '\0' &&
        strcmp(version, json_path_string(scale, "metadata.resourceVersion")) != 0) {
        self->refusal = status_conflict(&subject, "the object has been modified; please apply your "
                                                  "changes to the latest version and try again");
        return NULL;
    }
    if (replicas != NULL && (!json_is_integer(replicas) || json_integer_value(replicas) < 0)) {
        self->refusal = status_format(400, "spec.replicas must be a whole number from 0 on");
        return NULL;
    }
    json_t *object = json_deep_copy(live);
    set_at(object, scale_path(self->target->row, "specReplicasPath"),
           json_integer(replicas == NULL ? 0 : json_integer_value(replicas)));
    json_t *managed = managed_fields_update(live, object, self->target->type, &self->writer);
    json_decref(object);
    return managed;
}

static json_t *
compute_any(Write *self, const json_t *live)
{
    return target_is(self->target, "scale") ? compute_scale(self, live) : compute(self, live);
}

/* At the instant of the commit. */
static json_t *
edit(void *data, const Object *object)
{
    Write *self = data;
    const Target *target = self->target;
    json_auto_t *live = store_print(target->kind, object);

    if (versions_differ(target->row))
        target_set_version(target, live);
    json_t *after = compute_any(self, live);
    if (after == NULL)
        return NULL;
    versions_to_stored(target->row, live);
    versions_to_stored(target->row, after);
    self->refusal = write_check_object(target, after, live);
    if (self->refusal != NULL) {
        json_decref(after);
        return NULL;
    }
    json_auto_t *bare = write_take_managers(self, after);
    json_auto_t *before = json_deep_copy(live);
    json_object_del(json_object_get(before, "metadata"), "managedFields");
    patch_drop_nulls(before); /* @after has none: a template's creationTimestamp is no change */
    copy_member(bare, before, "apiVersion"); /* another one may have been asked for */
    return merge_patch_make(before, bare);
}

static gboolean
take_document(Object *object, const void *document)
{
    object_take_document(object, document);
    return TRUE;
}

/* The same as a dry run. */
static void
try_change(Write *self)
{
    const Target *target = self->target;
    const Object *object = store_object(target->kind, target->namespace, target->name);
    json_auto_t *patch = edit(self, object);
    g_autoptr(Objects) objects = objects_new_aside(run_objects(target->api->options.run));
    const Run *run = target->api->options.run;
    ApiResponse response = {.code = API_OK};

    if (patch != NULL) {
        json_auto_t *document = object_to_json_at(object, sim_start(run_sim(run)));
        json_merge_patch(document, patch);
        g_autoptr(Object) after = write_read_object(target, document, objects);
        ApiRequest request = {.verb = target_is(target, "status") ? API_PATCH_STATUS : API_PATCH,
                              .key = (ObjectKey *)object->key,
                              .edit = take_document,
                              .arg = after};
        api_server_try(cluster_api(run_cluster(run)), &request, &response);
        write_answered(self, &response);
        object_unref(response.object);
        return;
    }
    write_answered(self, &response);
}

/* Server-side apply of an object that is not there. */
static void
apply_new(Write *self)
{
    json_t *metadata, *refusal = NULL;

    if (self->target->subresource != NULL) {
        StatusSubject subject = target_subject(self->target);
        write_refuse(self, status_not_found(&subject));
        return;
    }
    metadata = write_metadata_of(self->body, &refusal);
    if (metadata != NULL) {
        write_drop_server_fields(metadata);
        write_drop_status(self->target, self->body);
        json_object_set_new(metadata, "name", json_string(self->target->name));
        refusal = write_check_namespace(self->target, metadata);
    }
    json_t *object = refusal != NULL ? NULL : apply_body(self, NULL);
    if (object == NULL) {
        write_refuse(self, refusal != NULL ? refusal : g_steal_pointer(&self->refusal));
        return;
    }
    target_set_version(self->target, object);
    write_set_defaults(self->target, object);
    write_store_new(self, object);
}

/* Returns: (owned): a refusal */
static json_t *
read_change(Write *self)
{
    const Target *target = self->target;
    json_t *refusal = find_way(self);

    if (refusal == NULL)
        refusal =
            write_check_options(target, self->way == WAY_PUT ? "UpdateOptions" : "PatchOptions");
    if (refusal != NULL)
        return refusal;
    self->body = body_read(target->exchange, target->row->kind, &refusal);
    if (self->body == NULL)
        return refusal;
    if (self->way == WAY_JSON_PATCH || target_is(target, "scale"))
        return NULL;
    refusal = body_fault(target, self->body);
    if (refusal != NULL)
        return refusal;
    if (self->way != WAY_PUT && self->way != WAY_APPLY)
        return NULL;
    refusal = write_check_kind(target, self->body);
    if (refusal != NULL)
        return refusal;
    g_autofree char *strict = body_check_fields(target, self->body, self->way == WAY_PUT);
    if (strict == NULL)
        return NULL;
    return self->way == WAY_APPLY
               ? status_format(500, "failed to create typed patch object: %s", strict)
               : write_undecodable(target, 400, strict);
}

void
write_change(const Target *target)
{
    serve_clock_next_instant(target->api->options.clock);
    Write *self = write_new(target);
    StatusSubject subject = target_subject(target);
    json_t *refusal = read_change(self);
    json_auto_t *live =
        refusal != NULL ? NULL : store_get(target->kind, target->namespace, target->name);

    if (refusal == NULL && live != NULL)
        refusal = write_check_stored(target);
    if (refusal == NULL && live == NULL && self->way != WAY_APPLY)
        refusal = status_not_found(&subject);
    if (refusal != NULL) {
        write_refuse(self, refusal);
        return;
    }
    SessionTarget to = write_session_target(self);
    if (live == NULL)
        apply_new(self);
    else if (self->is_dry)
        try_change(self);
    else
        serve_session_patch(target->api->options.session, &to,
                            target_is(target, "status") ? SUBRESOURCE_STATUS : SUBRESOURCE_NONE,
                            edit, write_answered, self);
}
