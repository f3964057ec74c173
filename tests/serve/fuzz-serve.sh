#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests made at random, three thousand of them: each is answered, nothing crashes. `make fuzz-serve` goes on for twenty minutes.
program=${KVOLSIM_BUILDDIR:?}/tests/serve/fuzz-serve
[ -x "$program" ] || exit 77
exec "$program" 3000 1
