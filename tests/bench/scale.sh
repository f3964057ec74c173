#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The official limits of Kubernetes, and how cost grows up to them. A line per figure: name value unit.
#   scale.sh PROGRAM SOURCE_DIR [small]
# The whole takes half an hour and 8 GB; with `small` everything of more than 15,000 pods is left out.
set -eu
program=$1
here=$2/tests/bench
small=${3:-}
. "$here/lib.sh"
[ -x /usr/bin/time ] || { echo "scale.sh: needs /usr/bin/time (Debian: apt-get install time)" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# told NAME: what the run of that name cost
told()
{
    read -r wall user peak <"$scratch/$1.time"
    echo "$1_wall $wall s"
    echo "$1_user $user s"
    echo "$1_peak $((peak / 1024)) MiB"
    echo "$1_events $(summary "$1" events) events"
    echo "$1_virtual $(summary "$1" virtualSeconds) s"
}

# scaled NAME NODES PODS SECOND [OPTION…]
scaled()
{
    name=$1
    nodes=$2
    pods=$3
    second=$4
    shift 4
    # shellcheck disable=SC2046 # a list of words
    usage "$name" "$program" "$here/pods.yaml" $(cluster "$nodes" "$pods" "$second") "$@"
    told "$name"
    echo "${name}_user_per_pod $(calculate "1e6 * $user / $pods") us"
}

# How cost grows with pods, and with nodes at equal pods.
if command -v valgrind >/dev/null; then
    # shellcheck disable=SC2046
    {
        idle=$(instructions "$program" "$here/pods.yaml" $(cluster 500 1 1200))
        few=$((($(instructions "$program" "$here/pods.yaml" $(cluster 500 1000 1200)) - idle) / 999))
        many=$((($(instructions "$program" "$here/pods.yaml" $(cluster 500 10000 1200)) - idle) / 9999))
        little=$(instructions "$program" "$here/pods.yaml" $(cluster 100 2000 1200))
        big=$(instructions "$program" "$here/pods.yaml" $(cluster 5000 2000 1200))
        bare=$(instructions "$program" "$here/pods.yaml" $(cluster 5000 1 1200))
        bare_little=$(instructions "$program" "$here/pods.yaml" $(cluster 100 1 1200))
    }
    echo "growth_1000_pods $few instructions/pod"
    echo "growth_10000_pods $many instructions/pod"
    echo "growth_per_pod_10000_to_1000 $(calculate "$many / $few") times"
    echo "growth_per_pod_5000_to_100_nodes $(calculate "($big - $bare) / ($little - $bare_little)") times"
    echo "growth_per_idle_node_5000_to_100 $(calculate "$bare / 5000 / ($bare_little / 100)") times"
fi
scaled pods_1000 34 1000 1200 --no-attribution
scaled pods_15000 500 15000 1200 --no-attribution

# A running cluster that nobody touches: a day more.
sed '/^  - {at: 12[05]0s/d' "$here/pods.yaml" >"$scratch/running.yaml"
# day NODES PODS
day()
{
    for until in 2h 26h; do
        usage "until_$until" "$program" "$scratch/running.yaml" --no-attribution --set "spec.nodes[0].count=$1" \
            --set "spec.workload[0].create.count=$2" --set "spec.until=$until"
    done
    read -r _ short _ <"$scratch/until_2h.time"
    read -r _ long _ <"$scratch/until_26h.time"
    echo "day_of_$2_running_pods_user $(calculate "$long - $short") s"
    echo "day_of_$2_running_pods_events $(($(summary until_26h events) - $(summary until_2h events))) events"
}
day 500 5000

# Small things.
for _ in 1 2 3 4 5; do
    usage quickstart "$program" "$2/scenarios/quickstart.yaml"
    cat "$scratch/quickstart.time" >>"$scratch/quickstarts"
done
echo "quickstart_wall $(sort -n "$scratch/quickstarts" | awk 'NR == 1 { print $1 }') s"
awk 'BEGIN {
    for (i = 0; i < 20000; i++)
        printf "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data-%d\n  namespace: default\n  labels: {app: web, tier: storage}\n" \
            "  annotations:\n    pv.kubernetes.io/bind-completed: \"yes\"\n    volume.kubernetes.io/storage-provisioner: csi.bench.example\n" \
            "spec:\n  accessModes: [ReadWriteOnce]\n  storageClassName: bench\n  volumeMode: Filesystem\n  resources:\n    requests:\n      storage: 1Gi\n" \
            "status:\n  phase: Pending\n", i
}' >"$scratch/dump.yaml"
echo "check_dump_size $(calculate "$(wc -c <"$scratch/dump.yaml") / 1e6") MB"
/usr/bin/time -f '%e' -o "$scratch/check.time" "$program" check "$scratch/dump.yaml" >/dev/null
echo "check_dump_wall $(cat "$scratch/check.time") s"

[ "$small" != small ] || exit 0
scaled limits_150000_pods 5000 150000 3000 --no-attribution
scaled limits_150000_pods_results 5000 150000 3000 --no-attribution --out "$scratch/results"
rm -rf "$scratch/results"
# At default limits, and what of it the requests explain.
"$(dirname "$program")/tests/bench/explained" 150000
scaled limits_65000_nodes 65000 65000 3000 --no-attribution
scaled limits_500000_pods 15000 500000 6000 --no-attribution
day 5000 150000
