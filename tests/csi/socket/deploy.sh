#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The manifests of deploy/: each profile's pass `kvolsim check`, and a simulated cluster with them runs a pod with a volume.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
cd "$scratch" || exit 1
for file in "$KVOLSIM_SRCDIR"/models/profiles/*.yaml; do
    profile=$(basename "$file" .yaml)
    case $profile in timing-*) continue ;; esac
    sed "s/PROFILE/$profile/g" "$KVOLSIM_SRCDIR/deploy/csi-driver.yaml" >driver.yaml
    sed "s/PROFILE/$profile/g" "$KVOLSIM_SRCDIR/deploy/try.yaml" >try.yaml
    cat >scenario.yaml <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: deploy}
spec:
  until: 10m
  manifests: [driver.yaml, try.yaml]
  nodes: [{count: 2, name: "kind-%d", zones: [zone-a], labels: {node-role.kubernetes.io/control-plane: ""}}]
  drivers: [{name: $profile.csi.kvolsim.io, profile: $profile}]
  expect: [{pods: {name: try-*, ready: true, count: 1}}]
END
    "$kvolsim" check scenario.yaml >out 2>err && "$kvolsim" run scenario.yaml >out 2>err
    result $? "$profile: its manifests are good, and a pod gets a volume"
done
cases_end
