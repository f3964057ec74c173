#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# why names the true cause of each prepared stuck cluster, tests/cli/stuck/*.yaml. Its first line has the object, the time, the cause, and
# perhaps a part of the line "cause:": the object at fault. What was planted is marked at the ends of lines; `# fixed: ` hides the lines
# that belong there. Without it, and nothing else changed, nothing is wrong (or the last word of the first line is the cause).
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import teach

cp -R "$KVOLSIM_SRCDIR/tests/cli/stuck" "$scratch/stuck" && chmod -R u+w "$scratch/stuck" || exit 1
sed -i "s,\.\./\.\./\.\./scenarios,$KVOLSIM_SRCDIR/scenarios," "$scratch"/stuck/*.yaml
n_clusters=0
n_deep=0
n_since=0
for file in "$scratch"/stuck/*.yaml; do
    read -r _ object at cause fault fixed <"$file"
    $kvolsim why "$file" "$object" --at "$at" >"$scratch/out" 2>&1
    kind=${object%/*}
    case $kind in pvc) kind=persistentvolumeclaim ;; pv) kind=persistentvolume ;; esac
    grep -q "^cause: $cause: .*$fault" "$scratch/out" && head -n 1 "$scratch/out" | grep -q "^$kind/${object#*/} " &&
        grep -q '^unblock: .' "$scratch/out" && { [ "$cause" = claim-missing ] || grep -q '^next: ' "$scratch/out"; }
    result $? "${file##*/}: $cause${fault:+ of $fault}"
    grep -q '^command: ' "$scratch/out" || grep -q '^unblock: \(Nothing is wrong yet\|Another replica\|The .* is being\)' "$scratch/out" || result 1 "... with a command"
    grep -q '^since: .* ago)$' "$scratch/out" && n_since=$((n_since + 1))
    n_clusters=$((n_clusters + 1))
    [ "$(grep -c '^ *<- ' "$scratch/out")" -ge 2 ] && n_deep=$((n_deep + 1))
    grep -q '# planted$' "$file" && sed -i -e '/# planted$/d' -e 's/# fixed: //' "$file"
    $kvolsim why "$file" "$object" --at "$at" >"$scratch/out" 2>&1
    grep -qE "^cause: (none|${fixed:-none})|there is no \"$object\"" "$scratch/out"
    result $? "... and none without it"
done
echo "# $n_clusters clusters, $n_deep of them two or more causes deep"
[ "$n_clusters" -ge 200 ] && [ "$n_deep" -ge 60 ]
result $? "there are 200 of them, sixty of them deep"
# A claim does not tell since when it has wanted to grow
[ "$n_since" -ge $((n_clusters - 1)) ]
result $? "since when is told of all but one ($n_since)"

# Objects of other kinds, for which others wait: file, object, time, cause, an object that waits
while read -r file object at cause waiting; do
    $kvolsim why "$KVOLSIM_SRCDIR/tests/cli/stuck/$file.yaml" "$object" --at "$at" >"$scratch/out" 2>&1
    grep -q "^cause: $cause: " "$scratch/out" && grep -q "^waiting: .*$waiting" "$scratch/out"
    result $? "$object: $cause, and $waiting waits"
done <<END
04-no-provisioner storageclass/fast 30s no-provisioner pod/app
04-no-provisioner driver/csi.lab.example 30s no-provisioner pod/app
11-driver-full csidriver/csi.lab.example 60s driver-full pod/app
16-attach-limit csinode/node-a1 60s attach-limit pod/app-2
26-quota resourcequota/claims 90s quota statefulset/web
43-no-snapshotter volumesnapshotclass/cuts 40s no-snapshotter volumesnapshot/cut
77-class-topology storageclass/fast 60s class-topology pod/app
n5-budget-dead-node pdb/web 3m node-not-ready statefulset/web
n5-budget-dead-node lease/node-1 3m node-not-ready pod/web-1
82-leadership lease/kube-scheduler 30s no-leader pod/app
96-controller-manager process/kube-controller-manager 60s process-down pod/app
b4-limit-range limitrange/small 60s limit-range statefulset/web
END

