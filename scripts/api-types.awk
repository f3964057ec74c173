# SPDX-License-Identifier: GPL-3.0-or-later
# Makes schema-types.c of kubernetes.types.

function fail(what) { print FILENAME ":" NR ": " what >"/dev/stderr"; failed = 1; exit 1 }
function symbol(qualified) { gsub(/\./, "_", qualified); return "type_" qualified }
function package_of(type) { sub(/\.[^.]*$/, "", type); return type }
function name_of(type) { sub(/.*\./, "", type); return type }

# Reads the marks of the line from word @from on: "NAME=VALUE", or a bare word, which has the value 1.
function read_marks(from, known,    i, at) {
    split("", mark)
    for (i = from; i <= NF; i++) {
        at = index($i, "=")
        if (at == 0) at = length($i) + 1
        if (index(" " known " ", " " substr($i, 1, at - 1) " ") == 0) fail("unknown mark: " $i)
        mark[substr($i, 1, at - 1)] = at > length($i) ? 1 : substr($i, at + 1)
    }
}

# Returns: the minor release of @text, "1.27"; 0: none
function minor(text) {
    if (text != "" && text !~ /^1\.[0-9]+$/) fail("no release: " text)
    return substr(text, 3) + 0
}

# @line: NAME NUMBER TYPE MARKS
function add_field(line) {
    if (line !~ /^[^ ]+ ([0-9]+(@[0-9]+)*|-) [^ ]/) fail("not NAME NUMBER TYPE: " line)
    fields[type] = fields[type] line "\n"
}

function new_type(qualified, is_atomic) {
    order[++n_types] = qualified
    full[qualified] = full_package[package_of(qualified)] "." name_of(qualified)
    atomic[qualified] = is_atomic
    custom[qualified] = package_of(qualified) in is_custom
}

# @name: a type as the package @of writes it. Returns: its qualified name; "": there is none
function resolve(name, of) { return name in full ? name : of "." name in full ? of "." name : "" }

/^#/ || /^$/ { next }
/^package / {
    read_marks(5, "custom as since until off order")
    package = $2; full_package[package] = $3; api_version[package] = $4
    packages[++n_packages] = package
    if ("custom" in mark) is_custom[package] = 1
    if ("as" in mark && !(mark["as"] in api_version)) fail("no such package before: " mark["as"])
    base[package] = mark["as"]
    since[package] = minor(mark["since"]); until[package] = minor(mark["until"])
    off[package] = mark["off"] + 0; place[package] = mark["order"]
    next
}
/^  \// { resource[type] = $0; next }
/^  -/ { sub(/^ +-/, ""); left_out[type, $0] = 1; next }
/^ / { sub(/^ +/, ""); add_field($0); next }
{
    is_kind = $1 == "kind" ? 2 : $1 == "kind-" ? 1 : 0
    type = package "." (is_kind || $1 == "any" ? $2 : $1)
    read_marks(is_kind || $1 == "any" ? 3 : 2, "atomic since until off")
    new_type(type, "atomic" in mark)
    since[type] = "since" in mark ? minor(mark["since"]) : since[package]
    until[type] = "until" in mark ? minor(mark["until"]) : until[package]
    off[type] = "off" in mark ? 1 : off[package]
    if ($1 == "any") choices[type] = 1
    if (is_kind) kinds[type] = api_version[package]
    if (base[package] "." name_of(type) in full) next # it has their fields
    if (is_kind) {
        add_field("apiVersion - string")
        add_field("kind - string")
    }
    if (is_kind == 2) add_field("metadata " (custom[type] ? "-" : "1") " meta.ObjectMeta={}")
}

# Gives a type of a package that is as another one the fields of its namesake there, but for those that it leaves out or has itself.
function take_fields(type,    from, list, n, i, own, word) {
    from = base[package_of(type)] "." name_of(type)
    if (!(from in full)) return
    if (type in kinds && !(type in resource) && from in resource) resource[type] = resource[from]
    if (from in choices) choices[type] = 1
    n = split(fields[type], list, "\n") - 1
    for (i = 1; i <= n; i++) { split(list[i], word, " "); sub(/!$/, "", word[1]); own[word[1]] = 1 }
    n = split(fields[from], list, "\n") - 1
    for (i = n; i >= 1; i--) {
        split(list[i], word, " "); sub(/!$/, "", word[1])
        if (!(word[1] in own) && !((type, word[1]) in left_out)) fields[type] = list[i] "\n" fields[type]
    }
}

