/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "schema.h"

/* What the decoder of Kubernetes says of a body (sigs.k8s.io/json): fields that the type does not
 * have, fields given twice (fieldValidation=Strict and Warn), and values of another type. */

/**
 * strict_fields: of the text of a body
 * @type: (nullable): its type; %NULL: no field is unknown
 * @minor: of the release of Kubernetes 1.x that reads it; 0: any
 * @text: JSON; the function stops where it is none
 * @faults: gets texts (owned), in the order of the body and at most 100:
 *   "unknown field \"spec.volumes[0].nmae\"", "duplicate field \"spec.replicas\""
 */
void
strict_fields(const SchemaType *type, int minor, const char *text, gsize length, GPtrArray *faults);
/* The same of an object that a patch made: it has unknown fields only. */
void
strict_unknown_fields(const SchemaType *type, int minor, const json_t *object, GPtrArray *faults);
/* Returns: (owned): the message of fieldValidation=Strict: "strict decoding error: unknown field
 * \"spec.x\", duplicate field \"spec.y\"". With Warn each fault is a warning of its own */
char *strict_error(const GPtrArray *faults);
/* Removes the fields that @type does not have, as the API server does before it stores an object.
 */
void strict_prune(const SchemaType *type, int minor, json_t *object);
/* Removes members that are null, as Go's decoder takes them for absent; in a map of texts they are
 * "". @type: (nullable) */
void strict_drop_nulls(const SchemaType *type, json_t *value);
/* Returns: (owned): the first value of another type than its field's: "json: cannot unmarshal
 * string into Go struct field DeploymentSpec.spec.replicas of type int32"; %NULL: all fit */
char *strict_type_error(const SchemaType *type, const json_t *object);
/* Returns: the word of Go's decoder for the type of @value: "object", "array", "string", "number"
 */
const char *strict_json_word(const json_t *value);
/* Returns: the place of the first byte that is no base64, as Go's decoder counts; -1: none */
long strict_base64_fault(const char *text);
