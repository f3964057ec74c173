#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The lessons in the page of `kvolsim serve`, in a real Chromium (Debian: chromium-driver, python3-selenium); lessons.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
needs_chromium once
small_cluster >small.yaml
begin served serve small.yaml --speed 0
/usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/lessons.py" "$port" "$KVOLSIM_SRCDIR/scenarios/lessons/solutions"
code=$?
end INT
sed 's/^/# /' served.err
exit $code