# Adds the namesakes of types that only the base of the package has.
function take_types(type,    in_package, text, name) {
    in_package = package_of(type)
    text = fields[type]
    while (match(text, /[^A-Za-z0-9._(|][A-Z][A-Za-z0-9]*/)) {
        name = substr(text, RSTART + 1, RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        if (in_package "." name in full || !(base[in_package] "." name in full)) continue
        new_type(in_package "." name, atomic[base[in_package] "." name])
    }
}

function words_of(text, separator,    parts, n, i, result) {
    n = split(text, parts, separator)
    for (i = 1; i <= n; i++) result = result "\"" parts[i] "\", "
    return "(const char *const[]){" result "NULL}"
}

# Returns: an expression of C for the address of the type @text in the package @in_package.
function type_of(text, in_package,    end, inside, words, n, apply, patch, parts, i, result, retains, replaces, granular) {
    if (text in scalar) return "&" scalar[text]
    if (match(text, /^enum\(/))
        return "&(const SchemaType){.shape = SCHEMA_STRING, .words = " words_of(substr(text, 6, length(text) - 6), "|") "}"
    if (text ~ /^[\[{]/) {
        inside = substr(text, 2, length(text) - 2)
        # The item's type ends at its own last bracket, or at the first blank.
        end = match(inside, /^.*[\])}]/) ? RLENGTH : index(inside " ", " ") - 1
        n = split(substr(inside, end + 1), words, " ")
        inside = substr(inside, 1, end)
        retains = n > 0 && words[n] == "retain" ? n-- : 0
        result = ".shape = " (text ~ /^\[/ ? "SCHEMA_LIST" : "SCHEMA_MAP") ", .element = " type_of(inside, in_package)
        if (text ~ /^[{]/) return "&(const SchemaType){" result ", .merge = " (words[1] == "atomic" ? "SCHEMA_ATOMIC" : "SCHEMA_GRANULAR") "}"
        split(n == 0 ? "-/-" : words[1] ~ /\// ? words[1] : words[1] "/" words[1], parts, "/")
        apply = parts[1]; patch = parts[2]
        if (apply == "set") result = result ", .merge = SCHEMA_SET"
        else if (apply != "-") result = result ", .merge = SCHEMA_KEYED, .keys = " words_of(apply, "+")
        if (patch != "-") result = result ", .patch_merges = TRUE"
        if (patch != "-" && patch != "set") result = result ", .patch_merge_key = \"" patch "\""
        return "&(const SchemaType){" result (retains ? ", .patch_retains_keys = TRUE" : "") "}"
    }
    retains = sub(/ retain$/, "", text)
    replaces = sub(/ replace$/, "", text)
    granular = sub(/ granular$/, "", text)
    if (resolve(text, in_package) == "") fail("unknown type: " in_package "." text)
    text = resolve(text, in_package)
    if (!retains && !replaces && !granular) return "&" symbol(text)
    return "&(const SchemaType){.name = \"" full[text] "\", .shape = SCHEMA_STRUCT, .merge = " (atomic[text] && !granular ? "SCHEMA_ATOMIC" : "SCHEMA_GRANULAR") ", .fields = " fields_symbol(text) (granular ? ", .granular" : retains ? ", .patch_retains_keys" : ", .patch_replaces") " = TRUE}"
}
function fields_symbol(name) { name = symbol(name); sub(/^type_/, "fields_", name); return name }

# Returns: the length of the type that @text begins with: to the first blank outside brackets.
function type_length(text,    i, c, depth) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c ~ /[\[{(]/) depth++
        else if (c ~ /[\])}]/) depth--
        else if (c == " " && depth == 0) break
    }
    return i - 1
}

# Returns: @value of a default as JSON in C: bare words are strings where the type @text has strings.
function json_of(value, text) {
    if (value ~ /^\[/) value = "[" (text ~ /^\[string/ ? "\"" substr(value, 2, length(value) - 2) "\"" : substr(value, 2, length(value) - 2)) "]"
    else if (value != "{}" && text ~ /^[*]?(string|enum)/ || text == "intorstring" && value !~ /^[0-9]+$/) value = "\"" value "\""
    gsub(/"/, "\\\"", value)
    return "\"" value "\""
}

# Takes the constraints and the default off the end of @line, which is global, to row[]. Returns: an expression of C for the constraints.
function checks_of(    key, value, at, result, part) {
    result = ""
    if (!match(line, / \+[a-z]/)) return "NULL"
    at = substr(line, RSTART)
    line = substr(line, 1, RSTART - 1)
    while (match(at, /^ \+[a-z]+(=("[^"]*"|[^ ]*))?/)) {
        part = substr(at, 3, RLENGTH - 2)
        at = substr(at, RLENGTH + 1)
        key = part; value = ""
        if (match(part, /=/)) { key = substr(part, 1, RSTART - 1); value = substr(part, RSTART + 1) }
        gsub(/"/, "", value)
        if (key == "default") { has_default = 1; set_to = value; continue }
        if (key == "min" || key == "max") result = result ".has_" key " = TRUE, "
        if (key in check_texts) result = result "." check_texts[key] " = \"" value "\", "
        else if (key in check_numbers) result = result "." check_numbers[key] " = " value ", "
        else if (key in check_flags && value == "") result = result "." check_flags[key] " = TRUE, "
        else if (key == "enum") result = result ".words = " words_of(value, "|") ", "
        else fail("unknown constraint: +" key)
    }
    if (at != "") fail("not +WORD or +WORD=VALUE: " at)
    return result == "" ? "NULL" : "&(const SchemaChecks){" result "}"
}

# Reads @line into row[]: name, required, number, message, type, pointer, default, marks, checks, set.
function read_field(text,    words, numbers, n, rest, i, at) {
    split("", row)
    line = text
    has_default = 0
    row["checks"] = checks_of()
    split(line, words, " ")
    row["name"] = words[1]
    row["required"] = sub(/!$/, "", row["name"]) ? "TRUE" : "FALSE"
    split(words[2], numbers, "@")
    row["number"] = numbers[1] + 0 ", " numbers[3] * 256 + numbers[2]
    rest = substr(line, length(words[1] words[2]) + 3)
    row["type"] = substr(rest, 1, type_length(rest))
    n = split(substr(rest, length(row["type"]) + 1), words, " ")
    row["pointer"] = sub(/^[*]/, "", row["type"]) ? "TRUE" : "FALSE"
    row["default"] = "NULL"
    row["set"] = has_default ? json_of(set_to, row["type"]) : "NULL"
    if (sub(/=[{][}]$/, "", row["type"])) {
        row["default"] = "\"{}\""
    } else if ((at = match(row["type"], /=[^\])}]*$/))) {
        row["default"] = substr(row["type"], at + 1)
        row["type"] = substr(row["type"], 1, at - 1)
        row["set"] = row["default"] = json_of(row["default"], row["type"])
    }
    row["since"] = row["until"] = 0
    for (i = 1; i <= n; i++)
        if (words[i] ~ /^(retain|replace|granular)$/) row["type"] = row["type"] " " words[i]
        else if (sub(/^since=/, "", words[i])) row["since"] = minor(words[i])
        else if (sub(/^until=/, "", words[i])) row["until"] = minor(words[i])
        else fail("unknown mark: " words[i])
}

function print_fields(name,    in_package, list, n, i) {
    in_package = package_of(name)
    n = split(fields[name], list, "\n") - 1
    print "static const SchemaField " fields_symbol(name) "[] = {"
    for (i = 1; i <= n; i++) {
        read_field(list[i])
        print "    {\"" row["name"] "\", " type_of(row["type"], in_package) ", " row["required"] ", " row["default"] ", " row["number"] ", " row["pointer"] ", " row["since"] ", " row["until"] ", " row["checks"] ", " row["set"] "},"
    }
    print "    {NULL, NULL, FALSE, NULL, 0, 0, FALSE, 0, 0, NULL, NULL},\n};"
}

function type_expression(name) {
    return "{.name = \"" full[name] "\", " (name in choices ? ".shape = SCHEMA_ANY, .choices = " : ".shape = SCHEMA_STRUCT, .merge = " (atomic[name] ? "SCHEMA_ATOMIC" : "SCHEMA_GRANULAR") ", .fields = ") fields_symbol(name) ", .custom = " (custom[name] ? "TRUE" : "FALSE") "}"
}

function quoted(text) { gsub(/,/, " ", text); return text == "" ? "NULL" : "\"" text "\"" }

function group_of(version) { return substr(version, 1, index(version, "/") - (version ~ /\//)) }

# Returns: where discovery tells the resource: groups and versions by their priority, then by name
function rank(type,    parts) {
    split(place[package_of(type)], parts, "/")
    $0 = resource[type]
    return sprintf("%06d %s %06d %s", 999999 - parts[1], group_of(kinds[type]), 999999 - parts[2], $1)
}

function print_resource(type) {
    $0 = resource[type]
    read_marks(2, "namespaced short categories verbs subresources in")
    print "    {\"" group_of(kinds[type]) "\", \"" substr(kinds[type], index(kinds[type], "/") + 1) "\", \"" substr($1, 2) "\", \"" name_of(type) "\", " ("namespaced" in mark ? "TRUE" : "FALSE") ", " quoted(mark["short"]) ", " quoted(mark["categories"]) ", " ("verbs" in mark ? quoted(mark["verbs"]) : custom[type] ? "CUSTOM_VERBS" : "BUILT_IN_VERBS") ", " quoted(mark["subresources"]) ", NULL, &" symbol(type) ", " since[type] ", " until[type] ", " (off[type] ? "TRUE" : "FALSE") ", " ("in" in mark ? "\"" group_of(api_version[mark["in"]]) "\"" : "NULL") ", \"" kinds[type] "\"},"
}

function print_resources(    i, j, n, sorted, rank_of, type) {
    for (i = 1; i <= n_types; i++) {
        type = order[i]
        if (!(type in resource)) continue
        rank_of[type] = rank(type)
        for (j = ++n; j > 1 && rank_of[sorted[j - 1]] > rank_of[type]; j--) sorted[j] = sorted[j - 1]
        sorted[j] = type
    }
    print "const ApiResource api_resources[] = {"
    for (i = 1; i <= n; i++) print_resource(sorted[i])
    print "    {NULL},\n};"
}

END {
    if (failed) exit 1
    for (i = 1; i <= n_types; i++) { take_fields(order[i]); take_types(order[i]) }
    split("required required format format keys keys unique unique immutable immutable", c, " ")
    for (i = 1; i in c; i += 2) check_texts[c[i]] = c[i + 1]
    split("min minimum max maximum bytes bytes_max items items_max", d, " ")
    for (i = 1; i in d; i += 2) check_numbers[d[i]] = d[i + 1]
    split("zero zero always always whole whole ruled ruled union is_member", e, " ")
    for (i = 1; i in e; i += 2) check_flags[e[i]] = e[i + 1]
    n_scalars = split("string STRING bytes BYTES bool BOOL int32 INT32 int64 INT64 double DOUBLE time TIME microtime MICRO_TIME quantity QUANTITY intorstring INT_OR_STRING any ANY", s, " ")
    print "/* Made of kubernetes.types by api-types.awk. */\n#include \"models/api/schema/schema-private.h\"\n"
    for (i = 1; i < n_scalars; i += 2) {
        scalar[s[i]] = "scalar_" s[i]
        print "static const SchemaType scalar_" s[i] " = {.shape = SCHEMA_" s[i + 1] "};"
    }
    for (i = 1; i <= n_types; i++) {
        print "static const SchemaType " symbol(order[i]) ";"
        print "static const SchemaField " fields_symbol(order[i]) "[" split(fields[order[i]] "-", list, "\n") "];"
    }
    for (i = 1; i <= n_types; i++) {
        print_fields(order[i])
        print "static const SchemaType " symbol(order[i]) " = " type_expression(order[i]) ";"
    }
    print "const SchemaType *const schema_structs[] = {"
    for (i = 1; i <= n_types; i++) if (!(order[i] in choices)) print "    &" symbol(order[i]) ","
    print "    NULL,\n};\nconst SchemaKind schema_kinds[] = {"
    for (i = 1; i <= n_types; i++)
        if (order[i] in kinds) {
            print "    {\"" kinds[order[i]] "\", \"" name_of(order[i]) "\", &" symbol(order[i]) "},"
        }
    print "    {NULL, NULL, NULL},\n};"
    print_resources()
}
