/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /kvolsim/v1/: the simulator's own resources: its clock, and the answers of `why` (docs/serve.md).
 * A table has the paths; a POST is an action by hand, written like an item of a scenario. Questions
 * change nothing in the run. A PUT of the clock may name a goal, and its answer comes when the goal
 * is reached or cannot be. */
#include <string.h>

#include "api-private.h"
#include "models/api/fields.h"
#include "run/files/result-file.h"
#include "run/results/attribution.h"
#include "run/results/snapshot.h"
#include "run/teach/sequence.h"

/* ---- The clock ---- */

json_t *
own_clock_json(const ServeApi *self)
{
    const ServeClock *clock = self->options.clock;
    const Sim *sim = run_sim(self->options.run);
    double speed = serve_clock_speed(clock);
    g_autofree char *date = serve_store_now(self->store);
    char elapsed[SIM_TIME_BUFFER];

    return json_pack("{s:I, s:s, s:s, s:o, s:b, s:I}", "ns", (json_int_t)sim_now(sim), "elapsed",
                     sim_time_format(sim_now(sim), elapsed), "time", date, "speed",
                     speed >= SPEED_MAX ? json_string("max") : json_real(speed), "isOver",
                     serve_clock_is_over(clock), "events", (json_int_t)sim_events_fired(sim));
}

/* Somebody waits until the clock is somewhere. */
typedef struct {
    ServeApi *api;
    Exchange *exchange; /* (owned) */
    Condition *condition;
} ClockWait;

static void
on_reached(void *data, gboolean is_met)
{
    ClockWait *self = data;
    json_t *clock = own_clock_json(self->api);

    json_object_set_new(clock, "isMet", json_boolean(is_met));
    exchange_answer_json(self->exchange, 200, clock);
    exchange_unref(self->exchange);
    condition_free(self->condition);
    g_free(self);
}

/* "pod/web-0 Ready" */
static Condition *
read_condition(const char *text, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, " ", 2);

    return condition_parse(words[0] != NULL ? words[0] : "",
                           words[0] != NULL && words[1] != NULL ? words[1] : "", error);
}

/* Returns: FALSE with @error: the body has no goal that makes sense. @is_goal: (out): it has one */
static gboolean
read_goal(
    const ServeApi *self, const json_t *body, ClockGoal *goal, gboolean *is_goal, GError **error)
{
    const char *until = json_path_string(body, "until"), *lasts = json_path_string(body, "for"),
               *step = json_path_string(body, "step"),
               *condition = json_path_string(body, "condition");
    SimTime now = sim_now(run_sim(self->options.run)), time = SIM_TIME_MAX;

    *goal = (ClockGoal){.until = SIM_TIME_MAX};
    *is_goal = until != NULL || lasts != NULL || step != NULL || condition != NULL;
    if ((until != NULL && !sim_time_parse(until, &time, error)) ||
        (lasts != NULL && !sim_time_parse(lasts, &time, error)))
        return FALSE;
    if (lasts != NULL)
        time = sim_time_add(now, time);
    goal->until = time;
    goal->one_event = g_strcmp0(step, "event") == 0;
    goal->one_write = g_strcmp0(step, "write") == 0;
    if (g_strcmp0(step, "decision") == 0)
        goal->one_decision = self->options.narrator;
    if (step != NULL && !goal->one_event && !goal->one_write && goal->one_decision == NULL) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID,
                    "step: \"event\", \"write\", or, where stories are told, \"decision\"");
        return FALSE;
    }
    if (condition != NULL)
        goal->condition = read_condition(condition, error);
    if (condition != NULL && until == NULL && lasts == NULL)
        goal->until = sim_time_add(now, SIM_HOUR);
    return condition == NULL || goal->condition != NULL;
}

/* Returns: FALSE: it is no speed */
static gboolean
read_speed(const json_t *body, double *speed)
{
    const json_t *value = json_object_get(body, "speed");

    if (json_is_string(value))
        return serve_clock_parse_speed(json_string_value(value), speed);
    *speed = json_number_value(value);
    return json_is_number(value) && *speed >= 0 && *speed <= 1e9;
}

