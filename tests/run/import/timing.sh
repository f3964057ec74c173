#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The timing that import makes of an audit log: writes that take longer than usual scale it, usual ones do not.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
scenario=$KVOLSIM_SRCDIR/scenarios/statefulset-rollout.yaml
"$kvolsim" get nodes,sc,csidrivers,csinodes "$scenario" --at 0s -o json >"$scratch/dump.json" 2>"$scratch/err"

# log MILLISECONDS COUNT: an audit log with writes of a controller, of lognormal durations with this median
log()
{
    awk -v median="$1" -v n="$2" 'BEGIN {
        srand(1)
        for (i = 0; i < n; i++) {
            z = sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand())
            us = 1000 * median * (0.29 + 0.71 * exp(0.75 * z))
            second = 10 + int(i / 10)
            printf "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\",\"auditID\":\"%d\",", i
            printf "\"stage\":\"ResponseComplete\",\"requestURI\":\"/api/v1/persistentvolumes\",\"verb\":\"create\","
            printf "\"user\":{\"username\":\"system:serviceaccount:kube-system:persistent-volume-binder\"},"
            printf "\"userAgent\":\"kube-controller-manager/v1.32.0\",\"objectRef\":{\"resource\":\"persistentvolumes\",\"name\":\"v%d\",\"apiVersion\":\"v1\"},", i
            printf "\"responseStatus\":{\"code\":201},\"requestReceivedTimestamp\":\"2026-01-02T00:%02d:%02d.100000Z\",", second / 60, second % 60
            printf "\"stageTimestamp\":\"2026-01-02T00:%02d:%02d.%06dZ\"}\n", second / 60, second % 60, 100000 + us
        }
    }' >"$scratch/audit.log"
}

made()
{
    rm -rf "$scratch/folder"
    "$kvolsim" import "$scratch/dump.json" --audit "$scratch/audit.log" --start 2026-01-02T00:00:00Z --out "$scratch/folder" >"$scratch/out" 2>"$scratch/err"
}

log 14 500
made && grep -q '^  timing: timing.yaml' "$scratch/folder/scenario.yaml" && "$kvolsim" check "$scratch/folder/scenario.yaml" >"$scratch/out" 2>"$scratch/err"
result $? "slow writes make a timing"
# four times 2.5 ms, within a tenth
awk '/^write:/ { gsub("ms,", ""); found = $4 > 9 && $4 < 11 } END { exit !found }' "$scratch/folder/timing.yaml"
result $? "... as slow as they are" "$scratch/folder/timing.yaml"
log 3.5 500
made && [ ! -e "$scratch/folder/timing.yaml" ] && ! grep -q timing "$scratch/folder/scenario.yaml"
result $? "usual writes make none"
log 14 50
made && [ ! -e "$scratch/folder/timing.yaml" ]
result $? "few writes make none"
cases_end
