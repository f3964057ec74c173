#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Same scenario, same seed, same bytes: the same program twice, and builds by another compiler, at another
# optimisation level and with sanitizers. ./check provides them:
#   KVOLSIM_OPT (gcc -O3; default: this build)  KVOLSIM_SAN (gcc, ASan and UBSan)  KVOLSIM_CLANG (clang -O0)
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

scenarios='quickstart attach-limit burst-100 controller-restart-mid-bind drain-a-node'
optimised=${KVOLSIM_OPT:-$builddir/kvolsim}

# run_into FOLDER PROGRAM SCENARIO: result files and what was printed. From the folder above, so that the names
# that a report may print are the same everywhere. An slo or expect that is not met (3) is an outcome, too.
run_into()
{
    mkdir -p "$scratch/$1" && (
        cd "$scratch/$1" || exit 1
        "$2" run "$PWD_SOURCES/scenarios/$3.yaml" --seed 1 --out results >printed 2>errors
        status=$?
        echo $status >status
        [ $status -eq 0 ] || [ $status -eq 3 ]
    )
}

# compare CASE PROGRAM SCENARIO
compare()
{
    rm -rf "$scratch/other"
    if ! run_into other "$2" "$3"; then
        { echo "$2 run ended with status $(cat "$scratch/other/status")"; cat "$scratch/other/errors"; } >"$scratch/faults"
    else
        diff -r "$scratch/first" "$scratch/other" 2>&1 | cut -c 1-300 | head -n 20 >"$scratch/faults"
    fi
    case_result "$1" "$scratch/faults"
}

PWD_SOURCES=$PWD
for scenario in $scenarios; do
    if [ ! -x "$optimised" ]; then
        case_skip "$scenario" "the program is not built yet: $optimised"
        continue
    elif [ ! -e "scenarios/$scenario.yaml" ]; then
        case_skip "$scenario" "no scenarios/$scenario.yaml"
        continue
    fi
    rm -rf "$scratch/first"
    if ! run_into first "$optimised" "$scenario"; then
        { echo "$optimised run ended with status $(cat "$scratch/first/status")"; cat "$scratch/first/errors"; } >"$scratch/faults"
        case_result "$scenario: runs" "$scratch/faults"
        continue
    fi
    find "$scratch/first/results" -type f 2>/dev/null | grep -q . || echo "no result files" >"$scratch/none"
    : >>"$scratch/none"
    case_result "$scenario: writes results" "$scratch/none"
    compare "$scenario: the same program twice" "$optimised" "$scenario"
    for variant in SAN:sanitizers CLANG:"clang -O0"; do
        eval "program=\${KVOLSIM_${variant%%:*}:-}"
        if [ -z "$program" ]; then
            case_skip "$scenario: ${variant#*:}" "KVOLSIM_${variant%%:*} is not set; ./check sets it"
        else
            compare "$scenario: ${variant#*:}" "$program" "$scenario"
        fi
    done
done
cases_end
