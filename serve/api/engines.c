/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs behind one server: the present, a look at the past, and the next present, for one
 * scenario or for two side by side. The past is the session up to now, run again from its start,
 * since a run cannot go back; a branch makes such a past the new present. A request that moves time
 * waits until each lane is at the instant. An engine that clients still watch is kept until they
 * are gone. */
#include "engines.h"

#include <string.h>

#include "api-private.h"
#include "lessons.h"
#include "models/api/fields.h"

#define LANES_MAX 2

/* One scenario: as it is now, and as it was. */
typedef struct {
    ServeEngine *present; /* (owned) */
    ServeEngine *past;    /* (owned): NULL: nobody looks at it */
    ServeEngine *next;    /* (owned): takes the place of the present once it is there; NULL: none */
    Scenario *base;       /* (owned): of the present's session; NULL: the present's own scenario */
} Lane;

struct ServeEngines {
    Lane lanes[LANES_MAX];
    unsigned n_lanes;
    GPtrArray *retired; /* of ServeEngine (owned): clients still have watches there */
    const char *record;
    char *origin;      /* the scenario from which the present began ... */
    char *next_origin; /* ... and the next one will */
};

/* A request that waits until an engine of each lane is at some instant. */
typedef struct {
    ServeEngines *self;
    Exchange *exchange; /* (owned) */
    unsigned n_left;
    gboolean is_branch;
} Move;

/* ---- The past ---- */

static void
forget(ServeEngine **engine)
{
    ServeEngine *old = g_steal_pointer(engine); /* the waiting requests see that it is gone */

    if (old != NULL)
        serve_engine_retire(old);
    serve_engine_free(old);
}

static SimTime
now_of(const ServeEngine *engine)
{
    return sim_now(run_sim(engine->run));
}

/* Makes the past again (the run up to now, from its start), unless an engine exists that is before
 * @at. */
static gboolean
look_back(Lane *lane, SimTime at, GError **error)
{
    ServeEngineOptions options = lane->present->options;

    if (lane->past != NULL && now_of(lane->past) <= at)
        return TRUE;
    forget(&lane->past);
    g_autofree char *text = serve_session_text(lane->present->session);
    options.is_past = TRUE;
    lane->past = serve_engine_new_from_text(&options, text, error);
    if (lane->past == NULL)
        return FALSE;
    serve_clock_set_end(lane->past->clock, now_of(lane->present));
    return TRUE;
}

/* ---- A branch: the past becomes the present ---- */

static gboolean
make_next(Lane *lane, SimTime at, GError **error)
{
    g_autofree char *text = serve_session_text_until(lane->present->session, at);

    lane->next = serve_engine_new_from_text(&lane->present->options, text, error);
    if (lane->next == NULL)
        return FALSE;
    serve_session_inherit(lane->next->session, lane->present->session, at);
    return TRUE;
}

/* Nobody needs the base any more; an engine that is watched still does. */
static void
drop_base(ServeEngines *self, Lane *lane)
{
    Scenario *base = g_steal_pointer(&lane->base);

    for (unsigned i = 0; i < self->retired->len; i++) {
        ServeEngine *engine = self->retired->pdata[i];
        if (engine->scenario != base)
            continue;
        engine->keeps_scenario = FALSE;
        return;
    }
    scenario_free(base);
}

/* Ends the present for another one. A branch's session goes on from the scenario with which the
 * first present began. */
static void
replace_present(ServeEngines *self, Lane *lane)
{
    ServeEngine *old = g_steal_pointer(&lane->present);

    lane->present = g_steal_pointer(&lane->next);
    const Scenario *base = serve_session_base(lane->present->session);
    if (base == old->scenario) {
        lane->base = old->scenario;
        old->keeps_scenario = TRUE;
    } else if (base != lane->base) {
        drop_base(self, lane);
    }
    serve_engine_retire(old);
    g_ptr_array_add(self->retired, old);
    forget(&lane->past);
}

/* Frees the engines without watches. Not while one of them is at work. */
static void
free_retired(ServeEngines *self)
{
    for (unsigned i = self->retired->len; i-- > 0;) {
        const ServeEngine *engine = self->retired->pdata[i];
        if (serve_api_n_watches(engine->api) == 0)
            g_ptr_array_remove_index_fast(self->retired, i);
    }
}

static void
take_next(ServeEngines *self)
{
    for (unsigned i = 0; i < self->n_lanes; i++)
        replace_present(self, &self->lanes[i]);
    if (self->next_origin != NULL) {
        g_free(self->origin);
        self->origin = g_steal_pointer(&self->next_origin);
    }
    if (self->n_lanes > 1)
        serve_clock_follow(self->lanes[1].present->clock, self->lanes[0].present->clock);
    if (self->record != NULL) /* an error comes again at the end of the session */
        serve_session_record(self->lanes[0].present->session, self->record, NULL);
}

