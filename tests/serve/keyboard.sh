#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `kvolsim serve` by keyboard alone (Debian: chromium-driver, python3-selenium); keyboard.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
needs_chromium once
cat >set.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: set}
spec:
  until: 10m
  nodes: [{count: 3, name: "node-%d", zones: [zone-a]}]
  drivers: [{name: ebs.csi.aws.com, profile: aws-ebs-gp3}]
  workload:
  - at: 1s
    create:
      manifest:
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: web}
        spec:
          replicas: 3
          serviceName: web
          podManagementPolicy: Parallel
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /data}]}]}
          volumeClaimTemplates:
          - metadata: {name: data}
            spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: ebs.csi.aws.com}
END
small_cluster >small.yaml
begin other serve small.yaml --speed 0 --versus-set 'spec.nodes[0].count=2'
versus=$port other=$pid
begin served serve set.yaml --speed 0
/usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/keyboard.py" "$port" "$versus" "$kvolsim" "$scratch"
code=$?
end INT
kill -INT $other
wait $other
exit $code
