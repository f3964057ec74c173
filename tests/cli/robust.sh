#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the program does with what nobody should give it: the exit status, and no crash.
program=$KVOLSIM_BUILDDIR/kvolsim
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
n=0

# expect STATUS WHAT ARGUMENT...: runs the program; nothing may be said about a bug.
expect()
{
    wanted=$1 what=$2
    shift 2
    n=$((n + 1))
    timeout 60 "$program" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    if test "$status" = "$wanted" && ! grep -q -e Sanitizer -e 'runtime error' -e CRITICAL "$folder/err"; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what: status $status, not $wanted"
        head -n 5 "$folder/err" | sed 's/^/# /'
    fi
}

# is TEST-ARGUMENT...: a test of its own
is()
{
    what=$1
    shift
    n=$((n + 1))
    if "$@"; then echo "ok $n - $what"; else echo "not ok $n - $what"; fi
}

expect 2 'no command'
expect 0 '--help' --help
expect 0 '--version' --version
expect 2 'an unknown command' fly
expect 2 'an empty command' ''
for command in run check plot schema version; do
    expect 0 "$command --help" "$command" --help
    expect 2 "$command --nonsense" "$command" --nonsense
done
expect 2 'run without a file' run
expect 2 'run of two files' run "$scenario" "$scenario"
expect 2 'run of a missing file' run "$folder/missing.yaml"
expect 2 'run of a folder' run "$folder"
expect 2 'check without a file' check
expect 2 'check of a missing file' check "$folder/missing.yaml"
expect 2 'plot without a run' plot
expect 2 'plot of a missing run' plot "$folder/missing"
expect 2 'plot of an unknown kind' plot "$folder" nonsense
expect 2 'plot in an unknown format' plot "$folder" --format=tapestry

for seed in '' -1 x 1x 1e3 99999999999999999999999 0x10 ' '; do
    expect 2 "--seed '$seed'" run "$scenario" --seed="$seed"
done
expect 0 'the largest seed' run "$scenario" --seed=9223372036854775807
for number in 0 -1 x 1000001 99999999999; do
    expect 2 "--replications $number" run "$scenario" --replications="$number"
done
expect 2 '--format nonsense' run "$scenario" --format=nonsense
expect 0 '--format json' run "$scenario" --format=json

for change in '' = == x =1 spec= spec.nodes=3 'spec.nodes[0]' 'spec.nodes[99999999999999999999].count=1' \
    'spec.nodes[-1].count=1' 'spec.nodes[0].count=-1' 'spec.nodes[0].count=99999999999999999999' \
    'spec.nodes[0]count=1' 'spec..seed=1' '.=1' '[=1' '[]=1' 'spec.seed={' 'spec.seed=[[[' 'spec.seed=&a *a' \
    'spec.until=-1s' 'spec.until=1e99h' 'spec.until=999999999999h' 'spec.nonsense=1' 'Pod/x.spec=1' '/=1' '/.=1' \
    'StorageClass/=1' 'metadata.name='; do
    expect 2 "--set '$change'" run "$scenario" --set "$change"
done

head -c 65536 /dev/urandom >"$folder/garbage.yaml"
expect 2 'garbage' check "$folder/garbage.yaml"
: >"$folder/empty.yaml"
expect 2 'an empty file' check "$folder/empty.yaml"
printf '\000\000\000' >"$folder/zero.yaml"
expect 2 'zeros' check "$folder/zero.yaml"
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >"$folder/deep.yaml"
expect 2 '100,000 open brackets' check "$folder/deep.yaml"
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "{a: " }' >"$folder/deep.yaml"
expect 2 '100,000 open braces' check "$folder/deep.yaml"
awk 'BEGIN { for (i = 0; i < 3000; i++) { printf "%*s- a:\n", i, "" } }' >"$folder/deep.yaml"
expect 2 '3,000 lists, nested' check "$folder/deep.yaml"
awk 'BEGIN { print "a0: &a0 [x]"; for (i = 1; i < 40; i++) printf "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1 }' >"$folder/laughs.yaml"
expect 2 'a billion laughs' check "$folder/laughs.yaml"
sed 's/]$//' "$scenario" >"$folder/cut.yaml"
expect 2 'lists without an end' check "$folder/cut.yaml"
ln -s loop.yaml "$folder/loop.yaml"
expect 2 'a link to itself' check "$folder/loop.yaml"

expect 1 '--out below a file' run "$scenario" --out "$scenario/x"
expect 2 '--out is a file' run "$scenario" --out "$folder/empty.yaml"
expect 0 '--out' run "$scenario" --out "$folder/run"
is 'results are there' test -s "$folder/run/summary.json"
expect 0 '--out into the same folder' run "$scenario" --out "$folder/run"
expect 0 '--out with a slash at its end' run "$scenario" --out "$folder/other/"
is 'results are there, too' test -s "$folder/other/summary.json"
is 'nothing half-done is left' test -z "$(ls -d "$folder"/*.partial* "$folder"/*/*partial* "$folder"/*/.partial* 2>/dev/null)"
expect 3 'an expectation that is not met' run "$scenario" --set 'spec.expect=[{claims: {count: 12345}}]'

