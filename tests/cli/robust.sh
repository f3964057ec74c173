#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The program survives input that nobody should give it: the exit status is right, and nothing crashes.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml

# expect STATUS NAME ARGUMENT...: runs the program; it must not report a bug of its own.
expect()
{
    wanted=$1 name=$2
    shift 2
    timeout 60 "$kvolsim" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    [ $status -eq "$wanted" ] || echo "status $status" >>"$scratch/err"
    [ $status -eq "$wanted" ] && ! grep -q -e Sanitizer -e 'runtime error' -e CRITICAL "$scratch/err"
    result $? "$name: status $wanted"
}

# is NAME COMMAND...: a case that passes if the command succeeds
is()
{
    name=$1
    shift
    "$@"
    result $? "$name"
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
expect 2 'run of a missing file' run "$scratch/missing.yaml"
expect 2 'run of a folder' run "$scratch"
expect 2 'check without a file' check
expect 2 'check of a missing file' check "$scratch/missing.yaml"
expect 2 'plot without a run' plot
expect 2 'plot of a missing run' plot "$scratch/missing"
expect 2 'plot of an unknown kind' plot "$scratch" nonsense
expect 2 'plot in an unknown format' plot "$scratch" --format=tapestry

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

head -c 65536 /dev/urandom >"$scratch/garbage.yaml"
expect 2 'garbage' check "$scratch/garbage.yaml"
: >"$scratch/empty.yaml"
expect 2 'an empty file' check "$scratch/empty.yaml"
printf '\000\000\000' >"$scratch/zero.yaml"
expect 2 'zeros' check "$scratch/zero.yaml"
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >"$scratch/deep.yaml"
expect 2 '100,000 open brackets' check "$scratch/deep.yaml"
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "{a: " }' >"$scratch/deep.yaml"
expect 2 '100,000 open braces' check "$scratch/deep.yaml"
awk 'BEGIN { for (i = 0; i < 3000; i++) { printf "%*s- a:\n", i, "" } }' >"$scratch/deep.yaml"
expect 2 '3,000 lists, nested' check "$scratch/deep.yaml"
awk 'BEGIN { print "a0: &a0 [x]"; for (i = 1; i < 40; i++) printf "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1 }' >"$scratch/laughs.yaml"
expect 2 'a billion laughs' check "$scratch/laughs.yaml"
sed 's/]$//' "$scenario" >"$scratch/cut.yaml"
expect 2 'lists without an end' check "$scratch/cut.yaml"
ln -s loop.yaml "$scratch/loop.yaml"
expect 2 'a link to itself' check "$scratch/loop.yaml"

expect 1 '--out below a file' run "$scenario" --out "$scenario/x"
expect 2 '--out is a file' run "$scenario" --out "$scratch/empty.yaml"
expect 0 '--out' run "$scenario" --out "$scratch/run"
is 'results are there' test -s "$scratch/run/summary.json"
expect 0 '--out into the same folder' run "$scenario" --out "$scratch/run"
expect 0 '--out with a slash at its end' run "$scenario" --out "$scratch/other/"
is 'results are there, too' test -s "$scratch/other/summary.json"
is 'nothing half-done is left' test -z "$(ls -d "$scratch"/*.partial* "$scratch"/*/*partial* "$scratch"/*/.partial* 2>/dev/null)"
expect 3 'an expectation that is not met' run "$scenario" --set 'spec.expect=[{claims: {count: 12345}}]'

# The results of a run are all in its folder, and nothing of an earlier run that had more or fewer replications.
expect 0 'three replications' run "$scenario" --replications 3 --out "$scratch/several"
expect 0 'then one' run "$scenario" --out "$scratch/several"
is 'no replication is left' test -z "$(ls -d "$scratch"/several/replication-* 2>/dev/null)"
mkdir "$scratch/several/replication-9" && : >"$scratch/several/replication-nine" && : >"$scratch/several/own.txt"
expect 0 'then two' run "$scenario" --replications 2 --out "$scratch/several"
is 'these two, and no file of a single run' \
    test "$(cd "$scratch/several" && echo *)" = 'own.txt replication-0 replication-1 replication-nine summary.json'
