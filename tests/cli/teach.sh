#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim teach through a pipe: the list, a lesson with right and wrong answers, a task, and the results that it keeps.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import teach
solutions=$KVOLSIM_SRCDIR/scenarios/lessons/solutions
XDG_STATE_HOME=$scratch/state
export XDG_STATE_HOME
# teach STATUS WORD...: with the answers in $answers
answers=
teach()
{
    wanted=$1
    shift
    printf '%s' "$answers" | $kvolsim teach --lang en "$@" >"$scratch/out" 2>"$scratch/err"
    [ $? -eq "$wanted" ]
}

teach 0 && [ "$(grep -c '^ *[0-9]*  0/3 ' "$scratch/out")" -ge 16 ]
result $? 'sixteen lessons are listed, and nothing is learned yet'

answers='pv-5g
5Gi
Pending
'
teach 0 1 && grep -q '^Right\. ' "$scratch/out" && grep -q 'Task: Help the claim "big"' "$scratch/out"
result $? 'a lesson whose questions are answered'
grep -qx "  \$ kvolsim step .*01-static-binding.yaml -c 'until 10s' -c 'get pvc small -o jsonpath={.spec.volumeName}'" "$scratch/out" &&
    grep -qx 'pv-5g' "$scratch/out"
result $? 'each answer comes with the commands that show it, and what they tell'
answers='pv-2g
b
nonsense
nonsense
a
'
teach 3 static-binding && grep -q '^No. Once more.$' "$scratch/out" && grep -q 'It is 5Gi. ' "$scratch/out" &&
    [ "$(grep -c 'Right\. ' "$scratch/out")" -eq 2 ]
result $? 'a second try, a letter for a choice, and an answer that is told'
answers='pv-5g
'
teach 3 01-static-binding && grep -q 'Task:' "$scratch/out"
result $? 'input that ends early is no fault'

answers=
teach 3 --check 1 /dev/null && grep -q '^NOT MET .*name: big' "$scratch/out" && grep -qx 'Not yet.' "$scratch/out"
result $? 'an empty solution solves nothing'
teach 0 --check 1 "$solutions/01-static-binding.yaml" && grep -qx 'Solved.' "$scratch/out"
result $? 'the reference solution does'
teach 0 --solution 1 && cmp -s "$scratch/out" "$solutions/01-static-binding.yaml"
result $? 'and can be shown'
teach 2 --check 1 "$solutions/05-attach-limits.yaml" && grep -q 'a solution may have: PersistentVolume' "$scratch/err"
result $? 'a solution of something else is refused'
teach 0 && grep -q '^ 1  3/3 task solved' "$scratch/out"
result $? 'the best time is remembered'

printf 'no key file\000 at all' >"$XDG_STATE_HOME/kvolsim/lessons"
teach 0 && grep -q '^ 1  0/3 ' "$scratch/out"
result $? 'a broken memory is an empty one'
answers='pv-5g
5Gi
Pending
'
teach 0 1 && teach 0 && grep -q '^ 1  3/3 ' "$scratch/out"
result $? 'and is written anew'
XDG_STATE_HOME=/dev/null/nowhere
teach 0 1 && grep -q 'progress is not remembered' "$scratch/err"
result $? 'without a place for it nothing is remembered'
XDG_STATE_HOME=$scratch/state

answers=
$kvolsim teach --lang zh >"$scratch/out" 2>"$scratch/err" && grep -q '静态绑定' "$scratch/out"
result $? 'in Chinese'
teach 2 99 && grep -q 'there is no lesson "99"' "$scratch/err"
result $? 'refused: no such lesson'
teach 2 --check 1 && grep -q 'see kvolsim teach --help' "$scratch/err"
result $? 'refused: a check without a solution'
teach 2 --check 1 "$scratch/none.yaml" && grep -q 'none.yaml' "$scratch/err"
result $? 'refused: a solution that is not there'
for file in "$KVOLSIM_SRCDIR"/scenarios/lessons/*.yaml; do
    $kvolsim check "$file" >"$scratch/out" 2>"$scratch/err" && $kvolsim run "$file" >>"$scratch/out" 2>>"$scratch/err"
    result $? "a scenario like any other: ${file##*/}"
done

# What lesson 13 says of the cluster is what import finds in its dump and scrapes.
manifests=$KVOLSIM_SRCDIR/scenarios/manifests/your-cluster
$kvolsim import "$manifests.yaml" --metrics "$manifests-attacher.prom" --metrics "$manifests-kubelet.prom" --out "$scratch/imported" \
    >"$scratch/out" 2>"$scratch/err" &&
    sed -n '/^ *#/d; /^  drivers:/,$p' "$scratch/imported/scenario.yaml" >"$scratch/found" &&
    sed -n '/^  drivers:/,/^  workload:/p' "$KVOLSIM_SRCDIR/scenarios/lessons/13-your-cluster.yaml" | sed '$d' | diff - "$scratch/found" >"$scratch/err"
result $? 'a lesson that was imported'
tar -C "$KVOLSIM_SRCDIR/scenarios/manifests" -cJf "$scratch/metrics.tar.xz" your-cluster-attacher.prom your-cluster-kubelet.prom &&
    $kvolsim import "$manifests.yaml" --metrics "$scratch/metrics.tar.xz" --out "$scratch/from-tar" >"$scratch/out" 2>"$scratch/err" &&
    cmp "$scratch/imported/scenario.yaml" "$scratch/from-tar/scenario.yaml" >"$scratch/err" 2>&1
result $? '... whose scrapes come in an archive'
cases_end
