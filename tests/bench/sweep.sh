#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What -j 2 makes of a sweep of 200 runs: a line per figure: name value unit. Both are made in turns, now the one first, now the
# other, and the middle one of the pairs' ratios counts: another program that runs meanwhile hits now the one, now the other. The
# results must be equal.
#   sweep.sh PROGRAM SOURCE_DIR [PAIRS]
# A comment tells of each pair what the machine did besides, of all its processor time: what the host took (steal), and what other
# programs used. A pair with more than a percent of either says little; the figure of the quiet ones stands beside that of all.
set -eu
program=$1
sweep=$2/tests/bench/sweep.yaml
pairs=${3:-7}
disturbed_percent=1
[ -x /usr/bin/time ] || { echo "sweep.sh: needs /usr/bin/time (Debian: apt-get install time)" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# processor_time: of the whole machine since it started, in clock ticks: busy, stolen, all (guests' time is in the users')
processor_time()
{
    awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8, $9, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat
}

# make_runs JOBS: wall, user and system seconds into time-<JOBS>, and what the machine did meanwhile into machine-<JOBS>
make_runs()
{
    rm -f "$scratch/$1.sqlite"
    before=$(processor_time)
    /usr/bin/time -f '%e %U %S' -o "$scratch/time-$1" "$program" sweep "$sweep" -j "$1" --out "$scratch/$1.sqlite" >/dev/null
    echo "$before $(processor_time)" >"$scratch/machine-$1"
    "$program" export "$scratch/$1.sqlite" --table runs >"$scratch/$1.csv"
}

# make_halves: wall seconds of two processes that share nothing, each with half of the points, into time-halves: no two threads can
# be expected to do better
make_halves()
{
    rm -f "$scratch"/half-*.sqlite
    # shellcheck disable=SC2016 # the inner shell's
    /usr/bin/time -f '%e' -o "$scratch/time-halves" sh -c '
        "$1" sweep "$2" -j 1 --shard 1/2 --out "$3/half-1.sqlite" >/dev/null &
        "$1" sweep "$2" -j 1 --shard 2/2 --out "$3/half-2.sqlite" >/dev/null
        wait' sh "$program" "$sweep" "$scratch"
}

# A line of pairs: wall, user, system of -j 1; of -j 2; percents stolen and used by others, the worse of the two.
ticks=$(getconf CLK_TCK)
pair=0
while [ $pair -lt "$pairs" ]; do
    if [ $((pair % 2)) = 0 ]; then make_runs 1; make_runs 2; else make_runs 2; make_runs 1; fi
    cmp "$scratch/1.csv" "$scratch/2.csv"
    make_halves
    echo "$(cut -d ' ' -f 1 "$scratch/time-2") $(cat "$scratch/time-halves")" >>"$scratch/halves"
    for jobs in 1 2; do
        paste -d ' ' "$scratch/time-$jobs" "$scratch/machine-$jobs"
    done | awk -v ticks="$ticks" '
        {
            own = ($2 + $3) * ticks; all = $9 - $6
            stolen = 100 * ($8 - $5) / all; others = 100 * ($7 - $4 - own) / all
            most_stolen = stolen > most_stolen ? stolen : most_stolen
            most_others = others > most_others ? others : most_others
            line = line $1 " " $2 " " $3 " "
        }
        END { printf "%s%.1f %.1f\n", line, most_stolen, most_others }' >>"$scratch/pairs"
    pair=$((pair + 1))
    tail -n 1 "$scratch/pairs" | awk -v pair=$pair \
        '{ printf "# pair %d: -j 1 %s s, -j 2 %s s, ratio %.3f, stolen %s %%, other programs %s %%\n", pair, $1, $4, $4 / $1, $7, $8 }'
done

# median FILE EXPRESSION: of one line or more
median()
{
    awk "{ print $2 }" "$1" | sort -n | awk '{ value[NR] = $1 } END { printf "%.3f", (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}
awk -v most=$disturbed_percent '$7 <= most && $8 <= most' "$scratch/pairs" >"$scratch/quiet"
echo "sweep_200_runs_j1_wall $(median "$scratch/pairs" '$1') s"
echo "sweep_200_runs_j2_wall $(median "$scratch/pairs" '$4') s"
echo "sweep_200_runs_j2_to_j1 $(median "$scratch/pairs" '$4 / $1') x"
echo "sweep_200_runs_j2_to_two_processes $(median "$scratch/halves" '$1 / $2') x"
echo "sweep_200_runs_quiet_pairs $(awk 'END { print NR }' "$scratch/quiet") pairs"
[ ! -s "$scratch/quiet" ] || echo "sweep_200_runs_j2_to_j1_quiet $(median "$scratch/quiet" '$4 / $1') x"
echo "sweep_200_runs_j2_to_j1_processor_time $(median "$scratch/pairs" '($5 + $6) / ($2 + $3)') x"
