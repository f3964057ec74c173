#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The table of recorded cases in docs/fidelity.md is what the runner finds; with --write it is made anew, as a part of
# `make fidelity`. KVOLSIM_CONFORMANCE names the folder that has the cases. Of another set of cases it says nothing.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
document=docs/fidelity.md
begin='<!-- cases: made by make fidelity -->'

[ -n "${KVOLSIM_CONFORMANCE:-}" ] || skip_all "KVOLSIM_CONFORMANCE is not set: no recorded cases"
"$builddir/tests/conformance/conformance" --table "$KVOLSIM_CONFORMANCE"/*.json | grep '^|' >"$scratch/table"
[ "$(wc -l <"$scratch/table")" -gt 2 ] || exit 1
if [ "${1:-}" = --write ]; then
    awk -v begin="$begin" -v table="$scratch/table" '
        $0 == begin { print; while ((getline line <table) > 0) print line; inside = 1 }
        $0 == "<!-- end -->" { inside = 0 }
        !inside { print }' "$document" >"$scratch/document" || exit 1
    cp "$scratch/document" "$document"
    exit 0
fi
sed "1,/^$begin\$/d; /^<!-- end -->\$/,\$d" "$document" >"$scratch/written"
columns() { awk -F'|' '{ print $2 $3 $4 }' "$1"; }
if [ "$(columns "$scratch/table")" = "$(columns "$scratch/written")" ]; then
    diff "$scratch/written" "$scratch/table" >"$scratch/faults" ||
        echo "make -C build fidelity makes the table anew" >>"$scratch/faults"
    case_result "the table of cases in $document is up to date" "$scratch/faults"
else
    case_skip "the table of cases in $document is up to date" "the folder has another set of cases"
fi
cases_end
