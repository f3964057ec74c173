/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "apiserver.h"

/* A request under way. */
typedef struct {
    /* freed before pending calls at the end of a run: do not use it to free a call */
    ApiServer *server;
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
