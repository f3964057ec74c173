/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/volume.h"

/* The secrets that a StorageClass names for the calls of its driver (SEC-1, SEC-2). */

typedef enum {
    SECRET_USE_DEFAULT, /* where no more specific one is given */
    SECRET_USE_PROVISIONER,
    SECRET_USE_CONTROLLER_PUBLISH, /* from here on in the order of VolumeSecret */
    SECRET_USE_NODE_STAGE,
    SECRET_USE_NODE_PUBLISH,
    SECRET_USE_CONTROLLER_EXPAND,
    SECRET_USE_NODE_EXPAND,
    N_SECRET_USES,
} SecretUse;

/* Whether a parameter of a class names a secret or its namespace. */
gboolean secret_key_is_known(const char *key);
/**
 * secret_resolve:
 * @claim, @annotations: (nullable): the claim, and its annotations: templates may name them
 * @reference: (out): its name is NULL if the class gives none
 * Returns: (owned) (nullable): why the parameters make no reference
 */
char *secret_resolve(Strings *strings,
                     SecretUse use,
                     const StringMap *parameters,
                     const char *volume_name,
                     const ObjectKey *claim,
                     const StringMap *annotations,
                     SecretReference *reference);
