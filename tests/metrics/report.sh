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
page 70 1280 | grep -q 'class="now"[^>]*>claims: 100 bound<'
report $? "all claims are bound by then"
page 70 1280 | grep -q 'class="now"[^>]*>volumes: 100 bound<'
report $? "and all volumes"
# Each id is there once, also of those that gnuplot gives every picture; and no text or axis has a colour that is gone in the dark.
test -z "$(grep -o "id=[\"'][^\"']*[\"']" "$folder/run/report.html" | sort | uniq -d)"
report $? "ids are there once"
test "$(grep -c '<figure>' "$folder/run/report.html")" -eq 8
report $? "all pictures are there"
cat >"$folder/probe.html" <<'END'
<script>
const of = (q, what) => { const e = document.querySelector(q); return e ? getComputedStyle(e)[what] : 'none'; };
const found = [of('body', 'backgroundColor'), of('body', 'color'), of('figure svg text', 'fill'), of('figure svg [stroke="rgb( 85,  85,  85)"]', 'stroke'),
               document.documentElement.scrollWidth <= innerWidth ? 'fits' : 'too wide'];
document.body.setAttribute('data-probe', found.join('/'));
</script>
END
cat "$folder/run/report.html" "$folder/probe.html" >"$folder/probed.html"
probe() { # SCHEME WIDTH: of Chromium's preferredColorScheme 0 is dark, 1 light
    HOME=$folder timeout 120 chromium --headless --no-sandbox --disable-gpu --blink-settings="preferredColorScheme=$1" --window-size="$2,1200" \
        --virtual-time-budget=5000 --dump-dom "file://$folder/probed.html" 2>/dev/null | grep -o 'data-probe="[^"]*"'
}
probe 0 1280 | grep -qxF 'data-probe="rgb(23, 25, 28)/rgb(232, 232, 232)/rgb(232, 232, 232)/rgb(168, 168, 168)/fits"' &&
    probe 1 390 | grep -qxF 'data-probe="rgb(255, 255, 255)/rgb(27, 27, 27)/rgb(27, 27, 27)/rgb(92, 92, 92)/fits"'
report $? "paper, ink, the pictures' text and axes are light or dark as the reader's system; nothing is wider than a phone"
echo "1..$n"
