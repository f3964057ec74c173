/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One page that needs nothing else: style, script, pictures and the objects' times are in it. Its
 * Content-Security-Policy forbids the browser to fetch anything.
 *
 * report/report.html has the page with a name in double braces for each part that is filled in.
 * report.css gives the text, axes and grid of gnuplot's pictures the colours of the page, light or
 * dark; the colours of the data are the same in both. report.js shows the objects at the time of
 * the slider: a square for each, whose colour is the last point that the object has reached. */
#include <gio/gio.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/gnuplot.h"
#include "commands.h"
#include "models/api/fields.h"
#include "run/files/csv.h"
#include "run/results/result-folder.h"
#include "run/results/results.h"
#include "sim/order.h"

/* clang-format off */
static const struct {
    const char *picture, *source, *caption;
} figures[] = {
    {"waits",        "waits.csv",                  "Where the time went: each stage of the mean object, by what it waited for."},
    {"timeline",     "objects.csv",                "Each pod's start, stage by stage."},
    {"availability", "availability-over-time.csv", "When each workload lacked pods."},
    {"pending",      "over-time.csv",              "Pods that were not ready."},
    {"cdf",          "distributions.csv",          "How long the stages took."},
    {"in-flight",    "over-time.csv",              "Calls in flight at the drivers, and pods that waited."},
    {"requests",     "client-rates.csv",           "Requests to the API server."},
    {"nodes",        "node-volumes.csv",           "Volumes attached to each node."},
    {"modes",        "binding-modes.csv",          "Immediate against WaitForFirstConsumer."},
};
/* clang-format on */

/* A point in the life of an object: its column in objects.csv, and the object's state from then on.
 */
typedef struct {
    const char *column; /* NULL: there are no more points */
    const char *state, *color;
} ReportPoint;

static const ReportPoint pod_points[] = {
    {"created",   "without a node", "#56B4E9"},
    {"scheduled", "on a node",      "#E69F00"},
    {"attached",  "attached",       "#009E73"},
    {"staged",    "staged",         "#CC79A7"},
    {"published", "published",      "#0072B2"},
    {"ready",     "ready",          "#F0E442"},
    {"deleted",   "deleted",        "#D55E00"},
    {"gone",      "gone",           "#8882"  },
    {NULL,        NULL,             NULL     },
};

static const ReportPoint claim_points[] = {
    {"created",     "pending",                  "#56B4E9"},
    {"asked",       "with a provisioner asked", "#E69F00"},
    {"provisioned", "provisioned",              "#009E73"},
    {"bound",       "bound",                    "#F0E442"},
    {"deleted",     "deleted",                  "#D55E00"},
    {"gone",        "gone",                     "#8882"  },
    {NULL,          NULL,                       NULL     },
};

static const ReportPoint volume_points[] = {
    {"asked",       "being made", "#E69F00"},
    {"provisioned", "made",       "#CC79A7"},
    {"created",     "available",  "#009E73"},
    {"bound",       "bound",      "#F0E442"},
    {"deleted",     "released",   "#D55E00"},
    {"gone",        "gone",       "#8882"  },
    {NULL,          NULL,         NULL     },
};

static const struct {
    const char *kind, *heading;
    const ReportPoint *points; /* in order */
} kinds[] = {
    {"pod",    "pods",    pod_points   },
    {"claim",  "claims",  claim_points },
    {"volume", "volumes", volume_points},
};

static void
append_escaped(GString *text, const char *value)
{
    g_autofree char *escaped = g_markup_escape_text(value == NULL ? "" : value, -1);

    g_string_append(text, escaped);
}

static void
append_seconds(GString *text, const json_t *row, const char *name)
{
    double seconds = json_number_value(json_object_get(row, name));

    if (seconds < 1)
        g_string_append_printf(text, "<td>%.1f ms</td>", seconds * 1000);
    else
        g_string_append_printf(text, "<td>%.2f s</td>", seconds);
}

/* "scenario", "driver latency: CreateVolume" */
static void
append_cause(GString *text, const char *wait, const char *detail)
{
    append_escaped(text, wait);
    if (detail == NULL || detail[0] == '\0')
        return;
    g_string_append(text, ": ");
    append_escaped(text, detail);
}

