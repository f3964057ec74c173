#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# sweep, whatif, tune, plot, check and schema: their output, their files and their exit status.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs study teach
small=$KVOLSIM_SRCDIR/tests/run/study/small.yaml
scenario=$KVOLSIM_SRCDIR/scenarios/burst-100.yaml

# run STATUS ARGUMENT…: its output goes into out and err. Returns: whether it ended with STATUS
run()
{
    wanted=$1
    shift
    "$kvolsim" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    [ $? -eq "$wanted" ]
}

said() { grep -q -- "$1" "$scratch/out"; }
complained() { grep -q -- "$1" "$scratch/err"; }
# A PNG of some size, whose name was printed.
drew() { said "^$1\$" && [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] && [ "$(wc -c <"$1")" -gt 8000 ]; }

# ---- sweep ----
run 0 sweep "$small" -j 2 --out "$scratch/small.sqlite" && said '^CREATE  *QPS  *RUNS' && [ ! -s "$scratch/err" ]
result $? "a sweep prints a table, and no bar where there is no terminal"
run 2 sweep "$small" --out "$scratch/small.sqlite" && complained 'is there already (--resume'
result $? "a result file is not written over"
run 0 export "$scratch/small.sqlite" --table pairs && said ' difference,'
result $? "differences as CSV"

"$kvolsim" sweep "$small" -j 2 --replications 100000 --out "$scratch/broken-off.sqlite" >"$scratch/out" 2>"$scratch/err" &
pid=$!
while [ ! -s "$scratch/broken-off.sqlite" ] && kill -0 $pid; do sleep 0.05; done
kill -TERM $pid
wait $pid
[ $? -eq 143 ] && complained 'interrupted; what is finished is in .*, --resume goes on'
result $? "a sweep that is terminated ends with 143, and says how to go on"
run 0 sweep "$small" -j 2 --resume --replications 6 --out "$scratch/broken-off.sqlite" && said '^small: means'
result $? "and goes on"

if command -v script >/dev/null; then
    script -qec "timeout -s INT --preserve-status 3 '$kvolsim' sweep '$small' -j 2 --replications 100000 --out '$scratch/shown.sqlite'" \
        /dev/null >"$scratch/out" 2>"$scratch/err" </dev/null
    [ $? -eq 130 ] && said 'of 400000 runs'
    result $? "a bar on a terminal"
fi

# ---- Files that are none ----
printf 'hello\n' >"$scratch/text.sqlite"
head -c 8192 "$scratch/small.sqlite" >"$scratch/part.sqlite"
: >"$scratch/empty.sqlite"
for broken in "missing 2 no.such.file" "text 2 is.no.result.file" "part 2 is.damaged" "empty 2 is.no.result.file"; do
    # shellcheck disable=SC2086 # three words
    set -- $broken
    run "$2" export "$scratch/$1.sqlite" && complained "$1.sqlite: $3" && run "$2" merge --out "$scratch/all.sqlite" "$scratch/$1.sqlite" &&
        complained "$1.sqlite: $3"
    result $? "$1.sqlite"
    rm -f "$scratch/all.sqlite"
done

# ---- check and schema ----
run 0 check "$small" "$scenario"
result $? "check takes sweeps and scenarios"
sed 's/^  measures:/  measure:/' "$small" >"$scratch/wrong.yaml"
run 2 check "$scratch/wrong.yaml" && said 'wrong.yaml:[0-9]*:3: spec.measure: unknown field (did you mean "measures"?)'
result $? "a fault has file, line and hint"
cat >"$scratch/dump.yaml" <<EOF
{apiVersion: kvolsim.io/v1, kind: Scenario, metadata: {name: dump}, spec: {nodes: [{name: n-1}]}}
---
apiVersion: v1
kind: List
items:
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a, uid: aaaaaaaa-0000-4000-8000-000000000001}, provisioner: x.example.com}
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: b, uid: aaaaaaaa-0000-4000-8000-000000000002}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c, uid: aaaaaaaa-0000-4000-8000-000000000003}}
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: d, uid: aaaaaaaa-0000-4000-8000-000000000004}}
EOF
run 0 check "$scratch/dump.yaml" && said 'warning: .*dump.yaml:6: StorageClass/a: there is no driver' &&
    said 'ignored: 2 of kind Ingress, the first Ingress/b (.*dump.yaml:7)' && said 'ignored: 1 of kind ConfigMap' &&
    run 0 run "$scratch/dump.yaml" && said 'warning: .*StorageClass/a'
