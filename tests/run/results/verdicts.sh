#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Verdicts that hold: objects that never get there are misses, a line tells of how many, and groups have verdicts of their own.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"

# pods TIME NAME COUNT: an item of the workload
pods()
{
    cat <<END
  - at: $1
    create:
      count: $3
      manifest:
      - apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: $2}
        spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
      - apiVersion: v1
        kind: Pod
        metadata: {name: $2, labels: {app: $2}}
        spec:
          containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /d}]}]
          volumes: [{name: v, persistentVolumeClaim: {claimName: $2}}]
END
}

cat >"$scratch/verdicts.yaml" <<END
kind: Scenario
apiVersion: kvolsim.io/v1
metadata: {name: verdicts}
spec:
  until: 10m
  nodes: [{count: 2, name: "node-%d"}]
  drivers: [{name: csi.lab.example, errors: [{method: CreateVolume, code: INTERNAL, from: 20s}]}]
  manifests: [$KVOLSIM_SRCDIR/tests/cli/stuck/parts/now.yaml]
  workload:
$(pods 5s early 24)
$(pods 25s late 6)
  slo:
  - {stage: pod-start, quantile: 0.99, below: 60s}
  - {stage: pod-start, quantile: 0.5, below: 60s}
  - {stage: pod-start, quantile: 0.99, below: 60s, labels: app=early}
  - {stage: pod-start, quantile: 0.99, below: 60s, name: "late-*"}
  - {stage: pod-start, quantile: 0.99, below: 60s, namespace: other}
  - {availability: "Pod/*", atLeast: 0.99}
  expect:
  - {pods: {labels: "app=early", ready: true, count: 24}}
  - {pods: {name: "late-*", ready: true, count: 6}}
  - {claims: {namespace: default, phase: Bound, count: 30}}
END
"$kvolsim" run "$scratch/verdicts.yaml" --out "$scratch/run" >"$scratch/out" 2>"$scratch/err"
same "a verdict that does not hold: exit 3" 3 $?
sed 's/  */ /g' "$scratch/out" >"$scratch/lines"
while read -r line; do
    grep -q "^$line" "$scratch/lines"
    result $? "$line" "$scratch/out" "$scratch/err"
done <<'END'
slo NOT MET p99 of pod-start below 60.00 s: never of 30, 6 of which never got there$
slo met p50 of pod-start below 60.00 s: [0-9.]* s of 30, 6 of which never got there$
slo met p99 of pod-start (objects with app=early) below 60.00 s: [0-9.]* s of 24$
slo NOT MET p99 of pod-start (late-[*]) below 60.00 s: never of 6, 6 of which never got there$
slo NOT MET p99 of pod-start (objects in other) below 60.00 s: no such stage was seen$
slo NOT MET availability of Pod/[*] at least 99 %: [0-9.]* %$
expect met pods: {labels: app=early, ready: true, count: 24}: found 24$
expect NOT MET pods: {name: late-[*], ready: true, count: 6}: found 0$
expect NOT MET claims: {namespace: default, phase: Bound, count: 30}: found 24$
stuck: pod/late-0 and 11 more: driver-error: driver/csi.lab.example answers CreateVolume with INTERNAL
END
python3 -c 'import json, sys
slo = json.load(open(sys.argv[1]))["slo"][0]
assert slo["count"] == 30 and slo["never"] == 6 and slo["value"] is None and not slo["met"], slo' "$scratch/run/summary.json"
result $? "the same in summary.json"
cases_end
