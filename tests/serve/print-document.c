/* SPDX-License-Identifier: GPL-3.0-or-later */
/* print-document PATH [MINOR]: prints what a server of Kubernetes 1.MINOR (of all releases, without
 * it) answers to GET PATH about itself: discovery, OpenAPI.
 * For comparisons with real servers, and for serving the documents to a real kubectl. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/api/openapi/openapi.h"

static json_t *
document_at(const char *path, int minor)
{
    const ServedApis served = {.minor = minor};
    g_auto(GStrv) parts = g_strsplit(path + 1, "/", -1);
    guint n = g_strv_length(parts);

    if (strcmp(path, "/api") == 0 || strcmp(path, "/apis") == 0)
        return discovery_aggregated(&served, path[4] == '\0');
    if (strcmp(path, "/openapi/v2") == 0)
        return openapi_v2(&served);
    if (strcmp(path, "/openapi/v3") == 0)
        return openapi_v3_index(&served);
    if (g_str_has_prefix(path, "/openapi/v3/"))
        return openapi_v3_document(&served, path + strlen("/openapi/v3/"));
    if (n == 2 && strcmp(parts[0], "api") == 0)
        return discovery_resources(&served, "", parts[1]);
    return n == 3 ? discovery_resources(&served, parts[1], parts[2])
                  : discovery_group(&served, parts[n - 1]);
}

int
main(int argc, char **argv)
{
    int minor = argc == 3 ? atoi(argv[2]) : 0;
    json_t *document = argc >= 2 && *argv[1] == '/' ? document_at(argv[1], minor) : NULL;

    if (document == NULL) {
        fprintf(stderr, "usage: print-document /api|/apis|/openapi/v3|... [MINOR]\n");
        return 2;
    }
    json_dumpf(document, stdout, JSON_COMPACT);
    json_decref(document);
    return 0;
}
