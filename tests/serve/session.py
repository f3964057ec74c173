#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of `kvolsim serve`, for session.sh: creates, changes and deletes objects in all ways, and checks each answer.
   session.py PORT"""
import http.client
import json
import sys

port = int(sys.argv[1])
JSON, MERGE, STRATEGIC, OPERATIONS, APPLY = (
    "application/json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json",
    "application/apply-patch+yaml")
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def ask(method, path, body=None, kind=JSON, code=200):
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind, "Accept": JSON})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == code, (method, path, answer.status, text[:600])
    return json.loads(text)


CORE, APPS = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/"
deployment = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
             "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}}
claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}

# Creation, and refusals of it.
made = ask("POST", APPS + "deployments?fieldManager=test", deployment, code=201)
assert made["metadata"]["uid"] and made["metadata"]["generation"] == 1 and made["metadata"]["managedFields"][0]["manager"] == "test"
again = ask("POST", APPS + "deployments", deployment, code=409)
assert again["reason"] == "AlreadyExists" and again["message"] == 'deployments.apps "web" already exists'
ask("POST", CORE + "persistentvolumeclaims", claim, code=201)
bad = json.loads(json.dumps(claim).replace("ReadWriteOnce", "Foo").replace('"1Gi"', '"-1Gi"').replace('"data"', '"bad"'))
refused = ask("POST", CORE + "persistentvolumeclaims", bad, code=422)
assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.accessModes", "spec.resources[storage]"], refused
unknown = dict(claim, spec=dict(claim["spec"], accessMode=["ReadWriteOnce"]))
assert "unknown field \"spec.accessMode\"" in ask("POST", CORE + "persistentvolumeclaims?fieldValidation=Strict", unknown, code=400)["message"]
assert ask("POST", "/api/v1/namespaces/nothere/configmaps", {"metadata": {"name": "c"}}, code=404)["message"] == 'namespaces "nothere" not found'
ask("POST", CORE + "persistentvolumeclaims?dryRun=All", dict(claim, metadata={"name": "dry"}), code=201)
assert "dryRun" in ask("POST", CORE + "persistentvolumeclaims?dryRun=Some", dict(claim, metadata={"name": "dry"}), code=422)["message"]
assert ask("GET", CORE + "persistentvolumeclaims/dry", code=404)["message"] == 'persistentvolumeclaims "dry" not found'

# Changes of all types.
ask("PATCH", CORE + "persistentvolumeclaims/data", {"metadata": {"labels": {"x": "y"}}}, MERGE)
ask("PATCH", CORE + "persistentvolumeclaims/data", [{"op": "add", "path": "/metadata/labels/z", "value": "1"}], OPERATIONS)
image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
changed = ask("PATCH", APPS + "deployments/web", image, STRATEGIC)
assert changed["metadata"]["generation"] == 2 and changed["spec"]["template"]["spec"]["containers"][0]["image"] == "i:2"
same = ask("PATCH", APPS + "deployments/web", image, STRATEGIC)
assert same["metadata"]["generation"] == 2
conflict = ask("PATCH", APPS + "deployments/web?fieldManager=other", {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5}}, APPLY, 409)
assert conflict["details"]["causes"][0]["field"] == ".spec.replicas", conflict
old = ask("GET", APPS + "deployments/web")
ask("PATCH", APPS + "deployments/web/scale", {"spec": {"replicas": 3}}, MERGE)
assert "has been modified" in ask("PUT", APPS + "deployments/web", old, code=409)["message"]
scale = ask("GET", APPS + "deployments/web/scale")
scale["spec"]["replicas"] = 4
del scale["metadata"]["resourceVersion"]  # at a high speed the Deployment changes meanwhile
assert ask("PUT", APPS + "deployments/web/scale", scale)["spec"]["replicas"] == 4
ask("PATCH", "/api/v1/nodes/node-1", {"spec": {"unschedulable": True}}, STRATEGIC)
ask("PATCH", "/api/v1/nodes/node-2/status", {"status": {"conditions": [{"type": "Odd", "status": "True"}]}}, STRATEGIC)

# Lists, pages, selectors, tables.
pods = ask("GET", "/api/v1/pods?limit=1")
if "continue" in pods["metadata"]:
    more = ask("GET", "/api/v1/pods?limit=500&continue=" + pods["metadata"]["continue"])
    assert pods["items"][0]["metadata"]["name"] not in [pod["metadata"]["name"] for pod in more["items"]]
assert [item["metadata"]["name"] for item in ask("GET", CORE + "persistentvolumeclaims?labelSelector=x%3Dy")["items"]] == ["data"]
assert ask("GET", CORE + "pods?fieldSelector=spec.foo%3Dx", code=400)["message"] == "field label not supported: spec.foo"

# What no model has is stored as it is.
ask("POST", CORE + "configmaps", {"metadata": {"name": "conf"}, "data": {"a": "b"}}, code=201)
assert ask("PATCH", CORE + "configmaps/conf", {"data": {"c": "d"}}, MERGE)["data"] == {"a": "b", "c": "d"}
ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    "metadata": {"name": "toys.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy", "singular": "toy"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}, code=201)
ask("POST", "/apis/example.com/v1/namespaces/default/toys", {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "car"}}, code=201)
assert len(ask("GET", "/apis/example.com/v1/toys")["items"]) == 1
assert any(group["name"] == "example.com" for group in ask("GET", "/apis")["groups"])

# Custom resources: defaults and faults by their schema, lists by their keys, columns, scale, two versions without conversion.
ports = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"], "items": {
    "type": "object", "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}}}
schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
    "size": {"type": "integer", "maximum": 9}, "color": {"type": "string", "enum": ["red", "blue"], "default": "red"}, "ports": ports}}}}}
definition = ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    "metadata": {"name": "things.example.org"},
    "spec": {"group": "example.org", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [
        {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
         "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]},
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}, code=201)
assert [condition["type"] for condition in definition["status"]["conditions"]] == ["NamesAccepted", "Established"]
THINGS = "/apis/example.org/v1/namespaces/default/things"


def thing(size, *ports):
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": size, "ports": list(ports)}}


assert ask("PATCH", THINGS + "/a?fieldManager=one", thing(3, {"port": 80, "name": "http"}), APPLY, 201)["spec"]["color"] == "red"
both = ask("PATCH", THINGS + "/a?fieldManager=two", thing(3, {"port": 443, "name": "https"}), APPLY)
assert [port["port"] for port in both["spec"]["ports"]] == [80, 443], both
conflict = ask("PATCH", THINGS + "/a?fieldManager=two", thing(3, {"port": 80, "name": "other"}), APPLY, 409)
assert [cause["field"] for cause in conflict["details"]["causes"]] == ['.spec.ports[port=80].name'], conflict
refused = ask("PATCH", THINGS + "/a", {"spec": {"size": 10, "color": "pink"}}, MERGE, 422)
assert {cause["reason"] for cause in refused["details"]["causes"]} == {"FieldValueNotSupported", "FieldValueInvalid"}, refused
assert "unknown field" in ask("POST", THINGS + "?fieldValidation=Strict", dict(thing(1), spce=1), code=400)["message"]
assert ask("PATCH", THINGS + "/a/scale", {"spec": {"replicas": 5}}, MERGE)["spec"]["replicas"] == 5
connection.request("GET", THINGS, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
table = json.loads(connection.getresponse().read())
assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"] and table["rows"][0]["cells"] == ["a", 5], table
other = ask("GET", THINGS.replace("v1", "v2") + "/a")
assert other["apiVersion"] == "example.org/v2" and other["spec"]["size"] == 5

# Controllers' fields have managers, too; a namespace's ServiceAccount comes back; an Event after a list is seen by a watch from it.
ask("PUT", "/kvolsim/v1/clock", {"for": "3s"})
managers = {entry["manager"] for entry in ask("GET", APPS + "deployments/web")["metadata"]["managedFields"]}
assert "kube-controller-manager" in managers, managers
ask("DELETE", CORE + "serviceaccounts/default")
ask("GET", CORE + "serviceaccounts/default")
version = ask("GET", CORE + "events")["metadata"]["resourceVersion"]
ask("POST", CORE + "events", {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"}}, code=201)
connection.request("GET", f"{CORE}events?watch=1&timeoutSeconds=1&resourceVersion={version}&fieldSelector=metadata.name%3De")
assert '"ADDED"' in connection.getresponse().read().decode()

# The clock, faults, and deletions.
ask("POST", "/kvolsim/v1/faults", {"node": "node-0", "do": "power-off"}, code=201)
ask("PUT", "/kvolsim/v1/clock", {"for": "2s"})
assert [fault["isOver"] for fault in ask("DELETE", "/kvolsim/v1/faults")["faults"]] == [True]
assert "is over" in ask("DELETE", "/kvolsim/v1/faults?number=0", code=409)["message"]
ask("PUT", "/kvolsim/v1/clock", {"for": "3s"})
ask("POST", "/kvolsim/v1/faults", {"node": "node-2", "do": "power-off", "restartAfter": "1m"}, code=201)
assert ask("POST", "/kvolsim/v1/faults", {"node": "node-2", "do": "explode"}, code=400)["message"]
for item in ({"create": {"manifest": "/etc/passwd"}}, {"create": {"manifest": ["/etc/passwd"]}}, {"from": "/etc/passwd"},
             {"setDriver": {"driver": "ebs.csi.aws.com", "profile": "/etc/passwd"}}):
    assert "that names no file" in ask("POST", "/kvolsim/v1/actions", item, code=400)["message"]
assert ask("PUT", "/kvolsim/v1/clock", {"condition": "pvc/data Bound", "for": "30s"})["isMet"]
name = ask("GET", CORE + "pods")["items"][0]["metadata"]["name"]
gone = ask("DELETE", CORE + "pods/" + name, {"gracePeriodSeconds": 0})
assert gone["kind"] == "Pod"
ask("DELETE", APPS + "deployments/web", {"propagationPolicy": "Foreground"})
ask("DELETE", CORE + "persistentvolumeclaims/data")
ask("DELETE", CORE + "persistentvolumeclaims/data2", code=404)
assert ask("PUT", "/kvolsim/v1/clock", {"condition": "deployment/web gone", "for": "10m"})["isMet"]
ask("GET", APPS + "deployments/web", code=404)
print("done")
