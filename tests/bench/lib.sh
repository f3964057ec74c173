# SPDX-License-Identifier: GPL-3.0-or-later
# For the scripts of this folder, read with `.`; they set $scratch, a folder of their own.

# instructions PROGRAM FILE [OPTION…]: that a run executes, as callgrind counts them; nothing if the run fails.
instructions()
{
    instructions_program=$1
    shift
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$instructions_program" run "$@" --no-attribution --format json 2>&1 >/dev/null |
        sed -n 's/^==[0-9]*== Collected : //p'
}

# usage NAME PROGRAM FILE [OPTION…]: wall seconds, user seconds and peak kB into $scratch/NAME.time, the summary into NAME.json.
usage()
{
    usage_name=$1
    usage_program=$2
    shift 2
    /usr/bin/time -f '%e %U %M' -o "$scratch/$usage_name.time" "$usage_program" run "$@" --format json >"$scratch/$usage_name.json"
}

# summary NAME KEY: a number of the summary.
summary()
{
    sed -n "s/^  \"$2\": \([0-9.]*\),*$/\1/p" "$scratch/$1.json"
}

# calculate EXPRESSION: with three digits after the point.
calculate()
{
    awk "BEGIN { printf \"%.3f\", $1 }"
}

# A cluster of pods.yaml of another size, whose pods go once all are there.
# cluster NODES PODS SECOND: prints the options
cluster()
{
    printf '%s\n' --set "spec.nodes[0].count=$1" --set "spec.workload[0].create.count=$2" \
        --set "spec.workload[1].at=$3s" --set "spec.workload[2].at=$(($3 + 50))s"
}
