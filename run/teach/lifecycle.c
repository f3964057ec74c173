/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Diagrams of the states of claims and volumes, with the passages that a run made: for gnuplot, and
 * as Mermaid for documents. A table has the states, their places and the usual edges; a passage
 * that the table lacks adds an edge. All comes from the narrator's entries, which carry the state
 * before and after a change. */
#include "lifecycle.h"

#include <string.h>

#include "narrator-private.h"
#include "run/results/attribution.h"

#define STATES_MAX 8
#define START 0 /* before the creation; the last state follows the deletion */
#define EDGES_MAX 24
#define TIMES_SHOWN 3
#define CURVE_POINTS 60
#define ROWS 3.0 /* the height of a diagram */

typedef struct {
    const char *name; /* NULL: the start, or the end */
    double x, y;
} State;

typedef struct {
    unsigned from, to;
    double bend; /* distance of the middle from the straight line, to the left of the direction */
} Edge;

typedef struct {
    ObjectKind kind;
    unsigned n_states;
    State states[STATES_MAX];
    unsigned n_edges;
    Edge edges[EDGES_MAX];
} Diagram;

/* PVC-20..27, PVC-40: claims; PVC-70..76: volumes. */
/* clang-format off */
static const Diagram diagrams[] = {
    {KIND_CLAIM,
     6, {{NULL, 0, 1}, {"Pending", 1, 1}, {"Bound", 2.5, 1}, {"Lost", 2.5, 0}, {"Terminating", 4, 1},
         {NULL, 5, 1}},
     8, {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {2, 4, 0}, {1, 4, 0.55}, {3, 4, -0.1}, {4, 5, 0}, {3, 2, 0.15}}},
    {KIND_VOLUME,
     8, {{NULL, 0, 1}, {"Pending", 1, 1}, {"Available", 1.75, 0}, {"Bound", 2.5, 1}, {"Released", 4, 1},
         {"Failed", 4.75, 2}, {"Terminating", 5.5, 1}, {NULL, 6.5, 1}},
     12, {{0, 1, 0}, {1, 2, -0.1}, {1, 3, 0}, {2, 3, -0.1}, {3, 4, 0}, {4, 2, 0.12}, {4, 5, 0.1},
          {4, 6, 0}, {5, 6, 0.1}, {3, 6, -0.42}, {2, 6, -0.6}, {6, 7, 0}}},
};
/* clang-format on */

typedef struct {
    SimTime at;
    unsigned edge;
} LifecyclePassage;

typedef struct {
    const ObjectKey *key;
    Diagram diagram;  /* plus passed edges that the table lacks */
    GArray *passages; /* of Passage */
    unsigned state;   /* the present state */
    SimTime since, in_state[STATES_MAX];
    gboolean is_passed[STATES_MAX];
} Path;

struct Lifecycle {
    GPtrArray *paths; /* of Path, by creation */
    SimTime until;
};

static void
path_free(void *data)
{
    Path *path = data;

    g_array_unref(path->passages);
    g_free(path);
}

/* @name: NULL: @end */
static unsigned
state_number(const Diagram *diagram, const char *name, unsigned end)
{
    for (unsigned i = 1; name != NULL && i + 1 < diagram->n_states; i++)
        if (strcmp(diagram->states[i].name, name) == 0)
            return i;
    return end;
}

static unsigned
edge_number(Diagram *diagram, unsigned from, unsigned to)
{
    for (unsigned i = 0; i < diagram->n_edges; i++)
        if (diagram->edges[i].from == from && diagram->edges[i].to == to)
            return i;
    g_assert(diagram->n_edges < EDGES_MAX);
    diagram->edges[diagram->n_edges] = (Edge){from, to, 0.35};
    return diagram->n_edges++;
}

static Path *
lifecycle_path_of(Lifecycle *self, const ObjectKey *key)
{
    for (unsigned i = 0; i < self->paths->len; i++)
        if (((Path *)self->paths->pdata[i])->key == key)
            return self->paths->pdata[i];

    Path *path = g_new0(Path, 1);
    path->key = key;
    path->diagram = diagrams[key->kind == KIND_CLAIM ? 0 : 1];
    path->passages = g_array_new(FALSE, FALSE, sizeof(LifecyclePassage));
    g_ptr_array_add(self->paths, path);
    return path;
}

