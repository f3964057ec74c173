#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `kvolsim serve` in a real Chromium (Debian: chromium-driver, python3-selenium); page.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
cd "$scratch" || exit 1
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"
[ -x /usr/bin/chromedriver ] && [ -x /usr/bin/chromium ] || skip_all "there is no chromium-driver"
/usr/bin/python3 -c 'import selenium' 2>/dev/null || skip_all "there is no python3-selenium"

cat >small.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: small}
spec:
  until: 10m
  nodes: [{count: 3, name: "node-%d", zones: [zone-a]}]
  drivers: [{name: ebs.csi.aws.com, profile: aws-ebs-gp3}]
  workload:
  - at: 1s
    create:
      count: 3
      manifest:
      - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: first}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
      - {apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: first}}]}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: ebs.csi.aws.com}
END
# run_page SERVE-OPTIONS -- PAGE-ARGUMENTS: 0 if all cases of page.py passed. Cases are counted in one sequence.
n=0 status=0 page=
run_page()
{
    options=
    while [ "$1" != -- ]; do options="$options $1"; shift; done
    shift
    # shellcheck disable=SC2086
    "$kvolsim" serve small.yaml --speed 0 --listen 127.0.0.1:0 $options >served 2>>errors &
    pid=$!
    port=
    for _ in $(seq 600); do
        port=$(sed -n 's|.*--server http://127.0.0.1:\([0-9]*\) .*|\1|p' served)
        [ -z "$port" ] || break
        sleep 0.1
    done
    FIRST_CASE=$n /usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/page.py" ${page:+"$page"} "$port" "$@" >printed || status=1
    grep -v '^1\.\.' printed
    n=$((n + $(grep -c '^\(not \)\?ok' printed)))
    kill -INT $pid
    wait $pid
}

run_page --
echo sesame >token
"$kvolsim" serve small.yaml --export exported >printed || status=1
page=file://$scratch/exported/index.html
run_page --
page=
run_page --token-file token -- token sesame
run_page "--versus-set spec.nodes[0].count=2" -- versus
echo "1..$n"
[ -s errors ] && sed 's/^/# /' errors
exit $status
