/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

static const Field service_fields[] = {
    FIELD("spec.selector", field_labels, Service, selector, FIELD_SPEC),
    FIELDS_END,
};

static const char *const service_ignored[] = {
    IGNORED_ALWAYS,
    "spec.allocateLoadBalancerNodePorts",
    "spec.clusterIP",
    "spec.clusterIPs",
    "spec.externalIPs",
    "spec.externalName",
    "spec.externalTrafficPolicy",
    "spec.healthCheckNodePort",
    "spec.internalTrafficPolicy",
    "spec.ipFamilies",
    "spec.ipFamilyPolicy",
    "spec.loadBalancerClass",
    "spec.loadBalancerIP",
    "spec.loadBalancerSourceRanges",
    "spec.ports",
    "spec.publishNotReadyAddresses",
    "spec.sessionAffinity",
    "spec.sessionAffinityConfig",
    "spec.trafficDistribution",
    "spec.type",
    "status",
    NULL,
};

const KindClass service_kind = {
    .kind = "Service",
    .api_version = "v1",
    .resource = "services",
    .size = sizeof(Service),
    .fields = service_fields,
    .namespaced = TRUE,
    .ignored = service_ignored,
};
