#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The checks of this folder see what they are for: each planted fault, in a copy of the tree, makes one of them fail.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

tree_files | grep -v -e '^tests/golden/recorded/' -e '\.tar\.xz$' | tar -cf - -T - | tar -xf - -C "$scratch" --one-top-level=tree
tree=$scratch/tree
mkdir "$scratch/objects"

# planted CHECK CASE FILE COMMAND…: FILE is changed by the command (it edits $1), then the check's case must fail.
planted()
{
    check=$1
    wanted=$2
    file=$tree/$3
    shift 3
    existed=no
    if [ -e "$file" ]; then
        existed=yes
        cp "$file" "$scratch/saved"
    fi
    "$@" "$file"
    KVOLSIM_SRCDIR=$tree KVOLSIM_BUILDDIR=$scratch/objects GIT_DIR=/nonexistent sh "$tree/tests/repo/$check.sh" >"$scratch/said" 2>&1
    : >"$scratch/faults"
    grep -q "^not ok [0-9]* - $wanted" "$scratch/said" || { echo "a fault in ${file#"$tree/"} passes:"; cat "$scratch/said"; } >"$scratch/faults"
    case_result "$check sees: $wanted" "$scratch/faults"
    if [ $existed = yes ]; then cp "$scratch/saved" "$file"; else rm -f "$file"; fi
}

append()
{
    printf '%b' "$1" >>"$2"
}

lines()
{
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "/* a line */" }' >>"$2"
}

long_function()
{
    { printf 'void\nlong_function(void)\n{\n'; lines 71 /dev/stdout; printf '}\n'; } >>"$1"
}

planted includes "includes follow the arrow" models/plan/plan.c append '#include "run/world/run.h"\n'
planted includes "includes follow the arrow" run/study/sweep.c append '#include "run/teach/narrator.h"\n'
planted includes "no component includes another" models/kubelet/kubelet.c append '#include "models/scheduler/scheduler.h"\n'
planted includes "every included header exists" sim/sim.c append '#include "sim/none.h"\n'
planted doors "components call neither the API server nor a driver" models/kubelet/kubelet.c append 'void f(void) { api_server_commit(NULL); }\n'
planted doors "components call neither the API server nor a driver" models/volume/sidecar.c append 'void f(void) { csi_driver_call(NULL); }\n'
planted doors "components include no private header of the executor" models/kubelet/kubelet.c append '#include "models/plan/plan-private.h"\n'
planted doors "general code names no component" models/cluster/faults.c append 'const char *f = "kubelet";\n'
planted sizes "no .c file has more than 800 lines" sim/sim.c lines 800
planted sizes "no .c file has more than 800 lines" models/plan/plan-private.h lines 250
planted sizes "no function has more than 70 lines" sim/sim.c long_function
planted listed "every source file is listed" sim/forgotten.c append 'int forgotten;\n'
planted architecture "every path that a document names exists" README.md append '`sim/none.c`\n'
planted architecture "every path that a document names exists" docs/kvolsim.1 append '.I docs/none.md\n'
planted architecture "every link leads somewhere" CONTRIBUTING.md append '[none](README.md#none)\n'
planted architecture "every function of the architecture page" docs/architecture.md append '| None | `sim/sim.c` | `sim_none()` |\n'
planted architecture "the picture of the rooms is up to date" docs/rooms.svg append '<!-- -->'
planted words "no absolute paths" README.md append '/ro''ot/x\n'
if command -v clang-format >/dev/null; then
    planted format "every source file is formatted" sim/sim.c append 'int   x;\n'
fi

# Folders: 31 files are too many.
mkdir "$tree/sim/many"
for i in $(seq 31); do : >"$tree/sim/many/$i.c"; done
planted sizes "no folder has more than 30" sim/many/0.h append ''
rm -r "$tree/sim/many"

# Symbols: an object of a lower floor that uses one of a higher.
if command -v "${CC:-cc}" >/dev/null; then
    mkdir -p "$scratch/objects/sim" "$scratch/objects/run/world"
    echo 'int upper(void); int upper(void) { return 1; }' | "${CC:-cc}" -x c -c -o "$scratch/objects/run/world/run.o" -
    echo 'int upper(void); int lower(void); int lower(void) { return upper(); }' | "${CC:-cc}" -x c -c -o "$scratch/objects/sim/sim.o" -
    planted includes "no symbol is used against the arrow" sim/sim.c true

    echo 'int counter; int count(void); int count(void) { return ++counter; }' | "${CC:-cc}" -x c -c -o "$scratch/objects/count.o" -
    ar cr "$scratch/objects/libcount.a" "$scratch/objects/count.o"
    planted globals "libcount.a has no mutable globals" sim/sim.c true
fi
cases_end
