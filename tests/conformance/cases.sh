#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recorded cases agree, of all suites. They are not part of this tree: KVOLSIM_CONFORMANCE names the folder that has them.
# The folder of that name with "-more" behind it, where there is one, has more cases of the same suites.
# A case that the runner does not know is a failure.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
[ -n "${KVOLSIM_CONFORMANCE:-}" ] || skip_all "KVOLSIM_CONFORMANCE is not set: no recorded cases"
runner=$KVOLSIM_BUILDDIR/tests/conformance/conformance
# Left out of "CSI migration": createVolumeSpec for claims that the case does not have (the real test's fake client has them;
# 05 checks nothing), and the provisioner's test, whose translator is made up: it adds "translated" to all it sees, or fails.
# What they are about is modelled: ADC-30 to ADC-34 and MIG-50; MIG-70 to MIG-72.
for file in "$KVOLSIM_CONFORMANCE"/*.json; do
    case ${file##*/} in external_provisioner.json) continue ;; esac
    "$runner" --also "CSI migration" --except ad-VolumeSpec-04 --except ad-VolumeSpec-05 "$file" >"$scratch/migration" ||
        { cat "$scratch/migration"; exit 1; }
done
# Left out: recycling by the mock plugin, without a pod (real plugins of this kind, NFS and hostPath, use one: PVC-77), and the
# policy "Unknown", which the API server refuses, so that no cluster can have such a volume.
"$runner" --also "in-tree volume plugin" --except pvctrl-RecycleSync-6-2 --except pvctrl-RecycleSync-6-10 \
    "$KVOLSIM_CONFORMANCE/pv_controller.json" "$KVOLSIM_CONFORMANCE/volume_operations.json" >"$scratch/in-tree" ||
    { cat "$scratch/in-tree"; exit 1; }
"$runner" --also "in-tree volume source" "$KVOLSIM_CONFORMANCE/claim_api.json" >"$scratch/sources" || { cat "$scratch/sources"; exit 1; }
more=$KVOLSIM_CONFORMANCE-more
# Left out: the groups that a volume's annotation gives to processes. The runtime of the recordings, containerd 1.7, tells nobody.
if [ -d "$more" ]; then
    "$runner" --also VolumeAttributesClass --except kvm-KubeletManager-04 "$more"/*.json >"$scratch/more" || { cat "$scratch/more"; exit 1; }
fi
"$runner" --also VolumeAttributesClass --also "volume group snapshots" --table "$KVOLSIM_CONFORMANCE"/*.json
