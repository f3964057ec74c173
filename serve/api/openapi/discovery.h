/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/resources.h"
#include "models/api/schema/schema.h"

/* What a server serves, as discovery tells it. */

typedef struct CustomResources CustomResources;

/* What a server serves. */
typedef struct {
    int minor; /* of the release; 0: of all of them */
    gboolean (*serves)(const ApiResource *resource, const void *data); /* NULL: what the release has
                                                                          turned on */
    const void *data;
    const CustomResources *custom; /* NULL: none */
} ServedApis;

/* Each returns (owned) a document. @legacy: of the legacy group (/api), else of all others. */
json_t *discovery_aggregated(const ServedApis *served, gboolean legacy); /* /api, /apis: v2 */
json_t *discovery_api_versions(const char *server_address);              /* /api: APIVersions */
json_t *discovery_groups(const ServedApis *served);                      /* /apis: APIGroupList */
/* /apis/@group: APIGroup; %NULL: there is no such group */
json_t *discovery_group(const ServedApis *served, const char *group);
/* /api/v1, /apis/@group/@version: APIResourceList; %NULL: there is no such version */
json_t *discovery_resources(const ServedApis *served, const char *group, const char *version);
