/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "models/api/schema/schema.h"

/* What the API server fills in before it stores an object: SetDefaults_* in pkg/apis/core/v1,
 * apps/v1, batch/v1, storage/v1, rbac/v1, networking/v1, scheduling/v1 and autoscaling/v2
 * (defaults.go) of Kubernetes 1.32. Nothing that is given changes. @type: (nullable): of @object;
 * %NULL: nothing is known */
void defaults_set(json_t *object, const SchemaType *type);
