/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "store.h"
#include "update-checks.h"

/* What admission and the verbs check: validation.c, quota.c, priority.c, eviction.c. */

/* Whether the immutable fields of @after are the same as in @before (API-131..136). Returns:
 * API_OK, or API_INVALID with words in @message */
ApiCode validation_update(const Object *before,
                          const Object *after,
                          const UpdateGates *gates,
                          GString *message);

/* Whether quotas look at such a write: creations, and of claims and services updates, but not of a
 * sub-resource. */
gboolean quota_handles(ObjectKind kind, ApiVerb verb);

/**
 * quota_admit:
 * @before: (nullable): %NULL: @after is created; else it replaces @before, not by a status write
 * Asks the ResourceQuotas of the namespace (API-150..159). If they all agree, charges their status
 * at once (API-153). Returns: API_OK, or API_FORBIDDEN with words in @message
 */
ApiCode quota_admit(ApiStore *self, const Object *before, const Object *after, GString *message);
/* Returns: (nullable) (borrowed): a quota of the namespace that bounds objects of the kind */
const ObjectKey *quota_find(const ApiStore *self, const char *namespace, ObjectKind kind);

/* The name comes after admission if the server makes it: the words have its beginning. Returns:
 * (owned) */
char *admission_name_in_words(const Pod *pod);

/**
 * priority_admit:
 * @priority: (out): what the pod's PriorityClass makes of it (API-190)
 * Returns: API_OK, or API_FORBIDDEN with words in @message
 */
ApiCode
priority_admit(const ApiStore *self, const Pod *pod, PodPriority *priority, GString *message);
/* API-191: whether it may be, or become, the default. Returns: API_OK, or API_FORBIDDEN with words
 * in @message */
ApiCode priority_check_class(const ApiStore *self, const PriorityClass *class, GString *message);

/* Whether the budgets let @pod go (WL-113); counts it in its budget. Returns: API_OK, or a refusal
 * with words in @message */
ApiCode eviction_admit(ApiStore *self, const Pod *pod, GString *message);
/* Sets the condition DisruptionTarget. Returns: whether it is new */
gboolean eviction_tell(const ApiStore *self, Pod *pod);

/**
 * namespace_admit:
 * API-56: gives a new Namespace its finalizer and its label. A namespace that is being deleted
 * takes no new object; one that was deleted is not found. Returns: API_OK, API_FORBIDDEN or
 * API_NOT_FOUND with words in @message
 */
ApiCode namespace_admit(const ApiStore *self, Object *object, GString *message);
/* Returns: whether a new object may be in the namespace @name: %API_OK, %API_FORBIDDEN while it is
 * being deleted, %API_NOT_FOUND afterwards */
ApiCode namespace_takes(const ApiStore *self, const char *name);
/* Makes a namespace that objects are in though nobody has created it, as every cluster has
 * "default". @is_old: it is as old as the cluster, and makes no new resource version. Does nothing
 * if there is, or was, one of that name. */
void namespace_imply(ApiStore *self, const char *name, gboolean is_old);
/* Makes what controllers make in each namespace, and is missing there: the ServiceAccount "default"
 * and the ConfigMap "kube-root-ca.crt". */
void namespace_furnish(ApiStore *self, const char *name);
/* Whether it is one of the namespaces that may not be deleted. */
gboolean namespace_is_immortal(const Object *object);
