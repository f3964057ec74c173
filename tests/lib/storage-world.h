/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"

/* A cluster for tests of controllers: an API server and what runs in kube-controller-manager, by
 * the test's own model_classes[]. Users and neighbours are played by commits that take no time;
 * what controllers send is logged. */
typedef struct {
    Sim *sim;
    Objects *objects;
    Timing timing;
    Cluster *cluster;
    CsiDriver *driver; /* (owned) (nullable): of the test's, if it needs one */
    ApiServer *api;
    GString *log;        /* requests as answered: "PUT pv/a, GET pvc/c 404" */
    gboolean log_times;  /* "1.000000000 PUT pv/a" */
    gboolean log_causes; /* "PUT pv/a < 0.900000000 ...": and the instants of its causes */
    int64_t refused;     /* requests that ended with 409 */
    void (*set_flags)(const ProcessClass *class, void *flags);
    StringMap *gates;
    const ModelClass *only;
} StorageWorld;

typedef struct {
    uint64_t seed;
    gboolean polling;       /* no ticker sleeps */
    gboolean measured;      /* keeps metrics */
    gboolean throttled;     /* clients have their limits */
    gboolean slow;          /* requests and watches take random milliseconds; else no time at all */
    int32_t minor_version;  /* 0: 32 */
    const ModelClass *only; /* the only model that runs; NULL: all of model_classes */
    const char *gate_off;   /* a feature gate; NULL: all default */
    const char *gate_on;    /* instead of gate_off */
    /* Sets flags of a process that is started: its options struct. NULL: all default */
    void (*set_flags)(const ProcessClass *class, void *flags);
} StorageWorldOptions;

void storage_world_init(StorageWorld *self, const StorageWorldOptions *options /* NULL: none */);
void storage_world_clear(StorageWorld *self);
/* Starts the controllers: what was created before is the initial state. */
void storage_world_start(StorageWorld *self);
/* Runs until @at, in virtual time from the start. */
void storage_world_run(StorageWorld *self, SimTime at);
/* What was logged since the last call. (borrowed) until the next one */
const char *storage_world_log(StorageWorld *self);
/* All Events: "Normal FailedBinding pvc/c x2", sorted by first write, joined by ", ". (owned) */
char *storage_world_events(const StorageWorld *self);

const char *storage_world_intern(const StorageWorld *self, const char *text);
ObjectKey *storage_world_claim_key(const StorageWorld *self, const char *name);
ObjectKey *storage_world_volume_key(const StorageWorld *self, const char *name);

/* New objects, to be changed and then created. (owned) Volumes are of CSI driver "csi.test", policy
 * Retain, ReadWriteOnce; claims are in namespace "default", ReadWriteOnce. */
Volume *
storage_world_volume(const StorageWorld *self, const char *name, int gib, const char *class_name);
Claim *
storage_world_claim(const StorageWorld *self, const char *name, int gib, const char *class_name);
/* @claim NULL: no volume */
Pod *
storage_world_pod(const StorageWorld *self, const char *name, const char *claim, const char *node);
/* Creates a class at once. */
void storage_world_class(StorageWorld *self,
                         const char *name,
                         const char *provisioner,
                         BindingMode mode);

/* Takes the object. Returns: (borrowed): as stored */
const Object *storage_world_create(StorageWorld *self, void *object);
/* Stores it with its status. Takes the object. */
void storage_world_import(StorageWorld *self, void *object);
void storage_world_patch(StorageWorld *self, ObjectKey *key, ObjectEdit edit, const void *arg);
void
storage_world_patch_status(StorageWorld *self, ObjectKey *key, ObjectEdit edit, const void *arg);
void storage_world_delete(StorageWorld *self, ObjectKey *key);
void storage_world_delete_as(StorageWorld *self, ObjectKey *key, ApiPropagation propagation);
/* Deletes it and takes all finalizers off. */
void storage_world_remove(StorageWorld *self, ObjectKey *key);
/* ObjectEdit: @pair is a StringPair, interned. */
gboolean storage_world_annotate(Object *object, const void *pair);
/* An InformerIndexFunc: volumes by class. */
void storage_world_index_class(InformerIndex *index, const Object *object, Objects *objects);

/* (borrowed): NULL: not there */
const Claim *storage_world_stored_claim(const StorageWorld *self, const char *name);
const Volume *storage_world_stored_volume(const StorageWorld *self, const char *name);
