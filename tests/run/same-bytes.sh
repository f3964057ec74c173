#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Whether two builds of the program give the same results, byte for byte: for who makes it faster and wants to be sure that
# nothing else has changed. Only the number of engine events may differ, in summary.json and in the first line that is printed: that is
# what gets less.
#   [SEEDS="1 2 3"] same-bytes.sh BEFORE AFTER [SCENARIO…]
# Without scenarios: all of scenarios/ that a seed is enough for. The last line is: N passed, N failed, N skipped.
set -eu
[ $# -ge 2 ] || { sed -n 's/^#   /usage: /p' "$0" >&2; exit 2; }
before=$1
after=$2
shift 2
[ $# -gt 0 ] || set -- "$(dirname "$0")"/../../scenarios/*.yaml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
passed=0 failed=0 skipped=0

# run_into FOLDER PROGRAM SCENARIO SEED: result files, and what was printed. An slo or expect that is not met (3) is a result, too.
run_into()
{
    rm -rf "${scratch:?}/$1"
    mkdir "$scratch/$1"
    status=0
    "$2" run "$3" --seed "$4" --out "$scratch/$1/results" >"$scratch/$1/printed" 2>"$scratch/$1/errors" || status=$?
    echo $status >"$scratch/$1/status"
    [ $status -eq 0 ] || [ $status -eq 3 ] || return 1
    sed -i '/^  "events": [0-9]*,$/d; /^  "files": {$/,/^  }/d; /^  "sha256": /d; s/,$//' "$scratch/$1/results/summary.json"
    sed -i "s|$scratch/$1|.|g; 1s/, [0-9]* events$//" "$scratch/$1/printed"
}

for scenario; do
    for seed in ${SEEDS:-1}; do
        if ! run_into before "$before" "$scenario" "$seed"; then
            skipped=$((skipped + 1))
        elif ! run_into after "$after" "$scenario" "$seed"; then
            failed=$((failed + 1))
            echo "$scenario, seed $seed: status $(cat "$scratch/after/status")"
            head -n 10 "$scratch/after/errors"
        elif diff -r "$scratch/before" "$scratch/after" >"$scratch/differences" 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "$scenario, seed $seed:"
            cut -c 1-200 "$scratch/differences" | head -n 10
        fi
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
