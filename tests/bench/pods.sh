#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What pods with a claim each cost, from nothing to Ready and back to nothing, and what a day of idle nodes does. A line per
# figure: name value unit. Figures per pod are differences to the same cluster with one pod.
#   pods.sh PROGRAM SOURCE_DIR
set -eu
program=$1
scenarios=$2/tests/bench
pods=10000
[ -x /usr/bin/time ] || { echo "pods.sh: needs /usr/bin/time (Debian: apt-get install time)" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# run NAME SCENARIO [OPTION…]: wall seconds and peak kB into NAME.time, the summary into NAME.json
run()
{
    name=$1
    scenario=$2
    shift 2
    /usr/bin/time -f '%e %M' -o "$scratch/$name.time" "$program" run "$scenarios/$scenario" --no-attribution --format json "$@" >"$scratch/$name.json"
}

# member NAME KEY: a number of the summary
member()
{
    sed -n "s/^  \"$2\": \([0-9.]*\),*$/\1/p" "$scratch/$1.json"
}

# instructions NAME SCENARIO [OPTION…]: of the whole program
instructions()
{
    name=$1
    scenario=$2
    shift 2
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" run "$scenarios/$scenario" --no-attribution --format json "$@" 2>&1 >"$scratch/$name.json" |
        sed -n 's/^==[0-9]*== Collected : //p'
}

run one pods.yaml --set 'spec.workload[0].create.count=1'
run many pods.yaml --set "spec.workload[0].create.count=$pods"
read -r wall peak <"$scratch/many.time"
read -r _ peak_of_one <"$scratch/one.time"
echo "pods_${pods}_wall $wall s"
echo "pods_${pods}_bytes_per_pod $(((peak - peak_of_one) * 1024 / pods)) bytes"
echo "pods_${pods}_events_per_pod $((($(member many events) - $(member one events)) / pods)) events"

# The same with the sidecars' default numbers of workers: most calls wait for one, time out and are made again.
default_workers="--set spec.drivers[0].sidecars.external-provisioner.worker-threads=100 --set spec.drivers[0].sidecars.external-attacher.worker-threads=10"
# shellcheck disable=SC2086 # a list of words
run defaults pods.yaml --set "spec.workload[0].create.count=$pods" $default_workers
read -r wall peak <"$scratch/defaults.time"
echo "pods_${pods}_default_workers_wall $wall s"
echo "pods_${pods}_default_workers_bytes_per_pod $(((peak - peak_of_one) * 1024 / pods)) bytes"
echo "pods_${pods}_default_workers_events_per_pod $((($(member defaults events) - $(member one events)) / pods)) events"

run idle idle.yaml
read -r wall peak <"$scratch/idle.time"
echo "idle_5000_nodes_24h_wall $wall s"
echo "idle_5000_nodes_24h_peak $peak kB"

if command -v valgrind >/dev/null; then
    of_one=$(instructions one pods.yaml --set 'spec.workload[0].create.count=1')
    of_many=$(instructions many pods.yaml --set "spec.workload[0].create.count=$pods")
    # shellcheck disable=SC2086
    of_defaults=$(instructions defaults pods.yaml --set "spec.workload[0].create.count=$pods" $default_workers)
    echo "pods_${pods}_instructions_per_pod $(((of_many - of_one) / pods)) instructions"
    echo "pods_${pods}_default_workers_instructions_per_pod $(((of_defaults - of_one) / pods)) instructions"
fi
