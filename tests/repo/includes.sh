#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Who may use whom: the floors of the house (floors.txt). A room includes headers of its own and of lower floors, and refers to
# no symbol of a higher one, so that no circle between rooms is possible. A component includes no other component's header; only
# the table of all models names them. Files inside a room have an order, too (insides.txt).
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

tree_files sim models run serve cli | grep '\.[ch]$' >"$scratch/files"
while read -r file; do
    grep -n '^[ \t]*#[ \t]*include[ \t]*"' "$file" | sed "s|^|$file:|"
done <"$scratch/files" >"$scratch/includes"

# floor_of(room): its number, from 1; 0: it has none. may_use(from, to): whether rooms may.
floors='
    FILENAME ~ /floors.txt$/ {
        if ($0 !~ /^#/) { n_floors++; for (i = 1; i <= NF; i++) floor[$i] = n_floors }
        next
    }
    FILENAME ~ /insides.txt$/ {
        if (/^[^ #]/) inside = $1
        else if (!/^#/)
            for (i = 1; i <= NF; i++) { is_in[room_of(inside "/" $i)] = inside; storey[room_of(inside "/" $i)] = ++n_storeys }
        next
    }
    function room_of(path) { sub(/\/[^\/]*$/, "", path); return path }
    function floor_of(room) { return room in floor ? floor[room] : room ~ /^models\// ? floor["component"] : 0 }
    function is_component(room) { return floor_of(room) == floor["component"] }
    # Folders of a room with an inside use those below them.
    function is_below(room, other) {
        return room in storey && other in storey && is_in[room] == is_in[other] && storey[room] < storey[other]
    }
    # A room may have folders on its own floor, below its own.
    function is_of(room, other) { return room == other || floor_of(room) == floor_of(other) && index(room, other "/") == 1 }
    function may_use(from, to) {
        return is_of(from, to) || is_of(to, from) || is_below(to, from) || floor_of(to) < floor_of(from) ||
            from == "models/client" && to == "models/apiserver"
    }
'

awk -v found="$scratch" "$floors"'
    function resolve(file, name,    dir) {
        dir = file; sub(/[^\/]*$/, "", dir)
        while (name ~ /^\.\.\//) { sub(/^\.\.\//, "", name); sub(/[^\/]+\/$/, "", dir) }
        if ((dir name) in exists) return dir name
        return name
    }
    FILENAME ~ /files$/ { exists[$0] = 1; next }
    {
        split($0, where, ":")
        name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
        if (name == "config.h") next
        target = resolve(where[1], name)
        place = where[1] ":" where[2] ": includes "
        if (!(target in exists)) { print place name ", which is no file of the project" >(found "/unknown"); next }
        from = room_of(where[1]); to = room_of(target)
        if (floor_of(from) == 0)
            print where[1] ": its folder has no floor in tests/repo/floors.txt" >(found "/unknown")
        else if (where[1] == "models/cluster/registry.c" || may_use(from, to))
            next
        else if (is_component(from) && is_component(to))
            print place target ": components meet in API objects only" >(found "/component")
        else
            print place target ": against the arrow" >(found "/arrow")
    }' tests/repo/floors.txt tests/repo/insides.txt "$scratch/files" "$scratch/includes" || echo "the test itself is broken" >>"$scratch/unknown"

for list in arrow component unknown; do
    [ -e "$scratch/$list" ] || : >"$scratch/$list"
done
case_result "includes follow the arrow" "$scratch/arrow"
case_result "no component includes another" "$scratch/component"
case_result "every included header exists" "$scratch/unknown"

# A declaration repeated by hand needs no include: what is linked tells.
cd "$builddir" || exit 1
find sim models run serve cli -name '*.o' 2>/dev/null | sort | while read -r object; do
    name=${object##*/}
    name=${name%.o}
    case $name in # objects with flags of their own begin with the program or library
    kvolsim-* | *_a-*) name=${name#*-} ;;
    esac
    [ ! -e "$KVOLSIM_SRCDIR/${object%/*}/$name.c" ] || echo "$object" # without a source it is left from a file that has moved
done >"$scratch/objects"
if [ -s "$scratch/objects" ]; then
    xargs ${NM:-nm} -A -P -g <"$scratch/objects" 2>/dev/null | sed 's/: / /' >"$scratch/symbols"
    awk "$floors"'
        { object = $1; symbol = $2; type = $3 }
        pass == 1 { if (type ~ /^[TDRB]$/) owner[symbol] = object; next }
        type == "U" && symbol in owner {
            from = room_of(object); to = room_of(owner[symbol])
            # The table of all models is looked up by name only.
            if (symbol != "model_classes" && object !~ /registry/ && !may_use(from, to))
                print object ": uses " symbol " of " owner[symbol]
        }' "$KVOLSIM_SRCDIR/tests/repo/floors.txt" "$KVOLSIM_SRCDIR/tests/repo/insides.txt" pass=1 "$scratch/symbols" pass=2 "$scratch/symbols" >"$scratch/upward"
    case_result "no symbol is used against the arrow" "$scratch/upward"
    # A number that is too high is as wrong: it would let in new arrows.
    cd "$KVOLSIM_SRCDIR" || exit 1
    sed -n 's/^\([a-z][a-z/-]*\) [0-9]*$/\1/p' tests/repo/insides.txt | while read -r room; do
        scripts/rooms-picture --inside "$room" --build "$builddir" --arrows >"$scratch/inside" 2>&1 ||
            [ $? -eq 2 ] || cat "$scratch/inside" # 2: not all of it is built here
    done >"$scratch/insides"
    case_result "inside rooms, as many arrows run up as insides.txt says" "$scratch/insides"
else
    case_skip "inside rooms, as many arrows run up as insides.txt says" "nothing is built here"
    case_skip "no symbol is used against the arrow" "nothing is built here"
fi
cases_end
