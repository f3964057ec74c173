/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sanity.h"

/* The state of a check. After the first failure the other steps of the check do nothing, and
 * strings are NULL. */
typedef struct {
    const CsiSanityBackEnd *back_end;
    CsiPluginCapabilities plugin;
    CsiControllerCapabilities controller;
    CsiNodeCapabilities node;
    const char *node_id;
    int max_volumes_per_node;
    StringMap *topology;     /* of the node */
    const CsiResponse *last; /* the answer to the last call; not after a failure */
    GArray *undo;            /* of CsiRequest, in the order of what they undo */
    unsigned n_names;
    gboolean failed;
    GString *why;
} Sanity;

/* The parts of a request beside its method. */
typedef enum {
    GIVES_NAME = 1 << 0,
    GIVES_UNKNOWN_VOLUME = 1 << 1,
    GIVES_UNKNOWN_NODE = 1 << 2,
    GIVES_NODE = 1 << 3,
    GIVES_CAPABILITY = 1 << 4,
    GIVES_SIZE = 1 << 5,
    GIVES_STAGING = 1 << 6,
    GIVES_TARGET = 1 << 7,
    GIVES_UNKNOWN_SNAPSHOT = 1 << 8,
    GIVES_MUTABLE = 1 << 9,
    GIVES_FROM_UNKNOWN_SNAPSHOT = 1 << 10,
    GIVES_FROM_UNKNOWN_VOLUME = 1 << 11,
    GIVES_BAD_TOKEN = 1 << 12,
    GIVES_UNKNOWN_GROUP = 1 << 13,
} SanityGifts;

/* A row of the list. The capabilities it needs are one mask: see CONTROLLER() and NODE(). It is
 * either one request and the code that must answer it, or a function. */
typedef struct {
    const char *name;
    uint64_t needs;
    CsiMethod method;
    unsigned gives; /* SanityGifts */
    CsiCode code;
    void (*run)(Sanity *self);
} SanityCheck;

#define CONTROLLER(capability) ((uint64_t)(capability))
#define NODE(capability) ((uint64_t)(capability) << 32)
/* csi.h has no group calls: a back end that claims them fails their checks. */
#define GROUP_SERVICE (UINT64_C(1) << 48)
/* a limit of the node, and permission to reach it */
#define NODE_LIMIT (UINT64_C(1) << 49)

extern const SanityCheck sanity_checks[];
extern const unsigned sanity_n_checks;

/* Of sanity.c */

/* Fails the check; only the first failure is reported. */
void sanity_fail(Sanity *self, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Fails unless @holds. */
void sanity_expect(Sanity *self, gboolean holds, const char *what);
const char *sanity_new_name(Sanity *self);
CsiRequest sanity_request(Sanity *self, CsiMethod method, unsigned gives);
/* Makes the call: fails unless it is answered with @code. Its effect is noted, and undone at the
 * end. */
void sanity_call(Sanity *self, const CsiRequest *request, CsiCode code);

/* Steps that must succeed. Ids returned are interned. */
const char *sanity_create(Sanity *self);
const char *sanity_snapshot(Sanity *self, const char *volume);
void sanity_attach(Sanity *self, const char *volume);
void sanity_stage(Sanity *self, const char *volume);
void sanity_publish(Sanity *self, const char *volume);
void sanity_delete(Sanity *self, const char *volume);
void sanity_delete_snapshot(Sanity *self, const char *snapshot);
void sanity_detach(Sanity *self, const char *volume);
void sanity_unstage(Sanity *self, const char *volume);
void sanity_unpublish(Sanity *self, const char *volume);
/* Attached, staged and published, each if the back end has it. */
const char *sanity_create_and_publish(Sanity *self);
void sanity_attach_and_publish(Sanity *self, const char *volume);
gboolean sanity_attaches(const Sanity *self);
gboolean sanity_stages(const Sanity *self);
