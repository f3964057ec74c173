# SPDX-License-Identifier: GPL-3.0-or-later
# A measure of a sweep over one parameter, a curve with its confidence band for each value of another.
#
# Reads rows of a sweep's points, as `kvolsim plot DB curves` and `kvolsim export DB` write them: columns named as the parameters and
# measures, and for each measure "NAME low" and "NAME high". Set along and by (parameters; by may be '') and measure, and what stands
# at the axes: along_label, by_label, measure_label. held: what is the same in all rows. scatter: the points of a sample, no curves.
# Values of along stand side by side if they are no numbers: along_is_number = 0.

# A text in quotes, for eval: those in it are doubled, so that it remains a text.
doubled(text) = strstrt(text, "'") == 0 ? text : text[1 : strstrt(text, "'")] . "'" . doubled(text[strstrt(text, "'") + 1 : *])
quoted(text) = "'" . doubled(text) . "'"
if (!exists('by')) { by = '' }
if (!exists('along_label')) { along_label = along }
if (!exists('by_label')) { by_label = by }
if (!exists('measure_label')) { measure_label = measure }
if (!exists('held')) { held = '' }
if (!exists('scatter')) { scatter = 0 }
if (!exists('along_is_number')) { along_is_number = 1 }
if (!exists('confidence')) { confidence = 95 }
if (!exists('run_title')) { run_title = 'sweep' }

set datafile commentschars '#'
set datafile separator ','
set datafile columnheaders

# ---- Values of both parameters, in the order of the file ----
has(list, text) = strstrt(list, '|' . text . '|') > 0
curves = '|'
places = '|'
look(i) = (places = has(places, strcol(along)) ? places : places . strcol(along) . '|', \
           curves = by eq '' || has(curves, strcol(by)) ? curves : curves . strcol(by) . '|', 0)
stats input using (look(0)) nooutput
bars(list) = sum [k = 1:strlen(list)] (list[k : k] eq '|')
bar(list, n) = n == 0 ? 0 : bar(list, n - 1) + strstrt(list[bar(list, n - 1) + 1 : *], '|')
item(list, n) = list[bar(list, n) + 1 : bar(list, n + 1) - 1]
index_in(list, text) = sum [k = 1:bars(list) - 1] (item(list, k) eq text ? k : 0)
n_places = bars(places) - 1
n_curves = by eq '' ? 1 : bars(curves) - 1

at(i) = along_is_number ? real(strcol(along)) : index_in(places, strcol(along))
if (!along_is_number) {
    labels = ''
    do for [k = 1:n_places] { labels = labels . sprintf("%s%s %d", k > 1 ? ', ' : '', quoted(item(places, k)), k) }
    eval 'set xtics noenhanced (' . labels . ')'
    set xrange [0.7 : n_places + 0.3]
}
mine(k) = by eq '' || strcol(by) eq item(curves, k)
number(name) = strlen(strcol(name)) == 0 ? NaN : real(strcol(name))
called(k) = by eq '' ? measure : by . ' = ' . item(curves, k)

# ---- Colours of Okabe and Ito, told apart by people of every colour vision; the marks differ, too ----
array colour[8] = ['#0072B2', '#D55E00', '#009E73', '#E69F00', '#CC79A7', '#56B4E9', '#000000', '#999999']
array mark[8] = [7, 5, 9, 11, 13, 6, 4, 8]
cycle(k) = (k - 1) % 8 + 1

set title run_title . ': ' . measure . (held eq '' ? '' : ' (' . held . ')') noenhanced font ',15'
set xlabel along_label noenhanced
set ylabel measure_label noenhanced
set border 3 lw 0.75 lc rgb '#404040'
set tics out nomirror
set grid ytics lt 1 lw 0.5 lc rgb '#D0D0D0'
set offsets graph 0.02, graph 0.02, graph 0.06, 0
# An interval around a small share or time may reach below zero; they cannot.
stats input using (number(measure)) nooutput
if (STATS_records > 0 && STATS_min >= 0) { set yrange [0 < * : *] }
set key outside right top noenhanced reverse Left samplen 2
set style fill transparent solid 0.18 noborder
if (scatter && along_is_number) {
    stats input using (at(0)) nooutput
    if (STATS_min > 0 && STATS_max / STATS_min > 20) { set logscale x; set xrange [STATS_min / 1.2 : STATS_max * 1.2] }
}
set datafile missing NaN # rows of other curves lie between: they must not break the lines
if (GPVAL_TERM eq 'dumb') {
    plot for [k = 1:n_curves] input using (mine(k) ? at(0) : NaN):(number(measure)) \
         with points title called(k)
} else { if (scatter) {
    plot input using (at(0)):(number(measure)):(number(measure . ' low')):(number(measure . ' high')) with yerrorbars \
             pt 7 ps 0.9 lw 1 lc rgb colour[1] title sprintf('mean, %d %% interval', confidence)
} else {
    plot for [k = 1:n_curves] input \
             using (mine(k) ? at(0) : NaN):(number(measure . ' low')):(number(measure . ' high')) \
             with filledcurves fc rgb colour[cycle(k)] notitle, \
         for [k = 1:n_curves] input using (mine(k) ? at(0) : NaN):(number(measure)) with linespoints \
             lw 2 pt mark[cycle(k)] ps 1.1 lc rgb colour[cycle(k)] title called(k), \
         NaN with filledcurves fc rgb '#606060' title sprintf('%d %% interval', confidence)
} }
