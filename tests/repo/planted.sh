#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The checks of this folder see what they are for: each planted fault, in a copy of the tree, makes one of them fail.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

tree_files | grep -v -e '^tests/golden/recorded/' -e '\.tar\.xz$' | tar -cf - -T - | tar -xf - -C "$scratch" --one-top-level=tree
tree=$scratch/tree
mkdir "$scratch/objects"
: >"$scratch/faults"

# planted CHECK CASE FILE[=WORD] COMMAND…: FILE is changed by the command (it edits $1), so the check's case must fail, and say WORD,
# or FILE if there is none.
# All faults are in the tree before the checks run: each reads the whole of it.
planted()
{
    printf '%s\t%s\t%s\n' "$1" "$2" "${3#*=}" >>"$scratch/planted"
    file=$tree/${3%%=*}
    shift 3
    "$@" "$file"
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

# The same static function in the file and in two more, and a case of that name.
twins()
{
    for file in "$1" "$tree/sim/strings.c" "$tree/sim/cold.c"; do
        append 'static int\ntwin(void)\n{\n    return 0;\n}\n' "$file"
    done
    append 'TEST(twin)\n{\n}\n' "$tree/sim/frozen.c"
}

planted includes "includes follow the arrow" models/plan/plan.c append '#include "run/world/run.h"\n'
planted includes "includes follow the arrow" run/study/sweep.c append '#include "run/teach/narrator.h"\n'
planted includes "no component includes another" models/kubelet/kubelet.c append '#include "models/scheduler/scheduler.h"\n'
planted includes "no component includes another" models/kubelet/csi-plugin/spec.c append '#include "models/kubelet/status/pod-status.h"\n'
planted includes "every included header exists" sim/sim.c append '#include "sim/none.h"\n'
planted doors "components call neither the API server nor a driver" models/kubelet/kubelet.c append 'void f(void) { api_server_commit(NULL); }\n'
planted doors "components call neither the API server nor a driver" models/volume/sidecar.c append 'void f(void) { csi_driver_call(NULL); }\n'
planted doors "components include no private header of the executor" models/kubelet/kubelet.c append '#include "models/plan/plan-private.h"\n'
planted doors "general code names no component" models/cluster/faults.c append 'const char *f = "kubelet";\n'
planted sizes "no .c file has more than 800 lines" sim/sim.c lines 800
planted sizes "no .c file has more than 800 lines" models/plan/plan-private.h lines 250
planted sizes "no function has more than 70 lines" sim/sim.c long_function
planted names "no type name has two meanings" sim/sim.c=Plan append 'typedef struct {\n    int x;\n} Plan;\n'
planted names "no static function's name stands in more than three files" sim/sim.c=twin twins
planted listed "every source file is listed" sim/forgotten.c append 'int forgotten;\n'
planted architecture "every path that a document names exists" README.md=sim/none.c append '`sim/none.c`\n'
planted architecture "every path that a document names exists" docs/kvolsim.1=docs/none.md append '.I docs/none.md\n'
planted architecture "every link leads somewhere" CONTRIBUTING.md=README.md#none append '[none](README.md#none)\n'
planted architecture "every function of the architecture page" docs/architecture.md=sim_none append '| None | `sim/sim.c` | `sim_none()` |\n'
planted architecture "the picture of the rooms is up to date" docs/rooms.svg append '<!-- -->'
planted words "no absolute paths" README.md append '/ro''ot/x\n'
if command -v clang-format >/dev/null; then
    planted format "every source file is formatted" sim/sim.c append 'int   x;\n'
fi

# Folders: 31 files are too many.
mkdir "$tree/sim/many"
for i in $(seq 31); do : >"$tree/sim/many/$i.c"; done
planted sizes "no folder has more than 30" sim/many/0.h=sim/many append ''

# Symbols: an object of a lower floor that uses one of a higher.
if command -v "${CC:-cc}" >/dev/null; then
    mkdir -p "$scratch/objects/sim" "$scratch/objects/run/world"
    echo 'int upper(void); int upper(void) { return 1; }' | "${CC:-cc}" -x c -c -o "$scratch/objects/run/world/run.o" -
    echo 'int upper(void); int lower(void); int lower(void) { return upper(); }' | "${CC:-cc}" -x c -c -o "$scratch/objects/sim/sim.o" -
    planted includes "no symbol is used against the arrow" sim/sim.c=upper true
    mkdir -p "$scratch/objects/models/kubelet/eviction"
    echo 'int top(void); int top(void) { return 1; }' | "${CC:-cc}" -x c -c -o "$scratch/objects/models/kubelet/kubelet.o" -
    echo 'int top(void); int below(void); int below(void) { return top(); }' | "${CC:-cc}" -x c -c -o "$scratch/objects/models/kubelet/eviction/pressure.o" -
    planted includes "inside rooms, as many arrows run up" "tests/repo/insides.txt=eviction/pressure uses kubelet" true

    (cd "$tree" && find sim models run serve cli -name '*.c') | sed 's/\.c$/.o/' | while read -r object; do
        mkdir -p "$scratch/objects/${object%/*}"
        [ -e "$scratch/objects/$object" ] || : >"$scratch/objects/$object"
    done
    planted hollow "every public function is called" sim/sim.c=lower true
    planted hollow "what is declared for tests is for tests" sim/sim-test.h=upper append 'int upper(void);\n'

    echo 'int counter; int count(void); int count(void) { return ++counter; }' | "${CC:-cc}" -x c -c -o "$scratch/objects/count.o" -
    ar cr "$scratch/objects/libcount.a" "$scratch/objects/count.o"
    planted globals "libcount.a has no mutable globals" sim/sim.c=counter true
fi

cut -f 1 "$scratch/planted" | sort -u | while read -r check; do
    KVOLSIM_SRCDIR=$tree KVOLSIM_BUILDDIR=$scratch/objects GIT_DIR=/nonexistent sh "$tree/tests/repo/$check.sh" >"$scratch/said-$check" 2>&1
done
tab=$(printf '\t')
while IFS=$tab read -r check wanted word; do
    # What a case says stands behind it.
    awk -v wanted=" - $wanted" '/^(not )?ok /{ mine = /^not ok/ && index($0, wanted) } mine' "$scratch/said-$check" >"$scratch/case"
    grep -qF -- "$word" "$scratch/case" || { echo "a fault ($word) passes:"; cat "$scratch/case"; } >"$scratch/faults"
    case_result "$check sees: $wanted ($word)" "$scratch/faults"
    : >"$scratch/faults"
done <"$scratch/planted"
cases_end
