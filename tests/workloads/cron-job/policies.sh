#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What a CronJob does in a run: policies, deadlines, old Jobs, and controllers that die.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"

# cron SPEC TEMPLATE-ANNOTATIONS [MORE]: a run of 11 minutes that begins at 01:59; MORE: lines of the scenario's spec.
cron()
{
    cat >"$scratch/cron.yaml" <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: cron}
spec:
  start: "2026-01-01T01:59:00Z"
  until: 11m
  nodes: [{name: node-1}]
  drivers: [{name: csi.example.com}]
${3:-}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: work}
spec:
  schedule: "*/2 * * * *"
  $1
  jobTemplate: {metadata: {labels: {made: cron}}, spec: {backoffLimit: 0, template: {metadata: {annotations: {$2}}, spec: {
    restartPolicy: Never, containers: [{name: c, image: i}]}}}}
END
    "$kvolsim" events "$scratch/cron.yaml" >"$scratch/events" 2>"$scratch/err"
}

# n_events REASON N: whether there are N of them, repeated ones counted.
n_events()
{
    found=$(awk -v reason="$1" '$0 ~ " " reason " " { n += match($0, /\(x[0-9]+/) ? substr($0, RSTART + 2, RLENGTH - 2) : 1 } END { print n + 0 }' "$scratch/events")
    [ "$found" -eq "$2" ] || { echo "$1: $found, not $2" >>"$scratch/err"; return 1; }
}

jobs() # AT
{
    "$kvolsim" get jobs "$scratch/cron.yaml" --at "$1" -o name 2>/dev/null | sed 's|.*/||' | tr '\n' ' '
}

# wrong MESSAGE FILE: check names the fault.
wrong()
{
    "$kvolsim" check "$2" >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 2 ] && grep -q "$1" "$scratch/out"
    result $? "refused: $1"
}

cron 'concurrencyPolicy: Allow' 'kvolsim.io/runs-for: 30s'
n_events SawCompletedJob 5 && n_events 'SuccessfulDelete' 2
result $? "Allow: a Job every two minutes, three complete ones stay (CRJ-1, CRJ-2)" "$scratch/events" "$scratch/err"
same "the Jobs of 02:04 to 02:08, by the minutes since 1970 (CRJ-4)" "work-29453884 work-29453886 work-29453888 " "$(jobs 10m50s)"
"$kvolsim" get cronjob work "$scratch/cron.yaml" --at 10m50s -o yaml >"$scratch/out" 2>"$scratch/err"
grep -q 'lastScheduleTime: "2026-01-01T02:08:00Z"' "$scratch/out" && ! grep -q 'active:' "$scratch/out"
result $? "the status has the last time, and no active Job (CRJ-12)"
"$kvolsim" get job work-29453888 "$scratch/cron.yaml" --at 10m50s -o yaml >"$scratch/out" 2>"$scratch/err"
grep -q 'cronjob-scheduled-timestamp: "2026-01-01T02:08:00Z"' "$scratch/out" && grep -q 'made: cron' "$scratch/out" && grep -q 'kind: CronJob' "$scratch/out"
result $? "a Job has its time, the template's labels and its owner (CRJ-8)"

cron 'concurrencyPolicy: Forbid' 'kvolsim.io/runs-for: 150s'
n_events SawCompletedJob 3 && grep -q JobAlreadyActive "$scratch/events"
result $? "Forbid: the next Job waits for the end of the last one (CRJ-6.3)" "$scratch/events" "$scratch/err"
same "... and the time that was missed is made up for" "work-29453880 work-29453882 " "$(jobs 4m)"

cron 'concurrencyPolicy: Replace' 'kvolsim.io/runs-for: 150s'
n_events SawCompletedJob 0 && n_events SuccessfulDelete 4
result $? "Replace: each Job deletes the one before it (CRJ-7)" "$scratch/events" "$scratch/err"

cron 'failedJobsHistoryLimit: 2' 'kvolsim.io/runs-for: 10s, kvolsim.io/fails: "1"'
same "two failed Jobs stay (CRJ-1)" "work-29453886 work-29453888 " "$(jobs 10m50s)"

cron 'suspend: true' 'kvolsim.io/runs-for: 10s' '  workload:
  - {at: 6m30s, patch: {kind: CronJob, name: work, patch: {spec: {suspend: false}}}}'
