/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "tab-writer.h"

/* A description in progress: lines with tabs, which the writer aligns. Private to this folder. */
struct Description {
    const KubectlRequest *request;
    TabWriter *writer;
    unsigned indent; /* levels; more within another object */
};

/* Writes text, indented by two blanks a level; a line may take several calls. */
void put(Description *self, unsigned level, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* "Name:\tvalue" */
void put_text(Description *self, unsigned level, const char *name, const char *value);
/* The same for the field at @path, unless it is missing or empty. */
void put_optional_text(
    Description *self, unsigned level, const char *name, json_t *object, const char *path);
/* "Name" and "Namespace"; "Labels" and "Annotations". */
void put_name(Description *self, json_t *object);
void put_labels(Description *self, json_t *object);
void
put_date(Description *self, unsigned level, const char *name, json_t *object, const char *path);
void put_quantity(Description *self, unsigned level, const char *name, json_t *quantity);
/* A map, one k=v a line. @indent: blanks before the name */
void put_map(Description *self, const char *indent, const char *name, json_t *map);
void put_annotations(Description *self, const char *name, json_t *annotations);
/* "Status:\tBound", or "Terminating" with its duration. */
void put_phase(Description *self, json_t *object);
/* "Finalizers:\t[a b]" */
void put_list(Description *self, unsigned level, const char *name, json_t *list);
/* "Conditions" of a claim or node. @title, @path: of the column of times */
void put_conditions(Description *self, json_t *object, const char *title, const char *path);
/* "Controlled By"; nothing for an object without a controller. */
void put_controller(Description *self, json_t *object);

void describe_pod(Description *self, json_t *pod);
void describe_claim(Description *self, json_t *claim);
void describe_volume(Description *self, json_t *volume);
void describe_class(Description *self, json_t *class);
void describe_csi_node(Description *self, json_t *node);
void describe_node(Description *self, json_t *node);
void describe_stateful_set(Description *self, json_t *set);
void describe_deployment(Description *self, json_t *deployment);
void describe_replica_set(Description *self, json_t *set);
void describe_daemon_set(Description *self, json_t *set);
void describe_job(Description *self, json_t *job);
void describe_cron_job(Description *self, json_t *cron);
void describe_namespace(Description *self, json_t *namespace);
void describe_limit_range(Description *self, json_t *range);
void describe_quota(Description *self, json_t *quota);
void describe_disruption_budget(Description *self, json_t *budget);

/* Parts of several descriptions. */
void describe_claim_spec(Description *self, json_t *claim, gboolean is_whole);
void describe_volume_source(
    Description *self,
    json_t *spec,
    gboolean is_persistent); /* TRUE: of a PersistentVolume; FALSE: of a pod's volume */
void describe_pod_template(Description *self, json_t *template);
