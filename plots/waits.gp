# SPDX-License-Identifier: GPL-3.0-or-later
# Where the time went: a bar for each stage, as long as it took the mean object, split by what was waited for.
#
# Reads waits.csv of a run: column stage, then a column for each kind of wait, in seconds of the mean object.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#555555"]
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

set title run_title . ": where the time went"
set ylabel "seconds of the mean object"
set style data histograms
set style histogram rowstacked
set style fill solid 0.9 border rgb "white"
set boxwidth 0.7
set key outside right top noenhanced
set xtics rotate by (is_text ? 0 : -30)
set yrange [0:*]
# 15 kinds need patterns beside eight colours.
hue(i) = color[(i - 2) % 8 + 1]
filled(i) = i - 2 < 8 ? 3 : 4
total(i) = (has = 0, i)
array sums[17]
do for [i = 2:17] { sums[i] = 0 }
stats input using (sum [i = 2:16] (sums[i] = sums[i] + column(i), 0)) nooutput
plot for [i = 2:16] (sums[i] > 0 ? input : "/dev/null") using (column(i)):xtic(1) title columnheader(i) lc rgb hue(i) fs pattern filled(i)
