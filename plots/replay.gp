# SPDX-License-Identifier: GPL-3.0-or-later
# A real cluster against its simulation.
#
# Reads the data of kvolsim replay --plot. Block 0: for each pod a line: side (0 recorded, 1 simulated), row, name, and in
# seconds created, scheduled, attached, ready, deleted, gone (NaN: never); a pod has the same row on both sides. Then for each
# stage a block: "name, objects recorded, simulated, verdict", then lines: q, recorded, simulated.
#
# what = 'timeline': both timelines above each other; 'quantiles': for each stage recorded against simulated. tolerance: the ratio
# that is no difference. kvolsim replay sets these, the terminal, the output, input, and run_title.

# A text in quotes, for eval: those in it are doubled, so that it remains a text.
doubled(text) = strstrt(text, "'") == 0 ? text : text[1 : strstrt(text, "'")] . "'" . doubled(text[strstrt(text, "'") + 1 : *])
quoted(text) = "'" . doubled(text) . "'"
set tics nomirror textcolor rgb 'black'
set border 3 lw 0.75 lc rgb '#404040'

if (what eq 'timeline') {
    array step_name[4] = ['schedule', 'attach', 'mount and start', 'stop']
    array step_from[4] = [4, 5, 6, 8]
    array step_to[4] = [5, 6, 7, 9]
    array step_colour[4] = ['#56B4E9', '#E69F00', '#0072B2', '#999999']
    array side_name[2] = ['recorded', 'simulated']
    seen(time) = time == time
    n_rows = 0
    end = 0
    names = ''
    last = 0
    longest = 0
    later(a, b) = seen(b) && b > a ? b : a
    name(row) = row == last ? '' : (last = row, sprintf("%s %d,", quoted(strcol(3)), row))
    look(i) = (n_rows = $2 > n_rows ? $2 : n_rows, names = n_rows > 45 ? '' : names . name($2), \
               longest = strlen(strcol(3)) > longest ? strlen(strcol(3)) : longest, \
               end = later(later(later(end, $7), $9), $4), 0)
    stats input index 0 using (look(0)) nooutput
    if (n_rows > 45) { names = '' }
    half = n_rows > 150 ? 0.5 : 0.4
    unit_s = end > 5 * 3600 ? 3600. : end > 1800 ? 60. : 1.
    unit = unit_s == 3600 ? 'h' : unit_s == 60 ? 'min' : 's'
    # A pod without volumes is not attached: its start begins where it was bound to a node.
    from(k) = k == 3 && !seen(column(6)) ? column(5) : column(step_from[k])
    set xrange [0 : end * 1.01 / unit_s]
    set yrange [n_rows + 0.6 : 0.4]
    set grid xtics front lt 1 lw 0.5 lc rgb '#B0000000'
    set lmargin at screen (names eq '' ? 0.07 : longest > 50 ? 0.3 : 0.02 + 0.0056 * longest)
    set rmargin at screen 0.985
    if (names ne '') {
        eval 'set ytics scale 0 noenhanced font ",8" (' . names[1 : strlen(names) - 1] . ')'
    } else {
        set ylabel 'pods, in order of their creation'
    }
    set multiplot title sprintf('%s: pods, recorded above, simulated below', run_title) noenhanced font ',15'
    do for [side = 0:1] {
        set tmargin at screen (side == 0 ? 0.93 : 0.48)
        set bmargin at screen (side == 0 ? 0.53 : 0.085)
        set label 1 side_name[side + 1] at graph 0, graph 1.035 left font ',13'
        if (side == 0) {
            set format x ''
            unset key
        } else {
            set format x '%g'
            set xlabel sprintf('time since the start (%s)', unit) offset 0, 0.5
            set key at screen 0.56, 0.015 center center horizontal maxrows 1 reverse Left samplen 1.2 width -2 font ',10'
        }
        plot for [k = 1:4] input index 0 \
             using ($1 == side && seen(from(k)) && seen(column(step_to[k])) ? from(k) / unit_s : NaN):2: \
                   (from(k) / unit_s):(column(step_to[k]) / unit_s):($2 - half):($2 + half) \
             with boxxyerror fs solid 1 noborder fc rgb step_colour[k] title step_name[k], \
             input index 0 using ($1 == side && seen($7) ? $7 / unit_s : NaN):2:((seen($8) ? $8 : end) / unit_s - $7 / unit_s):(0) \
             with vectors nohead lw 1 lc rgb '#B8D8B8' title 'Ready', \
             input index 0 using ($1 == side && seen($4) && !seen($7) ? $4 / unit_s : NaN):2 \
             with points pt 2 ps 0.7 lc rgb '#D55E00' title 'never Ready'
    }
    unset multiplot
} else {
    stats input using 0 nooutput
    n = int(STATS_blocks) - 1
    columns = n > 9 ? 4 : n > 4 ? 3 : 2
    rows = n < 1 ? 1 : int(ceil(real(n) / columns))
    set multiplot layout rows, columns title \
        sprintf('%s: recorded (up) against simulated (across), quantiles; shaded: within a ratio of %g', run_title, tolerance) \
        noenhanced font ',13' margins 0.06, 0.985, 0.06, 0.9 spacing 0.05, 0.09
    set logscale xy
    set format xy '%g'
    set tics font ',8'
    set grid lt 1 lw 0.4 lc rgb '#D0D0D0'
    unset key
    do for [i = 1:n] {
        set autoscale
        stats input index i every ::0::0 using (head = strcol(1), count = sprintf('%s, %s', strcol(2), strcol(3)), \
                                                verdict = strcol(4), 0) nooutput
        stats input index i every ::1 using 2:3 nooutput
        low = STATS_min_x < STATS_min_y ? STATS_min_x : STATS_min_y
        high = STATS_max_x > STATS_max_y ? STATS_max_x : STATS_max_y
        if (low < 1e-3) { low = 1e-3 }
        if (high < 2 * low) { high = 2 * low }
        low = low / 1.6
        high = high * 1.6
        in_ms = high < 1
        unit_s = in_ms ? 1e-3 : 1.
        set xrange [low / unit_s : high / unit_s]
        set yrange [low / unit_s : high / unit_s]
        # 1, 2, 5, 10, ... where there is room for them.
        tics = ''
        do for [decade = -4:6] { do for [digit in '1 2 5'] {
            place = digit * 10.0 ** decade
            if (place * unit_s >= low && place * unit_s <= high && (high < 300 * low || digit == 1)) {
                tics = tics . sprintf("'%g' %g,", place, place)
            }
        } }
        if (tics ne '') { eval 'set xtics (' . tics[1 : strlen(tics) - 1] . '); set ytics (' . tics[1 : strlen(tics) - 1] . ')' }
        set title sprintf('%s, %s (n = %s): %s', head, in_ms ? 'ms' : 's', count, verdict) noenhanced font ',10' offset 0, -0.6 \
            textcolor rgb (verdict eq 'DIFFERS' ? '#D55E00' : 'black')
        at_least(value) = (value < low ? low : value) / unit_s
        plot '+' using 1:($1 / tolerance):($1 * tolerance) with filledcurves fc rgb '#E8EEF4' notitle, \
             x with lines lc rgb '#909090' lw 1, \
             input index i every ::1 using (at_least($3)):(at_least($2)) with points pt 7 ps 0.6 \
             lc rgb (verdict eq 'DIFFERS' ? '#D55E00' : '#0072B2')
    }
    unset multiplot
}
