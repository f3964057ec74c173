#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `kvolsim serve` at ten instants of ten scenarios, beside get, why and explain (Debian: chromium-driver,
# python3-selenium); shown.py has the cases. Of three scenarios, or of all ten with ALL=1, which takes minutes.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
needs_chromium once
n=0 status=0
scenarios='burst-100 node-power-off-out-of-service snapshot-and-restore'
[ "${ALL:-0}" = 0 ] || scenarios="$scenarios api-server-outage statefulset-rollout zone-outage expand-online attach-limit csi-errors rolling-reboot"
for scenario in $scenarios; do
    begin served serve "$KVOLSIM_SRCDIR/scenarios/$scenario.yaml" --speed 0
    FIRST_CASE=$n /usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/shown.py" "$port" "$kvolsim" "$KVOLSIM_SRCDIR/scenarios/$scenario.yaml" >printed 2>errors || status=1
    cat printed
    sed 's/^/# /' errors
    n=$((n + $(grep -c '^\(not \)\?ok' printed)))
    kill -INT $pid
    wait $pid
done
echo "1..$n"
exit $status
