/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "discovery.h"

/* The resources of CustomResourceDefinitions, and the types that their schemas make: how lists and
 * maps merge (x-kubernetes-list-type and its like), which fields there are, defaults. */

/* @definitions: (taken): a list of CustomResourceDefinitions. Returns: (owned): their served
 * versions, in the order of groups and names */
CustomResources *custom_resources_new(json_t *definitions);
/* Whoever keeps a resource or a type of it keeps a reference: a changed definition makes others. */
CustomResources *custom_resources_ref(const CustomResources *self);
void custom_resources_unref(CustomResources *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CustomResources, custom_resources_unref)
/* Returns: (borrowed): the @n-th; %NULL: the end */
const ApiResource *custom_resource(const CustomResources *self, unsigned n);

/* What the API server fills in: names, and a status that tells that the resource is served.
 * @now: "2026-01-01T00:00:00Z" */
void custom_complete_definition(json_t *definition, const char *now);

/* Fills in the defaults of the schema. @type: (nullable) */
void custom_set_defaults(const SchemaType *type, json_t *object);

/* custom-faults.c: adds to @faults (owned texts) what @schema says against @value at @path ("": the
 * object): "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1" */
void custom_check(const json_t *schema, const json_t *value, const char *path, GPtrArray *faults);
