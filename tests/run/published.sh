#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Published measurements of real clusters (scenarios/published/measurements.txt) come out within a factor of 1.5, those aside that
# say why not; and the table in docs/fidelity.md is what this version finds. With --write it makes that table anew.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
program=$builddir/kvolsim
document=docs/fidelity.md
begin='<!-- made by make fidelity -->'
end='<!-- end -->'

# run_scenario WORD...: the folder of its results. The first word is the scenario, the others are changes.
run_scenario()
{
    results=$scratch/$(printf '%s' "$* $replications" | cksum | tr ' ' '-')
    [ -d "$results" ] || {
        file=scenarios/published/$1.yaml
        shift
        for change; do
            shift
            set -- "$@" --set "$change"
        done
        "$program" run "$file" --replications "$replications" --out "$results" "$@" >"$scratch/printed" ||
            cat "$scratch/printed" >&2
    }
}

# Of each claim (and its volume) of each replication a value: for rates all instants of one replication, in order.
values()
{
    awk -F, -v measure="$1" '
        FNR == 1 { delete deleted }
        $1 == "claim" {
            if (measure == "bound" || (measure == "slow" && $14 - $6 > 1)) print $14 - $6
            if (measure == "since60") print $14 - 60
            if (measure == "bind") print $14
            if (measure == "made") print $13
            deleted[$5] = $15
        }
        $1 == "snapshot" && measure == "snapshot" { print $11 - $6 }
        $1 == "pod" && measure == "started" { print $11 - $10 }
        $1 == "volume" && measure == "released" { print $15 - deleted[$3] }' "$2"
}

# A round begins with a pod that is bound to a node after every pod of the rounds before is bound to its own.
rounds()
{
    awk -F, '
        $1 == "pod" && $7 != "" {
            node = $5
            if (!(node in first) || $7 < first[node]) first[node] = $7
            if (!(node in last) || $7 > last[node]) last[node] = $7
        }
        END { for (node in first) print first[node], last[node] }' "$1" | sort -g |
        awk '{ if (NR == 1 || $1 > end) n++; if (NR == 1 || $2 > end) end = $2 } END { print n + 0 }'
}

# The statistic of sorted values.
statistic()
{
    awk -v wanted="$1" '
        { value[NR] = $1; sum += $1 }
        END {
            if (wanted == "mean") print sum / NR
            else if (wanted == "max") print value[NR]
            else if (wanted == "all") print (NR - 1) / (value[NR] - value[1])
            else if (wanted == "late") print (NR - int(NR / 2)) / (value[NR] - value[int(NR / 2)])
            else if (wanted == "p5..p95") print quantile(5) ".." quantile(95)
            else print quantile(substr(wanted, 2))
        }
        function quantile(percent,    at, n) { at = NR * percent / 100; n = int(at); return value[n == at ? n : n + 1] }'
}

# measure MEASURE STATISTIC RESULTS: rates are the mean of the replications, all else is of all claims together.
measure()
{
    case $1 in
    rounds)
        for csv in "$3"/replication-*/objects.csv; do
            rounds "$csv"
        done | statistic "$2"
        ;;
    made | bind)
        for csv in "$3"/replication-*/objects.csv; do
            values "$1" "$csv" | sort -g | statistic "$2"
        done | statistic mean
        ;;
    *)
        for csv in "$3"/replication-*/objects.csv; do
            values "$1" "$csv"
        done | sort -g | statistic "$2"
        ;;
    esac
}

trim()
{
    sed -E 's/[ \t]*\|[ \t]*/|/g; s/[ \t]+$//'
}

# A row of the table, and a fault if it is where it should not be.
judge()
{
    awk -v name="$1" -v statistic="$2" -v published="$3" -v simulated="$4" -v why="$5" -v per="$6" -v faults="$scratch/faults" '
        # Two digits: what moves the third is no reason for another document.
        function digits(x,    unit) {
            for (unit = 0.001; x >= 99.5 * unit; unit *= 10) ;
            return sprintf(unit < 0.005 ? "%.3f" : unit < 0.05 ? "%.2f" : unit < 0.5 ? "%.1f" : "%.0f", int(x / unit + 0.5) * unit)
        }
        BEGIN {
            said = published
            if (sub(/^</, "", published)) {
                good = simulated + 0 < published + 0; text = "below"
            } else if (split(simulated, range, /\.\./) == 2) {
                good = range[1] + 0 <= published + 0 && published + 0 <= range[2] + 0; text = "within"
            } else {
                factor = published + 0 > simulated + 0 ? published / simulated : simulated / published
                good = factor <= 1.5; text = sprintf(factor < 100 ? "%.1f" : "%.0f", factor)
            }
            shown = range[2] == "" ? digits(simulated) : digits(range[1]) " .. " digits(range[2])
            sub(/^</, "< ", said)
            printf "| %s | %s | %s%s | %s%s | %s | %s |\n", name, statistic, said, per, shown, per, good ? text : "**" text "**", why
            if (!good && why == "") printf "%s %s: published %s, simulated %s\n", name, statistic, said, shown >>faults
            if (good && why != "") printf "%s %s: agrees by now, and still has an excuse\n", name, statistic >>faults
        }'
}

table()
{
    echo '| Measurement | | Published | Simulated | Factor | Why not |'
    echo '|---|---|---|---|---|---|'
    grep -v '^#' scenarios/published/measurements.txt | trim | while IFS='|' read -r name scenario replications what statistic published why; do
        # shellcheck disable=SC2086 # words
        run_scenario $scenario
        per=' s'
        case $what in
        made | bind) per='/s' ;;
        rounds) per= ;;
        esac
        simulated=$(measure "$what" "$statistic" "$results")
        judge "$name" "$statistic" "$published" "$simulated" "$why" "$per"
    done
}

: >"$scratch/faults"
table >"$scratch/table"
if [ "${1:-}" = --write ]; then
    {
        sed "/^$begin\$/q" "$document"
        cat "$scratch/table"
        sed -n "/^$end\$/,\$p" "$document"
    } >"$scratch/document"
    cat "$scratch/document" >"$document"
    cat "$scratch/faults"
    exit 0
fi
case_result "published measurements come out within a factor of 1.5" "$scratch/faults"
sed "1,/^$begin\$/d; /^$end\$/,\$d" "$document" | diff - "$scratch/table" >"$scratch/faults" &&
    : || echo "make -C build fidelity makes the table anew" >>"$scratch/faults"
case_result "the table in $document is up to date" "$scratch/faults"
cases_end
