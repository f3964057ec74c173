#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What an operator could hand over, as import and replay take it: dumps, an audit log, scrapes. KVOLSIM_BUNDLES names the folder that
# has the bundles, which are not part of this tree. Each is taken as it is, and with its audit log reduced to level Metadata, as most
# clusters have it. `bundle.sh --table` prints the stages as Markdown, for docs/fidelity.md.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
[ -n "${KVOLSIM_BUNDLES:-}" ] || skip_all "KVOLSIM_BUNDLES is not set: no bundles"
is_table=${1:-}

# as_table NAME: rows of stages: those of all objects.
as_table()
{
    awk -F, -v name="$1" 'NR > 1 && $2 == "" {
        printf "| %s | %s | %d, %d | %.3g s, %.3g s | %.2f | %.3g s, %.3g s | %.2f | %.2f | %s |\n", name, $1, $3, $4, $5, $6, $5 > 0 ? $6 / $5 : 1,
            $9, $10, $9 > 0 ? $10 / $9 : 1, $18, $20
    }' "$scratch/$2/replay-stages.csv"
}

# replay NAME FOLDER AUDIT-LOG
replay()
{
    "$kvolsim" import "$2"/dumps/*.json --audit "$3" $metrics --out "$scratch/imported" --force >"$scratch/out" 2>"$scratch/err"
    result $? "$1: import" >"$scratch/line"
    [ -n "$is_table" ] || cat "$scratch/line"
    "$kvolsim" replay "$scratch/imported" --out "$scratch/replayed" >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ -n "$is_table" ]; then
        as_table "$1" replayed
        return
    fi
    [ $status -eq 0 ]
    result $? "$1: p50 and p90 of each stage within 1.3 of the range of the simulations"
    ! grep -q '^Only recorded' "$scratch/out"
    result $? "$1: each recorded object has its match"
}

[ -z "$is_table" ] || printf '%s\n' '| Audit log | Stage | Objects recorded, simulated | p50 | Ratio | p90 | Ratio | p of KS | Verdict |' '|---|---|---|---|---|---|---|---|---|'
for audit in "$KVOLSIM_BUNDLES"/*/run1/audit.log.xz; do
    run=${audit%/*}
    name=${run%/run1}
    name=${name##*/}
    rm -rf "$scratch/metrics"
    mkdir "$scratch/metrics"
    tar -C "$scratch/metrics" -xf "$run/metrics.tar.xz"
    metrics=$(find "$scratch/metrics" -name '*.prom' | sort | sed 's/^/--metrics /')
    replay "$name" "$run" "$audit"
    if command -v jq >/dev/null 2>&1; then
        xz -dc "$audit" | jq -c 'del(.requestObject, .responseObject) | .level = "Metadata"' >"$scratch/metadata.log"
        replay "$name, Metadata" "$run" "$scratch/metadata.log"
    fi
done
[ -n "$is_table" ] || cases_end
