#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fails when the instructions that a pod costs have grown by more than 10 % over the figure in instructions-per-pod.txt: of a thousand
# pods of pods.yaml against one, counted by callgrind, so no matter how fast or busy the machine is. What grows them for a reason
# records the new figure, and says so in its commit:
#   KVOLSIM_SRCDIR=.. KVOLSIM_BUILDDIR=. tests/bench/guard.sh --record
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
here=$KVOLSIM_SRCDIR/tests/bench
build=$KVOLSIM_BUILDDIR
. "$here/lib.sh"

command -v valgrind >/dev/null || skip_all "needs valgrind, which counts them"
[ -x "$kvolsim" ] || skip_all "the program is not built: $kvolsim"
flags=$(sed -n 's/^CFLAGS = *//p' "$build/Makefile")
compiler=$(sed -n 's/^CC = *//p' "$build/Makefile")
version=$($compiler --version | head -n 1)
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "sanitizers count, too"
case $flags in
"-O3 -g" | "-O3 -g1") ;; # how much a debugger is told changes no instruction
*) skip_all "the figure is of CFLAGS='-O3 -g', this build has '$flags'" ;;
esac
case $version in
*clang*) skip_all "the figure is of gcc" ;;
esac

pods=1000
instructions "$kvolsim" "$here/pods.yaml" --set "spec.workload[0].create.count=$pods" >"$scratch/many" &
many_pid=$!
instructions "$kvolsim" "$here/pods.yaml" --set spec.workload[0].create.count=1 >"$scratch/one"
wait $many_pid
of_one=$(cat "$scratch/one")
of_many=$(cat "$scratch/many")
if [ -z "$of_one" ] || [ -z "$of_many" ]; then
    echo "valgrind counted nothing: does the run fail?"
    exit 1
fi
measured=$(((of_many - of_one) / (pods - 1)))

if [ "${1:-}" = --record ]; then
    {
        echo "# Instructions of a pod in pods.yaml: see guard.sh, which compares. The compiler is noted, for another may need others."
        echo "instructions_per_pod $measured"
        echo "compiler $version"
    } >"$here/instructions-per-pod.txt"
fi
recorded=$(sed -n 's/^instructions_per_pod //p' "$here/instructions-per-pod.txt")
echo "# $measured instructions per pod; recorded: $recorded, $(sed -n 's/^compiler //p' "$here/instructions-per-pod.txt")"
echo "# this build: $version"
[ $((measured * 100)) -le $((recorded * 110)) ]
result $? "a pod costs no more than 110 % of the recorded instructions"
cases_end
