#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What README and docs show of the program's output is what it prints (the comments "printed by" in these files; see printed.py).
# An open bundle is needed for docs/your-cluster.md: KVOLSIM_BUNDLES names their folder.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach loop
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the same output, and studies take long"
command -v python3 >/dev/null 2>&1 || skip_all "no python3"
cd "$KVOLSIM_SRCDIR" || exit 1
ln -s "$KVOLSIM_SRCDIR/scenarios" "$scratch/scenarios"
PATH=$KVOLSIM_BUILDDIR:$PATH
export PATH
# docs/your-cluster.md has marks, too, and comes with the bundle
set -- README.md
for document in docs/*.md; do
    [ "$document" = docs/your-cluster.md ] || set -- "$@" "$document"
done
if [ -n "${KVOLSIM_BUNDLES:-}" ]; then
    cp "$KVOLSIM_BUNDLES"/bundle-1/run1/dumps/*.json "$KVOLSIM_BUNDLES"/bundle-1/run1/*.xz "$scratch" && mv "$scratch/start.json" "$scratch/dump.json" || exit 1
    set -- "$@" docs/your-cluster.md
fi
python3 "$KVOLSIM_SRCDIR/tests/cli/printed.py" "$scratch" "$@" -- README.md docs/*.md docs/rules/*.md
