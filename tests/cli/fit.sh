#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim fit and kvolsim profiles: a histogram as a scrape and as JSON of the query API gives the same profile; so do samples; and
# scenarios take it.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"

# The buckets of 200 calls drawn from a lognormal of mu 0.686, sigma 0.444, beside failures, others' calls and other metrics.
labels='driver_name="a.example",method_name="/csi.v1.Controller/CreateVolume"'
{
    echo '# TYPE csi_sidecar_operations_seconds histogram'
    for bucket in 0.1:0 1:12 2.5:140 5:196 +Inf:200; do
        echo "csi_sidecar_operations_seconds_bucket{$labels,grpc_status_code=\"OK\",le=\"${bucket%:*}\"} ${bucket#*:}"
    done
    echo "csi_sidecar_operations_seconds_bucket{$labels,grpc_status_code=\"Internal\",le=\"+Inf\"} 7"
    echo 'csi_sidecar_operations_seconds_bucket{driver_name="b.example",method_name="/csi.v1.Controller/CreateVolume",grpc_status_code="OK",le="+Inf"} 9'
    echo 'go_goroutines 12'
} >"$scratch/scrape.prom"
{
    printf '{"status":"success","data":{"resultType":"vector","result":['
    comma=
    for bucket in 0.1:0 1:12 2.5:140 5:196 +Inf:200; do
        printf '%s{"metric":{"__name__":"csi_sidecar_operations_seconds_bucket","driver_name":"a.example","method_name":"/csi.v1.Controller/CreateVolume","grpc_status_code":"OK","le":"%s"},"value":[1,"%s"]}' \
            "$comma" "${bucket%:*}" "${bucket#*:}"
        comma=,
    done
    printf ']}}\n'
} >"$scratch/query.json"

"$kvolsim" fit --driver a.example "$scratch/scrape.prom" >"$scratch/out" 2>&1 &&
    grep -q '^  CreateVolume: {lognormal: {mu: 0.68[67][0-9]*, sigma: 0.44[0-9]*}}' "$scratch/out"
result $? "a scrape"
grep -v '^#' "$scratch/out" >"$scratch/text"
"$kvolsim" fit --driver a.example "$scratch/query.json" >"$scratch/out" 2>&1 && grep -v '^#' "$scratch/out" | cmp - "$scratch/text"
result $? "JSON says the same"
"$kvolsim" fit --driver c.example "$scratch/scrape.prom" >"$scratch/out" 2>&1
[ $? -eq 2 ]
result $? "a driver that is not there"

awk 'BEGIN { print "method,seconds"; for (i = 0; i < 100; i++) print "NodeStageVolume," 0.01 + i * 0.001 }' >"$scratch/samples.csv"
"$kvolsim" fit "$scratch/samples.csv" >"$scratch/profile.yaml" 2>"$scratch/out" && grep -q '^  NodeStageVolume: {' "$scratch/profile.yaml"
result $? "samples"
"$kvolsim" check --set "spec.drivers[0].profile=$scratch/profile.yaml" "$KVOLSIM_SRCDIR/scenarios/validate-statefulset.yaml" >"$scratch/out" 2>&1
result $? "a scenario takes the profile"
printf 'method,seconds\nNodeStageVolume,soon\n' >"$scratch/bad.csv"
"$kvolsim" fit "$scratch/bad.csv" >"$scratch/out" 2>&1
[ $? -eq 2 ] && grep -q 'bad.csv:2:' "$scratch/out"
result $? "a bad sample is named"

printf 'method,seconds\nNodeStageVolume,inf\n' >"$scratch/bad.csv"
"$kvolsim" fit "$scratch/bad.csv" >"$scratch/out" 2>&1
[ $? -eq 2 ] && grep -q 'bad.csv:2:' "$scratch/out"
result $? "a sample without end is named"

# All calls in one bucket: no spread is made up.
bucket="csi_sidecar_operations_seconds_bucket{$labels,grpc_status_code=\"OK\""
{
    echo "$bucket,le=\"0.1\"} 8"
    echo "$bucket,le=\"+Inf\"} 8"
} >"$scratch/one.prom"
"$kvolsim" fit "$scratch/one.prom" >"$scratch/out" 2>&1 && grep -q '^  CreateVolume: {uniform: {min: 0ns, max: 100000000ns}}' "$scratch/out"
result $? "all in one bucket: anything within"
echo "csi_sidecar_operations_seconds_sum{$labels,grpc_status_code=\"OK\"} 0.016" >>"$scratch/one.prom"
"$kvolsim" fit "$scratch/one.prom" >"$scratch/out" 2>&1 && grep -q '^  CreateVolume: 2000000ns' "$scratch/out"
result $? "all in one bucket, with a sum: the mean"
printf 'node_collector_evictions_total{zone="r:\000:z"} 0\n' | cat - "$scratch/one.prom" >"$scratch/nul.prom"
"$kvolsim" fit "$scratch/nul.prom" >"$scratch/out" 2>&1 && grep -q '^  CreateVolume: 2000000ns' "$scratch/out"
result $? "a zone's name with a NUL, as kube-controller-manager writes it"

