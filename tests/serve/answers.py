# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of many clients, and what a real API server answers; for answers.sh.
   answers.py PORT"""
import http.client
import json
import sys

port = int(sys.argv[1])
CORE = "/api/v1/namespaces/default/"


def ask(method, path, body=None, code=200, headers={}, kind="application/json"):
    """Returns: the answer's JSON, or its text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind, **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == code, (method, path, answer.status, text[:600])
    return json.loads(text) if answer.headers["Content-Type"].startswith("application/json") else text


def names(path):
    return sorted(item["metadata"]["name"] for item in ask("GET", path)["items"])


def pod(name, **spec):
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def field_selectors():
    ask("POST", CORE + "pods", pod("a"), 201)
    ask("POST", CORE + "pods", pod("b", hostNetwork=True), 201)
    assert names("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse") == ["node-0", "node-1", "node-2"]
    assert names("/api/v1/nodes?fieldSelector=spec.unschedulable%21%3Dfalse") == []
    assert names(CORE + "pods?fieldSelector=spec.hostNetwork%3Dfalse") == ["a"]
    assert names(CORE + "pods?fieldSelector=spec.hostNetwork%3Dtrue") == ["b"]
    refusal = ask("GET", CORE + "persistentvolumeclaims?fieldSelector=status.phase%3DBound", code=400)
    assert refusal["message"] == '"status.phase" is not a known field selector: only "metadata.name", "metadata.namespace"', refusal


def without_workload():
    assert ask("PUT", "/kvolsim/v1/clock", {"for": "5s"})
    ask("PUT", "/kvolsim/v1/past", {"at": "1s"})


for case in (field_selectors, without_workload):
    case()
    print("#", case.__name__, flush=True)
