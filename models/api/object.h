/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "sim/memory.h"
#include "sim/random.h"
#include "sim/sim-time.h"
#include "sim/strings.h"

/* Objects of the API server: typed structs with the fields that models read. A stored version of an
 * object is immutable, and shared by reference; changes are made on a copy, see object_edit(). */

/* Each kind: its ObjectKind, and its KindClass. The order is part of every result: append before
 * KIND_OTHER, which is last. */
/* clang-format off */
#define OBJECT_KINDS(X) \
    X(KIND_POD, pod_kind) \
    X(KIND_CLAIM, claim_kind) /* PersistentVolumeClaim */ \
    X(KIND_VOLUME, volume_kind) /* PersistentVolume */ \
    X(KIND_STORAGE_CLASS, storage_class_kind) \
    X(KIND_NODE, node_kind) \
    X(KIND_CSI_NODE, csi_node_kind) \
    X(KIND_CSI_DRIVER, csi_driver_kind) \
    X(KIND_ATTACHMENT, attachment_kind) /* VolumeAttachment */ \
    X(KIND_STORAGE_CAPACITY, storage_capacity_kind) /* CSIStorageCapacity */ \
    X(KIND_STATEFUL_SET, stateful_set_kind) \
    X(KIND_CONTROLLER_REVISION, controller_revision_kind) \
    X(KIND_VOLUME_SNAPSHOT, volume_snapshot_kind) \
    X(KIND_SNAPSHOT_CONTENT, snapshot_content_kind) /* VolumeSnapshotContent */ \
    X(KIND_SECRET, secret_kind) \
    X(KIND_RESOURCE_QUOTA, resource_quota_kind) \
    X(KIND_LIMIT_RANGE, limit_range_kind) \
    X(KIND_LEASE, lease_kind) \
    X(KIND_DEPLOYMENT, deployment_kind) \
    X(KIND_REPLICA_SET, replica_set_kind) \
    X(KIND_DAEMON_SET, daemon_set_kind) \
    X(KIND_JOB, job_kind) \
    X(KIND_DISRUPTION_BUDGET, disruption_budget_kind) /* PodDisruptionBudget */ \
    X(KIND_SNAPSHOT_CLASS, snapshot_class_kind) /* VolumeSnapshotClass */ \
    X(KIND_ATTRIBUTES_CLASS, attributes_class_kind) /* VolumeAttributesClass */ \
    X(KIND_GROUP_SNAPSHOT, group_snapshot_kind) /* VolumeGroupSnapshot */ \
    X(KIND_GROUP_CONTENT, group_content_kind) /* VolumeGroupSnapshotContent */ \
    X(KIND_GROUP_CLASS, group_class_kind) /* VolumeGroupSnapshotClass */ \
    X(KIND_REFERENCE_GRANT, reference_grant_kind) \
    X(KIND_PRIORITY_CLASS, priority_class_kind) \
    X(KIND_SERVICE, service_kind) \
    X(KIND_LOCAL_VOLUME, local_volume_kind) /* of drivers for the disks of nodes */ \
    X(KIND_CRON_JOB, cron_job_kind) \
    X(KIND_NAMESPACE, namespace_kind) \
    X(KIND_REPLICATION_CONTROLLER, replication_controller_kind) \
    X(KIND_OTHER, other_kind)
/* clang-format on */

#define OBJECT_KIND_VALUE(kind, class) kind,
typedef enum {
    OBJECT_KINDS(OBJECT_KIND_VALUE) N_KINDS,
} ObjectKind;

/* The identity of an object: kind, namespace and name. Each has one ObjectKey for the whole run, so
 * keys compare as pointers; queues, caches and records use them. @slot numbers the keys of a kind
 * from 0: an index of arrays. */
typedef struct {
    const char *namespace; /* interned; "" for kinds without namespaces */
    const char *name;      /* interned */
    const char *text;      /* interned: "namespace/name", or "name" */
    SimMemory *memory;     /* of the run: versions of the object are allocated from it */
    uint64_t hash;         /* of kind, namespace and name: an entity for random draws */
    uint32_t slot;
    uint32_t incarnation; /* how often the object was created; the API server counts */
    uint32_t n_requests;  /* the number of requests about it; the n of their draws */
    uint32_t n_events;    /* the number of writes of Events about it; the n of their draws */
    uint32_t n_thoughts;  /* how often a component thought about it; the n of those draws */
    ObjectKind kind : 16;
    unsigned resource : 16; /* KIND_OTHER: see objects_resource(); else 0 */
} ObjectKey;

