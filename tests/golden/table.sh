#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the table of the recordings in docs/fidelity.md anew: part of `make fidelity`.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
document=docs/fidelity.md
begin='<!-- recordings: made by make fidelity -->'

"$builddir/tests/golden/golden" --table tests/golden/recorded/[0-9]* | sed '$d' >"$scratch/table"
[ "$(wc -l <"$scratch/table")" -gt 2 ] || exit 1
awk -v begin="$begin" -v table="$scratch/table" '
    $0 == begin { print; while ((getline line <table) > 0) print line; inside = 1 }
    $0 == "<!-- end -->" { inside = 0 }
    !inside { print }' "$document" >"$scratch/document" || exit 1
cp "$scratch/document" "$document"
