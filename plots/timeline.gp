# SPDX-License-Identifier: GPL-3.0-or-later
# Each pod's start as a row, stage by stage, in the order of creation.
#
# Reads objects.csv of a run: rows of kind "pod", which come first; columns name, namespace, incarnation, and in
# seconds created, scheduled, attached, staged, published, ready, deleted (empty: never; a pod without volumes
# has no attached, staged and published; a pod that is older than the run has no created, comes last, and is not
# drawn). The first line, a comment, names the scenario and the seed.
#
#   gnuplot -e "set terminal pngcairo size 1200,800; set output 'timeline.png'; input = 'objects.csv'" timeline.gp

# A text in quotes, for eval: those in it are doubled, so that it remains a text.
doubled(text) = strstrt(text, "'") == 0 ? text : text[1 : strstrt(text, "'")] . "'" . doubled(text[strstrt(text, "'") + 1 : *])
quoted(text) = "'" . doubled(text) . "'"
is_text = GPVAL_TERM eq 'dumb'

# ---- Title: what repeats the run ----
set datafile commentschars ''
set datafile separator "\t"
head = ''
stats input every ::0::0 using (head = strcol(1), 0) nooutput
end_of(text, mark) = strstrt(text, mark) == 0 ? strlen(text) : strstrt(text, mark) - 1
between(text, from, to) = strstrt(text, from) == 0 ? '?' : \
    text[strstrt(text, from) + strlen(from) : end_of(text, to)]
title_text = sprintf('%s: the start of each pod, seed %s', \
                     between(head, ' scenario ', ' hash '), between(head, ' seed ', ' replication '))
set datafile commentschars '#'
set datafile separator ','
set datafile columnheaders

# ---- Points in time; NaN: never ----
is_pod(i) = strcol('kind') eq 'pod' && strlen(strcol('created')) > 0
at(name) = strlen(strcol(name)) == 0 ? NaN : real(strcol(name))
seen(time) = time == time
later(a, b) = seen(b) ? b : a
# The point that a pod reached last before `ready`.
reached(i) = later(later(later(later(at('created'), at('scheduled')), at('attached')), \
                         at('staged')), at('published'))
smaller(a, b) = !seen(a) || b < a ? b : a
larger(a, b) = seen(b) && (!seen(a) || b > a) ? b : a
# A long name without its middle, for the ends tell names apart: a narrow picture has little room.
room = exists('narrow') ? 16 : 40
short(text) = strlen(text) <= room ? text : text[1 : room / 2 - 1] . '…' . text[strlen(text) - room / 2 + 1 : *]
label(i) = short((strcol('namespace') eq 'default' ? '' : strcol('namespace') . '/') . strcol('name') . \
           (column('incarnation') > 1 ? ' #' . strcol('incarnation') : ''))

n_pods = 0
n_late = 0
start = NaN
end = NaN
gone = NaN
longest = NaN
names = ''
# Names of up to forty; more would not be legible.
look(i) = (n_pods = n_pods + 1, n_late = n_late + !seen(at('ready')), \
           names = n_pods > 40 ? '' : names . sprintf("%s %d,", quoted(label(0)), n_pods), \
           start = smaller(start, at('created')), end = larger(end, later(reached(0), at('ready'))), \
           longest = larger(longest, later(reached(0), at('ready')) - at('created')), \
           gone = larger(gone, at('deleted')), 0)
stats input using (is_pod(0) ? look(0) : 0) nooutput
if (n_pods == 0) {
    start = 0
    end = 1
    title_text = title_text . ': no pods'
}
# Where no pod got anywhere, what is left to show is how long they waited.
if (end <= start) { end = larger(start + 1, gone) }
# Bars that would be thin strokes along a diagonal begin all at 0 instead: the time is that since the pod's creation.
is_relative = n_late == 0 && n_pods > 1 && longest < (end - start) / 10
if (is_relative) {
    start = 0
    end = longest
}
base(i) = is_relative ? at('created') : 0
until(i) = seen(at('deleted')) && at('deleted') < end ? at('deleted') : end

# ---- Units and room ----
span = end - start
unit_s = span > 5 * 3600 ? 3600. : span > 1800 ? 60. : 1.
unit = unit_s == 3600 ? 'h' : unit_s == 60 ? 'min' : 's'
set xlabel sprintf(is_relative ? "time since the pod's creation (%s)" : 'virtual time (%s)', unit)
set xrange [start / unit_s : (end + span * 0.01) / unit_s]
set yrange [larger(n_pods, is_text ? 1 : 8) + 0.6 : 0.4] # a few pods do not fill the picture
if (exists('zoom_from')) { set xrange [zoom_from / unit_s : zoom_to / unit_s] }
set border 3 lw 0.75 lc rgb '#404040'
set tics out nomirror textcolor rgb 'black'

