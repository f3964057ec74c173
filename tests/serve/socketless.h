/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "serve/api/api.h"

/* A served cluster without sockets: requests are function calls. Each must be answered once, with a
 * code of HTTP and, if it says so, with JSON; else the process ends. This file has an
 * exchange_unref() of its own, so http.c stays out of programs that use it. */
typedef struct Socketless Socketless;

/* @file: a scenario, which must be sound. Returns: (owned) */
Socketless *socketless_new(const char *file);
void socketless_free(Socketless *self);

/* Sends a request and waits for its answer, or for the start of a stream. @request: its path, query
 * and body are (taken). Returns: the code; 0: a stream */
unsigned socketless_send(Socketless *self, ExchangeRequest request);
/* Returns: (owned): the JSON of the last answer; NULL: it was none */
json_t *socketless_answer(const Socketless *self);
/* Clients of streams take some lines; each @end_one_in-th goes, drawn from @random. */
void socketless_take_streams(Socketless *self, GRand *random, int end_one_in);
/* Time stands still. */
void socketless_stop_clock(Socketless *self);
