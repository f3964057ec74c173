#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every version of an object that was recorded is what `get -o json --at` shows at some instant of a simulated run; but for what
# known-states.txt lists with its cause. Without bursts and the longest recordings; with sanitizers only the first.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
known=tests/golden/known-states.txt

for folder in tests/golden/recorded/[0-9]*; do
    name=${folder##*/}
    case $name in 07-* | 11-* | 16* | 38-* | 59-*) continue ;; esac
    [ "${KVOLSIM_SANITIZERS:-no}" = yes ] && [ "$name" != 01-immediate-dynamic ] && continue
    "$builddir/tests/golden/states" "$folder" >"$scratch/printed" 2>&1
    tail -n 1 "$scratch/printed" | grep -qE '^[1-9][0-9]* passed, [0-9]+ failed, 0 skipped$' || echo "$name: not compared" >"$scratch/faults"
    grep -v '^#' "$known" | cut -f 1 >"$scratch/patterns"
    grep ': never shown: ' "$scratch/printed" | tee -a "$scratch/misses" | grep -vEf "$scratch/patterns" >>"$scratch/faults"
    case_result "$name: all recorded versions are shown" "$scratch/faults"
    : >"$scratch/faults"
done

if [ "${KVOLSIM_SANITIZERS:-no}" != yes ]; then
    cut -f 1 "$scratch/patterns" | while read -r pattern; do
        grep -qE -- "$pattern" "$scratch/misses" || echo "no longer missed: $pattern"
    done >"$scratch/faults"
    case_result "all known misses are still missed" "$scratch/faults"
fi
cases_end
