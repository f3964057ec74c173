# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of the source tree: goes to its top, and lists its files.
. "${KVOLSIM_SRCDIR:?is the top of the source tree}/tests/lib/shell.sh"
builddir=$KVOLSIM_BUILDDIR
cd "$KVOLSIM_SRCDIR" || exit 1

# The files that belong to the project: those git tracks; without git (a tarball) all but builds.
tree_files()
{
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -- "$@" | while read -r file; do
            [ ! -f "$file" ] || printf '%s\n' "$file" # deleted, not committed
        done
    else
        find "${@:-.}" \( -name 'build*' -o -name .git \) -prune -o -type f -print 2>/dev/null | sed 's|^\./||'
    fi
}

# case_result NAME FILE: a case that passes if FILE, the list of faults, is empty.
case_result()
{
    [ ! -s "$2" ]
    result $? "$1" "$2"
}

# Prints a C file without its comments and with empty strings, line by line, so that words in prose do not count.
# A line with the marker $2 (in a comment, with a reason) is left out; on a line of its own before any code it
# stands for the whole file.
code_of()
{
    awk -v marker="${2:-}" '
        {
            line = $0
            if (marker != "" && index(line, marker) && !seen_code) exit
            marked = marker != "" && index(line, marker)
            out = ""
            while (line != "") {
                if (in_comment) {
                    end = index(line, "*/")
                    if (!end) { line = ""; break }
                    line = substr(line, end + 2); in_comment = 0
                    continue
                }
                if (match(line, /^"([^"\\]|\\.)*"/)) { out = out "\"\""; line = substr(line, RLENGTH + 1); continue }
                if (match(line, /^\047([^\047\\]|\\.)+\047/)) { out = out "0"; line = substr(line, RLENGTH + 1); continue }
                if (substr(line, 1, 2) == "/*") { in_comment = 1; line = substr(line, 3); continue }
                if (substr(line, 1, 2) == "//") break
                out = out substr(line, 1, 1); line = substr(line, 2)
            }
            if (out ~ /[^ \t]/) seen_code = 1
            print marked ? "" : out
        }' "$1"
}
