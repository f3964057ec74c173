# SPDX-License-Identifier: GPL-3.0-or-later
# The rules of docs/rules/*.md as a C table, sorted by id: so what explains a run says what the books say. A row of a table
# "| id | rule | in Kubernetes |" is a rule, or several: "ADC-60, ADC-61", "KVM-41, 41.3", "ADC-42..44", "KVM-24.1 .. 24.5".
BEGIN {
    print "/* Made by scripts/rule-book.awk from docs/rules. */"
    print "#include \"run/rule-book.h\"\n"
    print "const RuleBookEntry rule_book[] = {"
    fflush()
    sort = "LC_ALL=C sort -t '\"' -k 2,2"
}
FNR == 1 {
    book = FILENAME
    sub(/.*\//, "", book)
}
function add(id, sentence) {
    if (id in known)
        return
    known[id] = 1
    printf "    {\"%s\", \"%s\", \"%s\"},\n", id, sentence, book | sort
}
# One part of a list of ids, without its family.
function add_part(family, part, sentence,    ends, n, first, last, head, i) {
    n = split(part, ends, / *\.\. */)
    if (n == 1) {
        add(family part, sentence)
        return
    }
    sub("^" family, "", ends[2])
    first = ends[1]
    last = ends[2]
    head = ""
    if (first ~ /\./) {
        head = first
        sub(/[^.]*$/, "", head)
        sub(/.*\./, "", first)
        sub(/.*\./, "", last)
    }
    for (i = first + 0; i <= last + 0; i++)
        add(family head i, sentence)
}
/^\| [A-Z]+-[A-Z]?[0-9][-A-Z0-9a-z., ]* \|/ {
    row = $0
    gsub(/\\\|/, "\001", row)
    split(row, cells, / *\| */)
    sentence = cells[3]
    gsub(/\001/, "|", sentence)
    gsub(/[`*]/, "", sentence)
    gsub(/\\/, "\\\\", sentence)
    gsub(/"/, "\\\"", sentence)
    n_ids = split(cells[2], ids, /, */)
    for (k = 1; k <= n_ids; k++) {
        if (match(ids[k], /^[A-Z]+-/)) {
            family = substr(ids[k], 1, RLENGTH)
            ids[k] = substr(ids[k], RLENGTH + 1)
        }
        add_part(family, ids[k], sentence)
    }
}
END {
    close(sort)
    print "    {0, 0, 0},\n};"
}
