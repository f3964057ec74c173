/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "call.h"
#include "watch.h"

/* Faults that last for a while. A server has no ApiTrouble until the first one. */
typedef struct ApiTrouble ApiTrouble;

/* Trouble lets calls go on, or refuses them. */
typedef struct {
    /* The call waited for a seat, and goes on now. */
    void (*go_on)(ApiCall *call);
    /* The call is answered after @delay and has no effect. */
    void (*refuse)(ApiCall *call, ApiCode code, const char *message, SimTime delay);
    void (*free)(void *call);
} ApiCallClass;

ApiTrouble *trouble_new(Sim *sim, WatchHub *watches, const ApiCallClass *calls);
void trouble_free(ApiTrouble *self);
/* Down: watches break, and waiting calls are refused; up again: watches are listed anew. */
void trouble_set_down(ApiTrouble *self, gboolean is_down);
gboolean trouble_is_down(const ApiTrouble *self);
void trouble_set_seats(ApiTrouble *self, unsigned seats); /* 0: no limit */
uint64_t trouble_n_turned_away(const ApiTrouble *self);

/* Returns: whether the call that has just arrived waits or is refused */
gboolean trouble_meets_arrival(ApiTrouble *self, ApiCall *call);
/* Returns: whether the call is lost before its commit */
gboolean trouble_loses(const ApiTrouble *self, ApiCall *call);
/* The call is answered: its answer may be lost, and its seat is free. */
void trouble_meets_response(ApiTrouble *self, ApiCall *call);
