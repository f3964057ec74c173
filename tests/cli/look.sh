#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Time travel from the command line: objects at an instant agree with the story of the run (a claim waits for a pod at 11 s, is then
# bound, and is deleted at 44 s), a watch ends with the objects that get shows, diff lists changes, and errors end with status 2.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml

same "the claim waits" Pending "$($kvolsim get pvc data "$scenario" --at 10s -o 'jsonpath={.status.phase}')"
same "the claim is bound" Bound "$($kvolsim get pvc data "$scenario" --at 20s -o 'jsonpath={.status.phase}')"
same "what is left of a quota" "storage persistentvolumeclaims: 3/10, requests.storage: 30Gi/30Gi" \
    "$($kvolsim get quota "$KVOLSIM_SRCDIR/scenarios/quota.yaml" --at 30s --no-headers | awk '{ print $1, $2, $3, $4, $5 }')"
same "the bounds of claims" limitrange/sizes "$($kvolsim get limits "$KVOLSIM_SRCDIR/scenarios/quota.yaml" --at 30s -o name)"
# As kubectl 1.32.4 prints it
same "a description of the quota" "Name:                   storage
Namespace:              default
Resource                Used  Hard
--------                ----  ----
persistentvolumeclaims  3     10
requests.storage        30Gi  30Gi" "$($kvolsim describe quota "$KVOLSIM_SRCDIR/scenarios/quota.yaml" --at 30s)"
{ cat "$KVOLSIM_SRCDIR/scenarios/quota.yaml" && printf -- '---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n'; } >"$scratch/quota.yaml"
same "... and of its namespace" "Resource Quotas
  Name:                   storage
  Resource                Used  Hard
  --------                ---   ---
  persistentvolumeclaims  3     10
  requests.storage        30Gi  30Gi

Resource Limits
 Type                   Resource  Min  Max    Default Request  Default Limit  Max Limit/Request Ratio
 ----                   --------  ---  ---    ---------------  -------------  -----------------------
 PersistentVolumeClaim  storage   5Gi  100Gi  -                -              -" "$($kvolsim describe ns default "$scratch/quota.yaml" --at 30s | sed -n '/^Resource/,$p')"
same "names" persistentvolumeclaim/data "$($kvolsim get pvc "$scenario" --at 10s -o name)"
same "names with their kind" persistentvolumeclaim/data "$($kvolsim get pvc "$scenario" --at 10s --no-headers --show-kind | awk '{ print $1 }')"
same "what is not there may be ignored" "0 " "$($kvolsim get pvc no-such "$scenario" --at 10s --ignore-not-found >"$scratch/none" 2>&1; echo "$? $(cat "$scratch/none")")"
same "custom columns" "NAME   PHASE
data   Pending" "$($kvolsim get pvc "$scenario" --at 10s -o custom-columns=NAME:.metadata.name,PHASE:.status.phase)"
same "ages are told from the instant" 9s "$($kvolsim get pvc "$scenario" --at 10.2s --no-headers | awk '{ print $NF }')"
same "a pod that starts" "app 0/1 ContainerCreating" "$($kvolsim get pods "$scenario" --at 16s --no-headers | awk '{ print $1, $2, $3 }')"
same "a pod that runs" "app 1/1 Running" "$($kvolsim get pods "$scenario" --at 25s --no-headers | awk '{ print $1, $2, $3 }')"
same "nothing yet" "No resources found in default namespace." "$($kvolsim get pods "$scenario" --at 5s 2>&1)"

$kvolsim describe pvc data "$scenario" --at 20s >"$scratch/describe"
grep -q '^Used By:  *app$' "$scratch/describe" && grep -q 'WaitForFirstConsumer .*waiting for first consumer' "$scratch/describe"
result $? "describe tells users and Events"

group=$KVOLSIM_SRCDIR/scenarios/group-snapshot.yaml
# described KIND WORDS: the description of the kind's only object, in a line each
described()
{
    $kvolsim describe "$1" "$group" --at 60s | tr -s ' ' >"$scratch/describe"
    grep -qx "$2" "$scratch/describe"
    result $? "describe $1"
}
described volumegroupsnapshot ' Bound Volume Group Snapshot Content Name: groupsnapcontent-.*'
described volumegroupsnapshotcontent ' Volume Snapshot Handle Pair List:'
described volumegroupsnapshotclass 'Driver: csi.lab.example'
$kvolsim describe referencegrant -A "$KVOLSIM_SRCDIR/scenarios/source-in-another-namespace.yaml" | tr -s ' ' | grep -qx ' From:'
result $? "describe a ReferenceGrant"
$kvolsim events "$scenario" --at 20s --for pod/app | grep -q 'Normal  *Scheduled  *Pod/app'
result $? "events of one object"
[ "$($kvolsim events "$scenario" --at 5s | wc -l)" -eq 2 ]
result $? "Events of the future are not shown"