result $? "warnings and ignored kinds of a dump"
run 2 check --set spec.seed=2 "$small" && complained 'is a sweep'
result $? "--set is of scenarios"
run 0 schema sweep && said '"kvolsim sweep"' && run 0 schema && said '"kvolsim scenario"' && run 2 schema swep && complained 'no such kind'
result $? "a schema of each"

# ---- whatif ----
few='--set spec.workload[0].create.count=20 --set spec.expect=[] --set spec.until=90s'
# shellcheck disable=SC2086 # a list of words
run 0 whatif "$scenario" $few --replications 2 --out "$scratch/whatif" && said '^kube-controller-manager kube-api-qps  *20 ' &&
    said 'change nothing in any run' && drew "$scratch/whatif/tornado.png" && [ -s "$scratch/whatif/whatif.json" ]
result $? "whatif: a table and a tornado"
if [ "${KVOLSIM_SANITIZERS:-no}" != yes ]; then # else a minute, and the same code
    # A shorter grace period makes its three pods not Ready sooner, and so for longer: 3 times 25 s.
    run 0 whatif "$KVOLSIM_SRCDIR/scenarios/zone-outage.yaml" --replications 2 --value not-ready-seconds &&
        said '^zone-outage: not-ready-seconds is 3[0-9]* s' && said 'node-monitor-grace-period *50s *25s: +75.0 .* 1m40s: -150 '
    result $? "whatif: availability"
fi
# shellcheck disable=SC2086
run 2 whatif "$scenario" $few --replications 2 --out "$scratch/whatif" && complained 'is there already (--resume' &&
    run 0 whatif "$scenario" $few --replications 2 --out "$scratch/whatif" --resume --format json && said '"flag": "kube-scheduler kube-api-qps"' &&
    sed '$d; s/,$//' "$scratch/out" >"$scratch/printed" && # the file has digests behind it
    sed '/^  "files": {$/,$d; s/,$//' "$scratch/whatif/whatif.json" | cmp - "$scratch/printed" >>"$scratch/err"
result $? "whatif: found again, as JSON"
run 0 plot "$scratch/whatif" --format dumb && said 'halved'
result $? "a tornado in the terminal"
run 2 whatif "$scenario" --stage pod-strat && complained 'is no stage' && run 2 whatif "$scenario" --statistic count && complained 'statistic' &&
    run 2 whatif "$small" && complained 'there is no Scenario in this file'
result $? "whatif: what it does not take"

# ---- tune ----
slo='spec.slo=[{stage: pod-start, quantile: 0.99, below: 20s}]'
# shellcheck disable=SC2086
run 0 tune "$scenario" $few --set "$slo" --flag 'external-*' --replications 2 --out "$scratch/tune" && said 'ONE STEP LESS' &&
    said 'requests to the API server' && drew "$scratch/tune/pareto.png"
result $? "tune: a table and a front"
# Its last lines are a command: what it found meets the slo there, too.
sed -n '/^kvolsim run/,/[^\\]$/p' "$scratch/out" | sed "s|^kvolsim|'$kvolsim'|" >"$scratch/command"
sh "$scratch/command" >"$scratch/out" 2>"$scratch/err" && said '^slo *met'
result $? "tune: kvolsim run meets the slo with its flags"
# shellcheck disable=SC2086
run 3 tune "$scenario" $few --set 'spec.slo=[{stage: pod-start, quantile: 0.99, below: 10ms}]' --flag '*worker-threads' --replications 1 &&
    said 'No step of the'
