#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every rule that code or tests name stands in docs/rules/: whoever reads "PVC-21.3" in a trace finds it there. Prints the share
# of the books' rules that are named.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

# The families of ids; a new one belongs here.
families='ADC|API|CAP|CGO|CSI|CSP|DP|DS|EA|EHM|EPH|EVM|FLX|INT|JOB|KVM|LOC|MIG|NL|NODE|OP|PROT|PROV|PVC|REG|REL|RSZ|SCH|SEC|SEQ|SNAP|SRC|SREL|TIM|TOPO|VB|VF|VPL|WL'
# Families whose books are complete. For the others a gap is counted, no fault yet: who fills a book adds its family.
complete='ADC|API|CAP|CGO|CSI|CSP|DP|DS|EA|EHM|EPH|EVM|FLX|INT|JOB|KVM|LOC|MIG|NL|NODE|OP|PROT|PROV|PVC|REG|REL|RSZ|SCH|SEC|SEQ|SNAP|SRC|SREL|TIM|TOPO|VB|VF|VPL|WL'

# The ids in what is read, one a line. "PVC-75..78" names both ends; a full stop after an id is none of it.
ids()
{
    sed -E "s/(($families)-)([A-Z]?[0-9]+)\\.\\.([0-9]+)/\\1\\3 \\1\\4/g" | tr -c 'A-Za-z0-9_.\n-' '\n' |
        sed 's/[.-]*$//' | grep -E "^($families)-[A-Z]?[0-9]+[a-z]?(\\.[0-9]+)?\$" | sort -u
}

# PVC-32.3 is a row of PVC-32, PVC-71c a part of PVC-71.
roots()
{
    sed -E 's/\.[0-9]+$//; s/([0-9])[a-z]$/\1/' | sort -u
}

tree_files models run cli sim tests | grep -e '\.[ch]$' -e '^tests/.*\.yaml$' >"$scratch/sources"
xargs cat <"$scratch/sources" | ids >"$scratch/named"
tree_files docs/rules | grep '\.md$' | xargs cat | ids >"$scratch/known"
roots <"$scratch/named" >"$scratch/named-roots"
roots <"$scratch/known" >"$scratch/known-roots"

# Named and unknown: neither itself nor the table that it is a row of; a table is known by its rows.
: >"$scratch/unknown"
while read -r rule; do
    root=${rule%.*}
    if ! grep -qxF -e "$rule" -e "$root" "$scratch/known" &&
        { [ "$rule" != "$root" ] || ! grep -qxF "$rule" "$scratch/known-roots"; }; then
        echo "$rule" >>"$scratch/unknown"
    fi
done <"$scratch/named"

grep -E "^($complete)-" "$scratch/unknown" | while read -r rule; do
    file=$(xargs grep -lE "(^|[^A-Za-z0-9_-])$rule([^A-Za-z0-9_]|\$)" <"$scratch/sources" | head -n 1)
    echo "$rule: named in $file, stands in no docs/rules/*.md"
done >"$scratch/faults"
case_result "every rule of a complete book that code names stands there" "$scratch/faults"

gaps=$(grep -vE "^($complete)-" "$scratch/unknown" | sed 's/-.*//' | uniq -c | awk '{ printf "%s%s %d", sep, $2, $1; sep = ", " }')
if [ -n "$gaps" ]; then
    case_skip "every rule that code names stands in a book" "books to be filled: $gaps"
else
    : >"$scratch/faults"
    case_result "every rule that code names stands in a book" "$scratch/faults"
fi

# No rule of a complete book is silently missing: code or a test names it, or a section says what it is instead. Rules that are
# nobody's code follow from others; stories, figures and other books' rules are told under headings of their own.
told='Not modelled|Later|What follows|Who writes how|Clients and Events|Releases|Whole stories|What is easy|Figures that follow'
tree_files docs/rules | grep '\.md$' | while read -r book; do
    awk -v told="^## ($told)" '/^## / { skip = $0 ~ told } !skip' "$book" | ids | roots
done | sort -u >"$scratch/to-be-named"
grep -E "^($complete)-" "$scratch/to-be-named" | comm -23 - "$scratch/named-roots" |
    sed 's/$/: in docs\/rules, but no code or test names it, and no section "Not modelled" either/' >"$scratch/faults"
case_result "every rule of a complete book is named, or told to be missing" "$scratch/faults"

# Rules of these books that tell a number, a period or a limit: a test names each. What it asserts of the number no script can see.
# A rule's row begins with its ids; ids, code in backquotes and releases are no numbers of it.
numbered='docs/rules/workloads.md docs/rules/stateful-set.md docs/rules/daemon-set.md docs/rules/node-lifecycle.md docs/rules/garbage-collector.md'
tree_files tests | grep -E '\.(c|h|sh)$' | grep -v '^tests/repo/' | xargs cat | ids | roots >"$scratch/tested"
for book in $numbered; do
    awk -v told="^## ($told)" '/^## / { skip = $0 ~ told } !skip' "$book" | grep -E "^\| ($families)-" | while read -r row; do
        rest=$(printf '%s\n' "$row" | sed -E "s/($families)-[A-Z]?[0-9]+[a-z]?(\\.[0-9]+)?//g; s/\`[^\`]*\`//g; s/1\\.[0-9]{2}//g")
        case $rest in *[0-9]*) printf '%s\n' "$row" | cut -d '|' -f 2 | ids | roots ;; esac
    done
done | sort -u >"$scratch/numbered"
comm -23 "$scratch/numbered" "$scratch/tested" |
    sed 's/$/: its row in docs\/rules has a number, and no test names it/' >"$scratch/faults"
case_result "every rule with a number about workloads and nodes is named by a test" "$scratch/faults"

n_known=$(wc -l <"$scratch/known-roots")
n_named=$(comm -12 "$scratch/known-roots" "$scratch/named-roots" | wc -l)
echo "# $n_named of the $n_known rules in docs/rules are named in code or tests: $((n_named * 100 / n_known)) %"
cases_end
