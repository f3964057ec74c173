#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Commands of the real kubectl on a served cluster, of all kinds, with the words and exit codes of a real cluster
# (kubectl-commands.txt); kubectl-sixty.sh has workloads.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the plain build asks the same, and it takes minutes"
PATH=$PATH:$KVOLSIM_SRCDIR/build/tools/usr/bin
kubectl version --client 2>/dev/null | grep -q 'v1\.32\.' || skip_all "kubectl 1.32 is not here"
cat >cluster.yaml <<'END_OF_SCENARIO'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: cluster}
spec:
  until: 24h
  nodes: [{count: 3, name: "node-%d", zones: [a]}]
  drivers: [{name: ebs.csi.aws.com, profile: aws-ebs-gp3}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
END_OF_SCENARIO
begin served serve cluster.yaml --speed 60
python3 "$KVOLSIM_SRCDIR/tests/serve/kubectl-sixty.py" "http://127.0.0.1:$port" "${SCRIPT:-$KVOLSIM_SRCDIR/tests/serve/kubectl-commands.txt}" "$scratch"
code=$?
end TERM
exit $code