/* The seconds of all causes with the wait and detail of @cause, whatever the workers did in the
 * meantime. */
static double
cause_seconds(const json_t *causes, const json_t *cause)
{
    double sum = 0;

    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *other = json_array_get(causes, i);
        if (json_equal(json_object_get(other, "wait"), json_object_get(cause, "wait")) &&
            json_equal(json_object_get(other, "detail"), json_object_get(cause, "detail")))
            sum += json_number_value(json_object_get(other, "seconds"));
    }
    return sum;
}

/* The largest cause, as in the table that kvolsim run prints. */
static void
append_largest_cause(GString *text, const json_t *causes)
{
    const json_t *largest = NULL;

    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *cause = json_array_get(causes, i);
        if (largest == NULL || cause_seconds(causes, cause) > cause_seconds(causes, largest))
            largest = cause;
    }
    if (largest != NULL)
        append_cause(text, json_path_string(largest, "wait"), json_path_string(largest, "detail"));
}

static char *
stage_rows(const json_t *summary)
{
    static const char *const columns[] = {"mean", "p50", "p90", "p99", "max"};
    GString *text = g_string_new(NULL);
    json_t *stages = json_object_get(summary, "stages"), *row;
    const char *name;

    json_object_foreach(stages, name, row) {
        const json_t *stage = json_object_get(json_object_get(summary, "attribution"), name);
        g_string_append_printf(text, "<tr><td>%s</td><td>%d</td>", name,
                               (int)json_integer_value(json_object_get(row, "count")));
        for (unsigned i = 0; i < G_N_ELEMENTS(columns); i++)
            append_seconds(text, row, columns[i]);
        g_string_append(text, "<td class=\"text\">");
        append_largest_cause(text, json_object_get(stage, "causes"));
        g_string_append(text, "</td></tr>\n");
    }
    return g_string_free(text, FALSE);
}

/* "" if the run has no attribution. */
static char *
bottleneck_line(const json_t *summary)
{
    GString *text = g_string_new(NULL);
    const json_t *why = json_object_get(
        json_object_get(json_object_get(summary, "attribution"), "pod-start"), "bottleneck");
    const char *detail = json_path_string(why, "detail");

    if (why == NULL)
        return g_string_free(text, FALSE);
    g_string_append(text, "<p><strong>Pods waited most for ");
    append_cause(text, json_path_string(why, "wait"), detail);
    g_string_append_printf(text, "</strong>, %.0f %% of their start; ",
                           100 * json_number_value(json_object_get(why, "share")));
    append_escaped(text, json_path_string(why, "limit"));
    g_string_append(text, ".</p>\n");
    return g_string_free(text, FALSE);
}

/* ["name", times in ms; null: never]. Returns: the latest of these times, s */
static double
append_object(GString *text, const CsvReader *row, unsigned kind)
{
    const char *namespace = csv_reader_cell(row, "namespace");
    double last = 0;

    g_string_append(text, "[\"");
    if (namespace[0] != '\0' && strcmp(namespace, "default") != 0)
        g_string_append_printf(text, "%s/", namespace);
    g_string_append_printf(text, "%s\"", csv_reader_cell(row, "name"));
    for (const ReportPoint *point = kinds[kind].points; point->column != NULL; point++) {
        const char *cell = csv_reader_cell(row, point->column);
        double at = g_ascii_strtod(cell, NULL);
        if (cell[0] == '\0')
            g_string_append(text, ",null");
        else
            g_string_append_printf(text, ",%" PRId64, (int64_t)(at * 1000 + 0.5));
        last = MAX(last, at);
    }
    g_string_append(text, "]");
    return last;
}

/* The objects of a kind and their times, from objects.csv. Returns: the latest time of all, s */
static double
append_kind(GString *text, const char *objects, unsigned kind)
{
    g_autoptr(CsvReader) rows = csv_reader_new(objects);
    double last = 1;
    gboolean is_first = TRUE;

    g_string_append_printf(text, "{name:'%s',states:[['to come','#8884']", kinds[kind].heading);
    for (const ReportPoint *point = kinds[kind].points; point->column != NULL; point++)
        g_string_append_printf(text, ",['%s','%s']", point->state, point->color);
    g_string_append(text, "],rows:[");
    while (csv_reader_next(rows)) {
        if (strcmp(csv_reader_cell(rows, "kind"), kinds[kind].kind) != 0)
            continue;
        g_string_append(text, is_first ? "" : ",\n");
        double at = append_object(text, rows, kind);
        last = MAX(last, at);
        is_first = FALSE;
    }
    g_string_append(text, "]}");
    return last;
}

