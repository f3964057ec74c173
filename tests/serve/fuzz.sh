#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Spoilt writes, a few hundred of them: nothing may crash. `make fuzz-writes` has more.
exec "${KVOLSIM_BUILDDIR:?}/tests/serve/fuzz-writes" 300 1
