# SPDX-License-Identifier: GPL-3.0-or-later
# For the tests of this folder: cd to the source tree, list its files, report cases as TAP.
LC_ALL=C
export LC_ALL
builddir=${KVOLSIM_BUILDDIR:-$PWD}
cd "${KVOLSIM_SRCDIR:?is the top of the source tree}" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
n_cases=0

# The files that belong to the project: those git tracks; without git (a tarball) all but builds.
tree_files()
{
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -- "$@" | while read -r file; do
            [ ! -f "$file" ] || printf '%s\n' "$file" # deleted, not committed
        done
    else
        find "${@:-.}" \( -name 'build*' -o -name .git \) -prune -o -type f -print | sed 's|^\./||'
    fi
}

# case_result NAME FILE: passes if FILE, the list of faults, is empty; else shows it.
case_result()
{
    n_cases=$((n_cases + 1))
    if [ -s "$2" ]; then
        echo "not ok $n_cases - $1"
        sed 's/^/# /' "$2"
    else
        echo "ok $n_cases - $1"
    fi
}

case_skip()
{
    n_cases=$((n_cases + 1))
    echo "ok $n_cases - $1 # SKIP $2"
}

cases_end()
{
    echo "1..$n_cases"
}

# Prints a C file without its comments and with empty strings, line by line, so that words in prose do not count.
# A line with the marker $2 (in a comment, with a reason) is left out; on a line of its own before any code it
# stands for the whole file.
code_of()
{
    awk -v marker="$2" '
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
