#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What it takes to bring a large cluster: a line per figure: name value unit. A dump of 106 MB to a running world, by import and
# directly; an audit log of 200 MB.
#   import.sh PROGRAM SOURCE_DIR
set -eu
program=$1
here=$2/tests/bench
. "$here/lib.sh"
[ -x /usr/bin/time ] || { echo "import.sh: needs /usr/bin/time (Debian: apt-get install time)" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# timed NAME WORD…: wall seconds and peak kB into $scratch/NAME.time
timed()
{
    timed_name=$1
    shift
    /usr/bin/time -f '%e %M' -o "$scratch/$timed_name.time" "$@" >/dev/null
}

# Requests as most clusters log them: no bodies, half of them reads, a tenth of them of people.
print_log()
{
    awk -v lines="$1" 'BEGIN {
        split("get list watch update patch create", verbs, " ")
        for (i = 0; i < lines; i++) {
            verb = verbs[i % 6 + 1]
            agent = i % 10 ? "kubelet/v1.32.1 (linux/amd64) kubernetes/abcdef0" : "kubectl/v1.32.1 (linux/amd64) kubernetes/abcdef0"
            user = i % 10 ? "system:node:node-" i % 100 : "kubernetes-admin"
            at = sprintf("2026-05-04T%02d:%02d:%02d.%06d", 9 + int(i / 360000), int(i / 6000) % 60, int(i / 100) % 60, i % 100 * 10000)
            printf "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\",\"auditID\":\"%08x-0000-4000-8000-000000000000\",", i
            printf "\"stage\":\"ResponseComplete\",\"requestURI\":\"/api/v1/namespaces/load/pods/app-%d/status\",\"verb\":\"%s\",", i % 5000, verb
            printf "\"user\":{\"username\":\"%s\",\"groups\":[\"system:nodes\",\"system:authenticated\"]},\"sourceIPs\":[\"10.0.0.1\"],", user
            printf "\"userAgent\":\"%s\",\"objectRef\":{\"resource\":\"pods\",\"namespace\":\"load\",\"name\":\"app-%d\",\"apiVersion\":\"v1\",\"subresource\":\"status\"},", agent, i % 5000
            printf "\"responseStatus\":{\"metadata\":{},\"code\":200},\"requestReceivedTimestamp\":\"%sZ\",\"stageTimestamp\":\"%sZ\",", at, at
            printf "\"annotations\":{\"authorization.k8s.io/decision\":\"allow\",\"authorization.k8s.io/reason\":\"\"}}\n"
        }
    }'
}

"$here/make-dump.sh" 4000 >"$scratch/dump.json"
timed import "$program" import "$scratch/dump.json" --out "$scratch/imported"
timed world "$program" run "$scratch/imported/scenario.yaml" --set spec.until=0s
cat >"$scratch/direct.yaml" <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: direct}
spec: {until: 0s, manifests: dump.json, drivers: [{name: ebs.csi.aws.com, profile: aws-ebs-gp3}]}
END
timed direct "$program" run "$scratch/direct.yaml"
read -r wall peak <"$scratch/import.time"
read -r world world_peak <"$scratch/world.time"
read -r direct direct_peak <"$scratch/direct.time"
echo "import_dump_wall $wall s"
echo "import_dump_to_world_wall $(calculate "$wall + $world") s"
echo "import_dump_to_world_peak $((peak > world_peak ? peak / 1024 : world_peak / 1024)) MiB"
echo "run_of_dump_wall $direct s"
echo "run_of_dump_peak $((direct_peak / 1024)) MiB"

"$here/make-dump.sh" 40 >"$scratch/small.json"
print_log 250000 >"$scratch/audit.log"
bytes=$(wc -c <"$scratch/audit.log")
timed audit "$program" import "$scratch/small.json" --start 2026-05-04T09:00:00Z --audit "$scratch/audit.log" --out "$scratch/audited"
read -r wall peak <"$scratch/audit.time"
echo "import_audit_100mb_wall $(calculate "$wall * 1e8 / $bytes") s"
echo "import_audit_peak $((peak / 1024)) MiB"
