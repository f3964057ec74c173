#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recordings in tests/golden/recorded agree with what 200 seeds produce, or 2000 if it takes so many to meet one of a thousand
# values: every stage value within 20 ms of their range, every count of requests and calls within it, every curve of a burst within
# a token of it.
set -eu
golden=$KVOLSIM_BUILDDIR/tests/golden/golden
recorded=$KVOLSIM_SRCDIR/tests/golden/recorded
status=0
"$golden" "$recorded"/0[12]-* || status=1
"$golden" --more 2000 "$recorded"/06-* "$recorded"/[1-9]* || status=1
exit $status
