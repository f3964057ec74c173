# SPDX-License-Identifier: GPL-3.0-or-later
# Who told whom what about an object: components as lanes, time down; where nobody says anything, a line for all of that time.
#
# Reads, tab-separated, made by `kvolsim plot`: lanes (number, name); then, two empty lines below, messages (row, kind, from lane,
# to lane, time, text). Kinds: write, watch, call, answer, error, warning, silence, more. The first line, a comment, names the run.
#
#   gnuplot -e "set terminal pngcairo size 1400,900; set output 'sequence.png'; input = 'sequence.tsv'; run_title = '';
#   lane_width = 170.; room = 0." sequence.gp

set datafile separator "\t"
stats input index 0 using (column(1)) nooutput
n_lanes = int(STATS_max) + 1
n_rows = 0
stats input index 1 using (n_rows = n_rows + 1, 0) nooutput

unset key
unset border
unset tics
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 0
# Beside the last lane there is room for texts that begin near it.
right = n_lanes - 0.4 + room / lane_width
set xrange [-0.62 - 88. / lane_width : right]
set yrange [n_rows + 2.1 : -4.2]
set label 1 run_title at graph 0.005, first -3.7 left noenhanced font ',12'
set style textbox opaque fillcolor rgb 'white' noborder margins 1, 0.5

# ---- Where a text stands: from its arrow's left end on, so that it covers few of the lanes ----
begin(i) = (column(3) < column(4) ? column(3) : column(4)) + 0.05
# A long name of a lane has two lines.
break(s, i) = i < 2 ? 0 : s[i:i] eq '-' || s[i:i] eq ' ' ? i : break(s, i - 1)
folded(s) = strlen(s) > 16 && break(s, strlen(s)) > 0 ? s[1:break(s, strlen(s))] . "\n" . s[break(s, strlen(s)) + 1:*] : s
is(a) = strcol(2) eq a
is_note(i) = is('silence') || is('more')
only(condition, value) = condition ? value : NaN

# Colours of Okabe and Ito, told apart by people of every colour vision.
set style arrow 1 head filled size 9. / lane_width / 1.6, 18 fixed lw 1.6 lc rgb '#0072B2'
set style arrow 2 head filled size 9. / lane_width / 1.6, 18 fixed lw 1.2 dt (6, 4) lc rgb '#009E73'
set style arrow 3 head filled size 9. / lane_width / 1.6, 18 fixed lw 1.6 lc rgb '#E69F00'
set style arrow 4 head filled size 9. / lane_width / 1.6, 18 fixed lw 1.2 dt (6, 4) lc rgb '#E69F00'
set style arrow 5 head filled size 9. / lane_width / 1.6, 18 fixed lw 2.2 lc rgb '#D55E00'

# What the colours mean.
set label 11 'write' at graph 0.005, first -3.05 left tc rgb '#0072B2'
set label 12 'watch' at graph 0.005, first -3.05 left offset 7, 0 tc rgb '#009E73'
set label 13 'CSI call and answer' at graph 0.005, first -3.05 left offset 14, 0 tc rgb '#E69F00'
set label 14 'error' at graph 0.005, first -3.05 left offset 32, 0 tc rgb '#D55E00'

shaft(kind) = only(is(kind), column(3))
plot \
    input index 0 using 1:(-0.85):(0):(n_rows + 1.15) with vectors nohead lc rgb '#C8C8C8' lw 1, \
    input index 1 using (only(is_note(0), (n_lanes - 1) / 2.)):(column(1) - 0.12):((n_lanes - 1) / 2. + 0.5):(0.33) with boxxyerror fs solid 1 noborder lc rgb '#F2F2F2', \
    input index 1 using (only(is_note(0), -0.45)):(column(1) - 0.12):6 with labels left noenhanced textcolor rgb '#606060', \
    input index 0 using 1:(-1.65):(folded(strcol(2))) with labels center boxed noenhanced font ',10', \
    input index 0 using 1:(n_rows + 1.05):(folded(strcol(2))) with labels center noenhanced textcolor rgb '#606060', \
    input index 1 using (shaft('write')):1:(column(4) - column(3)):(0) with vectors as 1, \
    input index 1 using (shaft('watch')):1:(column(4) - column(3)):(0) with vectors as 2, \
    input index 1 using (shaft('call')):1:(column(4) - column(3)):(0) with vectors as 3, \
    input index 1 using (shaft('answer')):1:(column(4) - column(3)):(0) with vectors as 4, \
    input index 1 using (only(is('error') || is('warning'), column(3))):1:(column(4) - column(3)):(0) with vectors as 5, \
    input index 1 using (only(!is_note(0), begin(0))):(column(1) - 0.42):6 with labels left boxed noenhanced, \
    input index 1 using (only(!is_note(0), -0.56)):1:5 with labels right noenhanced font ',9' textcolor rgb '#404040'
