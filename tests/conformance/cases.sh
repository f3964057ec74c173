#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recorded cases agree, of all suites. They are not part of this tree: KVOLSIM_CONFORMANCE names the folder that has them.
# A case that the runner does not know is a failure.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
[ -n "${KVOLSIM_CONFORMANCE:-}" ] || skip_all "KVOLSIM_CONFORMANCE is not set: no recorded cases"
runner=$KVOLSIM_BUILDDIR/tests/conformance/conformance
# Other suites have cases of migration, too, whose controllers do not migrate yet.
for file in "$KVOLSIM_CONFORMANCE"/csi_translation.json; do
    [ ! -e "$file" ] || "$runner" --also "CSI migration" "$file" || exit
done
"$runner" --also VolumeAttributesClass --also "volume group snapshots" --also FlexVolume --table "$KVOLSIM_CONFORMANCE"/*.json
