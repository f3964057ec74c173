#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every figure in the prose of README and docs is printed by a command that a test runs, or figures.txt tells what measures it, which
# constant it is, or why it needs no source. See figures.py.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
command -v python3 >/dev/null 2>&1 || skip_all "no python3"
exec python3 "$KVOLSIM_SRCDIR/tests/repo/figures.py" "$KVOLSIM_SRCDIR"
