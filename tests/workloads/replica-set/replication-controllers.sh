#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ReplicationControllers (WL-120, WL-121) in scenarios, dumps and served clusters: scale, deletion of a pod and of all, adoption, `why`.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"

cat >run.yaml <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: controllers}
spec:
  until: 120s
  nodes: [{count: 3, name: node-%d}]
  workload:
  - {at: 20s, scale: {kind: ReplicationController, name: web, replicas: 5}}
  - {at: 40s, scale: {kind: ReplicationController, name: web, replicas: 2}}
  - {at: 60s, delete: {kind: Pod, name: "web-*", one: true}}
  - {at: 90s, delete: {kind: ReplicationController, name: web}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: web}
spec:
  replicas: 3
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: half}, spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: stuck}
spec:
  selector: {app: stuck}
  template: {metadata: {labels: {app: stuck}}, spec: {nodeSelector: {disk: fast}, containers: [{name: c, image: i}]}}
END
counts() # AT: desired, current and ready replicas of web
{
    "$kvolsim" get rc web run.yaml --at "$1" 2>err | awk 'NR == 2 { print $2, $3, $4 }'
}
same "its pods run" "3 3 3" "$(counts 15s)"
same "it is scaled up" "5 5 5" "$(counts 35s)"
same "it is scaled down" "2 2 2" "$(counts 55s)"
same "a deleted pod is replaced" "2 2 2" "$(counts 85s)"
same "it goes with its pods (WL-101)" "pod/stuck" "$("$kvolsim" get pods run.yaml --at 110s -o name 2>err | sed 's/-.*//')"
"$kvolsim" get rc web run.yaml --at 15s -o yaml >out 2>err && grep -A1 'selector:' out | grep -q 'app: web' && grep -A1 '^  labels:' out | grep -q 'app: web'
result $? "selector and labels are the template's (WL-121)" out err
same "half of its pods may not be evicted (WL-120)" "50% N/A 1" "$("$kvolsim" get pdb half run.yaml --at 15s 2>err | awk 'NR == 2 { print $2, $3, $4 }')"
"$kvolsim" get all run.yaml --at 15s >out 2>err && grep -q '^replicationcontroller/web  *3  *3  *3 ' out
result $? "get all lists it" out err
"$kvolsim" describe rc web run.yaml --at 55s >out 2>err && grep -q '^Selector: *app=web$' out && grep -q '^Replicas: *2 current / 2 desired$' out &&
    grep -q 'SuccessfulDelete .* replication-controller  *Deleted pod: web-' out
result $? "describe tells selector, replicas and Events of its controller" out err
"$kvolsim" why run.yaml rc/stuck >out 2>err && grep -q '^cause: node-selector' out
result $? "why follows it to its pod" out err

# What a cluster printed: a pod of its own, and one without an owner.
cat >dump.yaml <<END
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n-1, uid: aaaaaaaa-0000-4000-8000-000000000001}
  status: {conditions: [{type: Ready, status: "True"}], allocatable: {pods: "110"}}
- apiVersion: v1
  kind: ReplicationController
  metadata: {name: old, namespace: default, uid: aaaaaaaa-0000-4000-8000-000000000002, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec:
    replicas: 2
    selector: {app: old}
    template: {metadata: {labels: {app: old}}, spec: {containers: [{name: c, image: i}]}}
  status: {replicas: 1, observedGeneration: 1}
- apiVersion: v1
  kind: Pod
  metadata:
    {name: old-abcde, namespace: default, uid: aaaaaaaa-0000-4000-8000-000000000003, labels: {app: old}, creationTimestamp: "2026-01-01T00:00:00Z",
     ownerReferences: [{apiVersion: v1, kind: ReplicationController, name: old, uid: aaaaaaaa-0000-4000-8000-000000000002, controller: true, blockOwnerDeletion: true}]}
  spec: {nodeName: n-1, containers: [{name: c, image: i}]}
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: stray, namespace: default, uid: aaaaaaaa-0000-4000-8000-000000000004, labels: {app: old}, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec: {nodeName: n-1, containers: [{name: c, image: i}]}
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
END
"$kvolsim" import dump.yaml --out imported >out 2>err && ! grep -q 'ReplicationController' out
result $? "import takes it" out err
"$kvolsim" get pods imported/scenario.yaml --at 30s -o yaml >out 2>err && [ "$(grep -c '^    name: ' out)" -eq 2 ] &&
    [ "$(grep -c 'kind: ReplicationController' out)" -eq 2 ]
result $? "it keeps its pod, adopts the other one, and makes no third" out err

cat >small.yaml <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: small}
spec: {until: 24h, nodes: [{count: 2, name: "node-%d"}]}
END
begin served serve small.yaml --speed 60 --at 1m || exit 1
python3 - "$port" >out 2>err <<END
import json, sys, time, urllib.request

URL = "http://127.0.0.1:%s/api/v1/namespaces/default/" % sys.argv[1]


def call(verb, path, body=None, kind="application/json"):
    request = urllib.request.Request(URL + path, json.dumps(body).encode() if body else None, {"Content-Type": kind}, method=verb)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def pods(n, owned=True):
    for _ in range(100):
        items = call("GET", "pods")["items"]
        if len(items) == n and all(("ownerReferences" in pod["metadata"]) == owned for pod in items):
            return
        time.sleep(0.1)
    raise SystemExit("%d pods, not %d: %s" % (len(items), n, [pod["metadata"] for pod in items]))


def make():
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made = call("POST", "replicationcontrollers", {"metadata": {"name": "web"}, "spec": {"replicas": 2, "template": template}})
    assert made["spec"]["selector"] == {"app": "web"} and made["metadata"]["generation"] == 1, made
    pods(2)


WEB = "replicationcontrollers/web"
make()
scale = call("GET", WEB + "/scale")
assert scale["spec"]["replicas"] == 2 and scale["status"]["selector"] == "app=web", scale
del scale["metadata"]["resourceVersion"]
scale["spec"]["replicas"] = 3
call("PUT", WEB + "/scale", scale)
pods(3)
assert call("PATCH", WEB, {"spec": {"replicas": 1}}, "application/merge-patch+json")["metadata"]["generation"] == 3
pods(1)


def leave(n, options):
    call("DELETE", WEB, options)
    pods(n, owned=False)
    while call("GET", "replicationcontrollers")["items"]:
        time.sleep(0.1)


leave(1, {"propagationPolicy": "Orphan"})
make()
leave(2, None)  # API-55
make()
call("DELETE", WEB, {"propagationPolicy": "Foreground"})
pods(0)
END
result $? "a served one is made, scaled, patched, deleted without and with its pods" out err
end TERM
cases_end
