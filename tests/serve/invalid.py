# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that an API server refuses; for invalid.sh.
   invalid.py PORT KVOLSIM FILE"""
import copy
import http.client
import json
import subprocess
import sys

port, kvolsim, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
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


def ask(method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text)


RESOURCES = {}
for version in ("v1", "apps/v1", "batch/v1", "policy/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1", "autoscaling/v2",
                "coordination.k8s.io/v1", "node.k8s.io/v1", "apiextensions.k8s.io/v1"):
    root = "/api/v1" if version == "v1" else "/apis/" + version
    for resource in ask("GET", root)[1]["resources"]:
        if "/" not in resource["name"]:
            RESOURCES[version, resource["kind"]] = root + ("/namespaces/default/" if resource["namespaced"] else "/") + resource["name"]


def told(causes):
    return sorted((cause["field"] or "", cause["reason"], cause["message"]) for cause in causes)


def expect(row):
    return sorted((fault.split(": ")[0], REASONS[fault.split(": ")[1]], fault.split(": ", 1)[1]) for fault in row["faults"])


def serve(row, mended):
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


for line in open(path):
    row = json.loads(line)
    mended = merge(copy.deepcopy(row["object"]), row["mend"])
    serve(row, mended)
    run("check", row, mended)
    run("run", row, mended)
for fault in wrong:
    print("#", *fault)
sys.exit(1 if wrong else 0)
