#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing that a client wrote is dropped by any verb: whole.py writes objects of all kinds. What clients did runs again.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
cat >whole.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: whole}
spec:
  until: 24h
  nodes: [{name: "n-%d", count: 1}]
END
begin served serve whole.yaml --speed 0 --record record.yaml
python3 "$KVOLSIM_SRCDIR/tests/serve/whole.py" "$port"
result $? "a change of one field leaves all others alone, in each way, for each kind"
end INT
same "the server lives until then" 130 $status
"$kvolsim" run record.yaml --out again >out 2>err
result $? "what clients did runs again"
! grep '^failed: ' out
result $? "... and is answered as it was"
cases_end