# ---- Stages: colours of Okabe and Ito, told apart by people of every colour vision ----
array stage_name[5] = ['schedule', 'attach', 'stage', 'publish', 'start']
array stage_from[5] = ['created', 'scheduled', 'attached', 'staged', '']
array stage_to[5] = ['scheduled', 'attached', 'staged', 'published', 'ready']
array stage_colour[5] = ['#56B4E9', '#E69F00', '#009E73', '#CC79A7', '#0072B2']
from(k) = (k == 5 ? reached(0) : at(stage_from[k])) - base(0)
to(k) = at(stage_to[k]) - base(0)
row(i) = int(column(0)) + 1
# More than 600 are not told apart: one in so many is drawn.
drawn_each = n_pods > 600 ? int(ceil(n_pods / 600.)) : 1
is_drawn(i) = is_pod(0) && (row(0) - 1) % drawn_each == 0

if (is_text) {
    # A row of characters for each pod, or for one in so many. Rounded where stages meet, so that they add up.
    n_rows = 26
    n_columns = 90
    each = n_pods > n_rows ? int(ceil(real(n_pods) / n_rows)) : 1
    long(text) = text . text . text . text . text . text . text . text . text . text
    repeat(mark, n) = n < 1 ? '' : long(long(mark))[1 : n]
    place(time) = int(floor((time - start) / (span * 1.01) * n_columns + 0.5))
    stretch(mark, a, b) = seen(a) && seen(b) ? repeat(mark, place(b) - place(a)) : ''
    bar(i) = repeat(' ', place(from(1))) . stretch('.', from(1), to(1)) . \
             stretch('a', from(2), to(2)) . stretch('S', from(3), to(3)) . \
             stretch('p', from(4), to(4)) . \
             (seen(at('ready')) ? stretch('#', from(5), to(5)) : stretch('?', reached(0), until(0)))
    set title title_text . "\n. schedule   a attach   S stage   p publish   # start" . \
              (n_late > 0 ? '   ? not ready' : '') noenhanced
    # 120 columns: 24 for names, 90 for the bars.
    set lmargin at screen 0.2
    set rmargin at screen 0.95
    if (names ne '' && each == 1) {
        eval 'set ytics scale 0 noenhanced (' . names[1 : strlen(names) - 1] . ')'
    } else {
        set ylabel sprintf('pods, 1 in %d', each)
    }
    unset key
    plot input using (is_pod(0) && (row(0) - 1) % each == 0 ? start / unit_s : NaN):(row(0)):(bar(0)) \
             with labels left noenhanced
} else {
    is_fine = n_pods > 150 # rows of a few pixels: no gaps, no hatching
    half = is_fine ? 0.5 * drawn_each : 0.39
    set title (!exists('narrow') ? title_text : n_pods == 0 ? 'no pods' : '') noenhanced
    if (names ne '') {
        eval 'set ytics scale 0 noenhanced (' . names[1 : strlen(names) - 1] . ')'
    } else { if (n_pods == 0) {
        unset ytics
    } else {
        set ylabel 'pods, in the order of their creation' . (drawn_each > 1 ? sprintf(' (one in %d is drawn)', drawn_each) : '')
    } }
    set grid xtics front lt 1 lw 0.5 lc rgb '#B0000000'
    set rmargin 3
    set bmargin 6.5
    set key at screen 0.5, 0.03 center center horizontal maxrows (exists('narrow') ? 2 : 1) noenhanced reverse Left samplen 1.6
    box(a, b) = seen(a) && seen(b) ? 1 : NaN
    plot for [k = 1:5] input \
             using (is_drawn(0) ? box(from(k), to(k)) : NaN):(row(0)): \
                   (from(k) / unit_s):(to(k) / unit_s):(row(0) - half):(row(0) + half) \
             with boxxyerror fs solid 1 noborder fc rgb stage_colour[k] title stage_name[k], \
         input using (is_drawn(0) && !seen(at('ready')) ? 1 : NaN):(row(0)): \
                     (reached(0) / unit_s):(until(0) / unit_s):(row(0) - half):(row(0) + half) \
             with boxxyerror fs pattern (is_fine ? 3 : 4) noborder fc rgb '#D55E00' \
             title (n_late > 0 ? \
                    sprintf('not ready: %d of %d', n_late, n_pods) : '')
}
