#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the choice of a node costs while a thousand pods wait for one, among 500 and among 5,000 nodes: instructions of a cycle,
# filters, scores and message together. A line per figure: name value unit.
#   scheduler.sh PROGRAM SOURCE_DIR
# fit:   late-binding claims, and there is room everywhere.
# full:  there is no room anywhere: each pod is told what each node lacks.
# bound: volumes are made first, so a third of the nodes is in reach of each pod.
set -eu
program=$1
scenario=$2/tests/bench/scheduler.yaml
pods=1000
command -v valgrind >/dev/null || { echo "scheduler.sh: needs valgrind, which counts instructions" >&2; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

cp "$scenario" "$scratch/fit.yaml"
sed 's/cpu: 100m/cpu: 100/' "$scenario" >"$scratch/full.yaml"
sed 's/WaitForFirstConsumer/Immediate/' "$scenario" >"$scratch/bound.yaml"

# instructions NAME NODES: of all cycles
instructions()
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=cycle_run "$program" run "$scratch/$1.yaml" \
        --set "spec.nodes[0].count=$2" --format json 2>&1 >/dev/null | sed -n 's/^==[0-9]*== Collected : //p'
}

for name in fit full bound; do
    few=$(instructions $name 500)
    many=$(instructions $name 5000)
    echo "schedule_${name}_500_nodes_instructions_per_pod $((few / pods)) instructions"
    echo "schedule_${name}_5000_nodes_instructions_per_pod $((many / pods)) instructions"
    echo "schedule_${name}_growth_for_ten_times_the_nodes $((many / few)).$((many * 10 / few % 10)) times"
done
