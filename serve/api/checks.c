/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of bodies, the same for every write: kind and version, namespace, options, and the checks
 * of the object itself. The kind's table and rules come first; where they find a fault, the run's
 * parser is silent. Faults that the stored object has, too, are not told: a server of another time
 * let them in. */
#include <string.h>

#include "models/api/checks/checks.h"
#include "models/api/fields.h"
#include "models/apiserver/update-checks.h"
#include "serve/api/openapi/custom.h"
#include "write-private.h"

gboolean
write_has_status(const ApiResource *row)
{
    g_auto(GStrv) words = g_strsplit(row->subresources != NULL ? row->subresources : "", " ", -1);

    return g_strv_contains((const char *const *)words, "status");
}

json_t *
write_check_stored(const Target *target)
{
    if (store_object(target->kind, target->namespace, target->name) != NULL)
        return NULL;
    return status_format(405,
                         "this %s was written by a component of the simulated cluster, and stays "
                         "as it is",
                         target->row->kind);
}

gboolean
write_is_custom(const Target *target)
{
    return target->row->custom != NULL || target->type == NULL || target->type->custom;
}

/* The faults of one object. Those that its stored form has too are not told: a server of another
 * time let them in. */
typedef struct {
    GPtrArray *faults; /* of char * */
    GHashTable *old;   /* of char *: of the stored form */
} FaultNotes;

static void
checks_note_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    const FaultNotes *notes = parser->data;

    (void)where;
    (void)hint;
    if (notes->old == NULL || !g_hash_table_contains(notes->old, message))
        g_ptr_array_add(notes->faults, g_strdup(message));
}

static void
note_old_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    const FaultNotes *notes = parser->data;

    (void)where;
    (void)hint;
    g_hash_table_add(notes->old, g_strdup(message));
}

/* The kind's table and rules first: where they find a fault, the run's parser is silent. Returns:
 * (owned): what the parser makes of it */
static Object *
check_with(const Target *target, ApiParser *parser, const json_t *object, const json_t *old)
{
    const ApiCheckOptions options = {old, target->subresource};

    parser->told = NULL;
    api_check_object(parser, object, &options);
    if (old != NULL && target_is(target, "status") &&
        strcmp(target->row->kind, "PersistentVolumeClaim") == 0)
        check_claim_status_update(old, object, ((FaultNotes *)parser->data)->faults); /* API-184 */
    Object *parsed = api_parser_object(parser, object);
    g_clear_pointer(&parser->told, g_hash_table_unref);
    return parsed;
}

static ApiParser
parser_for(const Target *target, Objects *objects, GString *path, FaultNotes *notes)
{
    const Run *run = target->api->options.run;

    return (ApiParser){.objects = objects,
                       .report = checks_note_fault,
                       .data = notes,
                       .path = path,
                       .takes_others = TRUE,
                       .minor = run_scenario(run)->minor_version,
                       .migrates = cluster_release(run_cluster(run)),
                       .start = sim_start(run_sim(run))};
}

json_t *
write_check_object(const Target *target, const json_t *object, const json_t *old)
{
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(Objects) objects = objects_new_aside(run_objects(target->api->options.run));
    g_autoptr(GString) path = g_string_new(NULL);
    FaultNotes notes = {faults, known};
    ApiParser parser = parser_for(target, objects, path, &notes);
    StatusSubject subject = target_subject(target);

    parser.report = note_old_fault;
    if (old != NULL)
        object_unref(check_with(target, &parser, old, NULL));
    parser.report = checks_note_fault;
    object_unref(check_with(target, &parser, object, old));
    if (target->row->custom != NULL)
        custom_check(json_path_get(target->row->custom, "schema.openAPIV3Schema"), object, "",
                     faults);
    subject.name = json_path_string(object, "metadata.name");
    return faults->len > 0 ? status_invalid(&subject, faults) : NULL;
}

Object *
write_read_object(const Target *target, const json_t *object, Objects *objects)
{
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) path = g_string_new(NULL);
    FaultNotes notes = {faults, NULL};
    ApiParser parser = parser_for(target, objects, path, &notes);

    return api_parser_object(&parser, object);
}

json_t *
write_check_options(const Target *target, const char *kind)
{
    static const char *const modes[] = {"", "Ignore", "Strict", "Warn", NULL};
    const char *dry = exchange_query(target->exchange, "dryRun"),
               *mode = exchange_query(target->exchange, "fieldValidation");
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

    if (dry != NULL && *dry != '\0' && strcmp(dry, "All") != 0)
        g_ptr_array_add(faults, g_strdup_printf("dryRun: Unsupported value: []string{\"%s\"}: "
                                                "supported values: \"All\"",
                                                dry));
    if (mode != NULL && !g_strv_contains(modes, mode))
        g_ptr_array_add(faults,
                        g_strdup_printf("fieldValidation: Unsupported value: \"%s\": supported "
                                        "values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
                                        mode));
    return faults->len == 0
               ? NULL
               : status_invalid(&(StatusSubject){"meta.k8s.io", "options", kind, NULL}, faults);
}

json_t *
write_check_kind(const Target *target, json_t *body)
{
    const char *kind = json_path_string(body, "kind"),
               *version = json_path_string(body, "apiVersion");

    json_t *fault = body_fault(target, body);

    if (fault != NULL)
        return fault;
    if (kind != NULL && *kind != '\0' && strcmp(kind, target->row->kind) != 0)
        return status_format(400,
                             "%s in version \"%s\" cannot be handled as a %s: the body is a %s",
                             kind, target->row->version, target->row->kind, kind);
    if (version != NULL && *version != '\0' && strcmp(version, target->api_version) != 0)
        return status_format(400,
                             "the API version in the data (%s) does not match the expected API "
                             "version (%s)",
                             version, target->api_version);
    target_set_version(target, body);
    return NULL;
}

json_t *
write_metadata_of(json_t *body, json_t **refusal)
{
    json_t *metadata = json_object_get(body, "metadata");

    if (metadata == NULL || json_is_null(metadata)) {
        metadata = json_object();
        json_object_set_new(body, "metadata", metadata);
    }
    if (json_is_object(metadata))
        return metadata;
    *refusal = status_format(400, "metadata must be an object");
    return NULL;
}

json_t *
write_check_namespace(const Target *target, json_t *metadata)
{
    const char *namespace = json_path_string(metadata, "namespace");

    if (!target->row->namespaced) {
        json_object_del(metadata, "namespace");
        return NULL;
    }
    if (namespace != NULL && *namespace != '\0' && strcmp(namespace, target->namespace) != 0)
        return status_format(400, "the namespace of the provided object does not match the "
                                  "namespace sent on the request");
    json_object_set_new(metadata, "namespace", json_string(target->namespace));
    return NULL;
}

json_t *
write_undecodable(const Target *target, unsigned code, const char *fault)
{
    return status_format(code, "%s in version \"%s\" cannot be handled as a %s: %s",
                         target->row->kind, target->row->version, target->row->kind, fault);
}

void
write_drop_status(const Target *target, json_t *object)
{
    if (write_has_status(target->row) && strcmp(target->row->kind, "Node") != 0)
        json_object_del(object, "status");
}
