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
array levels[6] = ["unscheduled", "attaching", "staging", "starting", "controller calls", "node calls"]
up_to(n) = sum [i = 1:n] column(levels[i])
stats input using (sum [i = 1:4] (pods = larger(pods, column(levels[i])), 0) + sum [i = 5:6] (calls = larger(calls, column(levels[i])), 0)) nooutput
stats input using (last = up_to(6) > 0 ? column("seconds") : last, 0) nooutput
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
plot input using "seconds":"controller calls" with lines lw 2 lc rgb "#000000" title "of the controller plugins", \
     "" using "seconds":"node calls" with lines lw 2 lc rgb "#D55E00" dt 2 title "of the node plugins"
set ylabel "pods that wait"
set ytics autofreq
set yrange [0:larger(pods, 1)]
if (pods < 7) { set ytics 1 }
set xlabel "seconds of virtual time"
plot input using "seconds":"unscheduled" with lines lw 2 lc rgb schedule title "for a node", \
     "" using "seconds":"attaching" with lines lw 2 lc rgb attach dt 2 title "for attachment", \
     "" using "seconds":"staging" with lines lw 2 lc rgb stage dt 4 title "for staging", \
     "" using "seconds":"starting" with lines lw 2 lc rgb start dt 5 title "to be ready"
unset multiplot
