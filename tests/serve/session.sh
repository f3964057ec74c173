#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `kvolsim serve`: without a client its results are those of `run`; a session at any speed gives the same results again as the scenario
# that it recorded, even if the server is killed in the middle.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
# libsoup 3.2 does not free the sockets that it accepts; suppressions need whole stacks.
ASAN_OPTIONS=fast_unwind_on_malloc=0
LSAN_OPTIONS=suppressions=$KVOLSIM_SRCDIR/tests/serve/libsoup.supp:print_suppressions=0
export ASAN_OPTIONS LSAN_OPTIONS
cd "$scratch" || exit 1
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"

cat >small.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: small}
spec:
  until: 10m
  nodes: [{count: 3, name: "node-%d", zones: [zone-a]}]
  drivers: [{name: ebs.csi.aws.com, profile: aws-ebs-gp3}]
  workload:
  - at: 1s
    create:
      count: 3
      manifest:
      - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: first}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
      - {apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: first}}]}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: ebs.csi.aws.com}
END
sed 's/until: 10m/until: idle/' small.yaml >idle.yaml

# begin SCENARIO OPTION…: serves it; sets pid and port.
begin()
{
    : >served
    port=
    "$kvolsim" ${command:-serve} "$@" --listen 127.0.0.1:0 >served 2>errors &
    pid=$!
    for _ in $(seq 600); do
        port=$(sed -n 's|.*--server http://127.0.0.1:\([0-9]*\) .*|\1|p' served)
        [ -z "$port" ] || return 0
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    cat errors
    return 1
}

# end SIGNAL: ends the server; sets status.
end()
{
    kill "-$1" $pid 2>/dev/null
    status=0
    wait $pid 2>/dev/null || status=$?
}

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
    { begin $file.yaml --speed max --out served-$file && is_over && end INT && [ $status -eq 130 ] && diff -r run-$file served-$file; } >faults 2>&1
    result $? "$file: without a client the results of run" faults
done

for speed in 0 1 60 max; do
    file=small
    [ $speed != 60 ] || file=idle
    { begin $file.yaml --speed $speed --record record-$speed.yaml --out session-$speed && python3 "$KVOLSIM_SRCDIR/tests/serve/session.py" "$port"; } >faults 2>&1
    result $? "a session at speed $speed" faults
    end INT
    "$kvolsim" run record-$speed.yaml --out again-$speed >/dev/null 2>faults
    diff -r session-$speed again-$speed >>faults 2>&1
    result $? "a session at speed $speed: its record gives the same results" faults
done

{ begin small.yaml --speed 0 --record killed.yaml && python3 "$KVOLSIM_SRCDIR/tests/serve/session.py" "$port"; } >faults 2>&1
end KILL
"$kvolsim" run killed.yaml >out 2>faults
[ $? -le 3 ] && [ "$(grep -c '^  - ' killed.yaml)" -eq "$(grep -c '^  - ' record-0.yaml)" ]
result $? "a server that is killed leaves a whole record" faults

# ---- A lesson's task ----
command="teach --serve"
XDG_STATE_HOME=$scratch/state
export XDG_STATE_HOME
taint='{"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}]}}'
begin 8 --speed 0 && curl -s -X PUT "http://127.0.0.1:$port/kvolsim/v1/clock" -d '{"until": "180s"}' >out &&
    curl -s -X PATCH -H 'Content-Type: application/merge-patch+json' "http://127.0.0.1:$port/api/v1/nodes/node-0" -d "$taint" >>out
end INT
[ $status -eq 0 ] && grep -q '^Solved' served
result $? "a lesson's task is solved on the served cluster" out served
begin 8 --speed 0
end INT
[ $status -eq 3 ] && grep -q '^NOT MET' served && grep -q '^Not yet' served
result $? "... and not without doing it" served

refused 'others than this machine' serve small.yaml --listen 0.0.0.0:0
refused 'no speed' serve small.yaml --speed fast
cases_end
