#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `kvolsim serve` in a real Chromium (Debian: chromium-driver, python3-selenium); page.py has the cases.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
needs_chromium

small_cluster >small.yaml
# run_page SERVE-OPTIONS -- PAGE-ARGUMENTS: 0 if all cases of page.py passed. Cases are counted in one sequence.
n=0 status=0 page=
run_page()
{
    options=
    while [ "$1" != -- ]; do options="$options $1"; shift; done
    shift
    # shellcheck disable=SC2086
    begin served serve small.yaml --speed 0 $options
    FIRST_CASE=$n /usr/bin/python3 "$KVOLSIM_SRCDIR/tests/serve/page.py" ${page:+"$page"} "$port" "$@" >printed || status=1
    grep -v '^1\.\.' printed
    n=$((n + $(grep -c '^\(not \)\?ok' printed)))
    kill -INT $pid
    wait $pid
}

run_page --
echo sesame >token
"$kvolsim" serve small.yaml --export exported >printed || status=1
page=file://$scratch/exported/index.html
run_page --
page=
run_page --token-file token -- token sesame
run_page "--versus-set spec.nodes[0].count=2" -- versus
echo "1..$n"
exit $status
