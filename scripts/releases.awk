# SPDX-License-Identifier: GPL-3.0-or-later
# The rows of docs/rules/releases.md, "| REL-10 | change | 1.20 | rules | source |", as a C table in the order of the page.
BEGIN {
    FS = " *\\| *"
    print "/* Made by scripts/releases.awk from docs/rules/releases.md. */"
    print "#include \"run/teach/releases.h\"\n"
    print "const ReleaseChange release_changes[] = {"
}
/^\| REL-[0-9]+ / && $4 ~ /^1\.[0-9]+$/ {
    gsub(/["\\`]/, "", $3)
    printf "    {\"%s\", %d, \"%s\", \"%s\"},\n", $2, substr($4, 3), $5, $3
}
END {
    print "    {NULL, 0, NULL, NULL},"
    print "};"
}
