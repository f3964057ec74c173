#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Google's gRPC, in Python, on `kvolsim csi`: client.py, with stubs made from the tree's csi.proto.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
"$kvolsim" csi --help >/dev/null 2>&1 || skip_all "kvolsim was built without csi"
python=/usr/bin/python3
"$python" -c 'import grpc, grpc_tools.protoc' 2>/dev/null || skip_all "python3-grpcio or python3-grpc-tools is not here"
"$python" -m grpc_tools.protoc -I "$KVOLSIM_SRCDIR/serve/csi" --python_out="$scratch" --grpc_python_out="$scratch" csi.proto || exit 1
"$python" "$KVOLSIM_SRCDIR/tests/csi/socket/client.py" "$scratch" "$kvolsim" "$KVOLSIM_SRCDIR/tests/csi/socket/everything.yaml"
