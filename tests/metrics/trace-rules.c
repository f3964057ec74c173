/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

/* trace-rules FILE [arrows [N STEPS]]: the rules of Chrome's trace event format, as far as they
 * concern complete events, metadata and flows: every line has a name, slices of a line nest, an
 * arrow begins and ends once, goes forward in time and each of its points lies on a slice. Prints
 * the faults; with "arrows" it is one if there are none, or not N,
 * each with STEPS points between its ends. */

typedef struct {
    double from, to;
} TraceRulesSlice;

typedef struct {
    unsigned n_starts, n_ends, n_steps;
    double at;
} TraceRulesFlow;

static unsigned n_faults;

G_GNUC_PRINTF(1, 2) static void fault(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (n_faults++ < 20) {
        vprintf(format, args);
        putchar('\n');
    }
    va_end(args);
}

static char *
line_of(const json_t *event)
{
    return g_strdup_printf("%d/%d", (int)json_integer_value(json_object_get(event, "pid")),
                           (int)json_integer_value(json_object_get(event, "tid")));
}

static double
trace_rules_number(const json_t *event, const char *name)
{
    const json_t *value = json_object_get(event, name);

    if (!json_is_number(value))
        fault("an event without a number %s", name);
    return json_number_value(value);
}

/* Slices come in order of their starts: an open slice must contain the new one, or be over. */
static void
see_slice(GHashTable *lines, const json_t *event)
{
    const double rounding = 1e-4; /* a tenth of the last digit, us */
    g_autofree char *line = line_of(event);
    TraceRulesSlice slice = {.from = trace_rules_number(event, "ts")};
    GArray *open = g_hash_table_lookup(lines, line);

    slice.to = slice.from + trace_rules_number(event, "dur");
    if (slice.to < slice.from)
        fault("a slice that ends before it begins");
    if (open == NULL) {
        open = g_array_new(FALSE, FALSE, sizeof(TraceRulesSlice));
        g_hash_table_insert(lines, g_strdup(line), open);
    }
    for (unsigned i = 0; i < open->len; i++) {
        const TraceRulesSlice *other = &g_array_index(open, TraceRulesSlice, i);
        if (other->to > slice.from + rounding && other->to < slice.to - rounding)
            fault("two slices overlap on line %s at %f", line, slice.from);
    }
    g_array_append_val(open, slice);
}

static void
see_flow(GHashTable *flows, GHashTable *lines, const json_t *event, char phase)
{
    g_autofree char *line = line_of(event);
    g_autofree char *id =
        g_strdup_printf("%d", (int)json_integer_value(json_object_get(event, "id")));
    double at = trace_rules_number(event, "ts");
    const GArray *slices = g_hash_table_lookup(lines, line);
    TraceRulesFlow *flow = g_hash_table_lookup(flows, id);
    gboolean is_bound = FALSE;

    if (flow == NULL) {
        flow = g_new0(TraceRulesFlow, 1);
        g_hash_table_insert(flows, g_strdup(id), flow);
    }
    flow->n_starts += phase == 's';
    flow->n_ends += phase == 'f';
    flow->n_steps += phase == 't';
    if (at < flow->at || flow->n_starts != 1 || flow->n_ends > 1)
        fault("arrow %s goes back, or begins or ends twice", id);
    flow->at = at;
    for (unsigned i = 0; slices != NULL && i < slices->len && !is_bound; i++) {
        const TraceRulesSlice *slice = &g_array_index(slices, TraceRulesSlice, i);
        is_bound = slice->from <= at + 1e-4 && slice->to >= at - 1e-4;
    }
    if (!is_bound)
        fault("arrow %s hangs in the air at %f", id, at);
}

int
main(int argc, char **argv)
{
    json_error_t error;
    json_t *trace = argc >= 2 ? json_load_file(argv[1], 0, &error) : NULL;
    json_t *events = json_object_get(trace, "traceEvents"), *event;
    g_autoptr(GHashTable) lines =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) flows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    unsigned n_slices = 0;
    size_t i;

    if (!json_is_array(events)) {
        printf("no trace\n");
        return 1;
    }
    json_array_foreach(events, i, event) {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        g_autofree char *line = line_of(event);
        if (phase == NULL || !json_is_string(json_object_get(event, "name")) ||
            !json_is_integer(json_object_get(event, "pid")))
            fault("an event without ph, name or pid");
        else if (*phase == 'M')
            g_hash_table_add(names, g_strdup(line));
        else if (!g_hash_table_contains(names, line))
            fault("line %s has no name", line);
        else if (*phase == 'X' && ++n_slices > 0)
            see_slice(lines, event);
        else if (strchr("stf", *phase) != NULL)
            see_flow(flows, lines, event, *phase);
        else if (*phase != 'X')
            fault("phase %s", phase);
    }
    if (n_slices == 0 || (argc > 2 && g_hash_table_size(flows) == 0))
        fault("no slices, or no arrows");
    if (argc > 4 && g_hash_table_size(flows) != (unsigned)atoi(argv[3]))
        fault("%u arrows", g_hash_table_size(flows));
    GHashTableIter iter;
    void *flow;
    g_hash_table_iter_init(&iter, flows);
    while (g_hash_table_iter_next(&iter, NULL, &flow))
        if (((TraceRulesFlow *)flow)->n_ends != 1)
            fault("an arrow without an end");
        else if (argc > 4 && ((TraceRulesFlow *)flow)->n_steps != (unsigned)atoi(argv[4]))
            fault("an arrow of %u steps", ((TraceRulesFlow *)flow)->n_steps);
    json_decref(trace);
    return n_faults > 0;
}