/* Each kind as an object of JavaScript. @end: (out): when the last thing has happened, s */
static char *
kind_objects(const char *objects, double *end)
{
    GString *text = g_string_new(NULL);

    *end = 1;
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_string_append(text, i == 0 ? "" : ",\n");
        double last = append_kind(text, objects, i);
        *end = MAX(*end, last);
    }
    return g_string_free(text, FALSE);
}

/* ---- Events ---- */

/* Events of one reason, as kubectl sums them up. */
typedef struct {
    const json_t *first; /* the first Event; borrowed */
    gboolean is_warning;
    double count;
    const char *begin, *end; /* time stamps */
} EventGroup;

/* Warnings first, then by time. */
static int
compare_groups(const void *a, const void *b)
{
    const EventGroup *one = a, *other = b;

    return ORDER(other->is_warning, one->is_warning) ?: g_strcmp0(one->begin, other->begin);
}

static const char *
event_text(const json_t *event, const char *member)
{
    const char *text = json_string_value(json_object_get(event, member));

    return text == NULL ? "" : text;
}

static void
count_event(GArray *groups, const json_t *event)
{
    double n = json_number_value(json_object_get(event, "count"));
    EventGroup *group = NULL;

    for (unsigned i = 0; i < groups->len && group == NULL; i++) {
        EventGroup *other = &g_array_index(groups, EventGroup, i);
        if (strcmp(event_text(other->first, "reason"), event_text(event, "reason")) == 0 &&
            other->is_warning == (strcmp(event_text(event, "type"), "Warning") == 0))
            group = other;
    }
    if (group == NULL) {
        EventGroup added = {.first = event,
                            .is_warning = strcmp(event_text(event, "type"), "Warning") == 0,
                            .begin = event_text(event, "firstTimestamp"),
                            .end = ""};
        g_array_append_val(groups, added);
        group = &g_array_index(groups, EventGroup, groups->len - 1);
    }
    group->count += n;
    if (g_strcmp0(event_text(event, "lastTimestamp"), group->end) > 0)
        group->end = event_text(event, "lastTimestamp");
}

/* A row for each reason, from the lines of events.jsonl. (owned) */
static char *
event_rows(const char *events)
{
    g_auto(GStrv) lines = g_strsplit(events, "\n", -1);
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(GArray) groups = g_array_new(FALSE, TRUE, sizeof(EventGroup));
    GString *text = g_string_new(NULL);

    for (unsigned i = 1; lines[0] != NULL && lines[i] != NULL; i++) {
        json_t *event = json_loads(lines[i], 0, NULL);
        if (event == NULL)
            continue;
        g_ptr_array_add(all, event);
        count_event(groups, event);
    }
    g_array_sort(groups, compare_groups);
    for (unsigned i = 0; i < groups->len; i++) {
        const EventGroup *group = &g_array_index(groups, EventGroup, i);
        const json_t *object = json_object_get(group->first, "involvedObject");
        g_string_append_printf(text, "<tr%s><td>%s</td><td>%.0f</td><td>%s</td><td>%s</td>",
                               group->is_warning ? " class=\"warning\"" : "",
                               event_text(group->first, "reason"), group->count, group->begin,
                               group->end);
        g_string_append(text, "<td class=\"text\">");
        append_escaped(text, event_text(object, "kind"));
        g_string_append_c(text, '/');
        append_escaped(text, event_text(object, "name"));
        g_string_append(text, ": ");
        append_escaped(text, event_text(group->first, "message"));
        g_string_append(text, "</td></tr>\n");
    }
    return g_string_free(text, FALSE);
}

/* ---- Pictures ---- */

/* The SVG file without the XML declaration, of the class "page" or "narrow": report.css shows one
 * of the two. The ids in it get the picture's name: they must be unique in the page. */
