#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim report: the page fetches nothing. In a browser its slider shows the states of objects, at any width, in the light and in the
# dark.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
command -v chromium >/dev/null || skip_all "no chromium (apt-get install chromium)"

# The state of the page at a time.
page() { # TIME WIDTH
    HOME=$scratch timeout 120 chromium --headless --no-sandbox --disable-gpu --window-size="$2,1200" --virtual-time-budget=5000 \
        --dump-dom "file://$scratch/run/report.html#t=$1" 2>/dev/null
}

"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/burst-100.yaml" --out "$scratch/run" >/dev/null
"$kvolsim" report "$scratch/run" >/dev/null
result $? "the page is made"
! grep -o '\(src\|href\)="[^"#]*"' "$scratch/run/report.html" | grep -qv '"data:'
result $? "nothing is fetched"
page 0 1280 | grep -q 'id="now"[^>]*>at 0.0 s: 100 to come<'
result $? "at the start all pods are to come"
page 15 390 | grep -q 'id="now"[^>]*>at 15.0 s: [0-9]* without a node, [0-9]* on a node'
result $? "in between some wait for a node, on a phone"
page 70 1280 | grep -q 'id="now"[^>]*>at [0-9.]* s: 100 ready<'
result $? "at the end all are ready"
page 70 1280 | grep -q 'class="now"[^>]*>claims: 100 bound<'
result $? "all claims are bound by then"
page 70 1280 | grep -q 'class="now"[^>]*>volumes: 100 bound<'
result $? "and all volumes"
# Each id is there once, also of those that gnuplot gives every picture; and no text or axis has a colour that is gone in the dark.
test -z "$(grep -o "id=[\"'][^\"']*[\"']" "$scratch/run/report.html" | sort | uniq -d)"
result $? "ids are there once"
test "$(grep -c '<figure>' "$scratch/run/report.html")" -eq 9
result $? "all pictures are there"
cat >"$scratch/probe.html" <<'END'
<script>
const of = (q, what) => { const e = document.querySelector(q); return e ? getComputedStyle(e)[what] : 'none'; };
const found = [of('body', 'backgroundColor'), of('body', 'color'), of('figure svg text', 'fill'), of('figure svg [stroke="rgb( 85,  85,  85)"]', 'stroke'),
               document.documentElement.scrollWidth <= innerWidth ? 'fits' : 'too wide'];
document.body.setAttribute('data-probe', found.join('/'));
</script>
END
cat "$scratch/run/report.html" "$scratch/probe.html" >"$scratch/probed.html"
probe() { # SCHEME WIDTH: of Chromium's preferredColorScheme 0 is dark, 1 light
    HOME=$scratch timeout 120 chromium --headless --no-sandbox --disable-gpu --blink-settings="preferredColorScheme=$1" --window-size="$2,1200" \
        --virtual-time-budget=5000 --dump-dom "file://$scratch/probed.html" 2>/dev/null | grep -o 'data-probe="[^"]*"'
}
probe 0 1280 | grep -qxF 'data-probe="rgb(23, 25, 28)/rgb(232, 232, 232)/rgb(232, 232, 232)/rgb(168, 168, 168)/fits"' &&
    probe 1 390 | grep -qxF 'data-probe="rgb(255, 255, 255)/rgb(27, 27, 27)/rgb(27, 27, 27)/rgb(92, 92, 92)/fits"'
result $? "paper, ink, the pictures' text and axes are light or dark as the reader's system; nothing is wider than a phone"
cases_end
