#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A test proves something of the program only if the program itself calls what the test calls. So each public function has a
# caller in another file of the program. What only tests call from outside of its file (it looks at a state, or is one decision of
# many) is declared in a header *-test.h, and nothing else is.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

tree_files sim models run serve cli >"$scratch/files"
grep -- '-test\.h$' "$scratch/files" | tr '\n' '\0' | xargs -0 -r cat |
    sed -n -e 's|/\*.*\*/||' -e '/^[ *\/]/d' -e 's/^\([A-Za-z].*[ *]\)\{0,1\}\([a-z_0-9]*\)(.*/\2/p' | sort -u >"$scratch/for-tests"

cd "$builddir" || exit 1
find sim models run serve cli -name '*.o' 2>/dev/null | sort >"$scratch/found"
awk '
    FILENAME ~ /files$/ { if (sub(/\.c$/, "")) source[$0] = 1; next }
    {
        name = $0; sub(/\.o$/, "", name)
        folder = name; sub(/[^\/]*$/, "", folder); sub(/^.*\//, "", name)
        if (name ~ /^kvolsim-|_a-/) sub(/^[^-]*-/, "", name) # objects with flags of their own
        if (!((folder name) in source)) next # generated, or left from a file that has moved
        print
        delete source[folder name]
    }
    END { for (name in source) print name ".c" >"'"$scratch"'/unbuilt" }' "$scratch/files" "$scratch/found" >"$scratch/objects"
if [ -s "$scratch/unbuilt" ]; then
    case_skip "every public function is called" "$(wc -l <"$scratch/unbuilt") sources are not built here"
    case_skip "what is declared for tests is for tests" "not all is built here"
    cases_end
    exit
fi

xargs ${NM:-nm} -A -P -g <"$scratch/objects" 2>/dev/null | sed 's/: / /' >"$scratch/symbols"
# The macros of errors and of references make functions of which not each is needed.
awk -v found="$scratch" '
    FILENAME ~ /for-tests$/ { for_tests[$1] = 1; next }
    $3 == "T" && $2 !~ /^main$|_error_quark$|_(ref|unref)$/ { owner[$2] = $1 }
    $3 == "U" { user[$2] = $1 }
    END {
        for (name in owner) {
            if (!(name in user) && !(name in for_tests))
                print owner[name] ": " name "() has no caller in another file" >(found "/hollow")
            if (name in user && name in for_tests)
                print owner[name] ": " name "() is declared for tests, and " user[name] " calls it" >(found "/shared")
        }
    }' "$scratch/for-tests" "$scratch/symbols"
for list in hollow shared; do
    [ -e "$scratch/$list" ] && sort -o "$scratch/$list" "$scratch/$list" || : >"$scratch/$list"
done
case_result "every public function is called" "$scratch/hollow"
case_result "what is declared for tests is for tests" "$scratch/shared"
cases_end
