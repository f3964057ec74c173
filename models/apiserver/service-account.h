/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "store.h"

/* The plugin ServiceAccount: the account of a pod, and the volume with its token (API-195). No
 * model reads either, so a run does without them; what prints a pod for clients asks for them here.
 */

/* Returns: (nullable) (borrowed): the ServiceAccount @name; %NULL: "default" */
const Object *service_account_find(const ApiStore *store, const char *namespace, const char *name);
/* API-196: whether the account that @pod names exists. Returns: API_OK, or API_FORBIDDEN with words
 * in @message */
ApiCode service_account_admit(const ApiStore *store, const Pod *pod, GString *message);

typedef struct {
    const ObjectKey *key;  /* of the pod */
    ObjectUid uid;         /* the suffix of the volume's name is made of it */
    const json_t *account; /* (nullable): the ServiceAccount; %NULL: one without any settings */
    int minor;             /* of the release */
} ServiceAccountOptions;

/* @spec: a pod's, in JSON: gets what it lacks. A pod that a client has written with its volume and
 * mounts stays as it is. */
void service_account_complete(json_t *spec, const ServiceAccountOptions *options);
/* @spec: of a pod without that volume, changed by a patch that was made of a completed one: gets
 * the volume if it has the mounts. */
void service_account_mend(json_t *spec, int minor);
