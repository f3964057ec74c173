#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Answers that clients other than today's kubectl need, of a cluster without a workload: answers.py asks.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
small_cluster | sed '/^  workload:/,/^---/{/^---/!d}' >idle.yaml
begin served serve idle.yaml --speed 60 --kubeconfig kubeconfig --record record.yaml
python3 "$KVOLSIM_SRCDIR/tests/serve/answers.py" "$port" || exit 1
end INT
same "the server ends well" 130 $status
grep -q 'insecure-skip-tls-verify: true' kubeconfig
result $? "the kubeconfig of plain http says what @kubernetes/client-node wants"
"$kvolsim" run record.yaml >out 2>err
result $? "what clients did in a scenario without a workload runs again"
begin idle serve idle.yaml --speed 60 --record idle-record.yaml
end INT
"$kvolsim" run idle-record.yaml >out 2>err
result $? "the record of an idle session runs"
cases_end
