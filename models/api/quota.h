/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "claim.h"
#include "release.h"

/* Bounds for the claims of a namespace: ResourceQuota and LimitRange. */

/* An amount of a resource: "requests.storage" 10Gi. */
typedef struct {
    const char *name; /* interned */
    int64_t value;    /* in whole units, rounded up */
    const char *text; /* canonical, from a file; interned; NULL: printed from @value */
    gboolean decimal; /* @value is printed as 10G instead of 10Gi */
} ResourceAmount;

/* Immutable, shared, sorted by name; NULL: none. */
typedef struct {
    RefCount refs;
    unsigned n_items;
    ResourceAmount items[];
} ResourceAmounts;

/* @items: sorted by name. Returns: (owned): NULL if there are none */
ResourceAmounts *resource_amounts_new(const ResourceAmount *items, unsigned n_items);
ResourceAmounts *resource_amounts_ref(const ResourceAmounts *self);
void resource_amounts_unref(ResourceAmounts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResourceAmounts, resource_amounts_unref)
/* Whether both have the same names and values, in any format. */
gboolean resource_amounts_equal(const ResourceAmounts *a, const ResourceAmounts *b);
/* Returns: (borrowed): NULL: not there. @name need not be interned */
const ResourceAmount *resource_amounts_find(const ResourceAmounts *self, const char *name);
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

/* Whether claims count for the resource (API-150). */
gboolean quota_resource_is_of_claims(const char *resource);
/* Returns: how much of @resource one claim uses (API-151), with name and text unset */
ResourceAmount claim_usage(const Claim *claim, const char *resource);
/* Returns: (owned): an amount of 0 for each item of @hard; free with g_free() */
ResourceAmount *claim_usages_new(const ResourceAmounts *hard);
/* Adds the use of @claim (nullable) to @used; with @sign -1 subtracts it. */
void
claim_usages_add(ResourceAmount *used, const ResourceAmounts *hard, const Claim *claim, int sign);
/* Returns: (owned): status.used, with the use by claims taken from @counted (for each item of
 * spec.hard), otherwise as it is */
ResourceAmounts *resource_quota_used(const ResourceQuota *self, const ResourceAmount *counted);
/* Whether status.hard has a resource of claims. */
gboolean resource_quota_names_claims(const ResourceQuota *self);
/* API-156: whether claims can match the scope VolumeAttributesClass. */
gboolean quota_knows_class_scope(const Release *release);
/* Whether the claim is in all scopes of the quota. @claim: NULL: whether some claim may be */
gboolean
resource_quota_covers(const ResourceQuota *self, const Claim *claim, gboolean knows_class_scope);

typedef struct {
    Object meta;
    int64_t min_bytes, max_bytes; /* of a claim's request; 0: none */
} LimitRange;

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

extern const KindClass resource_quota_kind, limit_range_kind;
