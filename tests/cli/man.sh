#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The man pages of commands are what --help prints, one for each, and troff has nothing to say about any page.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach loop

mkdir "$scratch/man"
"$KVOLSIM_SRCDIR/scripts/man-pages" "$kvolsim" "$scratch/man" >"$scratch/out" 2>"$scratch/err" &&
    diff -ru "$KVOLSIM_SRCDIR/docs/man" "$scratch/man" >"$scratch/out"
result $? "docs/man has a page of each command, as --help is now (else: make man-pages)"

"$kvolsim" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r command; do
    grep -q "^\.BR\{0,1\} .*\b$command\b" "$KVOLSIM_SRCDIR/docs/kvolsim.1" || echo "$command"
done >"$scratch/out"
[ ! -s "$scratch/out" ]
result $? "docs/kvolsim.1 has every command"

if command -v man >/dev/null 2>&1 && command -v groff >/dev/null 2>&1; then
    for page in "$KVOLSIM_SRCDIR/docs/kvolsim.1" "$KVOLSIM_SRCDIR"/docs/man/*.1; do
        LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | sed "s|^|${page##*/}: |"
    done >"$scratch/out"
    [ ! -s "$scratch/out" ]
    result $? "man -l has no warnings"
else
    case_skip "man -l has no warnings" "no man, or no groff"
fi
cases_end
