#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests of strangers to `kvolsim serve`: they are refused, the server lives, and its memory stays small.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
cat >small.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: small}
spec:
  until: 10m
  nodes: [{count: 3, name: "node-%d"}]
END
printf 'a-secret-word\n' >token

begin guarded serve small.yaml --speed 0 --token-file token
guarded=$port
guard=$pid
begin open serve small.yaml --speed 0
python3 "$KVOLSIM_SRCDIR/tests/serve/hostile.py" "$port" "$guarded" a-secret-word >cases 2>errors
grep -v '^1\.\.' cases
n_cases=$(grep -cE '^(not )?ok' cases)
n_failed=$(grep -c '^not ok' cases)
tail -n 1 cases | grep -q '^1\.\.'
result $? "all requests were made" errors
grown=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
echo "the server needed $grown kB" >faults
[ "$grown" -lt 400000 ]
result $? "its memory stays below 400 MB" faults
kill -TERM "$guard"
end TERM
[ $status -eq 143 ]
result $? "it ends as it should" open
cases_end
