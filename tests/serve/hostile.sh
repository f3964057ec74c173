#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests of strangers to `kvolsim serve`: they are refused, the server lives, and its memory stays small.
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
  nodes: [{count: 3, name: "node-%d"}]
END
printf 'a-secret-word\n' >token

# begin NAME OPTION…: serves; sets pid and port.
begin()
{
    name=$1
    shift
    "$kvolsim" serve small.yaml --listen 127.0.0.1:0 --speed 0 "$@" >"$name" 2>&1 &
    pid=$!
    port=
    for _ in $(seq 600); do
        port=$(sed -n 's|.*--server http://127.0.0.1:\([0-9]*\) .*|\1|p' "$name")
        [ -z "$port" ] || break
        sleep 0.1
    done
}

begin guarded --token-file token
guarded=$port
guard=$pid
begin open
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
kill -TERM "$pid" "$guard"
wait "$pid"
[ $? -eq 143 ]
result $? "it ends as it should" open
cases_end
