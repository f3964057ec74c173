#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Cases that are told in words are tests that bear their ids. KVOLSIM_CONFORMANCE names the folder that has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

if [ -z "${KVOLSIM_CONFORMANCE:-}" ]; then
    echo "1..0 # SKIP KVOLSIM_CONFORMANCE is not set: no recorded cases"
    exit 0
fi
runner=$builddir/tests/conformance/conformance
tree_files tests | grep '\.c$' >"$scratch/tests"
for suite in $("$runner" --suites); do
    [ -f "$KVOLSIM_CONFORMANCE/$suite.json" ] || continue
    "$runner" --stories "$KVOLSIM_CONFORMANCE/$suite.json" | while read -r story; do
        xargs grep -qF "\"$story" <"$scratch/tests" || echo "$story: no test bears this id"
    done >"$scratch/faults"
    case_result "stories of $suite" "$scratch/faults"
done
cases_end
