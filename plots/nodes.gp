# SPDX-License-Identifier: GPL-3.0-or-later
# Volumes attached to each node over time, against how many may be: a row for each node. Full nodes are yellow.
#
# Reads node-volumes.csv of a run: blocks of seconds, node (a number), name, attached, limit (-1: none). Nodes without a limit are
# measured against the fullest one.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#555555"]
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

set title run_title . ": volumes attached to nodes"
set xlabel "seconds"
set ylabel "node"
most = 0
limited = 0
n_nodes = 0
names = ""
stats input using (most = $4 > most ? $4 : most, limited = limited + ($5 > 0), n_nodes = $2 + 1 > n_nodes ? $2 + 1 : n_nodes, \
    names = $1 == 0 && $2 < 40 ? names . sprintf("'%s' %d,", strcol(3), $2) : names, 0) nooutput
most = most < 1 ? 1 : most
set cblabel (limited > 0 ? "volumes, % of the limit" : sprintf("volumes, %% of the most on any node (%d)", most))
last = 0
stats input using (last = $1, 0) nooutput
set xrange [0:last]
set cbrange [0:100]
set yrange [n_nodes - 0.5 : -0.5]
if (n_nodes > 0 && n_nodes <= 40) { eval("set ytics noenhanced (" . names[1 : strlen(names) - 1] . ")") }
# Viridis: light is much, also in grey and to colour-blind eyes.
set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#fde725")
unset key
share(i) = 100.0 * $4 / ($5 > 0 ? $5 : most)
if (is_text) {
    set ylabel "volumes"
    set yrange [0:*]
    set autoscale y
    unset ytics
    set ytics auto
    plot input using 1:4 with dots
} else {
    unset grid
    plot input using 1:2:(share(0)) with image
}
