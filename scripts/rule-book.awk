# SPDX-License-Identifier: GPL-3.0-or-later
# The rules of docs/rules/*.md as a C table, sorted by id: so what explains a run says what the books say. A row of a table
# "| id | rule | in Kubernetes |" is a rule, or several: "ADC-60, ADC-61", "KVM-41, 41.3", "ADC-42..44", "KVM-24.1 .. 24.5".
# A row of docs/plain-words.md, "| id | sentence |", is one id of the books; N_() marks what is translated.
BEGIN {
    print "/* Made by scripts/rule-book.awk from docs/rules. */"
    print "#include \"run/teach/rule-book.h\"\n"
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
function cell(text) {
    gsub(/\001/, "|", text)
    gsub(/[`*]/, "", text)
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return text
}
book == "plain-words.md" {
    if ($0 ~ /^\| [A-Z]+-/) {
        split($0, cells, / *\| */)
        n_plain++
        plain_id[n_plain] = cells[2]
        plain[n_plain] = cell(cells[3])
    }
    next
}
/^\| [A-Z]+-[A-Z]?[0-9][-A-Z0-9a-z., ]* \|/ {
    row = $0
    gsub(/\\\|/, "\001", row)
    split(row, cells, / *\| */)
    sentence = cell(cells[3])
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
    print "    {0, 0, 0},\n};\n"
    print "#define N_(text) text\n\nconst RulePlainWords rule_plain_words[] = {"
    fflush()
    for (i = 1; i <= n_plain; i++) {
        whole = part = plain_id[i]
        if (part ~ /[a-z]$/)
            sub(/[a-z]$/, "", part)
        if (!(part in known))
            sub(/\.[0-9]+$/, "", part)
        if (!(whole in known) && !(part in known)) {
            print "docs/plain-words.md: " whole " stands in no book" >"/dev/stderr"
            bad = 1
        }
        printf "    {\"%s\", N_(\"%s\")},\n", whole, plain[i] | sort
    }
    close(sort)
    print "    {0, 0},\n};"
    exit bad
}
