#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What an operator could hand over, as import and replay take it: dumps, an audit log, scrapes. KVOLSIM_BUNDLES names the folder that
# has the bundles, which are not part of this tree. Each is taken as it is, and with its audit log reduced to level Metadata, as most
# clusters have it. With --write the table of their stages in docs/fidelity.md is made anew, as a part of `make fidelity`.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
document=$KVOLSIM_SRCDIR/docs/fidelity.md
begin='<!-- bundles: made by make fidelity -->'
[ -n "${KVOLSIM_BUNDLES:-}" ] || skip_all "KVOLSIM_BUNDLES is not set: no bundles"
is_table=${1:-}

# table_rows NAME: those of all objects.
table_rows()
{
    awk -F, -v name="$1" '
        function time(seconds) { return seconds < 1 ? sprintf("%.0f ms", 1000 * seconds) : sprintf("%.3g s", seconds) }
        NR > 1 && $2 == "" {
            printf "| %s | %s | %d, %d | %s | %s (%s .. %s) | %s | %s (%s .. %s) | %.2g | %s |\n", name, $1, $3, $4,
                time($5), time($6), time($7), time($8), time($9), time($10), time($11), time($12), $18, $20
        }' "$scratch/replayed/replay-stages.csv"
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
        table_rows "$1" >>"$scratch/table"
        return
    fi
    [ $status -eq 0 ]
    result $? "$1: p50 and p90 of each stage within 1.3 of the range of the simulations"
    ! grep -q '^Only recorded' "$scratch/out"
    result $? "$1: each recorded object has its match"
}

printf '%s\n' '| Recording | Stage | Objects | p50 | Simulated | p90 | Simulated | p of KS | Verdict |' '|---|---|---|---|---|---|---|---|---|' >"$scratch/table"
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
if [ -z "$is_table" ]; then
    cases_end
else
    awk -v begin="$begin" -v table="$scratch/table" '
        $0 == begin { print; while ((getline line <table) > 0) print line; inside = 1 }
        $0 == "<!-- end -->" { inside = 0 }
        !inside { print }' "$document" >"$scratch/document" && cp "$scratch/document" "$document"
fi
