# SPDX-License-Identifier: GPL-3.0-or-later
# Requests a second that reached the API server, by client, stacked: the price of higher limits.
#
# Reads client-rates.csv of a run: seconds, then a column for each of the seven largest clients and one for all others.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#555555"]
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

set title run_title . ": requests to the API server"
set xlabel "seconds"
set ylabel "requests a second"
set yrange [0:*]
set key outside right top noenhanced invert
up_to(n) = sum [i = 2:n] column(i)
if (is_text) {
    plot input using 1:(up_to(9)) with lines title "all"
} else {
    set style fill solid 0.9 noborder
    plot for [n = 9:2:-1] input using 1:(up_to(n)) with fillsteps lc rgb color[n - 1] title columnheader(n)
}