static void
put_clock(ServeApi *self, Exchange *exchange, const json_t *body)
{
    ServeClock *clock = self->options.clock;
    g_autoptr(GError) error = NULL;
    ClockGoal goal;
    gboolean is_goal;
    double speed;

    if (json_object_get(body, "speed") != NULL && !read_speed(body, &speed)) {
        exchange_refuse(exchange, 400,
                        "speed: a number from 0 on (virtual by real time), or \"max\"");
        return;
    }
    if (!read_goal(self, body, &goal, &is_goal, &error)) {
        exchange_refuse(exchange, 400, error->message);
        return;
    }
    if (json_object_get(body, "speed") != NULL) {
        serve_clock_set_speed(clock, speed);
        serve_clock_go_on(clock);
    }
    if (!is_goal) {
        exchange_answer_json(exchange, 200, own_clock_json(self));
        return;
    }
    ClockWait *wait = g_new0(ClockWait, 1);
    *wait = (ClockWait){self, exchange_ref(exchange), (Condition *)goal.condition};
    serve_clock_seek(clock, &goal, on_reached, wait);
}

/* ---- Questions ---- */

static gboolean
wants_text(const Exchange *exchange)
{
    return g_strcmp0(exchange_query(exchange, "format"), "text") == 0;
}

/* ?lang=zh: of why and explain. */
static Translate
translation(const ServeApi *self, const Exchange *exchange)
{
    return self->options.language == NULL
               ? NULL
               : self->options.language(exchange_query(exchange, "lang"));
}

/* Sets the language of the whole process: later failures are told in it, too. */
static void
translation_end(const ServeApi *self)
{
    if (self->options.language != NULL)
        self->options.language(NULL);
}

static void
get_why(ServeApi *self, Exchange *exchange)
{
    const char *object = exchange_query(exchange, "object");
    const WhyView view = {.run = self->options.run,
                          .calls = self->options.calls,
                          .translate = translation(self, exchange)};
    g_autoptr(GString) text = g_string_new(NULL);

    if (object == NULL) {
        g_autoptr(GPtrArray) groups = wants_text(exchange) ? NULL : why_ask_all(&view, 1000);
        if (groups != NULL) {
            exchange_answer_json(exchange, 200, why_groups_to_json(&view, groups));
            return;
        }
        why_tell_all(&view, text);
        exchange_answer_text(exchange, 200, text->str);
        return;
    }
    g_autoptr(Why) why = why_ask(&view, exchange_query(exchange, "namespace"), object);
    if (why == NULL) {
        exchange_refuse(exchange, 404,
                        "there is no such object (?object=pod/NAME, pvc/NAME, node/NAME, "
                        "...; &namespace=NAME)");
    } else if (wants_text(exchange)) {
        why_tell(&view, why, text);
        exchange_answer_text(exchange, 200, text->str);
    } else {
        exchange_answer_json(exchange, 200, why_to_json(&view, why));
    }
}

static gboolean
read_level(const char *word, NarratorLevel *level)
{
    static const char *const words[] = {"beginner", "operator", "developer"};

    *level = NARRATOR_OPERATOR;
    for (unsigned i = 0; word != NULL && i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i], word) == 0) {
            *level = (NarratorLevel)i;
            return TRUE;
        }
    return word == NULL;
}

static void
get_explain(ServeApi *self, Exchange *exchange)
{
    g_autoptr(GString) text = g_string_new(NULL);
    NarratorOptions options = {.object = exchange_query(exchange, "object"),
                               .namespace = exchange_query(exchange, "namespace"),
                               .until = SIM_TIME_MAX,
                               .translate = translation(self, exchange)};

    if (self->options.narrator == NULL)
        exchange_refuse(exchange, 501, "this server was started without stories (--no-stories)");
    else if (!read_level(exchange_query(exchange, "level"), &options.level))
        exchange_refuse(exchange, 400, "level: beginner, operator or developer");
    else if (!narrator_tell(self->options.narrator, &options, text))
        exchange_refuse(exchange, 404,
                        "the run has no such object (?object=pod/NAME, pvc/NAME; &namespace=NAME)");
    else
        exchange_answer_text(exchange, 200, text->str);
}

static void
get_sequence(ServeApi *self, Exchange *exchange)
{
    const char *object = exchange_query(exchange, "object");
    const SequenceOptions options = {.object = object,
                                     .namespace = exchange_query(exchange, "namespace"),
                                     .to = SIM_TIME_MAX,
                                     .messages_max = 500};
    g_autoptr(Sequence) sequence = NULL;

    if (self->options.narrator == NULL) {
        exchange_refuse(exchange, 501, "this server was started without stories (--no-stories)");
        return;
    }
    sequence = object == NULL ? NULL : sequence_new(self->options.narrator, &options);
    if (sequence == NULL) {
        exchange_refuse(exchange, 404,
                        "the run has no such object (?object=pod/NAME, pvc/NAME; &namespace=NAME)");
        return;
    }
    if (g_strcmp0(exchange_query(exchange, "format"), "json") == 0) {
        exchange_answer_json(exchange, 200, own_sequence_json(sequence));
        return;
    }
    g_autofree char *text = sequence_mermaid(sequence, "");
    exchange_answer_text(exchange, 200, text);
}

