# SPDX-License-Identifier: GPL-3.0-or-later
# The page's modules as one classic script, for pages that are opened from disk: browsers load no modules there. Reads serve/page/*.js,
# each with its imports and exports at the beginning of lines; a module is run when another one asks for it.
function end_module() {
    if (module != "")
        printf "return {%s};\n},\n", names
    names = ""
}
BEGIN {
    print "'use strict';"
    print "{"
    print "const made = {};"
    print "const load = (path) => made[path] ??= modules[path]();"
    print "const modules = {"
}
FNR == 1 {
    end_module()
    module = FILENAME
    sub(/.*\//, "./", module)
    printf "'%s': () => {\n", module
}
/^import \* as / { sub(/^import \* as /, "const "); sub(/ from /, " = load("); sub(/;$/, ");"); print; next }
/^import / { sub(/^import /, "const "); gsub(/ as /, ": "); sub(/ from /, " = load("); sub(/;$/, ");"); print; next }
/^export / {
    sub(/^export /, "")
    name = $0
    sub(/^(async function|function|const|class) +/, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    names = names (names == "" ? "" : ", ") name
}
{ gsub(/import\(/, "load("); print }
END {
    end_module()
    print "};"
    print "load('./main.js');"
    print "}"
}
