#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What is promised to stay (stable.txt) is there: commands, options, result files, their columns and members, exit statuses. Files of
# version 0.1.0 (tests/cli/0.1.0, made by that version) are read.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach loop
list=$KVOLSIM_SRCDIR/tests/cli/stable.txt
old=$KVOLSIM_SRCDIR/tests/cli/0.1.0
cd "$scratch" || exit 1

# ---- Commands and options ----
"$kvolsim" --help >help
grep '^command ' "$list" | while read -r _ command options; do
    grep -q "^  $command " help || echo "no command: $command"
    "$kvolsim" "$command" --help >help-of-one || echo "no help: $command"
    for option in $options; do
        grep -qE -- "(^|[ ,])$option([=, ]|\$)" help-of-one || echo "kvolsim $command has no $option"
    done
done >out
[ ! -s out ]
result $? "every command with its options" out

# ---- Result files ----
cp "$old/small.yaml" "$old/study.yaml" .
sed 's/nodes:/noodes:/' small.yaml >wrong.yaml
"$kvolsim" run small.yaml --out run >out 2>err
result $? "a scenario of 0.1.0 runs"
grep '^file ' "$list" | while read -r _ file; do
    [ -s "run/$file" ] || echo "$file"
done >out
[ ! -s out ]
result $? "every file of run --out" out
grep '^columns ' "$list" | while read -r _ file columns; do
    found=$(sed -n 2p "run/$file")
    case "$found," in
    "$columns,"*) ;;
    *) echo "$file: $found" ;;
    esac
done >out
[ ! -s out ]
result $? "the columns of each, new ones behind them" out
grep '^members ' "$list" | while read -r _ file members; do
    for member in $members; do
        grep -q "^  \"$member\": " "run/$file" || echo "$file: no $member"
    done
done >out
[ ! -s out ]
result $? "the members of each" out

# ---- Command lines ----
"$kvolsim" sweep study.yaml --out study.sqlite >out 2>err
result $? "a sweep of 0.1.0 runs"
grep '^exit ' "$list" >lines
while read -r _ status line; do
    eval "set -- $line"
    "$kvolsim" "$@" >out 2>err </dev/null
    found=$?
    [ $found -eq "$status" ] || echo "ended with $found, not $status" >>err
    [ $found -eq "$status" ]
    result $? "kvolsim $line"
done <lines

# ---- Files of 0.1.0 ----
mkdir old && xz -dc "$old/results.tar.xz" | tar xf - -C old
for line in "compare old/run run" "plot old/run timeline --format dumb" "report old/run" "export old/study.sqlite" \
    "merge --out merged.sqlite old/study.sqlite" "plot old/study.sqlite --format dumb"; do
    case $line in
    plot*) command -v gnuplot >/dev/null || { case_skip "kvolsim $line" "no gnuplot"; continue; } ;;
    esac
    # shellcheck disable=SC2086 # words
    "$kvolsim" $line >out 2>err </dev/null
    result $? "kvolsim $line"
done
cases_end
