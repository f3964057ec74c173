#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Accessibility rules of axe-core on the page of `kvolsim serve`, in a real Chromium. AXE names the file axe.min.js of axe-core
# (npm install axe-core); without it, that of the global node_modules is taken.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
needs_chromium once
axe=${AXE:-$(npm root -g 2>/dev/null)/axe-core/axe.min.js}
[ -f "$axe" ] || skip_all "there is no axe-core (AXE=.../axe.min.js)"

small_cluster >small.yaml
begin served serve small.yaml --speed 0
/usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/axe.py" "$port" "$axe"
status=$?
kill -INT $pid
wait $pid
exit $status
