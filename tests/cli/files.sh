#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A stranger's scenario, sweep or profile makes the program read nothing but files beside and below it, says nothing of
# what is in others, and waits for no pipe. Memory that ends is told.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach loop
mkdir -p "$scratch/own/below" "$scratch/else"
printf '{"canary": 1, "a": {"canary": 2}}\n' >"$scratch/else/secret.yaml"
cp "$scratch/else/secret.yaml" "$scratch/else/Secret.json"
printf 'canary:x:0:0:/root\n' >"$scratch/else/passwd"
printf 'latency: {CreateVolume: 1s}\n' >"$scratch/own/below/p.yaml"
cp "$scratch/own/below/p.yaml" "$scratch/else/p.yaml"
ln -s ../else/p.yaml "$scratch/own/link.yaml"
ln -s ../else "$scratch/own/folder"
mkfifo "$scratch/own/pipe.yaml"
head='apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: x}
spec:
  until: 10s
  nodes: [{count: 1, name: "n-%d", zones: [a]}]'
sweep='apiVersion: kvolsim.io/v1
kind: Sweep
metadata: {name: x}
spec:
  parameters: [{name: nodes, paths: ["spec.nodes[0].count"], values: [1, 2]}]
  measures: [{name: ready, value: time-to-all-ready}]'

# told STATUS TEXT NAME ARGUMENT...: the program ends so, says TEXT, and prints no canary.
told()
{
    wanted=$1 text=$2 name=$3
    shift 3
    timeout 60 "$kvolsim" "$@" >"$scratch/out" 2>&1 </dev/null
    status=$?
    [ $status -eq "$wanted" ] && { [ -z "$text" ] || grep -q -e "$text" "$scratch/out"; } && ! grep -q canary "$scratch/out"
    result $? "$name: status $wanted, \"$text\""
    [ $status -eq "$wanted" ] || sed 's/^/# /' "$scratch/out"
}

# driver STATUS TEXT PROFILE [ARGUMENT...]: of a scenario whose driver has this profile
driver()
{
    wanted=$1 text=$2 profile=$3
    shift 3
    printf '%s\n  drivers: [{name: a.example.com, profile: "%s"}]\n' "$head" "$profile" >"$scratch/own/s.yaml"
    told "$wanted" "$text" "a driver of ${profile#"$scratch"} $*" check "$scratch/own/s.yaml" "$@"
}

driver 0 "" below/p.yaml
driver 0 "" "$scratch/own/below/p.yaml"
driver 0 "" below/../below/p.yaml
driver 0 "" generic
outside="outside of the scenario's folder"
driver 2 "$outside" ../else/p.yaml
driver 2 "$outside" ../else/secret.yaml
driver 2 "$outside" "$scratch/else/secret.yaml"
driver 2 "$outside" link.yaml
driver 2 "$outside" folder/secret.yaml
driver 2 "$outside" /etc/passwd
driver 2 "$outside" /dev/stdin
driver 2 "$outside" /dev/zero
driver 2 "regular file" pipe.yaml
driver 2 "No such file" below/none.yaml
driver 0 "" ../else/p.yaml --set "spec.drivers[0].profile=$scratch/else/p.yaml"

for path in ../else/secret.yaml folder/secret.yaml /etc/passwd /dev/zero; do
    printf '%s\n  manifests: "%s"\n' "$head" "$path" >"$scratch/own/s.yaml"
    told 2 "$outside" "manifests of $path" check "$scratch/own/s.yaml"
    printf '%s\n  scenario: "%s"\n' "$sweep" "$path" >"$scratch/own/w.yaml"
    told 2 "outside of the sweep.s folder" "a sweep of $path" check "$scratch/own/w.yaml"
done
printf '%s\n  scenario: scenarios/quickstart.yaml\n' "$sweep" >"$scratch/own/w.yaml"
told 0 "" "a sweep of a scenario that came with the program" check "$scratch/own/w.yaml"
printf '%s\n  scenario: scenarios/../../else/secret.yaml\n' "$sweep" >"$scratch/own/w.yaml"
told 2 "outside of the sweep.s folder" "... and not of one beside these" check "$scratch/own/w.yaml"
printf '%s\n  scenario: pipe.yaml\n' "$sweep" >"$scratch/own/w.yaml"
told 2 "regular file" "a sweep of a pipe" check "$scratch/own/w.yaml"

for command in run check sweep fit replay import 'teach --check 1' 'profiles show'; do
    told 2 . "$command of a device" $command /dev/zero
    told 2 . "$command of somebody's list" $command "$scratch/else/passwd"
done
told 2 "is a device" "import of a device" import /dev/zero --out "$scratch/import"
told 2 "is a device" "run of a device" run /dev/zero
truncate -s 2G "$scratch/large.yaml"
told 2 "larger than 1 GiB" "run of 2 GiB" run "$scratch/large.yaml"
told 2 "larger than 1 GiB" "fit of 2 GiB" fit "$scratch/large.yaml"

# libarchive takes longer to load than a small run takes: only a packed file loads it. Where there is none, the file's name is told.
printf '%s\n' "$head" >"$scratch/own/plain.yaml"
gzip -c "$scratch/own/plain.yaml" >"$scratch/own/packed.yaml"
for file in plain packed; do
    LD_DEBUG=files "$kvolsim" run "$scratch/own/$file.yaml" >"$scratch/$file" 2>&1
    grep -c 'calling init: .*/libarchive' "$scratch/$file"
done >"$scratch/out"
[ "$(tr '\n' ' ' <"$scratch/out")" = "0 1 " ]
result $? "a packed scenario alone loads libarchive"
mkdir "$scratch/libraries" && : >"$scratch/libraries/libarchive.so.13"
LD_LIBRARY_PATH=$scratch/libraries "$kvolsim" run "$scratch/own/packed.yaml" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && grep -q "packed.yaml: .*packed files need libarchive: .*libarchive.so.13" "$scratch/err"
result $? "without libarchive a packed scenario is refused"
LD_LIBRARY_PATH=$scratch/libraries "$kvolsim" run "$scratch/own/plain.yaml" >"$scratch/out" 2>"$scratch/err"
result $? "... and a plain one runs"

# GLib's own end would be a trap. Sanitizers reserve more memory than any limit.
if [ "${KVOLSIM_SANITIZERS:-no}" != yes ]; then
    truncate -s 900M "$scratch/large.yaml"
    (
        ulimit -c 0
        ulimit -v 400000
        "$kvolsim" fit "$scratch/large.yaml" >"$scratch/out" 2>&1
        [ $? -eq 1 ] && grep -q "^kvolsim: out of memory: " "$scratch/out"
    )
    result $? "no memory: status 1 and a message"
fi
cases_end
