# SPDX-License-Identifier: GPL-3.0-or-later
# Availability: a band for each workload over the whole run. Green: all pods that it wants are Ready; orange: some are missing, with
# their number where there is room; red: none is Ready.
#
# Up to three workloads do not fill the picture: below stands how many of the pods that each wants are Ready.
#
# Reads availability-over-time.csv of a run: workload; from, until: seconds; desired, ready: numbers of pods between these times.

# A text in quotes, for eval: those in it are doubled, so that it remains a text.
doubled(text) = strstrt(text, "'") == 0 ? text : text[1 : strstrt(text, "'")] . "'" . doubled(text[strstrt(text, "'") + 1 : *])
quoted(text) = "'" . doubled(text) . "'"
is_text = GPVAL_TERM eq "dumb"
set datafile separator ","
set datafile columnheaders

workload(i) = strcol("workload")
from(i) = column("from")
until(i) = column("until")
desired(i) = column("desired")
ready(i) = column("ready")

# ---- Workloads in the order of the file; of many, the ones that lacked pods ----
rows_max = 40
has(list, text) = strstrt(list, "|" . text . "|") > 0
all = "|"
poor = "|"
look(i) = (all = has(all, workload(0)) ? all : all . workload(0) . "|", \
           poor = has(poor, workload(0)) || ready(0) >= desired(0) ? poor : poor . workload(0) . "|", 0)
n_rows = 0
stats input using (n_rows = n_rows + 1, look(0)) nooutput
bars(list) = sum [k = 1:strlen(list)] (list[k : k] eq "|")
names = bars(all) - 1 > rows_max ? poor : all
bar(list, n) = n == 0 ? 0 : bar(list, n - 1) + strstrt(list[bar(list, n - 1) + 1 : *], "|")
item(n) = names[bar(names, n) + 1 : bar(names, n + 1) - 1]
n = bars(names) - 1
n = n > rows_max ? rows_max : n
array wanted[n > 0 ? n : 1]
array lacked[n > 0 ? n : 1]
do for [k = 1:n] { wanted[k] = 0; lacked[k] = 0 }
# What stands beside a band: a long name without its middle, for the ends tell names apart.
room = exists("narrow") ? 24 : 34
label(text) = strlen(text) <= room ? text : text[1 : room - 12] . "…" . text[strlen(text) - 10 : *]
longest = 10
do for [k = 1:n] { longest = strlen(label(item(k))) > longest ? strlen(label(item(k))) : longest }
place(text) = sum [k = 1:n] (item(k) eq text ? k : 0)
last = 1
length(i) = until(0) - from(0)
add(k) = k == 0 ? 0 : (wanted[k] = wanted[k] + desired(0) * length(0), \
                       lacked[k] = lacked[k] + (ready(0) < desired(0) ? (desired(0) - ready(0)) * length(0) : 0), 0)
stats input using (last = until(0) > last ? until(0) : last, add(int(place(workload(0))))) nooutput

has_lines = !is_text && n > 0 && n <= 3
most = 1
stats input using (most = desired(0) > most ? desired(0) : most, 0) nooutput
head = exists("narrow") ? "" : run_title . ": " # a narrow picture is on the page, which has a caption
set title (exists("narrow") ? "" : head . "availability") noenhanced
set xlabel "seconds of virtual time"
set xrange [0 : last]
if (exists("zoom_from")) { set xrange [zoom_from : zoom_to] }
set yrange [(n > 6 || has_lines ? n : 6) + 0.6 : 0.4]
if (!is_text) { set border 1 lc rgb "#555555"; set grid xtics lc rgb "#dddddd" lw 1 }
set xtics nomirror
set ytics scale 0 noenhanced
set key below reverse Left height 1
set style fill solid 1 noborder
set lmargin (longest < 24 ? 24 : 0.95 * longest + 1)
if (exists("narrow")) {
    set lmargin 0.9 * longest + 1
    set xtics rotate by 45 right
    set key samplen 1.5 width -2
    if (has_lines) { unset xlabel }
}
labels = ""
do for [k = 1:n] { labels = labels . sprintf("%s%s %d", k > 1 ? ", " : "", quoted(label(item(k))), k) }
if (n > 0) { eval "set ytics (" . labels . ")" } else { unset ytics }

