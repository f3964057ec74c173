/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* One page that needs nothing else: style, script, pictures and the pods' times are within. Nothing is fetched: the page forbids it. */

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n";

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--line:#d5d5d5;--quiet:#5c5c5c}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#17191c;--line:#3a3d42;--quiet:#a8a8a8}\n"
    "figure svg{filter:invert(.9) hue-rotate(180deg)}}\n"
    "body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;padding:1rem;max-width:72rem}\n"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:1.6rem 0 .4rem}p{margin:.4rem 0}.quiet{color:var(--quiet)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\n"
    "th:first-child,th:last-child,td:first-child,td.text{text-align:left}td.text{white-space:normal}\n"
    "input[type=range]{width:100%;margin:.4rem 0}canvas{width:100%;display:block;border:1px solid var(--line)}\n"
    ".legend span{display:inline-block;margin-right:1rem}.legend i{display:inline-block;width:.9em;height:.9em;margin-right:.35em;vertical-align:-.1em}\n"
    "figure{margin:1rem 0}figure svg{width:100%;height:auto}\n"
    "</style>\n";

/* The state of each pod at a time: the last point that it has reached. Colours as in the pictures. */
static const char script[] =
    "<script>\n"
    "const states=[['to come','#8884'],['without a node','#0072B2'],['on a node','#E69F00'],['attached','#009E73'],"
    "['staged','#56B4E9'],['published','#CC79A7'],['ready','#F0E442'],['deleted','#D55E00'],['gone','#8882']];\n"
    "const slider=document.getElementById('time'),canvas=document.getElementById('pods'),text=document.getElementById('now'),legend=document.getElementById('legend');\n"
    "function stateOf(pod,t){let s=0;for(let i=1;i<pod.length;i++)if(pod[i]!==null&&pod[i]<=t)s=i;return s}\n"
    "function draw(){const t=+slider.value,n=pods.length,width=canvas.clientWidth*devicePixelRatio|0;\n"
    "let cell=Math.max(2,Math.min(24*devicePixelRatio|0,Math.floor(Math.sqrt(width*400*devicePixelRatio/Math.max(n,1)))));\n"
    "const columns=Math.max(1,Math.floor(width/cell));canvas.width=width;canvas.height=Math.max(cell,Math.ceil(n/columns)*cell);\n"
    "const c=canvas.getContext('2d'),count=new Array(states.length).fill(0),gap=cell>5?1:0;\n"
    "for(let i=0;i<n;i++){const s=stateOf(pods[i],t);count[s]++;c.fillStyle=states[s][1];c.fillRect(i%columns*cell,Math.floor(i/columns)*cell,cell-gap,cell-gap)}\n"
    "text.textContent='at '+t.toFixed(1)+' s: '+states.map((s,i)=>count[i]?count[i]+' '+s[0]:'').filter(x=>x).join(', ');}\n"
    "states.forEach(s=>{const e=document.createElement('span'),i=document.createElement('i');i.style.background=s[1];e.append(i,s[0]);legend.append(e)});\n"
    "slider.addEventListener('input',draw);addEventListener('resize',draw);\n"
    "const wanted=/^#t=([0-9.]+)$/.exec(location.hash);if(wanted)slider.value=wanted[1];draw();\n"
    "</script>\n";

static const struct {
    const char *picture, *source, *caption;
} figures[] = {
    {"waits",     "waits.csv",         "Where the time went: each stage of the mean object, by what it waited for."},
    {"pending",   "over-time.csv",     "Pods that were not ready."                                                 },
    {"cdf",       "distributions.csv", "How long the stages took."                                                 },
    {"requests",  "client-rates.csv",  "Requests to the API server."                                               },
    {"in-flight", "over-time.csv",     "Calls in flight at the drivers, and pods that waited."                     },
    {"nodes",     "node-volumes.csv",  "Volumes attached to each node."                                            },
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

    g_string_append(text, "<h2>Stages</h2><div class=\"wide\"><table><tr><th>stage</th><th>count</th><th>mean</th>"
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

/* Of objects.csv: rows of pods as [name, created, scheduled, ..., gone]; null: never. Returns: when the last thing happened to one */
static double
append_pods(GString *text, const char *objects)
{
    /* Columns: name, created, scheduled, attached, staged, published, ready, deleted, gone. */
    static const unsigned columns[] = {2, 5, 6, 7, 8, 9, 10, 14, 15};
    g_auto(GStrv) lines = g_strsplit(objects, "\n", -1);
    double last = 1;
    gboolean is_first = TRUE;

    g_string_append(text, "<script>const pods=[");
    for (unsigned i = 0; lines[i] != NULL; i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
        if (g_strv_length(cells) < 16 || strcmp(cells[0], "pod") != 0)
            continue;
        g_string_append_printf(text, "%s[\"%s\"", is_first ? "" : ",\n", cells[columns[0]]);
        for (unsigned k = 1; k < G_N_ELEMENTS(columns); k++) {
            const char *cell = cells[columns[k]];
            g_string_append_printf(text, ",%s", cell[0] == '\0' ? "null" : cell);
            if (cell[0] != '\0')
                last = MAX(last, g_ascii_strtod(cell, NULL));
        }
        g_string_append(text, "]");
        is_first = FALSE;
    }
    g_string_append(text, "];</script>\n");
    return last;
}

static void
append_slider(GString *text, const char *objects)
{
    g_autoptr(GString) data = g_string_new(NULL);
    double last = append_pods(data, objects);
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(number, sizeof number, "%.1f", last + 1);
    g_string_append_printf(text,
                           "<h2>Pods over time</h2><p id=\"now\" aria-live=\"polite\"></p>"
                           "<input id=\"time\" type=\"range\" min=\"0\" max=\"%s\" step=\"0.1\" "
                           "value=\"0\" aria-label=\"time in seconds\">\n"
                           "<canvas id=\"pods\" role=\"img\" aria-label=\"a square for each pod\"></canvas>"
                           "<p id=\"legend\" class=\"legend quiet\"></p>\n",
                           number);
    g_string_append(text, data->str);
}

/* The picture as it stands in an SVG file: without the XML declaration. */
static void
append_figure(GString *text, const char *run, unsigned i)
{
    g_autofree char *source = g_build_filename(run, figures[i].source, NULL);
    g_autofree char *name = g_strconcat(figures[i].picture, ".svg", NULL);
    g_autofree char *path = g_build_filename(run, name, NULL);
    g_autofree char *svg = NULL;

    if (!g_file_test(source, G_FILE_TEST_EXISTS) ||
        cli_draw(run, figures[i].picture, figures[i].source, "svg") != EXIT_DONE ||
        !g_file_get_contents(path, &svg, NULL, NULL))
        return;
    const char *begin = strstr(svg, "<svg");
    if (begin == NULL)
        return;
    g_string_append_printf(text, "<figure>%s<figcaption class=\"quiet\">%s</figcaption></figure>\n",
                           begin, figures[i].caption);
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
        text, "</h1><p class=\"quiet\">kvolsim %s, seed %d, hash %.12s, %.0f s of virtual time</p>\n",
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

    if (!cli_parse(&argc, &argv, entries, "RUN",
                   "Make one HTML page of a run, report.html in its folder, and print the file's name.",
                   "RUN is the --out folder of kvolsim run. The page needs no other file and no network."))
        return EXIT_BAD_INPUT;
    if (argc != 2) {
        cli_error("report: give the folder of a run (see kvolsim report --help)");
        return EXIT_BAD_INPUT;
    }
    return report(argv[1]);
}
