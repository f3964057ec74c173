#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a real API server answered to kubectl's reads, against `kvolsim serve` of the same objects; for kubectl-http.sh.
   The recording has no dump: the state is made of the whole objects that its answers have. Of lists and Tables, the objects that are
   there in the same version are compared. Answers in protobuf are left out.
   Every difference is in the table JUDGED, by the command's label, with its reason, or it is a failure.
   kubectl-http.py KVOLSIM RECORDING"""
import copy
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

program, recording = sys.argv[1:3]
rows = [json.loads(line) for line in lzma.open(os.path.join(recording, "http.jsonl.xz"), "rt")]
LAST_READ = "165"  # later commands write

# Counted by the server; descriptions are in words of our own.
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


def ask(port, row):
    headers = {key: value[0] for key, value in row["request"]["headers"].items() if key in ("Accept",)}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{row['request']['uri']}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


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


def main():
    state = objects()
    known = {identity(item) for item in state}
    with tempfile.TemporaryDirectory() as folder:
        dump = os.path.join(folder, "dump.json")
        with open(dump, "w") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": state}, file)
        scenario = os.path.join(folder, "scenario.yaml")
        with open(scenario, "w") as file:
            file.write("apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: recorded}\n"
                       "spec: {kubernetes: {version: '1.32'}, until: 1h, manifests: dump.json}\n")
        server = subprocess.Popen([program, "serve", scenario, "--listen", "127.0.0.1:0", "--speed", "0"], stdout=subprocess.PIPE, text=True)
        line = server.stdout.readline()
        port = int(re.search(r"http://127.0.0.1:(\d+)", line).group(1))
        n_same = n_failed = n = n_left_out = 0
        for row in rows:
            real = row["response"].get("body")
            if not is_read(row) or row["response"].get("status") == 304 or not isinstance(real, str) or real.startswith("k8s\0"):
                continue
            status, ours = ask(port, row)
            try:
                real, ours = json.loads(real), json.loads(ours)
                if is_other_version(real, known):
                    n_left_out += 1
                    continue
                n_left_out += same_objects(real, ours, known)
                real, ours = normal(real), normal(ours)
            except ValueError:
                pass
            n += 1
            why = f"status {row['response']['status']} | {status}" if status != row["response"]["status"] else first_difference(real, ours)
            uri = row["request"]["uri"]
            judged = JUDGED.get(row["label"])
            is_good = not why or judged is not None
            n_same += not why
            n_failed += not is_good
            print("ok" if is_good else "not ok", n, "-", row["label"], uri, f"# {judged}" if why and judged else "")
            if not is_good:
                print("#", why)
        print(f"1..{n}")
        print(f"# {n_same} of {n} answers are equal; {n_left_out} objects in them are of no known version")
        server.terminate()
        server.wait()
    sys.exit(n_failed > 0)


main()
