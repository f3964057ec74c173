/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/schema.h"
#include "run/world/run.h"

/* Adds to an object of the run what a real cluster's objects have and no model reads: defaults of
 * the API server and its admission, addresses, parts of statuses that kubelets and controllers
 * write. Nothing that is there changes, and objects of a dump stay as they came.
 * @json: as snapshot_object() prints @object */
void complete_object(const Run *run, const Object *object, json_t *json);
/* Only the null times of templates, which also a dry run tells. */
void complete_templates(json_t *json);
