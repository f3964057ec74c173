# SPDX-License-Identifier: GPL-3.0-or-later
# What share of all pods had got through each stage of their start after how long.
#
# Reads distributions.csv of a run: a block for each of schedule, attach, stage, publish, start and pod-start: seconds, and the
# share of the pods in % that took no longer. kvolsim plot sets the terminal, the output, input, and run_title: what repeats the run.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile missing ""
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#555555"]
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

set title run_title . ": how long pods took to start"
set xlabel "seconds (logarithmic)"
set ylabel "share of the pods that got there, %"
set logscale x
set yrange [0:100]
set key outside right top
n = 0
stats input index 5 using (n = n + (strcol(1) ne "NaN"), 0) nooutput
if (n == 0) { set title run_title . ": no pod became ready"; set xrange [0.1:10] }
array names[6] = ["schedule", "attach", "stage", "publish", "start", "pod-start"]
dash(i) = i == 6 ? 1 : i
plot for [i = 1:6] input index i - 1 using 1:2 with lines lw (i == 6 ? 4 : 2) lc rgb (i == 6 ? "#000000" : color[i]) \
    dt dash(i) title names[i]
