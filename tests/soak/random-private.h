/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "sim/random.h"

/* How a random scenario is written, part by part. */

#define DISK "disk.soak.example" /* volumes that are attached to one node */
#define SAN "san.soak.example"   /* the same by another driver */
#define FILES                                                                                      \
    "files.soak.example" /* volumes that are mounted without attaching, by any number of nodes */
#define EBS "ebs.csi.aws.com"        /* takes awsElasticBlockStore over */
#define INLINE "inline.soak.example" /* inline volumes of pods */

/* When everything is deleted: a hard case may take the longest back-off (5 min of the sidecars) a
 * few times. With nodes that are lost for long it is later. */
#define DELETE_AT_S (30 * 60)
#define DELETE_LATE_S (50 * 60)
#define WORK_UNTIL_S 240 /* changes and faults come earlier */
#define N_PODS_MAX 5
#define N_GROUPS_MAX 3
#define N_CLAIMS_MAX 5 /* of a pod */
#define N_SETS_MAX 4

/* Parts of a world that are there or not. */
typedef enum {
    HAS_EPHEMERAL = 1 << 0,
    HAS_INLINE = 1 << 1,
    HAS_DEPLOYMENTS = 1 << 2,
    HAS_DAEMONS = 1 << 3,
    HAS_JOBS = 1 << 4,
    HAS_NAMESPACES = 1 << 5, /* workloads of the kinds above are in one of their own */
    HAS_UPDATES = 1 << 6,    /* of the templates of StatefulSets and DaemonSets */
    HAS_CRON = 1 << 7,
    HAS_MODIFICATIONS = 1 << 8, /* VolumeAttributesClasses */
    HARMLESS = (1 << 9) - 1,    /* all pods still become ready */
    HAS_SNAPSHOTS = 1 << 9,     /* and volumes that are copies of snapshots and of other volumes */
    HAS_LOST_NODES = 1 << 10,   /* for more than six minutes, or for good */
    HAS_OUT_OF_SERVICE = 1 << 11,
    HAS_DRAINS = 1 << 12, /* with budgets */
    HAS_AUTOSCALER = 1 << 13,
    HAS_QUOTA = 1 << 14,
    HAS_RETAIN = 1 << 15, /* of volumes that were provisioned */
    HAS_TAINTS = 1 << 16,
    HAS_AFFINITY = 1 << 17,
    HAS_CAPACITY = 1 << 18,        /* CSIStorageCapacity */
    HAS_VOLUME_AFFINITY = 1 << 19, /* of volumes made by hand */
    HAS_MANY_FAULTS = 1 << 20,
    HAS_DISKS = 1 << 21,        /* in-tree volumes that stand in pods, and have migrated */
    HAS_NAMESAKES = 1 << 22,    /* workloads and claims that go and come again by the same name */
    HAS_LONG_ERRORS = 1 << 23,  /* a call of a driver fails for minutes */
    HAS_LOST_VOLUMES = 1 << 24, /* PersistentVolumes that users delete */
    HAS_GROUPS = 1 << 25,       /* VolumeGroupSnapshots */
    N_FEATURES = 26,
} Feature;

/* A claim as a pod uses it. */
typedef struct {
    char name[16];
    gboolean is_block;
} RandomClaimUse;

typedef struct {
    SimStream stream;
    uint64_t n;
    GString *spec, *faults, *objects;
    gboolean is_easy, is_small;
    uint32_t features;
    gboolean has_limit; /* of volumes per node */
    unsigned delete_at_s;
    unsigned n_zones, n_sets, n_groups, n_shared;
    unsigned n_nodes[N_GROUPS_MAX]; /* by group */
    gboolean has_any_claim;
    unsigned n_copies;                                 /* of pods, below */
    unsigned n_pods[N_PODS_MAX], n_claims[N_PODS_MAX]; /* pods, and claims of each, by number */
    unsigned n_snapshots, n_late;
    char *pods_again[N_PODS_MAX]; /* the actions that made these, without their times */
    char *sets_again[N_SETS_MAX];
} Maker;

unsigned below(Maker *self, unsigned limit);
unsigned between(Maker *self, unsigned low, unsigned high);
gboolean one_in(Maker *self, unsigned n);
gboolean has(const Maker *self, uint32_t feature);
#define PICK(self, array) ((array)[below((self), G_N_ELEMENTS(array))])

/* Nodes, drivers, and objects that exist from the start: random-cluster.c */
void add_nodes(Maker *self);
void add_latencies(Maker *self, gboolean attaches);
void add_errors(Maker *self, gboolean attaches);
void add_components(Maker *self);
void add_driver(Maker *self, const char *name, gboolean attaches);
void add_inline_driver(Maker *self);
void add_disk_driver(Maker *self);
void add_classes(Maker *self);
void add_static_volumes(Maker *self);
/* The spec of one of them. */
void append_static_spec(Maker *self, GString *text, unsigned number);

/* Pods with claims of their own, StatefulSets: random-pods.c */
void append_claim_spec(Maker *self, GString *text, const char *class, gboolean is_block);
/* Parts of a pod's spec that say where it may run. */
void append_placement(Maker *self, GString *text, const char *app);
void add_pods(Maker *self, unsigned number);
void add_shared_claim(Maker *self);
void add_stateful_set(Maker *self);

/* Workloads of other kinds, snapshots, quotas, budgets: random-extras.c */
void add_extras(Maker *self);
/* Deletes them again. */
void end_extras(Maker *self);

/* Updates of templates, namesakes, CronJobs, classes of attributes, groups of snapshots:
 * random-updates.c */
void append_update_strategy(Maker *self, const char *kind);
void update_template(
    Maker *self, unsigned at, const char *kind, const char *name, const char *namespace);
void add_cron_job(Maker *self, unsigned number, const char *namespace);
void append_job_options(Maker *self);
void add_attributes_classes(Maker *self);
void modify_claim(Maker *self, unsigned at);
void add_group_snapshots(Maker *self);
void recreate_set(Maker *self, unsigned at);
void recreate_claims(Maker *self, unsigned at);
void delete_volume(Maker *self, unsigned at);
void break_driver(Maker *self, unsigned at);
void draw_claim(Maker *self, char *name, size_t size);
void append_stateful_set(Maker *self, unsigned number);

/* What happens to all that while it lives, and its end: random-changes.c */
void add_changes(Maker *self);
void add_end(Maker *self);

/* random-faults.c */
void add_faults(Maker *self);
