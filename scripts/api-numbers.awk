# SPDX-License-Identifier: GPL-3.0-or-later
# Makes numbers.c of kubernetes.numbers.

function finish(    words, n, i, number, name) {
    if (entry == "") return
    n = split(entry, words, " ")
    sub(/:$/, "", words[1])
    number = 1
    printf "static const FieldNumber fields_%d[] = {\n", ++n_types
    for (i = 2; i <= n; i++) {
        name = words[i]
        if (match(name, /^[0-9]+=/)) {
            number = substr(name, 1, RLENGTH - 1) + 0
            name = substr(name, RLENGTH + 1)
        }
        if (name ~ /^@/) printf "    {%d, NULL, \"%s\"},\n", number++, substr(name, 2)
        else printf "    {%d, \"%s\", NULL},\n", number++, name
    }
    print "    {0, NULL, NULL},\n};"
    types[n_types] = words[1]
    entry = ""
}

BEGIN { print "/* Made by scripts/api-numbers.awk */\n#include \"serve/api/protobuf/numbers.h\"\n" }
/^#/ || /^$/ { next }
/^ / { entry = entry " " $0; next }
{ finish(); entry = $0 }
END {
    finish()
    print "const TypeNumbers type_numbers[] = {"
    for (i = 1; i <= n_types; i++) printf "    {\"%s\", fields_%d},\n", types[i], i
    print "    {NULL, NULL},\n};"
}
