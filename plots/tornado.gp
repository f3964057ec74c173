# SPDX-License-Identifier: GPL-3.0-or-later
# Which flag or limit moves a measure most: a bar to each side for its half and its double, with confidence intervals.
#
# Reads whatif.csv, what `kvolsim whatif --out` writes: flag, now, sure, and for each of halved and doubled the value, the change in
# seconds, its interval and how many more objects arrived. The first line, a comment, names the scenario and the measure's value now.
# The rows are sorted; the first twelve that change anything are drawn.

# A text in quotes, for eval: those in it are doubled, so that it remains a text.
doubled(text) = strstrt(text, "'") == 0 ? text : text[1 : strstrt(text, "'")] . "'" . doubled(text[strstrt(text, "'") + 1 : *])
quoted(text) = "'" . doubled(text) . "'"
is_text = GPVAL_TERM eq 'dumb'
most_rows = 12

set datafile separator "\t"
set datafile commentschars ''
head = ''
stats input every ::0::0 using (head = strcol(1), 0) nooutput
what = head[strstrt(head, ', ') + 2 : *]
measure = what[1 : strstrt(what, ' now ') - 1]
now = real(what[strstrt(what, ' now ') + 5 : *])
set datafile commentschars '#'
set datafile separator ','
set datafile columnheaders

# ---- How many rows, and their names: what is not sure has a question mark ----
number(name) = strlen(strcol(name)) == 0 ? 0 : real(strcol(name))
change(side) = number(side . ' change')
has_effect(side) = change(side) != 0 || number(side . ' arrived') != 0
is_drawn(i) = $0 < most_rows && (has_effect('halved') || has_effect('doubled'))
n = 0
labels = ''
name_of(i) = strcol('flag') . sprintf(' = %s', strcol('now')) . (column('sure') > 0 ? '' : ' ?')
stats input using (is_drawn(0) ? (labels = labels . sprintf("%s%s %d", n > 0 ? ', ' : '', quoted(name_of(0)), $0), n = n + 1) : 0, 0) nooutput

set title run_title . ': what moves ' . measure . sprintf(' (now %.3g s)', now) noenhanced font ',15'
set xlabel sprintf('change of %s, seconds: less is faster', measure) noenhanced
set border 1 lw 0.75 lc rgb '#404040'
set xtics out nomirror
set grid xtics lt 1 lw 0.5 lc rgb '#D0D0D0'
set yrange [(n < 1 ? 1 : n) - 0.4 : -0.6]
set offsets graph 0.08, graph 0.08, 0, 0
eval 'set ytics out nomirror scale 0 noenhanced (' . (n > 0 ? labels : "'nothing changes it' 0") . ')'
set arrow 1 from 0, graph 0 to 0, graph 1 nohead lw 1.5 lc rgb '#404040' front
set key inside right bottom vertical Right noenhanced samplen 1.5 spacing 1.3
set style fill solid 0.9 noborder
set boxwidth 0.36
# Okabe and Ito: told apart by people of every colour vision, and the upper bar is always the half.
half_colour = '#E69F00'
double_colour = '#0072B2'
low(side) = change(side) < 0 ? change(side) : 0
high(side) = change(side) > 0 ? change(side) : 0
at(side, shift) = is_drawn(0) && strlen(strcol(side . ' change')) > 0 ? $0 + shift : NaN
at_interval(side, shift) = strlen(strcol(side . ' low')) > 0 ? at(side, shift) : NaN
if (is_text) {
    set key below
    unset arrow 1
    set yrange [(n < 1 ? 1 : n) + 0.5 : -1.5]
    plot input using (change('halved')):(at('halved', 0)) with points pt 'h' title 'halved', \
         input using (change('doubled')):(at('doubled', 0)) with points pt 'd' title 'doubled'
} else {
    plot input using (change('halved')):(at('halved', -0.19)):(low('halved')):(high('halved')):(at('halved', -0.19) - 0.18):(at('halved', -0.19) + 0.18) \
             with boxxyerror fc rgb half_colour title 'halved', \
         input using (change('doubled')):(at('doubled', 0.19)):(low('doubled')):(high('doubled')):(at('doubled', 0.19) - 0.18):(at('doubled', 0.19) + 0.18) \
             with boxxyerror fc rgb double_colour title 'doubled', \
         input using (change('halved')):(at_interval('halved', -0.19)):(number('halved low')):(number('halved high')) \
             with xerrorbars pt 0 lw 1.2 lc rgb '#202020' title 'confidence interval (?: may be chance)', \
         input using (change('doubled')):(at_interval('doubled', 0.19)):(number('doubled low')):(number('doubled high')) \
             with xerrorbars pt -1 lw 1.2 lc rgb '#202020' notitle
}