static void
lifecycle_pass(Path *path, const Entry *entry)
{
    unsigned end = path->diagram.n_states - 1;
    unsigned from = state_number(&path->diagram, entry->state_before, START),
             to = state_number(&path->diagram, entry->state, end);

    if (from == to)
        return;
    const LifecyclePassage passage = {entry->at, edge_number(&path->diagram, from, to)};
    g_array_append_val(path->passages, passage);
    if (path->is_passed[from])
        path->in_state[from] += entry->at - path->since;
    path->is_passed[from] = path->is_passed[to] = TRUE;
    path->since = entry->at;
    path->state = to;
}

Lifecycle *
lifecycle_new(const Narrator *narrator, const char *namespace, const char *object, SimTime to)
{
    const ObjectKey *key = narrator_find_object(narrator, namespace, object);
    g_autoptr(GHashTable) family = key != NULL ? narrator_family(narrator, key) : NULL;
    Lifecycle *self;

    if (key == NULL)
        return NULL;
    self = g_new0(Lifecycle, 1);
    self->paths = g_ptr_array_new_with_free_func(path_free);
    self->until = MIN(to, sim_now(run_sim(narrator->run)));
    for (unsigned i = 0; i < narrator->entries->len; i++) {
        const Entry *entry = &sim_log_index(narrator->entries, Entry, i);

        if (entry->at > to)
            break;
        if (entry->kind == ENTRY_CHANGE && (entry->state_before != NULL || entry->state != NULL) &&
            g_hash_table_contains(family, entry->key))
            lifecycle_pass(lifecycle_path_of(self, entry->key), entry);
    }
    for (unsigned i = 0; i < self->paths->len; i++) {
        Path *path = self->paths->pdata[i];

        path->in_state[path->state] += self->until - path->since;
    }
    return self;
}

void
lifecycle_free(Lifecycle *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->paths);
    g_free(self);
}

unsigned
lifecycle_n_objects(const Lifecycle *self)
{
    return self->paths->len;
}

/* Returns: (owned): the passages of an edge: "2: 12.034 s, 4: 13.100 s"; "" if there are none */
static char *
passages_text(const Path *path, unsigned edge)
{
    GString *text = g_string_new(NULL);
    unsigned n = 0;

    for (unsigned i = 0; i < path->passages->len; i++) {
        const LifecyclePassage *passage = &g_array_index(path->passages, LifecyclePassage, i);

        if (passage->edge != edge)
            continue;
        if (n < TIMES_SHOWN)
            g_string_append_printf(text, "%s%u: %" G_GINT64_FORMAT ".%03u s", n > 0 ? ", " : "",
                                   i + 1, (gint64)(passage->at / SIM_SECOND),
                                   (unsigned)(passage->at % SIM_SECOND / SIM_MS));
        n++;
    }
    if (n > TIMES_SHOWN)
        g_string_append_printf(text, ", %u more", n - TIMES_SHOWN);
    return g_string_free(text, FALSE);
}

/* ---- For gnuplot ---- */

static void
append_numbers(GString *out, const double *numbers, unsigned n)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];

    for (unsigned i = 0; i < n; i++)
        g_string_append_printf(out, "%s%s", i == 0 ? "" : "\t",
                               g_ascii_formatd(buffer, sizeof buffer, "%.4f", numbers[i]));
}

/* A point of the curve from one state to another through a middle beside the straight line. @t: 0
 * to 1 */
