#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `kvolsim serve`: without a client its results are those of `run`; a session at any speed gives the same results again as the scenario
# that it recorded, even if the server is killed in the middle.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"

small_cluster >small.yaml
sed 's/until: 10m/until: idle/' small.yaml >idle.yaml

# is_over: waits until the clock stands at the scenario's end.
is_over()
{
    for _ in $(seq 600); do
        if curl -s "http://127.0.0.1:$port/kvolsim/v1/clock" | grep -q '"isOver":true'; then
            return 0
        fi
        sleep 0.1
    done
    return 1
}

for file in small idle; do
    "$kvolsim" run $file.yaml --out run-$file >/dev/null 2>&1
    { begin served serve $file.yaml --speed max --out served-$file && is_over && end INT && [ $status -eq 130 ] && diff -r run-$file served-$file; } >faults 2>&1
    result $? "$file: without a client the results of run" faults
done

for speed in 0 1 60 max; do
    file=small
    [ $speed != 60 ] || file=idle
    { begin served serve $file.yaml --speed $speed --record record-$speed.yaml --out session-$speed && python3 "$KVOLSIM_SRCDIR/tests/serve/session.py" "$port"; } >faults 2>&1
    result $? "a session at speed $speed" faults
    end INT
    "$kvolsim" run record-$speed.yaml --out again-$speed >/dev/null 2>faults
    diff -r session-$speed again-$speed >>faults 2>&1
    result $? "a session at speed $speed: its record gives the same results" faults
done

{ begin served serve small.yaml --speed 0 --record killed.yaml && python3 "$KVOLSIM_SRCDIR/tests/serve/session.py" "$port"; } >faults 2>&1
end KILL
"$kvolsim" run killed.yaml >out 2>faults
[ $? -le 3 ] && [ "$(grep -c '^  - ' killed.yaml)" -eq "$(grep -c '^  - ' record-0.yaml)" ]
result $? "a server that is killed leaves a whole record" faults

# ---- A scenario with a file of its own, in another folder ----
mkdir there elsewhere
cp "$KVOLSIM_SRCDIR/models/profiles/aws-ebs-gp3.yaml" there/mine.yaml
sed 's|profile: aws-ebs-gp3|profile: ./mine.yaml|' small.yaml >there/small.yaml
begin served serve there/small.yaml --speed 0 --at 1m --record there/record.yaml --out session-own
same "a scenario with a file of its own: the past can be looked at" 200 \
    "$(curl -s -o out -w '%{http_code}' -X PUT "http://127.0.0.1:$port/kvolsim/v1/past" -d '{"at": "20s"}')"
end INT
"$kvolsim" run there/record.yaml --out again-own >/dev/null 2>faults
diff -r session-own again-own >>faults 2>&1
result $? "... its record beside it gives the same results" faults
cp there/record.yaml elsewhere/
refused 'outside of the scenario' run elsewhere/record.yaml
"$kvolsim" run elsewhere/record.yaml --set "spec.drivers[0].profile=$scratch/there/mine.yaml" --out moved-own >out 2>err
result $? "... and elsewhere needs --set"

# ---- The line of time ----
begin served serve "$KVOLSIM_SRCDIR/scenarios/burst-100.yaml" --speed 0 --at 19s && curl -s "http://127.0.0.1:$port/kvolsim/v1/marks" >out
end INT
grep -q '"outages":\[\]' out
result $? "the first start of pods without a controller is no outage, though some are not Ready yet" out

# ---- Writes that change nothing ----
template='{metadata: {name: data, creationTimestamp: null}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeMode: Filesystem}, status: {phase: Pending}, kind: PersistentVolumeClaim, apiVersion: v1}'
container='{containers: [{name: c, image: i}]}'
{
    small_cluster
    echo "---"
    echo "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {serviceName: web, replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}, creationTimestamp: null}, spec: $container}, volumeClaimTemplates: [$template]}}"
} >nulls.yaml
same='{"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}'
begin served serve nulls.yaml --speed 0 && web=http://127.0.0.1:$port/apis/apps/v1/namespaces/default/statefulsets/web && curl -s "$web" >before &&
    curl -s -X PATCH -H 'Content-Type: application/strategic-merge-patch+json' "$web" -d "$same" >out && cmp before out >faults && grep -q '"generation":1' out
result $? "a patch that differs by defaults and nulls only is no write" faults out
end INT

# ---- A lesson's task ----
XDG_STATE_HOME=$scratch/state
export XDG_STATE_HOME
taint='{"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}]}}'
begin served teach --serve 8 --speed 0 && curl -s -X PUT "http://127.0.0.1:$port/kvolsim/v1/clock" -d '{"until": "180s"}' >out &&
    curl -s -X PATCH -H 'Content-Type: application/merge-patch+json' "http://127.0.0.1:$port/api/v1/nodes/node-0" -d "$taint" >>out
end INT
[ $status -eq 0 ] && grep -q '^Solved' served
result $? "a lesson's task is solved on the served cluster" out served
begin served teach --serve 8 --speed 0
end INT
[ $status -eq 3 ] && grep -q '^NOT MET' served && grep -q '^Not yet' served
result $? "... and not without doing it" served

refused 'others than this machine' serve small.yaml --listen 0.0.0.0:0
refused 'no speed' serve small.yaml --speed fast
cases_end
