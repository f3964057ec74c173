#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Availability is what milestones.jsonl says, to the nanosecond: an independent count from the lines of the pods alone.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
command -v python3 >/dev/null 2>&1 || skip_all "no python3"
cat >"$scratch/count.py" <<'END'
import csv, json, re, sys
from decimal import Decimal
# The workload's name, the number of pods that it wants all the time, and a pattern for their names.
folder, workload, wanted, pattern = sys.argv[1], sys.argv[2], int(sys.argv[3]), re.compile(sys.argv[4])
end = Decimal(str(json.load(open(folder + "/summary.json"))["virtualSeconds"]))
changes = []  # (time, +1 or -1 available pods)
available = set()
for line in open(folder + "/milestones.jsonl"):
    m = json.loads(line, parse_float=Decimal, parse_int=Decimal)
    if m.get("kind") != "Pod" or not pattern.fullmatch(m["name"]):
        continue
    pod = (m["name"], m["incarnation"])
    if m["milestone"] == "ready":
        available.add(pod)
        changes.append((m["t"], 1))
    elif m["milestone"] in ("not-ready", "deleted", "stopped", "gone") and pod in available:
        available.remove(pod)
        changes.append((m["t"], -1))
changes.append((end, 0))
if workload.startswith("Pod/"):  # each pod is wanted from its first Ready, or without one from its creation, to its deletion
    changes, wanted, lives = [], 0, {}
    for line in open(folder + "/milestones.jsonl"):
        m = json.loads(line, parse_float=Decimal, parse_int=Decimal)
        if m.get("kind") == "Pod" and pattern.fullmatch(m["name"]):
            lives.setdefault((m["name"], m["incarnation"]), []).append((m["milestone"], m["t"]))
    for life in lives.values():
        since = None if any(what == "ready" for what, at in life) else life[0][1]
        for what, at in life + [("gone", end)]:
            if what in ("not-ready", "deleted", "stopped", "gone") and since is not None:
                changes.append((since, -1))
                changes.append((at, 1)) if at > since else changes.pop()
                since = None
            if what == "not-ready":
                since = at
            if what in ("deleted", "stopped", "gone"):
                break
    changes.sort()
    changes = [(Decimal(0), 0)] + changes + [(end, 0)]
ready, begun, last, missing, longest, outage = 0, False, Decimal(0), Decimal(0), Decimal(0), Decimal(0)
for at, change in changes:
    if begun and ready < wanted:
        missing += (wanted - ready) * (at - last)
        outage += at - last
        longest = max(longest, outage)
    elif at > last:
        outage = Decimal(0)
    ready, last = ready + change, at
    begun = begun or ready == wanted
with open(folder + "/availability.csv") as file:
    row = next(r for r in csv.DictReader(l for l in file if l[0] != "#") if r["workload"] == workload)
causes = sum(Decimal(row[c]) for c in list(row)[8:])
print("missing", missing, row["not ready"], "causes", causes, "longest", longest, row["longest outage"])
sys.exit(not (missing > 0 and missing == Decimal(row["not ready"]) == causes and longest == Decimal(row["longest outage"])))
END

# counts SCENARIO WORKLOAD PODS PATTERN [OPTION…]
counts()
{
    rm -rf "$scratch/run"
    scenario=$1 workload=$2 pods=$3 pattern=$4
    shift 4
    "$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/$scenario.yaml" --out "$scratch/run" "$@" >"$scratch/out" 2>"$scratch/err"
    python3 "$scratch/count.py" "$scratch/run" "$workload" "$pods" "$pattern" >"$scratch/out" 2>"$scratch/err"
    result $? "$scenario: $workload $*"
}

counts zone-outage StatefulSet/web 9 'web-\d+'
counts zone-outage StatefulSet/web 9 'web-\d+' --seed 7
counts node-power-off StatefulSet/web 3 'web-\d+'
counts rolling-reboot StatefulSet/web 6 'web-\d+'
counts drain-a-node StatefulSet/db 3 'db-\d+'
counts six-minute-detach 'Pod/*' 0 '.*'
counts wffc-vs-immediate 'Pod/*' 0 '.*' # eight of its pods never become Ready
cases_end
