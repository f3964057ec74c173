/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/volume-manager/operation-executor.h"
#include "node-world.h"
#include "tests/lib/test.h"

/* Stories of Kubernetes' own tests of the volume manager, retold with a whole kubelet: what those
 * tests do to a part of it by hand, pods, drivers and nodes do here. Each bears the id of the
 * recorded story. */

#define SECONDS(n) ((n)*SIM_SECOND)
#define GI(n) ((int64_t)(n) << 30)
#define UNIQUE_V "kubernetes.io/csi/" WORLD_DRIVER "^v"

/* With a flag of the kubelet; NULL: none. */
World *story_world(const char *flag, const char *value);
/* Volume "v" is attached to node "a", whose kubelet runs. */
World *story_world_with_volume(const char *flag, const char *value);
/* ... and pod "p" uses it. */
World *story_world_with_pod(const char *flag, const char *value);
void story_add_volume(World *world, gboolean block);
void story_grow_volume(World *world, const char *name, int64_t bytes);
/* @value: of the annotation @name of volume "v" */
void story_annotate_volume(World *world, const char *name, const char *value);
/* Labels pod "p", so that it is synced. */
void story_change_pod(World *world, const char *label);
void story_restart_kubelet(World *world);
/* Returns: (borrowed): the only volume of the node; NULL: there is none */
NodeVolume *story_volume(World *world);
/* @what: as in the log */
void story_assert_calls(World *world, const char *what, unsigned n);
void story_assert_event(World *world, const char *pod, const char *text);