/* ---- Moves ---- */

static void
move_done(Move *move)
{
    Lane *lane = &move->self->lanes[0], *other = &move->self->lanes[1];

    if (!move->is_branch && lane->past != NULL && other->past != NULL)
        serve_clock_follow(other->past->clock, lane->past->clock);
    if (move->is_branch && lane->next != NULL) {
        take_next(move->self);
        exchange_answer_json(move->exchange, 200, own_clock_json(lane->present->api));
    } else if (!move->is_branch && lane->past != NULL)
        exchange_answer_json(move->exchange, 200, own_clock_json(lane->past->api));
    else
        exchange_refuse(move->exchange, 409, "somebody else has moved the clock meanwhile");
    exchange_unref(move->exchange);
    g_free(move);
}

static void
on_reached(void *data, gboolean is_met)
{
    Move *move = data;

    (void)is_met;
    if (--move->n_left == 0)
        move_done(move);
}

/* Reads {"at": "42s"}. Returns: %FALSE: it is refused */
static gboolean
read_at(const ServeEngines *self, Exchange *exchange, SimTime *at)
{
    json_t *refusal = NULL;
    json_auto_t *body = body_read(exchange, NULL, &refusal);
    g_autoptr(GError) error = NULL;

    if (body == NULL) {
        exchange_answer_json(exchange, 400, refusal);
        return FALSE;
    }
    const char *text = json_path_string(body, "at");
    if (text == NULL || !sim_time_parse(text, at, &error) || *at < 0 ||
        *at > now_of(self->lanes[0].present)) {
        exchange_refuse(exchange, 400,
                        error != NULL ? error->message
                                      : "at: an instant of the past, such as \"42s\"");
        return FALSE;
    }
    return TRUE;
}

/* Forgets what was made for a move that cannot be. */
static void
give_up(ServeEngines *self, Exchange *exchange, const GError *error)
{
    for (unsigned i = 0; i < self->n_lanes; i++) {
        forget(&self->lanes[i].past);
        forget(&self->lanes[i].next);
    }
    g_clear_pointer(&self->next_origin, g_free);
    exchange_refuse(exchange, 500, error->message);
}

/* Waits for an engine of each lane to be at @at. */
static void
move_to(ServeEngines *self, Exchange *exchange, SimTime at, gboolean is_branch)
{
    const ClockGoal goal = {.until = at};
    Move *move = g_new0(Move, 1);

    *move = (Move){self, exchange_ref(exchange), self->n_lanes, is_branch};
    for (unsigned i = 0; i < self->n_lanes; i++) {
        const Lane *lane = &self->lanes[i];
        serve_clock_seek((is_branch ? lane->next : lane->past)->clock, &goal, on_reached, move);
    }
}

static void
put_past(ServeEngines *self, Exchange *exchange)
{
    g_autoptr(GError) error = NULL;
    SimTime at;

    if (!read_at(self, exchange, &at))
        return;
    for (unsigned i = 0; i < self->n_lanes; i++)
        if (!look_back(&self->lanes[i], at, &error)) {
            give_up(self, exchange, error);
            return;
        }
    for (unsigned i = 0; i < self->n_lanes; i++)
        serve_clock_set_speed(self->lanes[i].past->clock, 0);
    move_to(self, exchange, at, FALSE);
}

static void
post_branch(ServeEngines *self, Exchange *exchange)
{
    g_autoptr(GError) error = NULL;
    SimTime at;

    if (self->lanes[0].next != NULL) {
        exchange_refuse(exchange, 409, "a branch is being made already");
        return;
    }
    if (!read_at(self, exchange, &at))
        return;
    for (unsigned i = 0; i < self->n_lanes; i++)
        if (!make_next(&self->lanes[i], at, &error)) {
            give_up(self, exchange, error);
            return;
        }
    move_to(self, exchange, at, TRUE);
}

void
serve_engines_open(ServeEngines *self, Exchange *exchange, const char *file, SimTime at)
{
    Lane *lane = &self->lanes[0];
    g_autoptr(GError) error = NULL;

    if (self->record != NULL || self->n_lanes > 1 || lane->next != NULL) {
        exchange_refuse(exchange, 409,
                        "this server has --record or a variant, or opens something else: "
                        "start one without these");
        return;
    }
    lane->next = serve_engine_new_from_file(&lane->present->options, file, &error);
    if (lane->next == NULL) {
        give_up(self, exchange, error);
        return;
    }
    self->next_origin = g_strdup(file);
    move_to(self, exchange, at, TRUE);
}

