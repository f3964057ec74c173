#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The past of a served run is the present that it was, byte for byte; and a branch from it has the same future. past.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
cd "$scratch" || exit 1
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"
n=0 status=0
for name in burst-100 node-power-off-out-of-service api-server-outage snapshot-and-restore statefulset-rollout zone-outage expand-online \
    attach-limit csi-errors rolling-reboot; do
    "$kvolsim" serve "$KVOLSIM_SRCDIR/scenarios/$name.yaml" --speed 0 --listen 127.0.0.1:0 >served 2>>errors &
    pid=$!
    port=
    for _ in $(seq 600); do
        port=$(sed -n 's|.*--server http://127.0.0.1:\([0-9]*\) .*|\1|p' served)
        [ -z "$port" ] || break
        sleep 0.1
    done
    FIRST_CASE=$n python3 "$KVOLSIM_SRCDIR/tests/serve/past.py" "$port" "$name" >printed || status=1
    cat printed
    n=$((n + $(grep -c '^\(not \)\?ok' printed)))
    kill -INT $pid
    wait $pid
done
echo "1..$n"
[ -s errors ] && sed 's/^/# /' errors
exit $status
