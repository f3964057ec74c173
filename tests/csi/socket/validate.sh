#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A simulated cluster whose driver is `kvolsim csi` in real time: a process for the controller and one for each node, as real drivers
# have. All pods get their volumes. VALIDATE_SCENARIO, such as scenarios/burst-100.yaml, with VALIDATE_NODES, its nodes: then the calls must
# also last as long as in the model. Other work of the machine would delay a call of 50 ms by more than a tenth: so this runs with real-time
# priority where it may.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
"$kvolsim" csi --help >/dev/null 2>&1 || skip_all "kvolsim was built without csi"
cd "$scratch" || exit 1
cat >short.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: short}
spec:
  until: 20s
  kubernetes: {unlimitedQPS: true}
  nodes: [{count: 3, name: "node-%d", kubelet: {nodeStatusUpdateFrequency: 500ms}}]
  drivers:
  - name: csi.lab.example
    sidecars: {external-provisioner: {worker-threads: 30}, external-attacher: {worker-threads: 30}}
    latency:
      CreateVolume: 1s
      ControllerPublishVolume: 800ms
      NodeStageVolume: 500ms
      NodePublishVolume: 500ms
  workload:
  - at: 1s
    create:
      count: 30
      manifest:
      - apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: b}
        spec: {accessModes: [ReadWriteOnce], storageClassName: lab, resources: {requests: {storage: 1Gi}}}
      - apiVersion: v1
        kind: Pod
        metadata: {name: bp}
        spec:
          containers: [{name: app, image: "lab.example/pause:1", volumeMounts: [{name: data, mountPath: /data}]}]
          volumes: [{name: data, persistentVolumeClaim: {claimName: b}}]
  expect: [{pods: {ready: true, count: 30}}, {driverVolumes: {count: 30}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: lab}
provisioner: csi.lab.example
volumeBindingMode: WaitForFirstConsumer
END
scenario=${VALIDATE_SCENARIO:-short.yaml}
first=
[ -z "${VALIDATE_SCENARIO:-}" ] || ! chrt -f 20 true 2>/dev/null || first="chrt -f 20"
nodes=${VALIDATE_NODES:-node-0 node-1 node-2}
pids=
endpoints="--endpoint controller.sock"
$first "$kvolsim" csi --endpoint controller.sock --services controller --scenario "$scenario" --log-format none >controller.log 2>&1 &
pids="$pids $!"
for node in $nodes; do
    $first "$kvolsim" csi --endpoint "$node.sock" --services node --node-id "$node" --scenario "$scenario" --log-format none \
        --mount off >"$node.log" 2>&1 &
    pids="$pids $!"
    endpoints="$endpoints --endpoint $node=$node.sock"
done
for _ in $(seq 600); do
    [ "$(ls ./*.sock 2>/dev/null | wc -l)" -eq $(($(echo $nodes | wc -w) + 1)) ] && break
    sleep 0.1
done
tolerance="--median 10 --ks 1 --lag 60000"
[ -z "${VALIDATE_SCENARIO:-}" ] || tolerance=
# shellcheck disable=SC2086 # several words
$first "$kvolsim" validate $endpoints $tolerance --replications 20 --out result "$scenario" >out 2>err
result $? "a simulated cluster works with drivers behind sockets" out err controller.log node-0.log
[ "$(grep -c '"call": *"CreateVolume"' result/journal.jsonl)" -ge 30 ]
result $? "its journal has the calls"
"$kvolsim" validate --replay result/journal.jsonl "$scenario" >out 2>err
result $? "... and plays the run back without the drivers"
# shellcheck disable=SC2086 # several words
kill $pids 2>/dev/null
wait
cases_end
