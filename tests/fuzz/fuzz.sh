#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# fuzz.sh FOLDER SECONDS [TARGET…]: fuzzes each target of tests/fuzz/fuzz.c for so long, with address and undefined sanitizers. FOLDER
# keeps the build, the inputs (corpus/TARGET/) and what was found (found/TARGET-…). One row per target: how often it ran, how many
# inputs reach something new, the edges of the program that they reach, findings. `fuzz-replay TARGET FILE` repeats one.
set -u
here=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
folder=${1:?is the build folder} seconds=${2:?is how long}
shift 2
clang=${CLANG:-clang}
mkdir -p "$folder/corpus" "$folder/found" || exit 1
folder=$(cd "$folder" && pwd -P)
if ! echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
    "$clang" -x c -fsanitize=fuzzer,address -o "$folder/probe" - 2>"$folder/probe.log"; then
    sed -n 1p "$folder/probe.log" >&2
    echo "fuzz: clang with libFuzzer is needed (on Debian: apt-get install clang libclang-rt-14-dev)" >&2
    exit 1
fi
cd "$folder" || exit 1
[ -f Makefile ] || "$source/configure" -q CC="$clang" \
    CFLAGS='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' || exit 1
${MAKE:-make} -s fuzz-libfuzzer fuzz-replay >build.log 2>&1 || { tail -n 20 build.log; exit 1; }
KVOLSIM_SRCDIR=$source
G_SLICE=always-malloc
export KVOLSIM_SRCDIR G_SLICE FUZZ_TARGET
[ $# -gt 0 ] || set -- $(./fuzz-replay --list)
echo 'TARGET        RUNS  INPUTS  EDGES  FOUND'
all=0
for FUZZ_TARGET; do
    mkdir -p "corpus/$FUZZ_TARGET" "seeds/$FUZZ_TARGET"
    ./fuzz-replay --seeds "$FUZZ_TARGET" "seeds/$FUZZ_TARGET" || exit 1
    own=$here/corpus/$FUZZ_TARGET
    [ -d "$own" ] || own=
    "$PWD/fuzz-libfuzzer" "$PWD/corpus/$FUZZ_TARGET" "$PWD/seeds/$FUZZ_TARGET" ${own:+"$own"} -dict="$here/words.dict" -max_total_time="$seconds" \
        -timeout=60 -rss_limit_mb=4000 -max_len=16384 -close_fd_mask=3 -print_final_stats=1 -fork=1 -ignore_crashes=1 -ignore_timeouts=1 \
        -ignore_ooms=1 -artifact_prefix="$PWD/found/$FUZZ_TARGET-" >"found/$FUZZ_TARGET.log" 2>&1
    found=$(find found -name "$FUZZ_TARGET-*" | wc -l)
    all=$((all + found))
    grep -a '^#[0-9]*:' "found/$FUZZ_TARGET.log" | tail -n 1 | sed 's/[:#]//g' |
        awk -v name="$FUZZ_TARGET" -v found="$found" '{ printf "%-10s %7d %7d %6d %6d\n", name, $1, $7, $3, found }'
done
exit $((all > 0))
