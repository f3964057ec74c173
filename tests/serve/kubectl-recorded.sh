#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recorded states of a real cluster, served: a real kubectl prints the recorded output. Every sixth state; ALL=1: all of them.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"
HOME=$scratch # no configuration of a real cluster
KUBECONFIG=/dev/null
export HOME KUBECONFIG
kubectl version --client 2>/dev/null | grep -q 'v1\.32\.' || skip_all "kubectl 1.32 is not here"
tar -xJf "$KVOLSIM_SRCDIR/tests/kubectl/recorded.tar.xz" -C "$scratch"
set -- "$scratch"/[0-9]*/
[ -n "${ALL:-}" ] || set -- $(printf '%s\n' "$@" | sed -n '3~6p')
python3 "$KVOLSIM_SRCDIR/tests/serve/kubectl-recorded.py" "$kvolsim" "$@"
