#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Pictures of the story of one object. The sequence shows writes, watch events and calls of the driver in order of time, as explain
# does; the lifecycle shows the phases. Both are available as text for documents, and drawn by gnuplot, from a scenario file and from
# a run's results; errors end with status 2.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs teach
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml

# ---- The sequence ----
$kvolsim plot "$scenario" sequence --object pod/app --format mermaid >"$scratch/sequence"
sed -n 1p "$scratch/sequence" | grep -qx sequenceDiagram && grep -q '^ *%% kvolsim .* scenario wait-for-first-consumer' "$scratch/sequence"
result $? "it is Mermaid, and tells of which run"
# The participants' names in place of their numbers.
sed -n 's/^ *participant \(p[0-9]*\) as \(.*\)$/\1=\2/p' "$scratch/sequence" | tr ' ' _ >"$scratch/lanes"
awk -F = 'FILENAME ~ /lanes/ { name[$1] = $2; next } match($0, /^ *p[0-9]+(->>|-->>|--x|-x)p[0-9]+: /) {
    split($0, part, /: /); head = part[1]; gsub(/ /, "", head); match(head, /-+[>x]+/)
    from = substr(head, 1, RSTART - 1); to = substr(head, RSTART + RLENGTH); rest = substr($0, index($0, ": ") + 2)
    print name[from], substr(head, RSTART, RLENGTH), name[to], rest }' "$scratch/lanes" "$scratch/sequence" >"$scratch/messages"
awk '{ for (i = 4; i <= NF; i++) if ($(i + 1) == "s") { if ($i < last) exit 1; last = $i; break } } END { exit NR < 30 }' "$scratch/messages"
result $? "in order of time"
# in_order PATTERN...: each on a later line than the one before
in_order()
{
    start=1
    for pattern; do
        line=$(tail -n "+$start" "$scratch/messages" | grep -n -m 1 -- "$pattern" | cut -d : -f 1)
        [ -n "$line" ] || { echo "# not found, or too early: $pattern"; return 1; }
        start=$((start + line))
    done
}
in_order '^user ->> API_server .* create pod/app$' '^API_server -->> kube-scheduler .* watch: pod/app$' \
    '^kube-scheduler ->> API_server .* update pvc/data: selected-node: node-' '^API_server -->> external-provisioner .* watch: pvc/data$' \
    '^external-provisioner ->> driver_csi.lab.example .* CreateVolume$' '^driver_csi.lab.example -->> external-provisioner .* CreateVolume: OK (1s)$' \
    '^external-provisioner ->> API_server .* create pv/pvc-' '^persistent-volume-binder ->> API_server .* phase: Pending -> Bound' \
    '^kube-scheduler ->> API_server .* bind pod/app: nodeName: ' '^attachdetach-controller ->> API_server .* create volumeattachment/csi-' \
    '^API_server -->> external-attacher .* watch: volumeattachment/csi-' '^external-attacher ->> driver_csi.lab.example .* ControllerPublishVolume$' \
    '^kubelet_node-[^ ]* ->> driver_csi.lab.example .* NodeStageVolume$' '^kubelet_node-[^ ]* ->> API_server .* phase: Pending -> Running' \
    '^user ->> API_server .* delete pod/app' 'NodeUnstageVolume$' 'ControllerUnpublishVolume$' 'DeleteVolume$' '^pv-protection-controller ->> API_server .* gone$'
result $? "the whole life of a pod and its volume, each step by its component"
[ "$(grep -c '^driver' "$scratch/messages")" -eq "$(grep -c ' driver_csi.lab.example ' "$scratch/messages")" ]
result $? "as many answers as calls"
grep -q 'Note over .*: 3[.][0-9]* s: until a loop looks again (kubelet/node status)$' "$scratch/sequence"
result $? "a silence tells what time passed with"
$kvolsim plot "$KVOLSIM_SRCDIR/scenarios/provision-retry.yaml" sequence --object pvc/refused --format mermaid >"$scratch/refused"
grep -q -- '--xp[0-9]*: .*CreateVolume: INTERNAL' "$scratch/refused" && grep -q -- '-xp1: .*Warning ProvisioningFailed' "$scratch/refused" &&
    grep -q 'Note over .*: 8[.]00 s: a pause before the next try (back-off)' "$scratch/refused"
result $? "errors, warnings and pauses are told"
$kvolsim plot "$scenario" sequence --object pod/app --format mermaid --from 13s --to 20s >"$scratch/part"
grep -q 'bind pod/app' "$scratch/part" && ! grep -qE 'CreateVolume|create pod/app|NodeUnpublish' "$scratch/part"
result $? "a part of it"
$kvolsim plot "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" sequence --object statefulset/postgres --format mermaid >"$scratch/much"
[ "$(wc -l <"$scratch/much")" -lt 300 ] && tail -n 1 "$scratch/much" | grep -q 'more messages until .*: choose with --from and --to'
result $? "what is too much for a picture breaks off, and says so"