result $? "tune: 3 if nothing meets it"
run 2 tune "$scenario" && complained 'spec.slo: there is none' && complained 'such as slo:'
result $? "tune: no slo"

# ---- plot ----
run 0 plot "$scratch/small.sqlite" && drew "$scratch/small-curves.png" && drew "$scratch/small-heat-map.png" && drew "$scratch/small-pareto.png"
result $? "all pictures of a sweep"
run 0 plot "$scratch/small.sqlite" curves --along qps --by create --measure 'start p99' --format dumb && said 'small: start p99' && said 'qps'
result $? "chosen axes"
run 2 plot "$scratch/small.sqlite" curves --measure ready && complained 'known: start, start p99, all ready, requests' &&
    run 2 plot "$scratch/small.sqlite" curves --only qps=7 && complained 'no value "7"' && run 2 plot "$scratch/small.sqlite" pie && complained 'known: curves'
result $? "plot: what a sweep does not have"
# ---- compare --releases ----
limit=$KVOLSIM_SRCDIR/scenarios/attach-limit.yaml
run 0 compare --releases 1.28,1.22 "$limit" && said '^RELEASE  *1.22  *1.28$' && said '^publish  *82ms  *64ms  \*$' && [ ! -s "$scratch/err" ]
result $? "two releases, the older first, and the stages that differ"
sed -n '/that acted/,/^$/p' "$scratch/out" >"$scratch/acted"
grep -q '1.28 REL-15 (PVC-61, PVC-62): ' "$scratch/acted" && grep -q '1.27 REL-30: kubeAPIQPS of every kubelet is 50; before, 5.' "$scratch/acted" &&
    ! grep -q 'REL-11' "$scratch/acted" && said '1.23 REL-11 (PVC-71c)'
result $? "the changes that acted stand apart from the others"
run 0 compare --releases 1.22,1.28 --set 'spec.components[kubelet].kubeAPIQPS=20' "$limit" && ! said 'kubeAPIQPS' && said 'kubeAPIBurst'
result $? "a default that the scenario replaces does not change"
run 0 compare --releases 1.22,1.28 --format json "$limit" && python3 - "$scratch/out" <<'END'
import json, sys
told = json.load(open(sys.argv[1]))
assert [release["minor"] for release in told["releases"]] == [22, 28]
assert {change["id"]: change["acted"] for change in told["changes"]}["REL-12"]
assert told["defaults"][0] == {"id": "REL-30", "since": 27, "process": "kubelet", "flag": "kubeAPIQPS", "before": "5", "then": "50"}
assert "kubernetes.io/gce-pd" in told["migrated"]
END
result $? "... as JSON"
run 0 compare --releases 1.30,1.30 "$limit" && said '^  none$' && ! said ' \*$'
result $? "a release does not differ from itself"
for releases in 1.22 1.17,1.28 1.22,1.37 new,old; do
    run 2 compare --releases "$releases" "$limit" && complained "\"$releases\" is not two versions, each 1.18 to 1.36"
    result $? "refused: --releases $releases"
done

# ---- the study in docs/sweeps.md ----
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || { cases_end; exit; } # the plain build prints the same
run 0 sweep "$KVOLSIM_SRCDIR/scenarios/sweeps/local-capacity.yaml" -j 2 --out "$scratch/local-capacity.sqlite"
awk '/^## / { shown = /A study/ } shown && /^    (PODS|[0-9])/ { print substr($0, 5) }' "$KVOLSIM_SRCDIR/docs/sweeps.md" >"$scratch/told"
[ "$(wc -l <"$scratch/told")" -eq 7 ] && ! grep -vxF -f "$scratch/out" "$scratch/told"
result $? "the table of the study in docs/sweeps.md is what the sweep prints"

cases_end
