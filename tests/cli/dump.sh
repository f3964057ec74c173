#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run that begins with a cluster's objects: their ages go on, their starts are in no table and in no picture, no SLO counts them,
# and nothing is replaced although the dump has no ControllerRevisions.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach
scenario=$KVOLSIM_SRCDIR/scenarios/redis.yaml

$kvolsim get pv,pvc,sc,csidrivers,csinodes,volumeattachments,nodes,pods,statefulsets -A -o json --at 5m "$scenario" >"$scratch/objects.json"
cat >"$scratch/dump.yaml" <<EOF
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: dump}
spec:
  until: 4m
  manifests: objects.json
  drivers: [{name: csi.lab.example, profile: aws-ebs-gp3}]
EOF
grep -q '"kind": "ControllerRevision"' "$scratch/objects.json"
[ $? -ne 0 ] && grep -q '"kind": "StatefulSet"' "$scratch/objects.json"
result $? "a dump without ControllerRevisions"

$kvolsim get pods,pvc,pv,nodes -A --no-headers "$scratch/dump.yaml" --at 60s >"$scratch/ages"
! grep -q 'invalid' "$scratch/ages" && grep -q 'pod/redis-0 .* 1/1 .* 2m[0-9]*s$' "$scratch/ages"
result $? "ages go on from the newest time stamp"

$kvolsim run "$scratch/dump.yaml" --out "$scratch/run" >"$scratch/out" && [ "$(sed -n '/^STAGE/,/^$/p' "$scratch/out" | wc -l)" -eq 2 ] &&
    grep -q '^At the end: 6 pods (6 ready, 0 pending)' "$scratch/out"
result $? "nothing starts, nothing is replaced"
$kvolsim whatif --replications 2 "$scratch/dump.yaml" >"$scratch/out" && grep -qx 'dump: nothing to compare: no run has a pod-start p99. .*' "$scratch/out" &&
    [ "$(wc -l <"$scratch/out")" -eq 1 ]
result $? "so whatif has nothing to compare, and says so"

drain="spec.workload=[{at: 1m, drain: {node: NODE, ignoreDaemonSets: true, deleteEmptyDirData: true}}]"
$kvolsim import "$scratch/objects.json" --out "$scratch/tonight" >"$scratch/out" && grep -qF -- "--set '$drain'" "$scratch/out"
result $? "import shows an action"
node=$($kvolsim get pod redis-0 -o 'jsonpath={.spec.nodeName}' "$scratch/tonight/scenario.yaml" --at 0s) &&
    $kvolsim run "$scratch/tonight/scenario.yaml" --set "$(echo "$drain" | sed "s/NODE/$node/")" >"$scratch/out" && grep -q '^pod-start  *[1-6] ' "$scratch/out"
result $? "that drain starts pods anew"
[ "$(grep -c '^pod,default,redis-[0-5],0,[^,]*,*0[.]0*$' "$scratch/run/objects.csv")" -eq 6 ]
result $? "pods of the start have no times"
$kvolsim run "$scratch/dump.yaml" --set 'spec.slo=[{stage: pod-start, quantile: 0.5, below: 1h}]' >"$scratch/out"
[ $? -eq 3 ] && grep -q 'p50 of pod-start below .*: no such stage was seen' "$scratch/out"
result $? "no start of theirs meets an slo"
$kvolsim plot "$scratch/run" >"$scratch/out" 2>&1 && [ "$(grep -c png "$scratch/out")" -ge 8 ]
result $? "the pictures are drawn all the same"
cases_end
