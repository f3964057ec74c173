/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/volume.h"

/* The Secret that the parameters of a class name, for external-provisioner and external-snapshotter
 * alike: two templates, for its namespace and its name (SEC-1, SEC-2, SNAP-70). */

typedef struct {
    const char *what; /* "Provisioner": for messages */
    const char *name_key, *namespace_key;
    const char *old_name_key, *old_namespace_key; /* NULL: there are none */
} SecretKeys;

/**
 * SecretToken:
 * @token: of "${token}" in a template
 * @for_name: %FALSE: in the template of a namespace, where fewer tokens are known
 * Returns: (owned): its value; %NULL: there is no such token
 */
typedef char *(*SecretToken)(const void *data, const char *token, gboolean for_name);

/**
 * secret_find_templates:
 * @name, @namespace: (out): both %NULL if there is no pair
 * Returns: (owned) (nullable): why the pair is not sound
 */
char *secret_find_templates(const SecretKeys *keys,
                            const StringMap *parameters,
                            const char **name,
                            const char **namespace);
/**
 * secret_resolve_templates:
 * @reference: (out): interned; set only without an error
 * Returns: (owned) (nullable): why the templates make no reference
 */
char *secret_resolve_templates(Strings *strings,
                               const char *name,
                               const char *namespace,
                               SecretToken token,
                               const void *data,
                               SecretReference *reference);
