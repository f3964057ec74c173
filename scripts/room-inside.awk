# SPDX-License-Identifier: GPL-3.0-or-later
# The inside of a room, for scripts/rooms-picture --inside. Nodes are the source files of the room and of the folders below it. An
# arrow leads from file A to file B if A's object uses a symbol that B's object defines. The order of the files, from the bottom up, is
# the one that tests/repo/insides.txt declares; without one it is the best that a local search finds: folders and files of the room
# first, then the files of each folder. An arrow from a file to one above it runs up.
#
# Variables: room; what=picture (SVG), arrows (the arrows that run up, a count) or order (lines for insides.txt). Input: insides.txt,
# the lists of the room's sources and objects, the output of nm -A -P -g with ": " as one blank.
FILENAME ~ /insides[.]txt$/ {
    if ($0 ~ /^#/ || NF == 0) next
    if ($0 !~ /^[ \t]/) { mine = $1 == room; if (mine) { allowed = $2; declared = 1 } next }
    for (i = 1; mine && i <= NF; i++) { if ($i in place) fault($i " stands twice"); place[$i] = ++n_places; stated[n_places] = $i }
    next
}
FILENAME ~ /sources$/ { name = file_of($0); is_file[name] = 1; files[++n] = name; next }
FILENAME ~ /objects$/ { built[object_of($0)] = 1; next }
{
    name = object_of($1)
    if (!(name in is_file)) next
    if ($3 ~ /^[TDRBC]$/) owner[$2] = name
    else if ($3 == "U") { used_by[++n_uses] = name; used[n_uses] = $2 }
}
function fault(text) { print "tests/repo/insides.txt: " room ": " text; n_faults++ }
function file_of(path) { sub(/[.][^.]*$/, "", path); return substr(path, length(room) + 2) }
function object_of(path,    folder, name) {
    folder = path; sub(/[^\/]*$/, "", folder)
    name = substr(path, length(folder) + 1); sub(/[.]o$/, "", name)
    if (name ~ /^kvolsim-|_a-/) sub(/^[^-]*-/, "", name) # objects with flags of their own
    path = folder name
    return index(path, room "/") == 1 ? substr(path, length(room) + 2) : ""
}
function folder_of(name) { return sub(/\/[^\/]*$/, "", name) ? name : "" }
# A file of the room itself is a group of its own.
function group_of(name) { return folder_of(name) == "" ? name : folder_of(name) "/" }

# Without making an element.
function of(weight, from, to) { return (from, to) in weight ? weight[from, to] : 0 }

# Moves each item of list[1..m] to where the fewest arrows of weight[] run up, until no move helps.
function search(list, m, weight,    better, i, k, at, gain, best, best_at, item) {
    do {
        better = 0
        for (i = 1; i <= m; i++) {
            item = list[i]; best = 0; best_at = i; gain = 0
            for (k = i + 1; k <= m; k++) { # up, past list[k]
                gain += of(weight, list[k], item) - of(weight, item, list[k])
                if (gain < best) { best = gain; best_at = k }
            }
            gain = 0
            for (k = i - 1; k >= 1; k--) { # down
                gain += of(weight, item, list[k]) - of(weight, list[k], item)
                if (gain < best) { best = gain; best_at = k }
            }
            if (best < 0) {
                for (k = i; k < best_at; k++) list[k] = list[k + 1]
                for (k = i; k > best_at; k--) list[k] = list[k - 1]
                list[best_at] = item; better = 1
            }
        }
    } while (better)
}
# An order to begin with: the users of nothing that is left come first; in a circle, the one that uses the least.
function begin(list, m, weight,    i, k, at, rest, best, best_at, item) {
    for (i = 1; i <= m; i++) {
        best = -1
        for (k = i; k <= m; k++) {
            rest = 0
            for (at = i; at <= m; at++) if (at != k) rest += of(weight, list[k], list[at]) > 0
            if (best < 0 || rest < best) { best = rest; best_at = k }
        }
        item = list[best_at]
        for (k = best_at; k > i; k--) list[k] = list[k - 1]
        list[i] = item
    }
}
function find_order(    i, g, n_groups, groups, is_group, members, m, pair, part) {
    for (i = 1; i <= n; i++) {
        g = group_of(files[i])
        if (!(g in is_group)) { is_group[g] = 1; groups[++n_groups] = g }
    }
    for (pair in arrow) {
        split(pair, part, SUBSEP)
        if (group_of(part[1]) != group_of(part[2])) between[group_of(part[1]), group_of(part[2])]++
    }
    begin(groups, n_groups, between)
    search(groups, n_groups, between)
    n_places = 0
    for (g = 1; g <= n_groups; g++) {
        m = 0
        for (i = 1; i <= n; i++) if (group_of(files[i]) == groups[g]) members[++m] = files[i]
        begin(members, m, arrow)
        search(members, m, arrow)
        for (i = 1; i <= m; i++) { place[members[i]] = ++n_places; stated[n_places] = members[i] }
    }
}
function check_order(    i, folder, last, done) {
    for (i = 1; i <= n_places; i++) {
        if (!(stated[i] in is_file)) fault(stated[i] " is no source file of the room")
        folder = folder_of(stated[i])
        if (folder != last && folder != "" && folder in done) fault("the files of " folder "/ do not stand together")
        done[folder] = 1; last = folder
    }
    for (i = 1; i <= n; i++) if (!(files[i] in place)) fault(files[i] " has no place in the order")
}
function marker(name, colour) {
    printf "<marker id=\"%s\" markerUnits=\"userSpaceOnUse\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"4\" orient=\"auto\">" \
        "<path d=\"M1,1 L7,4 L1,7 z\" fill=\"%s\"/></marker>\n", name, colour
}
# Down: from the left side of the user along its row, then down to the box that it uses. Up: from its right side, and up.
function draw_arrow(user, target,    x, y, down) {
    down = place[user] > place[target]
    x = column[target] + (down ? 10 : box_width - 10); y = row[user] + box_height / 2
    printf "<path d=\"M%d,%d H%d Q%d,%d %d,%d V%d\" stroke=\"%s\" stroke-width=\"%s\" marker-end=\"url(#%s)\"/>\n",
        down ? column[user] : column[user] + box_width, y, down ? x + 7 : x - 7, x, y, x, down ? y + 7 : y - 7,
        down ? row[target] - 1 : row[target] + box_height + 1, down ? weak : strong, down ? "1.2" : "1.6", down ? "down" : "up"
}
function picture(    i, k, width, height, folder, last, shade, pass) {
    step_x = 22; step_y = 26; box_height = 20; box_width = 240; margin = 12; weak = "#9fb0c0"; strong = "#c0392b"
    width = 2 * margin + (n - 1) * step_x + box_width + 60
    height = 2 * margin + n * step_y
    for (k = 1; k <= n; k++) {
        column[stated[k]] = margin + (k - 1) * step_x
        row[stated[k]] = height - margin - k * step_y + (step_y - box_height) / 2
    }
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" " \
        "font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"11\">\n", width, height, width, height
    printf "<title>The files of %s; an arrow leads from a file to each file whose symbols it uses; red ones run up</title>\n<defs>\n", room
    marker("up", strong); marker("down", weak)
    printf "</defs>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height
    for (k = 1; k <= n; k++) { # the files of every second folder are shaded
        folder = folder_of(stated[k])
        if (folder != last) { last = folder; shade = !shade }
        if (folder != "")
            printf "<rect x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", height - margin - k * step_y, width, step_y,
                shade ? "#f4f6f9" : "#fbf6ea"
    }
    print "<g fill=\"none\">"
    for (pass = 0; pass < 2; pass++)
        for (i = n; i >= 1; i--)
            for (k = 1; k <= n; k++)
                if ((stated[i], stated[k]) in arrow && (i < k) == pass) draw_arrow(stated[i], stated[k])
    print "</g>"
    for (k = 1; k <= n; k++) {
        printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"#e6eef7\" stroke=\"#24507a\"/>\n", column[stated[k]],
            row[stated[k]], box_width, box_height
        printf "<text x=\"%d\" y=\"%d\">%s</text>\n", column[stated[k]] + 20, row[stated[k]] + 14, stated[k]
    }
    print "</svg>"
}
END {
    if (n == 0) { print room ": no source file" >"/dev/stderr"; exit 2 }
    for (i = 1; i <= n; i++)
        if (!(files[i] in built)) { print room "/" files[i] ": not built" >"/dev/stderr"; exit 2 }
    for (i = 1; i <= n_uses; i++)
        if (used[i] in owner && owner[used[i]] != used_by[i] && !((used_by[i], owner[used[i]]) in arrow)) {
            arrow[used_by[i], owner[used[i]]] = 1; n_arrows++
        }
    if (declared && what != "order") check_order()
    else find_order()
    for (i = 1; i <= n_places; i++)
        for (k = i + 1; k <= n_places; k++)
            if ((stated[i], stated[k]) in arrow) { n_up++; up = up "\n" stated[i] " uses " stated[k] }
    count = (n_up + 0) " of " n_arrows " arrows run up"
    if (what == "order") {
        print room, n_up + 0
        for (k = 1; k <= n_places; k++) print "    " stated[k]
    } else if (what == "arrows") {
        print room ": " count up
        if (declared && n_up != allowed) fault(count ", and " allowed " are declared" up)
        exit n_faults > 0
    } else {
        picture()
        print count >"/dev/stderr"
    }
}
