#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The JSON Schemas are sound, also for strict validators, and every result file satisfies its own. With ALL=1 of all scenarios, else
# of some that have much to tell.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the files are the same"
python3 -c 'import jsonschema' 2>/dev/null || skip_all "no python3 with jsonschema"
check="python3 $KVOLSIM_SRCDIR/tests/run/results/schemas.py"
echo "# by $($check has)"

# satisfied NAME FOLDER: each file in FOLDER satisfies its schema. Those of metrics have a format of their own, and the curves of two
# pictures are no tables.
satisfied()
{
    (cd "$2" && find . -type f | sed 's|^\./||' | grep '\.\(json\|jsonl\|csv\)$' | grep -v -e 'distributions.csv$' -e 'binding-modes.csv$' | sort) >"$scratch/files"
    [ -s "$scratch/files" ] && tr '\n' '\0' <"$scratch/files" | xargs -0 $check valid "$kvolsim" "$2" >"$scratch/out" 2>&1 && [ ! -s "$scratch/out" ]
    result $? "$1: $(wc -l <"$scratch/files") files"
}

mkdir "$scratch/own"
for kind in scenario sweep; do
    "$kvolsim" schema $kind >"$scratch/own/$kind.schema.json"
done
$check strict "$KVOLSIM_SRCDIR"/schemas/*.schema.json "$scratch"/own/*.schema.json >"$scratch/out" 2>&1 && [ ! -s "$scratch/out" ]
result $? "the schemas are sound"
"$kvolsim" schema summary.json | cmp - "$KVOLSIM_SRCDIR/schemas/summary.json.schema.json" >"$scratch/out" 2>&1
result $? "kvolsim schema prints them"
refused 'no such kind of file (scenario, sweep, .*summary.json' schema summery.json
refused 'no such kind of file' schema ../docs/results.md
refused 'is of scenario or sweep, or of a file with columns' schema --reference summary.json

# A schema that lets everything pass proves nothing.
"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/zone-outage.yaml" --out "$scratch/run" >"$scratch/out" 2>&1
for spoilt in 's/"podsReady": [0-9]*/"podsReady": -1/ summary.json' 's/"seed":/"sed":/ summary.json' 's/"t":/"at":/ milestones.jsonl' \
    's/,pod,/,Pod,/;s/^pod,/Pod,/ objects.csv' 's/"type":"[A-Z][a-z]*"/"type":"Bad"/ events.jsonl' 's/,not ready/,unready/ availability.csv'; do
    rm -rf "$scratch/bad"
    cp -R "$scratch/run" "$scratch/bad"
    file=${spoilt##* }
    sed -i "${spoilt% *}" "$scratch/bad/$file"
    $check valid "$kvolsim" "$scratch/bad" "$file" >"$scratch/out" 2>&1
    grep -q "^$file: " "$scratch/out"
    result $? "a spoilt file does not satisfy its schema: $spoilt"
done

scenarios="zone-outage quickstart attach-limit snapshot-and-restore image-pulls class-quota"
[ -z "${ALL:-}" ] || scenarios=$(cd "$KVOLSIM_SRCDIR/scenarios" && ls ./*.yaml | sed 's|^\./||; s/\.yaml$//')
for name in $scenarios; do
    "$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/$name.yaml" --out "$scratch/$name" >"$scratch/out" 2>&1
    satisfied "$name" "$scratch/$name"
    rm -rf "${scratch:?}/$name"
done
immediate=$KVOLSIM_SRCDIR/scenarios/immediate.yaml
slo='spec.slo=[{stage: pod-start, quantile: 0.99, below: 10m}, {availability: "Pod/*", atLeast: 0.1}]'
"$kvolsim" run "$immediate" --set "$slo" --replications 2 --out "$scratch/two" >"$scratch/out" 2>&1
satisfied "an slo, two replications" "$scratch/two"
"$kvolsim" run "$immediate" --no-attribution --out "$scratch/bare" >"$scratch/out" 2>&1
satisfied "without attribution" "$scratch/bare"
"$kvolsim" whatif "$immediate" --replications 2 --out "$scratch/whatif" >"$scratch/out" 2>&1
satisfied "whatif" "$scratch/whatif"
for below in 10m 1ns; do
    "$kvolsim" tune "$immediate" --set "spec.slo=[{stage: pod-start, quantile: 0.99, below: $below}]" --flag '*worker*' --replications 2 \
        --out "$scratch/tune" >"$scratch/out" 2>&1
    satisfied "tune: below $below" "$scratch/tune"
done
if [ -x "$KVOLSIM_BUILDDIR/tests/run/import/make-recording" ]; then
    mkdir "$scratch/recording"
    cp "$KVOLSIM_SRCDIR/scenarios/burst-100.yaml" "$scratch/recording/scenario.yaml"
    "$KVOLSIM_BUILDDIR/tests/run/import/make-recording" "$scratch/recording/scenario.yaml" 77 "$scratch/recording" ready 40 2>"$scratch/err"
    "$kvolsim" replay "$scratch/recording" --replications 2 --out "$scratch/replay" >"$scratch/out" 2>&1
    satisfied "replay" "$scratch/replay"
else
    case_skip "replay" "make-recording is not built"
fi
cases_end
