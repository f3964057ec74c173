#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Passes figures (lines of name value unit) through, and ends with a table of those that have a target, and with the machine.
#   report.sh SOURCE_DIR <FIGURES
set -eu
awk '
NR == FNR {
    if ($0 !~ /^#/) {
        order[++n] = $1; target[$1] = $2; unit[$1] = $3; meaning[$1] = ""
        for (i = 4; i <= NF; i++)
            meaning[$1] = meaning[$1] (i > 4 ? " " : "") $i
    }
    next
}
{
    print; fflush()
    value[$1] = $2
}
END {
    printf "\n%-48s %12s %12s  %s\n", "figure", "target", "measured", ""
    for (i = 1; i <= n; i++) {
        name = order[i]
        if (!(name in value))
            continue
        verdict = target[name] == "-" ? "" : value[name] + 0 <= target[name] + 0 ? "met" : "missed"
        printf "%-48s %12s %12s  %-14s %s\n", meaning[name], target[name], value[name], unit[name], verdict
    }
}' "$1/tests/bench/targets.txt" -
echo
sed -n 's/^model name[[:space:]]*: /machine: /p' /proc/cpuinfo | head -n 1
echo "cores: $(nproc), load: $(cut -d ' ' -f 1 /proc/loadavg)"
