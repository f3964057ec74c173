#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# One meaning for each name: a type is defined once in the whole tree, and a static function's name is that of few, so that a
# debugger, grep and a reader find the one that is meant.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

tree_files sim models run serve cli tests | grep '\.[ch]$' | grep -v '^tests/bench/yardstick/' >"$scratch/files"

# A body, or a typedef of anything but a struct of the same name (that one announces a type).
xargs awk '
    function defined(name) { print name, FILENAME }
    FNR == 1 { in_comment = 0 }
    in_comment { if (/\*\//) in_comment = 0; next }
    /^\/\*/ { if (!/\*\//) in_comment = 1; next }
    /^typedef .*\(\*[A-Za-z0-9_]+\)\(/ { match($0, /\(\*[A-Za-z0-9_]+\)/); defined(substr($0, RSTART + 2, RLENGTH - 3)); next }
    /^typedef [^{]*;/ {
        name = $0; sub(/;.*/, "", name); sub(/[[(].*/, "", name)
        tag = $3
        sub(/.*[ *]/, "", name)
        if (!(/^typedef (struct|enum|union) / && tag == name)) defined(name)
        next
    }
    /^} [A-Za-z0-9_]+;/ { name = $2; sub(/;.*/, "", name); defined(name); next }
    /^(struct|enum|union) [A-Za-z0-9_]+( \{)?$/ { defined($2) }' <"$scratch/files" | sort -u |
    awk '{ n[$1]++; files[$1] = files[$1] " " $2 } END { for (name in n) if (n[name] > 1) print name ":" files[name] }' |
    sort >"$scratch/types"
case_result "no type name has two meanings" "$scratch/types"

xargs awk '
    FNR == 1 { is_static = 0 }
    is_static && match($0, /^[a-z_0-9]+\(/) { print substr($0, 1, RLENGTH - 1), FILENAME }
    /^TEST[A-Z_]*\(.*[a-z_0-9]\)$/ && !/^TEST_ROWS/ { name = $0; sub(/\)$/, "", name); sub(/.*[( ]/, "", name); print name, FILENAME }
    /^PHRASE[A-Z_]*\([a-z_0-9]+[,)]/ { split($0, part, /[(),]/); print part[2], FILENAME }
    { is_static = /^static [^;{}=]*$/ }' <"$scratch/files" | sort -u |
    awk '{ n[$1]++; files[$1] = files[$1] " " $2 } END { for (name in n) if (n[name] > 3) print name "():" files[name] }' |
    sort >"$scratch/functions"
case_result "no static function's name stands in more than three files" "$scratch/functions"

cases_end
