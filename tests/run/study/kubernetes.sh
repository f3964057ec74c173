#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/batch/kubernetes-job.yaml: what its container does for each index, done here, merges to the rows that one local run has.
set -u
manifest=$KVOLSIM_SRCDIR/scripts/batch/kubernetes-job.yaml
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
PATH=$KVOLSIM_BUILDDIR:$PATH
SWEEP=$KVOLSIM_SRCDIR/tests/run/study/small.yaml
RESULTS=$scratch
SHARDS=$(sed -n 's/.*{name: SHARDS, value: "\([0-9]*\)"}.*/\1/p' "$manifest")
export PATH SWEEP RESULTS SHARDS
n_cases=0

report() # STATUS NAME
{
    n_cases=$((n_cases + 1))
    [ "$1" -eq 0 ] && echo "ok $n_cases - $2" || { echo "not ok $n_cases - $2"; sed 's/^/# /' "$scratch/out"; }
}

# The text of its one argument.
sed -n '/^        - |$/,/^        [a-z]/{/^          /p}' "$manifest" >"$scratch/command"
[ -s "$scratch/command" ] && [ "$(sed -n 's/^  completions: //p' "$manifest")" = "$SHARDS" ] &&
    [ "$(sed -n 's/^  parallelism: //p' "$manifest")" -le "$SHARDS" ] && grep -q '^  completionMode: Indexed$' "$manifest"
report $? "as many completions as shards"

failures=0
index=0
while [ "$index" -lt "${SHARDS:-0}" ]; do
    JOB_COMPLETION_INDEX=$index sh -euc "$(cat "$scratch/command")" >"$scratch/out" 2>&1 || failures=1
    index=$((index + 1))
done
# One of them is made again: it finds its work done.
JOB_COMPLETION_INDEX=2 sh -euc "$(cat "$scratch/command")" >"$scratch/out" 2>&1 || failures=1
report $failures "each index"

kvolsim sweep "$SWEEP" -j 2 --out "$scratch/local.sqlite" >"$scratch/out" 2>&1 &&
    kvolsim merge --out "$scratch/merged.sqlite" "$scratch"/shard-*.sqlite >"$scratch/out" 2>&1 &&
    "$KVOLSIM_BUILDDIR/tests/run/study/print-rows" "$scratch/local.sqlite" >"$scratch/local" &&
    "$KVOLSIM_BUILDDIR/tests/run/study/print-rows" "$scratch/merged.sqlite" >"$scratch/merged" &&
    cmp "$scratch/local" "$scratch/merged" >"$scratch/out"
report $? "the same rows"
echo "1..$n_cases"
