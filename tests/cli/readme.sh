#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The program prints each line of the worked example in the README ("Where did the time go?").
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
scenario=$KVOLSIM_SRCDIR/scenarios/burst-100.yaml

# squeeze: joins lines with single blanks: the README wraps sentences elsewhere.
squeeze()
{
    tr -s ' \n' '  '
}

sidecars='spec.drivers[0].sidecars'
manager=spec.components.kube-controller-manager
{
    $kvolsim run "$scenario"
    $kvolsim run "$scenario" --replications 20 \
        --set "$sidecars.external-provisioner.kube-api-qps=1000" --set "$sidecars.external-provisioner.kube-api-burst=1000" \
        --set "$sidecars.external-attacher.kube-api-qps=1000" --set "$sidecars.external-attacher.kube-api-burst=1000" \
        --set "$manager.kube-api-qps=1000" --set "$manager.kube-api-burst=1000"
} >"$scratch/printed"
squeeze <"$scratch/printed" >"$scratch/output"

awk '/^## / { shown = /Where did the time go/ } shown && /^    / && !/^    build\// { sub(/ *\.\.\.$/, ""); print }' \
    "$KVOLSIM_SRCDIR/README.md" >"$scratch/lines"
while read -r line; do
    grep -qF -e "$(printf '%s' "$line" | squeeze)" "$scratch/output"
    result $? "$line"
done <"$scratch/lines"
[ $n_cases -ge 10 ]
result $? "the example is there"
cases_end
