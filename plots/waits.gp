# SPDX-License-Identifier: GPL-3.0-or-later
# Where the time went: a bar for each stage, as long as it took the mean object, split by what was waited for.
#
# Reads waits.csv of a run: column stage, then a column for each kind of wait, in seconds of the mean object.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

set title run_title . ": where the time went"
set ylabel "seconds of the mean object"
set style data histograms
set style histogram rowstacked
set style fill solid 1 noborder
set boxwidth 0.7
set key below noenhanced reverse Left height 1
set xtics scale 0
set yrange [0:*]
# Okabe and Ito: told apart by colour-blind people, too. Each kind looks the same in every picture, the rarer ones are hatched.
array color[18] = ["#777777", "#777777", "#D55E00", "#F0E442", "#F0E442", "#E69F00", "#E69F00", "#CC79A7", \
                   "#56B4E9", "#CC79A7", "#D55E00", "#0072B2", "#0072B2", "#009E73", "#009E73", \
                   "#E69F00", "#56B4E9", "#CC79A7"]
# scenario, component, client throttling, API latency, watch delay, work queue, all workers busy, retry back-off,
# poll or tick, scheduler queue, unschedulable, driver latency, driver throttling, container runtime, start-up,
# change of files' group, SELinux relabelling, image pull: a run has these columns if it needs them
array pattern[18] = [4, 3, 3, 3, 4, 4, 3, 3, 3, 4, 4, 3, 4, 3, 4, 6, 6, 6]
array sums[19]
n_rows = 0
total = 0.0 # 0 if no object ended a stage, and also if each stage took no time
stats input using (n_rows = n_rows + 1, 0) nooutput
if (n_rows > 0) {
    last = STATS_columns
    do for [i = 2:last] { sums[i] = 0 }
    stats input using (sum [i = 2:last] (sums[i] = sums[i] + column(i), 0)) nooutput
    do for [i = 2:last] { if (sums[i] > 0) { total = total + sums[i] } }
}
if (total == 0) {
    set title run_title . ": nothing waited"
    set xrange [0:1]
    set yrange [0:1]
    plot NaN notitle
} else {
    plot for [i = 2:last] (sums[i] > 0 ? input : "/dev/null") using (column(i)):xtic(1) title columnheader(i) \
        lc rgb color[i - 1] fs pattern pattern[i - 1]
}
