# SPDX-License-Identifier: GPL-3.0-or-later
# Makes schema-types.c of kubernetes.types.

function fail(what) { print FILENAME ":" NR ": " what >"/dev/stderr"; failed = 1; exit 1 }
function symbol(qualified) { gsub(/\./, "_", qualified); return "type_" qualified }

# @line: NAME NUMBER TYPE
function add_field(line) {
    if (line !~ /^[^ ]+ ([0-9]+(@[0-9]+)*|-) [^ ]/) fail("not NAME NUMBER TYPE: " line)
    fields[type] = fields[type] line "\n"
}

/^#/ || /^$/ { next }
/^package / { package = $2; full_package = $3; api_version = $4; is_custom = $5 == "custom"; next }
/^ / { sub(/^ +/, ""); add_field($0); next }
{
    is_kind = $1 == "kind" ? 2 : $1 == "kind-" ? 1 : 0
    name = is_kind || $1 == "any" ? $2 : $1
    type = package "." name
    order[++n_types] = type
    full[type] = full_package "." name
    if ($1 == "any") choices[type] = 1
    atomic[type] = $NF == "atomic"
    custom[type] = is_custom
    if (is_kind) {
        add_field("apiVersion - string")
        add_field("kind - string")
    }
    if (is_kind == 2) {
        add_field("metadata " (is_custom ? "-" : "1") " meta.ObjectMeta={}")
    }
    if (is_kind) kinds[type] = api_version
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
    if (!(text in full)) text = in_package "." text
    if (!(text in full)) fail("unknown type: " text)
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

# Reads @line into row[]: name, required, number, message, type, pointer, default, marks.
function read_field(line,    words, numbers, n, rest, i, at) {
    split("", row)
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
    if (sub(/=[{][}]$/, "", row["type"])) {
        row["default"] = "\"{}\""
    } else if ((at = match(row["type"], /=[^\])}]*$/))) {
        row["default"] = substr(row["type"], at + 1)
        row["type"] = substr(row["type"], 1, at - 1)
        row["default"] = row["type"] ~ /^(string|enum)/ ? "\"\\\"" row["default"] "\\\"\"" : "\"" row["default"] "\""
    }
    for (i = 1; i <= n; i++)
        if (words[i] ~ /^(retain|replace|granular)$/) row["type"] = row["type"] " " words[i]
        else fail("unknown mark: " words[i])
}

function print_fields(name,    in_package, list, n, i) {
    in_package = name; sub(/\.[^.]*$/, "", in_package)
    n = split(fields[name], list, "\n") - 1
    print "static const SchemaField " fields_symbol(name) "[] = {"
    for (i = 1; i <= n; i++) {
        read_field(list[i])
        print "    {\"" row["name"] "\", " type_of(row["type"], in_package) ", " row["required"] ", " row["default"] ", " row["number"] ", " row["pointer"] "},"
    }
    print "    {NULL, NULL, FALSE, NULL, 0, 0, FALSE},\n};"
}

function type_expression(name) {
    return "{.name = \"" full[name] "\", " (name in choices ? ".shape = SCHEMA_ANY, .choices = " : ".shape = SCHEMA_STRUCT, .merge = " (atomic[name] ? "SCHEMA_ATOMIC" : "SCHEMA_GRANULAR") ", .fields = ") fields_symbol(name) ", .custom = " (custom[name] ? "TRUE" : "FALSE") "}"
}

END {
    if (failed) exit 1
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
            name = order[i]; sub(/.*\./, "", name)
            print "    {\"" kinds[order[i]] "\", \"" name "\", &" symbol(order[i]) "},"
        }
    print "    {NULL, NULL, NULL},\n};"
}
