# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of `kvolsim serve`, read with `.`: shell.sh, and servers in the scratch folder, which is the current one.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
# libsoup 3.2 does not free all sockets. A suppression finds g_socket_accept() within twelve frames, and only in the slow walk of a stack.
ASAN_OPTIONS=fast_unwind_on_malloc=0:malloc_context_size=12
LSAN_OPTIONS=suppressions=$KVOLSIM_SRCDIR/tests/serve/libsoup.supp:print_suppressions=0
export ASAN_OPTIONS LSAN_OPTIONS
cd "$scratch" || exit 1
"$kvolsim" serve --help >/dev/null 2>&1 || skip_all "kvolsim was built without serve"

# small_cluster: a scenario with three nodes, a driver, and three pods with claims.
small_cluster()
{
    cat <<'END'
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
}

# begin NAME ARGUMENT…: runs `kvolsim ARGUMENT…` in the background until it serves; sets pid and port. Its output is in NAME.
begin()
{
    name=$1
    shift
    : >"$name"
    port=
    "$kvolsim" "$@" --listen 127.0.0.1:0 >"$name" 2>"$name.err" &
    pid=$!
    for _ in $(seq 600); do
        port=$(sed -n 's|.*--server https\{0,1\}://127.0.0.1:\([0-9]*\) .*|\1|p' "$name")
        [ -z "$port" ] || return 0
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    cat "$name.err"
    return 1
}

# end SIGNAL: ends the server that began last; sets status. One that has died already says why.
end()
{
    kill "-$1" $pid 2>/dev/null || sed 's/^/# /' "$name.err"
    status=0
    wait $pid 2>/dev/null || status=$?
}

# needs_chromium [once]: skips without a browser (Debian: chromium-driver, python3-selenium). once: skips beside sanitizers, too: the page
# is the same there, and slow. page.sh asks the server for all that it has.
needs_chromium()
{
    [ "${1:-}" != once ] || [ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the page is the same, and slow"
    [ -x /usr/bin/chromedriver ] && [ -x /usr/bin/chromium ] || skip_all "there is no chromium-driver"
    /usr/bin/python3 -c 'import selenium' 2>/dev/null || skip_all "there is no python3-selenium"
}
