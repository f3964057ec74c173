/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/attach-detach-controller/attach-detach-controller.h"
#include "models/attach-detach-controller/state.h"
#include "tests/lib/storage-world.h"

/* The world of stories about the attach/detach controller: volumes of one driver, and no other
 * controller. Commits play users, kubelets and the attacher. */

#define DRIVER "hostpath.csi.k8s.io"
#define UNIQUE(handle) "kubernetes.io/csi/" DRIVER "^" handle
/* ADC-V1, ADC-V2: of volume vol-1. */
#define VA_1 "va/csi-a5a2e67339ab5660a390dc86be397e784322823ff01f40cf2c01a72c3cab1374"
#define VA_2 "va/csi-de92e057dcc6e2a31722562aac96e242269f00b90d7b9b9aff22075d21627d9e"
#define ATTACH_1 "POST " VA_1
#define ATTACH_2 "POST " VA_2
#define DETACH_1 "PATCH/st node/node-1, GET node/node-1, DELETE " VA_1
#define TELL_1 "PATCH/st node/node-1"
#define TELL_2 "PATCH/st node/node-2"

typedef struct {
    gboolean attached;
    const char *error;
} AttachAnswer;

const char *word(const StorageWorld *world, const char *text);
ObjectKey *key(const StorageWorld *world, ObjectKind kind, const char *name);
void go_on(StorageWorld *world, SimTime time);
const StringList *list(const StorageWorld *world, const char *item);
void create_node(StorageWorld *world, const char *name, const char *attached, const char *in_use);
void bind_claim(StorageWorld *world, const char *claim, const char *volume);
void create_reserved_as(StorageWorld *world,
                        const char *claim_name,
                        const char *name,
                        const char *handle,
                        AccessModes modes);
void create_reserved(StorageWorld *world, AccessModes modes);
void create_bound(StorageWorld *world, AccessModes modes);
void create_pod(StorageWorld *world, const char *name, const char *node);
void set_phase(StorageWorld *world, const char *pod, uint32_t phase);
void remove_pod(StorageWorld *world, const char *pod);
ObjectKey *attachment(const StorageWorld *world, const char *name);
void attacher_says(StorageWorld *world, const char *name, gboolean attached, const char *error);
void attacher_holds(StorageWorld *world, const char *name);
void attacher_lets_go(StorageWorld *world, const char *name);
void kubelet_uses(StorageWorld *world, const char *node, const char *volume);
const Node *stored_node(const StorageWorld *world, const char *name);
void attached_pod(StorageWorld *world);
void import_attachment(StorageWorld *world, const char *name, const char *node, gboolean attached);
gboolean edit_lost(Object *object, const void *arg);
gboolean edit_detach_error(Object *object, const void *arg);
gboolean edit_not_ready(Object *object, const void *arg);
gboolean edit_out_of_service(Object *object, const void *arg);
gboolean edit_attached(Object *object, const void *arg);

/* What the controller believes. */
AttachDetachController *controller_of(const StorageWorld *world);
const AttachPair *pair_of(const StorageWorld *world, const char *handle, const char *node);
void
assert_state(const StorageWorld *world, const char *node, AttachState state, gboolean is_reported);
gboolean is_desired(const StorageWorld *world, const char *handle, const char *node);
unsigned count(const char *log, const char *what);
void assert_calls(StorageWorld *world, unsigned n_attach, unsigned n_detach);
/* What others do. */
void node_is_gone(StorageWorld *world, const char *node);
void driver_object(StorageWorld *world, gboolean attach_required);
void attacher_attaches_all(StorageWorld *world);
void create_claims(StorageWorld *world, const char *const *names, AccessModes modes);
void pod_with_claim(StorageWorld *world, const char *name, const char *claim, const char *node);
void
pod_with_claims(StorageWorld *world, const char *name, const char *const *claims, const char *node);
