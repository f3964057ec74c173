/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "value.h"

/* The kinds that the commands know: their names, tables and descriptions. One row holds all of a
 * kind, so the table names the functions of tables and descriptions, and these find kinds in the
 * table: a circle of files, but no second list. */

typedef struct KubectlKind KubectlKind;
typedef struct Description Description;
typedef struct Cell Cell;

typedef enum {
    COLUMN_WIDE = 1 << 0, /* shown only with -o wide */
    COLUMN_NAME = 1 << 1, /* begins with the kind where several kinds are printed */
    /* Of an API server's Table: the column's type, and the type of its cells ... */
    COLUMN_INTEGER = 1 << 2,
    COLUMN_BOOLEAN = 1 << 3,
    COLUMN_TYPED = 1 << 4, /* ... numbers or truth values in a column of strings */
} KindColumnFlags;

typedef struct {
    const char *name; /* "Access Modes": printed in capitals */
    void (*append)(Cell *cell);
    const char *path;    /* of the field; "" if append() needs no field */
    const char *missing; /* printed if append() writes nothing */
    unsigned flags;      /* KindColumnFlags */
} KindColumn;

/* A cell of a table: appends to @text. */
struct Cell {
    GString *text;
    json_t *object;
    json_t *value; /* at the column's path; NULL if it is missing */
    const KindColumn *column;
    ValueTime now;
};

struct KubectlKind {
    const char *kind;        /* "StorageClass" */
    const char *api_version; /* "storage.k8s.io/v1" */
    const char *plural;      /* "storageclasses" */
    const char *short_names; /* separated by blanks; "" if there are none */
    gboolean is_namespaced;
    gboolean is_in_all;        /* `get all` lists it */
    const KindColumn *columns; /* ends with a NULL name */
    void (*describe)(Description *description,
                     json_t *object); /* without the Events; NULL: prints field by field */
};

unsigned kubectl_n_kinds(void);
const KubectlKind *kubectl_kind_at(unsigned i);
/* @word: any of its names, with or without the group: "pvc", "PersistentVolumeClaims",
 * "sc.storage.k8s.io". NULL: none */
const KubectlKind *kubectl_kind_find(const char *word);
/* Returns: the kind of an object; NULL if it is unknown */
const KubectlKind *kubectl_kind_of(json_t *object);
/* "storageclass.storage.k8s.io", "pod": the prefix of names. (owned) */
char *kubectl_kind_prefix(const KubectlKind *self);
/* "storageclasses.storage.k8s.io": the name in errors. (owned) */
char *kubectl_kind_resource(const KubectlKind *self);

/* The tables. */
extern const KindColumn claim_columns[], volume_columns[], class_columns[], attachment_columns[],
    csi_node_columns[], csi_driver_columns[], created_columns[], age_columns[], pod_columns[],
    node_columns[], stateful_set_columns[], deployment_columns[], replica_set_columns[],
    service_columns[], namespace_columns[], event_columns[], lease_columns[], daemon_set_columns[],
    job_columns[], cron_job_columns[], disruption_budget_columns[], controller_revision_columns[],
    snapshot_columns[], snapshot_content_columns[], snapshot_class_columns[],
    group_snapshot_columns[], group_content_columns[], attributes_class_columns[],
    priority_class_columns[], quota_columns[], local_volume_columns[];

/* Cells of several tables. */
void cell_value(Cell *cell);
void cell_age(Cell *cell);
void cell_length(Cell *cell); /* the number of items or members */
void cell_map(Cell *cell);    /* "a=b,c=d" */
void cell_selector(Cell *cell);
void cell_containers(Cell *cell); /* the column's path: what to tell of each: "name", "image" */

/* Parts of tables and descriptions. */
void append_access_modes(GString *out,
                         json_t *modes); /* "RWO,ROX,RWX,RWOP": in this order, each once */
const char *
class_name_of(json_t *object); /* of a claim or volume: the old annotation, otherwise the field */
void append_node_roles(GString *out, json_t *node); /* "<none>" */
gboolean class_is_default(json_t *class);
/* "a=b,c in (d,e),!f"; "<none>". @selector: a LabelSelector, or a map of labels */
void append_label_selector(GString *out, json_t *selector);
