#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recordings in tests/golden/recorded agree with what 200 seeds produce: every stage value within 20 ms of their range,
# every count of requests and calls within it.
set -eu
exec "$KVOLSIM_BUILDDIR/tests/golden/golden" "$KVOLSIM_SRCDIR"/tests/golden/recorded/*
