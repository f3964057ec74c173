# SPDX-License-Identifier: GPL-3.0-or-later
# The distributions of a profile: how many of an operation's calls have ended by then.
#
# Reads profile.dat of kvolsim profiles show: for each operation a block "name", then lines: q, seconds.
#
#   gnuplot -e "set terminal pngcairo size 1200,800; set output 'profile.png'; input = 'profile.dat'" profile.gp

stats input using 2 nooutput
n = int(STATS_blocks)
set logscale x
set title run_title . ': how long the calls take' noenhanced
set xlabel 'time since the call (logarithmic)'
set ylabel '% of the calls that have ended'
set yrange [0:100]
set border 3 lw 0.75
set tics out nomirror
set grid lt 1 lw 0.4 lc rgb '#D0D0D0'
set key outside right top noenhanced
# 1, 10, 100 ms, 1 s, ...
tics = ''
do for [decade = -6:6] {
    tics = tics . sprintf("'%g %s' %g,", 10. ** (decade < 0 ? decade + 3 : decade), decade < 0 ? 'ms' : 's', 10. ** decade)
}
eval 'set xtics (' . tics[1 : strlen(tics) - 1] . ')'
array colour[8] = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#000000', '#999999']
plot for [i = 0:n - 1] input index i using 2:($1 * 100) with lines lw 2 dt 1 + i / 8 \
     lc rgb colour[1 + i % 8] title columnheader(1)
