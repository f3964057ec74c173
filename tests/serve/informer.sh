#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# python3-kubernetes on `kvolsim serve`: informer.py. CHANGES=10000: as many as an informer must not lose.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
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
begin served serve small.yaml --speed 60 --at 1m
"$python" "$KVOLSIM_SRCDIR/tests/serve/informer.py" "$port" "${CHANGES:-300}" >out 2>err
result $? "an informer loses nothing, and is told what it must be told"
end TERM
cases_end
