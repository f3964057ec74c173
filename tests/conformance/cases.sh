#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recorded cases agree, of all suites that the runner knows. They are not part of this tree: KVOLSIM_CONFORMANCE names the
# folder that has them.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
[ -n "${KVOLSIM_CONFORMANCE:-}" ] || skip_all "KVOLSIM_CONFORMANCE is not set: no recorded cases"
set --
for suite in $("$KVOLSIM_BUILDDIR/tests/conformance/conformance" --suites); do
    [ ! -f "$KVOLSIM_CONFORMANCE/$suite.json" ] || set -- "$@" "$KVOLSIM_CONFORMANCE/$suite.json"
done
"$KVOLSIM_BUILDDIR/tests/conformance/conformance" "$@"
