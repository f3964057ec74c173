#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim replay: a recording that a simulation made agrees with itself to the nanosecond and with other seeds within the tolerance;
# a later milestone is told in its stage and in no other; objects with made-up names find their match.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
record=$KVOLSIM_BUILDDIR/tests/run/import/make-recording

# record FOLDER SCENARIO SEED [MILESTONE SECONDS]: a folder as import writes it.
record()
{
    mkdir -p "$scratch/$1"
    cp "$2" "$scratch/$1/scenario.yaml"
    "$record" "$2" "$3" "$scratch/$1" ${4+"$4" "$5"} 2>"$scratch/err"
}
burst=$KVOLSIM_SRCDIR/scenarios/burst-100.yaml

record same "$burst" 3 && "$kvolsim" replay "$scratch/same" --seed 3 --replications 1 --out "$scratch/results" >"$scratch/out" 2>"$scratch/err"
result $? "a recording agrees with the run that it is of"
# ks and largest_difference of stages with as many objects on both sides
awk -F, 'NR > 1 && ($17 != 0 || $19 != 0 || $3 != $4 || $20 == "DIFFERS") { bad = 1 } END { exit bad || NR < 8 }' "$scratch/results/replay-stages.csv"
result $? "... in each object" "$scratch/results/replay-stages.csv"
awk -F, 'NR > 1 && ($4 != $5 || $6 != $7) { bad = 1 } END { exit bad || NR < 8 }' "$scratch/results/replay-requests.csv"
result $? "... and in each request" "$scratch/results/replay-requests.csv"

record other "$burst" 77 && "$kvolsim" replay "$scratch/other" --out "$scratch/results" >"$scratch/out" 2>"$scratch/err"
result $? "a recording agrees with other seeds"
awk -F, 'NR > 1 && $18 < 0.01 { bad = 1 } END { exit bad || NR < 8 }' "$scratch/results/replay-stages.csv"
result $? "... in its distributions" "$scratch/results/replay-stages.csv"

for jobs in 1 3; do
    "$kvolsim" replay "$scratch/other" --jobs $jobs --replications 4 --format json >"$scratch/jobs-$jobs" 2>"$scratch/err"
done
cmp "$scratch/jobs-1" "$scratch/jobs-3" >"$scratch/out" 2>&1
result $? "the number of jobs changes nothing"

record late "$burst" 77 ready 40
"$kvolsim" replay "$scratch/late" --format json --out "$scratch/results" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 3 ] && awk -F, '$2 == "" && $20 == "DIFFERS" { differ = differ " " $1 } END { print differ }' "$scratch/results/replay-stages.csv" >"$scratch/differ" &&
    [ "$(cat "$scratch/differ")" = ' mount pod-start' ]
result $? "pods that are Ready 40 s late" "$scratch/results/replay-stages.csv" "$scratch/differ"
"$kvolsim" replay "$scratch/late" --tolerance 1000 >"$scratch/out" 2>"$scratch/err"
result $? "a large tolerance lets them pass"

# A Deployment's pods and the names of volumes and attachments are made up anew.
cat >"$scratch/deployment.yaml" <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: deployment}
spec:
  until: 5m
  nodes: [{name: "node-%d", count: 3, zones: [a]}]
  drivers: [{name: csi.example.com, profile: generic}]
  workload:
  - at: 1s
    create:
      manifest:
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: fast}
        provisioner: csi.example.com
        volumeBindingMode: WaitForFirstConsumer
  - at: 2s
    create:
      manifest:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web, namespace: default}
        spec:
          replicas: 6
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec:
              containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /data}]}]
              volumes:
              - name: data
                ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}
END
record deployment "$scratch/deployment.yaml" 5 && "$kvolsim" replay "$scratch/deployment" --out "$scratch/results" >"$scratch/out" 2>"$scratch/err"
[ $? -ne 2 ] && awk -F, 'NR > 1 && $3 == "default/Deployment/web" { n[$1]++ } END { exit n["pod-start"] != 6 || n["provision"] != 6 || n["attachment"] != 6 }' "$scratch/results/replay-objects.csv"
result $? "made-up names find their match" "$scratch/results/replay-objects.csv" "$scratch/out" "$scratch/err"
grep -q '^Only' "$scratch/out"
[ $? -eq 1 ]
result $? "... each of them"

# ---- The fit finds the latencies that made the recording ----
slow() # COMMAND…: with other latencies in the scenario
{
    "$kvolsim" replay "$@" --set 'spec.drivers[0].latency.ControllerPublishVolume=3s' --set 'spec.drivers[0].latency.NodeStageVolume=2s' \
        --set 'spec.drivers[0].latency.CreateVolume=200ms' --replications 4 >"$scratch/out" 2>"$scratch/err"
}
few=$scratch/few.yaml
sed 's/count: 100/count: 24/' "$burst" >"$few"
record few "$few" 5
slow "$scratch/few"
[ $? -eq 3 ]
result $? "other latencies are told"
slow "$scratch/few" --fit --fit-out fitted.yaml
result $? "... and fitted"
awk -v bad=0 '/^    [A-Z]/ && $2 ~ /^[0-9.]*ms$/ { v[$1] = $2 + 0 }
    END { exit v["CreateVolume:"] < 950 || v["CreateVolume:"] > 1050 || v["ControllerPublishVolume:"] < 680 || v["ControllerPublishVolume:"] > 920 }' "$scratch/out"
result $? "... to the true ones"
"$kvolsim" run "$scratch/few/fitted.yaml" >"$scratch/out" 2>"$scratch/err"
result $? "the fitted scenario runs"

# ---- What is wrong is told ----
refused 'fit-out: must be the name' replay "$scratch/same" --fit-out a/b
refused 'other/none: no such folder\|none/recorded.json: there is no such file' replay "$scratch/none"
mkdir "$scratch/half"
head -c 2000 "$scratch/same/recorded.json" >"$scratch/half/recorded.json"
cp "$burst" "$scratch/half/scenario.yaml"
refused 'half/recorded.json:[0-9]*:[0-9]*: ' replay "$scratch/half"
rm "$scratch/half/scenario.yaml"
cp "$scratch/same/recorded.json" "$scratch/half"
refused 'half/scenario.yaml' replay "$scratch/half"
refused 'tolerance: must be a ratio' replay "$scratch/same" --tolerance 0.5
refused 'plot: needs --out' replay "$scratch/same" --plot
refused 'neither a folder .* nor a journal' replay "$scratch/same/scenario.yaml"
refused 'replications' replay "$scratch/same" --replications 0

if command -v gnuplot >/dev/null 2>&1; then
    "$kvolsim" replay "$scratch/same" --replications 2 --out "$scratch/results" --plot >"$scratch/out" 2>"$scratch/err"
    [ -s "$scratch/results/replay-timeline.png" ] && [ -s "$scratch/results/replay-quantiles.png" ] && [ ! -s "$scratch/err" ]
    result $? "pictures are drawn"
else
    case_skip "pictures are drawn" "no gnuplot"
fi
cases_end
