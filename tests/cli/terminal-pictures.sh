#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The README's pictures of a terminal show what the program prints now. If not: make -C build terminal-pictures, and look at them.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n=0
failed=0
result() # STATUS NAME
{
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        failed=1
    fi
}

cd "$KVOLSIM_SRCDIR" && scripts/terminal-pictures "$KVOLSIM_BUILDDIR/kvolsim" "$scratch"
result $? "the pictures are drawn"
for picture in "$scratch"/*.svg; do
    name=${picture##*/}
    diff "docs/$name" "$picture" >"$scratch/diff"
    status=$?
    sed 's/^/# /' "$scratch/diff" | head -n 6
    result $status "$name is up to date"
    ! grep -q 'kvolsim: ' "$picture" && [ "$(grep -c '<text' "$picture")" -gt 8 ]
    result $? "$name shows no error"
done
for picture in docs/terminal-*.svg; do
    [ -e "$scratch/${picture##*/}" ]
    result $? "$picture is of a session that there is"
    grep -q "$picture" README.md
    result $? "$picture stands in the README"
done
echo "1..$n"
exit $failed
