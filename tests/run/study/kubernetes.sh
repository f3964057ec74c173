#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/batch/kubernetes-job.yaml: the commands of its container, run here for each index, give results that merge to the rows of one
# local run.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
manifest=$KVOLSIM_SRCDIR/scripts/batch/kubernetes-job.yaml
PATH=$KVOLSIM_BUILDDIR:$PATH
SWEEP=$KVOLSIM_SRCDIR/tests/run/study/small.yaml
RESULTS=$scratch
SHARDS=$(sed -n 's/.*{name: SHARDS, value: "\([0-9]*\)"}.*/\1/p' "$manifest")
export PATH SWEEP RESULTS SHARDS

# The text of its one argument.
sed -n '/^        - |$/,/^        [a-z]/{/^          /p}' "$manifest" >"$scratch/command"
[ -s "$scratch/command" ] && [ "$(sed -n 's/^  completions: //p' "$manifest")" = "$SHARDS" ] &&
    [ "$(sed -n 's/^  parallelism: //p' "$manifest")" -le "$SHARDS" ] && grep -q '^  completionMode: Indexed$' "$manifest"
result $? "as many completions as shards"

failures=0
index=0
while [ "$index" -lt "${SHARDS:-0}" ]; do
    JOB_COMPLETION_INDEX=$index sh -euc "$(cat "$scratch/command")" >"$scratch/out" 2>&1 || failures=1
    index=$((index + 1))
done
# One of them is made again: it finds its work done.
JOB_COMPLETION_INDEX=2 sh -euc "$(cat "$scratch/command")" >"$scratch/out" 2>&1 || failures=1
result $failures "each index"

kvolsim sweep "$SWEEP" -j 2 --out "$scratch/local.sqlite" >"$scratch/out" 2>&1 &&
    kvolsim merge --out "$scratch/merged.sqlite" "$scratch"/shard-*.sqlite >"$scratch/out" 2>&1 &&
    "$KVOLSIM_BUILDDIR/tests/run/study/print-rows" "$scratch/local.sqlite" >"$scratch/local" &&
    "$KVOLSIM_BUILDDIR/tests/run/study/print-rows" "$scratch/merged.sqlite" >"$scratch/merged" &&
    cmp "$scratch/local" "$scratch/merged" >"$scratch/out"
result $? "the same rows"
cases_end
