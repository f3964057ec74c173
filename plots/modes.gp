# SPDX-License-Identifier: GPL-3.0-or-later
# Immediate against WaitForFirstConsumer: how long pods took to get a node and to become ready, by the mode of their first claim.
#
# Reads binding-modes.csv of a run: four blocks, schedule and start of pods with Immediate, then with WaitForFirstConsumer claims:
# seconds, and the share of those pods in % that took no longer. Pods that never got there are in none.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile missing ""
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#555555"]
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

set title run_title . ": Immediate against WaitForFirstConsumer"
set xlabel "seconds (logarithmic)"
set ylabel "share of the pods of the mode that got there, %"
set logscale x
set yrange [0:100]
set key outside right top
n = 0
stats input using (n = n + (strcol(1) ne "NaN"), 0) nooutput
if (n == 0) { set title run_title . ": no pod with claims got a node"; set xrange [0.1:10] }
array names[4] = ["Immediate: schedule", "Immediate: start", "WaitForFirstConsumer: schedule", "WaitForFirstConsumer: start"]
dash(i) = i % 2 == 0 ? 1 : 2
plot for [i = 1:4] input index i - 1 using 1:2 with lines lw (i % 2 == 0 ? 3 : 2) dt dash(i) \
    lc rgb (i <= 2 ? color[1] : color[4]) title names[i]