static gboolean
append_svg(GString *text, const char *run, unsigned i, const char *format)
{
    static const char *const ids[] = {"gpPat", "gpPt", "gpDot", "gnuplot_", "textbox", "greybox"};
    const gboolean is_narrow = strcmp(format, "narrow") == 0;
    g_autofree char *name =
        g_strconcat(figures[i].picture, ".", gnuplot_format(format)->suffix, NULL);
    g_autofree char *path = g_build_filename(run, name, NULL);
    g_autofree char *svg = NULL;

    if (gnuplot_draw_results(run, figures[i].picture, figures[i].source, gnuplot_format(format),
                             is_narrow ? "narrow = 1" : "") != EXIT_DONE)
        return FALSE;
    const char *begin = g_file_get_contents(path, &svg, NULL, NULL) ? strstr(svg, "<svg") : NULL;
    if (begin == NULL) {
        cli_error("report: %s cannot be read", path);
        return FALSE;
    }
    g_autoptr(GString) unique = g_string_new(begin + strlen("<svg"));
    for (unsigned k = 0; k < G_N_ELEMENTS(ids); k++) {
        g_autofree char *own = g_strdup_printf("%s-%s-%s", figures[i].picture, format, ids[k]);
        g_string_replace(unique, ids[k], own, 0);
    }
    g_string_append_printf(text, "<svg class=\"%s\"%s", format, unique->str);
    return TRUE;
}

static gboolean
append_figure(GString *text, const char *run, unsigned i)
{
    g_string_append_printf(text, "<figure><figcaption class=\"quiet\">%s</figcaption>",
                           figures[i].caption);
    if (!append_svg(text, run, i, "page") || !append_svg(text, run, i, "narrow"))
        return FALSE;
    g_string_append(text, "</figure>\n");
    return TRUE;
}

/* A run with --no-attribution lacks some files. Returns: (owned): NULL with the fault printed */
static char *
all_figures(const char *run, const ResultFolder *folder)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(figures); i++)
        if (result_folder_has(folder, figures[i].source) && !append_figure(text, run, i))
            return NULL;
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- The page ---- */

/* A part of the page: its name in report.html, and its text. */
typedef struct {
    const char *name;
    char *text; /* (owned) */
} CliReportPart;

