#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An object is written in one version of its kind, read in another, changed there, and read again: nothing is lost.
   versions.py PORT"""
import http.client
import json
import sys

PORT = int(sys.argv[1])


def ask(method, path, body=None, content="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": content})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


served = {"v1"} | {version["groupVersion"] for group in ask("GET", "/apis")[1]["groups"] for version in group["versions"]}
target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
memory = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}}}
schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
column = {"name": "Size", "type": "string"}
names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
kept = {"group": "example.com", "scope": "Namespaced", "names": names}
backend = {"service": {"name": "s", "port": {"number": 80}}}
old_backend = {"serviceName": "s", "servicePort": 80}

# Resource, whether it is namespaced; in each version: the spec (or what is outside of it), a merge patch, what changes by it.
KINDS = [
    ("horizontalpodautoscalers", "HorizontalPodAutoscaler", True, {
        "autoscaling/v1": {"maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 80},
        "autoscaling/v2": {"maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": target, "metrics": [metric]}}),
    ("ingresses", "Ingress", True, {
        "networking.k8s.io/v1beta1": {"backend": old_backend, "rules": [{"host": "a", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"serviceName": "t", "servicePort": "http"}}]}}]},
        "extensions/v1beta1": {"backend": old_backend, "rules": [{"host": "a", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"serviceName": "t", "servicePort": "http"}}]}}]},
        "networking.k8s.io/v1": {"defaultBackend": backend, "rules": [{"host": "a", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "t", "port": {"name": "http"}}}}]}}]}}),
    ("customresourcedefinitions", "CustomResourceDefinition", False, {
        "apiextensions.k8s.io/v1beta1": {**kept, "version": "v1", "validation": schema, "versions": [{"name": "v1", "served": True, "storage": True}],
                                         "additionalPrinterColumns": [{**column, "JSONPath": ".spec.size"}]},
        "apiextensions.k8s.io/v1": {**kept, "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema,
                                                          "additionalPrinterColumns": [{**column, "jsonPath": ".spec.size"}]}]}}),
]


def same(found, wanted):
    """wanted is in found; a server adds members of its own"""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(name in found and same(found[name], value) for name, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted


count = 0
for resource, kind, is_namespaced, versions in KINDS:
    versions = {version: spec for version, spec in versions.items() if version in served}
    for number, (written, spec) in enumerate(versions.items()):
        name = "things.example.com" if kind == "CustomResourceDefinition" else f"x{number}"
        folder = lambda version: f"/apis/{version}{'/namespaces/default' if is_namespaced else ''}/{resource}"
        status, answer = ask("POST", folder(written), {"apiVersion": written, "kind": kind, "metadata": {"name": name}, "spec": spec})
        assert status == 201 and answer["apiVersion"] == written and same(answer["spec"], spec), (status, answer)
        for changed in versions:
            for read, wanted in versions.items():
                status, answer = ask("GET", f"{folder(read)}/{name}")
                assert status == 200 and answer["apiVersion"] == read and same(answer["spec"], wanted), (written, read, answer)
                others = {member for spec in versions.values() for member in spec} - set(wanted)
                assert not others & set(answer["spec"]), (written, read, answer["spec"])
                listed, = [item for item in ask("GET", folder(read))[1]["items"] if item["metadata"]["name"] == name]
                assert same(listed["spec"], wanted), listed
                count += 1
            status, answer = ask("PATCH", f"{folder(changed)}/{name}", {"metadata": {"labels": {"by": changed.replace("/", ".")}}},
                                 "application/merge-patch+json")
            assert status == 200 and same(answer["spec"], versions[changed]), (status, answer)
            status, answer = ask("PUT", f"{folder(changed)}/{name}", answer)
            assert status == 200 and same(answer["spec"], versions[changed]), (status, answer)
        assert ask("DELETE", f"{folder(written)}/{name}")[0] == 200
assert count >= (3 if "autoscaling/v2" in served else 2), count

# What v1 has no member for comes back.
if "autoscaling/v2" in served:
    folder = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric, memory]}
    assert ask("POST", folder.format("v2"), {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "two"}, "spec": spec})[0] == 201
    status, answer = ask("PATCH", folder.format("v1") + "/two", {"spec": {"targetCPUUtilizationPercentage": 50}}, "application/merge-patch+json")
    assert status == 200, answer
    metric["resource"]["target"]["averageUtilization"] = 50
    answer = ask("GET", folder.format("v2") + "/two")[1]
    assert answer["spec"]["metrics"] == [metric, memory] and "annotations" not in answer["metadata"], answer

# Endpoints are kept, also where there is no discovery.k8s.io/v1.
place = "/api/v1/namespaces/default/endpoints/kubernetes"
assert ask("GET", place)[0] == 200
pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "listed"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
assert ask("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
assert ask("GET", place)[0] == 200
