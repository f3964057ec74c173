#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a real API server answered to kubectl, against `kvolsim serve` of the same objects; for kubectl-http.sh.
   The recording has no dump: the state is made of the whole objects that its answers have. Of lists and Tables, the objects that are
   there in the same version are compared. Answers in protobuf are left out.
   Every difference is in the table JUDGED, by the command's label, with its reason, or it is a failure.
   kubectl-http.py KVOLSIM RECORDING"""
import copy
import http.client
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile

program, recording = sys.argv[1:3]
rows = [json.loads(line) for line in lzma.open(os.path.join(recording, "http.jsonl.xz"), "rt")]
LAST_READ = "165"  # later commands write

# Counted by the server; descriptions are in words of our own.
DRAWN = ("creationTimestamp", "deletionTimestamp", "time")
DRAWN_AT_CREATION = ("uid", "clusterIP", "clusterIPs")
DROPPED = ("resourceVersion", "continue", "remainingItemCount", "description")
JUDGED = {"001": "buildDate: there is no build to date; the epoch repeats"}


def body_of(row):
    try:
        return json.loads(row["response"]["body"])
    except (KeyError, ValueError, TypeError):
        return None


def is_read(row):
    return row["request"]["method"] == "GET" and row["label"] <= LAST_READ and "watch=" not in row["request"]["uri"]


def objects():
    """Whole objects, the first version of each: by kind, namespace and name."""
    found = {}
    for row in rows:
        body = body_of(row) if is_read(row) and row["response"].get("status") == 200 else None
        if not isinstance(body, dict) or body.get("kind", "").startswith(("Table", "API", "PartialObject")):
            continue
        items = body.get("items") if isinstance(body.get("items"), list) else [body]
        for item in items:
            kind = item.get("kind") or body.get("kind", "")[:-4]
            version = item.get("apiVersion") or body.get("apiVersion")
            if "metadata" not in item or "uid" not in item.get("metadata", {}) or kind == "Event":
                continue
            item = dict(copy.deepcopy(item), kind=kind, apiVersion=version)
            found.setdefault((kind, item["metadata"].get("namespace"), item["metadata"]["name"]), item)
    return list(found.values())


def normal(value, key=""):
    """Without versions that the server counts, and ages."""
    if isinstance(value, dict):
        return {k: normal(v, k) for k, v in value.items() if k not in DROPPED}
    if isinstance(value, list):
        return [normal(v, key) for v in value]
    if isinstance(value, str) and re.fullmatch(r"(\d+[smhdy])+|<unknown>", value) and key == "cells":
        return "AGE"
    return value


def metadata(row):
    """Of an item of a list, or a row of a Table."""
    return (row["object"] if "cells" in row else row)["metadata"]


def identity(row):
    meta = metadata(row)
    return meta.get("uid"), meta.get("resourceVersion")


def same_objects(real, ours, known):
    """Keeps what both can know: objects of the state, in the version that the state has. Returns: how many of the real ones are left out."""
    for key in ("rows", "items"):
        if isinstance(real, dict) and isinstance(real.get(key), list) and isinstance(ours.get(key), list):
            n = len(real[key])
            real[key] = [row for row in real[key] if identity(row) in known]
            kept = {identity(row)[0] for row in real[key]}
            ours[key] = [row for row in ours[key] if metadata(row).get("uid") in kept]
            return n - len(real[key])
    return 0


def is_other_version(real, known):
    return isinstance(real, dict) and "uid" in real.get("metadata", {}) and identity(real) not in known


def first_difference(real, ours, path=""):
    if type(real) is not type(ours):
        return f"{path or '/'}: {json.dumps(real)[:120]} | {json.dumps(ours)[:120]}"
    if isinstance(real, dict):
        for key in sorted(set(real) | set(ours)):
            if key not in ours or key not in real:
                return f"{path}/{key}: {json.dumps(real.get(key))[:120]} | {json.dumps(ours.get(key))[:120]}"
            why = first_difference(real[key], ours[key], f"{path}/{key}")
            if why:
                return why
    elif isinstance(real, list):
        for i, (one, other) in enumerate(zip(real, ours)):
            why = first_difference(one, other, f"{path}/{i}")
            if why:
                return why
        if len(real) != len(ours):
            return f"{path}: {len(real)} | {len(ours)} items"
    elif real != ours:
        return f"{path}: {json.dumps(real)[:120]} | {json.dumps(ours)[:120]}"
    return ""


class Served:
    """`kvolsim serve` of these objects."""

    def __init__(self, items):
        self.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(self.folder.name, "dump.json"), "w") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": items}, file)
        scenario = os.path.join(self.folder.name, "scenario.yaml")
        with open(scenario, "w") as file:
            json.dump({"apiVersion": "kvolsim.io/v1", "kind": "Scenario", "metadata": {"name": "recorded"}, "spec": {
                "kubernetes": {"version": "1.32"}, "until": "1h", "manifests": "dump.json",
                "drivers": [{"name": one} for one in sorted({item["provisioner"] for item in items if item["kind"] == "StorageClass"})]}}, file)
        self.process = subprocess.Popen([program, "serve", scenario, "--listen", "127.0.0.1:0", "--speed", "0"], stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r"http://127.0.0.1:(\d+)", self.process.stdout.readline()).group(1))

    def ask(self, row):
        headers = {key: value[0] for key, value in row["request"]["headers"].items() if key in ("Accept", "Content-Type", "User-Agent")}
        body = row["request"].get("body")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(row["request"]["method"], row["request"]["uri"], body.encode() if body else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class Report:
    n = n_same = n_failed = 0

    def compare(self, row, real_status, real, status, ours):
        why = f"status {real_status} | {status}" if status != real_status else first_difference(real, ours)
        judged = JUDGED.get(row["label"])
        self.n += 1
        self.n_same += not why
        self.n_failed += bool(why) and judged is None
        print("ok" if not why or judged else "not ok", self.n, "-", row["label"], row["request"]["method"], row["request"]["uri"],
              f"# {judged}" if why and judged else "")
        if why and judged is None:
            print("#", why)


def judge_reads(report):
    state = objects()
    known = {identity(item) for item in state}
    served = Served(state)
    n_left_out = 0
    for row in rows:
        real = row["response"].get("body")
        if not is_read(row) or row["response"].get("status") == 304 or not isinstance(real, str) or real.startswith("k8s\0"):
            continue
        status, ours = served.ask(row)
        try:
            real, ours = json.loads(real), json.loads(ours)
            if is_other_version(real, known):
                n_left_out += 1
                continue
            n_left_out += same_objects(real, ours, known)
            real, ours = normal(real), normal(ours)
        except ValueError:
            pass
        report.compare(row, row["response"]["status"], real, status, ours)
    served.end()
    return n_left_out


def key_of(item):
    return item.get("kind"), item["metadata"].get("namespace"), item["metadata"].get("name")


def follow(state, row):
    """Takes from an answer what it tells about the objects after it."""
    body, status, method = body_of(row), row["response"].get("status"), row["request"]["method"]
    if not isinstance(body, dict) or "dryRun" in row["request"]["uri"]:
        return
    if status == 404 and method == "GET" and "details" in body:
        details, space = body["details"], re.search("/namespaces/([^/]+)/", row["request"]["uri"])
        for key in [key for key, item in state.items() if key[1] == (space and space.group(1)) and key[2] == details.get("name")]:
            if row["request"]["uri"].split("?")[0].split("/")[-2].startswith(key[0].lower()):
                del state[key]
        return
    if status not in (200, 201) or body.get("kind", "").startswith(("Table", "API", "PartialObject", "Status", "Scale")):
        return
    for item in body["items"] if isinstance(body.get("items"), list) else [body]:
        item = dict(item, kind=item.get("kind") or body.get("kind", "")[:-4], apiVersion=item.get("apiVersion") or body.get("apiVersion"))
        if "uid" in item.get("metadata", {}) and item["kind"] != "Event":
            state[key_of(item)] = item


def before_deletion(body):
    """The object that an answer to DELETE shows, before it: controllers may have written since it was last read."""
    meta = {key: value for key, value in body["metadata"].items() if not key.startswith("deletion")}
    if "generation" in meta:
        meta["generation"] -= 1
    return dict(body, metadata=meta)


def classes(state):
    """The classes of claims that no answer has: they can grow, as those of this cluster."""
    known = {name for kind, _, name in state if kind == "StorageClass"}
    claims = [item for item in state.values() if item["kind"] == "PersistentVolumeClaim"]
    wanted = dict(sorted((item["spec"].get("storageClassName", ""), item["metadata"].get("annotations", {}).get("volume.kubernetes.io/storage-provisioner", ""))
                         for item in claims))
    return [{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner, "allowVolumeExpansion": True}
            for name, provisioner in wanted.items() if name and provisioner and name not in known]


def is_known(state, uri):
    """Whether the state has the object of a path /namespaces/S/RESOURCE/NAME[/SUBRESOURCE]; one of a path without a name is to be made."""
    words = uri.split("?")[0].split("/")
    names = words[words.index("namespaces") + 3:] if "namespaces" in words and len(words) > words.index("namespaces") + 2 else words[-1:]
    return not names or any(key[2] == names[0] for key in state)


def is_fresh(state, real):
    """Whether no controller has written between the last answer and this one."""
    before = state.get(key_of(real)) if "uid" in real.get("metadata", {}) else None
    of_controllers = [[entry for entry in one["metadata"].get("managedFields", []) if not entry["manager"].startswith("kubectl")]
                      for one in (before, real) if before]
    return before is None or of_controllers[0] == of_controllers[1]


def written(value, is_new):
    """Without what a server counts; what it draws or reads off its clock is there."""
    if isinstance(value, dict):
        return {k: "DRAWN" if k in DRAWN or is_new and k in DRAWN_AT_CREATION else written(v, is_new) for k, v in value.items() if k not in DROPPED}
    return [written(v, is_new) for v in value] if isinstance(value, list) else value


def judge_writes(report):
    """Each write on a cluster of its own, with the objects as the answers before it had them."""
    state, n_unknown = {}, 0
    for row in rows:
        method, real = row["request"]["method"], body_of(row)
        if method != "GET" and isinstance(real, dict) and not (row["request"].get("body") or "").startswith("k8s\0"):
            if method == "DELETE" and row["response"]["status"] == 200 and real.get("kind") != "Status":
                state[key_of(real)] = before_deletion(real)
            if row["response"]["status"] < 400 and not (is_known(state, row["request"]["uri"]) and is_fresh(state, real)):
                n_unknown += 1
                follow(state, row)
                continue
            served = Served([*state.values(), *classes(state)])
            status, ours = served.ask(row)
            served.end()
            is_new = method == "POST" or status == 201
            report.compare(row, row["response"]["status"], written(real, is_new), status, written(json.loads(ours), is_new))
        follow(state, row)
    return n_unknown


def main():
    report = Report()
    n_left_out = judge_reads(report)
    print(f"# {report.n_same} of {report.n} answers to reads are equal; {n_left_out} objects in them are of no known version")
    n, n_same = report.n, report.n_same
    n_unknown = judge_writes(report)
    print(f"# {report.n_same - n_same} of {report.n - n} answers to writes are equal; {n_unknown} are about objects that no answer has as they were")
    print(f"1..{report.n}")
    sys.exit(report.n_failed > 0)


main()
