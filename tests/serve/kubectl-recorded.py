#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real kubectl on served recordings of a real cluster prints what it printed there.
   kubectl-recorded.py KVOLSIM FOLDER...   (objects.json, now.txt, commands.txt, *.out; see recordings.sh)
   Ages are not compared: the server counts those of tables from the recording's time, kubectl counts others from its own clock."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

# What differs, and why: (situation, command).
KNOWN = {
    # Written by hand; here a kubelet runs on each node, so it has a lease and a CSINode.
    ("35-crafted-states", "get csinode"), ("35-crafted-states", "describe node cp-0"), ("35-crafted-states", "describe node no-status"),
    ("35-crafted-states", "describe node not-ready"),
    # The word of another build of kubectl.
    ("41-output-formats", "get events --for pod/db"),
}
program, folders = sys.argv[1], sys.argv[2:]
n = failed = 0


def without_ages(text):
    text = re.sub(r"\(lasts [^)]*\)", "(lasts AGE)", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"\b\d+[smhdy](\d+[smhd])?\b|<unknown>", "AGE", text))


def result(good, name, text=""):
    global n, failed
    n += 1
    failed += not good
    print(("ok" if good else "not ok"), n, "-", name, flush=True)
    for line in text.splitlines()[:40] if not good else []:
        print("#", line)


for folder in folders:
    situation = os.path.basename(folder.rstrip("/"))
    if not os.path.exists(f"{folder}/now.txt"):
        continue
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: recorded}\nspec:\n"
                   f"  start: \"{open(f'{folder}/now.txt').read().strip()}\"\n  until: 1h\n  manifests: {os.path.abspath(folder)}/objects.json\n")
        file.flush()
        server = subprocess.Popen([program, "serve", file.name, "--listen", "127.0.0.1:0", "--speed", "0"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        port = re.search(r"http://127.0.0.1:(\d+)", server.stdout.readline())
    if port is None:
        result(False, f"{situation} is served", server.stderr.read())
        continue
    faults, commands = "", 0
    for line in open(f"{folder}/commands.txt"):
        out, before, _, command = line.rstrip("\n").split("\t")
        words = shlex.split(command)
        if before == "-" or words[0] != "kubectl" or (situation, " ".join(words[1:])) in KNOWN:
            continue
        found = subprocess.run(["kubectl", "--server", f"http://127.0.0.1:{port.group(1)}"] + words[1:], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=60).stdout
        commands += 1
        if without_ages(found) != without_ages(open(f"{folder}/{out}").read()):
            faults += f"{command}: not as {out}\n{found}"
    server.terminate()
    server.wait()
    result(not faults and commands > 0, f"{situation}: {commands} commands", faults)
print(f"1..{n}")
sys.exit(failed > 0)