same "suspended it makes nothing (CRJ-5)" "" "$(jobs 6m)"
same "... and then the latest missed time" "work-29453884 " "$(jobs 6m50s)"

# The controller is down from 02:00:30 to 02:05:30.
down='  faults:
  - {component: kube-controller-manager, at: 90s, do: crash, restartAfter: 5m}'
cron 'concurrencyPolicy: Allow' 'kvolsim.io/runs-for: 10s' "$down"
same "a controller that was down makes the latest Job only (CRJ-10)" "work-29453880 work-29453884 " "$(jobs 6m45s)"
cron 'startingDeadlineSeconds: 60' 'kvolsim.io/runs-for: 10s' "$down"
same "... and none that is too late (CRJ-6.1)" "work-29453880 " "$(jobs 6m45s)"

cron 'concurrencyPolicy: Allow' 'kvolsim.io/runs-for: 10s' '  workload:
  - {at: 90s, patch: {kind: CronJob, name: work, patch: {spec: {schedule: "@every 3m"}}}}'
same "a new schedule counts from the last Job on (CRJ-13, CRJ-20)" "work-29453880 work-29453883 " "$(jobs 6m50s)"

cron 'concurrencyPolicy: Allow' 'kvolsim.io/runs-for: 10m' '  workload:
  - {at: 90s, delete: {kind: CronJob, name: work}}'
same "Jobs go with their CronJob" "" "$(jobs 3m)"

cron 'timeZone: Asia/Kolkata' 'kvolsim.io/runs-for: 10s'
"$kvolsim" get job work-29453880 "$scratch/cron.yaml" --at 2m -o yaml >"$scratch/out" 2>"$scratch/err"
grep -q 'cronjob-scheduled-timestamp: "2026-01-01T07:30:00+05:30"' "$scratch/out"
result $? "a Job's time is that of its time zone (CRJ-8, CRJ-21)" "$scratch/out" "$scratch/err"

# A CronJob of a dump may have a zone in its schedule; a new one may not.
cron 'concurrencyPolicy: Allow' 'kvolsim.io/runs-for: 10s'
sed 's|metadata: {name: work}|metadata: {name: work, uid: 6e0e4f3c-0c4a-4c39-b5a5-0d7f4c1a2b3c, creationTimestamp: "2026-01-01T01:59:00Z"}|; s|"\*/2 \* \* \* \*"|"TZ=Asia/Kolkata 32 7 * * *"|' "$scratch/cron.yaml" >"$scratch/stored.yaml"
"$kvolsim" events "$scratch/stored.yaml" >"$scratch/events" 2>"$scratch/err"
grep -q 'UnsupportedSchedule.*CRON_TZ or TZ used in schedule "TZ=Asia/Kolkata 32 7' "$scratch/events" && grep -q 'Created job work-29453882' "$scratch/events"
result $? "a stored schedule with a zone counts, with a warning (CRJ-22)" "$scratch/events" "$scratch/err"
sed 's|schedule: "TZ|suspend: true\n  schedule: "TZ|' "$scratch/stored.yaml" >"$scratch/suspended.yaml"
grep -q 'suspend: true' "$scratch/suspended.yaml" && "$kvolsim" events "$scratch/suspended.yaml" >"$scratch/events" 2>"$scratch/err" && ! grep UnsupportedSchedule "$scratch/events"
result $? "... and without one while it is suspended" "$scratch/events" "$scratch/err"
sed 's|"\*/2 \* \* \* \*"|"TZ=Asia/Kolkata 32 7 * * *"|' "$scratch/cron.yaml" >"$scratch/new.yaml"
wrong 'new.yaml:15:13: CronJob/work.spec.schedule: Invalid value: "TZ=Asia/Kolkata 32 7 \* \* \*": cannot use TZ or CRON_TZ in schedule, use timeZone field instead' "$scratch/new.yaml"

cron 'timeZone: Europe/Wien' ''
wrong 'cron.yaml:16:13: CronJob/work.spec.timeZone: Invalid value: "Europe/Wien": unknown time zone Europe/Wien' "$scratch/cron.yaml"
sed 's|\*/2 \* \* \* \*|61 * * * *|; s|timeZone: Europe/Wien||' "$scratch/cron.yaml" >"$scratch/wrong.yaml"
wrong 'wrong.yaml:15:13: CronJob/work.spec.schedule: Invalid value: "61 \* \* \* \*": end of range (61) above maximum (59): 61' "$scratch/wrong.yaml"
cases_end
