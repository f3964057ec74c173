#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim report: the page asks for nothing from outside, and in a browser its slider tells the pods' states, at any width and in the dark.
set -u
if ! command -v chromium >/dev/null; then
    echo "1..0 # SKIP no chromium (apt-get install chromium)"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kvolsim=$KVOLSIM_BUILDDIR/kvolsim
n=0

report() { # STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

# The state of the page at a time.
page() { # TIME WIDTH
    HOME=$folder timeout 120 chromium --headless --no-sandbox --disable-gpu --window-size="$2,1200" --virtual-time-budget=5000 \
        --dump-dom "file://$folder/run/report.html#t=$1" 2>/dev/null
}

"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/burst-100.yaml" --out "$folder/run" >/dev/null
"$kvolsim" report "$folder/run" >/dev/null
report $? "the page is made"
! grep -o '\(src\|href\)="[^"#]*"' "$folder/run/report.html" | grep -qv '"data:'
report $? "nothing is fetched"
page 0 1280 | grep -q 'id="now"[^>]*>at 0.0 s: 100 to come<'
report $? "at the start all pods are to come"
page 15 390 | grep -q 'id="now"[^>]*>at 15.0 s: [0-9]* without a node, [0-9]* on a node'
report $? "in between some wait for a node, on a phone"
page 70 1280 | grep -q 'id="now"[^>]*>at [0-9.]* s: 100 ready<'
report $? "at the end all are ready"
echo "1..$n"
