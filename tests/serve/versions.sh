#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Kinds that differ between their versions, on `kvolsim serve` of releases that serve several: versions.py.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
for release in 1.20 1.21 1.32; do
    cat >small.yaml <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: small}
spec: {until: 24h, kubernetes: {version: "$release"}, nodes: [{count: 1, name: "node-%d"}]}
END
    begin served serve small.yaml --speed 60 --at 1m || exit 1
    python3 "$KVOLSIM_SRCDIR/tests/serve/versions.py" "$port" >out 2>err
    result $? "$release: what is written in one version reads in the others, and changes in each"
    end TERM
done
cases_end
