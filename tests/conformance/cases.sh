#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recorded cases agree, of all suites. They are not part of this tree: KVOLSIM_CONFORMANCE names the folder that has them.
# A case that the runner does not know is a failure.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
[ -n "${KVOLSIM_CONFORMANCE:-}" ] || skip_all "KVOLSIM_CONFORMANCE is not set: no recorded cases"
runner=$KVOLSIM_BUILDDIR/tests/conformance/conformance
# Left out: volumes of in-tree plugins that stand in pods, and the made-up translation of the provisioner's tests.
for file in "$KVOLSIM_CONFORMANCE"/*.json; do
    case ${file##*/} in
    attachdetach.json | external_provisioner.json | scheduler_nodevolumelimits.json) continue ;;
    esac
    "$runner" --also "CSI migration" "$file" >"$scratch/migration" || { cat "$scratch/migration"; exit 1; }
done
# Left out: a plugin that recycles without a pod, and a policy that the API server refuses.
"$runner" --also "in-tree volume plugin" --except pvctrl-RecycleSync-6-2 --except pvctrl-RecycleSync-6-10 \
    "$KVOLSIM_CONFORMANCE/pv_controller.json" "$KVOLSIM_CONFORMANCE/volume_operations.json" >"$scratch/in-tree" ||
    { cat "$scratch/in-tree"; exit 1; }
"$runner" --also "in-tree volume source" "$KVOLSIM_CONFORMANCE/claim_api.json" >"$scratch/sources" || { cat "$scratch/sources"; exit 1; }
"$runner" --also VolumeAttributesClass --also "volume group snapshots" --also FlexVolume --table "$KVOLSIM_CONFORMANCE"/*.json
