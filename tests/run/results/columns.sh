#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# schemas/ and docs/results.md say what the tables of columns say.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study
mkdir "$scratch/tree" "$scratch/tree/docs"
cp -R "$KVOLSIM_SRCDIR/schemas" "$scratch/tree/schemas"
cp "$KVOLSIM_SRCDIR/docs/results.md" "$scratch/tree/docs/results.md"
"$KVOLSIM_SRCDIR/scripts/result-columns" "$kvolsim" "$scratch/tree" >"$scratch/out" 2>&1 &&
    diff -ru "$KVOLSIM_SRCDIR/schemas" "$scratch/tree/schemas" >>"$scratch/out" &&
    diff -u "$KVOLSIM_SRCDIR/docs/results.md" "$scratch/tree/docs/results.md" >>"$scratch/out"
result $? "schemas/ and docs/results.md have the columns of now (else: make result-columns)" "$scratch/out"

(cd "$KVOLSIM_SRCDIR/schemas" && ls ./*.csv.schema.json ./*.jsonl.schema.json) | sed 's|^\./||; s/\.schema\.json$//' | while read -r file; do
    "$kvolsim" schema --reference "$file" >/dev/null 2>&1 && grep -q "^<!-- columns of $file -->$" "$KVOLSIM_SRCDIR/docs/results.md" || echo "$file"
done >"$scratch/out"
[ ! -s "$scratch/out" ]
result $? "each file of rows or lines has a table there" "$scratch/out"
cases_end
