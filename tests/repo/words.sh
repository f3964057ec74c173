#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Paths of somebody's machine have no place in the tree: they work nowhere else. A table that lacks a cell is drawn wrongly.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

tree_files | grep -v -e '^tests/repo/words\.sh$' -e '^COPYING$' | while read -r file; do
    [ ! -f "$file" ] || grep -HnIE '(^|[^A-Za-z0-9_.>*}-])/(work|tmp/build|root|home/[a-z]+)/' "$file"
done >"$scratch/faults"
case_result "no absolute paths of a build machine" "$scratch/faults"

tree_files | grep '[^A-Za-z0-9._/@+%,=-]' >"$scratch/faults"
case_result "file names are plain" "$scratch/faults"
tree_files | grep '\.md$' | while read -r file; do
    awk -v file="$file" '
        !/^\|/ { n = 0; next }
        { row = $0; gsub(/\\\|/, "", row); cells = gsub(/\|/, "", row) }
        n && cells != n { print file ":" NR ": " cells - 1 " cells, not " n - 1 }
        !n { n = cells }' "$file"
done >"$scratch/faults"
case_result "the rows of a table have as many cells as its head" "$scratch/faults"
cases_end
