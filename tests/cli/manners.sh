#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What users of any tool expect: nearest words, help COMMAND, the standard input as "-", -j4, completion of what --help lists, findings
# for machines, the exit status of a file that is not there.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach
cd "$scratch" || exit 1
cat >small.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: small}
spec:
  until: 1m
  nodes: [{count: 3, name: "node-%d"}]
END
sed 's/count/cont/' small.yaml >wrong.yaml

# ---- Words ----
refused 'no such command: "rnu" (did you mean "run"?)' rnu
refused 'no command before the option "--lang" (see kvolsim --help)' --lang zh teach
refused 'no such command: "hlep" (did you mean "help"?)' hlep
refused 'no such command: "nonsense" (see kvolsim --help)' help nonsense
"$kvolsim" run --help >help && "$kvolsim" help run | cmp - help >out 2>&1
result $? "help COMMAND is COMMAND --help"
"$kvolsim" whatif --replications 2 -j2 small.yaml >one 2>err && "$kvolsim" whatif --replications 2 --jobs=2 small.yaml | cmp - one >out 2>&1
result $? "-j2 is --jobs=2"
"$kvolsim" get nodes -ojson small.yaml >one 2>err && "$kvolsim" get nodes -o json small.yaml | cmp - one >out 2>&1
result $? "-ojson is -o json"

# ---- The standard input ----
"$kvolsim" run small.yaml >wanted
"$kvolsim" run - <small.yaml | cmp - wanted >out 2>&1
result $? "run -: a file"
cat small.yaml | "$kvolsim" run - | cmp - wanted >out 2>&1
result $? "run -: a pipe"
"$kvolsim" whatif --replications 2 small.yaml >wanted && cat small.yaml | "$kvolsim" whatif --replications 2 - | cmp - wanted >out 2>&1
result $? "whatif -: a pipe that is read for every candidate"
cat wrong.yaml | "$kvolsim" check - >out 2>&1
[ $? -eq 2 ] && grep -qx -e '-:6:12: spec.nodes\[0\].cont: unknown field (did you mean "count"?)' out
result $? "faults of the standard input have its lines"
: | "$kvolsim" run - >out 2>&1
[ $? -eq 2 ]
result $? "an empty standard input is a fault"

# ---- Findings for machines ----
"$kvolsim" check --format json wrong.yaml small.yaml >out 2>err
[ $? -eq 2 ] && python3 -c '
import json, sys
findings = json.load(open("out"))["findings"]
assert findings == [{"file": "wrong.yaml", "line": 6, "column": 12, "level": "error", "path": "spec.nodes[0].cont", "message": "unknown field",
                     "hint": "did you mean \"count\"?"}], findings' 2>err
result $? "check --format json" err
"$kvolsim" check --format github wrong.yaml >out
[ "$(cat out)" = '::error file=wrong.yaml,line=6,col=12::spec.nodes[0].cont: unknown field (did you mean "count"?)' ]
result $? "check --format github"
"$kvolsim" check --format sarif wrong.yaml >out
python3 -c '
import json
log = json.load(open("out"))
assert log["version"] == "2.1.0"
result, = log["runs"][0]["results"]
place = result["locations"][0]["physicalLocation"]
assert result["level"] == "error" and place["artifactLocation"]["uri"] == "wrong.yaml" and place["region"] == {"startLine": 6, "startColumn": 12}' 2>err
result $? "check --format sarif" err
"$kvolsim" check --format github "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" >out
grep -q '^::warning file=[^:]*quickstart.yaml,line=129,col=1::' out
result $? "a warning has its line"

cat >grows.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: grows}
spec:
  until: 1m
  nodes: [{count: 1, name: "node-%d"}]
  workload:
  - {at: 10s, cordon: {node: node-0}}
END
"$kvolsim" diff --format json --from 5s --to 20s grows.yaml >out 2>err
python3 -c '
import json
change, = [row for row in json.load(open("out")) if row["kind"] == "Node"]
assert (change["change"], change["name"]) == ("changed", "node-0")
assert {"path": "spec.unschedulable", "before": None, "after": "true"} in change["fields"], change' 2>>err
result $? "diff --format json" err

