#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recordings in tests/golden/recorded agree with what 200 seeds produce, or 3,000 (1,000 for the longer ones of the second set) if it takes
# so many to meet one of some thousand values, or the log of requests tells that the machine stalled (NOISE); but for what
# known-misses.txt lists with its cause. Then: a recording that is not
# what happened does not agree. With sanitizers a few seeds of each must run without a fault.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
golden=$builddir/tests/golden/golden
recorded=tests/golden/recorded
known=tests/golden/known-misses.txt

if [ "${KVOLSIM_SANITIZERS:-no}" = yes ]; then
    "$golden" --seeds 2 "$recorded"/[0-9]* >"$scratch/printed" 2>&1
    tail -n 1 "$scratch/printed" | grep -qE '^[0-9]+ passed, [0-9]+ failed, 0 skipped$' || tail "$scratch/printed" >"$scratch/faults"
    touch "$scratch/faults"
    case_result "all recordings are replayed without a memory error" "$scratch/faults"
    cases_end
    exit
fi

# One recording's lines that no known miss explains.
unknown()
{
    grep -v '^#' "$known" | cut -f 1 >"$scratch/patterns"
    grep -E '^(MISS|SKIPPED|  note)' "$1" | tr '\t' ' ' | tee -a "$scratch/misses" | grep -vEf "$scratch/patterns"
}

# What replays a folder: writes what the comparison says of it into a file of its name.
replay='
    name=${1##*/} more=3000
    case $name in 59-* | 6* | 7[0-2]-*) more=1000 ;; esac
    "$golden" --more $more "$1" >"$scratch/said-$name" 2>&1 || :'
export golden scratch
# As many at once as there are processors: these are most of a test's seconds.
for folder in "$recorded"/[0-9]*; do printf '%s\n' "$folder"; done | xargs -P "$(nproc)" -n 1 sh -c "$replay" replay

for folder in "$recorded"/[0-9]*; do
    name=${folder##*/}
    said=$scratch/said-$name
    {
        unknown "$said"
        tail -n 1 "$said" | grep -qE '^[1-9][0-9]* passed, ' || cat "$said"
    } >"$scratch/faults"
    case_result "$name agrees: $(tail -n 1 "$said")" "$scratch/faults"
done

grep -v '^#' "$known" | while IFS='	' read -r pattern cause; do
    grep -qE -- "$pattern" "$scratch/misses" || echo "no longer missed: $pattern ($cause)"
done >"$scratch/faults"
case_result "each known miss is still one" "$scratch/faults"

# spoil TITLE FILE PATTERN SED: the recording of a late binding, with one line that is not what happened, must not agree.
spoil()
{
    rm -rf "$scratch/spoilt"
    cp -r "$recorded/02-wffc-dynamic" "$scratch/spoilt"
    rm -r "$scratch/spoilt/run2" "$scratch/spoilt/run3"
    gunzip -c "$scratch/spoilt/run1/$2.gz" | sed -E "/$3/$4" >"$scratch/spoilt/run1/$2"
    if gunzip -c "$scratch/spoilt/run1/$2.gz" | cmp -s - "$scratch/spoilt/run1/$2"; then
        echo "nothing was changed" >"$scratch/faults"
    else
        rm "$scratch/spoilt/run1/$2.gz"
        "$golden" "$scratch/spoilt" | grep '^MISS' >"$scratch/found"
        : >"$scratch/faults"
        [ -s "$scratch/found" ] || echo "nothing was found" >"$scratch/faults"
    fi
    case_result "found: $1" "$scratch/faults"
}

spoil "an Event with another word" watch.jsonl 'waiting for first consumer' 's/waiting for first/waiting for last/'
spoil "an Event that was never written" watch.jsonl '"SuccessfulAttachVolume"' d
spoil "a call that was never made" csi.jsonl '"NodeUnstageVolume"' d
spoil "a write too many" api.jsonl '"resource":"volumeattachments".*"verb":"create"' 'p'
spoil "a write before its cause" api.jsonl '"resource":"persistentvolumes".*"subresource":"".*"verb":"create"' 's/"t":[0-9.]+/"t":11.015/'
spoil "a value out of range" csi.jsonl '"NodeStageVolume"' 's/"t_end":[0-9.]+/"t_end":24.5/'

# late TITLE WORD T_END: a call that came 0.1 s late, after a request that ended at T_END, is found and told with WORD.
late()
{
    rm -rf "$scratch/spoilt"
    cp -r "$recorded/02-wffc-dynamic" "$scratch/spoilt"
    rm -r "$scratch/spoilt/run2" "$scratch/spoilt/run3"
    gunzip "$scratch/spoilt/run1"/*.gz
    sed -i -E '/"ControllerPublishVolume"/s/"t":13\.07[0-9]*/"t":13.176/' "$scratch/spoilt/run1/csi.jsonl"
    sed -i -E "/\"csi-attacher\".*\"volumeattachments\"/s/\"t_end\":13\\.07[0-9]*/\"t_end\":$3/" "$scratch/spoilt/run1/api.jsonl"
    "$golden" "$scratch/spoilt" >"$scratch/printed"
    : >"$scratch/faults"
    grep -q "^$2.*VolumeAttachment -> ControllerPublish" "$scratch/printed" || cat "$scratch/printed" >"$scratch/faults"
    case_result "$1" "$scratch/faults"
}

late "a late call is missed" MISS 13.0739
late "a late call after a stall is noise" NOISE 13.172

# refuse TITLE SED WORDS: a recording that the runner does not understand is told, not left out.
refuse()
{
    rm -rf "$scratch/strange"
    cp -r "$recorded/02-wffc-dynamic" "$scratch/strange"
    sed -E "$2" "$recorded/02-wffc-dynamic/scenario.yaml" >"$scratch/strange/scenario.yaml"
    : >"$scratch/faults"
    "$golden" --seeds 1 "$scratch/strange" >"$scratch/printed" 2>&1 && echo "it passed" >"$scratch/faults"
    grep '^SKIPPED' "$scratch/printed" | grep -qF -- "$3" || cat "$scratch/printed" >>"$scratch/faults"
    case_result "told: $1" "$scratch/faults"
}

refuse "an unknown step" 's/do: delete/do: remove/' 'the step "remove" is not known'
refuse "an unknown key of a step" 's/^  kind: Pod$/&\n  cascade: true/' 'the key "cascade" is not known'
refuse "an unknown setting of the driver" 's/^  topology: .*/&\n  thinProvisioning: true/' 'the key "thinProvisioning" is not known'
refuse "an unknown kubectl command" 's/do: delete/do: kubectl\n  args: [attach]/; /^  (kind|name): (Pod|app|PersistentVolumeClaim|data)$/d' 'kubectl attach is not known'
cases_end
