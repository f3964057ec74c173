#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The real csi-sanity on `kvolsim csi`, with both back ends. The program is CSI_SANITY, or csi-sanity of the PATH, or is built by Go
# from the sources of csi-test 5.3 in the folder CSI_TEST (they have all that they need in vendor/).
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
"$kvolsim" csi --help >/dev/null 2>&1 || skip_all "kvolsim was built without csi"
sanity=${CSI_SANITY:-$(command -v csi-sanity)}
if [ -z "$sanity" ] && [ -n "${CSI_TEST:-}" ] && command -v go >/dev/null; then
    sanity=$scratch/csi-sanity
    (cd "$CSI_TEST" && CGO_ENABLED=0 GOFLAGS=-mod=vendor go build -o "$sanity" ./cmd/csi-sanity) || exit 1
fi
[ -n "$sanity" ] || skip_all "csi-sanity is not here: set CSI_SANITY, or CSI_TEST to a folder with its sources"
cd "$scratch" || exit 1
socket=$scratch/csi.sock
printf 'iops: "100"\n' >mutable.yaml

# passes NAME OPTIONS-OF-SANITY OPTION…: a case: no spec fails on a driver with these options.
passes()
{
    name=$1
    wanted=$2
    shift 2
    "$kvolsim" csi --endpoint "unix://$socket" --node-id node-1 "$@" >log 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        grep -q 'listens on' log && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    # shellcheck disable=SC2086 # several words
    "$sanity" -csi.endpoint="$socket" -csi.stagingdir="$scratch/staging" -csi.mountdir="$scratch/mount" -ginkgo.no-color $wanted >out 2>&1
    status=$?
    kill $pid
    wait $pid
    [ $? -eq 143 ] && [ $status -eq 0 ] && grep -q '^SUCCESS' out
    result $? "$name: $(sed -n 's/^SUCCESS! -- //p' out)" "$scratch/out" "$scratch/log"
}

everything=$KVOLSIM_SRCDIR/tests/csi/socket/everything.yaml
passes "every capability" "-csi.testvolumemutableparameters=mutable.yaml -csi.testnodevolumeattachlimit" --scenario "$everything" --state-dir state
passes "block volumes" "-csi.testvolumeaccesstype=block" --scenario "$everything"
passes "a profile" "" --profile aws-ebs-gp3 --speed 100000
if [ "$(id -u)" -eq 0 ] && [ -w /dev/loop-control ]; then
    exec 9>"${TMPDIR:-/tmp}/kvolsim-loop-tests.lock"
    flock 9
    # Not in the scratch folder: that may be on a tmpfs, and a fault must not remove what is still mounted.
    devices=$(mktemp -d "$KVOLSIM_BUILDDIR/csi-sanity-XXXXXX") || exit 1
    small="-csi.testvolumesize=104857600 -csi.testvolumeexpandsize=209715200"
    passes "real devices" "$small" --backend loop --state-dir "$devices"
    passes "real block devices" "$small -csi.testvolumeaccesstype=block" --backend loop --state-dir "$devices"
    "$kvolsim" loop clean --state-dir "$devices" >out 2>&1
    result $? "loop clean: nothing is left" && rm -rf --one-file-system "$devices"
else
    case_skip "real devices" "they are not permitted here"
fi
cases_end
