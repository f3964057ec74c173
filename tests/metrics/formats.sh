#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Formats for other programs: metrics as Prometheus reads them and as the real components print them, traces for Chrome's viewer, and
# Events as kubectl prints them; and the comparison of two runs.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
scenarios=$KVOLSIM_SRCDIR/scenarios

tar -xJf "$KVOLSIM_SRCDIR/tests/metrics/scraped.tar.xz" -C "$scratch"
for name in burst-100 quickstart attach-limit provision-retry expand-online read-write-once-pod storage-capacity six-minute-detach zone-mismatch; do
    run=$scratch/$name
    "$kvolsim" run "$scenarios/$name.yaml" --out "$run" >"$scratch/out" 2>&1
    result $? "$name runs"
    "$KVOLSIM_BUILDDIR/tests/metrics/metrics" "$run" "$scratch"/*.prom >"$scratch/out"
    result $? "$name: metrics are called, labelled and split as the real ones"
    case $name in provision-retry) arrows= ;; *) arrows=arrows ;; esac # there no pod starts
    # shellcheck disable=SC2086
    "$KVOLSIM_BUILDDIR/tests/metrics/trace-rules" "$run/trace.json" $arrows >"$scratch/out"
    result $? "$name: the trace keeps the format's rules"
    if command -v promtool >/dev/null; then
        # It also has opinions on names; those are Kubernetes' own.
        promtool check metrics <"$run/metrics.prom" >"$scratch/opinions" 2>&1
        grep -v 'non-histogram and non-summary metrics should not have "_count" suffix\|counter metrics should have "_total" suffix' \
            "$scratch/opinions" >"$scratch/out"
        test ! -s "$scratch/out"
        result $? "$name: promtool reads the metrics"
        promtool tsdb create-blocks-from openmetrics "$run/metrics.openmetrics.txt" "$scratch/tsdb-$name" >"$scratch/out" 2>&1
        result $? "$name: Prometheus takes the history in"
    else
        case_skip "$name: promtool reads the metrics" "no promtool (apt-get install prometheus)"
    fi
done

# Values that other results of the same run tell, or that its story does.
value() { # RUN FAMILY [LABEL=VALUE...]: the sum of its series with these labels; nothing if there is none
    awk -v family="$2" -v one="${3:-}" -v two="${4:-}" '
        index($1, family "{") == 1 && (one == "" || index($1, one)) && (two == "" || index($1, two)) { sum += $NF; n++ } END { if (n) print sum }' \
        "$scratch/$1/metrics.prom"
}
equal() { # WHAT FOUND WANTED
    test "$2" = "$3" || echo "$1: \"$2\", not \"$3\"" >>"$scratch/out"
}
: >"$scratch/out"
for name in burst-100 attach-limit zone-mismatch storage-capacity; do
    incoming=scheduler_queue_incoming_pods_total attempts=scheduler_schedule_attempts_total
    equal "$name: pods that came" "$(value $name $incoming event=\"UnschedulablePodAdd\")" "$(grep -c '^pod,' "$scratch/$name/objects.csv")"
    failures=$(($(value $name $attempts) - $(value $name $attempts result=\"scheduled\" || echo 0)))
    came_back=$(value $name $incoming event=\"ScheduleAttemptFailure\")
    equal "$name: pods that came back" "${came_back:-0}" "$failures"
    unschedulable=$(value $name $attempts result=\"unschedulable\")
    equal "$name: preemption tried" "$(value $name scheduler_preemption_attempts_total)" "${unschedulable:-0}"
    equal "$name: mounts" "$(value $name volume_operation_total_seconds_count operation_name=\"overall_volume_mount\")" \
        "$(grep -c '"milestone":"published"' "$scratch/$name/milestones.jsonl")"
    equal "$name: mounted" "$(value $name volume_manager_total_volumes state=\"actual_state_of_world\")" \
        "$(value $name volume_manager_total_volumes state=\"desired_state_of_world\")"
done
equal "provisioned and bound (PVC-84)" "$(value burst-100 volume_operation_total_seconds_count operation_name=\"provision\")" \
    "$(grep -c '^claim,' "$scratch/burst-100/objects.csv")"
equal "plugins" "$(value burst-100 plugin_manager_total_plugins state=\"actual_state_of_world\")" 3
equal "places told of" "$(value storage-capacity csistoragecapacities_desired_current)" "$(value storage-capacity csistoragecapacities_desired_goal)"
equal "pods that no node fits" "$(value attach-limit scheduler_unschedulable_pods plugin=\"NodeVolumeLimits\")" \
    "$(value attach-limit scheduler_pending_pods queue=\"unschedulable\")"
for name in leader-election default-class-retroactive node-power-off-out-of-service rolling-reboot disk-evictions; do
    "$kvolsim" run "$scenarios/$name.yaml" --out "$scratch/$name" >"$scratch/printed" 2>&1 || cat "$scratch/printed" >>"$scratch/out"
    "$KVOLSIM_BUILDDIR/tests/metrics/metrics" "$scratch/$name" "$scratch"/*.prom >"$scratch/printed" || cat "$scratch/printed" >>"$scratch/out"
done
# MET-126: each program's requests are its own; sidecars have no metrics of theirs (MET-81).
requests() { # RUN CLIENT...: how many that answer to one of the names
    run=$1
    shift
    awk -F, -v clients=" $* " 'index(clients, " " $2 " ") { sum += $5 } END { print sum + 0 }' "$scratch/$run/requests.csv"
}
for name in burst-100 quickstart; do
    equal "$name: requests of the scheduler" "$(value $name rest_client_requests_total job=\"kube-scheduler\")" \
        "$(requests $name kube-scheduler default-scheduler)"
    equal "$name: requests of kubelets" "$(value $name rest_client_requests_total job=\"kubelet\")" "$(requests $name kubelet kubelet-heartbeat)"
    equal "$name: requests of controllers" "$(value $name rest_client_requests_total job=\"kube-controller-manager\")" \
        "$(requests $name persistent-volume-binder attachdetach-controller statefulset-controller generic-garbage-collector \
            pvc-protection-controller pv-protection-controller)"
    equal "$name: other requests" "$(value $name rest_client_requests_total job=\"external)" ""
done
test "$(value leader-election rest_client_requests_total job=\"kube-scheduler\" method=\"PUT\")" -gt 100 ||
    echo "the scheduler's candidates do not renew their lease" >>"$scratch/out"
equal "leaders: of two processes and three sidecars" "$(value leader-election leader_election_master_status)" 5
equal "claims that got the default class late" "$(value default-class-retroactive retroactive_storageclass_total)" 1
equal "pods deleted by force" "$(value node-power-off-out-of-service pod_gc_collector_force_delete_pods_total reason=\"out-of-service\")" 1
# Once: the administrator's taint leaves those that the node had where they are.
equal "nodes whose pods were evicted" "$(value node-power-off-out-of-service node_collector_evictions_total)" 1
equal "evictions for the disk of images" "$(value disk-evictions kubelet_evictions eviction_signal=\"imagefs.available\")" 2
equal "evictions for an emptyDir over its limit" "$(value disk-evictions kubelet_evictions eviction_signal=\"emptydirfs.limit\")" 1
equal "volumes found on disks" "$(value rolling-reboot reconstruct_volume_operations_total)" 6
test ! -s "$scratch/out"
result $? "values are those that the run has"

# What is worked out at each scrape is there as long as what it tells of (MET-58, MET-90, MET-W12): a claim's capacity as long as a pod
# with it runs, at each scrape and at no other; and nothing of volumes that are gone in the end. What is only set stays.
"$kvolsim" run "$KVOLSIM_SRCDIR/tests/bench/pods.yaml" --out "$scratch/gone" --set spec.workload[0].create.count=3 \
    --set 'spec.nodes[0]={count: 3, name: "n-%d", zones: [a]}' >"$scratch/out" 2>&1 || cat "$scratch/out"
cat >"$scratch/vanish.awk" <<'END'
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
awk -f "$scratch/vanish.awk" "$scratch/gone/objects.csv" "$scratch/gone/metrics.openmetrics.txt" >"$scratch/out"
result $? "the capacity of a claim is told while a pod with it runs"
grep -E '(kubelet_volume_stats|storage_count_attachable|attachdetach_controller_total|pv_collector|volume_manager_total)_' \
    "$scratch/gone/metrics.prom" >"$scratch/out"
for family in pv_collector_bound_pv_count pv_collector_bound_pvc_count storage_count_attachable_volumes_in_use volume_manager_total_volumes \
    attachdetach_controller_total_volumes; do
    grep -q "^$family{" "$scratch/gone/metrics.openmetrics.txt" || echo "no $family was ever told" >>"$scratch/out"
    grep "^$family{.*} 0 " "$scratch/gone/metrics.openmetrics.txt" >>"$scratch/out"
done
for family in kubelet_running_pods apiserver_storage_objects workqueue_depth; do
    grep -q "^$family{.*} 0$" "$scratch/gone/metrics.prom" || echo "no $family that is 0" >>"$scratch/out"
done
grep -q '^plugin_manager_total_plugins{.*} 3$' "$scratch/gone/metrics.prom" || echo "plugins are still there" >>"$scratch/out"
test ! -s "$scratch/out"
result $? "of volumes that are gone nothing is told"

# KVM-73: what drivers say of a volume is told from the first answer on, 0 too, and as long as its pod is there.
sed 's/until: 40s/until: 6m/; s/{name: node-\(.\)1,/{name: node-\11, kubelet: {volumeStatsAggPeriod: 1m},/; s/at: 22s/at: 300s/; s/at: 36s/at: 330s/; /at: [0-9]*s, [pvca]/d' \
    "$scenarios/immediate.yaml" >"$scratch/asked.yaml"
"$kvolsim" run "$scratch/asked.yaml" --out "$scratch/asked" >"$scratch/out" 2>&1 || cat "$scratch/out"
"$KVOLSIM_BUILDDIR/tests/metrics/metrics" "$scratch/asked" "$scratch"/*.prom >"$scratch/out" || cat "$scratch/out"
: >"$scratch/out"
for row in capacity_bytes:1.073741824e+09 available_bytes:1.073741824e+09 used_bytes:0 inodes:65536 inodes_free:65525 inodes_used:11; do
    awk -v family="kubelet_volume_stats_${row%:*}{" -v wanted="${row#*:}" '
        index($1, family) == 1 { n++; at = $NF - 1767225600; if ($(NF - 1) != wanted || at < 20 || at > 315) bad = 1 }
        END { if (bad || n < 8) print family " " n " samples, not all of them " wanted " or in their time" }' \
        "$scratch/asked/metrics.openmetrics.txt" >>"$scratch/out"
done
grep '^kubelet_volume_stats' "$scratch/asked/metrics.prom" >>"$scratch/out"
test ! -s "$scratch/out"
result $? "what drivers say of volumes is told while their pods are there"

# An arrow for each volume of each pod: from its creation through the claim, CreateVolume, ControllerPublishVolume, and on its node
# NodeStageVolume and NodePublishVolume, to Ready. Here three volumes each for two pods; of burst-100 one each.
cat >"$scratch/three.yaml" <<'END'
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
"$kvolsim" run "$scratch/three.yaml" --out "$scratch/three" >"$scratch/out" 2>&1 &&
    "$KVOLSIM_BUILDDIR/tests/metrics/trace-rules" "$scratch/three/trace.json" arrows 6 5 >"$scratch/out" &&
    "$KVOLSIM_BUILDDIR/tests/metrics/trace-rules" "$scratch/burst-100/trace.json" arrows 100 5 >"$scratch/out"
result $? "an arrow for each volume of each pod"
# Ten thousand slices: more than are sorted at once.
"$kvolsim" run "$KVOLSIM_SRCDIR/tests/bench/pods.yaml" --no-attribution --set 'spec.workload[0].create.count=300' \
    --out "$scratch/pods" >"$scratch/out" 2>&1 &&
    "$KVOLSIM_BUILDDIR/tests/metrics/trace-rules" "$scratch/pods/trace.json" arrows 300 5 >"$scratch/out"
result $? "a long trace keeps the format's rules"
# A group of tracks for the components' workers, the nodes, and each kind of object; a named track for each of them.
for track in 'external-provisioner: claims' node-a default/db-0 default/data-db-0 default/index-db-1; do
    grep -q "\"thread_name\".*\"name\":\"$track\"" "$scratch/three/trace.json" || echo "no track $track"
done >"$scratch/out"
test ! -s "$scratch/out"
result $? "tracks for workers, nodes and objects"

# A run against itself: every object has its pair, and nothing changed.
"$kvolsim" compare "$scratch/burst-100" "$scratch/burst-100" --format json >"$scratch/same.json" &&
    grep -q '"pairs": 100' "$scratch/same.json" && ! grep -q '"change": -\{0,1\}[1-9]' "$scratch/same.json"
result $? "a run is like itself"
"$kvolsim" run "$scenarios/burst-100.yaml" --out "$scratch/faster" --set spec.drivers[0].sidecars.external-attacher.kube-api-qps=100 \
    --set spec.drivers[0].sidecars.external-attacher.kube-api-burst=200 >"$scratch/out" 2>&1
"$kvolsim" compare "$scratch/burst-100" "$scratch/faster" >"$scratch/out" && grep -q '^client throttling: external-attacher' "$scratch/out"
result $? "a comparison tells what changed"

# Every picture of every run can be drawn, also of one without pods.
if command -v gnuplot >/dev/null; then
    for name in burst-100 attach-limit provision-retry; do
        "$kvolsim" plot "$scratch/$name" >"$scratch/out" 2>&1 && test "$(wc -l <"$scratch/out")" -ge 8 &&
            "$kvolsim" plot "$scratch/$name" --format svg >>"$scratch/out" 2>&1 &&
            "$kvolsim" plot "$scratch/$name" --format dumb >/dev/null 2>>"$scratch/out"
        result $? "$name: all pictures"
    done
    # What never happened is not in the key either: burst-100 has no Immediate claims, and nobody was unschedulable in it.
    test -s "$scratch/burst-100/modes.svg" && ! grep -q 'Immediate:' "$scratch/burst-100/modes.svg" &&
        ! grep -q '>unschedulable<' "$scratch/burst-100/waits.svg" && grep -q 'WaitForFirstConsumer:' "$scratch/burst-100/modes.svg"
    result $? "keys name what there is only"
    ! grep -q '> 12<' "$scratch/burst-100/pending.svg" &&
        "$kvolsim" plot "$scratch/burst-100" pending --from 10s --to 20s --format svg >"$scratch/out" 2>&1 &&
        grep -q '> 12<' "$scratch/burst-100/pending.svg" &&
        ! "$kvolsim" plot "$scratch/burst-100" pending --from 20s --to 10s >/dev/null 2>&1
    result $? "a part of the time"
fi

# What the pictures over time are drawn from is what the objects' times say: how many pods were in which stage, at many times.
cat >"$scratch/pending.awk" <<'END'
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
awk -F, -f "$scratch/pending.awk" "$scratch/burst-100/objects.csv" "$scratch/burst-100/over-time.csv" >"$scratch/out"
result $? "pods over time are the objects'"

# A large run's tables stay small: of so many pods, nodes and seconds each row stands for some.
"$kvolsim" run "$scenarios/burst-100.yaml" --out "$scratch/large" --set spec.workload[0].create.count=1000 --set spec.until=10m \
    --set 'spec.nodes[0]={count: 450, name: "n-%d", zones: [zone-a]}' --set spec.kubernetes.unlimitedQPS=true --set spec.kubernetes.apiServerLoad=0 --set spec.expect=[] \
    >"$scratch/out" 2>&1 &&
    awk -F, 'NF == 6 && !/^seconds/ { rows += $1 == 0; each = $6 } END { exit !(rows > 200 && rows <= 400 && each == 2) }' "$scratch/large/node-volumes.csv" &&
    awk -F, 'NF == 10 && !/^seconds/ { rows++; if ($10 + 0 < $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 - 1) bad = 1 }
        END { exit bad || rows < 100 || rows > 1000 }' "$scratch/large/client-rates.csv" &&
    awk -F, 'NF == 8 && !/^seconds/ { rows++; all = $2 + $3 + $4 + $5; if (all > 1000) bad = 1; most = all > most ? all : most }
        END { exit bad || rows > 1300 || most < 900 }' "$scratch/large/over-time.csv"
result $? "tables of a large run"

# The sum of all requests is what the summary says.
total=$(sed -n 's/.*"total": \([0-9]*\).*/\1/p' "$scratch/burst-100/summary.json" | head -1)
test "$(grep -v '^#\|^second' "$scratch/burst-100/requests.csv" | awk -F, '{ sum += $5 } END { print sum }')" = "$total"
result $? "no request is lost"
cases_end
