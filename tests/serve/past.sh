#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The past of a served run is the present that it was, byte for byte; and a branch from it has the same future. past.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
n=0 status=0
scenarios='csi-errors snapshot-and-restore'
[ "${KVOLSIM_SANITIZERS:-no}" = yes ] || # where each takes half a minute
    scenarios="$scenarios burst-100 node-power-off-out-of-service api-server-outage statefulset-rollout zone-outage expand-online attach-limit rolling-reboot"
for scenario in $scenarios; do
    begin served serve "$KVOLSIM_SRCDIR/scenarios/$scenario.yaml" --speed 0
    FIRST_CASE=$n python3 "$KVOLSIM_SRCDIR/tests/serve/past.py" "$port" "$scenario" >printed || status=1
    cat printed
    n=$((n + $(grep -c '^\(not \)\?ok' printed)))
    kill -INT $pid
    wait $pid
done
echo "1..$n"
exit $status
