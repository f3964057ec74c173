#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A story in another language: every rule that fires in a lesson has a sentence in Chinese; the story has the same entries and numbers;
# --lang wins over the environment, which is read in the order of gettext; and an unknown language is refused.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs teach
unset LANGUAGE
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml

# Lessons, and the scenarios on their topics.
set --
for name in static-binding wait-for-first-consumer zone-mismatch attach-limit reclaim-delete reclaim-retain statefulset-rollout \
    multi-attach six-minute-detach expand-online burst-100 driver-restart late-csinode provision-retry; do
    set -- "$@" "$KVOLSIM_SRCDIR/scenarios/$name.yaml"
done
set -- "$@" "$KVOLSIM_SRCDIR"/scenarios/lessons/*.yaml
stuck="$KVOLSIM_SRCDIR/tests/cli/stuck/*.yaml"
# With sanitizers a few: explain.sh and why.sh run all of them in English, and the sentences are the same.
if [ "${KVOLSIM_SANITIZERS:-no}" = yes ]; then
    set -- "$1" "$2"
    stuck="$KVOLSIM_SRCDIR/tests/cli/stuck/1*.yaml"
fi
for file in "$@"; do
    [ -e "$file" ] || continue
    $kvolsim explain --rules --lang zh "$file" >"$scratch/rules" 2>&1
    awk -F '\t' 'NF != 2 || $2 == "" { print "# not in po/zh_CN.po: " $0; bad = 1 } END { exit bad || NR < 5 }' "$scratch/rules"
    result $? "every rule of ${file##*/} has a sentence in Chinese"
done

for level in beginner operator developer; do
    $kvolsim explain --level $level "$scenario" >"$scratch/en"
    $kvolsim explain --level $level --lang zh "$scenario" >"$scratch/zh"
    # Times, objects, fields and calls are the same in both.
    for language in en zh; do
        grep -oE '[0-9]+[.][0-9]{3}s  |(pod|persistentvolume|persistentvolumeclaim|volumeattachment)/[a-z0-9-]+|phase: [A-Za-z]+ -> [A-Za-z]+|: OK [(][0-9.a-z]+[)]' \
            "$scratch/$language" >"$scratch/$language.facts"
    done
    [ -s "$scratch/en.facts" ] && cmp -s "$scratch/en.facts" "$scratch/zh.facts" && grep -q '挂接' "$scratch/zh" && grep -q '存储类' "$scratch/zh" &&
        ! grep -v 'docs/rules' "$scratch/zh" | grep -qE 'is created|is gone|until a loop|at work'
    result $? "the same story at level $level"
done
$kvolsim explain --lang zh "$scenario" --at 12.5s pod/app | grep -q '此刻.*等待循环的下一次检查'
result $? "what is waited for, too"

# language ENVIRONMENT...: en or zh, as the story is told with it
language()
{
    if env "$@" $kvolsim explain "$scenario" ${lang:+--lang $lang} --at 2s | grep -q '已创建'; then echo zh; else echo en; fi
}
lang=
same "C is English" en "$(language LC_ALL=C LANG=zh_CN.UTF-8 LANGUAGE=zh_CN)"
same "LANG" zh "$(language LC_ALL= LC_MESSAGES= LANG=zh_CN.UTF-8)"
same "LC_MESSAGES wins over LANG" en "$(language LC_ALL= LC_MESSAGES=en_GB.UTF-8 LANG=zh_CN.UTF-8)"
same "LANGUAGE wins over LANG" zh "$(language LC_ALL= LC_MESSAGES= LANG=en_GB.UTF-8 LANGUAGE=zh_CN:en)"
same "a language that there is not" en "$(language LC_ALL= LC_MESSAGES= LANG=de_DE.UTF-8)"
lang=en
same "--lang wins" en "$(language LC_ALL= LC_MESSAGES= LANG=zh_CN.UTF-8)"
lang=zh
same "--lang wins also over C" zh "$(language LC_ALL=C)"
$kvolsim explain --lang tlh "$scenario" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && grep -q '"tlh" is none of en, zh' "$scratch/err"
result $? "a language that is none is refused"

# why in Chinese: each line of each stuck cluster, but for commands; the chain has the same objects.
: >"$scratch/bad"
for file in $stuck; do
    read -r _ object at _ <"$file"
    $kvolsim why "$file" "$object" --at "$at" | sed -n 's/^ *\(<- \)*\([a-z]*\/[^ ]*\) .*/\2/p' >"$scratch/en"
    $kvolsim why "$file" "$object" --at "$at" --lang zh >"$scratch/out"
    sed -n 's/^ *\(<- \)*\([a-z]*\/[^ ]*\) .*/\2/p' "$scratch/out" >"$scratch/zh"
    cmp -s "$scratch/en" "$scratch/zh" || echo "other objects: $file" >>"$scratch/bad"
    LC_ALL=C grep -v '[^ -~]' "$scratch/out" | sed "s,^,${file##*/}: ," >>"$scratch/bad"
done
[ ! -s "$scratch/bad" ]
result $? "every line of why is in Chinese" "$scratch/bad"
$kvolsim why "$KVOLSIM_SRCDIR/tests/cli/stuck/16-attach-limit.yaml" --at 60s --lang zh | grep -q '^  解法：'
result $? "all that is stuck, too"

# The environment's language is of messages alone: results are the same bytes.
env LC_ALL=C $kvolsim run "$scenario" --format json >"$scratch/c"
env LC_ALL= LC_MESSAGES= LANG=zh_CN.UTF-8 LANGUAGE=zh_CN $kvolsim run "$scenario" --format json >"$scratch/zh"
cmp -s "$scratch/c" "$scratch/zh"
result $? "no result depends on it"

cases_end
