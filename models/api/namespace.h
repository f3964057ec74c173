/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "workload.h"

/* Namespaces. A namespace without an object also exists, for the whole run: only a namespace that
 * the scenario makes can be deleted. */

typedef enum {
    NAMESPACE_ACTIVE,
    NAMESPACE_TERMINATING,
} NamespacePhase;

/* Conditions of a deletion, in the order in which the controller sets them. */
typedef enum {
    NAMESPACE_DISCOVERY_FAILURE,
    NAMESPACE_PARSING_FAILURE,
    NAMESPACE_CONTENT_FAILURE,
    NAMESPACE_CONTENT_REMAINING,
    NAMESPACE_FINALIZERS_REMAINING,
    N_NAMESPACE_CONDITIONS,
} NamespaceConditionType;

typedef struct {
    Object meta;
    StringList *finalizers; /* spec.finalizers: while there are any, its deletion goes on */
    uint32_t phase;         /* NamespacePhase */
    WorkloadCondition conditions[N_NAMESPACE_CONDITIONS];
} Namespace;

/* spec.finalizers of each new namespace: the namespace controller's. */
#define FINALIZER_KUBERNETES "kubernetes"
#define LABEL_NAMESPACE_NAME "kubernetes.io/metadata.name"

#define NAMESPACE(object) ((Namespace *)(object))
#define NAMESPACE_CONST(object) ((const Namespace *)(object))
