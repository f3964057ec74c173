#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The words in pictures and on the page: units, labels, and nothing that nobody can see.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs study teach
command -v gnuplot >/dev/null 2>&1 || skip_all "no gnuplot"

# words FILE: the text elements of an SVG, a line each.
words()
{
    sed 's/<[^>]*>/\n/g' "$1" | sed 's/^[ \t]*//; /^$/d'
}

"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/zone-outage.yaml" --out "$scratch/run" >"$scratch/out" 2>"$scratch/err"
"$kvolsim" plot "$scratch/run" waits --format svg >"$scratch/out" 2>"$scratch/err" && words "$scratch/run/waits.svg" >"$scratch/words"
grep -qx 'driver latency' "$scratch/words" && grep -qx 'poll or tick' "$scratch/words" && ! grep -qx -e 'watch delay' -e 'scheduler queue' "$scratch/words"
result $? "waits: the key has only causes that are seen" "$scratch/words"
awk -F, '/^stop,/ { for (i = 2; i <= NF; i++) sum += $i; printf "%.3g s\n", sum }' "$scratch/run/waits.csv" >"$scratch/stop"
grep -qxF -f "$scratch/stop" "$scratch/words"
result $? "waits: above a bar stands the stage's time" "$scratch/words" "$scratch/stop"

"$kvolsim" plot "$scratch/run" availability --format svg >"$scratch/out" 2>"$scratch/err" && words "$scratch/run/availability.svg" >"$scratch/words"
grep -qx 'Ready of StatefulSet/web' "$scratch/words" && grep -qx 'wanted' "$scratch/words"
result $? "availability: few workloads have their pods below the bands, wanted and Ready" "$scratch/words"
grep -A 1 'fill="rgb(26,26,26)"' "$scratch/run/availability.svg" | grep -q -- '>-3<' && grep -qF '[fill="rgb(26,26,26)"] text' "$KVOLSIM_SRCDIR/cli/report/report.css"
result $? "availability: numbers upon bands stay dark on a dark page" "$scratch/words"

name=database-for-the-accounting-department-of-the-northern-r
sed "s/metadata: {name: web}/metadata: {name: $name}/" "$KVOLSIM_SRCDIR/scenarios/zone-outage.yaml" >"$scratch/long.yaml"
"$kvolsim" run "$scratch/long.yaml" --out "$scratch/long" >"$scratch/out" 2>"$scratch/err"
"$kvolsim" plot "$scratch/long" availability --format svg >"$scratch/out" 2>"$scratch/err" && words "$scratch/long/availability.svg" >"$scratch/words"
grep -q '^StatefulSet/database-f.*-northern-r$' "$scratch/words" && ! grep -qx "StatefulSet/$name" "$scratch/words"
result $? "availability: a name too long for the margin is short of its middle" "$scratch/words"
"$kvolsim" plot "$scratch/long" timeline --format svg >"$scratch/out" 2>"$scratch/err" && words "$scratch/long/timeline.svg" >"$scratch/words"
grep -q '^database-for-the-ac.*-of-the-northern-r-0$' "$scratch/words" && ! grep -qx "$name-0" "$scratch/words"
result $? "... and in the timeline" "$scratch/words"

# Starts of more than 100 s: gnuplot's statistics of one column leave out what is beyond yrange
"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/node-power-off.yaml" --out "$scratch/off" >"$scratch/out" 2>"$scratch/err"
for picture in cdf modes; do
    "$kvolsim" plot "$scratch/off" $picture --format svg >"$scratch/out" 2>"$scratch/err" && words "$scratch/off/$picture.svg" >"$scratch/words"
    grep -qxE '[125]00' "$scratch/words"
    result $? "$picture: the longest start, of 364 s, is in the picture" "$scratch/words"
done
grep -q 'none have Immediate ones' "$scratch/words"
result $? "modes: the title tells that there is one mode only" "$scratch/words"
for picture in pending in-flight; do
    "$kvolsim" plot "$scratch/off" $picture --format svg >"$scratch/out" 2>"$scratch/err" && words "$scratch/off/$picture.svg" >"$scratch/words"
    grep -qx 3 "$scratch/words" && ! grep -qx '[0-9]*\.5' "$scratch/words"
    result $? "$picture: no ticks at parts of pods and calls" "$scratch/words"
done

"$kvolsim" plot "$scratch/off" nodes --format svg >"$scratch/out" 2>"$scratch/err"
grep -q "<image style='image-rendering: pixelated' " "$scratch/off/nodes.svg"
result $? "nodes: browsers do not smooth the rows into each other"

