#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A new user's walk over the page of `kvolsim serve`: odd clusters, objects of one name, a server that goes away and comes back, a
# report with its page (Debian: chromium-driver, python3-selenium); walk.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
needs_chromium once
small_cluster >small.yaml
/usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/walk.py" "$kvolsim" small.yaml
