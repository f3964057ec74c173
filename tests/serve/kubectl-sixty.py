# SPDX-License-Identifier: GPL-3.0-or-later
"""A script of kubectl commands on a served cluster: exit codes and output, each looked at.
   kubectl-sixty.py ADDRESS SCRIPT FOLDER

SCRIPT: a line "$ COMMAND" for the shell, in FOLDER, the lines that it prints, and "[CODE]" unless that is 0; "# not as a real
cluster: WHY" stands before a command whose output differs. What differs from run to run is written AGE, HASH and ADDRESS; columns are
apart by one blank. WRITE=1: writes SCRIPT anew, to be looked at."""
import os
import re
import subprocess
import sys

address, script, folder = sys.argv[1:]
environment = dict(os.environ, HOME=folder, KUBECONFIG="/dev/null", SERVER=address)


def plain(text):
    text = text.replace(address, "ADDRESS")
    text = re.sub(r"\b(web|box|shop)-[0-9a-f]{8,10}-[0-9a-z]{5}\b", r"\1-HASH-HASH", text)
    text = re.sub(r"\b(web|box|shop)-[0-9a-z]{8,10}\b", r"\1-HASH", text)
    text = re.sub(r"pod-template-hash=[0-9a-z]+", "pod-template-hash=HASH", text)
    text = re.sub(r"\b\d+(h\d+m|m\d+s|h|m|s)\b(?! timeout)", "AGE", text)
    return "\n".join(re.sub(r"[ \t]+", " ", line).rstrip() for line in text.splitlines())


def steps(lines):
    """Comments, command, output."""
    step, comments = None, []
    for line in lines:
        if line.startswith("$ "):
            if step:
                yield step
            step, comments = (comments, line[2:], []), []
        elif line.startswith("# not as"):
            comments.append(line)
        elif step and line and not line.startswith("# "):
            step[2].append(line)
    if step:
        yield step


n = failed = 0
written = ["# Commands of a real kubectl and what they print; kubectl-sixty.py compares."]
for comments, command, expected in list(steps(open(script).read().splitlines())):
    done = subprocess.run(["sh", "-c", 'kubectl() { command kubectl --server "$SERVER" "$@"; }; ' + command], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    told = [line for line in plain(done.stdout).split("\n") if line] + ([f"[{done.returncode}]"] if done.returncode else [])
    written += [*comments, "$ " + command, *told]
    n += 1
    failed += told != expected
    print("ok" if told == expected else "not ok", n, "-", command.replace("#", ""), flush=True)
    for line in (["expected:"] + expected + ["told:"] + told) if told != expected else []:
        print("#", line)
print(f"1..{n}")
if os.environ.get("WRITE"):
    open(script, "w").write("\n".join(written) + "\n")
sys.exit(failed > 0)
