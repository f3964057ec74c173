/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "clock.h"

/* What clients do to a served run. Each write is an action of a workload at its own instant,
 * carried out by the run as if its scenario had it; so the scenario with these actions gives the
 * same bytes again. With a file, the record is written there as it grows. */
typedef struct ServeSession ServeSession;

typedef struct {
    Run *run;                /* (borrowed) */
    ServeClock *clock;       /* (borrowed) */
    const char *scenario;    /* its file: faults are read against it */
    ScenarioOptions options; /* (borrowed): with which it was loaded */
    const char *record;      /* the file to write; NULL: none */
} ServeSessionOptions;

/* Returns: (owned): %NULL with @error if the file cannot be written */
ServeSession *serve_session_new(const ServeSessionOptions *options, GError **error);
/* Answers all that wait for an answer: the server goes. */
void serve_session_cancel(ServeSession *self);
/* After run_free(), which borrows the actions. */
void serve_session_free(ServeSession *self);

/* Told of the answer, once; @response: borrowed. */
typedef void (*SessionAnswered)(void *data, const ApiResponse *response);
/* @object: (taken): checked already: the run's parser takes it */
void serve_session_create(ServeSession *self, json_t *object, SessionAnswered answered, void *data);

typedef struct {
    ObjectKind kind;
    const char *namespace; /* "" for kinds without */
    const char *name;
    const char *group, *api_version, *kind_name; /* KIND_OTHER: of the resource; else NULL */
} SessionTarget;
/**
 * serve_session_patch:
 * @edit: asked at the instant of the commit for a merge patch of @object (owned); %NULL: it is
 * refused, and the answer is its caller's own
 */
void serve_session_patch(ServeSession *self,
                         const SessionTarget *target,
                         ScenarioSubresource subresource,
                         json_t *(*edit)(void *data, const Object *object),
                         SessionAnswered answered,
                         void *data);
/* POST pods/binding. */
void serve_session_bind(ServeSession *self,
                        const SessionTarget *target,
                        const char *node,
                        SessionAnswered answered,
                        void *data);
/* @grace_s: -1: the object's own */
void serve_session_delete(ServeSession *self,
                          const SessionTarget *target,
                          int32_t grace_s,
                          ApiPropagation propagation,
                          SessionAnswered answered,
                          void *data);
void serve_session_evict(ServeSession *self,
                         const SessionTarget *target,
                         int32_t grace_s,
                         SessionAnswered answered,
                         void *data);
/**
 * serve_session_act:
 * @list: "faults" or "workload"
 * @item: (borrowed): an item of that list, without `at`
 * Begins an action that has no answer, now.
 * Returns: %FALSE with @error: it is none
 */
gboolean
serve_session_act(ServeSession *self, const char *list, const json_t *item, GError **error);

/* Ends a fault that serve_session_act() began, now; the record tells how long it lasted. @number:
 * as in run_faults(). Returns: %FALSE with @error */
gboolean serve_session_end_fault(ServeSession *self, unsigned number, GError **error);

/* Writes the session into a file from now on. Returns: %FALSE with @error */
gboolean serve_session_record(ServeSession *self, const char *path, GError **error);
/* Returns: (owned): the session so far as a scenario file, which ends now */
char *serve_session_text(const ServeSession *self);
/* Returns: (owned): the same with the acts up to @at alone, and with the scenario's own end */
char *serve_session_text_until(const ServeSession *self, SimTime at);
/* Returns: (borrowed): the scenario of the session, without its acts */
const Scenario *serve_session_base(const ServeSession *self);
/* Takes over the acts of another session up to @at, which the run's scenario has already. Its base,
 * the scenario without any act, is borrowed from @from. */
void serve_session_inherit(ServeSession *self, const ServeSession *from, SimTime at);
/* Returns: (owned): the acts and faults so far, as items of a scenario with the member "at" */
json_t *serve_session_items(const ServeSession *self);
/* Writes the present as the end into the record. Returns: %FALSE with @error */
gboolean serve_session_finish(ServeSession *self, GError **error);