cat >"$scratch/small.yaml" <<END
apiVersion: kvolsim.io/v1
kind: Sweep
metadata: {name: small}
spec:
  scenario: $KVOLSIM_SRCDIR/scenarios/burst-100.yaml
  set: {'spec.workload[0].create.count': 5}
  parameters:
  - {name: qps, path: 'spec.drivers[0].sidecars.external-attacher.kube-api-qps', values: [1, 50]}
  - {name: workers, path: 'spec.drivers[0].sidecars.external-attacher.worker-threads', values: [1, 10]}
  replications: {count: 2}
  measures:
  - {name: start p99, stage: pod-start, statistic: p99}
  - {name: peak, value: api-requests-peak}
END
"$kvolsim" sweep "$scratch/small.yaml" --out "$scratch/small.sqlite" >"$scratch/out" 2>"$scratch/err" &&
    "$kvolsim" plot "$scratch/small.sqlite" --format svg >>"$scratch/out" 2>>"$scratch/err" && words "$scratch/small-pareto.svg" >"$scratch/words"
grep -qx 'start p99 (s)' "$scratch/words" && grep -qx 'peak (requests/s)' "$scratch/words"
result $? "pareto: both axes have units" "$scratch/out" "$scratch/err" "$scratch/words"
grep -qE '^1: qps = [0-9]+, workers = [0-9]+$' "$scratch/words"
result $? "pareto: the points of the front have labels" "$scratch/words"

# ink VALUE: the colour of the number in the heat map
ink()
{
    awk -v value=">$1<" '/<g transform/ { match($0, /fill="[^"]*/); fill = substr($0, RSTART + 6, RLENGTH - 6) } index($0, value) { print fill }' \
        "$scratch/small-heat-map.svg" | sort -u
}
grep -oE '<tspan font-family="sans" >[0-9.]+<' "$scratch/small-heat-map.svg" | tr -d '<' | sed 's/.*>//' | sort -n >"$scratch/numbers"
least=$(head -n 1 "$scratch/numbers")
most=$(tail -n 1 "$scratch/numbers")
[ "$least" != "$most" ] && [ "$(ink "$least") $(ink "$most")" = "rgb(255,255,255) rgb(0,0,0)" ]
result $? "heat map: white numbers on dark fields, black ones on light fields" "$scratch/numbers"

# A decade has ticks of its own on a logarithmic axis, less than one has not.
cat >"$scratch/qq.dat" <<END
"narrow"
0.1 0.010 0.011
0.5 0.012 0.012
0.9 0.015 0.014


"wide"
0.1 0.001 0.001
0.5 0.1 0.1
0.9 2 2
END
gnuplot -e "set terminal svg; set output '$scratch/qq.svg'; input = '$scratch/qq.dat'" "$KVOLSIM_SRCDIR/plots/qq.gp" 2>"$scratch/err" && words "$scratch/qq.svg" >"$scratch/words"
[ "$(grep -cx -e 10 -e 15 "$scratch/words")" -ge 4 ] && [ "$(grep -cx -e 1 -e 100 -e 1000 "$scratch/words")" -ge 6 ]
result $? "qq: both axes have ticks, however near the quantiles are" "$scratch/words" "$scratch/err"

"$kvolsim" plot "$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml" sequence --object pod/app --format svg --out "$scratch/new/folder" >"$scratch/out" 2>"$scratch/err"
result $? "plot makes the folder of --out"
words "$scratch/new/folder/sequence-pod-app.svg" >"$scratch/words"
grep -qE '^update pvc/data: volumeName: pvc-[0-9a-f]{4}\.\.\.$' "$scratch/words" && grep -qx 'persistent-volume-' "$scratch/words"
result $? "sequence: uids are cut, and long names have two lines" "$scratch/words"

