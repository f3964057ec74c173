/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi.h"

/* The checks of csi-sanity 5.3 (SAN-1 to SAN-24), for any back end behind csi.h: fill in a
 * CsiSanityBackEnd, then run the checks one after the other. Nothing here uses a clock or
 * cmocka. */

typedef struct {
    /* Makes the call and waits for its answer. Returns: (borrowed): the answer, valid until the
     * next call. */
    const CsiResponse *(*call)(void *data, const CsiRequest *request);
    /* Directories that the caller of a node plugin makes and removes. Each may be NULL: then paths
     * are only names. make: with all parents, may exist already; remove: may be gone already. */
    gboolean (*make_directory)(void *data, const char *path);
    void (*remove_directory)(void *data, const char *path);
    gboolean (*path_exists)(void *data, const char *path);
    void *data;
    Strings *strings;      /* of the back end's run */
    const char *node_name; /* the node that serves node calls; interned */
    /* of the paths: DIRECTORY/staging and DIRECTORY/target; made and removed by each check */
    const char *directory;
    /* begins the names of all volumes and snapshots; no two runs of the checks on one back end at
     * once */
    const char *name_prefix;
    CsiCapability capability; /* of the volumes */
    int64_t volume_bytes;     /* of each */
    int64_t expand_bytes;     /* the addition */
    unsigned n_repeats;       /* for checks of idempotency */
    const StringMap *parameters;
    /* NULL: the checks that need some are skipped */
    const StringMap *mutable_parameters;
    gboolean has_secrets;
    /* fill a node up to its limit (a volume each): opt-in, as there */
    gboolean tries_node_limit;
} CsiSanityBackEnd;

/* The defaults of csi-sanity (SAN-25): 10 GiB and 1 GiB more, mounted, SINGLE_NODE_WRITER, 10
 * repeats. The first seven fields are the caller's. */
void csi_sanity_back_end_init(CsiSanityBackEnd *back_end);

typedef enum {
    CSI_SANITY_PASSED,
    CSI_SANITY_FAILED,
    CSI_SANITY_SKIPPED, /* the back end lacks a capability */
} CsiSanityResult;

unsigned csi_sanity_n_checks(void);
const char *csi_sanity_check_name(unsigned i); /* "SAN-6 unknown id" */

/* Does check @i, and undoes what it did, last first. @why: the failure, or the missing capability,
 * is appended */
CsiSanityResult csi_sanity_check(unsigned i, const CsiSanityBackEnd *back_end, GString *why);
