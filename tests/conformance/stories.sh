#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Cases that are told in words are tests that bear their ids. KVOLSIM_CONFORMANCE names the folder that has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

[ -n "${KVOLSIM_CONFORMANCE:-}" ] || skip_all "KVOLSIM_CONFORMANCE is not set: no recorded cases"
# Suites whose stories are all tests; of others the missing ones are listed. Who writes the last one adds the suite.
complete=' attachdetach kubelet_volumemanager protection_ephemeral_expand pv_controller pv_matching scheduler_nodevolumelimits scheduler_volumebinding scheduler_volumerestrictions scheduler_volumezone volume_operations '
runner=$builddir/tests/conformance/conformance
tree_files tests | grep '\.c$' >"$scratch/tests"
for suite in $("$runner" --suites); do
    [ -f "$KVOLSIM_CONFORMANCE/$suite.json" ] || continue
    "$runner" --stories "$KVOLSIM_CONFORMANCE/$suite.json" | while read -r story; do
        xargs grep -qF "\"$story" <"$scratch/tests" || echo "$story: no test bears this id"
    done >"$scratch/faults"
    case $complete in
    *" $suite "*)
        case_result "stories of $suite" "$scratch/faults"
        ;;
    *)
        sed 's/^/# /' "$scratch/faults"
        if [ -s "$scratch/faults" ]; then
            case_skip "stories of $suite" "$(wc -l <"$scratch/faults") have no test yet"
        else
            case_result "stories of $suite" "$scratch/faults"
        fi
        ;;
    esac
done
cases_end