# The results of a run are all in its folder, and nothing of an earlier run that had more or fewer replications.
expect 0 'three replications' run "$scenario" --replications 3 --out "$folder/several"
expect 0 'then one' run "$scenario" --out "$folder/several"
is 'no replication is left' test -z "$(ls -d "$folder"/several/replication-* 2>/dev/null)"
mkdir "$folder/several/replication-9" && : >"$folder/several/replication-nine" && : >"$folder/several/own.txt"
expect 0 'then two' run "$scenario" --replications 2 --out "$folder/several"
is 'these two, and no file of a single run' \
    test "$(cd "$folder/several" && echo *)" = 'own.txt replication-0 replication-1 replication-nine summary.json'
"$program" run "$scenario" --seed 1 --out "$folder/shared" >/dev/null &
"$program" run "$scenario" --seed 2 --replications 2 --out "$folder/shared" >/dev/null &
wait
single=$(cd "$folder/run" && echo *)
is 'of two runs into one folder one is there' sh -c "cd '$folder/shared' && case \$(echo *) in
    '$single') grep -q '\"seed\": 1,' summary.json ;;
    'replication-0 replication-1 summary.json') grep -q '\"seed\": 2,' summary.json ;;
    *) false ;; esac"
expect 2 '--out without a name' run "$scenario" --out ''

# What cannot be told is an error. A summary must not end up in a result file because its stream was closed.
for arguments in "run $scenario" "run $scenario --format=json" schema 'schema --reference' version --help 'run --help'; do
    n=$((n + 1))
    # shellcheck disable=SC2086
    timeout 60 "$program" $arguments >/dev/full 2>"$folder/err"
    status=$?
    if test $status = 1 && grep -q 'standard output' "$folder/err"; then
        echo "ok $n - a full disk: $arguments"
    else
        echo "not ok $n - a full disk: $arguments: status $status, not 1"
    fi
done
n=$((n + 1))
timeout 60 "$program" run "$scenario" --out "$folder/closed" >&- 2>/dev/null
status=$?
if test $status = 1 && ! grep -q pod-start "$folder/closed/objects.csv"; then
    echo "ok $n - no standard output"
else
    echo "not ok $n - no standard output: status $status, not 1"
fi
n=$((n + 1))
timeout 60 "$program" run "$scenario" --out "$folder/mute" >/dev/null 2>&- <&-
status=$?
if test $status = 0 && cmp -s "$folder/mute/objects.csv" "$folder/run/objects.csv"; then
    echo "ok $n - no standard input nor error output"
else
    echo "not ok $n - no standard input nor error output: status $status, not 0"
fi

# A disk that is full while results are written: the limit of the length of a file. What was there before stays as it was.
cp -R "$folder/run" "$folder/full"
n=$((n + 1))
(trap '' XFSZ; ulimit -f 8; LC_ALL=C exec timeout 60 "$program" run "$scenario" --seed 7 --out "$folder/full") >/dev/null 2>"$folder/err" </dev/null
status=$?
if test $status = 1 && grep -q "$folder/full[^:]*: File too large" "$folder/err"; then
    echo "ok $n - results that do not fit: which file did not"
else
    echo "not ok $n - results that do not fit: status $status, not 1"
    head -n 5 "$folder/err" | sed 's/^/# /'
fi
is 'results that do not fit: earlier ones stay' diff -r "$folder/run" "$folder/full"
is 'results that do not fit: nothing is left of them' test -z "$(ls -d "$folder"/full.* 2>/dev/null)"

# In the foreground: what a shell starts in the background ignores SIGINT.
for signal in INT TERM HUP; do
    n=$((n + 1))
    timeout --preserve-status -k 10 -s "$signal" 1 "$program" run "$scenario" --replications=1000000 \
        --out "$folder/broken" >/dev/null 2>"$folder/err" </dev/null
    status=$?
    if test $status = 130; then echo "ok $n - SIG$signal"; else echo "not ok $n - SIG$signal: status $status, not 130"; fi
    is "SIG$signal: nothing is left" test -z "$(ls -d "$folder"/broken* 2>/dev/null)"
done
n=$((n + 1))
timeout --preserve-status -k 40 -s INT 1 "$program" run "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" \
    --set 'spec.nodes[0].count=300000' \
    --out "$folder/broken" >/dev/null 2>"$folder/err" </dev/null
status=$?
if test $status = 130; then echo "ok $n - SIGINT while a large cluster is built"; else echo "not ok $n - SIGINT while a large cluster is built: status $status"; fi
echo "1..$n"