static void
curve_point(const State *from, const State *to, double bend, double t, double *x, double *y)
{
    double dx = to->x - from->x, dy = to->y - from->y;
    /* To the left of the direction; for a direction along x, that is up. */
    double middle_x = (from->x + to->x) / 2 - 2 * bend * (dx == 0 ? (dy > 0 ? 1 : -1) : 0),
           middle_y = (from->y + to->y) / 2 + 2 * bend * (dx == 0 ? 0 : 1);

    *x = (1 - t) * (1 - t) * from->x + 2 * t * (1 - t) * middle_x + t * t * to->x;
    *y = (1 - t) * (1 - t) * from->y + 2 * t * (1 - t) * middle_y + t * t * to->y;
}

#define BOX_WIDTH 0.36
#define BOX_HEIGHT 0.2
#define DOT 0.1

/* Whether a point is inside a state's box, or inside the dot of the start or end. */
static gboolean
is_inside(const State *state, double x, double y)
{
    double half_width = state->name != NULL ? BOX_WIDTH : DOT,
           half_height = state->name != NULL ? BOX_HEIGHT : DOT;

    return x > state->x - half_width && x < state->x + half_width && y > state->y - half_height &&
           y < state->y + half_height;
}

/* Returns: the middle of the visible part of a curve, outside of both states; 0 to 1 */
static double
visible_middle(const State *from, const State *to, double bend)
{
    double sum = 0;
    unsigned n = 0;

    for (unsigned i = 0; i <= CURVE_POINTS; i++) {
        double t = i / (double)CURVE_POINTS, x, y;

        curve_point(from, to, bend, t, &x, &y);
        if (is_inside(from, x, y) || is_inside(to, x, y))
            continue;
        sum += t;
        n++;
    }
    return n > 0 ? sum / n : 0.5;
}

/* Appends the visible part of a curve. Its last piece goes to @heads: the arrow. */
static void
append_curve(GString *lines,
             GString *heads,
             const State *from,
             const State *to,
             double bend,
             double shift,
             gboolean is_passed)
{
    double last_x = 0, last_y = 0;
    gboolean has_last = FALSE;

    for (unsigned i = 0; i <= CURVE_POINTS; i++) {
        double row[5];

        curve_point(from, to, bend, i / (double)CURVE_POINTS, &row[0], &row[1]);
        if (is_inside(from, row[0], row[1]))
            continue;
        if (is_inside(to, row[0], row[1]))
            break;
        if (has_last) {
            const double head[] = {last_x, last_y + shift, row[0] - last_x, row[1] - last_y,
                                   is_passed};

            g_string_truncate(heads, 0); /* only the last piece has a head */
            append_numbers(heads, head, G_N_ELEMENTS(head));
            g_string_append_c(heads, '\n');
        }
        last_x = row[0];
        last_y = row[1];
        has_last = TRUE;
        row[1] += shift;
        row[2] = is_passed;
        append_numbers(lines, row, 3);
        g_string_append_c(lines, '\n');
    }
    g_string_append_c(lines, '\n');
}

typedef struct {
    GString *titles, *states, *lines, *heads, *labels;
} Blocks;

static void
append_states(const Path *path, double shift, GString *out)
{
    for (unsigned i = 0; i < path->diagram.n_states; i++) {
        const State *state = &path->diagram.states[i];
        const double row[] = {state->x, state->y + shift, path->is_passed[i], i == path->state};
        char duration[SHORT_TIME_BUFFER];

        append_numbers(out, row, G_N_ELEMENTS(row));
        g_string_append_printf(out, "\t%s\t%s\n",
                               state->name != NULL ? state->name
                               : i == START        ? "start"
                                                   : "end",
                               state->name != NULL && path->is_passed[i]
                                   ? short_time(path->in_state[i], duration, sizeof duration)
                                   : " ");
    }
}

static void
append_edges(const Path *path, double shift, Blocks *blocks)
{
    for (unsigned i = 0; i < path->diagram.n_edges; i++) {
        const Edge *edge = &path->diagram.edges[i];
        const State *from = &path->diagram.states[edge->from],
                    *to = &path->diagram.states[edge->to];
        g_autofree char *text = passages_text(path, i);
        g_autoptr(GString) head = g_string_new(NULL);
        double label[2];

        append_curve(blocks->lines, head, from, to, edge->bend, shift, *text != '\0');
        g_string_append(blocks->heads, head->str);
        if (*text == '\0')
            continue;
        curve_point(from, to, edge->bend, visible_middle(from, to, edge->bend), &label[0],
                    &label[1]);
        /* Beside vertical edges, above the others. */
        label[0] += from->x != to->x ? 0 : from->y < to->y ? -0.24 : 0.24;
        label[1] += shift + (from->x != to->x ? 0.1 : 0);
        append_numbers(blocks->labels, label, 2);
        g_string_append_printf(blocks->labels, "\t%s\n", text);
    }
}

