#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What a real API server answered to kubectl, against serve. The recording is not part of this tree: KVOLSIM_KUBECTL_HTTP names its
# folder, with http.jsonl.xz.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"
[ -n "${KVOLSIM_KUBECTL_HTTP:-}" ] || skip_all "KVOLSIM_KUBECTL_HTTP is not set: no recording"
python3 "$KVOLSIM_SRCDIR/tests/serve/kubectl-http.py" "$kvolsim" "$KVOLSIM_KUBECTL_HTTP"
