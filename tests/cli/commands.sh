#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The command lines of README and manual run (commands.py). Others run those of docs/serve.md (tests/serve/docs.sh), of
# docs/your-cluster.md (printed.sh), of docs/real-devices.md (tests/csi/loop/validate.sh) and csi-sanity (tests/csi/socket/sanity.sh).
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach loop
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the same lines, and studies take long"
command -v python3 >/dev/null 2>&1 || skip_all "no python3"
command -v gnuplot >/dev/null || skip_all "no gnuplot"
"$kvolsim" serve --help >/dev/null 2>&1 && "$kvolsim" csi --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve or csi"
cd "$KVOLSIM_SRCDIR" || exit 1
ln -s "$KVOLSIM_SRCDIR/scenarios" "$scratch/scenarios"
ln -s "$KVOLSIM_BUILDDIR" "$scratch/build"
"$kvolsim" teach --solution 8 >"$scratch/solution.yaml"
# the first block of docs/sweeps.md is a file that the reader saves
sed -n '/^```yaml$/,/^```$/{/^```/!p;/^```$/q}' docs/sweeps.md >"$scratch/workers.yaml"
python3 tests/cli/commands.py "$scratch" README.md CONTRIBUTING.md docs/*.md docs/rules/*.md models/profiles/README.md
