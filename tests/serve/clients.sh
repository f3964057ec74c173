#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Clients of today and of years ago on a served cluster: kubectl 1.20 to 1.35, helm 3.9 to 4.1, @kubernetes/client-node, with the
# written kubeconfig. scripts/setup.sh fetches them; one that is not there is skipped. CLIENTS="kubectl-1.24 helm-4.1": only these.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || [ -n "${CLIENTS:-}" ] || skip_all "the plain build asks the same, and it takes a minute"
clients=${KVOLSIM_CLIENTS:-$KVOLSIM_SRCDIR/build/tools/clients}
[ -d "$clients" ] || skip_all "no clients are in build/tools/clients (./check fetches them)"
cat >cluster.yaml <<'END'
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
END
begin served serve cluster.yaml --speed 60 --kubeconfig kubeconfig || exit 1
python3 "$KVOLSIM_SRCDIR/tests/serve/clients.py" "$clients" "$scratch" ${CLIENTS:-}
code=$?
end TERM
exit $code
