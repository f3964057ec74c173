#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The session of docs/serve.md: each command line of it works, and the session's record runs.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
HOME=$scratch # no configuration of a real cluster
KUBECONFIG=/dev/null
export HOME KUBECONFIG
kubectl version --client 2>/dev/null | grep -q 'v1\.' || skip_all "kubectl is not here"
begin served serve "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" --speed 10 --record session.yaml
sed -n 's/^    \(kubectl .*\|curl .*\)/\1/p' "$KVOLSIM_SRCDIR/docs/serve.md" | sed "s/127\.0\.0\.1:8001/127.0.0.1:$port/; s/localhost:8001/localhost:$port/" >lines
[ "$(wc -l <lines)" -ge 6 ]
result $? "the page has command lines" lines
while read -r line <&3; do
    case $line in
    curl*) sh -c "curl -sS -f ${line#curl}" >out 2>err ;;
    *' -w') # until somebody ends it
        timeout 3 sh -c "$line" >out 2>err
        [ $? -eq 124 ] && [ -s out ]
        ;;
    *) timeout 120 sh -c "$line" >out 2>err ;;
    esac
    result $? "$(printf '%s' "$line" | sed "s/:$port/:8001/; s/#/ /")"
done 3<lines
end INT
"$kvolsim" run session.yaml >out 2>err
[ $? -le 3 ] && [ "$(grep -c '^  - ' session.yaml)" -gt 3 ]
result $? "the record of the session runs"
cases_end
