# SPDX-License-Identifier: GPL-3.0-or-later
# The phases of claims and volumes, and the way of these objects through them: passed in colour, in the order of its numbers.
#
# Reads, tab-separated, made by `kvolsim plot`, blocks two empty lines apart: titles (x, y, text); states (x, y, whether it was passed,
# whether it is there now, name or start or end, time spent in it); ways, an empty line apart (x, y, passed); heads of ways (x, y, dx,
# dy, passed); times of ways (x, y, text). The first line, a comment, names the run.
#
#   gnuplot -e "set terminal pngcairo size 1400,700; set output 'lifecycle.png'; input = 'lifecycle.tsv'; run_title = ''" lifecycle.gp

set datafile separator "\t"
n_objects = 0
stats input index 0 using (n_objects = n_objects + 1, 0) nooutput

unset key
unset border
unset tics
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 0
set xrange [-0.35 : 6.85]
set yrange [-3.0 * (n_objects - 1) - 0.75 : 2.75]
set label 1 run_title at -0.1, 2.55 left noenhanced font ',12'
set label 2 'blue: the way, in the order of its numbers; framed: where it is at the end' at 6.75, 2.55 right noenhanced font ',9' textcolor rgb '#404040'
set style textbox opaque fillcolor rgb 'white' noborder margins 0.5, 0.3

passed = '#0072B2'
other = '#A0A0A0'
only(condition, value) = condition ? value : NaN
is_box(i) = strcol(5) ne 'start' && strcol(5) ne 'end'

plot \
    input index 2 using 1:(only(column(3) == 0, column(2))) with lines lc rgb other lw 1, \
    input index 3 using (only(column(5) == 0, column(1))):2:3:4 with vectors head filled size 0.09, 18 fixed lc rgb other lw 1, \
    input index 2 using 1:(only(column(3) == 1, column(2))) with lines lc rgb passed lw 2.5, \
    input index 3 using (only(column(5) == 1, column(1))):2:3:4 with vectors head filled size 0.11, 18 fixed lc rgb passed lw 2.5, \
    input index 1 using (only(is_box(0) && column(3) == 0, column(1))):2:(0.36):(0.2) with boxxyerror fs solid 1 border lc rgb other fc rgb 'white', \
    input index 1 using (only(is_box(0) && column(3) == 1, column(1))):2:(0.36):(0.2) with boxxyerror fs solid 1 border lc rgb passed fc rgb '#CDE4F7', \
    input index 1 using (only(is_box(0) && column(4) == 1, column(1))):2:(0.385):(0.23) with boxxyerror fs empty border lc rgb passed, \
    input index 1 using (only(is_box(0), column(1))):(column(2) + (column(3) == 1 ? 0.06 : 0)):5 with labels center noenhanced font ',12', \
    input index 1 using (only(is_box(0), column(1))):(column(2) - 0.09):6 with labels center noenhanced font ',9' textcolor rgb '#404040', \
    input index 1 using (only(strcol(5) eq 'start', column(1))):2 with points pt 7 ps 2 lc rgb passed, \
    input index 1 using (only(strcol(5) eq 'end', column(1))):2 with points pt 6 ps 2.4 lw 2 lc rgb other, \
    input index 1 using (only(strcol(5) eq 'end' && column(3) == 1, column(1))):2 with points pt 7 ps 1.6 lc rgb passed, \
    input index 4 using 1:2:3 with labels center boxed noenhanced font ',10' textcolor rgb passed, \
    input index 0 using 1:2:3 with labels left noenhanced font ',12'
