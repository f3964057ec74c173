#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Goes through a served run, acts in its midst, goes back to each of ten instants, and compares; for past.sh.
   past.py PORT NAME"""
import json
import os
import sys
import urllib.error
import urllib.request

base, name = "http://127.0.0.1:" + sys.argv[1], sys.argv[2]
n_cases, n_failed = int(os.environ.get("FIRST_CASE", "0")), 0
PATHS = ["/api/v1/pods", "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes", "/api/v1/nodes", "/api/v1/events",
         "/apis/storage.k8s.io/v1/volumeattachments", "/apis/apps/v1/statefulsets", "/kvolsim/v1/why?format=text", "/kvolsim/v1/metrics",
         "/kvolsim/v1/attribution?format=text", "/kvolsim/v1/summary", "/kvolsim/v1/marks"]


def ask(path, method="GET", body=None, kind="application/json"):
    request = urllib.request.Request(base + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                     headers={"Content-Type": kind, "Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read().decode()


def case(text, is_good, why=""):
    global n_cases, n_failed
    n_cases += 1
    n_failed += not is_good
    print("ok" if is_good else "not ok", n_cases, "-", f"{name}: {text}")
    if not is_good:
        print("#", str(why)[:500].replace("\n", "\n# "))


def story(of):
    """What explain tells of the first two pods and claims."""
    objects = [kind + "/" + item["metadata"]["name"]
               for kind, path in (("pod", PATHS[0]), ("pvc", PATHS[1]))
               for item in json.loads(ask(of + path))["items"][:2] if item["metadata"]["namespace"] == "default"]
    return [ask(f"{of}/kvolsim/v1/explain?object={one}") for one in objects]


def without_managers(text):
    """A session does not record field managers; a gauge that was read once stays in the metrics: docs/serve.md."""
    if not text.startswith("{"):
        return [line for line in text.split("\n") if "scheduler_unschedulable_pods" not in line]
    answer = json.loads(text)
    for item in answer.get("items") or []:
        item["metadata"].pop("managedFields", None)
    return json.dumps(answer)


def look(of):
    stage = json.loads(ask(of + "/kvolsim/v1/stage"))
    del stage["run"], stage["clock"]
    texts = {path: without_managers(ask(of + path)) for path in PATHS}
    # A scenario's own end is part of its marks; the session's text ends at the present.
    texts["/kvolsim/v1/marks"] = {key: value for key, value in json.loads(texts["/kvolsim/v1/marks"]).items() if key == "outages"}
    texts["/kvolsim/v1/summary"] = {key: value for key, value in json.loads(texts["/kvolsim/v1/summary"]).items() if key in ("stages", "availability")}
    texts["/kvolsim/v1/stage"] = stage
    texts["/kvolsim/v1/explain"] = story(of)
    return texts


def differences(one, other):
    return [path for path in one if one[path] != other[path]]


faults_of_the_scenario = []
instants = [2, 5, 9, 15, 40, 41, 90, 200, 400, 601]
seen = {}
for i, second in enumerate(instants):
    if i == 5:  # an action of each type: a write, a fault, an action of the workload
        faults_of_the_scenario = json.loads(ask("/kvolsim/v1/marks"))["faults"]
        node = json.loads(ask("/api/v1/nodes"))["items"][0]["metadata"]["name"]
        ask("/api/v1/namespaces/default/persistentvolumeclaims", "POST", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "by-hand"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        ask("/kvolsim/v1/faults", "POST", {"node": node, "do": "power-off", "restartAfter": "1m"})
        ask("/kvolsim/v1/actions", "POST", {"cordon": {"node": node}})
    ask("/kvolsim/v1/clock", "PUT", {"until": f"{second}s"})
    seen[second] = look("")
for second in (41, 2, 90, 5, 9, 601, 15, 400, 40, 200):
    ask("/kvolsim/v1/past", "PUT", {"at": f"{second}s"})
    different = differences(seen[second], look("/past"))
    case(f"the past at {second} s is the present of then", not different, different)
for path, method, body in (("/past/api/v1/nodes/x", "DELETE", None), ("/past/kvolsim/v1/faults", "POST", {"node": "x", "do": "power-off"}),
                           ("/past/api/v1/pods?watch=true", "GET", None)):
    try:
        ask(path, method, body)
        case(f"{method} {path} is refused", False)
    except urllib.error.HTTPError as error:
        case(f"{method} {path} is refused", error.code == 403, error.code)
try:
    ask("/kvolsim/v1/past", "PUT", {"at": "700s"})
    case("the future is no past", False)
except urllib.error.HTTPError as error:
    case("the future is no past", error.code == 400, error.code)
ask("/kvolsim/v1/branch", "POST", {"at": "90s"})
different = differences(seen[90], look(""))
case("a branch begins where it was", not different, different)
ask("/kvolsim/v1/clock", "PUT", {"until": "400s"})
different = differences(seen[400], look(""))
case("... and has the same future as long as nobody acts", not different, different)
ask("/kvolsim/v1/branch", "POST", {"at": "20s"})
ask("/kvolsim/v1/clock", "PUT", {"until": "90s"})
claims = [item["metadata"]["name"] for item in json.loads(ask(PATHS[1]))["items"]]
case("a branch from before an action is without it", "by-hand" not in claims and json.loads(ask("/kvolsim/v1/marks"))["faults"] == faults_of_the_scenario)
sys.exit(n_failed > 0)
