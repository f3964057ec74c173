#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Readers of result files that are truncated, missing or random name the file and leave nothing; so do readers of a sweep's file with
# missing rows. Pictures that do not fit the disk are removed.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs import study teach
command -v gnuplot >/dev/null && has_gnuplot=true || has_gnuplot=false

# damage HOW FILE
damage()
{
    case $1 in
    truncated) truncate -s 600 "$2" ;;
    random) awk 'BEGIN { srand(7); for (i = 0; i < 3000; i++) printf "%c", int(rand() * 256) }' >"$2" ;;
    changed) sed -i 's/1/2/' "$2" ;;
    missing) rm "$2" ;;
    esac
}

# ---- The folder of a run ----
"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/zone-outage.yaml" --out "$scratch/good" >"$scratch/printed" 2>"$scratch/err"
result $? "a run"
for command in "compare good bad" "plot bad" "plot bad timeline" "report bad"; do
    for file in objects.csv summary.json; do
        for how in truncated random changed missing; do
            rm -rf "$scratch/bad"
            cp -R "$scratch/good" "$scratch/bad"
            damage $how "$scratch/bad/$file"
            ls "$scratch/bad" >"$scratch/before"
            # shellcheck disable=SC2086
            (cd "$scratch" && "$kvolsim" $command) >"$scratch/out" 2>"$scratch/err" </dev/null
            [ $? -eq 2 ] && grep -q "bad/$file: " "$scratch/err" && [ "$(wc -l <"$scratch/err")" -eq 1 ] &&
                ls "$scratch/bad" | cmp - "$scratch/before" >>"$scratch/out"
            result $? "$command: $file is $how"
        done
    done
done
for file in objects.csv summary.json; do
    for command in "compare good bad" "plot bad" "report bad"; do
        rm -rf "$scratch/bad"
        cp -R "$scratch/good" "$scratch/bad"
        rm "$scratch/bad/$file"
        mkfifo "$scratch/bad/$file"
        # shellcheck disable=SC2086
        (cd "$scratch" && timeout 60 "$kvolsim" $command) >"$scratch/out" 2>"$scratch/err" </dev/null
        [ $? -eq 2 ] && grep -q "bad/$file: is no regular file" "$scratch/err"
        result $? "$command: $file is a pipe"
    done
done
ln -sf /dev/zero "$scratch/bad/summary.json"
refused 'summary.json: is no regular file' report "$scratch/bad"
rm -rf "$scratch/bad"
cp -R "$scratch/good" "$scratch/bad"
damage truncated "$scratch/bad/waits.csv"
(cd "$scratch" && refused 'bad/waits.csv: damaged' plot bad && refused 'bad/waits.csv: damaged' report bad) >"$scratch/both"
! grep -q '^not ok' "$scratch/both" && ! ls "$scratch/bad" | grep -q 'png\|svg\|html'
result $? "the file of a later picture is looked at before the first is drawn" "$scratch/both"

"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/quickstart.yaml" --replications 2 --out "$scratch/two" >/dev/null
"$kvolsim" compare "$scratch/two" "$scratch/two/replication-1" >"$scratch/out" 2>"$scratch/err" && refused 'two/replication-0' plot "$scratch/two" &&
    refused 'two/replication-0' report "$scratch/two"
result $? "a folder of replications, and of one of them"
rm "$scratch/two/replication-1/objects.csv"
refused 'two/replication-1/objects.csv: No such file' compare "$scratch/good" "$scratch/two"

sha256sum "$scratch"/good/*.csv "$scratch"/good/*.json* "$scratch"/good/*.prom "$scratch"/good/*.txt | grep -v summary.json | sed "s|  $scratch/good/| |" |
    sort >"$scratch/wanted"
sed -n 's/^    "\(.*\)": {$/\1/p; s/^      "sha256": "\(.*\)"$/\1/p' "$scratch/good/summary.json" | awk '/^[0-9a-f]*$/ && length == 64 { print $0, name } { name = $0 }' |
    sort | diff "$scratch/wanted" - >"$scratch/out"
result $? "summary.json has the digest of every other file"

# ---- Two tables, one cause ----
if $has_gnuplot; then
    "$kvolsim" report "$scratch/good" >"$scratch/out" 2>"$scratch/err"
    sed -n 's|^<tr><td>\([a-z-]*\)</td>.*<td class="text">\(.*\)</td></tr>$|\1 \2|p' "$scratch/good/report.html" | sed 's/&apos;/'"'"'/g' >"$scratch/of-report"
    awk '/SHARE  WAITED FOR/ { on = 1; next } on && /^$/ { exit } on && /^[a-z]/ { stage = $1; sub(/^[^%]*%  /, ""); sub(/, mostly with.*/, ""); print stage, $0 }' \
        "$scratch/printed" >"$scratch/of-program"
    grep -qx 'stop scenario' "$scratch/of-report" && diff "$scratch/of-program" "$scratch/of-report" >"$scratch/out"
    result $? "the report and the program name the same causes"
else
    case_skip "the report and the program name the same causes" "no gnuplot"
fi

