#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The worked example of the README ("Where did the time go?") is what the program prints: each line that it shows, as far as it shows it.
set -u
kvolsim=$KVOLSIM_BUILDDIR/kvolsim
scenario=$KVOLSIM_SRCDIR/scenarios/burst-100.yaml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n=0
failed=0

# squeeze: all on one line, with single blanks, as sentences are wrapped otherwise.
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
    n=$((n + 1))
    text=$(printf '%s' "$line" | squeeze)
    if grep -qF -e "$text" "$scratch/output"; then
        echo "ok $n - $line"
    else
        echo "not ok $n - $line"
        failed=1
    fi
done <"$scratch/lines"
n=$((n + 1))
if [ "$n" -gt 10 ]; then echo "ok $n - the example is there"; else echo "not ok $n - the example is gone: $n lines"; failed=1; fi
echo "1..$n"
exit $failed
