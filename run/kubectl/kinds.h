/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "value.h"

/* The kinds that the commands know: their names, and the columns that the API server prints for
 * them. */

typedef struct {
    const char *name; /* "Access Modes": printed in capitals */
    gboolean is_wide; /* with -o wide only */
    gboolean is_name; /* gets the kind in front where several kinds are printed */
} KindColumn;

typedef struct KubectlKind KubectlKind;
typedef struct Description Description;

struct KubectlKind {
    const char *kind;        /* "StorageClass" */
    const char *api_version; /* "storage.k8s.io/v1" */
    const char *plural;      /* "storageclasses" */
    const char *short_names; /* by blanks; "": none */
    gboolean is_namespaced;
    gboolean is_in_all;        /* `get all` has it */
    const KindColumn *columns; /* ends with a NULL name */
    void (*row)(GPtrArray *cells,
                json_t *object,
                ValueTime now); /* adds a cell (char *, owned) for each column */
    void (*describe)(Description *description,
                     json_t *object); /* all but the events; NULL: field by field */
};

#define N_KUBECTL_KINDS 23
const KubectlKind *kubectl_kind_at(unsigned i);
/* @word: any of its names, with or without the group: "pvc", "PersistentVolumeClaims",
 * "sc.storage.k8s.io". NULL: none */
const KubectlKind *kubectl_kind_find(const char *word);
/* The kind of an object of a list; NULL: not known */
const KubectlKind *kubectl_kind_of(json_t *object);
/* "storageclass.storage.k8s.io", "pod": as names get it in front. (owned) */
char *kubectl_kind_prefix(const KubectlKind *self);
/* "storageclasses.storage.k8s.io": as errors call it. (owned) */
char *kubectl_kind_resource(const KubectlKind *self);

/* Rows; columns of the same files. */
extern const KindColumn claim_columns[], volume_columns[], class_columns[], attachment_columns[],
    csi_node_columns[], csi_driver_columns[], created_columns[], pod_columns[], node_columns[],
    stateful_set_columns[], deployment_columns[], replica_set_columns[], service_columns[],
    namespace_columns[], event_columns[], lease_columns[], daemon_set_columns[], job_columns[],
    disruption_budget_columns[], controller_revision_columns[], snapshot_columns[],
    snapshot_content_columns[], snapshot_class_columns[];
void claim_row(GPtrArray *cells, json_t *claim, ValueTime now);
void volume_row(GPtrArray *cells, json_t *volume, ValueTime now);
void class_row(GPtrArray *cells, json_t *class, ValueTime now);
void attachment_row(GPtrArray *cells, json_t *attachment, ValueTime now);
void csi_node_row(GPtrArray *cells, json_t *node, ValueTime now);
void csi_driver_row(GPtrArray *cells, json_t *driver, ValueTime now);
void created_row(GPtrArray *cells,
                 json_t *object,
                 ValueTime now); /* the API server's printer for kinds without one */
void pod_row(GPtrArray *cells, json_t *pod, ValueTime now);
void node_row(GPtrArray *cells, json_t *node, ValueTime now);
void stateful_set_row(GPtrArray *cells, json_t *set, ValueTime now);
void daemon_set_row(GPtrArray *cells, json_t *set, ValueTime now);
void job_row(GPtrArray *cells, json_t *job, ValueTime now);
void deployment_row(GPtrArray *cells, json_t *deployment, ValueTime now);
void replica_set_row(GPtrArray *cells, json_t *set, ValueTime now);
void service_row(GPtrArray *cells, json_t *service, ValueTime now);
void namespace_row(GPtrArray *cells, json_t *namespace, ValueTime now);
void event_row(GPtrArray *cells, json_t *event, ValueTime now);
void lease_row(GPtrArray *cells, json_t *lease, ValueTime now);
void disruption_budget_row(GPtrArray *cells, json_t *budget, ValueTime now);
void controller_revision_row(GPtrArray *cells, json_t *revision, ValueTime now);
void snapshot_row(GPtrArray *cells, json_t *snapshot, ValueTime now);
void snapshot_content_row(GPtrArray *cells, json_t *content, ValueTime now);
void snapshot_class_row(GPtrArray *cells, json_t *class, ValueTime now);

/* Cells, for the rows. */
void cell_add(GPtrArray *cells, const char *format, ...) G_GNUC_PRINTF(2, 3);
void cell_add_age(GPtrArray *cells, json_t *object, ValueTime now);

/* What tables and descriptions both tell. */
void append_access_modes(GString *out,
                         json_t *modes); /* "RWO,ROX,RWX,RWOP": in this order, each once */
const char *
class_name_of(json_t *object); /* of a claim or volume: the old annotation, or the field; "" */
void append_node_roles(GString *out, json_t *node); /* "<none>" */
gboolean class_is_default(json_t *class);
void append_label_selector(GString *out, json_t *selector); /* "a=b,c in (d,e),!f"; "<none>" */