"$kvolsim" run "$scenario" --seed 1 --out "$scratch/shared" >/dev/null &
"$kvolsim" run "$scenario" --seed 2 --replications 2 --out "$scratch/shared" >/dev/null &
wait
single=$(cd "$scratch/run" && echo *)
is 'of two runs into one folder one is there' sh -c "cd '$scratch/shared' && case \$(echo *) in
    '$single') grep -q '\"seed\": 1,' summary.json ;;
    'replication-0 replication-1 summary.json') grep -q '\"seed\": 2,' summary.json ;;
    *) false ;; esac"
expect 2 '--out without a name' run "$scenario" --out ''

# What cannot be told is an error. A summary must not end up in a result file because its stream was closed.
for arguments in "run $scenario" "run $scenario --format=json" schema 'schema --reference' version --help 'run --help'; do
    # shellcheck disable=SC2086
    timeout 60 "$kvolsim" $arguments >/dev/full 2>"$scratch/err"
    status=$?
    [ $status -eq 1 ] && grep -q 'standard output' "$scratch/err"
    result $? "a full disk: $arguments"
done
timeout 60 "$kvolsim" plot "$scratch/run" --format dumb >/dev/full 2>"$scratch/err"
[ $? -eq 1 ] && grep -q 'standard output' "$scratch/err" && ! grep -q Success "$scratch/err"
result $? "a full disk: a write that failed long before the end is no success"
timeout 60 "$kvolsim" run "$scenario" --out "$scratch/closed" >&- 2>/dev/null
status=$?
[ $status -eq 1 ] && ! grep -q pod-start "$scratch/closed/objects.csv"
result $? "no standard output"
timeout 60 "$kvolsim" run "$scenario" --out "$scratch/mute" >/dev/null 2>&- <&-
status=$?
[ $status -eq 0 ] && cmp -s "$scratch/mute/objects.csv" "$scratch/run/objects.csv"
result $? "no standard input nor error output"

# A disk that is full while results are written: the limit of the length of a file. What was there before stays as it was.
cp -R "$scratch/run" "$scratch/full"
# GCOV_PREFIX: a program that counts its lines keeps its counters elsewhere, for the limit would cut them off.
(trap '' XFSZ; ulimit -f 8; GCOV_PREFIX=$scratch LC_ALL=C exec timeout 60 "$kvolsim" run "$scenario" --seed 7 --out "$scratch/full") >/dev/null 2>"$scratch/err" </dev/null
status=$?
[ $status -eq 1 ] && grep -q "$scratch/full[^:]*: File too large" "$scratch/err"
result $? "results that do not fit: which file did not"
is 'results that do not fit: earlier ones stay' diff -r "$scratch/run" "$scratch/full"
is 'results that do not fit: nothing is left of them' test -z "$(ls -d "$scratch"/full.* 2>/dev/null)"

# In the foreground: what a shell starts in the background ignores SIGINT.
for signal in INT TERM HUP; do
    timeout --preserve-status -k 10 -s "$signal" 1 "$kvolsim" run "$scenario" --replications=1000000 \
        --out "$scratch/broken" >/dev/null 2>"$scratch/err" </dev/null
    status=$?
    [ $status -eq "$([ $signal = TERM ] && echo 143 || echo 130)" ]
    result $? "SIG$signal"
    is "SIG$signal: nothing is left" test -z "$(ls -d "$scratch"/broken* 2>/dev/null)"
done
timeout --preserve-status -k 40 -s INT 1 "$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" \
    --set 'spec.nodes[0].count=300000' \
    --out "$scratch/broken" >/dev/null 2>"$scratch/err" </dev/null
status=$?
[ $status -eq 130 ]
result $? "SIGINT while a large cluster is built"
cases_end