/* Of the whole run; or of ?object=pod/web-0&namespace=shop, as JSON. */
static void
get_attribution(ServeApi *self, Exchange *exchange)
{
    const char *object = exchange_query(exchange, "object");
    const ObjectKey *key = object == NULL ? NULL
                                          : serve_stage_find(self->stage, object,
                                                             exchange_query(exchange, "namespace"));
    g_autoptr(Stages) stages = stages_new(self->options.run);
    g_autoptr(Attribution) attribution = attribution_new();
    g_autoptr(GString) text = g_string_new(NULL);

    if (object != NULL && key == NULL) {
        exchange_refuse(exchange, 404,
                        "there is no such object (?object=pod/NAME; &namespace=NAME)");
        return;
    }
    if (key != NULL)
        attribution_add_object(attribution, self->options.run, stages, key);
    else
        attribution_add(attribution, self->options.run, stages);
    if (wants_text(exchange)) {
        attribution_append_table(attribution, text);
        exchange_answer_text(exchange, 200, text->str);
        return;
    }
    json_t *json = attribution_json(attribution);
    exchange_answer_json(exchange, 200, json != NULL ? json : json_object());
}

static void
get_metrics(ServeApi *self, Exchange *exchange)
{
    g_autoptr(ResultFile) file = result_file_new_in_memory();

    telemetry_append_text(run_telemetry(self->options.run), file);
    g_autoptr(GBytes) body = g_bytes_new(file->text->str, file->text->len);
    exchange_answer(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", body);
}

/* Kinds that are stored and served, while no controller of theirs runs. */
static void
get_not_modelled(ServeApi *self, Exchange *exchange)
{
    g_autoptr(GHashTable) told = g_hash_table_new(NULL, NULL); /* in another version */
    json_t *list = json_array();
    const ApiResource *row;

    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++) {
        const ApiResource *served;
        const StoreKind *kind =
            serve_store_kind(self->store, row->group, row->version, row->resource, &served);
        if (kind != NULL && kind->number != 0 && strstr(row->verbs, "list") != NULL &&
            g_hash_table_add(told, (void *)kind))
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "group", row->group,
                                                  "resource", row->resource, "kind", row->kind,
                                                  "why", "stored as it is; no controller acts"));
    }
    static const char *const subresources[][2] = {
        {"pods/log",              "no container runs" },
        {"pods/exec",             "no container runs" },
        {"pods/attach",           "no container runs" },
        {"pods/portforward",      "no container runs" },
        {"nodes/proxy",           "no kubelet listens"},
        {"services/proxy",        "nothing listens"   },
        {"serviceaccounts/token", "no tokens"         },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(subresources); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "group", "", "resource",
                                              subresources[i][0], "why", subresources[i][1]));
    exchange_answer_json(exchange, 200, json_pack("{s:o}", "notModelled", list));
}

static void
get_save(ServeApi *self, Exchange *exchange)
{
    g_autofree char *text = serve_session_text(self->options.session);
    g_autoptr(GBytes) body = g_bytes_new(text, strlen(text));

    exchange_answer(exchange, 200, "application/yaml", body);
}

/* ---- Faults and other actions ---- */

static json_t *
fault_json(const RunFault *fault)
{
    json_t *victims = json_array(),
           *json = json_pack("{s:s, s:I}", "do", scenario_fault_name(fault->action->fault), "since",
                             (json_int_t)fault->since);

    for (unsigned i = 0; i < fault->victims->len; i++)
        if (fault->victims->pdata[i] != NULL)
            json_array_append_new(victims, json_string(fault->victims->pdata[i]));
    json_object_set_new(json, "victims", victims);
    if (fault->until != SIM_TIME_MAX)
        json_object_set_new(json, "until", json_integer(fault->until));
    return json;
}

json_t *
own_faults_json(const ServeApi *self)
{
    const GArray *faults = run_faults(self->options.run);
    SimTime now = sim_now(run_sim(self->options.run));
    json_t *list = json_array();

    for (unsigned i = 0; faults != NULL && i < faults->len; i++) {
        const RunFault *fault = &g_array_index(faults, RunFault, i);
        json_t *json = fault_json(fault);
        json_object_set_new(json, "number", json_integer(i));
        json_object_set_new(json, "isOver", json_boolean(fault->until <= now));
        json_array_append_new(list, json);
    }
    return list;
}

static void
get_faults(ServeApi *self, Exchange *exchange)
{
    exchange_answer_json(exchange, 200, json_pack("{s:o}", "faults", own_faults_json(self)));
}

