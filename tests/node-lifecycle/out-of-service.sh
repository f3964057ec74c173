#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A node dies and is tainted out of service. kubectl recorded the same in a real cluster (recordings 31-node-notready and
# 33-out-of-service): taints and conditions, Events and their counts, the pods and attachments that are left. Recorded times are
# compared where a rule sets them; where the phase of a loop decides, the test asks for what holds in any phase.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs teach
scenario=$KVOLSIM_SRCDIR/tests/node-lifecycle/out-of-service.yaml

# read_field AT KIND NAME JSONPATH
read_field()
{
    "$kvolsim" get "$2" "$3" "$scenario" --seed "$seed" --at "$1" -o "jsonpath=$4"
}

# How often each Event was told of node-c1 and its pods, by the time they are on their way.
told()
{
    "$kvolsim" get events "$scenario" --seed "$seed" --at "$1" \
        -o 'jsonpath={range .items[*]}{.involvedObject.name} {.reason} {.count} {.message}{"\n"}{end}' |
        grep -E ' (NodeNotReady|TaintManagerEviction) ' | sort
}

for seed in 1 2 3 4 5; do
    # 31-node-notready. There the node controller gave up on the node 53 s after its last heartbeat.
    seen=$(read_field 109s node node-c1 '{.status.conditions[?(@.type=="Ready")].lastTransitionTime}')
    second=$(printf '%s' "$seen" | sed -n 's/2026-01-01T00:0\([0-9]\):0*\([0-9]*\)Z/\1 \2/p' | awk '{ print $1 * 60 + $2 }')
    in_time=$([ "${second:-0}" -ge 65 ] && [ "${second:-0}" -le 82 ] && echo yes || echo "at $seen")
    same "seed $seed: the node is not ready after 50 s of silence and a period of the monitor" yes "$in_time"
    same "seed $seed: its condition" "Unknown NodeStatusUnknown Kubelet stopped posting node status." \
        "$(read_field 109s node node-c1 '{range .status.conditions[?(@.type=="Ready")]}{.status} {.reason} {.message}{end}')"
    same "seed $seed: its taints" "node.kubernetes.io/unreachable NoSchedule, node.kubernetes.io/unreachable NoExecute, " \
        "$(read_field 109s node node-c1 '{range .spec.taints[*]}{.key} {.effect}, {end}')"
    same "seed $seed: its pods run, and are not ready" "Running Ready=False ContainersReady=True " \
        "$(read_field 109s pod q-0 '{.status.phase} {range .status.conditions[?(@.type=="Ready")]}Ready={.status} {end}{range .status.conditions[?(@.type=="ContainersReady")]}ContainersReady={.status} {end}')"

    # 33-out-of-service, soon after the taint. There the pod garbage collector happened to take on-c at once, and its eviction was
    # told once; here on-c is still there, and a change of taints evicts it again (NL-46).
    same "seed $seed: told of the node and its pods" "node-c1 NodeNotReady 1 Node node-c1 status is now: NodeNotReady
on-c NodeNotReady 1 Node is not ready
on-c TaintManagerEviction 2 Marking for deletion Pod default/on-c
on-c-stays NodeNotReady 1 Node is not ready
on-c-stays TaintManagerEviction 1 Cancelling deletion of Pod default/on-c-stays
on-c-stays TaintManagerEviction 1 Marking for deletion Pod default/on-c-stays
q-0 NodeNotReady 1 Node is not ready
q-0 TaintManagerEviction 1 Cancelling deletion of Pod default/q-0
q-0 TaintManagerEviction 1 Marking for deletion Pod default/q-0" "$(told 110500ms)"
    same "seed $seed: a pod is marked" "30 True DeletionByTaintManager" \
        "$(read_field 110100ms pod q-0 '{.metadata.deletionGracePeriodSeconds} {range .status.conditions[?(@.type=="DisruptionTarget")]}{.status} {.reason}{end}')"
    same "seed $seed: its containers count as ready" "q-0 1/1 Terminating" \
        "$("$kvolsim" get pod q-0 "$scenario" --seed "$seed" --at 110100ms --no-headers | awk '{ print $1, $2, $3 }')"

    # Pods that go are taken away at the next round of the pod garbage collector, and their volumes at once: not after six minutes.
    same "seed $seed: the pods are gone at last" "q-0 Pending " \
        "$("$kvolsim" get pods "$scenario" --seed "$seed" --at 190s -o 'jsonpath={range .items[*]}{.metadata.name} {.status.phase} {end}')"
    same "seed $seed: and so are the attachments" "" \
        "$("$kvolsim" get volumeattachments "$scenario" --seed "$seed" --at 190s -o 'jsonpath={.items[*].metadata.name}')"
    same "seed $seed: though the kubelet could not say that it unmounted" 2 \
        "$(read_field 190s node node-c1 '{range .status.volumesInUse[*]}{@}{"\n"}{end}' | wc -l)"
    same "seed $seed: and they are not listed as attached any more" "" "$(read_field 190s node node-c1 '{.status.volumesAttached}')"
done
cases_end
