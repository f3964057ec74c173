# SPDX-License-Identifier: GPL-3.0-or-later
# Immediate against WaitForFirstConsumer: how long pods took to get a node and to become ready, by the mode of their first claim.
#
# Reads binding-modes.csv of a run: four blocks, schedule and pod-start of pods with Immediate, then with WaitForFirstConsumer
# claims: seconds, and the share of those pods in % that took no longer. A curve with pods
# that never got there ends below 100 %.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

head = exists("narrow") ? "" : run_title . ": " # a narrow picture is on the page, which has a caption
set title (exists("narrow") ? "" : head . "Immediate against WaitForFirstConsumer")
set xlabel "seconds from the pod's creation (logarithmic)"
set ylabel "share of the pods of the mode that took no longer, %"
set logscale x
set key below reverse Left height 1
array seen[4]
n = 0
do for [i = 1:4] { m = 0; stats input index i - 1 using (m = m + (strcol(1) ne "NaN"), 0) nooutput; seen[i] = m; n = n + m }
if (n == 0) { set title head . "no pod with claims got a node" }
if (n > 0 && seen[1] == 0 && !exists("narrow")) { set title head . "pods with WaitForFirstConsumer claims; none have Immediate ones" }
if (n > 0 && seen[3] == 0 && !exists("narrow")) { set title head . "pods with Immediate claims; none have WaitForFirstConsumer ones" }
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
if (exists("narrow")) { set ylabel "share of the pods, %" }
array names[4] = ["Immediate: until it had a node", "Immediate: until it was ready", \
                  "WaitForFirstConsumer: until it had a node", "WaitForFirstConsumer: until it was ready"]
array ends[4]
do for [i = 1:4] { ends[i] = 0; if (seen[i] > 0) { stats input index i - 1 using 2 nooutput; ends[i] = STATS_max } }
never(i) = ends[i] > 99.99 ? "" : sprintf(" (%.0f %% never)", 100 - ends[i])
dash(i) = i % 2 == 0 ? 1 : 2
plot for [i = 1:4] input index i - 1 using 1:2 with steps lw (i % 2 == 0 ? 3 : 2) dt dash(i) \
    lc rgb (i <= 2 ? "#0072B2" : "#D55E00") title (seen[i] > 0 ? names[i] . never(i) : "")
