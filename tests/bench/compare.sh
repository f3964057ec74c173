#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two builds side by side in one run: the same scenario with each in turn, so that both meet the same machine.
#   compare.sh SOURCE_DIR BASE_PROGRAM NEW_PROGRAM [PODS]
# A line per figure: name, base, new, new / base. Of times the best of five is taken; memory and events hardly differ between runs.
set -eu
here=$1/tests/bench
base=$2
new=$3
pods=${4:-2000}
. "$here/lib.sh"
[ -x /usr/bin/time ] || { echo "compare.sh: needs /usr/bin/time (Debian: apt-get install time)" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
figures='%-34s %16s %16s %8s\n'

# row NAME BASE NEW
row()
{
    # shellcheck disable=SC2059 # the format is above
    printf "$figures" "$1" "$2" "$3" "$(calculate "$2 == 0 ? 0 : $3 / $2")"
}

# both NAME FILE [OPTION…]: five runs of each in turn
both()
{
    name=$1
    shift
    for _ in 1 2 3 4 5; do
        usage base "$base" "$@"
        cat "$scratch/base.time" >>"$scratch/base-$name"
        usage new "$new" "$@"
        cat "$scratch/new.time" >>"$scratch/new-$name"
    done
    row "${name}_user_seconds" "$(best base "$name" 2)" "$(best new "$name" 2)"
    row "${name}_peak_kb" "$(best base "$name" 3)" "$(best new "$name" 3)"
    row "${name}_events" "$(summary base events)" "$(summary new events)"
}

# best WHOSE NAME COLUMN
best()
{
    sort -n -k "$3,$3" "$scratch/$1-$2" | awk -v column="$3" 'NR == 1 { print $column }'
}

# shellcheck disable=SC2059
printf "$figures" figure base new ratio
# shellcheck disable=SC2046 # lists of words
{
    both pods "$here/pods.yaml" --no-attribution $(cluster 500 "$pods" 1200)
    both pods_with_causes "$here/pods.yaml" $(cluster 500 "$pods" 1200)
    both burst "$1/scenarios/burst-100.yaml"
}
if command -v valgrind >/dev/null; then
    # shellcheck disable=SC2046
    row instructions_per_pod \
        "$((($(instructions "$base" "$here/pods.yaml" $(cluster 500 1000 1200)) - $(instructions "$base" "$here/pods.yaml" $(cluster 500 1 1200))) / 999))" \
        "$((($(instructions "$new" "$here/pods.yaml" $(cluster 500 1000 1200)) - $(instructions "$new" "$here/pods.yaml" $(cluster 500 1 1200))) / 999))"
fi
