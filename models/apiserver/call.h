/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "apiserver.h"

/* A request under way. */
typedef struct {
    ApiServer *server; /* may be gone at the end of a run: not for freeing */
    SimMemory *memory;
    ApiRequest request;
    ApiReply reply;
    GDestroyNotify drop;
    void *data;
    SimTime arrived_at, responds_at;
    const Object *object; /* (owned): of the response; NULL: none */
    char *message;        /* (owned): of the response; NULL: none */
    ApiCode code;
    uint32_t n;        /* the request's number among those about its key: the n of its draws */
    gboolean has_seat; /* ApiTrouble's */
} ApiCall;
