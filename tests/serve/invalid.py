# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that an API server refuses; for invalid.sh.
   invalid.py PORT KVOLSIM OBJECTS UPDATES"""
import copy
import http.client
import json
import os
import subprocess
import sys

port, kvolsim, objects, updates = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
REASONS = {"Required value": "FieldValueRequired", "Invalid value": "FieldValueInvalid", "Unsupported value": "FieldValueNotSupported",
           "Duplicate value": "FieldValueDuplicate", "Not found": "FieldValueNotFound", "Forbidden": "FieldValueForbidden"}
SCENARIO = {"apiVersion": "kvolsim.io/v1", "kind": "Scenario", "metadata": {"name": "s"},
            "spec": {"until": "1s", "nodes": [{"name": "n", "count": 1}], "workload": [{"create": {"manifest": "object.yaml"}}]}}
wrong = []


def merge(target, patch):
    """RFC 7386."""
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict) and isinstance(target.get(name), dict):
            merge(target[name], value)
        else:
            target[name] = value
    return target


def ask(method, path, body=None, kind="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text)


RESOURCES = {}
for version in ("v1", "apps/v1", "batch/v1", "policy/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1", "autoscaling/v2",
                "coordination.k8s.io/v1", "node.k8s.io/v1", "storage.k8s.io/v1", "scheduling.k8s.io/v1", "apiextensions.k8s.io/v1"):
    root = "/api/v1" if version == "v1" else "/apis/" + version
    for resource in ask("GET", root)[1]["resources"]:
        if "/" not in resource["name"]:
            RESOURCES[version, resource["kind"]] = root + ("/namespaces/default/" if resource["namespaced"] else "/") + resource["name"]


def told(causes):
    return sorted((cause["field"] or "", cause["reason"], cause["message"]) for cause in causes)


def expect(row):
    return sorted((fault.split(": ")[0], REASONS[fault.split(": ")[1]], fault.split(": ", 1)[1]) for fault in row["faults"])


def serve(row, mended):
    if (row["object"]["apiVersion"], row["object"]["kind"]) not in RESOURCES:
        return  # a kind that is not served
    url = RESOURCES[row["object"]["apiVersion"], row["object"]["kind"]]
    code, answer = ask("POST", url, row["object"])
    causes = told(answer.get("details", {}).get("causes", []))
    if code != 422 or causes != expect(row):
        wrong.append(("serve", row["name"], code, causes or answer.get("message")))
    url = RESOURCES[mended["apiVersion"], mended["kind"]]
    code, answer = ask("POST", url + "?dryRun=All", mended)
    if code != 201 and not (code == 403 and "forbidden: " in answer["message"]):
        wrong.append(("serve, mended", row["name"], code, answer.get("message")))


def run(command, row, mended):
    for is_invalid, given in ((True, row["object"]), (False, mended)):
        json.dump(given, open("object.yaml", "w"))
        json.dump(SCENARIO, open("scenario.yaml", "w"))
        file = "object.yaml" if command == "check" else "scenario.yaml"
        done = subprocess.run([kvolsim, command, file], capture_output=True, text=True)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(("warning: ", "ignored: "))]
        missing = [fault for fault in row["faults"] if not any("." + fault in line for line in lines)]
        if is_invalid and (done.returncode != 2 or missing or len(lines) != len(row["faults"])):
            wrong.append((command, row["name"], done.returncode, missing, lines[:4]))
        if not is_invalid and done.returncode == 2 and any("value" in line or "Forbidden" in line for line in lines):
            wrong.append((command + ", mended", row["name"], lines[:3]))


def merge_names(target, patch):
    """Lists of structs merge by name, as in a strategic merge patch."""
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict) and isinstance(target.get(name), dict):
            merge_names(target[name], value)
        elif name in ("containers", "ephemeralContainers", "volumes") and isinstance(target.get(name), list):
            for item in value:
                old = [it for it in target[name] if it["name"] == item["name"]]
                if old:
                    merge_names(old[0], item)
                else:
                    target[name].append(item)
        else:
            target[name] = value
    return target


def put(name, change):
    """The object goes on changing meanwhile."""
    for _ in range(9):
        code, answer = ask("PUT", name, merge_names(ask("GET", name)[1], change))
        if code != 409:
            break
    return code, answer


STRATEGIC = "application/strategic-merge-patch+json"


def update(row):
    """A refused change, by PUT and by a patch, and one that is taken, if there is any."""
    url = RESOURCES[row["object"]["apiVersion"], row["object"]["kind"]]
    name = url + "/" + row["object"]["metadata"]["name"]
    code, answer = ask("POST", url, row["object"])
    assert code == 201, (row["name"], answer)
    if row.get("delete"):
        ask("DELETE", name)
    whole, name = name, "/".join([name] + row.get("subresource", []))
    for change in row.get("first", []):
        assert ask("PATCH", name, change, STRATEGIC)[0] == 200
    for method, (code, answer) in (("PATCH", ask("PATCH", name, row["change"], STRATEGIC)), ("PUT", put(name, row["change"]))):
        causes, wanted = told(answer.get("details", {}).get("causes", [])), expect(row)
        if code != 422 or [(a, b, c[:len(d)]) for (a, b, c), (_, _, d) in zip(causes, wanted)] != wanted or len(causes) != len(wanted):
            wrong.append((method, row["name"], code, causes or answer.get("message")))
    code = 200
    if "fine" in row:
        code, answer = ask("PATCH", name, row["fine"], "application/json-patch+json" if isinstance(row["fine"], list) else STRATEGIC)
    if code != 200:
        wrong.append(("taken", row["name"], code, answer.get("message")))
    ask("PATCH", whole, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    ask("DELETE", whole + "?gracePeriodSeconds=0")


for line in open(objects):
    row = json.loads(line)
    mended = merge(copy.deepcopy(row["object"]), row["mend"])
    serve(row, mended)
    run("check", row, mended)
    if os.environ.get("KVOLSIM_SANITIZERS") != "yes":  # it reads them as check does
        run("run", row, mended)
for line in open(updates):
    update(json.loads(line))
for fault in wrong:
    print("#", *fault)
sys.exit(1 if wrong else 0)
