#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A client that speaks Kubernetes' protobuf, as components written in Go do, on `kvolsim serve`: protobuf.py.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
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
python3 "$KVOLSIM_SRCDIR/tests/serve/protobuf.py" "$port" >out 2>err
result $? "lists, watches, Events, reviews and refusals are there in protobuf"
end TERM
cases_end
