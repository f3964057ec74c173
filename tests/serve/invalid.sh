#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Invalid objects and their valid neighbours (tests/api/data/invalid-objects.jsonl): the server, check and run refuse the
# former in the same words, and take the latter. Updates (invalid-updates.jsonl; of pods' resources, which 1.33 has: invalid-resizes.jsonl)
# that the server refuses, and takes.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
small_cluster | sed '/^  workload:/,/^---/{/^---/!d}' >idle.yaml
begin served serve idle.yaml --speed 60
python3 "$KVOLSIM_SRCDIR/tests/serve/invalid.py" "$port" "$kvolsim" "$KVOLSIM_SRCDIR/tests/api/data/invalid-objects.jsonl" \
    "$KVOLSIM_SRCDIR/tests/api/data/invalid-updates.jsonl"
result $? "invalid objects are refused by serve, check and run, their neighbours taken"
end INT
sed 's/^  until:/  kubernetes: {version: "1.33"}\n&/' idle.yaml >resized.yaml
begin served serve resized.yaml --speed 60
python3 "$KVOLSIM_SRCDIR/tests/serve/invalid.py" "$port" "$kvolsim" /dev/null "$KVOLSIM_SRCDIR/tests/api/data/invalid-resizes.jsonl"
result $? "resizes of pods are refused, and taken"
end INT
cases_end