# Slow is told with its share of the wait, and what ends by itself with the time
$kvolsim why "$KVOLSIM_SRCDIR/tests/cli/stuck/g7-attach-queue.yaml" pod/app-9 --at 50s --format json >"$scratch/out"
python3 -c 'import json, sys
why = json.load(sys.stdin)
assert set(why) == {"chain", "cause", "sinceNs", "fault", "mood", "share", "endsNs", "waiting", "unblock", "command"}
assert why["mood"] == "slow" and 0.9 < why["share"] < 1 and len(why["waiting"]) > 10 and why["chain"][-1]["object"] == why["fault"]' <"$scratch/out"
result $? "what is slow has its share of the wait"
$kvolsim why "$KVOLSIM_SRCDIR/tests/cli/stuck/95-six-minutes.yaml" pod/late --at 4m | grep -qx 'ends: by itself in 4m0[.0-9]*s'
result $? "the six minutes end six minutes after the pod"

group=$KVOLSIM_SRCDIR/scenarios/group-snapshot.yaml
member=$($kvolsim get volumesnapshot "$group" --at 100s -o name | head -n 1)
$kvolsim why "$group" "volumesnapshot/${member##*/}" --at 100s | grep -q '^cause: in-group: '
result $? "a member of a group cannot be deleted alone"
content=$($kvolsim get volumegroupsnapshotcontent "$group" --at 100s -o name)
$kvolsim why "$group" "vgsc/${content##*/}" --at 100s | grep -qx "volumegroupsnapshotcontent/${content##*/} is ready"
result $? "a group's content is found by its own name"

$kvolsim why "$KVOLSIM_SRCDIR/tests/cli/stuck/33-detach-error.yaml" pod/second --at 3m >"$scratch/out" 2>&1
grep -q '^  <- volumeattachment/.* is not detached from node-0' "$scratch/out" &&
    grep -q '^    <- driver/csi.lab.example answers ControllerUnpublishVolume with INTERNAL: no way' "$scratch/out"
result $? "a chain ends at the node that does not let go, not at the driver that says so"

cat >"$scratch/told" <<END
abnormal-volumes pod/web-0 6m volume-abnormal
abnormal-volumes pod/web-1 6m none
abnormal-volumes pvc/data-0 6m volume-abnormal
change-of-class pvc/data 30500ms modifying
change-of-class pvc/data 50s attributes-class-infeasible
change-of-class pvc/plain 100s attributes-class-missing
change-too-often pvc/data 3h changed-too-often
claim-lost pvc/data 30s claim-lost
class-and-back pvc/data 50s attributes-class-infeasible
class-quota pod/db-2 1m quota
expand-failed-recovery pvc/data 100s expansion-infeasible
image-pulls pod/report 12s image-pull
inline-volumes pod/refused 40s inline-refused
job-with-volumes job/report 1005ms backing-off
priority-classes pod/cache-0 1010ms scheduling
quickstart pod/postgres-2 5s starting
secrets pod/late 35s secret-missing
secrets-everywhere pvc/other 90s secret-missing
secrets-everywhere volumesnapshot/blind 100s snapshot-secret-missing
secrets-store pod/refused 100s inline-refused
selinux-relabel pod/relabelled 2m relabelling
statefulset-rollout statefulset/web 4m starting-workload
volumes-that-fill pod/writer-1 12m volume-full
volumes-that-fill pod/writer-1 8m none
volumes-that-fill pvc/data-1 12m volume-full
END
# Scenarios with their own cause: file, object, time, cause
while read -r name object at cause; do
    $kvolsim why "$KVOLSIM_SRCDIR/scenarios/$name.yaml" "$object" --at "$at" >"$scratch/out" 2>&1
    grep -q "^cause: $cause\(: \|$\)" "$scratch/out" && { [ "$cause" = none ] || grep -q '^unblock: .' "$scratch/out"; }
    result $? "$name: $object at $at: $cause"
done <"$scratch/told"

