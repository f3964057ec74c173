#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What one person can hold in the head: folders, files, private headers and functions end somewhere.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

tree_files sim models run serve cli tests | grep '\.[ch]$' | grep -v '^tests/bench/yardstick/' >"$scratch/files"

grep '\.c$' "$scratch/files" | sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 30 { print $2 ": " $1 " .c files (30)" }' >"$scratch/folders"
case_result "no folder has more than 30 .c files" "$scratch/folders"

xargs wc -l <"$scratch/files" | awk '
    $2 ~ /\.c$/ && $1 > 800 { print $2 ": " $1 " lines (800)" }
    $2 ~ /private[^\/]*\.h$|internal\.h$/ && $1 > 250 { print $2 ": " $1 " lines (250)" }' >"$scratch/lines"
case_result "no .c file has more than 800 lines, no private header more than 250" "$scratch/lines"

xargs awk '
    FNR == 1 { inside = 0 }
    /^{/ { inside = 1; from = FNR }
    /^}/ && inside {
        inside = 0
        if (FNR - from - 1 > 70) print FILENAME ":" from ": a function of " FNR - from - 1 " lines (70)"
    }' <"$scratch/files" >"$scratch/functions"
case_result "no function has more than 70 lines" "$scratch/functions"

cases_end
