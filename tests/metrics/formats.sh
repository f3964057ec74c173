#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The formats that other programs read: metrics as Prometheus has them and as the real components print them, traces as
# Chrome's viewer wants them, Events as kubectl prints them; and that two runs are compared.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kvolsim=$KVOLSIM_BUILDDIR/kvolsim
scenarios=$KVOLSIM_SRCDIR/scenarios
n=0

report() { # STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        sed 's/^/# /' "$folder/said" | head -20
        echo "not ok $n - $2"
    fi
}

tar -xJf "$KVOLSIM_SRCDIR/tests/metrics/scraped.tar.xz" -C "$folder"
for name in burst-100 quickstart attach-limit provision-retry expand-online read-write-once-pod storage-capacity six-minute-detach zone-mismatch; do
    run=$folder/$name
    "$kvolsim" run "$scenarios/$name.yaml" --out "$run" >"$folder/said" 2>&1
    report $? "$name runs"
    "$KVOLSIM_BUILDDIR/tests/metrics/metrics" "$run" "$folder"/*.prom >"$folder/said"
    report $? "$name: metrics are called, labelled and split as the real ones"
    case $name in provision-retry) arrows= ;; *) arrows=arrows ;; esac # there no pod starts
    # shellcheck disable=SC2086
    "$KVOLSIM_BUILDDIR/tests/metrics/trace-rules" "$run/trace.json" $arrows >"$folder/said"
    report $? "$name: the trace keeps the format's rules"
    if command -v promtool >/dev/null; then
        # It also has opinions on names; those are Kubernetes' own.
        promtool check metrics <"$run/metrics.prom" >"$folder/opinions" 2>&1
        grep -v 'non-histogram and non-summary metrics should not have "_count" suffix\|counter metrics should have "_total" suffix' \
            "$folder/opinions" >"$folder/said"
        test ! -s "$folder/said"
        report $? "$name: promtool reads the metrics"
        promtool tsdb create-blocks-from openmetrics "$run/metrics.openmetrics.txt" "$folder/tsdb-$name" >"$folder/said" 2>&1
        report $? "$name: Prometheus takes the history in"
    else
        n=$((n + 1))
        echo "ok $n - $name: promtool reads the metrics # SKIP no promtool (apt-get install prometheus)"
    fi
done

# Values that other results of the same run tell, or that its story does.
value() { # RUN FAMILY [LABEL=VALUE...]: the sum of its series with these labels; nothing if there is none
    awk -v family="$2" -v one="${3:-}" -v two="${4:-}" '
        index($1, family "{") == 1 && (one == "" || index($1, one)) && (two == "" || index($1, two)) { sum += $NF; n++ } END { if (n) print sum }' \
        "$folder/$1/metrics.prom"
}
same() { # WHAT IS SHOULD
    test "$2" = "$3" || echo "$1: \"$2\", not \"$3\"" >>"$folder/said"
}
: >"$folder/said"
for name in burst-100 attach-limit zone-mismatch storage-capacity; do
    incoming=scheduler_queue_incoming_pods_total attempts=scheduler_schedule_attempts_total
    same "$name: pods that came" "$(value $name $incoming event=\"UnschedulablePodAdd\")" "$(grep -c '^pod,' "$folder/$name/objects.csv")"
    failures=$(($(value $name $attempts) - $(value $name $attempts result=\"scheduled\" || echo 0)))
    came_back=$(value $name $incoming event=\"ScheduleAttemptFailure\")
    same "$name: pods that came back" "${came_back:-0}" "$failures"
    unschedulable=$(value $name $attempts result=\"unschedulable\")
    same "$name: preemption tried" "$(value $name scheduler_preemption_attempts_total)" "${unschedulable:-0}"
    same "$name: mounts" "$(value $name volume_operation_total_seconds_count operation_name=\"overall_volume_mount\")" \
        "$(grep -c '"milestone":"published"' "$folder/$name/milestones.jsonl")"
    same "$name: mounted" "$(value $name volume_manager_total_volumes state=\"actual_state_of_world\")" \
        "$(value $name volume_manager_total_volumes state=\"desired_state_of_world\")"
done
same "plugins" "$(value burst-100 plugin_manager_total_plugins state=\"actual_state_of_world\")" 3
same "places told of" "$(value storage-capacity csistoragecapacities_desired_current)" "$(value storage-capacity csistoragecapacities_desired_goal)"
same "pods that no node fits" "$(value attach-limit scheduler_unschedulable_pods plugin=\"NodeVolumeLimits\")" \
    "$(value attach-limit scheduler_pending_pods queue=\"unschedulable\")"
for name in leader-election default-class-retroactive node-power-off-out-of-service rolling-reboot; do
    "$kvolsim" run "$scenarios/$name.yaml" --out "$folder/$name" >"$folder/printed" 2>&1 || cat "$folder/printed" >>"$folder/said"
    "$KVOLSIM_BUILDDIR/tests/metrics/metrics" "$folder/$name" "$folder"/*.prom >"$folder/printed" || cat "$folder/printed" >>"$folder/said"
done
# MET-126: each program's requests are its own; sidecars have no metrics of theirs (MET-81).
requests() { # RUN CLIENT...: how many that answer to one of the names
    run=$1
    shift
    awk -F, -v clients=" $* " 'index(clients, " " $2 " ") { sum += $5 } END { print sum + 0 }' "$folder/$run/requests.csv"
}
for name in burst-100 quickstart; do
    same "$name: requests of the scheduler" "$(value $name rest_client_requests_total job=\"kube-scheduler\")" \
        "$(requests $name kube-scheduler default-scheduler)"
    same "$name: requests of kubelets" "$(value $name rest_client_requests_total job=\"kubelet\")" "$(requests $name kubelet kubelet-heartbeat)"
    same "$name: requests of controllers" "$(value $name rest_client_requests_total job=\"kube-controller-manager\")" \
        "$(requests $name persistent-volume-binder attachdetach-controller statefulset-controller generic-garbage-collector \
            pvc-protection-controller pv-protection-controller)"
    same "$name: other requests" "$(value $name rest_client_requests_total job=\"external)" ""
done
test "$(value leader-election rest_client_requests_total job=\"kube-scheduler\" method=\"PUT\")" -gt 100 ||
    echo "the scheduler's candidates do not renew their lease" >>"$folder/said"
same "leaders: of two processes and three sidecars" "$(value leader-election leader_election_master_status)" 5
same "claims that got the default class late" "$(value default-class-retroactive retroactive_storageclass_total)" 1
same "pods deleted by force" "$(value node-power-off-out-of-service pod_gc_collector_force_delete_pods_total reason=\"out-of-service\")" 1
# Once: the administrator's taint leaves those that the node had where they are.
same "nodes whose pods were evicted" "$(value node-power-off-out-of-service node_collector_evictions_total)" 1
same "volumes found on disks" "$(value rolling-reboot reconstruct_volume_operations_total)" 6
test ! -s "$folder/said"
report $? "values are those that the run has"

# What is worked out at each scrape is there as long as what it tells of (MET-58, MET-90, MET-W12): a claim's capacity as long as a pod
# with it runs, at each scrape and at no other; and nothing of volumes that are gone in the end. What is only set stays.
"$kvolsim" run "$KVOLSIM_SRCDIR/tests/bench/pods.yaml" --out "$folder/gone" --set spec.workload[0].create.count=3 \
    --set 'spec.nodes[0]={count: 3, name: "n-%d", zones: [a]}' >"$folder/said" 2>&1 || cat "$folder/said"
cat >"$folder/vanish.awk" <<'END'
BEGIN { FS = "," }
FILENAME ~ /objects/ { if ($1 == "pod") { n_pods++; ready[n_pods] = $11; deleted[n_pods] = $15; gone[n_pods] = $16 } next }
/^process_start_time_seconds\{job="kube-apiserver"\}/ { split($0, word, " "); at[++n] = word[3] - 1767225600 }
/^kubelet_volume_stats_capacity_bytes/ { m = split($0, word, " "); t = word[m] - 1767225600; found[t]++; samples++
    if (word[m - 1] != "1.073741824e+09") { print "told as " word[m - 1] " at " t; bad = 1 } }
END {
    for (i = 1; i <= n; i++) {
        least = most = 0
        for (k = 1; k <= n_pods; k++) { least += ready[k] < at[i] && at[i] < deleted[k]; most += ready[k] <= at[i] && at[i] <= gone[k] }
        if (found[at[i]] + 0 < least || found[at[i]] + 0 > most) { print "at " at[i] ": " found[at[i]] + 0 ", not " least " to " most; bad = 1 }
        running += least > 0; without += most == 0
    }
    exit bad || n_pods != 3 || n < 30 || running < 20 || without < 2
}
END
awk -f "$folder/vanish.awk" "$folder/gone/objects.csv" "$folder/gone/metrics.openmetrics.txt" >"$folder/said"
report $? "the capacity of a claim is told while a pod with it runs"
grep -E '(kubelet_volume_stats|storage_count_attachable|attachdetach_controller_total|pv_collector|volume_manager_total)_' \
    "$folder/gone/metrics.prom" >"$folder/said"
for family in pv_collector_bound_pv_count pv_collector_bound_pvc_count storage_count_attachable_volumes_in_use volume_manager_total_volumes \
    attachdetach_controller_total_volumes; do
    grep -q "^$family{" "$folder/gone/metrics.openmetrics.txt" || echo "no $family was ever told" >>"$folder/said"
    grep "^$family{.*} 0 " "$folder/gone/metrics.openmetrics.txt" >>"$folder/said"
done
for family in kubelet_running_pods apiserver_storage_objects workqueue_depth; do
    grep -q "^$family{.*} 0$" "$folder/gone/metrics.prom" || echo "no $family that is 0" >>"$folder/said"
done
grep -q '^plugin_manager_total_plugins{.*} 3$' "$folder/gone/metrics.prom" || echo "plugins are still there" >>"$folder/said"
test ! -s "$folder/said"
report $? "of volumes that are gone nothing is told"

# An arrow for each volume of each pod: from its creation through the claim, CreateVolume, ControllerPublishVolume, and on its node
# NodeStageVolume and NodePublishVolume, to Ready. Here three volumes each for two pods; of burst-100 one each.
cat >"$folder/three.yaml" <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: three}
spec:
  until: 2m
  nodes: [{name: node-a, zones: [a]}]
  drivers:
  - name: csi.lab.example
    latency: {CreateVolume: 1s, ControllerPublishVolume: 800ms, NodeStageVolume: 300ms, NodePublishVolume: 50ms}
  workload:
  - at: 1s
    create:
      manifest:
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: db}
        spec:
          replicas: 2
          serviceName: db
          selector: {matchLabels: {app: db}}
          template:
            metadata: {labels: {app: db}}
            spec:
              containers:
              - name: db
                image: lab.example/db:1
                volumeMounts: [{name: data, mountPath: /data}, {name: log, mountPath: /log}, {name: index, mountPath: /index}]
          volumeClaimTemplates:
          - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}
          - {metadata: {name: log}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}
          - {metadata: {name: index}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: csi.lab.example
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: csi.lab.example}
spec: {attachRequired: true}
END
"$kvolsim" run "$folder/three.yaml" --out "$folder/three" >"$folder/said" 2>&1 &&
    "$KVOLSIM_BUILDDIR/tests/metrics/trace-rules" "$folder/three/trace.json" arrows 6 5 >"$folder/said" &&
    "$KVOLSIM_BUILDDIR/tests/metrics/trace-rules" "$folder/burst-100/trace.json" arrows 100 5 >"$folder/said"
report $? "an arrow for each volume of each pod"
# A group of tracks for the components' workers, the nodes, and each kind of object; a named track for each of them.
for track in 'external-provisioner: claims' node-a default/db-0 default/data-db-0 default/index-db-1; do
    grep -q "\"thread_name\".*\"name\":\"$track\"" "$folder/three/trace.json" || echo "no track $track"
done >"$folder/said"
test ! -s "$folder/said"
report $? "tracks for workers, nodes and objects"

# A run against itself: every object has its pair, and nothing changed.
"$kvolsim" compare "$folder/burst-100" "$folder/burst-100" --format json >"$folder/same.json" &&
    grep -q '"pairs": 100' "$folder/same.json" && ! grep -q '"change": -\{0,1\}[1-9]' "$folder/same.json"
report $? "a run is like itself"
"$kvolsim" run "$scenarios/burst-100.yaml" --out "$folder/faster" --set spec.drivers[0].sidecars.external-attacher.kube-api-qps=100 \
    --set spec.drivers[0].sidecars.external-attacher.kube-api-burst=200 >"$folder/said" 2>&1
"$kvolsim" compare "$folder/burst-100" "$folder/faster" >"$folder/said" && grep -q '^client throttling: external-attacher' "$folder/said"
report $? "a comparison tells what changed"

# Every picture of every run can be drawn, also of one without pods.
if command -v gnuplot >/dev/null; then
    for name in burst-100 attach-limit provision-retry; do
        "$kvolsim" plot "$folder/$name" >"$folder/said" 2>&1 && test "$(wc -l <"$folder/said")" -eq 8 &&
            "$kvolsim" plot "$folder/$name" --format svg >>"$folder/said" 2>&1 &&
            "$kvolsim" plot "$folder/$name" --format dumb >/dev/null 2>>"$folder/said"
        report $? "$name: all pictures"
    done
    # What never happened is not in the key either: burst-100 has no Immediate claims, and nobody was unschedulable in it.
    test -s "$folder/burst-100/modes.svg" && ! grep -q 'Immediate:' "$folder/burst-100/modes.svg" &&
        ! grep -q '>unschedulable<' "$folder/burst-100/waits.svg" && grep -q 'WaitForFirstConsumer:' "$folder/burst-100/modes.svg"
    report $? "keys name what there is only"
    ! grep -q '> 12<' "$folder/burst-100/pending.svg" &&
        "$kvolsim" plot "$folder/burst-100" pending --from 10s --to 20s --format svg >"$folder/said" 2>&1 &&
        grep -q '> 12<' "$folder/burst-100/pending.svg" &&
        ! "$kvolsim" plot "$folder/burst-100" pending --from 20s --to 10s >/dev/null 2>&1
    report $? "a part of the time"
fi

# What the pictures over time are drawn from is what the objects' times say: how many pods were in which stage, at many times.
cat >"$folder/pending.awk" <<'END'
function is_by(time, t) { return time != "" && time + 0 <= t }
FILENAME ~ /objects/ { if ($1 == "pod") { for (k = 6; k <= 15; k++) p[n + 0, k] = $k; n++ } next }
/^#|^seconds/ { next }
{ rows++; at[rows] = $1; for (k = 2; k <= 5; k++) level[rows, k] = $k }
END {
    for (t = 1.51; t < 175; t += 0.77) {
        split("", want)
        for (i = 0; i < n; i++) {
            if (!is_by(p[i, 6], t) || is_by(p[i, 11], t) || is_by(p[i, 15], t)) continue
            want[!is_by(p[i, 7], t) ? 2 : !is_by(p[i, 8], t) ? 3 : !is_by(p[i, 9], t) ? 4 : 5]++
        }
        while (r < rows && at[r + 1] <= t) r++
        for (k = 2; k <= 5; k++)
            if (want[k] + 0 != level[r, k]) { print "at " t ": column " k ": " level[r, k] ", not " want[k] + 0; bad = 1 }
        seen++
    }
    exit bad || seen < 200 || n != 100
}
END
awk -F, -f "$folder/pending.awk" "$folder/burst-100/objects.csv" "$folder/burst-100/over-time.csv" >"$folder/said"
report $? "pods over time are the objects'"

# A large run's tables stay small: of so many pods, nodes and seconds each row stands for some.
"$kvolsim" run "$scenarios/burst-100.yaml" --out "$folder/large" --set spec.workload[0].create.count=1000 --set spec.until=10m \
    --set 'spec.nodes[0]={count: 450, name: "n-%d", zones: [zone-a]}' --set spec.kubernetes.unlimitedQPS=true --set spec.expect=[] \
    >"$folder/said" 2>&1 &&
    awk -F, 'NF == 6 && !/^seconds/ { rows += $1 == 0; each = $6 } END { exit !(rows > 200 && rows <= 400 && each == 2) }' "$folder/large/node-volumes.csv" &&
    awk -F, 'NF == 10 && !/^seconds/ { rows++; if ($10 + 0 < $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 - 1) bad = 1 }
        END { exit bad || rows < 100 || rows > 1000 }' "$folder/large/client-rates.csv" &&
    awk -F, 'NF == 7 && !/^seconds/ { rows++; all = $2 + $3 + $4 + $5; if (all > 1000) bad = 1; most = all > most ? all : most }
        END { exit bad || rows > 1300 || most < 900 }' "$folder/large/over-time.csv"
report $? "tables of a large run"

# The sum of all requests is what the summary says.
total=$(sed -n 's/.*"total": \([0-9]*\).*/\1/p' "$folder/burst-100/summary.json" | head -1)
test "$(grep -v '^#\|^second' "$folder/burst-100/requests.csv" | awk -F, '{ sum += $5 } END { print sum }')" = "$total"
report $? "no request is lost"
echo "1..$n"