$kvolsim get pvc -w "$scenario" >"$scratch/watch"
awk 'NR > 1 { print $2 }' "$scratch/watch" | uniq | tr '\n' ' ' | grep -qx 'Pending Bound Terminating '
result $? "a watch tells the phases in order"
$kvolsim get pvc -w --output-watch-events "$scenario" | awk 'NR > 1 { print $1 }' | sort -u | tr '\n' ' ' | grep -qx 'ADDED DELETED MODIFIED '
result $? "a watch tells which changes they are"

# Every form of -w, and of Events, too.
same "a watch by name" 1 "$($kvolsim get pvc -w -o name "$scenario" | sort -u | grep -cx persistentvolumeclaim/data)"
$kvolsim get pvc -w -o jsonpath='{.status.phase}{"\n"}' "$scenario" --at 10s >"$scratch/phases"
same "a watch by path" "Pending Bound " "$(uniq "$scratch/phases" | tr '\n' ' ')"
$kvolsim get pvc -w -o custom-columns=N:.metadata.name,P:.status.phase "$scenario" --at 10s >"$scratch/columns"
[ "$(grep -c '^N ' "$scratch/columns")" -eq 1 ] && [ "$(sed 1d "$scratch/columns" | uniq | awk '{ print $2 }' | tr '\n' ' ')" = "Pending Bound " ]
result $? "a watch by columns, with one line of headers"
$kvolsim get pvc -w -o yaml "$scenario" --at 10s >"$scratch/yaml"
[ "$(grep -c '^kind: PersistentVolumeClaim$' "$scratch/yaml")" -eq $(($(grep -cx -- --- "$scratch/yaml") + 1)) ]
result $? "a watch as documents of YAML"
$kvolsim get pvc -w -o json --output-watch-events "$scenario" --at 10s >"$scratch/json"
[ "$(wc -l <"$scratch/json")" -eq "$(wc -l <"$scratch/phases")" ] && sed 1q "$scratch/json" | grep -q '^{"type":"ADDED","object":{"apiVersion":"v1","kind":"PersistentVolumeClaim"' &&
    tail -n 1 "$scratch/json" | grep -q '^{"type":"DELETED",'
result $? "a watch as JSON with its types"
$kvolsim get events -w "$scenario" --at 5s >"$scratch/events"
awk 'NR > 1 { print $3 }' "$scratch/events" >"$scratch/reasons"
[ "$(sed -n 1p "$scratch/reasons")" = WaitForFirstConsumer ] && [ "$(grep -c '^Scheduled$' "$scratch/reasons")" -eq 1 ] && [ "$(grep -n Scheduled "$scratch/reasons" | cut -d : -f 1)" -gt \
    "$(grep -n ProvisioningSucceeded "$scratch/reasons" | cut -d : -f 1)" ] && [ "$(grep -c WaitForFirstConsumer "$scratch/reasons")" -ge 2 ]
result $? "a watch of Events, with those that come again"
same "a path as JSON" '[ "data" ]' "$($kvolsim get pvc "$scenario" --at 10s -o jsonpath-as-json='{.items[*].metadata.name}' | tr -s ' \n' ' ' | sed 's/ $//')"
same "DaemonSets" "4 4" "$($kvolsim get ds -A "$KVOLSIM_SRCDIR/scenarios/daemons-on-all-nodes.yaml" --no-headers --at 5m | awk 'NR == 1 { print $3, $4 }')"

same "no difference within an instant" "" "$($kvolsim diff "$scenario" --from 20s --to 20s)"
$kvolsim diff "$scenario" --from 10s --to 20s >"$scratch/diff"
grep -qx '    status.phase: Pending -> Bound' "$scratch/diff" && grep -q '^+ persistentvolume/pvc-' "$scratch/diff"
result $? "diff tells fields and new objects"
$kvolsim diff "$scenario" --from 20s | grep -qx -- '- pod/app'
result $? "diff tells what is gone"

$kvolsim get pvc,pv,pods,volumeattachments "$scenario" --at 20s -o yaml >"$scratch/1"
$kvolsim get pvc,pv,pods,volumeattachments "$scenario" --at 20s -o yaml >"$scratch/2"
cmp -s "$scratch/1" "$scratch/2" && [ "$(grep -c '^  kind: ' "$scratch/1")" -eq 4 ]
result $? "the same instant, the same bytes"

refused 'resource type "foo"' get foo "$scenario"
refused 'persistentvolumeclaims "nope" not found' get pvc nope "$scenario" --at 5s
refused 'the run ends at 50s' get pvc "$scenario" --at 51s
refused 'at: ' get pvc "$scenario" --at soon
refused 'is before' diff "$scenario" --from 5s --to 1s
refused 'output format "wrong"' get pvc "$scenario" -o wrong
refused 'the last word must be a scenario file' get pvc
refused 'what, and of which scenario' get
refused 'w is of get only' describe pvc "$scenario" -w
refused 'no-such-file' get pvc no-such-file.yaml
refused 'more than 1 resource' get pvc,pods -w "$scenario"

cases_end
