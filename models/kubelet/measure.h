/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "pods.h"

/* Metrics of a kubelet, if the scenario asks for them. */

/* @collect: called with @self before each scrape */
void kubelet_measure_begin(Kubelet *self, void (*collect)(void *self));
/* The kubelet ends: its volumes leave the counts. */
void kubelet_measure_end(Kubelet *self);
/* A mount came into desired state or left it; the same of actual state. It has its volume. */
void kubelet_count_desired(const PodMount *mount, int n);
void kubelet_count_actual(const PodMount *mount, int n);
void kubelet_count_label(const Kubelet *self, MetricFamily family, const Object *pv); /* CSP-28 */
/* The operation's mount is done for the first time. */
void kubelet_measure_mount(const Kubelet *self, const PendingOperation *operation);
/* What a driver said of a claim's volume; one pod of the claim counts (KVM-74); NULL: nothing more.
 */
typedef struct {
    int64_t bytes, available_bytes, used_bytes;
    int64_t inodes, free_inodes, used_inodes;
    int64_t abnormal; /* 0 or 1; -1: nobody told */
} VolumeUsage;
/* The gate CSIVolumeHealth. */
gboolean kubelet_watches_health(const Kubelet *self);
/* Sets the gauges of a claim. @usage: NULL: nobody tells any more */
void kubelet_measure_usage(const Kubelet *self, const ObjectKey *claim, const VolumeUsage *usage);
/* It took so long to ask this driver about a volume. */
void kubelet_measure_question(const Kubelet *self, const char *driver, SimTime took);
/* One more of a family without labels; one more evicted pod: @signal: its label, static. */
void kubelet_count(const Kubelet *self, MetricFamily family);
void kubelet_count_eviction(const Kubelet *self, const char *signal);
/* Sets a family without labels to now, in Unix time. */
void kubelet_measure_shutdown(const Kubelet *self, MetricFamily family);
