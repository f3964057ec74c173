# SPDX-License-Identifier: GPL-3.0-or-later
# Requests a second that reached the API server, by client, stacked: the price of higher limits.
#
# Reads client-rates.csv of a run: seconds, then a column for each of the seven largest clients and one for all others, requests a
# second; the last column, most, is the most in any one second. Steps are two rows.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

head = exists("narrow") ? "" : run_title . ": " # a narrow picture is on the page, which has a caption
set title (exists("narrow") ? "" : head . "requests to the API server")
set xlabel "seconds of virtual time"
set yrange [0:*]
set key below noenhanced reverse Left height 1
step = 0
last = 1
n_columns = 0
previous = 0
stats input using (step = step == 0 && column("seconds") > previous ? column("seconds") - previous : step, previous = column("seconds"), \
                   last = column("most") > 0 ? column("seconds") : last, 0) nooutput
array sums[10]
do for [i = 2:10] { sums[i] = 0 }
stats input using (sum [i = 2:10] (sums[i] = sums[i] + column(i), 0)) nooutput
set xrange [0 : last * 1.01]
if (exists("zoom_from")) { set xrange [zoom_from : zoom_to] }
set ylabel step > 1 ? sprintf("requests a second, mean of %g s each", step) : "requests a second"
# Okabe and Ito: told apart by colour-blind people, too.
array color[8] = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#777777"]
if (exists("narrow")) { set key font ",9" }
up_to(n) = sum [i = 2:n] column(i)
total = 0
do for [i = 2:9] { total = total + sums[i] }
if (total == 0) {
    # nothing to draw but the axes
    set title (exists("narrow") ? "no requests" : run_title . ": no requests")
    set xrange [0:1]; set yrange [0:1]; unset key
    plot NaN notitle
} else { if (is_text) {
    plot input using "seconds":(up_to(9)) with lines title "all"
} else {
    plot for [n = 9:2:-1] input using "seconds":(sums[n] > 0 ? up_to(n) : NaN) with filledcurves y1=0 lc rgb color[n - 1] \
             title (sums[n] > 0 ? columnheader(n) : ""), \
         input using "seconds":(step > 1 ? column("most") : NaN) with lines lw 1 lc rgb "#000000" \
             title (step > 1 ? "the most in any one second" : "")
}}