# Each is bad input; the error says why.
broken() # WORDS NAME; of $scratch/broken
{
    "$kvolsim" fit "$scratch/broken" >"$scratch/out" 2>&1
    [ $? -eq 2 ] && grep -q "$1" "$scratch/out"
    result $? "$2"
}
printf '' >"$scratch/broken"
broken 'no histogram of a storage operation' "an empty file"
printf '%s,le="0.1"} 8\n%s,le="+Inf"} 7\n' "$bucket" "$bucket" >"$scratch/broken"
broken 'but 8 up to the bucket below' "buckets that fall"
printf '%s,le="0.1"} 8\n' "$bucket" >"$scratch/broken"
broken 'no bucket le="+Inf"' "a histogram that is cut off"
printf '%s,le="0.1"} many\n' "$bucket" >"$scratch/broken"
broken 'broken:1: no sample' "a count that is no number"
printf '%s,le="0.1"} -1\n' "$bucket" >"$scratch/broken"
broken 'broken:1: no sample' "a count below nothing"
printf '%s,le="soon"} 1\n' "$bucket" >"$scratch/broken"
broken 'broken:1: no sample' "a bound that is no number"
printf 'a{b="c"} 1\n%s,le="0.1\n' "$bucket" >"$scratch/broken"
broken 'broken:2: no sample' "a line that is cut off"
printf '\001\002{\003' >"$scratch/broken"
broken 'broken:1: no sample' "no text at all"
printf '{"status":"success","data":{"resultType":"vec' >"$scratch/broken"
broken 'broken:1:' "JSON that is cut off"
printf '{"status":"error","error":"bad"}' >"$scratch/broken"
broken 'no data.result' "an error of the query API"
printf '{"data":{"result":[{"metric":{"__name__":"a"},"values":[[1,"2"]]}]}}' >"$scratch/broken"
broken 'data.result\[0\]: no sample' "a range instead of an instant"
printf '{"data":{"result":[{"metric":{"__name__":"a"},"value":[1,"x"]}]}}' >"$scratch/broken"
broken 'data.result\[0\]: no sample' "a value that is no number"
"$kvolsim" fit "$scratch/nowhere.prom" >"$scratch/out" 2>&1
[ $? -eq 2 ] && grep -q nowhere.prom "$scratch/out"
result $? "a file that is not there"

# Real scrapes, where KVOLSIM_METRICS names a folder of them: what those that time storage give is a profile that a scenario takes.
if [ -n "${KVOLSIM_METRICS:-}" ]; then
    n_fitted=0
    failures=0
    for file in "$KVOLSIM_METRICS"/*.prom; do
        grep -q '^\(csi_sidecar_operations\|csi_operations\|storage_operation_duration\)_seconds_bucket' "$file" || continue
        n_fitted=$((n_fitted + 1))
        "$kvolsim" fit "$file" >"$scratch/real.yaml" 2>"$scratch/out" &&
            "$kvolsim" check --set "spec.drivers[0].profile=$scratch/real.yaml" "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" >"$scratch/out" 2>&1 ||
            failures=$((failures + 1))
    done
    [ $failures -eq 0 ] && [ $n_fitted -gt 0 ]
    result $? "real scrapes: $n_fitted fitted"
fi

"$kvolsim" profiles >"$scratch/list" 2>"$scratch/out" && grep -q '^aws-ebs-gp3 ' "$scratch/list"
result $? "profiles are listed"
failures=0
cut -d ' ' -f 1 "$scratch/list" >"$scratch/names"
while read -r name; do
    "$kvolsim" profiles --out "$scratch/pictures" show "$name" >"$scratch/out" 2>&1 || { failures=$((failures + 1)); break; }
done <"$scratch/names"
[ $failures -eq 0 ] && [ -s "$scratch/pictures/profile.png" ]
result $? "each is explained and drawn"

# calls ARGUMENT…: the calls made, with their callers, and why others are not
calls() { "$kvolsim" profiles show --calls --format json "$@" | jq -r '.[][] | "\(.method) \(.by) \(.made) \(.because)"'; }
if command -v jq >/dev/null; then
    calls nfs >"$scratch/out"
    grep -qx 'ControllerPublishVolume external-attacher false attachRequired is false' "$scratch/out" &&
        grep -qx 'ValidateVolumeCapabilities null false no part of Kubernetes makes this call' "$scratch/out" &&
        grep -qx 'CreateVolume external-provisioner true null' "$scratch/out"
    result $? "the calls of a profile, and why others are never made"
    calls "$KVOLSIM_SRCDIR/scenarios/change-of-class.yaml" | grep -qx 'ControllerModifyVolume external-resizer true null'
    result $? "the calls of a scenario"
else
    case_skip "the calls of a profile" "no jq"
fi
cases_end