"$kvolsim" plot "$KVOLSIM_SRCDIR/scenarios/six-minute-detach.yaml" sequence --object pod/slow-again --format svg --out "$scratch/new" >"$scratch/out" 2>"$scratch/err"
cat >"$scratch/edge.awk" <<'END'
/viewBox=/ && !width { match($0, /viewBox="0 0 [0-9]*/); width = substr($0, RSTART + 13, RLENGTH - 13) + 0 }
/translate\(/ { match($0, /translate\([0-9.]*/); x = substr($0, RSTART + 10, RLENGTH - 10); is_left = $0 !~ /text-anchor="(middle|end)"/ }
/<text>/ {
    gsub(/<[^>]*>/, ""); gsub(/^[ \t]*/, ""); gsub(/&[a-z]*;/, "x")
    if (is_left && x + 7.2 * length($0) > width) { print; bad = 1 }
    n++
}
END { exit bad || n < 40 || !width }
END
awk -f "$scratch/edge.awk" "$scratch/new/sequence-pod-slow-again.svg" >"$scratch/words"
result $? "sequence: no text goes beyond the picture" "$scratch/words"

"$kvolsim" plot "$scratch/run" cdf --format svg >"$scratch/out" 2>"$scratch/err" && cp "$scratch/run/cdf.svg" "$scratch/cdf.svg"
"$kvolsim" report "$scratch/run" >"$scratch/out" 2>"$scratch/err"
cmp -s "$scratch/run/cdf.svg" "$scratch/cdf.svg"
result $? "report: pictures of plot stay as they were"
same "report: the page's name alone is printed" "$scratch/run/report.html" "$(cat "$scratch/out")"
grep -q '<tr class="warning"><td>FailedScheduling</td>' "$scratch/run/report.html" && grep -q '<h2>Events</h2>' "$scratch/run/report.html"
result $? "report: Events, warnings first"
# A picture for a wide screen has text of 5 px on one of 400 px, so each comes in a second size, which the page shows there.
awk '/<svg class="narrow"/ { n++; is_narrow = 1; getline; if ($0 !~ /width="400"/) bad = $0 } /<svg class="page"/ { is_narrow = 0 }
    is_narrow && match($0, /font-size="[0-9.]*/) && substr($0, RSTART + 11, RLENGTH - 11) + 0 < 9 { bad = $0 }
    END { if (n != 9 || bad != "") { print n, bad; exit 1 } }' "$scratch/run/report.html" >"$scratch/words"
result $? "report: nine pictures whose text is legible on a narrow screen" "$scratch/words"
"$kvolsim" serve "$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml" --export "$scratch/run/page" >"$scratch/out" 2>"$scratch/err"
if [ $? -ne 4 ]; then
    "$kvolsim" report "$scratch/run" >"$scratch/out" 2>"$scratch/err"
    grep -q '<a href="page/index.html">' "$scratch/run/report.html"
    result $? "report: a link to the exported page"
fi
# A run in which nobody asks for anything has all its pictures, too
cat >"$scratch/nobody.yaml" <<END
{apiVersion: kvolsim.io/v1, kind: Scenario, metadata: {name: nobody}, spec: {until: 1m, nodes: [{name: a}]}}
END
"$kvolsim" run "$scratch/nobody.yaml" --out "$scratch/nobody" >"$scratch/out" 2>&1 && "$kvolsim" plot "$scratch/nobody" >"$scratch/out" 2>&1 &&
    "$kvolsim" report "$scratch/nobody" >>"$scratch/out" 2>&1 && grep -q requests.png "$scratch/out"
result $? "a run without requests has its pictures and its page" "$scratch/out"
# Rows are nodes: no pattern of names, nor the name that a template gives
"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/late-csinode.yaml" --out "$scratch/late" >"$scratch/out" 2>&1
[ "$(grep -v '^#' "$scratch/late/node-volumes.csv" | cut -d, -f3 | sort -u | tr '\n' ' ')" = " added-0 added-1 added-2 added-3 added-4 added-5 added-6 added-7 added-8 added-9 first-0 name " ]
result $? "nodes: a row for each node, and none for their pattern"
# Eight of twelve pods with Immediate claims never start: their curve ends below 100 %
"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/wffc-vs-immediate.yaml" --out "$scratch/modes" >"$scratch/out" 2>&1
grep -A100 '^# Immediate' "$scratch/modes/binding-modes.csv" | sed '/^# WaitFor/,$d' | grep ',' | tail -n 1 | grep -q ',33\.3' &&
    "$kvolsim" plot "$scratch/modes" modes --format svg >"$scratch/out" 2>&1 && grep -q '67 % never' "$scratch/modes/modes.svg"
result $? "modes: pods that never start count"
# Names of a stranger's result files get into scripts that gnuplot evaluates.
! grep -nE "(system|shell) *[(]|[\`]|[\"']<" "$KVOLSIM_SRCDIR"/plots/*.gp | grep -vE ':[0-9]+:#' >"$scratch/out"
result $? "no plot has a shell"
mkdir "$scratch/strange"
head -n 6 "$scratch/off/objects.csv" | sed "s|^pod,[^,]*|pod,x'.system('touch $scratch/owned').'|" >"$scratch/strange/objects.csv"
gnuplot -e "set terminal svg; set output '$scratch/strange.svg'; input = '$scratch/strange/objects.csv'; run_title = 'x'" "$KVOLSIM_SRCDIR/plots/timeline.gp" >"$scratch/out" 2>"$scratch/err"
grep -q 'system(' "$scratch/strange.svg" && [ ! -e "$scratch/owned" ]
result $? "timeline: a name is a text, whatever it looks like"
cases_end
