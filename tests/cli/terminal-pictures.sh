#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The README's pictures of a terminal show what the program prints now. If not, run make -C build terminal-pictures, and look at them.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach

cd "$KVOLSIM_SRCDIR" && scripts/terminal-pictures "$KVOLSIM_BUILDDIR/kvolsim" "$scratch"
result $? "the pictures are drawn"
for picture in "$scratch"/*.svg; do
    name=${picture##*/}
    diff "docs/$name" "$picture" >"$scratch/out"
    result $? "$name is up to date"
    ! grep -q 'kvolsim: ' "$picture" && [ "$(grep -c '<text' "$picture")" -gt 8 ]
    result $? "$name shows no error"
done
for picture in docs/terminal-*.svg; do
    [ -e "$scratch/${picture##*/}" ]
    result $? "$picture is of a session that there is"
    grep -q "$picture" README.md
    result $? "$picture stands in the README"
done
cases_end
