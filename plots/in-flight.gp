# SPDX-License-Identifier: GPL-3.0-or-later
# Calls in flight at the drivers, and pods that wait in each stage of their start, over time.
#
# Reads over-time.csv of a run: seconds; pods unscheduled, attaching, staging, starting; controller calls, node calls from then on.
# Steps are two rows.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

last = 1
calls = 0
pods = 0
larger(a, b) = a > b ? a : b
stats input using (calls = larger(calls, larger($6, $7)), pods = larger(larger(pods, larger($2, $3)), larger($4, $5)), 0) nooutput
stats input using (last = $2 + $3 + $4 + $5 + $6 + $7 > 0 ? $1 : last, 0) nooutput
set xrange [0 : last * 1.02]
if (exists("zoom_from")) { set xrange [zoom_from : zoom_to] }
# The stages' colours are the same in all pictures; Okabe's and Ito's, which colour-blind people tell apart, too.
schedule = "#56B4E9"; attach = "#E69F00"; stage = "#009E73"; start = "#0072B2"
set multiplot layout 2, 1 title (exists("narrow") ? "" : run_title . ": calls in flight and queues")
set ylabel (exists("narrow") ? "calls in flight" : "calls in flight at the drivers")
set yrange [0:larger(calls, 1)]
if (calls < 7) { set ytics 1 } # no parts of calls, or of pods
set key below reverse Left height 1
set xlabel ""
plot input using 1:6 with lines lw 2 lc rgb "#000000" title "of the controller plugins", \
     "" using 1:7 with lines lw 2 lc rgb "#D55E00" dt 2 title "of the node plugins"
set ylabel "pods that wait"
set ytics autofreq
set yrange [0:larger(pods, 1)]
if (pods < 7) { set ytics 1 }
set xlabel "seconds of virtual time"
plot input using 1:2 with lines lw 2 lc rgb schedule title "for a node", \
     "" using 1:3 with lines lw 2 lc rgb attach dt 2 title "for attachment", \
     "" using 1:4 with lines lw 2 lc rgb stage dt 4 title "for staging", \
     "" using 1:5 with lines lw 2 lc rgb start dt 5 title "to be ready"
unset multiplot
