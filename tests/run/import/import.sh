#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim import: a dump becomes a folder that runs, from JSON and YAML, packed or not; nothing secret is written; with --anonymize
# the run is the same up to names; a folder is there whole or not at all; wrong input is told with its file and line. With
# KVOLSIM_BUNDLES also for the dumps of real clusters.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
scenario=$KVOLSIM_SRCDIR/scenarios/statefulset-rollout.yaml
kinds=pv,pvc,sc,csidrivers,csinodes,volumeattachments,nodes,pods,statefulsets,controllerrevisions,pdb

# unpacked FOLDER: all that an import wrote, as text
unpacked()
{
    for file in "$scratch/$1"/*; do
        case $file in
        *.xz) xz -dc "$file" ;;
        *) cat "$file" ;;
        esac
    done
}

# imported FOLDER WORD…
imported()
{
    imported_to=$1
    shift
    "$kvolsim" import --out "$scratch/$imported_to" "$@" >"$scratch/out" 2>"$scratch/err"
}

# run_of FOLDER FILE: the requests and the end of its run; not how long things took, which depends on names
run_of()
{
    "$kvolsim" run "$scratch/$1/scenario.yaml" --set spec.until=3m >"$scratch/run" 2>"$scratch/err" &&
        sed -n '/^API REQUESTS OF/,$p' "$scratch/run" | awk '/^At the end/ { print; next } NF >= 2 { print $1, $2 }' >"$scratch/$2"
}

for format in json yaml; do
    "$kvolsim" get $kinds "$scenario" -A --at 75s -o $format >"$scratch/dump.$format" 2>"$scratch/err"
    imported $format "$scratch/dump.$format"
    result $? "a dump in $format"
    "$kvolsim" check "$scratch/$format/scenario.yaml" >"$scratch/out" 2>"$scratch/err"
    result $? "... gives a good scenario"
done
xz -dc "$scratch/json/objects.json.xz" >"$scratch/objects.json"
xz -dc "$scratch/yaml/objects.json.xz" | cmp -s - "$scratch/objects.json"
result $? "both formats give the same objects"
[ "$(grep -c '"kind":"Pod"' "$scratch/objects.json")" = "$("$kvolsim" get pods "$scenario" -A --at 75s --no-headers 2>/dev/null | wc -l)" ]
result $? "every pod is there" "$scratch/objects.json"
run_of json run-json && grep -q '^At the end: [1-9]' "$scratch/run-json"
result $? "the folder runs" "$scratch/run" "$scratch/err"

gzip -k "$scratch/dump.json" && mv "$scratch/dump.json.gz" "$scratch/dump.old" && imported packed "$scratch/dump.old" &&
    xz -dc "$scratch/packed/objects.json.xz" | cmp -s - "$scratch/objects.json"
result $? "a packed dump, known by its contents"

mkdir "$scratch/kinds"
for kind in $(echo $kinds | tr , ' '); do
    "$kvolsim" get "$kind" "$scenario" -A --at 75s -o json >"$scratch/kinds/$kind" 2>/dev/null
done
imported parts "$scratch/kinds"/* && grep -q '^- Dump 1 of 1 ' "$scratch/parts/import.md" &&
    [ "$(xz -dc "$scratch/parts/objects.json.xz" | grep -c '"kind"')" -eq "$(grep -c '"kind"' "$scratch/objects.json")" ]
result $? "a file for each kind"
"$kvolsim" get $kinds "$scenario" -A --at 20s -o json >"$scratch/earlier.json" 2>"$scratch/err"
imported times "$scratch/dump.json" "$scratch/earlier.json" && grep -q '^- Dump 1 of 2 (earlier.json)' "$scratch/times/import.md"
result $? "of two times the older is the start" "$scratch/times/import.md"

# A folder, as tools write it for a support case: files of other kinds, too, and an object in a list and in a file of its own.
mkdir -p "$scratch/gather/nodes" "$scratch/gather/logs"
for kind in $(echo $kinds | tr , ' '); do
    gzip -c "$scratch/kinds/$kind" >"$scratch/gather/$kind.json.gz"
done
"$kvolsim" get nodes "$scenario" --at 75s -o yaml >"$scratch/gather/nodes/list.yaml" 2>/dev/null
"$kvolsim" get statefulsets "$scenario" -A --at 60s -o yaml >"$scratch/gather/a.yml" 2>/dev/null
"$kvolsim" get statefulsets "$scenario" -A --at 60s -o yaml >"$scratch/gather/z.yml" 2>/dev/null
echo 'level: info' >"$scratch/gather/logs/settings.yaml"
echo 'no object' >"$scratch/gather/logs/current.log"
ln -s .. "$scratch/gather/nodes/up"
imported gathered "$scratch/gather"
result $? "a folder" "$scratch/err"
for folder in parts gathered; do
    xz -dc "$scratch/$folder/objects.json.xz" | sed 's/,$//' | sort >"$scratch/$folder.sorted"
done
cmp -s "$scratch/parts.sorted" "$scratch/gathered.sorted" && grep -q '^- Files of the folder .*: 1 (`settings.yaml`)' "$scratch/gathered/import.md"
result $? "... has the newest version of each object" "$scratch/gathered/import.md"
mkdir "$scratch/several"
cp "$scratch/dump.json" "$scratch/earlier.json" "$scratch/several"
refused "in several versions" import "$scratch/several" --out "$scratch/none"

# A kind that nobody asked for.
partial()
{
    without=$1
    shift
    "$kvolsim" get "$(echo ",$kinds," | sed "s/,$without,/,/; s/^,//; s/,\$//")" "$scenario" -A --at 75s -o json >"$scratch/partial.json" \
        2>"$scratch/err"
    imported "without-$without" "$scratch/partial.json" && grep -q 'which objects the dump lacks' "$scratch/out" &&
        grep -q "$1" "$scratch/without-$without/import.md"
    result $? "without $without: $1" "$scratch/without-$without/import.md" "$scratch/err"
}
partial pv '^- PersistentVolumes: claims on them are Lost: [1-9]'
partial pvc '^- PersistentVolumeClaims: volumes of theirs are released'
partial sc '^- StorageClasses: new claims of theirs stay Pending: 1 '
partial volumeattachments '^- VolumeAttachments: all volumes are attached anew: [1-9]'
(trap '' XFSZ; ulimit -f 1; GCOV_PREFIX=$scratch exec "$kvolsim" import "$scratch/dump.json" --out "$scratch/small") >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && grep -q 'File too large' "$scratch/err" && [ -z "$(ls -d "$scratch"/small* 2>/dev/null)" ]
result $? "a full disk is no bad input, and nothing is left" "$scratch/err"
! grep -q '^## Missing' "$scratch/json/import.md"
result $? "nothing is missing in a whole dump" "$scratch/json/import.md"
"$kvolsim" get pods,statefulsets "$scenario" -A --at 75s -o json >"$scratch/all.json" 2>"$scratch/err"
refused "all.json: has pods and no Nodes" import "$scratch/all.json" --out "$scratch/none"

# Dumps of an API server that prefers a version which the release of the nodes, or of a later look at them, does not serve.
for row in 1.18:batch/v1beta1 1.24:batch/v1beta1 1.32:batch/v1beta1 1.20:batch/v1 1.32:batch/v1; do
    cat >"$scratch/cron.yaml" <<END
apiVersion: v1
kind: Node
metadata: {name: node-1, uid: 11111111-1111-1111-1111-111111111111, creationTimestamp: 2026-01-01T00:00:00Z}
status: {nodeInfo: {kubeletVersion: v${row%%:*}.0}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: ${row#*:}
kind: CronJob
metadata: {name: c, namespace: default, uid: 22222222-2222-2222-2222-222222222222, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}
END
    imported cron --force "$scratch/cron.yaml" && "$kvolsim" get jobs -A "$scratch/cron/scenario.yaml" --at 90s >"$scratch/out" 2>"$scratch/err" &&
        grep -q '^default  *c-[0-9]' "$scratch/out" &&
        "$kvolsim" check "$scratch/cron/scenario.yaml" --set spec.kubernetes.version=v1.36 >"$scratch/out" 2>"$scratch/err"
    result $? "a CronJob of ${row#*:} in a dump of ${row%%:*} makes Jobs, and is known to 1.36" "$scratch/out" "$scratch/err"
done

# The API server is at least as new as the newest kubelet; virtual ones have any version.
{
    for version in v0.9-virtual v1.29.8-eks-a737599 v1.31.2 v1.30.1+k3s1; do
        printf -- '---\napiVersion: v1\nkind: Node\nmetadata: {name: %s}\nstatus: {nodeInfo: {kubeletVersion: %s}}\n' \
            "$(echo $version | tr -d '+.')" $version
    done
} >"$scratch/upgrade.yaml"
imported upgrade "$scratch/upgrade.yaml" && grep -q 'version: "1.31"' "$scratch/upgrade/scenario.yaml"
result $? "kubelets of several releases" "$scratch/upgrade/scenario.yaml" "$scratch/err"
# Pods tell the values of PriorityClasses that were not dumped.
priorities=$KVOLSIM_SRCDIR/scenarios/priority-classes.yaml
"$kvolsim" get pods,nodes "$priorities" --at 130s -o json >"$scratch/pods.json" 2>"$scratch/err"
imported priorities "$scratch/pods.json" && xz -dc "$scratch/priorities/objects.json.xz" | grep '"PriorityClass"' >"$scratch/classes" &&
    [ "$(wc -l <"$scratch/classes")" -eq 3 ] && grep -q '"name":"business"},"value":1000000}' "$scratch/classes" &&
    grep -q '"name":"patient"},"value":500,"preemptionPolicy":"Never"}' "$scratch/classes"
result $? "PriorityClasses of pods" "$scratch/classes" "$scratch/err"
"$kvolsim" get pods,nodes,priorityclasses "$priorities" --at 130s -o json >"$scratch/pods.json" 2>"$scratch/err"
imported all-priorities "$scratch/pods.json" && ! grep -q 'PriorityClasses that the dump lacks' "$scratch/all-priorities/import.md"
result $? "PriorityClasses of the dump" "$scratch/err"

for row in v1.39.0:1.36 v1.16.3:1.18; do
    printf 'apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {nodeInfo: {kubeletVersion: %s}}\n' "${row%:*}" >"$scratch/outside.yaml"
    imported outside "$scratch/outside.yaml" && grep -q "version: \"${row#*:}\"" "$scratch/outside/scenario.yaml" &&
        grep -q "is not modelled: taken as ${row#*:}" "$scratch/outside/import.md"
    result $? "a release that is not modelled: $row" "$scratch/err"
    rm -rf "$scratch/outside"
done

# What nobody may read.
cat >"$scratch/secretive.yaml" <<END
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: node-1, uid: 10000000-0000-4000-8000-000000000001,
   annotations: {acme.com/token: CANARY, kubectl.kubernetes.io/last-applied-configuration: CANARY}}}
- {apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: shop, uid: 10000000-0000-4000-8000-000000000002},
   data: {password: CANARY}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {password: CANARY}}
- apiVersion: v1
  kind: Pod
  metadata: {name: cart-0, namespace: shop, uid: 10000000-0000-4000-8000-000000000003, labels: {acme.com/team: checkout}}
  spec:
    nodeName: node-1
    containers:
    - {name: c, image: registry.acme.com/cart:2, args: [--password=CANARY], command: [CANARY], env: [{name: A, value: CANARY}]}
- apiVersion: v1
  kind: Node
  metadata: {name: node-1, uid: 10000000-0000-4000-8000-000000000005}
  status: {nodeInfo: {machineID: CANARY, systemUUID: CANARY, bootID: CANARY, kubeletVersion: v1.32.0}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: cart, namespace: shop, uid: 10000000-0000-4000-8000-000000000004}
  spec:
    replicas: 0
    serviceName: cart
    selector: {matchLabels: {acme.com/team: checkout}}
    template:
      metadata: {labels: {acme.com/team: checkout}, annotations: {checksum/config: CANARY}}
      spec: {containers: [{name: c, image: registry.acme.com/cart:2, envFrom: [{secretRef: {name: CANARY}}]}]}
END
imported secretive "$scratch/secretive.yaml"
result $? "a dump with secrets"
unpacked secretive >"$scratch/all"
! grep -q CANARY "$scratch/all"
result $? "... of which nothing is written" "$scratch/all"
grep -q '"kind":"Secret".*"name":"keys"' "$scratch/all" && grep -q '^- Secrets, as names without contents: 1$' "$scratch/all"
result $? "... but that the Secret is there" "$scratch/all"
imported hidden --anonymize "$scratch/secretive.yaml"
unpacked hidden >"$scratch/all"
! grep -E -i 'canary|acme|cart|shop|checkout|keys' "$scratch/all" >"$scratch/out"
result $? "no name of a user is in an anonymized folder"

# The same run up to names.
imported anonymous --anonymize "$scratch/dump.json" && run_of anonymous run-anonymous && cmp -s "$scratch/run-json" "$scratch/run-anonymous"
result $? "an anonymized folder runs alike" "$scratch/run-json" "$scratch/run-anonymous" "$scratch/err"

# Whole or not at all.
refused "json is there already (--force writes over it)" import "$scratch/dump.yaml" --out "$scratch/json"
echo mine >"$scratch/json/notes"
echo old >"$scratch/json/recorded.json"
rm "$scratch/json/import.md"
imported json --force "$scratch/dump.json" && [ -e "$scratch/json/import.md" ] && [ -e "$scratch/json/notes" ] &&
    [ ! -e "$scratch/json/recorded.json" ]
result $? "--force writes over an import and leaves other files alone"
refused "nothing.json: No such file" import "$scratch/nothing.json" --out "$scratch/none"
[ "$(ls -d "$scratch"/none* 2>/dev/null)" = "" ]
result $? "an error leaves no folder"
mkfifo "$scratch/pipe"
"$kvolsim" import "$scratch/pipe" --out "$scratch/none" >"$scratch/out" 2>"$scratch/err" &
import=$!
{
    head -c 70000 "$scratch/dump.json"
    kill -INT $import
    tail -c +70001 "$scratch/dump.json"
} >"$scratch/pipe" 2>/dev/null
wait $import
[ $? -eq 130 ] && [ "$(ls -d "$scratch"/none* 2>/dev/null)" = "" ]
result $? "an interruption leaves no folder"

# Wrong input.
head -c 30000 "$scratch/dump.json" >"$scratch/cut.json"
refused "cut.json:[0-9]*: the file ends in the middle of an object" import "$scratch/cut.json" --out "$scratch/none"
head -c 500 "$scratch/dump.old" >"$scratch/cut.gz"
refused "cut.gz: damaged or cut off" import "$scratch/cut.gz" --out "$scratch/none"
: >"$scratch/empty"
echo '{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "verb": "get"}' >"$scratch/audit.log"
refused "audit.log:1: is an audit log" import "$scratch/audit.log" --out "$scratch/none"
refused "dump.json:1: is no audit log" import "$scratch/dump.json" --audit "$scratch/dump.json" --out "$scratch/none"
refused "empty: there is no scrape" import "$scratch/dump.json" --metrics "$scratch/empty" --out "$scratch/none"
for option in --audit --metrics; do
    refused "$scratch: is a directory" import "$scratch/dump.json" $option "$scratch" --out "$scratch/none"
done
echo '{"users": []}' >"$scratch/other.json"
refused "other.json:1: has no kind" import "$scratch/other.json" --out "$scratch/none"
sed 's/"uid": "[0-9a-f]/&f/; s/"uid": "\(.\{36\}\)./"uid": "\1/' "$scratch/dump.json" >"$scratch/foreign.json"
refused "are dumps of different clusters" import "$scratch/dump.json" "$scratch/foreign.json" --out "$scratch/none"
refused "not a time" import "$scratch/dump.json" --start yesterday --out "$scratch/none"
refused "needs --out" import "$scratch/dump.json"
refused "needs a dump" import --out "$scratch/none"

for bundle in ${KVOLSIM_BUNDLES:+"$KVOLSIM_BUNDLES"/*/run1}; do
    for dump in "$bundle"/dumps/*.json; do
        name=$(basename "$dump" .json)
        imported "$name" "$dump" && run_of "$name" real && imported "$name-yaml" "${dump%.json}.yaml" &&
            imported "$name-anonymous" --anonymize "$dump" && run_of "$name-anonymous" real-anonymous &&
            [ "$(tail -n 1 "$scratch/real")" = "$(tail -n 1 "$scratch/real-anonymous")" ]
        result $? "$(basename "${bundle%/run1}") $name" "$scratch/err" "$scratch/real" "$scratch/real-anonymous"
    done
    # shellcheck disable=SC2046 # a list of words
    imported whole "$bundle"/dumps/*.json --audit "$bundle"/audit.log.xz --metrics "$bundle"/metrics.tar.xz &&
        "$kvolsim" run "$scratch/whole/scenario.yaml" >"$scratch/out" 2>"$scratch/err"
    result $? "$(basename "${bundle%/run1}"), with its audit log and scrapes"
done
cases_end
