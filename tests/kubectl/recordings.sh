#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the real kubectl 1.32.4 printed for recorded states of a cluster is printed for the same objects, to the letter: get in all
# its forms, describe and events. Each folder: objects.json, commands.txt (file, times before and after, command), *.out.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
tar -xJf "$KVOLSIM_SRCDIR/tests/kubectl/recorded.tar.xz" -C "$scratch"
"$KVOLSIM_BUILDDIR/tests/kubectl/kubectl" "$scratch"/*/
