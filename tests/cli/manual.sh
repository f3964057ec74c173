#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Links and command lines of README and manual (manual.py); every document is in the index; every picture of the gallery is shown.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach loop
command -v python3 >/dev/null 2>&1 || skip_all "no python3"
cd "$KVOLSIM_SRCDIR" || exit 1
python3 tests/cli/manual.py "$kvolsim" README.md CONTRIBUTING.md docs/*.md docs/rules/*.md models/profiles/README.md >"$scratch/out" 2>"$scratch/err"
result $? "links lead somewhere, and commands have the options that documents give them"
for document in docs/*.md; do
    [ "$document" = docs/README.md ] || grep -qF "(${document#docs/})" docs/README.md || echo "$document"
done >"$scratch/out"
[ ! -s "$scratch/out" ]
result $? "docs/README.md has every document"
for picture in docs/gallery/*.png; do
    name=${picture##*/}
    grep -q "^<!-- picture: ${name%.png} " docs/gallery.md && grep -qF "(gallery/$name)" docs/gallery.md || echo "$picture"
done >"$scratch/out"
[ ! -s "$scratch/out" ]
result $? "docs/gallery.md shows every picture, and says how it is drawn"
cases_end
