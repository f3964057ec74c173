#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The session of docs/serve.md: each command line of it works, and the session's record runs.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
# libsoup 3.2 does not free the sockets that it accepts; suppressions need whole stacks.
ASAN_OPTIONS=fast_unwind_on_malloc=0
LSAN_OPTIONS=suppressions=$KVOLSIM_SRCDIR/tests/serve/libsoup.supp:print_suppressions=0
export ASAN_OPTIONS LSAN_OPTIONS
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"
HOME=$scratch # no configuration of a real cluster
KUBECONFIG=/dev/null
export HOME KUBECONFIG
kubectl version --client 2>/dev/null | grep -q 'v1\.' || skip_all "kubectl is not here"
"$kvolsim" serve "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" --speed 10 --record "$scratch/session.yaml" --listen 127.0.0.1:0 >"$scratch/served" 2>&1 &
pid=$!
for _ in $(seq 600); do
    port=$(sed -n 's|.*--server http://127.0.0.1:\([0-9]*\) .*|\1|p' "$scratch/served")
    [ -z "$port" ] || break
    sleep 0.1
done
sed -n 's/^    \(kubectl .*\|curl .*\)/\1/p' "$KVOLSIM_SRCDIR/docs/serve.md" | sed "s/127\.0\.0\.1:8001/127.0.0.1:$port/; s/localhost:8001/localhost:$port/" >"$scratch/lines"
[ "$(wc -l <"$scratch/lines")" -ge 6 ]
result $? "the page has command lines" "$scratch/lines"
while read -r line <&3; do
    case $line in
    curl*) sh -c "curl -sS -f ${line#curl}" >"$scratch/out" 2>"$scratch/err" ;;
    *' -w') # until somebody ends it
        timeout 3 sh -c "$line" >"$scratch/out" 2>"$scratch/err"
        [ $? -eq 124 ] && [ -s "$scratch/out" ]
        ;;
    *) timeout 120 sh -c "$line" >"$scratch/out" 2>"$scratch/err" ;;
    esac
    result $? "$(printf '%s' "$line" | sed "s/:$port/:8001/; s/#/ /")"
done 3<"$scratch/lines"
kill -INT $pid
wait $pid
"$kvolsim" run "$scratch/session.yaml" >"$scratch/out" 2>"$scratch/err"
[ $? -le 3 ] && [ "$(grep -c '^  - ' "$scratch/session.yaml")" -gt 3 ]
result $? "the record of the session runs"
cases_end
