#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The real sidecars of Kubernetes between `kvolsim serve`, their API server, and `kvolsim csi`, their driver. SIDECARS is a folder with
# csi-provisioner, csi-attacher, csi-resizer, csi-snapshotter and csi-node-driver-registrar; what is missing there is skipped. They are
# built from their sources, with vendor/: CGO_ENABLED=0 go build -mod=vendor ./cmd/csi-provisioner, ...
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
"$kvolsim" csi --help >/dev/null 2>&1 || skip_all "kvolsim was built without csi"
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"
command -v kubectl >/dev/null || skip_all "kubectl is not here"
[ -n "${SIDECARS:-}" ] || skip_all "the sidecars are not here: set SIDECARS to a folder with them"
cd "$scratch" || exit 1
driver=aws-ebs-gp3.csi.kvolsim.io
cat >base.yaml <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: real-sidecars}
spec:
  until: 24h
  nodes: [{count: 2, name: "node-%d", first: 1, zones: [zone-a]}]
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: ebs}
driver: $driver
deletionPolicy: Delete
END
cat >objects.yaml <<END
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: $driver}
spec: {attachRequired: true}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ebs}
provisioner: $driver
allowVolumeExpansion: true
END
"$kvolsim" csi --endpoint "unix://$scratch/csi.sock" --profile aws-ebs-gp3 --drivername $driver --services controller,node \
    --node-id node-1 --speed 10 >csi.log 2>&1 &
pids=$!
"$kvolsim" serve base.yaml --listen 127.0.0.1:0 --speed 1 --kubeconfig kubeconfig >serve.log 2>&1 &
pids="$pids $!"

# eventually COMMAND...: repeats it for two minutes until it is true.
eventually()
{
    for _ in $(seq 240); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.5
    done
    return 1
}
eventually kubectl --kubeconfig kubeconfig get nodes
export KUBECONFIG="$scratch/kubeconfig"
kubectl apply --validate=false -f objects.yaml >out 2>&1
result $? "the cluster knows the driver by its objects alone" out serve.log

# begin SIDECAR OPTION...: false: it is not here.
begin()
{
    sidecar=$1
    shift
    [ -x "$SIDECARS/$sidecar" ] || return 1
    "$SIDECARS/$sidecar" --csi-address="$scratch/csi.sock" --v=5 "$@" >"$sidecar.log" 2>&1 &
    pids="$pids $!"
}
# has KIND NAME PATH VALUE: a field of an object.
has()
{
    [ "$(kubectl get "$1" "$2" -o jsonpath="{$3}")" = "$4" ]
}

if begin csi-node-driver-registrar --kubelet-registration-path="$scratch/csi.sock" --plugin-registration-path="$scratch"; then
    eventually [ -S "$driver-reg.sock" ]
    result $? "node-driver-registrar: offers the driver to a kubelet" csi-node-driver-registrar.log csi.log
else
    case_skip "node-driver-registrar" "it is not in SIDECARS"
fi

if begin csi-provisioner --kubeconfig=kubeconfig --timeout=60s; then
    kubectl apply --validate=false -f - >/dev/null <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: ebs, resources: {requests: {storage: 1Gi}}}
END
    eventually has pvc data .status.phase Bound
    result $? "external-provisioner: a claim gets a volume of the driver" csi-provisioner.log csi.log
else
    case_skip "external-provisioner" "it is not in SIDECARS"
fi
volume=$(kubectl get pvc data -o jsonpath='{.spec.volumeName}' 2>/dev/null)

if [ -z "$volume" ]; then
    case_skip "external-attacher, external-resizer, external-snapshotter" "there is no volume"
else
    # The simulated kubelet has no registration socket: this is what a real one writes.
    kubectl patch csinode node-1 --type merge \
        -p '{"spec": {"drivers": [{"name": "'$driver'", "nodeID": "node-1", "topologyKeys": []}]}}' >/dev/null
    if begin csi-attacher --kubeconfig=kubeconfig --timeout=60s; then
        kubectl apply --validate=false -f - >/dev/null <<END
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: attachment}
spec: {attacher: $driver, nodeName: node-1, source: {persistentVolumeName: $volume}}
END
        eventually has volumeattachment attachment .status.attached true
        result $? "external-attacher: the volume is attached" csi-attacher.log csi.log
        kubectl delete volumeattachment attachment --wait=false >/dev/null
        eventually sh -c '! kubectl get volumeattachment attachment'
        result $? "... and detached" csi-attacher.log csi.log
    else
        case_skip "external-attacher" "it is not in SIDECARS"
    fi
    if begin csi-resizer --kubeconfig=kubeconfig --timeout=60s; then
        kubectl patch pvc data -p '{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}' >/dev/null
        eventually has pv "$volume" .spec.capacity.storage 2Gi
        result $? "external-resizer: the volume grows" csi-resizer.log csi.log
    else
        case_skip "external-resizer" "it is not in SIDECARS"
    fi
    if begin csi-snapshotter --kubeconfig=kubeconfig --timeout=60s; then
        kubectl apply --validate=false -f - >/dev/null <<END
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: cut}
spec: {volumeSnapshotClassName: ebs, source: {persistentVolumeClaimName: data}}
END
        eventually has volumesnapshot cut .status.readyToUse true
        result $? "csi-snapshotter: a snapshot is cut and ready" csi-snapshotter.log csi.log
        kubectl delete volumesnapshot cut --wait=false >/dev/null
        eventually sh -c '! kubectl get volumesnapshot cut'
        result $? "... and deleted" csi-snapshotter.log csi.log
    else
        case_skip "csi-snapshotter" "it is not in SIDECARS"
    fi
    kubectl delete pvc data --wait=false >/dev/null
    eventually grep -q ' DeleteVolume .* OK ' csi.log
    result $? "external-provisioner: the volume goes with its claim" csi-provisioner.log csi.log
fi
# shellcheck disable=SC2086 # several words
kill $pids 2>/dev/null
wait
cases_end
