/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POST of an object; also server-side apply of one that is not there. The order of the checks is
 * that of the API server: the body, its kind, its fields, its types, its name, then admission in
 * the run. A made-up name is drawn from a stream of the run. A Node without more is a machine like
 * those of the scenario's first group, and its kubelet reports its resources. */
#include <string.h>

#include "complete.h"
#include "models/api/fields.h"
#include "models/api/patch/patch.h"
#include "models/api/schema/strict-fields.h"
#include "versions.h"
#include "write-private.h"

/* The characters of names that are made up (k8s.io/apimachinery's pkg/util/rand). */
static void
append_random(ServeApi *api, GString *name)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t bits = sim_hash_combine(
        run_options(api->options.run)->seed ^ sim_hash_string("serve/names"), ++api->n_names);

    for (unsigned i = 0; i < 5; i++, bits /= strlen(letters))
        g_string_append_c(name, letters[bits % strlen(letters)]);
}

/* Returns: (owned): a refusal */
static json_t *
complete_name(Write *self, json_t *metadata)
{
    Target *target = self->target;
    const char *name = json_path_string(metadata, "name"),
               *prefix = json_path_string(metadata, "generateName");
    g_autoptr(GPtrArray) faults = g_ptr_array_new();
    StatusSubject subject = target_subject(target);

    if (name == NULL && prefix != NULL && *prefix != '\0') {
        g_autoptr(GString) made = g_string_new(prefix);
        append_random(target->api, made);
        json_object_set_new(metadata, "name", json_string(made->str));
        name = json_path_string(metadata, "name");
    }
    if (target->name != NULL && name != NULL && strcmp(target->name, name) != 0)
        return status_format(400,
                             "the name of the object (%s) does not match the name on the URL (%s)",
                             name, target->name);
    if (name == NULL || *name == '\0') {
        g_ptr_array_add(faults,
                        (char *)"metadata.name: Required value: name or generateName is required");
        return status_invalid(&subject, faults);
    }
    const char *fault = strcmp(target->row->group, "rbac.authorization.k8s.io") == 0
                            ? NULL /* system:node is a name */
                            : name_fault_subdomain(name);
    if (fault != NULL) {
        g_autofree char *text =
            g_strdup_printf("metadata.name: Invalid value: \"%s\": %s", name, fault);
        g_ptr_array_add(faults, text);
        subject.name = name;
        return status_invalid(&subject, faults);
    }
    if (target->name == NULL)
        target->name = g_strdup(name);
    return NULL;
}

void
write_drop_server_fields(json_t *metadata)
{
    static const char *const names[] = {
        "uid",      "creationTimestamp", "resourceVersion",           "generation",
        "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        json_object_del(metadata, names[i]);
}

/* @object: (taken): nothing stores it */
static void
try_creation(Write *self, json_t *object)
{
    const Target *target = self->target;
    g_autoptr(Objects) objects = objects_new_aside(run_objects(target->api->options.run));
    g_autoptr(Object) read = write_read_object(target, object, objects);
    ApiRequest request = {.verb = API_CREATE, .key = (ObjectKey *)read->key, .object = read};
    ApiResponse response;

    json_decref(object);
    api_server_try(cluster_api(run_cluster(target->api->options.run)), &request, &response);
    write_answered(self, &response);
    object_unref(response.object);
}

void
write_store_new(Write *self, json_t *object)
{
    const Target *target = self->target;
    StatusSubject subject = target_subject(target);
    json_t *fault = write_check_object(target, object, NULL);

    if (fault == NULL && target->row->namespaced &&
        !serve_store_has_namespace(target->api->store, target->namespace))
        fault =
            status_not_found(&(StatusSubject){"", "namespaces", "Namespace", target->namespace});
    json_auto_t *there = store_get(target->kind, target->namespace, target->name);
    if (fault == NULL && there != NULL &&
        (self->is_dry || store_object(target->kind, target->namespace, target->name) == NULL))
        fault = status_exists(&subject);
    if (fault != NULL) {
        json_decref(object);
        write_refuse(self, fault);
        return;
    }
    self->is_new = TRUE;
    versions_to_stored(target->row, object);
    object = write_take_managers(self, object);
    if (self->is_dry)
        try_creation(self, object);
    else
        serve_session_create(target->api->options.session, object, write_answered, self);
}

/* The words of the store behind the API server, which have no reason. */
static json_t *
check_version(const json_t *metadata)
{
    const char *version = json_path_string(metadata, "resourceVersion");

    if (version == NULL || *version == '\0' || strcmp(version, "0") == 0)
        return NULL;
    json_t *status =
        status_format(500, "resourceVersion should not be set on objects to be created");
    json_object_del(status, "reason");
    return status;
}

/* Reads and checks the body of a new object. Returns: (owned): a refusal */
static json_t *
read_new(Write *self)
{
    const Target *target = self->target;
    json_t *refusal = write_check_options(target, "CreateOptions");
    json_t *body =
        refusal != NULL ? NULL : body_read(target->exchange, target->row->kind, &refusal);

    self->body = body;
    if (body == NULL || (refusal = write_check_kind(target, body)) != NULL)
        return refusal;
    g_autofree char *strict = body_check_fields(target, body, TRUE);
    if (strict != NULL)
        return write_undecodable(target, 400, strict);
    g_autofree char *type_fault = write_type_error(target, body);
    if (type_fault != NULL)
        return write_undecodable(target, 400, type_fault);
    json_t *metadata = write_metadata_of(body, &refusal);
    if (metadata == NULL)
        return refusal;
    refusal = check_version(metadata);
    if (refusal != NULL)
        return refusal;
    strict_drop_nulls(target->type, body);
    write_drop_server_fields(metadata);
    write_drop_status(target, body);
    refusal = write_check_namespace(target, metadata);
    return refusal != NULL ? refusal : complete_name(self, metadata);
}

/* A bare Node becomes a machine like the machines of the scenario's first group: its kubelet
 * reports what it has. */
static void
complete_node(const Write *self)
{
    const Scenario *scenario = run_scenario(self->target->api->options.run);
    const ScenarioNodes none = {0};

    if (strcmp(self->target->row->kind, "Node") != 0 ||
        json_object_get(self->body, "status") != NULL)
        return;
    json_auto_t *node = scenario_node_manifest(scenario->n_nodes > 0 ? &scenario->nodes[0] : &none,
                                               self->target->name, NULL);
    json_t *labels = json_object_get(json_object_get(self->body, "metadata"), "labels");
    json_object_set(self->body, "status", json_object_get(node, "status"));
    if (labels == NULL)
        json_object_set(json_object_get(self->body, "metadata"), "labels",
                        json_object_get(json_object_get(node, "metadata"), "labels"));
    else
        json_object_update_missing(labels,
                                   json_object_get(json_object_get(node, "metadata"), "labels"));
}

void
write_create(const Target *target)
{
    if (target->row->namespaced && *target->namespace == '\0') {
        target_refuse(target, status_method_not_allowed());
        return;
    }
    serve_clock_next_instant(target->api->options.clock);
    Write *self = write_new(target);
    json_t *refusal = read_new(self);
    if (refusal != NULL) {
        write_refuse(self, refusal);
        return;
    }
    complete_node(self);
    write_set_defaults(target, self->body);
    write_store_new(self,
                    managed_fields_update(NULL, self->body, self->target->type, &self->writer));
}
