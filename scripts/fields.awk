# SPDX-License-Identifier: GPL-3.0-or-later
# docs/fields.md as a C table, in the order of the page. "## KIND" begins a kind; a row "| `a`, `b` | effect |" is a field for
# each path; a paragraph "Modelled: `a`, `b`." is one for each of its paths, and so "As KIND: `a`.". Behind a path may
# stand "other than `value`".
BEGIN {
    print "/* Made by scripts/fields.awk from docs/fields.md. */"
    print "#include \"run/scenario/effects.h\"\n"
    print "const FieldEffect field_effects[] = {"
}
function quote(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}
# All paths in @text.
function add(text, class, effect,    parts, n, i, value) {
    n = split(text, parts, "`")
    for (i = 2; i <= n; i += 2) {
        value = "NULL"
        if (parts[i + 1] == " other than ")
            value = quote(parts[i + 2])
        printf "    {%s, %s, %s, %s, %s},\n", quote(kind), quote(parts[i]), class, effect, value
        if (value != "NULL")
            i += 2
    }
}
function paragraph(    class, head, colon) {
    while (match(text, /(Modelled|No effect on storage|Left out of all runs|As [A-Za-z]+):/)) {
        head = substr(text, RSTART, RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        colon = match(text, /\.( |$)/)
        class = head == "Modelled" ? "FIELD_MODELLED" : head == "No effect on storage" ? "FIELD_NO_EFFECT" : "FIELD_LEFT_OUT"
        if (head ~ /^As /)
            add(substr(text, 1, colon), "FIELD_AS", quote(substr(head, 4)))
        else
            add(substr(text, 1, colon), class, "NULL")
        text = substr(text, colon + 1)
    }
    text = ""
}
/^## / {
    kind = substr($0, 4)
    next
}
kind == "" {
    next
}
/^\| `/ {
    row = $0
    sub(/^\| /, "", row)
    sub(/ \|$/, "", row)
    at = index(row, " | ")
    effect = substr(row, at + 3)
    gsub(/`/, "", effect)
    add(substr(row, 1, at - 1), "FIELD_NOT_MODELLED", quote(effect))
    next
}
/^$/ {
    paragraph()
    next
}
!/^\|/ {
    text = text (text == "" ? "" : " ") $0
}
END {
    paragraph()
    print "};"
    print "const unsigned n_field_effects = sizeof field_effects / sizeof field_effects[0];"
}
