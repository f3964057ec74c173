#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Audit logs of real clusters, as they are and reduced to level Metadata: each action becomes an item of the workload, each milestone
# is where a watch saw it, and the scenario runs. The bundles are not part of this tree: KVOLSIM_BUNDLES names the folder with them.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
[ -n "${KVOLSIM_BUNDLES:-}" ] || skip_all "KVOLSIM_BUNDLES is not set: no bundles"
truth=$KVOLSIM_BUILDDIR/tests/run/import/audit-truth

for run in "$KVOLSIM_BUNDLES"/*/run*; do
    [ -f "$run/audit.log.xz" ] || continue
    bundle=$(basename "$(dirname "$run")")
    began=$(sed -n 's/.*"t0":"\([^"]*\)".*/\1/p' "$run/start.json")
    xz -dc "$run/audit.log.xz" | "$truth" reduce | xz -1 >"$scratch/metadata.log.xz"
    for level in RequestResponse Metadata; do
        log=$run/audit.log.xz
        [ $level = RequestResponse ] || log=$scratch/metadata.log.xz
        folder=$scratch/$bundle-$level
        "$kvolsim" import "$run"/dumps/*.json --audit "$log" --start "$began" --out "$folder" >"$scratch/out" 2>"$scratch/err"
        result $? "$bundle, $level: import"
        "$kvolsim" check "$folder/scenario.yaml" >"$scratch/out" 2>"$scratch/err"
        result $? "$bundle, $level: the scenario is sound"
        "$truth" steps "$folder/workload.json" "$run/steps.jsonl" 0 >"$scratch/out" 2>"$scratch/err"
        result $? "$bundle, $level: every action is in the workload"
        "$truth" milestones "$folder/recorded.json" "$run/watch.jsonl" "$began" >"$scratch/out" 2>"$scratch/err"
        result $? "$bundle, $level: milestones are where a watch saw them"
        "$kvolsim" run "$folder/scenario.yaml" >"$scratch/out" 2>"$scratch/err"
        [ $? -le 1 ] && ! grep '^refused' "$scratch/out" >"$scratch/err"
        result $? "$bundle, $level: the run refuses no action" "$scratch/err"
    done
done
cases_end
