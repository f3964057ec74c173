# SPDX-License-Identifier: GPL-3.0-or-later
# A measure of a sweep over one parameter, a curve with its confidence band for each value of another.
#
# Reads what `kvolsim export DB` prints: columns named as the parameters and measures, and for each measure "NAME low" and
# "NAME high". The first line, a comment, names the sweep. Set along and by (parameters; by may be '') and measure; values of
# a further parameter are all drawn unless only = 'driver=fast' takes one. Values of along that are no numbers stand side by side.
#
#   kvolsim export DB --out points.csv
#   gnuplot -e "set terminal pngcairo size 1200,800 font 'sans,11'; set output 'curves.png'; input = 'points.csv';
#               along = 'pods'; by = 'limit'; measure = 'pending'" sweep-curves.gp

if (!exists('by')) { by = '' }
if (!exists('only')) { only = '' } # a further parameter and the value to take of it, 'driver=fast'

# ---- Which sweep ----
set datafile commentschars ''
set datafile separator "\t"
head = ''
stats input every ::0::0 using (head = strcol(1), 0) nooutput
name_of(text) = text[strstrt(text, ' sweep ') + 7 : strstrt(text, ',') - 1]
title_text = name_of(head) . ': ' . measure . (only eq '' ? '' : ', ' . only)
set datafile commentschars '#'
set datafile separator ','
set datafile columnheaders

# ---- Values of both parameters, in the order of the file ----
only_name = only eq '' ? '' : only[1 : strstrt(only, '=') - 1]
only_value = only eq '' ? '' : only[strstrt(only, '=') + 1 : *]
taken(i) = only eq '' || strcol(only_name) eq only_value
has(list, text) = strstrt(list, '|' . text . '|') > 0
curves = '|'
places = '|'
n_numbers = 0
n_rows = 0
is_number(text) = strlen(text) > 0 && text eq sprintf('%.12g', real(text))
look(i) = (places = has(places, strcol(along)) ? places : places . strcol(along) . '|', \
           curves = by eq '' || has(curves, strcol(by)) ? curves : curves . strcol(by) . '|', \
           n_rows = n_rows + 1, n_numbers = n_numbers + is_number(strcol(along)), 0)
stats input using (taken(0) ? look(0) : 0) nooutput
bars(list) = sum [k = 1:strlen(list)] (list[k : k] eq '|')
bar(list, n) = n == 0 ? 0 : bar(list, n - 1) + strstrt(list[bar(list, n - 1) + 1 : *], '|')
item(list, n) = list[bar(list, n) + 1 : bar(list, n + 1) - 1]
index_in(list, text) = sum [k = 1:bars(list) - 1] (item(list, k) eq text ? k : 0)
n_places = bars(places) - 1
n_curves = by eq '' ? 1 : bars(curves) - 1
is_numeric = n_numbers == n_rows

at(i) = is_numeric ? real(strcol(along)) : index_in(places, strcol(along))
if (!is_numeric) {
    labels = ''
    do for [k = 1:n_places] { labels = labels . sprintf("%s'%s' %d", k > 1 ? ', ' : '', item(places, k), k) }
    eval 'set xtics noenhanced (' . labels . ')'
    set xrange [0.7 : n_places + 0.3]
}
mine(k) = taken(0) && (by eq '' || strcol(by) eq item(curves, k))
number(name) = strlen(strcol(name)) == 0 ? NaN : real(strcol(name))

# ---- Colours of Okabe and Ito, told apart by people of every colour vision; the marks differ, too ----
array colour[8] = ['#0072B2', '#D55E00', '#009E73', '#E69F00', '#CC79A7', '#56B4E9', '#000000', '#999999']
array mark[8] = [7, 5, 9, 11, 13, 6, 4, 8]
cycle(k) = (k - 1) % 8 + 1

set title title_text noenhanced font ',15'
set xlabel along noenhanced
set ylabel measure noenhanced
set border 3 lw 0.75 lc rgb '#404040'
set tics out nomirror
set grid ytics lt 1 lw 0.5 lc rgb '#D0D0D0'
set offsets graph 0.02, graph 0.02, graph 0.06, 0
set key outside right top noenhanced reverse Left title (by eq '' ? '' : by) samplen 2
set style fill transparent solid 0.18 noborder
if (GPVAL_TERM eq 'dumb') {
    set datafile missing NaN
    plot for [k = 1:n_curves] input using (mine(k) ? at(0) : NaN):(number(measure)) \
         with linespoints title (by eq '' ? measure : item(curves, k))
} else {
    set datafile missing NaN # rows of other curves lie between: they must not break the lines
    plot for [k = 1:n_curves] input \
             using (mine(k) ? at(0) : NaN):(number(measure . ' low')):(number(measure . ' high')) \
             with filledcurves fc rgb colour[cycle(k)] notitle, \
         for [k = 1:n_curves] input using (mine(k) ? at(0) : NaN):(number(measure)) with linespoints \
             lw 2 pt mark[cycle(k)] ps 1.1 lc rgb colour[cycle(k)] title (by eq '' ? measure : item(curves, k))
}