char *
lifecycle_table(const Lifecycle *self, const char *header)
{
    Blocks blocks = {g_string_new(header), g_string_new(NULL), g_string_new(NULL),
                     g_string_new(NULL), g_string_new(NULL)};

    for (unsigned i = 0; i < self->paths->len; i++) {
        const Path *path = self->paths->pdata[i];
        double shift = -(double)i * ROWS;
        const double title[] = {-0.1, shift + 1.75};

        append_numbers(blocks.titles, title, 2);
        g_string_append_printf(blocks.titles, "\t%s %s\n", kind_class(path->key->kind)->kind,
                               path->key->name);
        append_states(path, shift, blocks.states);
        append_edges(path, shift, &blocks);
    }
    GString *out = blocks.titles;
    const struct {
        GString *rows;
        const char *none; /* gnuplot needs a row in each block */
    } rest[] = {
        {blocks.states, "0\t0\t0\t0\t \t \n"},
        {blocks.lines,  "0\t0\t0\n"         },
        {blocks.heads,  "0\t0\t0\t0\t0\n"   },
        {blocks.labels, "0\t0\t \n"         }
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(rest); i++) {
        g_string_append_printf(out, "\n\n%s",
                               rest[i].rows->len > 0 ? rest[i].rows->str : rest[i].none);
        g_string_free(rest[i].rows, TRUE);
    }
    return g_string_free(out, FALSE);
}

/* ---- For documents ---- */

/* The id of a state; @number tells apart several diagrams. */
static void
append_id(GString *out, const Path *path, unsigned number, unsigned state)
{
    if (path->diagram.states[state].name == NULL)
        g_string_append(out, "[*]");
    else
        g_string_append_printf(out, "o%u%s", number, path->diagram.states[state].name);
}

/* Draws the states side by side: Mermaid does not color nested states. */
static void
append_path(GString *out, const Path *path, unsigned number)
{
    g_autofree char *key = narrator_key_text(path->key, FALSE);

    for (unsigned i = 1; i + 1 < path->diagram.n_states; i++)
        g_string_append_printf(out, "    state \"%s %s\" as o%u%s\n", key,
                               path->diagram.states[i].name, number, path->diagram.states[i].name);
    for (unsigned i = 0; i < path->diagram.n_edges; i++) {
        g_autofree char *text = passages_text(path, i);
        g_auto(GStrv) words = g_strsplit(text, ":", -1); /* in Mermaid a colon begins the label */
        g_autofree char *label = g_strjoinv(")", words);

        g_string_append(out, "    ");
        append_id(out, path, number, path->diagram.edges[i].from);
        g_string_append(out, " --> ");
        append_id(out, path, number, path->diagram.edges[i].to);
        g_string_append_printf(out, "%s%s\n", *label != '\0' ? " : " : "", label);
    }
    for (unsigned i = 1; i + 1 < path->diagram.n_states; i++)
        if (path->is_passed[i])
            g_string_append_printf(out, "    class o%u%s passed\n", number,
                                   path->diagram.states[i].name);
}

char *
lifecycle_mermaid(const Lifecycle *self, const char *header)
{
    GString *out = g_string_new("stateDiagram-v2\n");

    g_string_append_printf(out, "    %%%% %s    direction LR\n", header);
    g_string_append(out, "    classDef passed fill:#cde4f7,stroke:#0072b2\n");
    for (unsigned i = 0; i < self->paths->len; i++)
        append_path(out, self->paths->pdata[i], i);
    return g_string_free(out, FALSE);
}
