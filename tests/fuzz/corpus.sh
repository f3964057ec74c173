#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The corpus of the fuzzers, which has an input of every fault that they found: nothing crashes. `make fuzz` makes up more.
exec "${KVOLSIM_BUILDDIR:?}/fuzz-replay"
