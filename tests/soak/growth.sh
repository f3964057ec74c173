#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# growth.sh SECONDS: whether memory grows while a process works on: random worlds one after the other, and a sweep of short runs. One
# line each, `name value unit`: the resident memory when a quarter of the time is over, at the end, and what it gained, in per cent
# of the first. `bench.py --churn` measures a served cluster. Each random world has a process of its own: the one that is measured
# makes the worlds and waits for them; the sweep makes its runs in one process.
set -u
: "${KVOLSIM_SRCDIR:?is the top of the source tree}" "${KVOLSIM_BUILDDIR:?is the build folder}"
seconds=${1:?is how long}
scratch=$(mktemp -d) || exit 1
pid=
trap 'kill $pid 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

resident() # PID: KiB of it, the most in ten seconds
{
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
        sleep 1
    done | sort -n | tail -n 1
}

grown() # NAME WORD…
{
    name=$1
    shift
    "$@" >"$scratch/out" 2>&1 &
    pid=$!
    sleep $((seconds / 4))
    first=$(resident $pid)
    sleep $((seconds - seconds / 4))
    last=$(resident $pid)
    if ! kill $pid 2>/dev/null; then
        echo "growth: $name ended before the time was over: $(tail -n 1 "$scratch/out")" >&2
        exit 1
    fi
    wait $pid 2>/dev/null
    pid=
    echo "growth_${name}_first $first KiB"
    echo "growth_${name}_last $last KiB"
    awk -v first="$first" -v last="$last" -v name="$name" 'BEGIN { printf "growth_%s %.1f %%\n", name, 100 * (last - first) / first }'
}

grown soak "$KVOLSIM_BUILDDIR/tests/soak/soak" --jobs 1 --unshrunk 1000000
sed 's/count: 2}/count: 1000000}/' "$KVOLSIM_SRCDIR/tests/fuzz/files/sweep.yaml" >"$scratch/sweep.yaml"
cp "$KVOLSIM_SRCDIR/tests/fuzz/files/base.yaml" "$scratch"
grown sweep "$KVOLSIM_BUILDDIR/kvolsim" sweep "$scratch/sweep.yaml" --jobs 1 --out "$scratch/sweep.sqlite"
