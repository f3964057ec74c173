# SPDX-License-Identifier: GPL-3.0-or-later
# Quantiles of a real run against those of its model, an operation or stage in each frame: points on the line agree.
#
# Reads qq.dat of kvolsim validate: for each name a block "name", then lines: q, real seconds, model seconds.
#
#   gnuplot -e "set terminal pngcairo size 1200,800; set output 'qq.png'; input = 'qq.dat'" qq.gp

stats input using 2 nooutput
n = int(STATS_blocks)
columns = n > 12 ? 5 : n > 6 ? 4 : 3
rows = int(ceil(real(n) / columns))
set multiplot layout rows, columns title 'real (up) against model (across), ms: quantiles; the line is where they agree' noenhanced
set logscale xy
set format xy '%g'
set tics font ',8' nomirror out
set border 3 lw 0.75 lc rgb '#404040'
set grid lt 1 lw 0.4 lc rgb '#D0D0D0'
unset key
between(low, high, t) = low * (high / low) ** t
round2(v) = sprintf('%.2g', v)
ticks(low, high) = round2(low) . (high / low > 2 ? ', ' . round2(between(low, high, 0.5)) : '') . ', ' . round2(high)
do for [i = 0:n - 1] {
    name = ''
    set autoscale
    stats input index i every ::0::0 using (name = strcol(1), 0) nooutput
    stats input index i every ::1 using 2:3 nooutput
    low = STATS_min_x < STATS_min_y ? STATS_min_x : STATS_min_y
    high = STATS_max_x > STATS_max_y ? STATS_max_x : STATS_max_y
    if (low <= 0) { low = 1e-6 }
    if (high <= low) { high = low * 10 }
    set xrange [low * 1e3 * 0.8 : high * 1e3 * 1.25]
    set yrange [low * 1e3 * 0.8 : high * 1e3 * 1.25]
    # Less than a decade has no tick of its own on a logarithmic axis: two or three of round numbers instead.
    if (high / low < 20) { eval 'set tics (' . ticks(low * 1e3, high * 1e3) . ')' } else { set xtics autofreq; set ytics autofreq }
    set title name noenhanced font ',10'
    plot x with lines lc rgb '#909090' lw 1, \
         input index i every ::1 using ($3 * 1e3):($2 * 1e3) with points pt 7 ps 0.5 lc rgb '#0072B2'
}
unset multiplot
