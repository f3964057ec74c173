#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# No side doors: a component touches the world through its plans and its informers only. Below a component's folder nobody calls
# the API server or a driver, includes a private header of plans, clusters or clients, or names another component's process.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

# Rooms that are no component.
rooms='models/(api|apiserver|client|cluster|csi|metrics|plan|profiles|timing)/'
tree_files models | grep '\.[ch]$' | grep -vE "^$rooms" >"$scratch/files"

while read -r file; do
    code_of "$file" | grep -nE '[^a-z_](api_server|csi_driver)_[a-z_]+ *\(' | sed "s|^|$file:|"
done <"$scratch/files" >"$scratch/calls"
case_result "components call neither the API server nor a driver" "$scratch/calls"

xargs grep -nE '^ *# *include *"(.*/)?(plan|cluster|process|apiserver|modelled)-private\.h"' <"$scratch/files" >"$scratch/headers"
case_result "components include no private header of the executor" "$scratch/headers"

# General code knows components by the table of all models alone.
tree_files models/plan models/cluster models/client models/volume | grep '\.[ch]$' | grep -v '^models/cluster/registry.c$' |
    while read -r file; do
        grep -nE '"(kubelet|kube-scheduler|external-[a-z]+|csi-snapshotter|snapshot-controller)"|\bKUBELET\b' "$file" |
            grep -vE '^[0-9]+: *(/?\*|//)|/\*.*"' | sed "s|^|$file:|"
    done >"$scratch/names"
case_result "general code names no component" "$scratch/names"
cases_end
