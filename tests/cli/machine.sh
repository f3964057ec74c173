#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command with --format json prints one JSON document and nothing else, which says what its text says.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach loop
command -v python3 >/dev/null || skip_all "no python3"
scenario=$KVOLSIM_SRCDIR/scenarios/zone-outage.yaml
small=$KVOLSIM_SRCDIR/scenarios/quickstart.yaml
cd "$scratch" || exit 1

# json NAME STATUS WORD…: what the command prints is JSON, and holds for the Python code on the standard input, where it is `it`.
json()
{
    name=$1 wanted=$2
    shift 2
    { echo 'import json; it = json.load(open("out"))'; cat; } >code
    "$kvolsim" "$@" >out 2>err </dev/null
    status=$?
    [ $status -eq "$wanted" ] || echo "status $status" >>err
    [ $status -eq "$wanted" ] && python3 code 2>>err
    result $? "$name" err
}

# ---- Several runs side by side ----
for seed in 1 2 3; do
    "$kvolsim" run "$scenario" --seed $seed --out run-$seed >out 2>err
done
"$kvolsim" compare run-1 run-2 >two && "$kvolsim" compare run-1 run-2 run-3 >three
grep -qx 'MEAN  *A  *B  *CHANGE  *C  *CHANGE' three && [ "$(grep -c '^[ABC]: run-' three)" -eq 3 ]
result $? "compare of three runs: a column for each" three
awk '/^pod-start/ { print $7, $8 }' two >of-two
awk '/^pod-start/ { print $6, $7 }' three | diff of-two - >out
result $? "the change of each against the first is that of the two alone"
json "compare --format json of three runs: each with the first" 0 compare run-1 run-2 run-3 --format json <<'END'
assert it["base"] == "run-1" and [(run["a"], run["b"]) for run in it["compared"]] == [("run-1", "run-2"), ("run-1", "run-3")]
END
cp out three.json
json "compare --format json of two runs is as ever" 0 compare run-1 run-3 --format json <<'END'
assert it == json.load(open("three.json"))["compared"][1]
END
# shellcheck disable=SC2046
refused 'two runs or more, 26 at most' compare $(yes run-1 | head -27)
refused 'two runs or more' compare run-1
refused 'run-4/summary.json: no such file' compare run-1 run-2 run-4

# ---- Stories ----
"$kvolsim" explain "$scenario" pod/web-0 --at 300s >story
json "explain: an entry for each line that tells of a write, an answer or a change" 0 explain "$scenario" pod/web-0 --at 300s --format json <<'END'
entries = it["entries"]
times = [entry["atNs"] for entry in entries]
assert times == sorted(times) and times[-1] <= 300e9 == it["untilNs"], it["untilNs"]
assert {entry["kind"] for entry in entries} == {"step", "answer", "change"}
assert all(entry["because"] for entry in entries if entry["rule"])
story = open("story").read().replace("\n", " ")
created = next(entry for entry in entries if entry["kind"] == "step" and entry["text"].startswith("creates "))
assert created["by"] in story and created["text"] in story, created
END
"$kvolsim" explain "$scenario" --lang zh >out 2>&1 && json "explain: in Chinese" 0 explain "$scenario" pod/web-0 --at 300s --lang zh --format json <<'END'
assert any("\u4e00" <= letter <= "\u9fff" for entry in it["entries"] for letter in entry["text"])
END
json "explain --rules" 0 explain "$scenario" --rules --format json <<'END'
assert len(it) > 20 and all(row["because"] for row in it if row["rule"].startswith("PVC-"))
END
json "explain --csi: a row for each method and code" 0 explain --csi --format json <<'END'
assert len({(row["method"], row["bindingMode"], row["code"]) for row in it}) == len(it) > 100 and all(row["then"] for row in it)
END
refused 'the run has no "pod/nobody"' explain "$scenario" pod/nobody --format json

# ---- kubectl's commands ----
json "events" 0 events "$scenario" --at 100s --format json <<'END'
assert it["kind"] == "List" and len(it["items"]) > 10 and all(event["kind"] == "Event" for event in it["items"])
json.dump(it, open("events", "w"))
END
json "events -o json is the same" 0 events "$scenario" --at 100s -o json <<'END'
assert it == json.load(open("events"))
END
json "events of an object, none: an empty List" 0 events "$scenario" --at 100s --for pod/nobody --format json <<'END'
assert it["kind"] == "List" and it["items"] == []
END
json "describe: the object and its Events" 0 describe pod web-0 "$scenario" --at 100s --format json <<'END'
described, = it
assert described["object"]["metadata"]["name"] == "web-0"
assert [event["reason"] for event in described["events"]].count("Scheduled") == 1, described["events"]
END
json "describe -o json of several objects" 0 describe pods,nodes "$scenario" --at 100s -o json <<'END'
assert {"Pod", "Node"} == {described["object"]["kind"] for described in it}
END
json "describe of what is not there: an empty list" 2 describe pod nobody "$scenario" --format json <<'END'
assert it == [] and "NotFound" in open("err").read()
END
json "get" 0 get nodes "$scenario" --format json <<'END'
assert it["kind"] == "List" and {item["kind"] for item in it["items"]} == {"Node"}
END
refused 'give -o or --format' get nodes "$scenario" --format json -o yaml
refused '"yaml" is not json' describe nodes "$scenario" -o yaml

# ---- Profiles ----
"$kvolsim" profiles | sed 's/ .*//' >names
json "profiles" 0 profiles --format json <<'END'
assert [row["name"] for row in it] == open("names").read().split() and all(row["summary"] for row in it)
END
json "profiles show" 0 profiles show aws-ebs-gp3 --format json <<'END'
latency = it["latency"]["CreateVolume"]
assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] and latency["source"] and it["content"] and it["attachRequired"] is True
END
refused 'draws no picture' profiles show nfs --format json --out pictures

# ---- The others: what stands behind the document must not be there ----
json "why of all that is stuck" 0 why "$scenario" --format json <<'END'
assert isinstance(it, list)
END
json "run" 0 run "$small" --format json --out run <<'END'
assert it["scenario"] == "quickstart" and "files" not in it
END
json "whatif --out" 0 whatif "$KVOLSIM_SRCDIR/scenarios/immediate.yaml" --replications 2 --format json --out whatif <<'END'
assert it["flags"]
END
json "tune --out" 0 tune "$KVOLSIM_SRCDIR/scenarios/immediate.yaml" --set 'spec.slo=[{stage: pod-start, quantile: 0.99, below: 10m}]' --flag '*worker*' --replications 2 --format json --out tune <<'END'
assert it["met"] and it["flags"]
END
refused 'not with --format json' replay . --plot --out pictures --format json

cases_end
