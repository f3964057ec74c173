#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every source file is in the Makefile fragment of its own folder, and every fragment is included: a forgotten
# file would neither be built nor tested.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

tree_files sim models run serve cli tests | grep '\.[ch]$' >"$scratch/sources"
tree_files sim models run serve cli tests | grep '/Makefile-[^/]*\.am$' >"$scratch/fragments"

: >"$scratch/unlisted"
while read -r file; do
    stem=${file%.*}
    folder=$file
    listed=no
    while [ "$folder" != "${folder%/*}" ]; do # its own folder's fragment, or one further up
        folder=${folder%/*}
        for fragment in "$folder"/Makefile-*.am; do
            [ -e "$fragment" ] || continue
            # A test program names its source by its own name.
            if grep -v '^#' "$fragment" | tr -s ' \t\\' '\n' | grep -qxF -e "$file" -e "$stem"; then
                listed=yes
            fi
        done
    done
    [ $listed = yes ] || echo "$file: in no Makefile-*.am of its folder" >>"$scratch/unlisted"
done <"$scratch/sources"
case_result "every source file is listed in its folder's fragment" "$scratch/unlisted"

: >"$scratch/left-out"
while read -r fragment; do
    grep -qxF "include $fragment" Makefile.am models/Makefile-models.am run/Makefile-run.am serve/Makefile-serve.am tests/run/Makefile-tests-run.am || echo "$fragment: not included" >>"$scratch/left-out"
done <"$scratch/fragments"
case_result "every fragment is included" "$scratch/left-out"
cases_end
