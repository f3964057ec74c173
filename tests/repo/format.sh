#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tree is formatted: `make format` changes nothing.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

wanted=14 # other versions format differently
case $(clang-format --version 2>/dev/null) in
*" version $wanted."*)
    tree_files sim models run serve cli tests | grep '\.[ch]$' | grep -v '^tests/bench/yardstick/' |
        xargs -n 16 clang-format --dry-run 2>&1 | grep 'Wclang-format-violations' >"$scratch/faults"
    case_result "every source file is formatted" "$scratch/faults"
    ;;
*) case_skip "every source file is formatted" "clang-format $wanted is not here" ;;
esac
cases_end
