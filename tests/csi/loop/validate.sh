#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim calibrate and validate on this machine's loop devices: a short calibration, a run against it, and its journal played back.
# After kill -9 at any instant `loop clean` removes everything that is left, and nothing of other programs is touched.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
kills=${KVOLSIM_LOOP_KILLS:-12} # of a run; 100 by `make soak-loop`

# Loop devices and mounts of the test's folder: what must be as before. Others on this machine may use theirs all the while.
picture()
{
    for file in /sys/block/loop*/loop/backing_file; do
        bound=$(cat "$file" 2>/dev/null) || continue
        case $bound in "$folder"/*) echo "$file $bound" ;; esac
    done
    cut -d ' ' -f 5 /proc/self/mountinfo | grep "^$folder/"
}

# Numbers of loop devices that the driver made, as its ledger has them; and whether one of them is still there, unused.
made_numbers()
{
    sed -n 's/^+ number //p' "$state/ledger" 2>/dev/null
}
numbers_left()
{
    for number in $*; do
        [ ! -e "/sys/block/loop$number" ] || [ -e "/sys/block/loop$number/loop/backing_file" ] || { echo "loop$number is left"; return 0; }
    done
    return 1
}

"$kvolsim" loop list --state-dir "$KVOLSIM_BUILDDIR/loop-none" >/dev/null
if [ "$(id -u)" -ne 0 ] || [ ! -w /dev/loop-control ]; then
    skip_all "needs root and /dev/loop-control"
fi
exec 9>"${TMPDIR:-/tmp}/kvolsim-loop-tests.lock"
flock 9

# Not in the scratch folder: that may be on a tmpfs, and a fault must not remove what is still mounted.
folder=$(mktemp -d "$KVOLSIM_BUILDDIR/loop-validate-XXXXXX") || exit 1
folder=$(cd "$folder" && pwd -P)
state=$folder/state
scenario=$folder/short.yaml
picture >"$folder/before"

# Others' things, beside ours and of like names: a bound device and a mount.
decoy=$folder/state-decoy
mkdir "$decoy"
truncate -s 8M "$folder/state.img"
/usr/sbin/mkfs.ext4 -q "$folder/state.img" && mount -o loop "$folder/state.img" "$decoy" && echo precious >"$decoy/precious"
picture >"$folder/with-decoys"

# All that happens in 85 s, in 9: kubelets that report twice a second, no limits of requests. Nothing is expected of it: how far it
# comes in 9 s is this machine's affair.
cat >"$scenario" <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: short}
spec:
  description: A few pods come and go in a hurry.
  until: 9s
  kubernetes: {unlimitedQPS: true}
  nodes:
  - {count: 2, name: "node-%d", kubelet: {nodeStatusUpdateFrequency: 500ms}}
  drivers:
  - {name: loop.kvolsim.io, profile: linux-loop-driver}
  workload:
  - at: 100ms
    create:
      manifest:
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: web}
        spec:
          replicas: 5
          podManagementPolicy: Parallel
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec:
              containers:
              - name: web
                image: lab.example/pause:1
                volumeMounts:
                - {name: data, mountPath: /data}
          volumeClaimTemplates:
          - metadata: {name: data}
            spec:
              accessModes: [ReadWriteOnce]
              storageClassName: loop
              resources: {requests: {storage: 16Mi}}
  - {at: 5s, delete: {kind: StatefulSet, name: web}}
  - {at: 5500ms, delete: {kind: PersistentVolumeClaim, name: "data-web-*"}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: loop}
provisioner: loop.kvolsim.io
volumeBindingMode: WaitForFirstConsumer
END

"$kvolsim" calibrate --state-dir "$state" --sizes 16Mi --workers 1,2 --cycles 4 --pause 1 --hold 0.2 --out "$folder/cal" >"$scratch/out" 2>&1
result $? "a calibration writes samples and profiles"
"$kvolsim" calibrate --from "$folder/cal.csv" --against "$folder/cal.csv" --out "$folder/again" >"$scratch/out" 2>&1 &&
    grep -q 'differ by more than .* in 0 of' "$scratch/out" && sed 1d "$folder/cal.yaml" >"$folder/cal.body" &&
    sed 1d "$folder/again.yaml" | cmp - "$folder/cal.body" >>"$scratch/out" 2>&1
result $? "its samples give the same profile again, and are alike to themselves"
grep -q '^CreateVolume,16777216,2,' "$folder/cal.csv" && grep -q '  NodeStageVolume: {' "$folder/cal-1.yaml" &&
    "$kvolsim" check --set "spec.drivers[0].profile=$folder/cal-2.yaml" "$scenario" >"$scratch/out" 2>&1 &&
    "$kvolsim" check --set "spec.drivers[0].profile=$folder/cal.yaml" "$scenario" >>"$scratch/out" 2>&1
result $? "a scenario takes its profile"

# Tolerances are wide: what is tested is the machinery, not how busy this machine is.
"$kvolsim" validate --state-dir "$state" --profile "$folder/cal.yaml" --replications 5 --median 1000 --ks 1 --samples 1 --lag 600000 \
    --noise "$folder/cal.csv,$folder/cal.csv" --out "$folder/real" "$scenario" >"$scratch/out" 2>&1
result $? "a real run"
grep -q 'no difference' "$scratch/out" && grep -q 'as it was written' "$scratch/out" && [ -s "$folder/real/qq.png" ]
result $? "mounts, devices and data are as believed; a picture is drawn"

[ -s "$folder/real/summary.json" ] && [ -s "$folder/real/metrics.prom" ] && "$kvolsim" report "$folder/real" >"$scratch/out" 2>&1 &&
    "$kvolsim" compare "$folder/real" "$folder/real" >>"$scratch/out" 2>&1 && ! ls -d "$folder"/real.partial* >>"$scratch/out" 2>&1
result $? "its folder is that of any run: report and compare read it"
cut -d , -f 1,7,8 "$folder/real/attribution.csv" | sort -u >"$scratch/out"
grep -qx 'provision,driver latency,CreateVolume' "$scratch/out" && ! grep -q '^provision,driver latency,[^C]' "$scratch/out" &&
    grep -qx 'publish,driver latency,NodePublishVolume' "$scratch/out" && ! grep -q 'driver latency,ControllerModifyVolume' "$scratch/out"
result $? "waits for the driver name its methods"

# Where every CreateVolume fails nothing is measured of the others, and so nothing agrees.
"$kvolsim" validate --state-dir "$state" --profile "$folder/cal.yaml" --replications 1 --median 1000 --ks 1 --lag 600000 \
    --set 'spec.drivers[0].errors=[{method: CreateVolume, code: INTERNAL, message: broken}]' "$scenario" >"$scratch/out" 2>&1
[ $? -eq 3 ] && grep -q '^Verdict: none: no operation was measured 20 times' "$scratch/out"
result $? "where every CreateVolume fails there is no verdict, and exit 3"

# The profile's path starts where the user stands, not at the scenario.
mkdir "$folder/elsewhere"
(cd "$folder/elsewhere" &&
    "$kvolsim" validate --profile ../cal.yaml --replay "$folder/real/journal.jsonl" --out "$folder/again" "$scenario") >"$scratch/out" 2>&1 &&
    cmp "$folder/real/objects.csv" "$folder/again/objects.csv" >>"$scratch/out" 2>&1 &&
    cmp "$folder/real/milestones.jsonl" "$folder/again/milestones.jsonl" >>"$scratch/out" 2>&1 &&
    cmp "$folder/real/events.jsonl" "$folder/again/events.jsonl" >>"$scratch/out" 2>&1
result $? "the journal played back gives the very files of the real run"

picture | cmp - "$folder/with-decoys" >"$scratch/out" 2>&1 && [ ! -e "$state" ]
result $? "nothing is left of all that"

# Two at once: each in its own folder both work; of one folder the second is refused.
"$kvolsim" calibrate --state-dir "$state" --sizes 16Mi --workers 4 --cycles 8 --pause 1 --hold 0 --out "$folder/one" >"$scratch/out" 2>&1 9>&- &
first=$!
"$kvolsim" calibrate --state-dir "$state-2" --sizes 16Mi --workers 4 --cycles 8 --pause 1 --hold 0 --out "$folder/two" >"$scratch/err" 2>&1
second=$?
wait $first && [ $second -eq 0 ]
result $? "two processes at once"

killed=0
failures=0
i=0
: >"$scratch/out"
while [ $i -lt "$kills" ]; do
    i=$((i + 1))
    "$kvolsim" validate --state-dir "$state" --profile "$folder/cal-1.yaml" --replications 1 "$scenario" >"$folder/run.log" 2>&1 9>&- &
    pid=$!
    # Spread over the first four seconds of the run, evenly and then by chance.
    sleep "$(awk -v i="$i" -v n="$kills" -v pid="$pid" 'BEGIN { srand(pid); printf "%.3f", 0.15 + 4 * (i - 1 + rand()) / n }')"
    kill -9 $pid && killed=$((killed + 1))
    wait $pid 2>/dev/null
    numbers=$(made_numbers)
    "$kvolsim" loop clean --state-dir "$state" >>"$scratch/out" 2>&1 || failures=$((failures + 1))
    numbers_left $numbers >>"$scratch/out" && failures=$((failures + 1))
    [ ! -e "$state" ] || { echo "left: $(find "$state" | head -n 5)" >>"$scratch/out"; failures=$((failures + 1)); }
    picture | diff - "$folder/with-decoys" >>"$scratch/out" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ] && [ "$killed" -eq "$kills" ]
result $? "kill -9 at $kills instants, then loop clean: as before ($failures failures, $killed killed)"

"$kvolsim" validate --state-dir "$state" --profile "$folder/cal-1.yaml" --replications 1 "$scenario" >"$scratch/out" 2>&1 9>&- &
pid=$!
while kill -0 $pid && [ ! -d "$state/nodes" ]; do # until the first volume is on its way
    sleep 0.1
done
kill -INT $pid
wait $pid
[ $? -eq 130 ] && [ ! -e "$state" ] && picture | diff - "$folder/with-decoys" >>"$scratch/out"
result $? "Ctrl-C cleans up"

[ "$(cat "$decoy/precious")" = precious ]
result $? "what others have is as they left it"
umount "$decoy"
# The kernel frees the mount's own device once nobody looks at it any more.
for _ in $(seq 50); do
    picture | diff - "$folder/before" >"$scratch/out" && break
    sleep 0.1
done
picture | diff - "$folder/before" >"$scratch/out"
result $? "the machine is as it was"
rm -rf "$folder"
cases_end
