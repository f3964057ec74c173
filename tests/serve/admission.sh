#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Admission of pods and quotas as clients meet it: admission.py asks. What they did runs again.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
small_cluster | sed '/^  workload:/,/^---/{/^---/!d}' >idle.yaml
begin served serve idle.yaml --speed 0 --set 'spec.kubernetes.version="1.34"' --record record.yaml
python3 "$KVOLSIM_SRCDIR/tests/serve/admission.py" "$port"
result $? "pods get a token and a generation, quotas and LimitRanges bound them, and what was read may be written"
end INT
"$kvolsim" run record.yaml >out 2>err
result $? "what clients did runs again"
cases_end
