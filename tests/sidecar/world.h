/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "models/csi/modelled/modelled-driver.h"
#include "models/plan/plan.h"

/* A cluster for tests, in which only one sidecar and its driver run. The test commits the writes of
 * all other components. The test program defines model_classes. */

#define WORLD_DRIVER "csi.test.example"
#define WORLD_ZONE "topology.test.example/zone"

/* A request or call of the sidecar. */
typedef struct {
    SimTime at; /* it arrived */
    char *what; /* "CREATE PersistentVolume", "PATCH_STATUS VolumeAttachment 404", "CreateVolume",
                   "CreateVolume INTERNAL" */
    const ObjectKey *key; /* of a request */
} WorldEntry;

typedef struct World World;

typedef struct {
    const ModelClass *only;   /* the only model that runs; NULL: all of model_classes */
    gboolean recorded_timing; /* TIM-1 to TIM-10; else nothing takes time */
    uint64_t seed;
    gboolean polling;  /* no ticker sleeps */
    gboolean measured; /* keeps metrics */
    /* NULL: as csi_modelled_options_init() has it, with 1 s for CreateVolume, ControllerPublish and
     * -Unpublish. */
    void (*driver)(World *world, CsiModelledOptions *options);
    const void *driver_arg;   /* for it: world->options.driver_arg */
    const char *flag, *value; /* one flag to set; NULL: none */
    const char *flag2, *value2;
    const char *gate_on; /* a feature gate of Kubernetes; NULL: all default */
    int minor;           /* of the release; 0: 32 */
} SidecarWorldOptions;

struct World {
    Sim *sim;
    Objects *objects;
    Strings *strings;
    Timing timing;
    SidecarWorldOptions options;
    GPtrArray *dists;           /* of world_constant() */
    StringMap *gates;           /* of options.gate_on */
    StringList *mutable_keys;   /* of world_allow_changes() */
    CsiModelledError errors[1]; /* for options->driver() */
    CsiModelledDriver *driver;
    Cluster *cluster;
    ApiServer *api;
    GArray *log; /* of WorldEntry, in order of arrival */
};

World *world_new(const SidecarWorldOptions *options);
void world_free(World *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(World, world_free)

/* Returns: (borrowed): a latency that is always the same */
const SimDist *world_constant(World *self, SimTime time);
const char *world_intern(World *self, const char *text);
/* For options->driver(): the driver takes ControllerModifyVolume with this one parameter. */
void world_allow_changes(World *self, CsiModelledOptions *options, const char *key);
/* A VolumeAttributesClass of @driver with that parameter. Returns: (owned) */
Object *world_attributes_class(World *self, const char *name, const char *driver, const char *key);
ObjectKey *world_key(World *self,
                     ObjectKind kind,
                     const char *name); /* of the namespace "default" where there is one */
const Object *world_get(World *self, ObjectKind kind, const char *name);

/* Commit at once, in the place of another component. @object is taken. */
void world_create(World *self, Object *object);
void world_edit(World *self, ObjectKind kind, const char *name, ObjectEdit edit, const void *arg);
void
world_edit_status(World *self, ObjectKind kind, const char *name, ObjectEdit edit, const void *arg);
void world_delete(World *self, ObjectKind kind, const char *name);

/* The cluster: nodes "a", "b", "c", each in the zone of its name, with the driver. */
void world_add_nodes(World *self);
StorageClass *world_class(World *self, const char *name, BindingMode mode, ReclaimPolicy policy);
/* A claim that the PV controller has handed over already. @node: selected; NULL: none */
Claim *world_claim(World *self, const char *name, const char *class, const char *node);
/* A volume of the driver, which has it too. */
Volume *world_volume(World *self, const char *name);
Attachment *world_attachment(World *self, const char *name, const char *volume, const char *node);

void world_run(World *self, SimTime until);
/* Returns: (owned): the sidecar's requests and calls, joined by ", "; and forgets them */
char *world_take_log(World *self);
/* How often and when first (out, nullable), last (out, nullable), without forgetting. */
unsigned world_count(World *self, const char *what, SimTime *first, SimTime *last);
/* Returns: (owned): the instants of @what in ms, joined by " " */
char *world_times(World *self, const char *what);
/* Returns: (owned): "reason xcount: message" of all events about an object, joined by "; " */
char *world_events(World *self, const ObjectKey *involved);
