#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# as-tap.sh PROGRAM [ARG]…: runs one test program and prints one sound TAP stream whatever it speaks:
#  - TAP with several plans (cmocka: one per group) and "not ok … # SKIP" for a skipped case (cmocka 1.1.5);
#  - a last line `N passed, N failed, N skipped` (conformance, golden, soak, …);
#  - nothing but its exit status: 0 passed, 77 skipped, anything else failed.
# A program that dies counts as a failure, also after cases that passed; so does one that runs for ten minutes.
program=$1
{
    timeout --kill-after=10 "${TEST_SECONDS:-600}" "$@" 2>&1
    echo "as-tap-status $?"
} | awk -v program="${program##*/}" '
    function result(word, rest) { printf "%s %d%s\n", word, ++cases, rest; if (word == "not ok") failed++ }
    function counted(word, count, directive,    i) {
        for (i = 1; i <= count; i++) result(word, " - " program " " word " case " i directive)
    }
    /^as-tap-status [0-9]+$/ { status = $2; next }
    /^1\.\.0[ \t]*#[ \t]*[Ss][Kk][Ii][Pp]/ { why = $0; sub(/^[^#]*#[ \t]*[^ \t]*[ \t]*/, "", why); skip_all = 1; next }
    /^1\.\.[0-9]+/ { planned += substr($1, 4); next }
    /^Bail out!/ { result("not ok", " - " $0); next }
    /^(not )?ok([ \t]|$)/ {
        word = /^not/ ? "not ok" : "ok"
        rest = $0
        sub(/^(not )?ok[ \t]*[0-9]*/, "", rest)
        if (rest ~ /#[ \t]*SKIP/) word = "ok"
        taps++
        result(word, rest)
        next
    }
    { print /^#/ ? $0 : "# " $0; last = $0 }
    END {
        if (last ~ /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/) {
            split(last, n, " ")
            counted("ok", n[1], "")
            counted("not ok", n[3], "")
            counted("ok", n[5], " # SKIP")
            if (n[3] + 0 > 0 && status != 0) status = 0
            said = 1
        }
        if (planned > taps)
            result("not ok", " - " program " stopped after " taps + 0 " of " planned " cases")
        else if (status != 0 && status != 77 && !failed)
            result("not ok", " - " program " ended with status " status)
        else if (!cases && (status == 77 || skip_all))
            result("ok", " - " program " # SKIP " why)
        else if (!cases && !said)
            result("ok", " - " program)
        print "1.." cases + 0 (cases ? "" : " # SKIP no cases")
    }'
