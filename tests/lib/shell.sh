# SPDX-License-Identifier: GPL-3.0-or-later
# For shell tests, read with `.`: the program, a scratch folder that is removed at the end, and cases, reported as TAP.
set -u
LC_ALL=C
export LC_ALL
: "${KVOLSIM_SRCDIR:?is the top of the source tree}" "${KVOLSIM_BUILDDIR:=$PWD}"
kvolsim=$KVOLSIM_BUILDDIR/kvolsim
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM
n_cases=0
n_failed=0

# result STATUS NAME [FILE…]: a case that passes if STATUS is 0. If not, the files are shown; by default $scratch/out and $scratch/err,
# where a test keeps the output of its last command.
result()
{
    n_cases=$((n_cases + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n_cases - $2"
        return
    fi
    echo "not ok $n_cases - $2"
    n_failed=$((n_failed + 1))
    shift 2
    [ $# -gt 0 ] || set -- "$scratch/out" "$scratch/err"
    for shown; do
        [ ! -f "$shown" ] || tail -n 50 "$shown" | sed 's/^/# /'
    done
}

# same NAME WANTED FOUND: a case that passes if both texts are equal.
same()
{
    { printf '%s\n' "$2" | sed 's/^/wanted: /'; printf '%s\n' "$3" | sed 's/^/found:  /'; } >"$scratch/texts"
    [ "$2" = "$3" ]
    result $? "$1" "$scratch/texts"
}

# refused MESSAGE WORD…: a case that passes if the program ends with status 2 and an error that matches MESSAGE.
refused()
{
    message=$1
    shift
    "$kvolsim" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    [ $? -eq 2 ] && grep -q -- "$message" "$scratch/err"
    result $? "refused: $*"
}

case_skip() # NAME REASON
{
    n_cases=$((n_cases + 1))
    echo "ok $n_cases - $1 # SKIP $2"
}

# skip_all REASON: ends the test.
skip_all()
{
    echo "1..0 # SKIP $1"
    exit 77
}

# needs ROOM…: ends the test where `configure --without-ROOM` left one of them out.
needs()
{
    for room; do
        grep -q "define WITH_$(echo "$room" | tr '[:lower:]' '[:upper:]') 1" "$KVOLSIM_BUILDDIR/config.h" ||
            skip_all "built --without-$room"
    done
}

# To be called last: the number of cases. The status tells whether all passed.
cases_end()
{
    echo "1..$n_cases"
    [ $n_failed -eq 0 ]
}
