#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# python3-kubernetes on `kvolsim serve`: informer.py. CHANGES=10000: as many as an informer must not lose.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
# libsoup 3.2 does not free the sockets that it accepts; suppressions need whole stacks.
ASAN_OPTIONS=fast_unwind_on_malloc=0
LSAN_OPTIONS=suppressions=$KVOLSIM_SRCDIR/tests/serve/libsoup.supp:print_suppressions=0
export ASAN_OPTIONS LSAN_OPTIONS
cd "$scratch" || exit 1
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"
python=/usr/bin/python3
"$python" -c 'import kubernetes' 2>/dev/null || skip_all "python3-kubernetes is not here"
cat >small.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: small}
spec:
  until: 24h
  nodes: [{count: 3, name: "node-%d"}]
  workload:
  - create: {count: 5, manifest: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}}
END
"$kvolsim" serve small.yaml --listen 127.0.0.1:0 --speed 60 --at 1m >served 2>&1 &
pid=$!
port=
for _ in $(seq 600); do
    port=$(sed -n 's|.*--server http://127.0.0.1:\([0-9]*\) .*|\1|p' served)
    [ -z "$port" ] || break
    sleep 0.1
done
"$python" "$KVOLSIM_SRCDIR/tests/serve/informer.py" "$port" "${CHANGES:-300}" >out 2>err
result $? "an informer loses nothing, and is told what it must be told"
kill -TERM $pid
wait $pid
cases_end