# ---- The lifecycle ----
$kvolsim plot "$KVOLSIM_SRCDIR/scenarios/claim-lost.yaml" lifecycle --object pvc/data --format mermaid >"$scratch/lifecycle"
way() # OBJECT: the states that it passed, in the order of the numbers
{
    sed -n "s|^ *state \"$1 [A-Z][a-z]*\" as \(o[0-9]*\)[A-Z].*|\1|p" "$scratch/lifecycle" | head -n 1 >"$scratch/id"
    awk -v id="$(cat "$scratch/id")" '/ --> .* : / && index($0, id) { to = $3; sub(id, "", to); sub(/^\[\*\]$/, "end", to); text = substr($0, index($0, " : ") + 3)
        n = split(text, times, /, /); for (i = 1; i <= n; i++) print times[i] + 0, to }' "$scratch/lifecycle" | sort -n | cut -d ' ' -f 2 | tr '\n' ' '
}
[ "$(way persistentvolumeclaim/data)" = "Pending Bound Lost Bound " ]
result $? "the claim is lost and found"
[ "$(way persistentvolume/archive)" = "Available Bound Terminating end Pending Available Bound " ]
result $? "its volume goes and comes anew"
grep -q 'Released --> .*Failed$' "$scratch/lifecycle" && grep -q '^ *class .*Lost passed$' "$scratch/lifecycle" && ! grep -q 'class .*Released passed' "$scratch/lifecycle"
result $? "ways that were not taken are drawn, too"

# ---- Drawn ----
$kvolsim run "$scenario" --out "$scratch/run" >/dev/null
for picture in sequence lifecycle; do
    $kvolsim plot "$scenario" $picture --object pod/app --format svg --out "$scratch" >"$scratch/out" &&
        [ "$(cat "$scratch/out")" = "$scratch/$picture-pod-app.svg" ] && grep -q '</svg>' "$scratch/$picture-pod-app.svg"
    result $? "$picture of a scenario file"
    $kvolsim plot "$scratch/run" $picture --object pod/app --format svg >"$scratch/out" && cmp -s "$scratch/run/$picture-pod-app.svg" "$scratch/$picture-pod-app.svg"
    result $? "$picture of a run's results is the same"
    $kvolsim plot "$scratch/run" $picture --object pod/app >"$scratch/out" && [ -s "$scratch/run/$picture-pod-app.png" ]
    result $? "$picture as PNG"
done
# Each message of the text stands in the picture, whole.
sed -n 's/^ *p[0-9]*[->x]*p[0-9]*: [0-9.]* s //p' "$scratch/sequence" | sort -u >"$scratch/texts"
sed 's/&gt;/>/g' "$scratch/sequence-pod-app.svg" >"$scratch/drawn"
lost=0
while read -r text; do
    grep -qF -- "$text" "$scratch/drawn" || { echo "# not drawn: $text"; lost=1; }
done <"$scratch/texts"
[ $lost -eq 0 ] && [ "$(wc -l <"$scratch/texts")" -gt 20 ]
result $? "every message is drawn"

$kvolsim run "$scenario" --set spec.drivers[0].latency.CreateVolume=200ms --seed 7 --out "$scratch/other" >/dev/null
$kvolsim plot "$scratch/other" sequence --object pod/app --format mermaid >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && grep -q 'of another scenario' "$scratch/err"
result $? "results of another scenario are not drawn as this one's"
$kvolsim plot "$scratch/other" sequence --object pod/app --format mermaid --set spec.drivers[0].latency.CreateVolume=200ms >"$scratch/out" 2>"$scratch/err" &&
    grep -q ' seed 7 ' "$scratch/out" && grep -q 'CreateVolume: OK (200ms)' "$scratch/out"
result $? "with what the run had they are, of its own seed"

refused 'needs --object' plot "$scenario" sequence
refused 'the run has no "pod/nobody"' plot "$scenario" sequence --object pod/nobody
refused 'nothing happened to' plot "$scenario" sequence --object pod/app --from 49s
refused 'can be png, svg or mermaid' plot "$scenario" lifecycle --object pod/app --format dumb
refused 'is for sequence and lifecycle only' plot "$scratch/run" timeline --format mermaid
refused 'plot: --out is for sequence and lifecycle only' plot "$scratch/run" timeline --out "$scratch"
refused 'plot: --set is for sequence and lifecycle only' plot "$scratch/run" --set spec.until=9s
refused 'plot: --only is for sweeps only' plot "$scratch/run" cdf --only driver=slow
refused 'plot: --by is for sweeps only' plot "$scenario" lifecycle --object pod/app --by qps
refused 'is none of png, svg, dumb, mermaid' plot "$scratch/run" timeline --format narrow
refused 'is none of png, svg, dumb, mermaid' plot "$scratch/run" timeline --format gif
refused 'no results of a run' plot "$scratch" sequence --object pod/app
refused '--from: ' plot "$scenario" sequence --object pod/app --from soon

cases_end