# Okabe's and Ito's colours, which colour-blind people tell apart.
state(i) = desired(0) == 0 ? -1 : ready(0) >= desired(0) ? 0 : ready(0) > 0 ? 1 : 2
y(i) = place(workload(0)) > 0 ? place(workload(0)) : NaN
only(s) = state(0) == s ? y(0) : NaN
# A band is at least as wide as can be seen, and so is an outage within it.
least = last / 400.
# Bands of one colour that meet overlap a little, or a seam would show.
seam = last / 4000.
right(i) = length(0) < least && state(0) > 0 ? from(0) + least : until(0) + seam > last ? until(0) : until(0) + seam
text(i) = state(0) == 1 && (length(0)) > last / 25. ? sprintf("-%d", desired(0) - ready(0)) : ""
if (n_rows == 0) {
    set title head . "no workload wants pods"
    plot NaN notitle
} else { if (is_text) {
    plot input using (from(0)):(only(1)):(right(0) - from(0)):(0) with vectors nohead title "some pods missing", \
         input using (from(0)):(only(2)):(right(0) - from(0)):(0) with vectors nohead title "none Ready"
} else {
    if (has_lines) {
        set multiplot
        set tmargin at screen 0.94
        set bmargin at screen 0.94 - 0.13 * n - 0.02
        set key at screen 0.5, 0.94 - 0.13 * n - 0.13 center center horizontal maxrows 1
    }
    plot input using (from(0)):(only(0)):(from(0)):(right(0)):(y(0) - 0.3):(y(0) + 0.3) with boxxyerror lc rgb "#009E73" title "all pods Ready", \
         input using (from(0)):(only(1)):(from(0)):(right(0)):(y(0) - 0.3):(y(0) + 0.3) with boxxyerror lc rgb "#E69F00" title "some missing", \
         input using (from(0)):(only(2)):(from(0)):(right(0)):(y(0) - 0.3):(y(0) + 0.3) with boxxyerror lc rgb "#D55E00" title "none Ready", \
         input using ((from(0) + until(0)) / 2.):(y(0)):(text(0)) with labels tc rgb "#1a1a1a" notitle
    if (has_lines) {
        # A step is its level from one time to the next; the grey one is what the workload wants.
        array colour[3] = ["#0072B2", "#CC79A7", "#000000"]
        level(k, value) = place(workload(0)) == k ? value : NaN
        unset title
        set xlabel "seconds of virtual time"
        set tmargin at screen 0.94 - 0.13 * n - 0.19
        # Names that widen the margin leave the key one column.
        set bmargin at screen (exists("narrow") ? 0.25 : longest > 24 ? 0.19 : 0.15)
        set border 3
        set yrange [0 : 1.08 * most]
        set ytics scale 1 autofreq nomirror
        if (most < 9) { set ytics 1 }
        set ylabel "pods"
        set grid ytics lc rgb "#dddddd" lw 1
        set key at screen 0.5, (exists("narrow") ? 0.05 : longest > 24 ? 0.058 : 0.04) center center horizontal maxrows 2
        plot for [k = 1:n] input using (from(0)):(level(k, desired(0))):(length(0)):(0) with vectors nohead lw 5 lc rgb "#bbbbbb" \
                 title (k == 1 ? "wanted" : ""), \
             for [k = 1:n] input using (from(0)):(level(k, ready(0))):(length(0)):(0) with vectors nohead lw 2 dt k lc rgb colour[k] \
                 title "Ready of " . (exists("narrow") ? label(item(k)) : item(k)) noenhanced
        unset multiplot
    }
} }
