/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/volume-manager/volume-manager.h"

#include <jansson.h>

/* What traces of the kubelet's states call volumes, and the model. "fake-plugin/device" of a trace
 * is volume "device" of CSI driver "fake-plugin", and "device" alone one of driver "nameless"; the
 * drivers "basic" and "device-mountable" need no attaching. A volume of the plugin "basic" that no
 * name is told of is a hostPath: it has no device either. */

#define UNATTACHED_PLUGIN "basic"
#define DEVICE_PLUGIN "device-mountable"

/* Returns: interned: what the model calls the trace's @text */
const char *kubelet_model_name(Strings *strings, const char *text);
/* The way back. */
const char *kubelet_trace_name(Strings *strings, const NodeVolume *volume);

/* The arguments of a step: what they are about. NULL: they do not say */
char *kubelet_volume_of_step(const json_t *args); /* (owned): a trace's name */
const char *kubelet_pod_of_step(const json_t *args);
const char *kubelet_outer_name_of_step(const json_t *args); /* the volume's name in its pod */
/* The first of these paths that is there. */
const char *kubelet_first_of(const json_t *args, const char *const *places, unsigned n_places);
/* Where a spec tells no source, its name is that of its plugin. */
gboolean kubelet_has_no_source(const json_t *args);
/* The source of the volume that a trace calls @name, in a PersistentVolume's @spec. */
void kubelet_set_source(json_t *spec, const char *name, gboolean has_source);
