/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gnuplot.h"

/* One page that needs nothing else: style, script, pictures and the pods' times are within. Nothing
 * is fetched: the page forbids it. */

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n";

/* gnuplot's own colours of text, axes and grid follow the page's; those of the data are the same in
 * the light and in the dark. */
static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--line:#d5d5d5;--quiet:#5c5c5c}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#17191c;--line:#3a3d42;--quiet:#"
    "a8a8a8}}\n"
    "body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 "
    "auto;padding:1rem;max-width:72rem}\n"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:1.6rem 0 .4rem}p{margin:.4rem "
    "0}.quiet{color:var(--quiet)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .7rem;border-bottom:1px solid "
    "var(--line);text-align:right;white-space:nowrap}\n"
    "th:first-child,th:last-child,td:first-child,td.text{text-align:left}td.text{white-space:"
    "normal;min-width:16rem}\n"
    "#clock{position:sticky;top:0;background:var(--paper);padding:.3rem 0}\n"
    "input[type=range]{width:100%;margin:.2rem 0}canvas{width:100%;display:block;border:1px solid "
    "var(--line)}\n"
    ".legend span{display:inline-block;margin-right:1rem}.legend "
    "i{display:inline-block;width:.9em;height:.9em;margin-right:.35em;vertical-align:-.1em}\n"
    "figure{margin:1.6rem 0}figcaption{margin-bottom:.3rem}figure "
    "svg{width:100%;min-width:44rem;height:auto;display:block}\n"
    "figure svg g{color:var(--ink)}figure svg text{fill:var(--ink)}figure svg "
    ".gridline{stroke:var(--line)}\n"
    "figure svg [stroke=\"rgb( 85,  85,  85)\"],figure svg [stroke=\"rgb( 64,  64,  "
    "64)\"]{stroke:var(--quiet)}\n"
    "figure svg [stroke=\"rgb(  0,   0,   0)\"]{stroke:var(--ink)}\n"
    "</style>\n";

/* The state of each object at a time: the last point that it has reached. A square for each; its
 * name is told where the mouse is. */
static const char script[] =
    "<script>\n"
    "const slider=document.getElementById('time');\n"
    "function stateOf(row,t){let s=0;for(let "
    "i=1;i<row.length;i++)if(row[i]!==null&&row[i]<=t*1000)s=i;return s}\n"
    "function draw(kind){const "
    "t=+slider.value,canvas=kind.canvas,n=kind.rows.length,ratio=devicePixelRatio,width=canvas."
    "clientWidth*ratio|0;\n"
    "const "
    "cell=Math.max(2,Math.min(24*ratio|0,Math.floor(Math.sqrt(width*300*ratio/Math.max(n,1)))));\n"
    "const "
    "columns=Math.max(1,Math.floor(width/"
    "cell));canvas.width=width;canvas.height=Math.max(cell,Math.ceil(n/columns)*cell);\n"
    "const "
    "c=canvas.getContext('2d'),count=kind.states.map(()=>0),gap=cell>5?1:0;kind.cell=cell;kind."
    "columns=columns;\n"
    "kind.rows.forEach((row,i)=>{const "
    "s=stateOf(row,t);count[s]++;c.fillStyle=kind.states[s][1];c.fillRect(i%columns*cell,Math."
    "floor(i/columns)*cell,cell-gap,cell-gap)});\n"
    "kind.text.textContent=(kind.name=='pods'?'at '+t.toFixed(1)+' s: ':kind.name+': "
    "')+kind.states.map((s,i)=>count[i]?count[i]+' '+s[0]:'').filter(x=>x).join(', ');}\n"
    "function drawAll(){kinds.forEach(draw)}\n"
    "kinds.forEach(kind=>{const "
    "box=document.getElementById(kind.name);kind.text=box.querySelector('.now');kind.canvas=box."
    "querySelector('canvas');\n"
    "const legend=box.querySelector('.legend'),tip=box.querySelector('.tip');\n"
    "kind.states.forEach(s=>{const "
    "e=document.createElement('span'),i=document.createElement('i');i.style.background=s[1];e."
    "append(i,s[0]);legend.append(e)});\n"
    "kind.canvas.addEventListener('pointermove',e=>{const "
    "ratio=devicePixelRatio,i=Math.floor(e.offsetY*ratio/"
    "kind.cell)*kind.columns+Math.floor(e.offsetX*ratio/kind.cell);\n"
    "const row=kind.rows[i];tip.textContent=row?row[0]+': "
    "'+kind.states[stateOf(row,+slider.value)][0]:'\\u00a0'})});\n"
    "slider.addEventListener('input',drawAll);addEventListener('resize',drawAll);\n"
    "const "
    "wanted=/^#t=([0-9.]+)$/.exec(location.hash);if(wanted)slider.value=wanted[1];drawAll();\n"
    "</script>\n";

static const struct {
    const char *picture, *source, *caption;
} figures[] = {
    {"waits",     "waits.csv",
     "Where the time went: each stage of the mean object, by what it waited for."             },
    {"timeline",  "objects.csv",       "Each pod's start, stage by stage."                    },
    {"pending",   "over-time.csv",     "Pods that were not ready."                            },
    {"cdf",       "distributions.csv", "How long the stages took."                            },
    {"in-flight", "over-time.csv",     "Calls in flight at the drivers, and pods that waited."},
    {"requests",  "client-rates.csv",  "Requests to the API server."                          },
    {"nodes",     "node-volumes.csv",  "Volumes attached to each node."                       },
    {"modes",     "binding-modes.csv", "Immediate against WaitForFirstConsumer."              },
};

/* Columns of objects.csv. */
enum {
    KIND,
    NAMESPACE,
    NAME,
    CREATED = 5,
    SCHEDULED,
    ATTACHED,
    STAGED,
    PUBLISHED,
    READY,
    ASKED,
    PROVISIONED,
    BOUND,
    DELETED,
    GONE,
    N_COLUMNS,
};

#define POINTS_MAX 8

/* What an object is once it has reached a point, in their order. Colours as in the pictures. */
static const struct {
    const char *kind, *heading;
    struct {
        unsigned column;
        const char *state, *color;
    } points[POINTS_MAX]; /* the last: column 0 */
} kinds[] = {
    {"pod",
     "pods",    {{CREATED, "without a node", "#56B4E9"},
      {SCHEDULED, "on a node", "#E69F00"},
      {ATTACHED, "attached", "#009E73"},
      {STAGED, "staged", "#CC79A7"},
      {PUBLISHED, "published", "#0072B2"},
      {READY, "ready", "#F0E442"},
      {DELETED, "deleted", "#D55E00"},
      {GONE, "gone", "#8882"}}   },
    {"claim",
     "claims",  {{CREATED, "pending", "#56B4E9"},
      {ASKED, "with a provisioner asked", "#E69F00"},
      {PROVISIONED, "provisioned", "#009E73"},
      {BOUND, "bound", "#F0E442"},
      {DELETED, "deleted", "#D55E00"},
      {GONE, "gone", "#8882"}} },
    {"volume",
     "volumes", {{ASKED, "being made", "#E69F00"},
      {PROVISIONED, "made", "#CC79A7"},
      {CREATED, "available", "#009E73"},
      {BOUND, "bound", "#F0E442"},
      {DELETED, "released", "#D55E00"},
      {GONE, "gone", "#8882"}}},
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

static void
append_stages(GString *text, const json_t *summary)
{
    static const char *const columns[] = {"mean", "p50", "p90", "p99", "max"};
    json_t *stages = json_object_get(summary, "stages"), *row;
    const char *name;

    g_string_append(
        text,
        "<h2>Stages</h2><div class=\"wide\"><table><tr><th>stage</th><th>count</th><th>mean</th>"
        "<th>p50</th><th>p90</th><th>p99</th><th>most</th><th>waited mostly for</th></tr>\n");
    json_object_foreach(stages, name, row)
    {
        const json_t *why = json_object_get(
            json_object_get(json_object_get(summary, "attribution"), name), "bottleneck");
        const char *detail = json_string_value(json_object_get(why, "detail"));
        g_string_append_printf(text, "<tr><td>%s</td><td>%d</td>", name,
                               (int)json_integer_value(json_object_get(row, "count")));
        for (unsigned i = 0; i < G_N_ELEMENTS(columns); i++)
            append_seconds(text, row, columns[i]);
        g_string_append(text, "<td class=\"text\">");
        append_escaped(text, json_string_value(json_object_get(why, "wait")));
        if (detail != NULL && detail[0] != '\0') {
            g_string_append(text, ": ");
            append_escaped(text, detail);
        }
        g_string_append(text, "</td></tr>\n");
    }
    g_string_append(text, "</table></div>\n");
}

static void
append_bottleneck(GString *text, const json_t *summary)
{
    const json_t *why = json_object_get(
        json_object_get(json_object_get(summary, "attribution"), "pod-start"), "bottleneck");
    const char *detail = json_string_value(json_object_get(why, "detail"));

    if (why == NULL)
        return;
    g_string_append(text, "<p><strong>Pods waited most for ");
    append_escaped(text, json_string_value(json_object_get(why, "wait")));
    g_string_append(text, detail[0] == '\0' ? "" : ": ");
    append_escaped(text, detail);
    g_string_append_printf(text, "</strong>, %.0f %% of their start; ",
                           100 * json_number_value(json_object_get(why, "share")));
    append_escaped(text, json_string_value(json_object_get(why, "limit")));
    g_string_append(text, ".</p>\n");
}

/* ["name", times in ms; null: never]. Returns: the latest of them, s */
static double
append_object(GString *text, char *const *cells, unsigned kind)
{
    double last = 0;

    g_string_append(text, "[\"");
    if (cells[NAMESPACE][0] != '\0' && strcmp(cells[NAMESPACE], "default") != 0)
        g_string_append_printf(text, "%s/", cells[NAMESPACE]);
    g_string_append_printf(text, "%s\"", cells[NAME]);
    for (unsigned i = 0; i < POINTS_MAX && kinds[kind].points[i].column != 0; i++) {
        const char *cell = cells[kinds[kind].points[i].column];
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

/* The objects of a kind and their times, of the lines of objects.csv. Returns: when the last thing
 * happened to one, s */
static double
append_kind(GString *text, char *const *lines, unsigned kind)
{
    double last = 1;
    gboolean is_first = TRUE;

    g_string_append_printf(text, "{name:'%s',states:[['to come','#8884']", kinds[kind].heading);
    for (unsigned i = 0; i < POINTS_MAX && kinds[kind].points[i].column != 0; i++)
        g_string_append_printf(text, ",['%s','%s']", kinds[kind].points[i].state,
                               kinds[kind].points[i].color);
    g_string_append(text, "],rows:[");
    for (unsigned i = 0; lines[i] != NULL; i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
        if (g_strv_length(cells) < N_COLUMNS || strcmp(cells[KIND], kinds[kind].kind) != 0)
            continue;
        g_string_append(text, is_first ? "" : ",\n");
        double at = append_object(text, cells, kind);
        last = MAX(last, at);
        is_first = FALSE;
    }
    g_string_append(text, "]}");
    return last;
}

static void
append_slider(GString *text, const char *objects)
{
    g_autoptr(GString) data = g_string_new("<script>const kinds=[");
    g_auto(GStrv) lines = g_strsplit(objects, "\n", -1);
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    double last = 1;

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_string_append(data, i == 0 ? "" : ",\n");
        double at = append_kind(data, lines, i);
        last = MAX(last, at);
    }
    g_string_append(data, "];</script>\n");
    g_ascii_formatd(number, sizeof number, "%.1f", last + 1);
    g_string_append_printf(text,
                           "<h2>Objects over time</h2><div id=\"clock\">"
                           "<input id=\"time\" type=\"range\" min=\"0\" max=\"%s\" step=\"0.1\" "
                           "value=\"0\" aria-label=\"time in seconds\"></div>\n",
                           number);
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        g_string_append_printf(
            text,
            "<section id=\"%s\"><p id=\"%s\" class=\"now\" aria-live=\"polite\"></p>"
            "<canvas role=\"img\" aria-label=\"a square for each of the %s\"></canvas>"
            "<p class=\"tip quiet\">&nbsp;</p><p class=\"legend quiet\"></p></section>\n",
            kinds[i].heading, i == 0 ? "now" : kinds[i].kind, kinds[i].heading);
    g_string_append(text, data->str);
}

/* The picture as it stands in an SVG file, without the XML declaration. Its ids get its name, for a
 * page has each id once. */
static void
append_figure(GString *text, const char *run, unsigned i)
{
    static const char *const ids[] = {"gpPat", "gpPt", "gpDot", "gnuplot_", "textbox", "greybox"};
    g_autofree char *source = g_build_filename(run, figures[i].source, NULL);
    g_autofree char *name = g_strconcat(figures[i].picture, ".svg", NULL);
    g_autofree char *path = g_build_filename(run, name, NULL);
    g_autofree char *svg = NULL;

    if (!g_file_test(source, G_FILE_TEST_EXISTS) ||
        gnuplot_draw_results(run, figures[i].picture, figures[i].source, gnuplot_format("page"),
                             "") != EXIT_DONE ||
        !g_file_get_contents(path, &svg, NULL, NULL))
        return;
    const char *begin = strstr(svg, "<svg");
    if (begin == NULL)
        return;
    g_autoptr(GString) unique = g_string_new(begin);
    for (unsigned k = 0; k < G_N_ELEMENTS(ids); k++) {
        g_autofree char *own = g_strdup_printf("%s-%s", figures[i].picture, ids[k]);
        g_string_replace(unique, ids[k], own, 0);
    }
    g_string_append_printf(text,
                           "<figure><figcaption class=\"quiet\">%s</figcaption><div "
                           "class=\"wide\">%s</div></figure>\n",
                           figures[i].caption, unique->str);
}

static char *
make_page(const char *run, const json_t *summary, const char *objects)
{
    GString *text = g_string_new(head);
    const char *scenario = json_string_value(json_object_get(summary, "scenario"));

    g_string_append(text, "<title>kvolsim: ");
    append_escaped(text, scenario);
    g_string_append_printf(text, "</title>\n%s</head><body>\n<h1>", style);
    append_escaped(text, scenario);
    g_string_append_printf(
        text,
        "</h1><p class=\"quiet\">kvolsim %s, seed %d, hash %.12s, %.0f s of virtual time</p>\n",
        json_string_value(json_object_get(summary, "version")),
        (int)json_integer_value(json_object_get(summary, "seed")),
        json_string_value(json_object_get(summary, "scenarioHash")),
        json_number_value(json_object_get(summary, "virtualSeconds")));
    append_bottleneck(text, summary);
    append_slider(text, objects);
    append_stages(text, summary);
    g_string_append(text, "<h2>Pictures</h2>\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(figures); i++)
        append_figure(text, run, i);
    g_string_append_printf(text, "%s</body></html>\n", script);
    return g_string_free(text, FALSE);
}

static ExitCode
report(const char *run)
{
    g_autofree char *summary_path = g_build_filename(run, "summary.json", NULL);
    g_autofree char *objects_path = g_build_filename(run, "objects.csv", NULL);
    g_autofree char *page_path = g_build_filename(run, "report.html", NULL);
    g_autofree char *objects = NULL;
    g_autoptr(GError) error = NULL;
    json_error_t fault;

    if (!g_file_get_contents(objects_path, &objects, NULL, &error)) {
        cli_error("report: %s; is %s the --out folder of a run?", error->message, run);
        return EXIT_BAD_INPUT;
    }
    json_t *summary = json_load_file(summary_path, 0, &fault);
    if (summary == NULL) {
        cli_error("report: %s: %s", summary_path, fault.text);
        return EXIT_BAD_INPUT;
    }
    g_autofree char *page = make_page(run, summary, objects);
    json_decref(summary);
    if (!g_file_set_contents(page_path, page, -1, &error)) {
        cli_error("report: %s", error->message);
        return EXIT_ERROR;
    }
    printf("%s\n", page_path);
    return EXIT_DONE;
}

int
cmd_report(int argc, char **argv)
{
    const GOptionEntry entries[] = {G_OPTION_ENTRY_NULL};

    if (!cli_parse(
            &argc, &argv, entries, "RUN",
            "Make one HTML page of a run, report.html in its folder, and print the file's name.",
            "RUN is the --out folder of kvolsim run. The page needs no other file and no network."))
        return EXIT_BAD_INPUT;
    if (argc != 2) {
        cli_error("report: give the folder of a run (see kvolsim report --help)");
        return EXIT_BAD_INPUT;
    }
    return report(argv[1]);
}
