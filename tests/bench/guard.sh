#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fails when what a pod costs has grown over the rows of price-of-a-pod.txt: its instructions by more than 10 %, its events at all. The
# price is that of many pods of pods.yaml less that of one, counted by callgrind and by the engine, so no matter how fast or busy the
# machine is. What grows it for a reason records the new figures, and says so in its commit:
#   KVOLSIM_SRCDIR=.. KVOLSIM_BUILDDIR=. tests/bench/guard.sh --record
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
here=$KVOLSIM_SRCDIR/tests/bench
build=$KVOLSIM_BUILDDIR
. "$here/lib.sh"
prices=$here/price-of-a-pod.txt

command -v valgrind >/dev/null || skip_all "needs valgrind, which counts them"
[ -x "$kvolsim" ] || skip_all "the program is not built: $kvolsim"
flags=$(sed -n 's/^CFLAGS = *//p' "$build/Makefile")
compiler=$(sed -n 's/^CC = *//p' "$build/Makefile")
version=$($compiler --version | head -n 1)
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "sanitizers count, too"
case $flags in
"-O3 -g" | "-O3 -g1") ;; # the same instructions
*) skip_all "the figures are of CFLAGS='-O3 -g', this build has '$flags'" ;;
esac
case $version in
*clang*) skip_all "the figures are of gcc" ;;
esac

# price CASE PODS OPTION…: instructions and events of a pod
price()
{
    price_case=$1
    price_pods=$2
    shift 2
    for price_n in 1 "$price_pods"; do
        instructions "$kvolsim" "$here/pods.yaml" "$@" --set "spec.workload[0].create.count=$price_n" >"$scratch/$price_case-$price_n" &
        "$kvolsim" run "$here/pods.yaml" "$@" --set "spec.workload[0].create.count=$price_n" --format json >"$scratch/$price_case-$price_n.json"
    done
    wait
    price_one=$(cat "$scratch/$price_case-1")
    price_many=$(cat "$scratch/$price_case-$price_pods")
    if [ -z "$price_one" ] || [ -z "$price_many" ]; then
        echo "valgrind counted nothing: does the run fail?" >&2
        exit 1
    fi
    echo "$price_case $(((price_many - price_one) / (price_pods - 1)))" \
        "$((($(summary "$price_case-$price_pods" events) - $(summary "$price_case-1" events)) / (price_pods - 1)))"
}

{
    price no-limits 1000
    price default-limits 1000 --set spec.kubernetes.unlimitedQPS=false --set 'spec.nodes[0].count=33'
} >"$scratch/prices"
if [ "${1:-}" = --record ]; then
    {
        echo "# What a pod of pods.yaml costs: see guard.sh, which compares. The compiler is noted, for another may need others."
        echo "# case, instructions, events"
        cat "$scratch/prices"
        echo "# $version"
    } >"$prices"
fi
echo "# this build: $version; the figures:$(sed -n '$s/^#//p' "$prices")"
while read -r name instructions events; do
    set -- $(sed -n "s/^$name //p" "$prices")
    echo "# $name: $instructions instructions and $events events per pod; recorded: $1 and $2"
    [ $((instructions * 100)) -le $(($1 * 110)) ]
    result $? "$name: a pod costs no more than 110 % of the recorded instructions"
    [ "$events" -le "$2" ]
    result $? "$name: a pod costs no more events than recorded"
done <"$scratch/prices"
cases_end
