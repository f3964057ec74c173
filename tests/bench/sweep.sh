#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What -j 2 makes of a sweep of 200 runs: a line per figure: name value unit. Both are made in turns, and the middle one of five ratios
# counts: another program that runs meanwhile hits now the one, now the other. The results must be equal.
#   sweep.sh PROGRAM SOURCE_DIR
set -eu
program=$1
sweep=$2/tests/bench/sweep.yaml
turns=5
[ -x /usr/bin/time ] || { echo "sweep.sh: needs /usr/bin/time (Debian: apt-get install time)" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# make_runs JOBS: wall seconds and processor seconds, one line more in j<JOBS>
make_runs()
{
    rm -f "$scratch/$1.sqlite"
    /usr/bin/time -f '%e %U %S' -o "$scratch/time" "$program" sweep "$sweep" -j "$1" --out "$scratch/$1.sqlite" >/dev/null
    cat "$scratch/time" >>"$scratch/j$1"
    "$program" export "$scratch/$1.sqlite" --table runs >"$scratch/$1.csv"
}

turn=0
while [ $turn -lt $turns ]; do
    make_runs 1
    make_runs 2
    cmp "$scratch/1.csv" "$scratch/2.csv"
    turn=$((turn + 1))
done

# median FILE EXPRESSION
median()
{
    awk "{ print $2 }" "$1" | sort -n | sed -n "$(((turns + 1) / 2))p"
}
paste -d ' ' "$scratch/j1" "$scratch/j2" >"$scratch/both"
echo "sweep_200_runs_j1_wall $(median "$scratch/j1" '$1') s"
echo "sweep_200_runs_j2_wall $(median "$scratch/j2" '$1') s"
echo "sweep_200_runs_j2_to_j1 $(median "$scratch/both" '$4 / $1') x"
echo "sweep_200_runs_j2_to_j1_processor_time $(median "$scratch/both" '($5 + $6) / ($2 + $3)') x"
