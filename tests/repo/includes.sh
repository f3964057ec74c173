#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Who may include whom: sim <- models/api <- models/apiserver, models/client, models/csi <- models/* <- run <- cli.
# A component includes no other component's header; only the table of all models names them. Of the three in the
# middle, client knows apiserver (it sends requests there), and nothing else.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

tree_files sim models run cli | grep '\.[ch]$' >"$scratch/files"
while read -r file; do
    grep -n '^[ \t]*#[ \t]*include[ \t]*"' "$file" | sed "s|^|$file:|"
done <"$scratch/files" >"$scratch/includes"

awk -v found="$scratch" '
    function part(path) {
        if (path ~ /^models\/workloads\/[^\/]+\//) { split(path, p, "/"); return "component workloads/" p[3] }
        if (path ~ /^models\/(api|apiserver|client|csi|volume|workloads)\//) { split(path, p, "/"); return "models/" p[2] }
        if (path ~ /^models\/[^\/]+\//) { split(path, p, "/"); return "component " p[2] }
        split(path, p, "/"); return p[1]
    }
    function floor_of(name) {
        if (name == "sim") return 0
        if (name == "models/api") return 1
        if (name == "models/apiserver" || name == "models/client" || name == "models/csi") return 2
        if (name == "models" || name == "models/volume" || name == "models/workloads") return 3
        if (name ~ /^component /) return 4
        return name == "run" ? 5 : 6
    }
    function resolve(file, name,    dir) {
        dir = file; sub(/[^\/]*$/, "", dir)
        while (name ~ /^\.\.\//) { sub(/^\.\.\//, "", name); sub(/[^\/]+\/$/, "", dir) }
        if ((dir name) in exists) return dir name
        return name
    }
    FILENAME ~ /files$/ { exists[$0] = 1; next }
    {
        split($0, where, ":")
        name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
        if (name == "config.h") next
        target = resolve(where[1], name)
        place = where[1] ":" where[2] ": includes "
        if (!(target in exists)) { print place name ", which is no file of the project" >(found "/unknown"); next }
        from = part(where[1]); to = part(target)
        if (from == to || where[1] == "models/registry.c" && to ~ /^component /) next
        if (from ~ /^component / && to ~ /^component /)
            print place target ": components meet in API objects only" >(found "/component")
        else if (floor_of(to) > floor_of(from) ||
                 floor_of(to) == 2 && floor_of(from) == 2 && (from != "models/client" || to != "models/apiserver"))
            print place target ": against the arrow" >(found "/arrow")
    }' "$scratch/files" "$scratch/includes" || echo "the test itself is broken" >>"$scratch/unknown"

for list in arrow component unknown; do
    [ -e "$scratch/$list" ] || : >"$scratch/$list"
done
case_result "includes follow the arrow" "$scratch/arrow"
case_result "no component includes another" "$scratch/component"
case_result "every included header exists" "$scratch/unknown"
cases_end
