# SPDX-License-Identifier: GPL-3.0-or-later
# The translations of the page's texts as JSON: reads scripts (*.js), where a text stands in t("..."), then a catalogue (*.po). Both
# quote texts as JSON does.
FILENAME ~ /\.js$/ {
    line = $0
    while (match(line, /(^|[^A-Za-z_.])t\("([^"\\]|\\.)*"/)) {
        text = substr(line, RSTART, RLENGTH)
        sub(/^[^"]*/, "", text)
        wanted[text] = 1
        line = substr(line, RSTART + RLENGTH)
    }
}
FILENAME ~ /\.po$/ && /^msgid "/ { id = substr($0, 7); inside = "" }
FILENAME ~ /\.po$/ && /^msgstr "/ {
    text = substr($0, 8)
    if (id in wanted && text != "\"\"") {
        printf "%s\n%s: %s", n++ ? "," : "{", id, text
        delete wanted[id]
    }
}
END { print n ? "\n}" : "{}" }
