#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Who may include whom: the floors of the house, from the bottom. A room includes its own headers and those of lower
# floors, so that no circle between rooms is possible. Rooms of one floor know nothing of each other, but for the client, which
# sends requests to the API server. A component includes no other component's header; only the table of all models names them.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"

tree_files sim models run serve cli | grep '\.[ch]$' >"$scratch/files"
while read -r file; do
    grep -n '^[ \t]*#[ \t]*include[ \t]*"' "$file" | sed "s|^|$file:|"
done <"$scratch/files" >"$scratch/includes"

awk -v found="$scratch" '
    BEGIN {
        n_floors = split("sim" \
            "|models/timing models/metrics models/api" \
            "|models/apiserver models/client models/csi" \
            "|models/csi/modelled models/csi/loop" \
            "|models/plan" \
            "|models/cluster" \
            "|models/volume models/workloads" \
            "|component" \
            "|run/files" \
            "|run/kubectl run/scenario" \
            "|run/world" \
            "|run/results" \
            "|run/study run/teach run/measure run/import" \
            "|serve/api serve/csi serve/page" \
            "|cli", floors, "|")
        for (i = 1; i <= n_floors; i++) {
            n_rooms = split(floors[i], rooms, " ")
            for (k = 1; k <= n_rooms; k++) floor[rooms[k]] = i
        }
    }
    function room_of(path) { sub(/\/[^\/]*$/, "", path); return path }
    # A folder that is no room of its own belongs to a component.
    function floor_of(room) { return room in floor ? floor[room] : room ~ /^models\// ? floor["component"] : 0 }
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
        if (floor_of(from) == 0) { print where[1] ": its folder has no floor in tests/repo/includes.sh" >(found "/unknown"); next }
        if (from == to || where[1] == "models/cluster/registry.c") next
        # The parts of a component may have folders below its own.
        if (floor_of(to) == floor["component"] && (index(from, to "/") == 1 || index(to, from "/") == 1)) next
        if (floor_of(from) == floor["component"] && floor_of(to) == floor["component"])
            print place target ": components meet in API objects only" >(found "/component")
        else if (floor_of(to) >= floor_of(from) && !(from == "models/client" && to == "models/apiserver"))
            print place target ": against the arrow" >(found "/arrow")
    }' "$scratch/files" "$scratch/includes" || echo "the test itself is broken" >>"$scratch/unknown"

for list in arrow component unknown; do
    [ -e "$scratch/$list" ] || : >"$scratch/$list"
done
case_result "includes follow the arrow" "$scratch/arrow"
case_result "no component includes another" "$scratch/component"
case_result "every included header exists" "$scratch/unknown"
cases_end