# ---- Pictures ----
cat >"$scratch/stuck.yaml" <<'END'
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: stuck}
spec:
  description: No pod ever starts.
  until: 60s
  nodes: [{name: node-a}]
  drivers: [{name: csi.example}]
  workload:
  - at: 1s
    create:
      manifest:
        apiVersion: v1
        kind: Pod
        metadata: {name: web}
        spec:
          nodeSelector: {disk: none}
          containers: [{name: web, image: a}]
END
if $has_gnuplot; then
    "$kvolsim" run "$scratch/stuck.yaml" --out "$scratch/stuck" >"$scratch/out" 2>"$scratch/err" &&
        "$kvolsim" plot "$scratch/stuck" >"$scratch/out" 2>"$scratch/err" && "$kvolsim" report "$scratch/stuck" >"$scratch/out" 2>"$scratch/err" &&
        [ ! -s "$scratch/err" ]
    result $? "pictures of a run in which no pod became Ready"
    printf '#\nstage,scenario,component\nschedule,0,0\nattach,,\n' >"$scratch/zeros.csv"
    gnuplot -e "set terminal pngcairo; input = '$scratch/zeros.csv'; run_title = 'x'; set output '$scratch/zeros.png'" "$KVOLSIM_SRCDIR/plots/waits.gp" \
        >"$scratch/out" 2>"$scratch/err"
    result $? "stages that took no time"

    ls "$scratch/stuck" >"$scratch/before"
    rm -f "$scratch"/stuck/*.png
    # GCOV_PREFIX: a program that counts its lines keeps its counters elsewhere, for the limit would cut them off.
    (trap '' XFSZ; ulimit -f 4; GCOV_PREFIX=$scratch LC_ALL=C exec "$kvolsim" plot "$scratch/stuck") >"$scratch/out" 2>"$scratch/err" </dev/null
    [ $? -eq 1 ] && grep -q 'stuck/timeline.png: the picture is incomplete' "$scratch/err" && ! ls "$scratch/stuck" | grep 'png\|partial' >>"$scratch/out"
    result $? "a picture that does not fit is an error, and removed"
else
    case_skip "pictures" "no gnuplot"
fi

# ---- The file of a sweep ----
sweep=$KVOLSIM_SRCDIR/tests/run/study/small.yaml
"$kvolsim" sweep "$sweep" --out "$scratch/good.sqlite" >"$scratch/out" 2>"$scratch/err"
result $? "a sweep"
for table in setting measure study parameter point run observation; do
    cp "$scratch/good.sqlite" "$scratch/bad.sqlite"
    if ! python3 -c "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute('delete from ' + sys.argv[2])
db.commit()" "$scratch/bad.sqlite" $table 2>/dev/null; then
        case_skip "rows of $table are missing" "no python3 with sqlite3"
        continue
    fi
    message="bad.sqlite: is damaged (rows of its table $table "
    refused "$message" export "$scratch/bad.sqlite"
    refused "$message" plot "$scratch/bad.sqlite"
    refused "$message" sweep "$sweep" --resume --out "$scratch/bad.sqlite"
    refused "$message" merge --out "$scratch/merged.sqlite" "$scratch/good.sqlite" "$scratch/bad.sqlite"
    [ ! -e "$scratch/merged.sqlite" ]
    result $? "merge leaves nothing: rows of $table are missing"
done
cp "$scratch/good.sqlite" "$scratch/bad.sqlite"
for sql in 'drop table study' 'alter table setting rename column parameter to other' 'alter table run drop column events' \
    'update measure set name = char(27)' 'update parameter set name = char(10)' "update setting set value = cast(x'6100' as text)" \
    'update study set value = char(155)' "update run set events = 'a'" "update observation set count = 'a'"; do
    cp "$scratch/good.sqlite" "$scratch/bad.sqlite"
    python3 -c "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])" "$scratch/bad.sqlite" "$sql" 2>/dev/null || continue
    refused 'bad.sqlite: is damaged' export "$scratch/bad.sqlite"
done
cp "$scratch/good.sqlite" "$scratch/bad.sqlite"
awk 'BEGIN { for (i = 0; i < 4096; i++) printf "x" }' | dd of="$scratch/bad.sqlite" bs=4096 seek=3 conv=notrunc 2>/dev/null
"$kvolsim" merge --out "$scratch/merged.sqlite" "$scratch/good.sqlite" "$scratch/bad.sqlite" >"$scratch/out" 2>"$scratch/err"
[ $? -ne 0 ] && grep -q 'bad.sqlite: is damaged' "$scratch/err" && ! grep -q 'merged.sqlite' "$scratch/err" && [ ! -e "$scratch/merged.sqlite" ]
result $? "merge names the damaged input"

# ---- The stepper ----
printf 'until pod/web Ready\nuntil pod/web Ready\nwrite 1000\nquit\n' | timeout 60 "$kvolsim" step "$scratch/stuck.yaml" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 0 ] && grep -q '^1h1m0s .*nothing of the kind within an hour' "$scratch/out"
result $? "a second until of something that never happens ends"
cases_end
