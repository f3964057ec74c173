#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests made at random, twenty thousand of them: each is answered, nothing crashes. `make fuzz-csi` goes on for twenty minutes.
program=${KVOLSIM_BUILDDIR:?}/tests/csi/socket/fuzz
[ -x "$program" ] || exit 77
exec "$program" 20000 1