/* A file of report/, which is built into the program. (owned) */
static char *
built_in(const char *name)
{
    g_autofree char *path = g_strconcat("/kvolsim/report/", name, NULL);
    g_autoptr(GBytes) bytes = g_resources_lookup_data(path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

    g_assert(bytes != NULL);
    return g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

/* Replaces each {{name}} of @page by the text of that part. (owned) */
static char *
fill_in(const char *page, const CliReportPart *parts, unsigned n)
{
    GString *text = g_string_new(NULL);
    const char *begin;

    for (; (begin = strstr(page, "{{")) != NULL; page = strstr(begin, "}}") + 2) {
        gsize length = strcspn(begin + 2, "}");
        unsigned i = 0;

        while (i < n &&
               !(strlen(parts[i].name) == length && strncmp(parts[i].name, begin + 2, length) == 0))
            i++;
        g_assert(i < n);
        g_string_append_len(text, page, begin - page);
        g_string_append(text, parts[i].text);
    }
    g_string_append(text, page);
    return g_string_free(text, FALSE);
}

/* "slo missed: pod-start p99 below 30 s" for each slo and expectation that was not met. */
static void
append_missed(const json_t *summary, const char *member, GString *lines)
{
    size_t i;
    const json_t *row;

    json_array_foreach(json_object_get(summary, member), i, row)
        if (json_is_false(json_object_get(row, "met")))
            g_string_append_printf(lines, "%s missed: %s\n", member, event_text(row, member));
}

/* The last lines of the run as a list, and all that it missed; "" if all is well. */
static char *
notices(const json_t *summary)
{
    g_autoptr(GString) lines = g_string_new(NULL);
    GString *text = g_string_new(NULL);

    append_missed(summary, "slo", lines);
    append_missed(summary, "expect", lines);
    results_append_notices(summary, lines);
    g_auto(GStrv) each = g_strsplit(lines->str, "\n", -1);
    for (unsigned i = 0; each[i] != NULL && each[i][0] != '\0'; i++) {
        g_string_append(text,
                        i == 0 ? "<h2>What to know</h2>\n<ul class=\"notices\">\n<li>" : "<li>");
        append_escaped(text, each[i]);
        g_string_append(text, "</li>\n");
    }
    if (text->len > 0)
        g_string_append(text, "</ul>\n");
    return g_string_free(text, FALSE);
}

/* Returns: (owned): a link to the page that `serve --export RUN/page` wrote; "": there is none */
static char *
page_link(const char *run)
{
    g_autofree char *path = g_build_filename(run, "page", "index.html", NULL);

    return g_strdup(g_file_test(path, G_FILE_TEST_EXISTS)
                        ? "<p><a href=\"page/index.html\">Watch the run, step by step</a></p>\n"
                        : "");
}

static char *
make_page(const char *run,
          const json_t *summary,
          const char *objects,
          const char *events,
          const char *figures_text)
{
    const char *scenario = json_path_string(summary, "scenario");
    const char *version = json_path_string(summary, "version");
    const char *hash = json_path_string(summary, "scenarioHash");
    double seconds = json_number_value(json_object_get(summary, "virtualSeconds")), end;
    int seed = (int)json_integer_value(json_object_get(summary, "seed"));
    char *objects_text = kind_objects(objects, &end);
    char *scenario_text = g_markup_escape_text(scenario == NULL ? "" : scenario, -1);
    char *seed_text = g_strdup_printf("%d", seed);
    char *hash_text = g_strdup_printf("%.12s", hash);
    char *seconds_text = g_strdup_printf("%.0f", seconds);
    char *end_text = g_strdup_printf("%.1f", end + 1);
    const CliReportPart parts[] = {
        {"scenario",   scenario_text           },
        {"css",        built_in("report.css")  },
        {"version",    g_strdup(version)       },
        {"seed",       seed_text               },
        {"hash",       hash_text               },
        {"seconds",    seconds_text            },
        {"bottleneck", bottleneck_line(summary)},
        {"page",       page_link(run)          },
        {"notices",    notices(summary)        },
        {"end",        end_text                },
        {"kinds",      objects_text            },
        {"stages",     stage_rows(summary)     },
        {"events",     event_rows(events)      },
        {"figures",    g_strdup(figures_text)  },
        {"js",         built_in("report.js")   },
    };
    g_autofree char *page = built_in("report.html");
    char *text = fill_in(page, parts, G_N_ELEMENTS(parts));

    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
        g_free(parts[i].text);
    return text;
}

/* All files are looked at before the first picture is drawn. */
static gboolean
sources_are_good(const ResultFolder *folder, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(figures); i++)
        if (result_folder_has(folder, figures[i].source) &&
            !result_folder_check(folder, figures[i].source, error))
            return FALSE;
    return TRUE;
}

static ExitCode
cmd_report_report(const char *run)
{
    g_autofree char *page_path = g_build_filename(run, "report.html", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ResultFolder) folder = result_folder_open(run, "summary.json", &error);
    g_autofree char *objects =
        folder != NULL ? result_folder_read(folder, "objects.csv", &error) : NULL;

    g_autofree char *events =
        objects != NULL ? result_folder_read(folder, "events.jsonl", &error) : NULL;

    if (events == NULL || !sources_are_good(folder, &error))
        return cli_bad_input("report: %s", error->message);
    g_autofree char *pictures = all_figures(run, folder);
    if (pictures == NULL)
        return EXIT_ERROR;
    g_autofree char *page = make_page(run, result_folder_index(folder), objects, events, pictures);
    if (!g_file_set_contents(page_path, page, -1, &error))
        return cli_fail("report: %s", error->message);
    printf("%s\n", page_path);
    return EXIT_DONE;
}

int
cmd_report(int argc, char **argv)
{
    const GOptionEntry entries[] = {
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "RUN",
            "Make one HTML page of a run, report.html in its folder, and print the file's name.",
            "RUN is the --out folder of kvolsim run. The page needs no other file and no "
            "network.\nIt links RUN/page, if kvolsim serve SCENARIO --export RUN/page has written "
            "it."))
        return EXIT_BAD_INPUT;
    if (argc != 2)
        return cli_bad_usage("report", "give the folder of a run");
    return cmd_report_report(argv[1]);
}