# Every cause that there is has been told: by a stuck cluster, or by a scenario above
sed -n 's/^    {"\([a-z-]*\)",$/\1/p' "$KVOLSIM_SRCDIR/run/why/causes.c" | sort >"$scratch/causes"
{ head -qn 1 "$KVOLSIM_SRCDIR"/tests/cli/stuck/*.yaml | sed 's/^# //'; sed 's/^[^ ]* //' "$scratch/told"; echo "- - in-group"; } |
    awk '{ print $3 }' | sort -u | comm -23 "$scratch/causes" - >"$scratch/out"
[ "$(wc -l <"$scratch/causes")" -gt 80 ] && [ ! -s "$scratch/out" ]
result $? "no cause lacks a stuck cluster"

# A run ends with what is stuck: file, number of objects, the last line's start
while read -r file n words; do
    $kvolsim run "$KVOLSIM_SRCDIR/tests/cli/stuck/$file.yaml" --out "$scratch/stuck" >"$scratch/out" 2>&1
    grep -q "^stuck: $words" "$scratch/out" && grep -q "\"objects\": $n," "$scratch/stuck/summary.json" &&
        $kvolsim report "$scratch/stuck" >/dev/null && grep -q "^<li>stuck: $words" "$scratch/stuck/report.html" &&
        $kvolsim plot "$scratch/stuck" pending 2>&1 | grep -q "^stuck: $words"
    result $? "$file: its run, report and plot end with: stuck: $words"
done <<END
11-driver-full 2 pod/app and 1 more: driver-full: driver/csi.lab.example answers CreateVolume with RESOURCE_EXHAUSTED: no room
16-attach-limit 1 pod/app-2: attach-limit: node/node-a1 has no place left for a volume of csi.lab.example: its limit is 2
26-quota 1 statefulset/web: quota: resourcequota/claims allows 2 of persistentvolumeclaims, and 2 are used
END
$kvolsim run "$KVOLSIM_SRCDIR/scenarios/attach-limit.yaml" >"$scratch/out" 2>&1 && ! grep -q '^stuck' "$scratch/out"
result $? 'nothing is told of a run that ends well'

# ... and with the drains that are not over, and the budget that forbids it
cat >"$scratch/drain.yaml" <<END
kind: Scenario
apiVersion: kvolsim.io/v1
metadata: {name: drain}
spec:
  until: 5m
  nodes: [{count: 2, name: "node-%d"}]
  manifests: [budget.yaml]
  workload: [{at: 1m, drain: {nodeOfPod: db-0}}]
END
cat >"$scratch/budget.yaml" <<END
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: strict}
spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}
END
$kvolsim run "$scratch/drain.yaml" >"$scratch/out" 2>&1
grep -q '^failed: .* drain of node node-.: not over, 1 pod is left: default/db-0: .*budget strict needs 1' "$scratch/out"
result $? 'a drain that a budget forbids is told'

# ... and with actions that found nothing to act upon, and with the limit that pods waited for
cat >"$scratch/nothing.yaml" <<END
kind: Scenario
apiVersion: kvolsim.io/v1
metadata: {name: nothing}
spec:
  until: 2m
  nodes: [{count: 2, name: "node-%d"}]
  drivers: [{name: csi.lab.example}]
  manifests: [app.yaml]
  workload:
  - {at: 10s, delete: {kind: Pod, name: app}}
  - {at: 50s, delete: {kind: Pod, name: app}}
  - {at: 51s, drain: {nodeOfPod: app}}
  - {at: 52s, taint: {nodeOfPod: app, taints: ["a=b:NoSchedule"]}}
  faults:
  - {at: 60s, nodeOfPod: app, do: power-off}
  - {at: 61s, driver: csi.lab.example, do: lose-volumes, claim: "data-*"}
END
printf '%s\n' 'apiVersion: v1' 'kind: Pod' 'metadata: {name: app}' 'spec: {containers: [{name: c, image: i}]}' >"$scratch/app.yaml"
$kvolsim run "$scratch/nothing.yaml" --format json >"$scratch/out" 2>&1 && python3 -c 'import json, sys
refused = [line.split(": ", 2)[2] for line in json.load(sys.stdin)["refused"]]
missing = "there is no pod like app on a node"
assert refused == ["there is no Pod like app", missing, missing, missing, "there is no volume of a claim like data-*"], refused' <"$scratch/out"
result $? 'an action that finds nothing is told'
$kvolsim run "$KVOLSIM_SRCDIR/scenarios/burst-100.yaml" | grep -q '^limit: [0-9]* % of pod-start: client throttling: external-attacher .*--kube-api-qps'
result $? 'the limit that pods waited for is told'

scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml
$kvolsim why "$scenario" pod/app --at 25s >"$scratch/out" 2>&1
grep -qx 'cause: none' "$scratch/out" && ! grep -q 'unblock' "$scratch/out"
result $? "a pod that runs is well"
$kvolsim why "$scenario" pod/app --at 5s >"$scratch/out" 2>&1
[ $? -eq 2 ]
result $? "a pod that does not exist yet is an error"
$kvolsim why "$scenario" app >"$scratch/out" 2>&1
[ $? -eq 2 ]
result $? "so is a name without a kind"
cases_end