/* A resource that no model reads: a ConfigMap, a custom resource, an Event that a client wrote. Its
 * objects have metadata and a document, and stand in one store with all others. */
typedef struct {
    const char *group, *kind, *resource; /* interned: "", "ConfigMap", "configmaps" */
    gboolean counts_generation;          /* custom resources */
} ObjectResource;
#define OBJECT_RESOURCES_MAX UINT16_MAX

typedef struct {
    uint64_t high, low; /* 0, 0: none */
} ObjectUid;

/* For sim_shuffle() of ObjectKeys: the walk of a map by name. */
uint64_t object_key_place(const void *key, SimStream stream, uint64_t walk);
uint64_t
object_place(const void *object, SimStream stream, uint64_t walk); /* the same of Objects */

typedef struct Objects Objects; /* the strings and keys of one run */
Objects *objects_new(uint64_t seed);
/* The same with names and keys in memory for logs. @cold: (borrowed): outlives it */
Objects *objects_new_cold(uint64_t seed, SimCold *cold);
/* For objects that leave no trace in the run: its strings, its keys, and new keys of their own,
 * which have no slot (OBJECT_NO_SLOT). @run: (borrowed): outlives it */
#define OBJECT_NO_SLOT UINT32_MAX
Objects *objects_new_aside(Objects *run);
void objects_free(Objects *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Objects, objects_free)
Strings *objects_strings(const Objects *self);
/* Returns: (borrowed): the key, made if it is new. @namespace: NULL or "" for kinds without */
ObjectKey *objects_key(Objects *self, ObjectKind kind, const char *namespace, const char *name);
/* Returns: (borrowed): the key; NULL if objects_key() was never asked for it */
ObjectKey *
objects_find_key(const Objects *self, ObjectKind kind, const char *namespace, const char *name);
/* Finds keys whose names are checksums, which cost time, by the strings that are summed:
 * interned. */
#define ALIAS_PARTS 3
ObjectKey *objects_find_alias(const Objects *self,
                              const char *const *parts); /* NULL: not added yet */
void objects_add_alias(Objects *self, const char *const *parts, ObjectKey *key);
/* The same of KIND_OTHER. @resource: see objects_resource() */
ObjectKey *
objects_other_key(Objects *self, unsigned resource, const char *namespace, const char *name);
ObjectKey *objects_find_other_key(const Objects *self,
                                  unsigned resource,
                                  const char *namespace,
                                  const char *name);
/* The key of another object of the same kind and resource as @like. */
ObjectKey *
objects_key_like(Objects *self, const ObjectKey *like, const char *namespace, const char *name);
/**
 * objects_resource:
 * @resource: (nullable): "configmaps"; %NULL: as it is known, or made of the kind
 * Returns: the number of the resource of a kind without a model, from 1 on; it is added if it is
 * new. 0: there are OBJECT_RESOURCES_MAX already
 */
unsigned objects_resource(Objects *self, const char *group, const char *kind, const char *resource);
ObjectResource *objects_resource_at(const Objects *self, unsigned number); /* (borrowed) */
/* Returns: (borrowed): "pods", "configmaps" */
const char *objects_resource_name(const Objects *self, const ObjectKey *key);
unsigned objects_n_keys(const Objects *self, ObjectKind kind);
ObjectKey *objects_key_at(const Objects *self, ObjectKind kind, uint32_t slot);
/* The new length of an array by slot that needs a place for @slot: it grows by a quarter at least.
 * GLib may double the memory, but touches only the cleared part. */
static inline unsigned
slots_to_hold(uint32_t slot, unsigned n_slots)
{
    return MAX(slot + 1, n_slots + n_slots / 4);
}
/* A function of (seed, kind, namespace, name, incarnation), with the fixed bits of a version 4
 * UUID. */
ObjectUid objects_uid(const Objects *self, const ObjectKey *key, uint32_t incarnation);
/* An object came with this uid, perhaps from a run with the same seed: from now on all uids are
 * other ones, so that neither it nor what it refers to gets a namesake with the same uid. */
void objects_avoid_uid(Objects *self, ObjectUid uid);
/* Of these uids; 0: there are none. Names that a server makes up use it, too. */
uint64_t objects_uid_salt(const Objects *self);

#define OBJECT_UID_BUFFER 37
const char *object_uid_format(ObjectUid uid, char *buffer); /* "1f0c...-....": 36 characters */
gboolean object_uid_parse(const char *text, ObjectUid *uid);
static inline gboolean
object_uid_equal(ObjectUid a, ObjectUid b)
{
    return a.high == b.high && a.low == b.low;
}
static inline gboolean
object_uid_is_set(ObjectUid uid)
{
    return uid.high != 0 || uid.low != 0;
}

