#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Hostile texts on the page of `kvolsim serve` (Debian: chromium-driver, python3-selenium); markup.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
needs_chromium once
small_cluster >small.yaml
begin served serve small.yaml --speed 0
/usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/markup.py" "$port"
code=$?
end INT
exit $code
