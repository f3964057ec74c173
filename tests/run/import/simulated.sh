#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Bundles of simulated clusters, of which the truth is known: import finds each action and each outage, and invents none; milestones
# are as the run saw them; replay agrees. For each scenario the time from which there is a record, and what is checked of it at level
# Metadata; at level RequestResponse all is. ALL_BUNDLES=1: all of them.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
tools=$KVOLSIM_BUILDDIR/tests/run/import

# bundle SCENARIO FROM LEVEL CHECKS
bundle()
{
    rm -rf "$scratch/bundle" "$scratch/imported"
    mkdir "$scratch/bundle"
    "$tools/make-bundle" "$KVOLSIM_SRCDIR/scenarios/$1.yaml" 1 "$3" "$2" "$scratch/bundle" >"$scratch/out" 2>"$scratch/err"
    result $? "$1, $3: bundle"
    metrics=$(find "$scratch/bundle" -name '*.prom' | sort | sed 's/^/--metrics /')
    "$kvolsim" import "$scratch"/bundle/dump-*.json --audit "$scratch/bundle/audit.log" $metrics --out "$scratch/imported" >"$scratch/out" 2>"$scratch/err"
    result $? "$1, $3: import"
    for check in $4; do
        case $check in
        replay) "$kvolsim" replay "$scratch/imported" >"$scratch/out" 2>"$scratch/err" ;;
        *) "$tools/check-bundle" "$check" "$scratch/bundle" "$scratch/imported" >"$scratch/out" 2>&1 ;;
        esac
        result $? "$1, $3: $check" "$scratch/out"
    done
}

while read -r scenario from checks; do
    [ -n "$checks" ] || continue
    bundle "$scenario" "$from" Metadata "$checks"
    [ -z "${ALL_BUNDLES:-}" ] || bundle "$scenario" "$from" RequestResponse "actions faults replay"
done <<TABLE
$(cat "$KVOLSIM_SRCDIR/tests/run/import/simulated.txt")
TABLE
cases_end