typedef struct {
    const ObjectKey *key;                  /* the owner; NULL if no model knows its kind */
    const char *api_version, *kind, *name; /* interned */
    ObjectUid uid;
    gboolean controller, block_owner_deletion;
} OwnerReference;

REF_LIST(OwnerReferences, OwnerReference); /* immutable, shared; NULL: none */

#define TIME_UNSET INT64_MIN

/* Every object begins with it. */
typedef struct {
    const ObjectKey *key;
    uint64_t resource_version; /* 0: not stored yet; in an update the version that was read */
    ObjectUid uid;
    SimTime created_at;
    SimTime deleted_at; /* deletionTimestamp; TIME_UNSET: not being deleted */
    StringMap *labels, *annotations;
    StringList *finalizers;
    OwnerReferences *owners;
    /* (owned): the document that a file or a client wrote last; output takes fields from it that no
     * model reads. NULL: components made all of the object */
    json_t *manifest;
    RefCount refs;
    int32_t deletion_grace_s; /* deletionGracePeriodSeconds; -1: unset */
    uint32_t generation;      /* metadata.generation; 0: the kind has none */
} Object;

/* The type of a field: mostly data, see FIELD_WORDS() and the macros behind it. Functions stand
 * where data is not enough, and go first. */
typedef struct ApiParser ApiParser;
typedef struct Field Field;
typedef struct FieldType FieldType;
struct FieldType {
    size_t size;
    const void *initial; /* of @size: the value in a new struct; NULL: zeros */
    /* An enumeration in a uint32_t: its words in the order of the values, ends with NULL. "" is the
     * word for an absent value. */
    const char *const *words;
    /* A pointer (nullable) to a counted struct, so that copies of objects are cheap. */
    GDestroyNotify unref;
    GEqualFunc same;
    size_t refs;            /* offset of its RefCount */
    const Field *fields;    /* a struct, absent while its first field is zero */
    const FieldType *whole; /* a pointer (nullable) to a counted struct of this type */
    const FieldType *item;  /* ... to a list: RefCount refs, unsigned n_items, items[] */
    /* An item keeps what the document's item with the same first field, a string, has beside it.
     * FALSE: the item at the same place, if the list has kept its length */
    gboolean keyed;
    /* Checks the items that were read and completes them; may be NULL. */
    void (*finish)(ApiParser *parser, const json_t *array, void *items, unsigned n);

    /* NULL: by bytes, unless a form above tells */
    gboolean (*equal)(const void *a, const void *b);
    void (*parse)(ApiParser *parser, const json_t *value, void *field); /* reports its faults */
    json_t *(*to_json)(const void *field); /* (owned): NULL: nothing to print */
    /* (owned): like to_json, over the manifest's value (nullable), so that members stay that no
     * model reads */
    json_t *(*over)(const void *field, const json_t *manifest);
    /* (owned): the same for a type with times; @start is the run's beginning in the calendar */
    json_t *(*print)(const void *field, const json_t *manifest, SimTime start);
};

/* What is special about a row. */
typedef enum {
    FIELD_SPEC = 0,          /* the server takes it from writes of the object */
    FIELD_STATUS = 1 << 0,   /* ... from writes of the status sub-resource */
    FIELD_REQUIRED = 1 << 1, /* a manifest must have it */
    FIELD_INTERNAL = 1 << 2, /* not in JSON */
    FIELD_PART =
        1 << 3, /* takes only some keys of the object at its path; other fields take the rest */
    FIELD_OPTIONAL = 1 << 4, /* zero is printed only over a document that has the field */
    FIELD_OR_NULL = 1 << 5,  /* what is absent is printed as null */
    FIELD_NATURAL = 1 << 6,  /* a document may have no negative number */
} FieldFlags;

struct Field {
    const char *path; /* in JSON: "spec.storageClassName"; "status.conditions[Ready]": the item of
                         that type */
    const FieldType *type;
    size_t offset;
    FieldFlags flags;
    int32_t initial; /* of such a member: its value in a new struct; 0: the type tells it */
};

/* What a kind has that makes pods. Offsets in its struct; 0: it has none. */
typedef struct {
    const char *controller; /* the client of its controller: "replicaset-controller" */
    size_t selector;        /* of LabelSelector * */
    size_t template;        /* of PodTemplate * */
    size_t claim_templates; /* of ClaimTemplates * */
    size_t wanted;          /* of int32_t: the number of pods that it wants for good */
    gboolean scales;        /* ... which is spec.replicas */
    gboolean owns_pods;     /* no other kind is between it and its pods */
} WorkloadClass;

