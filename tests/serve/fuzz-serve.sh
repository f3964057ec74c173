#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests made at random, 1500 to each of four releases: each is answered, nothing crashes. `make fuzz-serve` goes on for twenty minutes.
program=${KVOLSIM_BUILDDIR:?}/tests/serve/fuzz-serve
[ -x "$program" ] || exit 77
for seed in 1 2 3 4; do
    "$program" 1500 "$seed" || exit 1
done