/* ?number=: that fault; else all that clients have begun and that are not over. */
static void
delete_faults(ServeApi *self, Exchange *exchange)
{
    const GArray *faults = run_faults(self->options.run);
    const char *text = exchange_query(exchange, "number");
    unsigned n = faults == NULL ? 0 : faults->len;
    g_autoptr(GError) error = NULL;

    if (text != NULL && !serve_session_end_fault(
                            self->options.session,
                            (unsigned)MIN(g_ascii_strtoull(text, NULL, 10), G_MAXUINT), &error)) {
        exchange_refuse(exchange, 409, error->message);
        return;
    }
    for (unsigned i = 0; text == NULL && i < n; i++)
        serve_session_end_fault(self->options.session, i, NULL);
    get_faults(self, exchange);
}

static void
post_action(ServeApi *self, Exchange *exchange, const char *list, const json_t *body)
{
    g_autoptr(GError) error = NULL;

    if (!serve_session_act(self->options.session, list, body, &error)) {
        exchange_refuse(exchange, 400, error->message);
        return;
    }
    exchange_answer_json(exchange, 201, own_clock_json(self));
}

/* ---- Ways ---- */

static const struct {
    const char *name;
    void (*get)(ServeApi *self, Exchange *exchange);
    const char *list; /* POST: an item of it; NULL: none */
} ways[] = {
    {"stage",        own_get_stage,      NULL      },
    {"components",   own_get_components, NULL      },
    {"story",        own_get_story,      NULL      },
    {"describe",     own_get_describe,   NULL      },
    {"summary",      own_get_summary,    NULL      },
    {"figures",      own_get_figures,    NULL      },
    {"marks",        own_get_marks,      NULL      },
    {"why",          get_why,            NULL      },
    {"explain",      get_explain,        NULL      },
    {"sequence",     get_sequence,       NULL      },
    {"attribution",  get_attribution,    NULL      },
    {"metrics",      get_metrics,        NULL      },
    {"not-modelled", get_not_modelled,   NULL      },
    {"save",         get_save,           NULL      },
    {"faults",       get_faults,         "faults"  },
    {"actions",      NULL,               "workload"},
    {"read",         NULL,               "read"    }, /* gives the body back as JSON */
};

static void
answer_index(Exchange *exchange)
{
    json_t *list = json_array();

    json_array_append_new(list, json_string("clock"));
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++)
        json_array_append_new(list, json_string(ways[i].name));
    exchange_answer_json(exchange, 200, json_pack("{s:o}", "paths", list));
}

static void
answer_way(ServeApi *self, Exchange *exchange, const char *name)
{
    const char *method = exchange->request.method;
    gboolean is_clock = strcmp(name, "clock") == 0;
    json_t *refusal = NULL;
    gsize i = 0;

    while (i < G_N_ELEMENTS(ways) && strcmp(ways[i].name, name) != 0)
        i++;
    if (i == G_N_ELEMENTS(ways) && !is_clock) {
        exchange_refuse(exchange, 404, "there is no such path below /kvolsim/v1/");
        return;
    }
    if (strcmp(method, "GET") == 0 && is_clock) {
        exchange_answer_json(exchange, 200, own_clock_json(self));
        return;
    }
    if (strcmp(method, "GET") == 0 && ways[i].get != NULL) {
        ways[i].get(self, exchange);
        translation_end(self);
        return;
    }
    if (strcmp(name, "faults") == 0 && strcmp(method, "DELETE") == 0) {
        delete_faults(self, exchange);
        return;
    }
    if ((is_clock && strcmp(method, "PUT") != 0) ||
        (!is_clock && (strcmp(method, "POST") != 0 || ways[i].list == NULL))) {
        exchange_answer_json(exchange, 405, status_method_not_allowed());
        return;
    }
    json_auto_t *body = body_read(exchange, NULL, &refusal);
    if (body == NULL)
        exchange_answer_json(exchange, 400, refusal);
    else if (is_clock)
        put_clock(self, exchange, body);
    else if (strcmp(ways[i].list, "read") == 0)
        exchange_answer_json(exchange, 200, json_incref(body));
    else
        post_action(self, exchange, ways[i].list, body);
}

gboolean
own_answer(ServeApi *self, Exchange *exchange)
{
    static const char root[] = "/kvolsim/v1";
    const char *path = exchange->request.path;

    if (!g_str_has_prefix(path, root))
        return FALSE;
    path += strlen(root);
    if (*path == '\0' || strcmp(path, "/") == 0)
        answer_index(exchange);
    else if (*path == '/')
        answer_way(self, exchange, path + 1);
    else
        return FALSE;
    return TRUE;
}