/* A row of the table of kinds. */
typedef struct {
    const char *kind; /* "PersistentVolumeClaim" */
    const char *api_version;
    const char *resource; /* "persistentvolumeclaims" */
    size_t size;
    const Field *fields; /* ends with a NULL path; fields whose type counts stand first */
    gboolean namespaced;
    gboolean has_generation;       /* API-3 */
    const WorkloadClass *workload; /* NULL: it makes no pods */
    void (*set_defaults)(
        Object *object); /* of a new object, before its fields are parsed; may be NULL */
    /* Checks that need several fields; may be NULL. */
    void (*check)(ApiParser *parser, const json_t *manifest, const Object *object);
    /* What follows from all fields together; may be NULL. */
    void (*finish)(ApiParser *parser, const json_t *manifest, Object *object);
} KindClass;

#define OBJECT_KIND_CLASS(kind, class) extern const KindClass class;
OBJECT_KINDS(OBJECT_KIND_CLASS)
const KindClass *kind_class(ObjectKind kind);
/* API-24. @minor: of Kubernetes 1.x; 0: some release */
gboolean kind_is_served(ObjectKind kind, const char *api_version, int minor);
/* Returns: (borrowed): the version in which that release serves the kind; NULL: it does not */
const char *kind_served_version(ObjectKind kind, int minor);
/* Returns: FALSE if no model knows such a kind. @api_version may be NULL, or of any release. */
gboolean kind_find(const char *api_version, const char *kind, ObjectKind *found);

/* Returns: (owned): an object with defaults, no uid and no version */
Object *object_new(ObjectKey *key);
Object *object_ref(const Object *self);
void object_unref(const Object *self);
/* Returns: (owned): a copy to change; references are shared until they are replaced */
Object *object_edit(const Object *self);
/* Returns: (owned): a copy as a new object of the same kind, without uid and version: one of many
 * of a template */
Object *object_edit_as(const Object *self, ObjectKey *key);
/* Whether everything but the resource version is equal (API-2). */
gboolean object_equal(const Object *a, const Object *b);
/* Whether everything but metadata and status is equal. Both are of one kind. */
gboolean object_spec_equal(const Object *a, const Object *b);
/* Copies the status fields of @from over @to (@status), or all other fields. Metadata is left
 * alone. */
void object_take_fields(Object *to, const Object *from, gboolean status);
/* Copies labels, annotations, finalizers and owners from @from to @to. */
void object_take_metadata(Object *to, const Object *from);
/* All of @to becomes as a client wrote it into @from, but for its identity. */
void object_take_document(Object *to, const Object *from);
/* Whether fields that no model reads are equal, apart from metadata and status. Expensive if a
 * client wrote one of the versions. */
gboolean object_rest_equal(const Object *a, const Object *b);
/* Returns: (owned): the object as the API prints it: typed fields over the manifest. @start: of the
 * run, see sim_start() */
json_t *object_to_json_at(const Object *self, SimTime start);
/* The same for a run that begins at the calendar's time 0, or where times do not matter. */
json_t *object_to_json(const Object *self);

static inline ObjectKind
object_kind(const Object *self)
{
    return self->key->kind;
}
static inline const char *
object_name(const Object *self)
{
    return self->key->name;
}
static inline gboolean
object_is_deleted(const Object *self) /* marked for deletion */
{
    return self->deleted_at != TIME_UNSET;
}

/* Changes to metadata, for edits. Each returns whether it changed something. Strings must be
 * interned. */
gboolean object_set_annotation(Object *self, const char *key, const char *value); /* NULL: remove */
gboolean object_set_label(Object *self, const char *key, const char *value);
gboolean object_add_finalizer(Object *self, const char *finalizer);
gboolean object_remove_finalizer(Object *self, const char *finalizer);
void object_set_owner(Object *self,
                      const Object *owner,
                      gboolean controller,
                      gboolean block_owner_deletion);
gboolean object_remove_owner(Object *self, const Object *owner);
/* Whether objects of this kind own others that models make: the garbage collector looks at these.
 */
gboolean kind_owns_others(ObjectKind kind);
gboolean object_is_owned_by(const Object *self, const Object *owner); /* as controller or not */
const char *object_annotation(const Object *self, const char *key);   /* NULL: not there */
const char *object_label(const Object *self, const char *key);
gboolean object_has_finalizer(const Object *self, const char *finalizer);
/* Returns: (borrowed): the owner that is the controller, NULL: none */
const OwnerReference *object_controller(const Object *self);
gboolean object_is_controlled_by(const Object *self, const Object *owner);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Object, object_unref)
