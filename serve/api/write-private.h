/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api-private.h"
#include "serve/api/apply/managed-fields.h"

/* Shared by create.c, write.c, checks.c and delete.c. */

typedef enum {
    WAY_PUT,
    WAY_JSON_PATCH,
    WAY_MERGE_PATCH,
    WAY_STRATEGIC_PATCH,
    WAY_APPLY,
} WriteWay;

/* A write under way. */
typedef struct {
    Target *target; /* (owned) */
    json_t *body;   /* (owned) */
    WriteWay way;
    FieldWriter writer;
    char *agent, *time; /* (owned): of the writer */
    gboolean is_dry, is_new;
    json_t *refusal;  /* (owned): of the commit */
    json_t *managers; /* (owned): managedFields to keep with the object */
} Write;

/* Returns: (owned) */
Write *write_new(const Target *target);
void write_free(Write *self);
/* Answers with a refusal, and frees @self. @status: (taken) */
void write_refuse(Write *self, json_t *status);
SessionTarget write_session_target(const Write *self);
/* ... of another object of the request's resource. Strings are borrowed. */
SessionTarget
write_session_target_of(const Target *target, const char *namespace, const char *name);
/* Answers with the object that the run stores, or would store; frees @data, a Write. */
void write_answered(void *data, const ApiResponse *response);

void write_set_defaults(const Target *target, json_t *object);
/* Takes managedFields out of @object (taken), and keeps them aside. Returns: (owned): the rest */
json_t *write_take_managers(Write *self, json_t *object);
/* Returns: (owned): what the decoder says of values of other types than their fields'; custom
 * resources are checked by their schema */
char *write_type_error(const Target *target, const json_t *object);

/* create.c */
/* Drops what a client may not give. */
void write_drop_server_fields(json_t *metadata);
/* Stores a new object, or refuses it. @object: (taken): complete, with its managedFields */
void write_store_new(Write *self, json_t *object);

/* checks.c. Each of type json_t returns (owned): a refusal; NULL: all is well */
gboolean write_has_status(const ApiResource *row);
/* Components' Events and kubelets' Leases are no objects: they stay as they are. */
json_t *write_check_stored(const Target *target);
/* Whether it is a custom resource, with or without a schema. */
gboolean write_is_custom(const Target *target);
/* Reads @object as the run will. Its strings and keys are of no run, because a write that is
 * refused must leave no trace in this one. @old: (nullable): what it replaces */
json_t *write_check_object(const Target *target, const json_t *object, const json_t *old);
/* The same for a dry run, after that check. @objects: (borrowed): of its strings and key. Returns:
 * (owned) */
Object *write_read_object(const Target *target, const json_t *object, Objects *objects);
/* Of the query: dryRun, fieldValidation. @kind: "CreateOptions" */
json_t *write_check_options(const Target *target, const char *kind);
/* The body must be of the kind that the path names; what it does not say is filled in. */
json_t *write_check_kind(const Target *target, json_t *body);
/* Returns: (borrowed): the body's metadata; made if there is none; NULL with @refusal */
json_t *write_metadata_of(json_t *body, json_t **refusal);
json_t *write_check_namespace(const Target *target, json_t *metadata);
/* The words of the decoder. */
json_t *write_undecodable(const Target *target, unsigned code, const char *fault);
/* A new object has no status, but for nodes, which tell their own. */
void write_drop_status(const Target *target, json_t *object);
