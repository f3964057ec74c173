#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the table in docs/fidelity.md that tells what each mechanism of mechanisms.txt changes: values missed with 200 seeds
# without it and with it, by recording. Part of `make fidelity`.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
document=docs/fidelity.md
begin='<!-- mechanisms: made by make fidelity -->'
profile=models/profiles/timing-1.32.yaml

# missed DATA: each recording's name, and how many of its values are missed
missed()
{
    "$builddir/tests/golden/golden" --data "$1" tests/golden/recorded/[0-9]* |
        awk -F '\t' '$1 == "TOTAL" && $2 != "all" { split($4, words, " "); print $2 "\t" words[1] }'
}

missed . >"$scratch/with"
[ -s "$scratch/with" ] || exit 1
{
    echo "| Mechanism | Missed without | Missed with | Recordings: without, with |"
    echo "|---|---|---|---|"
} >"$scratch/table"
mkdir -p "$scratch/data/models"
cp -r models/profiles "$scratch/data/models"
grep -v '^#' tests/golden/mechanisms.txt | while IFS='	' read -r mechanism commands; do
    sed -E "$commands" $profile >"$scratch/data/$profile"
    if cmp -s $profile "$scratch/data/$profile"; then
        echo "nothing in $profile is of: $mechanism" >&2
        exit 1
    fi
    missed "$scratch/data" >"$scratch/without"
    paste "$scratch/without" "$scratch/with" | awk -F '\t' -v mechanism="$mechanism" '
        { without += $2; with += $4; if ($2 != $4) rows = rows (rows == "" ? "" : "; ") $1 ": " $2 ", " $4 }
        END { print "| " mechanism " | " without " | " with " | " rows " |" }' >>"$scratch/table"
done || exit 1
awk -v begin="$begin" -v table="$scratch/table" '
    $0 == begin { print; while ((getline line <table) > 0) print line; inside = 1 }
    $0 == "<!-- end -->" { inside = 0 }
    !inside { print }' "$document" >"$scratch/document" || exit 1
cp "$scratch/document" "$document"
