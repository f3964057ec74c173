#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `kvolsim serve` in a real Firefox (Debian: firefox-esr, python3-websocket); firefox.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
command -v firefox-esr >/dev/null || skip_all "there is no firefox-esr"
/usr/bin/python3 -c 'import websocket' 2>/dev/null || skip_all "there is no python3-websocket"
HOME=$scratch
export HOME

small_cluster >small.yaml
"$kvolsim" serve small.yaml --export exported >printed || exit 1
begin served serve small.yaml --speed 0
/usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/firefox.py" "$port" "$scratch/exported/index.html"
status=$?
kill -INT $pid
wait $pid
exit $status
