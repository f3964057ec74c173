#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every shell script parses, in the shell it asks for.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

for file in $(tree_files); do
    [ -f "$file" ] || continue
    shebang=
    read -r shebang <"$file" 2>/dev/null || :
    case $file:$shebang in
    *:'#!'*bash*) shell=bash ;;
    *:'#!'*/sh* | *:'#!'*'env sh'* | *.sh:*) shell=sh ;;
    *) continue ;;
    esac
    $shell -n "$file" >"$scratch/faults" 2>&1
    case_result "$file parses" "$scratch/faults"
done
cases_end
