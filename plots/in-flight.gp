# SPDX-License-Identifier: GPL-3.0-or-later
# Calls in flight at the drivers, and pods that wait in each stage of their start, over time.
#
# Reads over-time.csv of a run: seconds; pods unscheduled, attaching, staging, starting; controller calls, node calls: the most in
# each stretch of time.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#555555"]
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

last = 1
stats input using (last = $2 + $3 + $4 + $5 + $6 + $7 > 0 ? $1 : last, 0) nooutput
set xrange [0:last * 1.02]
set multiplot layout 2, 1 title run_title . ": calls in flight and queues"
set ylabel "calls in flight"
set yrange [0:*]
set key outside right top
set xlabel ""
plot input using 1:6 with steps lw 2 lc rgb color[1] title "controller calls", \
     "" using 1:7 with steps lw 2 lc rgb color[4] dt 2 title "node calls"
set ylabel "pods that wait"
set xlabel "seconds"
plot input using 1:2 with steps lw 2 lc rgb color[1] title "for a node", \
     "" using 1:3 with steps lw 2 lc rgb color[2] dt 2 title "for attachment", \
     "" using 1:4 with steps lw 2 lc rgb color[3] dt 4 title "for staging", \
     "" using 1:5 with steps lw 2 lc rgb color[5] dt 5 title "to be ready"
unset multiplot
