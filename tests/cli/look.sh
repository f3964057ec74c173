#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Time travel from the command line: what is shown at an instant follows the run's own story (a claim that waits for a pod at 11 s,
# is bound then, and deleted at 44 s), watches end where get does, diff tells what changed, and what is wrong is told with status 2.
set -u
kvolsim=$KVOLSIM_BUILDDIR/kvolsim
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n=0
failed=0

# check NAME: by the status of the command before
check()
{
    status=$?
    n=$((n + 1))
    if [ $status -eq 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        failed=1
    fi
}
same()
{
    [ "$2" = "$3" ]
    check "$1"
}

same "the claim waits" Pending "$($kvolsim get pvc data "$scenario" --at 10s -o 'jsonpath={.status.phase}')"
same "the claim is bound" Bound "$($kvolsim get pvc data "$scenario" --at 20s -o 'jsonpath={.status.phase}')"
same "names" persistentvolumeclaim/data "$($kvolsim get pvc "$scenario" --at 10s -o name)"
same "custom columns" "NAME   PHASE
data   Pending" "$($kvolsim get pvc "$scenario" --at 10s -o custom-columns=NAME:.metadata.name,PHASE:.status.phase)"
same "ages are told from the instant" 9s "$($kvolsim get pvc "$scenario" --at 10.2s --no-headers | awk '{ print $NF }')"
same "a pod that starts" "app 0/1 ContainerCreating" "$($kvolsim get pods "$scenario" --at 16s --no-headers | awk '{ print $1, $2, $3 }')"
same "a pod that runs" "app 1/1 Running" "$($kvolsim get pods "$scenario" --at 25s --no-headers | awk '{ print $1, $2, $3 }')"
same "nothing yet" "No resources found in default namespace." "$($kvolsim get pods "$scenario" --at 5s 2>&1)"

$kvolsim describe pvc data "$scenario" --at 20s >"$scratch/describe"
grep -q '^Used By:  *app$' "$scratch/describe" && grep -q 'WaitForFirstConsumer .*waiting for first consumer' "$scratch/describe"
check "describe tells users and Events"
$kvolsim events "$scenario" --at 20s --for pod/app | grep -q 'Normal  *Scheduled  *Pod/app'
check "events of one object"
[ "$($kvolsim events "$scenario" --at 5s | wc -l)" -eq 2 ]
check "Events of the future are not shown"

$kvolsim get pvc -w "$scenario" >"$scratch/watch"
awk 'NR > 1 { print $2 }' "$scratch/watch" | uniq | tr '\n' ' ' | grep -qx 'Pending Bound Terminating '
check "a watch tells the phases in order"
$kvolsim get pvc -w --output-watch-events "$scenario" | awk 'NR > 1 { print $1 }' | sort -u | tr '\n' ' ' | grep -qx 'ADDED DELETED MODIFIED '
check "a watch tells which changes they are"

# Every form of -w, and of Events, too.
same "a watch by name" 1 "$($kvolsim get pvc -w -o name "$scenario" | sort -u | grep -cx persistentvolumeclaim/data)"
$kvolsim get pvc -w -o jsonpath='{.status.phase}{"\n"}' "$scenario" --at 10s >"$scratch/phases"
same "a watch by path" "Pending Bound " "$(uniq "$scratch/phases" | tr '\n' ' ')"
$kvolsim get pvc -w -o custom-columns=N:.metadata.name,P:.status.phase "$scenario" --at 10s >"$scratch/columns"
[ "$(grep -c '^N ' "$scratch/columns")" -eq 1 ] && [ "$(sed 1d "$scratch/columns" | uniq | awk '{ print $2 }' | tr '\n' ' ')" = "Pending Bound " ]
check "a watch by columns, with one line of headers"
$kvolsim get pvc -w -o yaml "$scenario" --at 10s >"$scratch/yaml"
[ "$(grep -c '^kind: PersistentVolumeClaim$' "$scratch/yaml")" -eq $(($(grep -cx -- --- "$scratch/yaml") + 1)) ]
check "a watch as documents of YAML"
$kvolsim get pvc -w -o json --output-watch-events "$scenario" --at 10s >"$scratch/json"
[ "$(wc -l <"$scratch/json")" -eq "$(wc -l <"$scratch/phases")" ] && sed 1q "$scratch/json" | grep -q '^{"type":"ADDED","object":{"apiVersion":"v1","kind":"PersistentVolumeClaim"' &&
    tail -n 1 "$scratch/json" | grep -q '^{"type":"DELETED",'
check "a watch as JSON with its types"
$kvolsim get events -w "$scenario" --at 5s >"$scratch/events"
awk 'NR > 1 { print $3 }' "$scratch/events" >"$scratch/reasons"
[ "$(sed -n 1p "$scratch/reasons")" = WaitForFirstConsumer ] && [ "$(grep -c '^Scheduled$' "$scratch/reasons")" -eq 1 ] && [ "$(grep -n Scheduled "$scratch/reasons" | cut -d : -f 1)" -gt \
    "$(grep -n ProvisioningSucceeded "$scratch/reasons" | cut -d : -f 1)" ] && [ "$(grep -c WaitForFirstConsumer "$scratch/reasons")" -ge 2 ]
check "a watch of Events, with those that come again"
same "a path as JSON" '[ "data" ]' "$($kvolsim get pvc "$scenario" --at 10s -o jsonpath-as-json='{.items[*].metadata.name}' | tr -s ' \n' ' ' | sed 's/ $//')"
same "DaemonSets" "4 4" "$($kvolsim get ds -A "$KVOLSIM_SRCDIR/scenarios/daemons-on-all-nodes.yaml" --no-headers --at 5m | awk 'NR == 1 { print $3, $4 }')"

same "no difference within an instant" "" "$($kvolsim diff "$scenario" --from 20s --to 20s)"
$kvolsim diff "$scenario" --from 10s --to 20s >"$scratch/diff"
grep -qx '    status.phase: Pending -> Bound' "$scratch/diff" && grep -q '^+ persistentvolume/pvc-' "$scratch/diff"
check "diff tells fields and new objects"
$kvolsim diff "$scenario" --from 20s | grep -qx -- '- pod/app'
check "diff tells what is gone"

$kvolsim get pvc,pv,pods,volumeattachments "$scenario" --at 20s -o yaml >"$scratch/1"
$kvolsim get pvc,pv,pods,volumeattachments "$scenario" --at 20s -o yaml >"$scratch/2"
cmp -s "$scratch/1" "$scratch/2" && [ "$(grep -c '^  kind: ' "$scratch/1")" -eq 4 ]
check "the same instant, the same bytes"

# refused MESSAGE WORD...: status 2, and told why
refused()
{
    message=$1
    shift
    $kvolsim "$@" >"$scratch/out" 2>"$scratch/error"
    [ $? -eq 2 ] && grep -q -- "$message" "$scratch/error"
    check "refused: $*"
}
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

echo "1..$n"
exit $failed
