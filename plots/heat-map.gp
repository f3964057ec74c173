# SPDX-License-Identifier: GPL-3.0-or-later
# A measure of a sweep over two of its parameters: light is much. The values stand in their fields.
#
# Reads rows of a sweep's points, as `kvolsim plot DB heat-map` writes them: columns named as the parameters and measures. Set along, by
# and measure, and what stands at the axes: along_label, by_label, measure_label. held: what is the same in all rows. scatter: the
# points of a sample, where their values are, no fields; along_is_number, by_is_number: whether they are numbers.

# A text in quotes, for eval: those in it are doubled, so that it remains a text.
doubled(text) = strstrt(text, "'") == 0 ? text : text[1 : strstrt(text, "'")] . "'" . doubled(text[strstrt(text, "'") + 1 : *])
quoted(text) = "'" . doubled(text) . "'"
if (!exists('held')) { held = '' }
if (!exists('scatter')) { scatter = 0; along_is_number = 0; by_is_number = 0 }
is_text = GPVAL_TERM eq 'dumb'
set datafile commentschars '#'
set datafile separator ','
set datafile columnheaders

# ---- Values of both parameters, in the order of the file ----
has(list, text) = strstrt(list, '|' . text . '|') > 0
xs = '|'
ys = '|'
look(i) = (xs = has(xs, strcol(along)) ? xs : xs . strcol(along) . '|', \
           ys = has(ys, strcol(by)) ? ys : ys . strcol(by) . '|', 0)
stats input using (look(0)) nooutput
bars(list) = sum [k = 1:strlen(list)] (list[k : k] eq '|')
bar(list, n) = n == 0 ? 0 : bar(list, n - 1) + strstrt(list[bar(list, n - 1) + 1 : *], '|')
item(list, n) = list[bar(list, n) + 1 : bar(list, n + 1) - 1]
index_in(list, text) = sum [k = 1:bars(list) - 1] (item(list, k) eq text ? k : 0)
n_x = bars(xs) - 1
n_y = bars(ys) - 1
tic_list(list, n) = n == 0 ? '' : tic_list(list, n - 1) . sprintf("%s%s %d", n > 1 ? ', ' : '', quoted(item(list, n)), n)
number(name) = strlen(strcol(name)) == 0 ? NaN : real(strcol(name))
stats input using (number(measure)) nooutput
least = STATS_records > 0 ? STATS_min : 0
most = STATS_records > 0 ? STATS_max : 1
most = most > least ? most : least + 1

set title run_title . ': ' . measure . (held eq '' ? '' : ' (' . held . ')') noenhanced font ',15'
set xlabel along_label noenhanced
set ylabel by_label noenhanced
set cblabel measure_label noenhanced
set cbrange [least : most]
set border 3 lw 0.75 lc rgb '#404040'
set tics out nomirror
# Viridis: light is much, also in grey and to colour-blind eyes.
set palette defined (0 '#440154', 0.25 '#3b528b', 0.5 '#21918c', 0.75 '#5ec962', 1 '#fde725')
unset key
set style fill solid 1 noborder
x(i) = scatter && along_is_number ? real(strcol(along)) : index_in(xs, strcol(along))
y(i) = scatter && by_is_number ? real(strcol(by)) : index_in(ys, strcol(by))
text(i) = number(measure) == number(measure) ? sprintf('%.3g', number(measure)) : 'none'
# Dark ink on light fields, light on dark ones: at this value of the palette both have the same contrast (WCAG), 4.6 to 1.
ink(v) = (v - least) / (most - least) > 0.43 ? 0x000000 : 0xFFFFFF
if (scatter) {
    # Values drawn on a logarithmic scale would crowd in a corner.
    stats input using (x(0)) nooutput
    if (STATS_min > 0 && STATS_max / STATS_min > 20) { set logscale x; set xrange [STATS_min / 1.2 : STATS_max * 1.2] }
    stats input using (y(0)) nooutput
    if (STATS_min > 0 && STATS_max / STATS_min > 20) { set logscale y; set yrange [STATS_min / 1.2 : STATS_max * 1.2] }
    set offsets graph 0.04, graph 0.04, graph 0.04, graph 0.04
    set grid lt 1 lw 0.5 lc rgb '#D0D0D0'
} else {
    set xrange [0.5 : n_x + 0.5]
    set yrange [0.5 : n_y + 0.5]
}
if (!scatter || !along_is_number) { eval 'set xtics scale 0 noenhanced (' . tic_list(xs, n_x) . ')' }
if (!scatter || !by_is_number) { eval 'set ytics scale 0 noenhanced (' . tic_list(ys, n_y) . ')' }
if (is_text) {
    plot input using (x(0)):(y(0)):(text(0)) with labels
} else { if (scatter) {
    plot input using (x(0)):(y(0)):(number(measure)) with points pt 7 ps 2.4 lc palette
} else {
    plot input using (x(0)):(y(0)):(x(0) - 0.5):(x(0) + 0.5):(y(0) - 0.5):(y(0) + 0.5):(number(measure)) \
             with boxxyerror lc palette, \
         input using (x(0)):(y(0)):(text(0)):(ink(number(measure))) with labels tc rgb variable font ',11'
} }
