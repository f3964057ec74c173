/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/claim.h"
#include "models/api/release.h"

/* Bounds for the objects of a namespace: ResourceQuota and LimitRange. */

/* An amount of a resource: "requests.storage" 10Gi. */
typedef struct {
    const char *name; /* interned */
    int64_t value;    /* in whole units, of processors in thousandths; rounded up */
    const char *text; /* canonical, from a file; interned; NULL: printed from @value */
    gboolean decimal; /* @value is printed as 10G instead of 10Gi */
} ResourceAmount;

/* Immutable, shared, sorted by name; NULL: none. */
REF_LIST(ResourceAmounts, ResourceAmount);

/* @items: sorted by name. Returns: (owned): NULL if there are none */
ResourceAmounts *resource_amounts_new(const ResourceAmount *items, unsigned n_items);
ResourceAmounts *resource_amounts_ref(const ResourceAmounts *self);
void resource_amounts_unref(ResourceAmounts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResourceAmounts, resource_amounts_unref)
/* Whether both have the same names and values, in any format. */
gboolean resource_amounts_equal(const ResourceAmounts *a, const ResourceAmounts *b);
/* Returns: (borrowed): NULL: not there. @name need not be interned */
const ResourceAmount *resource_amounts_find(const ResourceAmounts *self, const char *name);
/* Whether amounts of it are in thousandths: processors. */
gboolean resource_is_milli(const char *name);
/* Prints the amount as Kubernetes does: "10Gi". Returns: @buffer, of QUANTITY_BUFFER, or the
 * amount's own text */
const char *resource_amount_format(const ResourceAmount *self, char *buffer);

typedef struct {
    Object meta;
    ResourceAmounts *hard; /* spec.hard */
    /* status.hard: in force; the quota controller copies it from the spec */
    ResourceAmounts *status_hard;
    ResourceAmounts *used;                  /* status.used */
    LabelSelector *scopes, *scope_selector; /* a requirement's key is the scope (API-151) */
} ResourceQuota;

/* Whether objects of the kind count for the resource (API-150, API-157); of KIND_OTHER: whether
 * objects of some resource do. */
gboolean quota_resource_is_of(const char *resource, ObjectKind kind);
/* Returns: the kind whose objects count for it; %N_KINDS: none */
ObjectKind quota_resource_kind(const char *resource);
/* No pod's grace is over yet. */
#define QUOTA_ALWAYS INT64_MIN
/* Returns: how much of @resource the object uses at @now (API-151, API-157), without a text.
 * @objects: of its key; not needed for the kinds that models read */
ResourceAmount
quota_usage(const Objects *objects, const Object *object, const char *resource, SimTime now);
/* Returns: (owned): an amount of 0 for each item of @hard; free with g_free() */
ResourceAmount *quota_usages_new(const ResourceAmounts *hard);
/* Adds the use by @object (nullable) to @used; with @sign -1 subtracts it. */
void quota_usages_add(ResourceAmount *used,
                      const ResourceAmounts *hard,
                      const Objects *objects,
                      const Object *object,
                      SimTime now,
                      int sign);
/* Returns: (owned): status.used, with the use by objects taken from @counted (for each item of
 * spec.hard), otherwise as it is */
ResourceAmounts *resource_quota_used(const ResourceQuota *self, const ResourceAmount *counted);
/* Whether an amount (nullable: none) is of a resource of the kind. */
gboolean resource_amounts_name_kind(const ResourceAmounts *self, ObjectKind kind);
/* API-156: whether claims can match the scope VolumeAttributesClass. */
gboolean quota_knows_class_scope(const Release *release);
/* Whether the object is in all scopes of the quota (API-158). @object: NULL: whether some object of
 * the kind may be */
gboolean resource_quota_covers(const ResourceQuota *self,
                               ObjectKind kind,
                               const Object *object,
                               gboolean knows_class_scope);

typedef struct {
    Object meta;
    int64_t min_bytes, max_bytes; /* of a claim's request; 0: none */
} LimitRange;                     /* bounds of pods and containers are read from the manifest */

#define RESOURCE_QUOTA(object) ((ResourceQuota *)(object))
#define RESOURCE_QUOTA_CONST(object) ((const ResourceQuota *)(object))
#define LIMIT_RANGE_CONST(object) ((const LimitRange *)(object))

/* Paths of a LimitRange's bounds for claims. */
#define LIMIT_RANGE_MIN "spec.limits[PersistentVolumeClaim].min.storage"
#define LIMIT_RANGE_MAX "spec.limits[PersistentVolumeClaim].max.storage"
#define CLAIM_REQUEST "spec.resources.requests.storage"

/* The quantity @value at @path as the API prints it: in the manifest's own words if they still mean
 * the same. Returns: @buffer */
const char *
object_format_quantity(const Object *self, const char *path, int64_t value, char *buffer);
