#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The manifests of deploy/: each profile's pass `kvolsim check`, and a simulated cluster with them runs a pod with a volume, and one with
# a volume from a snapshot of it.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
cd "$scratch" || exit 1
for file in "$KVOLSIM_SRCDIR"/models/profiles/*.yaml; do
    profile=$(basename "$file" .yaml)
    case $profile in timing-*) continue ;; esac
    for part in csi-driver try snapshots; do
        sed "s/PROFILE/$profile/g" "$KVOLSIM_SRCDIR/deploy/$part.yaml" >$part.yaml
    done
    cat >scenario.yaml <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: deploy}
spec:
  until: 30m
  manifests: [csi-driver.yaml, try.yaml, snapshots.yaml]
  nodes: [{count: 2, name: "kind-%d", zones: [zone-a], labels: {node-role.kubernetes.io/control-plane: ""}}]
  drivers: [{name: $profile.csi.kvolsim.io, profile: $profile}]
  expect: [{pods: {name: try-*, ready: true, count: 1}}, {snapshots: {ready: true, count: 1}}, {pods: {name: restored-*, ready: true, count: 1}}]
END
    "$kvolsim" check scenario.yaml >out 2>err && "$kvolsim" run scenario.yaml >out 2>err
    result $? "$profile: its manifests are good, and pods get a volume and one from a snapshot of it"
done
cases_end
