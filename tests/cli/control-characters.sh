#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# No terminal obeys a stranger: what he wrote into objects that Kubernetes would take reaches the screen with its control characters
# escaped; what he wrote into fields of our own is refused.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach
cat >"$scratch/s.yaml" <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: x}
spec:
  until: 30s
  nodes: [{name: node}]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: "a\e]0;b\a\x7f\u009b31m\rc", volumeMounts: [{name: v, mountPath: "/\e[2J\x07"}]}], volumes: [{name: v, emptyDir: {}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stuck}
spec: {nodeSelector: {disk: none}, containers: [{name: web, image: "\e[2J"}]}
END

# quiet NAME WORD…: the program prints something, and no control character.
quiet()
{
    name=$1
    shift
    "$kvolsim" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$?
    [ "$code" -ne 1 ] && [ "$code" -ne 2 ] && [ -s "$scratch/out" ] &&
        ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]\|\302[\200-\237]')" "$scratch/out" "$scratch/err"
    result $? "$name: no control characters"
}

quiet run run "$scratch/s.yaml"
quiet explain explain "$scratch/s.yaml"
quiet why why "$scratch/s.yaml"
quiet 'why pod/stuck' why "$scratch/s.yaml" pod/stuck
quiet get get pods -o wide "$scratch/s.yaml"
quiet describe describe pods "$scratch/s.yaml"
quiet events events "$scratch/s.yaml"
quiet sequence plot "$scratch/s.yaml" sequence --format mermaid --object pod/web
quiet step step "$scratch/s.yaml" -c 'trace on' -c 'until 20s' -c 'describe pods' -c 'explain pod/web'

cat >"$scratch/dump.yaml" <<'END'
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: "Po\e[2Jd", metadata: {name: a}}
- {apiVersion: v1, kind: Node, metadata: {name: node, creationTimestamp: "2026-01-01T00:00:00Z"}}
- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {nodeName: "b\e[2J", containers: [{name: a, image: a}]}}
END
"$kvolsim" import "$scratch/dump.yaml" --out "$scratch/mine" >"$scratch/out" 2>"$scratch/err" &&
    grep -q 'Po\\x1b\[2Jd' "$scratch/mine/import.md" && ! LC_ALL=C grep -q "$(printf '\033')" "$scratch/mine/import.md"
result $? "the report of an import has none"

printf 'apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: x}\nspec: {description: "a\\eb", until: 1s, nodes: [{name: a}]}\n' >"$scratch/d.yaml"
refused '4:21: spec.description: has control characters' run "$scratch/d.yaml"
sed 's/name: all ready/name: "all\\nready"/' "$KVOLSIM_SRCDIR/tests/fuzz/files/sweep.yaml" >"$scratch/sweep.yaml"
cp "$KVOLSIM_SRCDIR/tests/fuzz/files/base.yaml" "$scratch"
refused 'name: must be one line, without tabs' sweep "$scratch/sweep.yaml"
cases_end
