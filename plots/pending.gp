# SPDX-License-Identifier: GPL-3.0-or-later
# Pods that are not ready yet, over time, by the stage that they are in: the height of all is the number of pending pods.
#
# Reads over-time.csv of a run: seconds; pods unscheduled, attaching, staging, starting: the most in each stretch of time.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#555555"]
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

set title run_title . ": pending pods"
set xlabel "seconds"
set ylabel "pods that are not ready"
set yrange [0:*]
set key outside right top invert
last = 1
stats input using (last = $2 + $3 + $4 + $5 > 0 ? $1 : last, 0) nooutput
set xrange [0:last * 1.02]
if (is_text) {
    plot input using 1:($2 + $3 + $4 + $5) with lines title "pending"
} else {
    set style fill solid 0.85 noborder
    plot input using 1:($2 + $3 + $4 + $5) with fillsteps lc rgb color[5] title "published, not ready", \
         "" using 1:($2 + $3 + $4) with fillsteps lc rgb color[3] title "attached, not staged", \
         "" using 1:($2 + $3) with fillsteps lc rgb color[2] title "on a node, not attached", \
         "" using 1:2 with fillsteps lc rgb color[1] title "without a node"
}
