#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The node driver in a container's place: a mount namespace of its own, the kubelet's folder with propagation, and a new namespace after
# each end (container.py). Nothing is mounted in the namespace of the tests.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
"$kvolsim" csi --help >/dev/null 2>&1 || skip_all "kvolsim was built without csi"
[ "$(id -u)" = 0 ] || skip_all "needs root"
unshare -m true 2>/dev/null || skip_all "mount namespaces are refused"
python=/usr/bin/python3
"$python" -c 'import grpc, grpc_tools.protoc' 2>/dev/null || skip_all "python3-grpcio or python3-grpc-tools is not here"
"$python" -m grpc_tools.protoc -I "$KVOLSIM_SRCDIR/serve/csi" --python_out="$scratch" --grpc_python_out="$scratch" csi.proto || exit 1
unshare -m --propagation private "$python" "$KVOLSIM_SRCDIR/tests/csi/socket/container.py" "$scratch" "$kvolsim"
