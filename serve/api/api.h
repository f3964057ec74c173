/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "exchange.h"
#include "run/teach/narrator.h"
#include "run/why/why.h"
#include "session.h"

/* Kubernetes' API of a served run, and kvolsim's own below /kvolsim/v1/. Knows no sockets: a server
 * hands it exchanges. */
typedef struct ServeApi ServeApi;

/* Returns: a function that translates texts into a language, "zh"; %NULL: they stay English. It
 * holds until the next call. @name: NULL: English */
typedef const char *(*Translate)(const char *english);
typedef Translate (*ServeLanguage)(const char *name);

typedef struct {
    Run *run; /* (borrowed), as the next two */
    ServeClock *clock;
    ServeSession *session;
    const Narrator *narrator; /* (borrowed); NULL: nobody tells the run */
    const WhyCalls *calls;    /* (borrowed): what drivers refuse */
    const char *address;      /* "127.0.0.1:8001": where the server is */
    ServeLanguage language;   /* NULL: all texts are English */
    gboolean is_past;         /* it is looked at: only its clock can be changed */
} ServeApiOptions;

/* Returns: (owned) */
ServeApi *serve_api_new(const ServeApiOptions *options);
/* After all exchanges are over. */
void serve_api_free(ServeApi *self);

/* Answers a request, now or later. */
void serve_api_handle(ServeApi *self, Exchange *exchange);
/* Another run replaces this run: its watches end, and their clients list again. */
void serve_api_retire(ServeApi *self);
/* Returns: how many watches there are */
unsigned serve_api_n_watches(const ServeApi *self);

/* The longest body of a request, in bytes: etcd's limit for one object. */
#define SERVE_BODY_MAX (3 * 1024 * 1024)
/* How many watches there may be at once. */
#define SERVE_WATCHES_MAX 10000
