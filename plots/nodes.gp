# SPDX-License-Identifier: GPL-3.0-or-later
# Volumes attached to each node over time, against how many may be: a row for each node. Full nodes are yellow.
#
# Reads node-volumes.csv of a run: blocks of seconds, row (a number), name of its node, attached, limit (-1: none), nodes: how many a
# row stands for, of which it shows the fullest. Nodes without a limit are measured against the fullest one.

# A text in quotes, for eval: those in it are doubled, so that it remains a text.
doubled(text) = strstrt(text, "'") == 0 ? text : text[1 : strstrt(text, "'")] . "'" . doubled(text[strstrt(text, "'") + 1 : *])
quoted(text) = "'" . doubled(text) . "'"
is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

head = exists("narrow") ? "" : run_title . ": " # a narrow picture is on the page, which has a caption
set title (exists("narrow") ? "" : head . "volumes attached to nodes")
set xlabel "seconds of virtual time"
most = 0
limited = 0
n_rows = 0
each = 1
last = 0
names = ""
row(i) = column("row")
attached(i) = column("attached")
limit(i) = column("limit")
stats input using (most = attached(0) > most ? attached(0) : most, limited = limited + (limit(0) > 0), \
                   n_rows = row(0) + 1 > n_rows ? row(0) + 1 : n_rows, each = column("nodes"), last = column("seconds"), \
                   names = column("seconds") == 0 && row(0) < 40 ? names . sprintf("%s %d,", quoted(strcol("name")), row(0)) : names, 0) nooutput
if (most == 0) { set title head . "no volume was attached to a node" }
most = most < 1 ? 1 : most
set cblabel (limited > 0 ? "volumes attached, % of the node's limit" : sprintf("volumes attached, %% of the most on any node (%d)", most))
set ylabel (each > 1 ? sprintf("the fullest of each %d nodes", each) : "node")
set xrange [0:last]
if (exists("zoom_from")) { set xrange [zoom_from : zoom_to] }
set cbrange [0:100]
set yrange [(n_rows - 0.5) * each : -0.5 * each]
if (n_rows > 0 && n_rows <= 40 && each == 1) { eval("set ytics noenhanced (" . names[1 : strlen(names) - 1] . ")") }
# Viridis: light is much, also in grey and to colour-blind eyes.
set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#fde725")
unset key
if (exists("narrow")) { unset ylabel; set xtics rotate by 45 right }
share(i) = 100.0 * attached(0) / (limit(0) > 0 ? limit(0) : most)
if (is_text) {
    set ylabel "volumes"
    set yrange [0:*]
    set autoscale y
    unset ytics
    set ytics auto
    plot input using "seconds":"attached" with dots
} else {
    unset grid
    plot input using "seconds":(row(0) * each):(share(0)) with image title "volumes attached"
}