# ---- Colours ----
esc=$(printf '\033')
NO_COLOR=1 "$kvolsim" check wrong.yaml --color always | grep -q "^$esc\[1mwrong.yaml:6:12$esc\[0m: "
result $? "--color always: a fault's place, even into a pipe and against NO_COLOR"
"$kvolsim" run small.yaml --set 'spec.expect=[{claims: {count: 0}}, {claims: {count: 1}}]' --color=always >out
grep -q "^expect  ${esc}\[32mmet$esc\[0m  " out && grep -q "^expect  ${esc}\[31mNOT MET$esc\[0m  " out
result $? "--color always: verdicts"
"$kvolsim" check wrong.yaml >plain
CLICOLOR_FORCE=1 "$kvolsim" check wrong.yaml --color never | cmp - plain >out 2>&1 && ! grep -q "$esc" plain
result $? "no colours in a file, nor with --color never"
refused '--color: "red" is none of auto, always, never' check wrong.yaml --color red
if command -v script >/dev/null; then
    painted()
    {
        TERM=${1:-xterm} script -qec "'$kvolsim' check wrong.yaml" /dev/null </dev/null >out
        grep -q "$esc\[1m" out
    }
    painted && ! painted dumb && ! NO_COLOR=1 painted && NO_COLOR='' painted
    result $? "colours on a terminal, unless it is dumb or NO_COLOR is set"
else
    case_skip "colours on a terminal" "no script"
fi

# ---- Values ----
fault()
{
    sed "s/^  until: 1m/  $1/" small.yaml | "$kvolsim" check - >out 2>&1
    [ $? -eq 2 ] && grep -q -- "$2" out
    result $? "$1: $2"
}
fault 'until: 9999999h' '"9999999h" is not a duration: too long (at most 292 years)'
fault 'until: 1.5x' 'unknown unit "x"'
fault 'seed: 99999999999999999999' 'is too big: at most'
fault 'drivers: [{name: a.b, latency: {CreateVolume: {mixture: {parts: []}}}}]' 'mixture'
# client-go takes 0 for its defaults, 5 and 10; below 0 is no limit
for flags in "5 10" "0 0" "-1 10"; do
    "$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/burst-100.yaml" --set "spec.components.kube-controller-manager.kube-api-qps=${flags% *}" \
        --set "spec.components.kube-controller-manager.kube-api-burst=${flags#* }" | grep '^pod-start' >"qps${flags% *}"
done
cmp -s qps5 qps0 && ! cmp -s qps5 qps-1
result $? "qps: 0 and burst: 0 are client-go's defaults"
cat >sweep.yaml <<'END'
apiVersion: kvolsim.io/v1
kind: Sweep
metadata: {name: small}
spec: {scenario: small.yaml, replications: 2, parameters: [{name: nodes, path: "spec.nodes[0].count", values: [1, 2]}], measures: [{name: start, stage: pod-start}]}
END
"$kvolsim" check sweep.yaml >out 2>&1 && sed 's/replications: 2/replications: two/' sweep.yaml | "$kvolsim" check - >out 2>&1
[ $? -eq 2 ] && grep -q 'spec.replications: "two" is not a whole number' out
result $? "replications: 2 is a number of replications"

# ---- What a killed run left ----
mkdir -p other.partial-1 results.partial-1 results.partial-x
sh -c 'mkdir results.partial-$$'
"$kvolsim" run small.yaml --out results >out 2>&1
[ "$(ls -d ./*partial*)" = './other.partial-1
./results.partial-1
./results.partial-x' ]
result $? "the next run removes what a killed one left, and nothing else"

# ---- Files that are not there, and that are none of ours ----
for command in check run sweep tune whatif why step events explain diff validate plot report export; do
    "$kvolsim" $command nowhere.yaml >out 2>&1
    [ $? -eq 2 ] && grep -q 'nowhere.yaml.*: .*[nN]o such file' out
    result $? "$command of a file that is not there"
done
refused 'kvolsim run small.yaml --out RUN, then kvolsim plot RUN' plot small.yaml

# ---- Completion ----
for shell in bash zsh fish; do
    "$kvolsim" completion $shell >script.$shell 2>err && [ -s script.$shell ]
    result $? "completion $shell"
done
refused 'none of bash, zsh, fish' completion tcsh
if command -v bash >/dev/null; then
    complete='. ./script.bash; COMP_WORDS=(kvolsim "$@"); COMP_CWORD=$#; _kvolsim "$program" "${!#}"; echo ${COMPREPLY[@]}'
    complete()
    {
        program=$kvolsim bash -c "$complete" complete "$@" 2>&1
    }
    [ "$(complete ru)" = run ] && [ "$(complete help wha)" = whatif ] && [ "$(complete check --f)" = --format ] &&
        [ "$(complete run --repl)" = --replications ] && [ -z "$(complete run quick)" ]
    result $? "bash completes commands and their options, and leaves files to itself"
fi

cases_end
