#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The documents keep up with the tree: docs/rooms.svg shows the present includes; every path that a document names exists, as do
# the functions in docs/architecture.md, each in the file that its row names.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

scripts/rooms-picture >"$scratch/rooms.svg" 2>"$scratch/faults" || echo "scripts/rooms-picture fails" >>"$scratch/faults"
cmp -s "$scratch/rooms.svg" docs/rooms.svg ||
    echo "docs/rooms.svg is out of date: make -C build rooms-picture, and look at it" >>"$scratch/faults"
case_result "the picture of the rooms is up to date" "$scratch/faults"

# Paths are words in backquotes, or in blocks of code, that begin with a folder of the tree, and bare names of C files. Test programs
# are named without .c; <name>, * and NN stand for many.
tree_files >"$scratch/tree"
tree_files | grep -E '^([^/]*|docs/.*|models/profiles/.*)[.](md|1)$' >"$scratch/documents"
awk -v tree="$scratch/tree" '
    BEGIN {
        while ((getline file <tree) > 0) {
            name = file; sub(/.*\//, "", name); is_name[name] = 1
            exists[file] = 1
            sub(/[.]c$/, "", file); exists[file] = 1
            while (sub(/\/[^\/]*$/, "", file)) exists[file] = 1
        }
    }
    function check(text,    words, n, i, word) {
        n = split(text, words, /[ \t=,;:{}()"\047\[\]]+/)
        for (i = 1; i <= n; i++) {
            word = words[i]
            sub(/[.]+$/, "", word); sub(/\/$/, "", word); sub(/^[.]\//, "", word)
            if (word ~ /[<>*$%]|NN/) continue
            if (word ~ /^(sim|models|run|serve|cli|docs|tests|scenarios|scripts|plots|po)\/[A-Za-z0-9]/ && !(word in exists))
                print FILENAME ":" FNR ": " word
            else if (word ~ /^[a-z0-9-]+[.][ch]$/ && !(word in is_name))
                print FILENAME ":" FNR ": no file is called " word
        }
    }
    FNR == 1 { fenced = 0 }
    FILENAME ~ /[.]1$/ { gsub(/\\-/, "-"); gsub(/\\f./, ""); check($0); next }
    /^```/ { fenced = !fenced; next }
    fenced || /^    / { check($0); next }
    {
        n_parts = split($0, parts, "`")
        for (k = 2; k <= n_parts; k += 2) check(parts[k])
    }' $(cat "$scratch/documents") >"$scratch/faults"
case_result "every path that a document names exists" "$scratch/faults"

# Links, from the folder of the document; anchors are headings of the other document.
: >"$scratch/faults"
while read -r document; do
    grep -noE '\]\([^)]*\)' "$document" | sed -E 's/^([0-9]+):\]\(([^) ]*).*/\1 \2/' | while read -r line target; do
        case $target in *://* | mailto:*) continue ;; esac
        folder=$(dirname "$document")
        file=${target%%#*}
        other=$document
        [ -z "$file" ] || other=$folder/$file
        if [ ! -e "$other" ]; then
            echo "$document:$line: $target"
        elif [ "$target" != "$file" ]; then
            sed -nE 's/^#+ //p' "$other" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n_-' | grep -qxF -e "${target#*#}" ||
                echo "$document:$line: $target: no such heading"
        fi
    done
done <"$scratch/documents" >"$scratch/faults"
case_result "every link leads somewhere" "$scratch/faults"

# A row that names files and functions: each function is defined in one of these files. In a sentence: anywhere.
awk '
    /^\|/ || /`[a-z0-9_]+\(\)`/ {
        files = ""
        n_functions = 0
        n_parts = split($0, parts, "`")
        for (k = 2; k <= n_parts; k += 2)
            if (parts[k] ~ /[.]c$/ && parts[k] !~ /[<*]/) files = files " " parts[k]
            else if (parts[k] ~ /^[a-z0-9_]+\(\)$/) { sub(/\(\)$/, "", parts[k]); functions[++n_functions] = parts[k] }
        for (k = 1; k <= n_functions; k++) print FNR, functions[k], /^\|/ ? files : ""
    }' docs/architecture.md >"$scratch/functions"
while read -r line function files; do
    # shellcheck disable=SC2046,SC2086 # lists of words
    grep -sqE "^$function\\(" ${files:-$(grep '[.]c$' "$scratch/tree")} ||
        echo "docs/architecture.md:$line: $function() is not defined in ${files:-any file}"
done <"$scratch/functions" >"$scratch/faults"
[ "$(wc -l <"$scratch/functions")" -gt 60 ] || echo "docs/architecture.md names hardly any function" >>"$scratch/faults"
case_result "every function of the architecture page is in its file" "$scratch/faults"
cases_end
