# SPDX-License-Identifier: GPL-3.0-or-later
# Defaults of other releases as a C table, in the order of the pages: from docs/rules/releases.md
# "| REL-30 | kubelet | flag `kubeAPIQPS` | 1.27 | 5 | 50 | source |", from docs/rules/sidecar-releases.md
# "| SREL-1 | external-provisioner | gate `Topology` | 5.0 | false | true | 1.34 | source |".
BEGIN {
    FS = " *\\| *"
    print "/* Made by scripts/release-defaults.awk from docs/rules/releases.md and sidecar-releases.md. */"
    print "#include \"run/scenario/release-defaults.h\"\n"
    print "const ReleaseDefault release_defaults[] = {"
}
/^\| S?REL-[0-9]+ / && $4 ~ /^(flag|gate|behaviour) `/ {
    split($4, what, "`")
    split($5, since, ".")
    needs = $2 ~ /^S/ && $8 != "" ? substr($8, 3) : 0
    printf "    {\"%s\", \"%s\", \"%s\", %s, %d, %d, %d, \"%s\", \"%s\"},\n", $2, $3, what[2], \
        what[1] ~ /gate/ ? "TRUE" : "FALSE", since[1], since[2], needs, $6, $7
}
END {
    print "    {NULL, NULL, NULL, FALSE, 0, 0, 0, NULL, NULL},"
    print "};"
}
