# SPDX-License-Identifier: GPL-3.0-or-later
# What share of all pods had got through each stage of their start after how long.
#
# Reads distributions.csv of a run: a block for each of schedule, attach, stage, publish, start and pod-start: seconds, and the
# share of the pods in % that took no longer. kvolsim plot sets the terminal, the output, input, and run_title: what repeats the run.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

head = exists("narrow") ? "" : run_title . ": " # a narrow picture is on the page, which has a caption
set title (exists("narrow") ? "" : head . "how long pods took to start")
set xlabel "seconds (logarithmic)"
set ylabel "share of the pods that took no longer, %"
set logscale x
set key below reverse Left height 1
n = 0
stats input index 5 using (n = n + (strcol(1) ne "NaN"), 0) nooutput
if (n == 0) { set title head . "no pod became ready" }
# 1, 2, 5, 10, ... where there is room for them.
lower = 0.1
upper = 10
if (n > 0) { stats input using 1 nooutput; lower = STATS_min / 1.2; upper = STATS_max * 1.2 }
few = upper < 2000 * lower
tics = ""
do for [decade = -3:6] { do for [digit in "1 2 5"] {
    place = digit * 10.0 ** decade
    if (place >= lower && place <= upper && (few || digit == 1)) { tics = tics . sprintf("'%g' %g,", place, place) }
} }
set xrange [lower : upper]
set yrange [0:100] # after the statistics: they leave out what is beyond it, seconds of one column, too
if (tics ne "") { eval("set xtics (" . tics[1 : strlen(tics) - 1] . ")") }
# The stages' colours are the same in all pictures; Okabe's and Ito's, which colour-blind people tell apart, too. Dashes differ as well.
array names[6] = ["schedule", "attach", "stage", "publish", "start", "pod-start"]
array color[6] = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#0072B2", "#000000"]
array dash[6] = [1, 2, 4, 5, 3, 1]
array seen[6]
do for [i = 1:6] { m = 0; stats input index i - 1 using (m = m + (strcol(1) ne "NaN"), 0) nooutput; seen[i] = m }
plot for [i = 1:6] input index i - 1 using 1:2 with steps lw (i == 6 ? 4 : 2.5) lc rgb color[i] dt dash[i] \
    title (seen[i] > 0 || n == 0 ? names[i] : "")
