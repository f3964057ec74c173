/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/schema.h"

/* Server-side apply: which manager set which field (metadata.managedFields), and conflicts between
 * managers. The objects are complete, with apiVersion, kind and metadata; the functions change no
 * object. */

typedef struct {
    const char *manager; /* ?fieldManager=; without it manager_of_user_agent() */
    const char *time;    /* now, as RFC 3339: "2026-01-01T00:00:00Z" */
    /* The subresource that was written ("status", "scale"); NULL: the object itself */
    const char *subresource;
    /* The status subresource exists: other writes leave status alone, so they own none of its
     * fields */
    gboolean has_status;
} FieldWriter;

/* Returns: (owned): the manager of a request without fieldManager: the printable characters of the
 * user agent before its first "/" ("kubectl"), at most 128 bytes; may be "" */
char *manager_of_user_agent(const char *user_agent);
/* Returns: (static): the manager of a component's writes. @client: the name of its client, as in
 * ApiRequest: "scheduler" */
const char *manager_of_component(const char *client);
/* Returns: (owned): %NULL if a request may have @manager in fieldManager ("": none); else the fault
 * as ValidatePatchOptions() words it (422, of a kind PatchOptions.meta.k8s.io): "fieldManager:
 * Required value: is required for apply patch" */
char *manager_fault(const char *manager, gboolean is_apply);

/**
 * managed_fields_update: after a create, update or patch other than apply
 * @live: (nullable): what is stored; %NULL: a create
 * @written: what will be stored; its own managedFields are what the client sent: an empty list
 * clears them, none keeps those of @live
 * @type: (nullable): of both; %NULL: a custom resource without a schema
 * Returns: (owned): a copy of @written with its managedFields; entries that the write changed have
 * the writer's time
 */
json_t *managed_fields_update(const json_t *live,
                              const json_t *written,
                              const SchemaType *type,
                              const FieldWriter *writer);

/* A field that another manager has. */
typedef struct {
    char *field;   /* ".spec.replicas" */
    char *message; /* "conflict with \"kubectl\" using apps/v1" */
} FieldConflict;

/**
 * managed_fields_apply: application/apply-patch+yaml
 * @live: (nullable): what is stored; %NULL: apply creates the object
 * @applied: the body; it must not have managedFields
 * @force: takes fields from other managers
 * @conflicts: (out): FieldConflict, if the code of @error is 409; free with g_ptr_array_unref()
 * Returns: (owned): what to store, with managedFields; the fields that the manager no longer
 * applies are gone if nobody else has them. %NULL: conflicts (409: @error has the message of the
 * Status, and each FieldConflict is a cause FieldManagerConflict), or the body is faulty (400, 422)
 */
json_t *managed_fields_apply(const json_t *live,
                             const json_t *applied,
                             const SchemaType *type,
                             const FieldWriter *writer,
                             gboolean force,
                             GPtrArray **conflicts,
                             GError **error);
