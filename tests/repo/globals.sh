#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two runs may live in one process: no convenience library has writable data. Constant tables with pointers are
# fine (.data.rel.ro), and so is GLib's once-set number of an error domain (G_DEFINE_QUARK's static `q`), and what the
# prompt of `kvolsim step` keeps for readline, whose callbacks take no data of ours.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

cd "$builddir" || exit 1
for archive in lib*.a; do
    [ -e "$archive" ] || continue
    ${NM:-nm} --format=sysv "$archive" 2>&1 | awk -F '|' '
        /^[^|]*\.o:?$/ || /^Symbols from/ { object = $0; sub(/^Symbols from /, "", object); next }
        NF >= 7 {
            name = $1; section = $7; gsub(/[ \t]/, "", name); gsub(/[ \t]/, "", section)
            if (section ~ /^\.data\.rel\.ro/ || section !~ /^(\.data|\.bss|\.tdata|\.tbss|\.sdata|\.sbss|\*COM\*)/) next
            if (name ~ /^q(\.[0-9]+)?$/ || object ~ /cmd-step\.o/) next
            print object " " name " in " section
        }' >"$scratch/faults"
    case_result "$archive has no mutable globals" "$scratch/faults"
done
cases_end
