# SPDX-License-Identifier: GPL-3.0-or-later
# Where the time went: a bar for each stage, split by what its mean object waited for; above it that object's time.
#
# Reads waits.csv of a run: column stage, then a column for each kind of wait, in seconds of the mean object.

is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders
set datafile missing ""
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1; set border 3 lc rgb "#555555"; set tics nomirror }

head = exists("narrow") ? "" : run_title . ": " # a narrow picture is on the page, which has a caption
set title (exists("narrow") ? "" : head . "where the time went")
set ylabel "% of the stage's mean time (above the bar)"
set style data histograms
set style histogram rowstacked
set style fill solid 1 noborder
set boxwidth 0.7
set key below noenhanced reverse Left height 1
set xtics scale 0
set yrange [0:107]
set ytics 0, 20, 100
# Okabe and Ito: told apart by colour-blind people, too. Each kind looks the same in every picture, the rarer ones are hatched.
array color[18] = ["#777777", "#777777", "#D55E00", "#F0E442", "#F0E442", "#E69F00", "#E69F00", "#CC79A7", \
                   "#56B4E9", "#CC79A7", "#D55E00", "#0072B2", "#0072B2", "#009E73", "#009E73", \
                   "#E69F00", "#56B4E9", "#CC79A7"]
# scenario, component, client throttling, API latency, watch delay, work queue, all workers busy, retry back-off,
# poll or tick, scheduler queue, unschedulable, driver latency, driver throttling, container runtime, start-up,
# change of files' group, SELinux relabelling, image pull: a run has these columns if it needs them
array pattern[18] = [4, 3, 3, 3, 4, 4, 3, 3, 3, 4, 4, 3, 4, 3, 4, 6, 6, 6]
# On a narrow screen names and times stand upright.
upright = exists("narrow") ? 90 : 0
if (upright) { set xtics rotate by 60 right; set yrange [0:125]; set key font ",9" }
# A kind that has less than a hundredth of every stage would have a colour that nobody finds: it is left blank at the top of the bar.
array largest[19]
array mean[64]
n_rows = 0
share(i) = mean[int(column(0)) + 1] > 0 ? 100 * column(i) / mean[int(column(0)) + 1] : 0
duration(s) = s >= 1 ? sprintf("%.3g s", s) : s > 0 ? sprintf("%.3g ms", 1000 * s) : "0"
stats input using (n_rows = n_rows + 1, 0) nooutput
total = 0.0 # 0 if no object ended a stage, and also if each stage took no time
if (n_rows > 0) {
    last = STATS_columns
    do for [i = 2:last] { largest[i] = 0 }
    stats input using (mean[int(column(0)) + 1] = sum [i = 2:last] column(i), total = total + mean[int(column(0)) + 1], 0) nooutput
    stats input using (sum [i = 2:last] (largest[i] = share(i) > largest[i] ? share(i) : largest[i], 0)) nooutput
}
if (total == 0) {
    set title head . "nothing waited"
    set xrange [0:1]
    set yrange [0:1]
    unset ytics
    plot NaN notitle
} else {
    plot for [i = 2:last] (largest[i] >= 1 ? input : "/dev/null") using (share(i)):xtic(1) title columnheader(i) \
        lc rgb color[i - 1] fs pattern pattern[i - 1], \
        input using 0:(upright ? 112 : 102):(duration(mean[int(column(0)) + 1])) with labels rotate by upright notitle
}
