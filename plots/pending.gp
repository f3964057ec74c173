# SPDX-License-Identifier: GPL-3.0-or-later
# Pods that are not ready, over time: by the stage of their start, or because they are no longer ready.
#
# Reads over-time.csv of a run: seconds; pods unscheduled, attaching, staging, starting; two columns of calls; pods lost from then on.
# Steps are two rows.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

head = exists("narrow") ? "" : run_title . ": " # a narrow picture is on the page, which has a caption
set title (exists("narrow") ? "" : head . "pods that are not ready")
set xlabel "seconds of virtual time"
set ylabel "pods that are not ready"
set yrange [0:*]
set key below reverse Left height 1
last = 1
most = 0
array sums[5] = [0, 0, 0, 0, 0]
array levels[5] = ["unscheduled", "attaching", "staging", "starting", "lost"]
up_to(n) = sum [i = 1:n] column(levels[i])
stats input using (last = up_to(5) > 0 ? column("seconds") : last, most = up_to(5) > most ? up_to(5) : most, \
                   sum [i = 1:5] (sums[i] = sums[i] + column(levels[i]), 0)) nooutput
set xrange [0 : last * 1.02]
if (exists("zoom_from")) { set xrange [zoom_from : zoom_to] }
# The stages' colours are the same in all pictures; Okabe's and Ito's, which colour-blind people tell apart, too.
schedule = "#56B4E9"; attach = "#E69F00"; stage = "#009E73"; start = "#0072B2"; lost = "#D55E00"
if (most < 9) { set ytics 1 } # no parts of pods
if (most == 0) { set title head . "pods that are not ready: none"; set yrange [0:1] }
named(i, text) = sums[i] > 0 ? text : ""
if (is_text) {
    plot input using "seconds":(up_to(5)) with lines title "not ready"
} else {
    plot input using "seconds":(up_to(5)) with filledcurves y1=0 lc rgb lost title named(5, "no longer ready"), \
         "" using "seconds":(up_to(4)) with filledcurves y1=0 lc rgb start title named(4, "staged, not ready"), \
         "" using "seconds":(up_to(3)) with filledcurves y1=0 lc rgb stage title named(3, "attached, not staged"), \
         "" using "seconds":(up_to(2)) with filledcurves y1=0 lc rgb attach title named(2, "on a node, not attached"), \
         "" using "seconds":"unscheduled" with filledcurves y1=0 lc rgb schedule title named(1, "without a node")
}
