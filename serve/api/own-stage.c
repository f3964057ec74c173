/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-private.h"
#include "run/kubectl/kubectl.h"
#include "run/results/results.h"
#include "run/results/snapshot.h"
#include "run/teach/sequence.h"

/* /kvolsim/v1/: questions of the page, beside those of own.c. */

/* Story entries in one answer: a late client misses the oldest. */
#define STORY_MAX 400

static uint64_t
own_stage_number_of(const Exchange *exchange, const char *name)
{
    const char *text = exchange_query(exchange, name);
    guint64 number = 0;

    if (text == NULL || !g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, &number, NULL))
        return 0;
    return number;
}

void
own_get_components(ServeApi *self, Exchange *exchange)
{
    exchange_answer_json(exchange, 200,
                         json_pack("{s:o, s:o, s:o}", "clock", own_clock_json(self), "processes",
                                   serve_stage_processes(self->stage), "drivers",
                                   serve_stage_drivers(self->stage)));
}

void
own_get_story(ServeApi *self, Exchange *exchange)
{
    unsigned next, since = (unsigned)MIN(own_stage_number_of(exchange, "since"), G_MAXINT);
    json_t *entries = serve_stage_story(self->stage, since, STORY_MAX, &next);

    exchange_answer_json(exchange, 200,
                         json_pack("{s:i, s:o}", "next", (int)next, "entries", entries));
}

/* All changes in one answer: it is of one instant. */
void
own_get_stage(ServeApi *self, Exchange *exchange)
{
    uint64_t next;
    gboolean is_whole;
    unsigned story_next, story = (unsigned)MIN(own_stage_number_of(exchange, "story"), G_MAXINT);
    json_t *objects =
        serve_stage_objects(self->stage, own_stage_number_of(exchange, "since"), &next, &is_whole);
    json_t *entries = serve_stage_story(self->stage, story, STORY_MAX, &story_next);

    exchange_answer_json(
        exchange, 200,
        json_pack("{s:o, s:I, s:b, s:I, s:o, s:i, s:o, s:o, s:o}", "clock", own_clock_json(self),
                  "run", (json_int_t)serve_stage_id(self->stage), "isWhole", is_whole, "next",
                  (json_int_t)next, "objects", objects, "storyNext", (int)story_next, "story",
                  entries, "processes", serve_stage_processes(self->stage), "drivers",
                  serve_stage_drivers(self->stage)));
}

/* ?object=pod/web-0&namespace=shop, as kubectl describes it. */
void
own_get_describe(ServeApi *self, Exchange *exchange)
{
    const Run *run = self->options.run;
    const char *object = exchange_query(exchange, "object");
    const char *namespace = exchange_query(exchange, "namespace");
    char *words[] = {(char *)"describe", (char *)object, (char *)"-n",
                     (char *)(namespace != NULL ? namespace : "default"), NULL};

    if (object == NULL || *object == '-') {
        exchange_refuse(exchange, 400, "?object=pod/NAME");
        return;
    }
    json_auto_t *list = snapshot_take(run);
    g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(list);
    g_autoptr(GString) out = g_string_new(NULL), errors = g_string_new(NULL);
    const KubectlRequest request = {
        .cluster = cluster, .now = snapshot_now(run), .out = out, .errors = errors};
    if (kubectl_run(&request, words) == 0)
        exchange_answer_text(exchange, 200, out->str);
    else
        exchange_refuse(exchange, 404, errors->str);
}

/* summary.json as it would be if the run ended now. */
void
own_get_summary(ServeApi *self, Exchange *exchange)
{
    const Run *run = self->options.run;
    g_autoptr(Stages) stages = stages_new(run);
    g_autoptr(Results) results = results_new(run_scenario(run), run_options(run)->seed);

    results_add(results, run, stages);
    exchange_answer_json(exchange, 200, results_summary(results));
}

json_t *
own_sequence_json(const Sequence *sequence)
{
    json_t *lanes = json_array(), *messages = json_array();

    for (unsigned i = 0; i < sequence->lanes->len; i++)
        json_array_append_new(lanes, json_string(sequence->lanes->pdata[i]));
    for (unsigned i = 0; i < sequence->messages->len; i++) {
        const Message *message = &g_array_index(sequence->messages, Message, i);
        json_array_append_new(messages,
                              json_pack("{s:s, s:I, s:i, s:i, s:s}", "kind",
                                        sequence_kind_name(message->kind), "at",
                                        (json_int_t)message->at, "from", (int)message->from, "to",
                                        (int)message->to, "text", message->text));
    }
    return json_pack("{s:o, s:o}", "lanes", lanes, "messages", messages);
}
