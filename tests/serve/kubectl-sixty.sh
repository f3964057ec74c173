#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The real kubectl on a served cluster: workloads are applied, changed, scaled, rolled out, drained, patched and deleted, with the
# exit codes and the output of a real cluster (kubectl-sixty.txt).
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
kubectl version --client 2>/dev/null | grep -q 'v1\.32\.' || skip_all "kubectl 1.32 is not here"
cp "$KVOLSIM_SRCDIR"/scenarios/manifests/*.yaml .
cat >cluster.yaml <<'END_OF_SCENARIO'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: cluster}
spec:
  until: 24h
  nodes: [{count: 6, name: "node-%d", zones: [a]}]
  drivers: [{name: ebs.csi.aws.com, profile: aws-ebs-gp3}]
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}
END_OF_SCENARIO
begin served serve cluster.yaml --speed 60
python3 "$KVOLSIM_SRCDIR/tests/serve/kubectl-sixty.py" "http://127.0.0.1:$port" "${SCRIPT:-$KVOLSIM_SRCDIR/tests/serve/kubectl-sixty.txt}" "$scratch"
code=$?
end TERM
exit $code
