# SPDX-License-Identifier: GPL-3.0-or-later
# What a shorter time costs: requests to the API server against it, a mark for each setting; the front joins those that none beats in both.
#
# Reads either tune.csv, what `kvolsim tune --out` writes: which (now, tried, answer), met, peak and time, each with low and high; its
# first line, a comment, names the promise: "STAGE pQQ below SECONDS". Or rows of a sweep's points, as `kvolsim plot DB pareto` writes
# them, with the measures' names in measure and against, measure_label and against_label for the axes, and varied, the parameters that
# tell the points of the front apart: '|workers|qps|'.

is_text = GPVAL_TERM eq 'dumb'
is_sweep = exists('against')
set datafile separator "\t"
set datafile commentschars ''
head = ''
stats input every ::0::0 using (head = strcol(1), 0) nooutput
set datafile commentschars '#'
set datafile separator ','
set datafile columnheaders
promise = ''
below = NaN
if (is_sweep) {
    title_text = run_title . ': ' . measure . ' and its price'
} else {
    promise = head[strstrt(head, ', ') + 2 : *]
    stage = promise[1 : strstrt(promise, ' below ') - 1]
    below = real(promise[strstrt(promise, ' below ') + 7 : *])
    against = 'peak'
    measure = 'time'
    against_label = 'requests to the API server in its busiest second (1/s)'
    measure_label = stage . ' (s)'
    title_text = run_title . ': ' . stage . ' and what it asks of the API server'
}
if (!exists('held') || held eq '') { held = '' } else { title_text = title_text . ' (' . held . ')' }

number(name) = strlen(strcol(name)) == 0 ? NaN : real(strcol(name))
is_there(i) = number(against) == number(against) && number(measure) == number(measure)

# ---- A sweep's points on the front have numbers, and the key tells their parameters ----
if (!exists('varied')) { varied = '|' }
bars(list) = sum [k = 1:strlen(list)] (list[k : k] eq '|')
bar(list, n) = n == 0 ? 0 : bar(list, n - 1) + strstrt(list[bar(list, n - 1) + 1 : *], '|')
item(list, n) = list[bar(list, n) + 1 : bar(list, n + 1) - 1]
setting(k) = k == 0 ? '' : setting(k - 1) . (k > 1 ? ', ' : '') . item(varied, k) . ' = ' . strcol(item(varied, k))

# ---- The front: no other point is lower in both ----
n = 0
stats input using (n = n + is_there(0), 0) nooutput
array X[n > 0 ? n : 1]
array Y[n > 0 ? n : 1]
array T[n > 0 ? n : 1]
k = 0
keep(i) = (k = k + 1, X[k] = number(against), Y[k] = number(measure), T[k] = is_sweep ? setting(bars(varied) - 1) : '', 0)
stats input using (is_there(0) ? keep(0) : 0) nooutput
on_front(x, y) = x == x && y == y && (sum [i = 1:n] ((X[i] <= x && Y[i] < y) || (X[i] < x && Y[i] <= y))) == 0
# Points at the same place have one number.
is_first(k) = on_front(X[k], Y[k]) && (k == 1 || (sum [i = 1:k - 1] (X[i] == X[k] && Y[i] == Y[k])) == 0)
place(k) = sum [i = 1:n] (is_first(i) && X[i] <= X[k])
at_place(p) = int(sum [k = 1:n] (is_first(k) && place(k) == p ? k : 0))
n_told = is_sweep && n > 0 ? int(sum [k = 1:n] is_first(k)) : 0
n_told = n_told > 12 ? 12 : n_told

set title title_text noenhanced font ',15'
set xlabel against_label noenhanced
set ylabel measure_label noenhanced
set border 3 lw 0.75 lc rgb '#404040'
set tics out nomirror
if (!is_text) { set grid lt 1 lw 0.5 lc rgb '#D0D0D0' }
set offsets graph 0.03, graph 0.05, graph 0.06, graph 0.03
set key inside top right vertical noenhanced samplen 2 reverse Left spacing 1.2 opaque
# A promise far below what the worst setting gives: a logarithmic axis shows both.
set datafile missing NaN
low_y = 1e300
high_y = 0
do for [i = 1:n] { low_y = Y[i] < low_y ? Y[i] : low_y; high_y = Y[i] > high_y ? Y[i] : high_y }
if (n > 0 && low_y > 0 && high_y / low_y > 20) { set logscale y; unset offsets }
is(word) = is_sweep ? word eq 'tried' : strcol('which') eq word
met(i) = is_sweep ? 1 : real(strcol('met')) > 0
x(i) = number(against)
y(i) = number(measure)
# Okabe and Ito; the marks differ, too.
if (is_text) {
    plot input using (x(0)):(y(0)) with points pt 'o' title 'settings', \
         input using (on_front(x(0), y(0)) ? x(0) : NaN):(y(0)) with points pt '#' title 'front'
} else {
    plot input using (is('tried') && met(0) ? x(0) : NaN):(y(0)):(number(against . ' low')):(number(against . ' high')):(number(measure . ' low')):(number(measure . ' high')) \
             with xyerrorbars pt 7 ps 0.8 lw 0.5 lc rgb '#56B4E9' title (is_sweep ? 'points' : 'meets the slo'), \
         input using (is('tried') && !met(0) ? x(0) : NaN):(y(0)) with points pt 6 ps 0.9 lw 1 lc rgb '#999999' title (is_sweep ? '' : 'misses it'), \
         input using (on_front(x(0), y(0)) ? x(0) : NaN):(y(0)) smooth unique with lines lw 2 lc rgb '#0072B2' title 'front: none is better in both', \
         (below == below ? below : NaN) with lines dt 2 lw 1.5 lc rgb '#000000' title (below == below ? sprintf('slo: below %g s', below) : ''), \
         input using (is('now') ? x(0) : NaN):(y(0)) with points pt 5 ps 1.6 lc rgb '#E69F00' title (is_sweep ? '' : 'as it is now'), \
         input using (is('answer') ? x(0) : NaN):(y(0)) with points pt 9 ps 2 lc rgb '#D55E00' title (is_sweep ? '' : 'the least flags that meet it'), \
         for [p = 1:n_told] '+' using (X[at_place(p)]):(Y[at_place(p)]):(sprintf('%d', p)) every ::0::0 with labels offset 0.9, (p % 2 ? 0.8 : -0.8) font ',11' notitle, \
         for [p = 1:n_told] NaN with points pt 0 lc rgb 'white' title sprintf('%d: %s', p, T[at_place(p)])
}