static void
delete_past(ServeEngines *self, Exchange *exchange)
{
    for (unsigned i = 0; i < self->n_lanes; i++)
        forget(&self->lanes[i].past);
    exchange_answer_json(exchange, 200, own_clock_json(self->lanes[0].present->api));
}

/* ---- Which runs there are ---- */

static void
get_runs(ServeEngines *self, Exchange *exchange)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < self->n_lanes; i++) {
        const Lane *lane = &self->lanes[i];
        const char *title = lane->present->options.title;
        json_t *run = json_pack("{s:s, s:s, s:b}", "path", i == 0 ? "" : "/versus", "name",
                                lane->present->scenario->name, "hasPast", lane->past != NULL);
        if (title != NULL)
            json_object_set_new(run, "title", json_string(title));
        json_array_append_new(list, run);
    }
    exchange_answer_json(exchange, 200, json_pack("{s:o}", "runs", list));
}

static const struct {
    const char *path, *method;
    void (*answer)(ServeEngines *self, Exchange *exchange);
} ways[] = {
    {"/kvolsim/v1/past",   "PUT",    put_past   },
    {"/kvolsim/v1/past",   "DELETE", delete_past},
    {"/kvolsim/v1/branch", "POST",   post_branch},
    {"/kvolsim/v1/runs",   "GET",    get_runs   },
};

/* Returns: whether the request is about the runs, and is answered */
static gboolean
answer_way(ServeEngines *self, Exchange *exchange)
{
    gboolean is_known = FALSE;

    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (strcmp(exchange->request.path, ways[i].path) != 0)
            continue;
        is_known = TRUE;
        if (strcmp(exchange->request.method, ways[i].method) != 0)
            continue;
        ways[i].answer(self, exchange);
        return TRUE;
    }
    if (is_known)
        exchange_answer_json(exchange, 405, status_method_not_allowed());
    return is_known;
}

/* Takes "/past" from the front of a path. Returns: whether it was there */
static gboolean
take_prefix(Exchange *exchange, const char *prefix)
{
    char *path = (char *)exchange->request.path;
    gsize length = strlen(prefix);

    if (strncmp(path, prefix, length) != 0 || path[length] != '/')
        return FALSE;
    memmove(path, path + length, strlen(path + length) + 1);
    return TRUE;
}

void
serve_engines_handle(ServeEngines *self, Exchange *exchange)
{
    free_retired(self);
    if (answer_way(self, exchange) || lessons_answer(self, exchange))
        return;
    unsigned i = take_prefix(exchange, "/versus") ? 1 : 0;
    gboolean is_past = take_prefix(exchange, "/past");
    const Lane *lane = &self->lanes[i];
    const ServeEngine *engine = is_past ? lane->past : lane->present;

    if (engine == NULL)
        exchange_refuse(exchange, 404,
                        is_past ? "nobody looks at the past: PUT /kvolsim/v1/past {\"at\": \"42s\"}"
                                : "there is no variant (--versus, --versus-set)");
    else
        serve_api_handle(engine->api, exchange);
}

/* ---- The whole ---- */

ServeEngines *
serve_engines_new(ServeEngine *present, ServeEngine *variant, const char *record, GError **error)
{
    ServeEngines *self = g_new0(ServeEngines, 1);

    *self = (ServeEngines){
        .lanes = {{.present = present}, {.present = variant}},
        .n_lanes = variant != NULL ? 2 : 1,
        .retired = g_ptr_array_new_with_free_func((GDestroyNotify)serve_engine_free),
        .record = record,
        .origin = g_strdup(present->file),
    };
    if (variant != NULL)
        serve_clock_follow(variant->clock, present->clock);
    if (record != NULL && !serve_session_record(present->session, record, error))
        g_clear_pointer(&self, serve_engines_free);
    return self;
}

void
serve_engines_cancel(ServeEngines *self)
{
    for (unsigned i = 0; i < self->n_lanes; i++) {
        forget(&self->lanes[i].next);
        forget(&self->lanes[i].past);
    }
    for (unsigned i = 0; i < self->n_lanes; i++)
        serve_session_cancel(self->lanes[i].present->session);
}

void
serve_engines_free(ServeEngines *self)
{
    if (self == NULL)
        return;
    for (unsigned i = self->n_lanes; i-- > 0;) {
        serve_engine_free(self->lanes[i].next);
        serve_engine_free(self->lanes[i].past);
        serve_engine_free(self->lanes[i].present);
    }
    g_ptr_array_unref(self->retired);
    for (unsigned i = 0; i < self->n_lanes; i++)
        scenario_free(self->lanes[i].base);
    g_free(self->origin);
    g_free(self->next_origin);
    g_free(self);
}

const char *
serve_engines_origin(const ServeEngines *self)
{
    return self->origin;
}

ServeEngine *
serve_engines_present(const ServeEngines *self)
{
    return self->lanes[0].present;
}
