/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares a body with the type of its kind: unknown and duplicate fields, values of another type,
 * and the clean-up that Go's decoder does. Duplicates are visible in the text alone, so
 * strict_fields() walks the text (json-scan.h) and all others walk the parsed value. Below an
 * unknown field nothing is told. Paths, words and the limit of a hundred faults are those of
 * sigs.k8s.io/json. */
#include "strict-fields.h"

#include <string.h>

#include "json-scan.h"

/* sigs.k8s.io/json keeps no more. */
#define FAULTS_MAX 100
/* As jansson's parser: deeper texts are no bodies. */
#define DEPTH_MAX 2048

/* A walk over the text of a body. */
typedef struct {
    GString *path;
    GPtrArray *faults;
    unsigned depth;
    int minor;
} Scan;

static void
strict_fields_add_fault(GPtrArray *faults, const char *word, const char *path)
{
    if (faults->len >= FAULTS_MAX)
        return;
    char *fault = g_strdup_printf("%s field \"%s\"", word, path);

    for (guint i = 0; i < faults->len; i++)
        if (strcmp(g_ptr_array_index(faults, i), fault) == 0) {
            g_free(fault);
            return;
        }
    g_ptr_array_add(faults, fault);
}

/* Whether the release's type lacks the field. */
static gboolean
lacks_field(const SchemaType *type, const char *name, int minor)
{
    const SchemaField *field;

    if (type == NULL || type->shape != SCHEMA_STRUCT)
        return FALSE;
    field = schema_field(type, name);
    return field == NULL || !schema_is_in(field, minor);
}

static void
enter(GString *path, const char *name)
{
    g_string_append_printf(path, "%s%s", path->len > 0 ? "." : "", name);
}

static void scan_value(Scan *self, JsonPart value, const SchemaType *type, gboolean is_known);

/* @seen: the names of the members before it. @is_known: else nothing below is reported: the field
 * itself is */
static void
scan_member(Scan *self,
            JsonPart key,
            JsonPart value,
            const SchemaType *type,
            gboolean is_known,
            GHashTable *seen)
{
    char *name = json_part_text((JsonPart){key.at - 1, key.length + 2}); /* with its quotes */

    if (name == NULL)
        return;
    enter(self->path, name);
    gboolean lacks = lacks_field(type, name, self->minor);
    const SchemaType *member = schema_member(type, name);
    if (is_known && lacks)
        strict_fields_add_fault(self->faults, "unknown", self->path->str);
    gboolean is_new = g_hash_table_add(seen, name);
    if (is_known && !lacks && !is_new)
        strict_fields_add_fault(self->faults, "duplicate", self->path->str);
    scan_value(self, value, member, is_known && !lacks);
}

static void
scan_value(Scan *self, JsonPart value, const SchemaType *type, gboolean is_known)
{
    g_autoptr(GHashTable) seen = NULL;
    JsonPart key, member;
    JsonWalk walk;

    if (self->depth == DEPTH_MAX || !json_walk_begin(&walk, value))
        return;
    self->depth++;
    if (walk.close == '}')
        seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = 0; json_walk_next(&walk, &key, &member); i++) {
        gsize length = self->path->len;
        if (seen != NULL) {
            scan_member(self, key, member, type, is_known, seen);
        } else {
            g_string_append_printf(self->path, "[%u]", i);
            scan_value(self, member, type != NULL ? type->element : NULL, is_known);
        }
        g_string_truncate(self->path, length);
    }
    if (walk.is_broken && seen != NULL && key.length > 0)
        scan_member(self, key, member, type, is_known, seen);
    self->depth--;
}

void
strict_fields(const SchemaType *type, int minor, const char *text, gsize length, GPtrArray *faults)
{
    g_autoptr(GString) path = g_string_new(NULL);
    Scan scan = {.path = path, .faults = faults, .minor = minor};

    scan_value(&scan, (JsonPart){text, length}, type, TRUE);
}

static void
look_for_unknown(
    const SchemaType *type, int minor, const json_t *value, GString *path, GPtrArray *faults)
{
    gsize length = path->len, i;
    const char *name;
    json_t *member;

    if (type == NULL)
        return;
    json_object_foreach((json_t *)value, name, member) {
        enter(path, name);
        if (lacks_field(type, name, minor))
            strict_fields_add_fault(faults, "unknown", path->str);
        else
            look_for_unknown(schema_member(type, name), minor, member, path, faults);
        g_string_truncate(path, length);
    }
    json_array_foreach((json_t *)value, i, member) {
        g_string_append_printf(path, "[%zu]", i);
        look_for_unknown(type->element, minor, member, path, faults);
        g_string_truncate(path, length);
    }
}

void
strict_unknown_fields(const SchemaType *type, int minor, const json_t *object, GPtrArray *faults)
{
    g_autoptr(GString) path = g_string_new(NULL);

    look_for_unknown(type, minor, object, path, faults);
}

char *
strict_error(const GPtrArray *faults)
{
    GString *text = g_string_new("strict decoding error: ");

    for (guint i = 0; i < faults->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", (char *)faults->pdata[i]);
    return g_string_free(text, FALSE);
}

void
strict_prune(const SchemaType *type, int minor, json_t *object)
{
    const char *name;
    json_t *member;
    void *next;
    gsize i;

    if (type == NULL)
        return;
    json_object_foreach_safe(object, next, name, member)
    {
        if (lacks_field(type, name, minor))
            json_object_del(object, name);
        else
            strict_prune(schema_member(type, name), minor, member);
    }
    json_array_foreach(object, i, member) {
        strict_prune(type->element, minor, member);
    }
}

void
strict_drop_nulls(const SchemaType *type, json_t *value)
{
    const SchemaType *element = type == NULL ? NULL : type->element;
    gboolean keeps = element != NULL && type->shape == SCHEMA_MAP &&
                     (element->shape == SCHEMA_STRING || element->shape == SCHEMA_BYTES);
    const char *name;
    json_t *member;
    void *next;
    gsize i;

    json_object_foreach_safe(value, next, name, member)
    {
        if (!json_is_null(member))
            strict_drop_nulls(schema_member(type, name), member);
        else if (keeps)
            json_object_set_new(value, name, json_string(""));
        else
            json_object_del(value, name);
    }
    json_array_foreach(value, i, member) {
        strict_drop_nulls(element, member);
    }
}

/* Appends the name of the type in Go: "[]v1.Container". */
static void
append_go_type(GString *text, const SchemaType *type)
{
    static const char *const words[] = {
        [SCHEMA_STRING] = "string",
        [SCHEMA_BYTES] = "[]uint8",
        [SCHEMA_BOOL] = "bool",
        [SCHEMA_INT32] = "int32",
        [SCHEMA_INT64] = "int64",
        [SCHEMA_DOUBLE] = "float64",
        [SCHEMA_TIME] = "v1.Time",
        [SCHEMA_MICRO_TIME] = "v1.MicroTime",
        [SCHEMA_QUANTITY] = "resource.Quantity",
        [SCHEMA_INT_OR_STRING] = "intstr.IntOrString",
        [SCHEMA_ANY] = "runtime.RawExtension",
    };

    if (type->shape == SCHEMA_STRUCT) {
        const char *name = strrchr(type->name, '.'), *version = name;

        while (version > type->name && version[-1] != '.')
            version--;
        g_string_append(text, version);
    } else if (type->shape == SCHEMA_LIST || type->shape == SCHEMA_MAP) {
        g_string_append(text, type->shape == SCHEMA_LIST ? "[]" : "map[string]");
        append_go_type(text, type->element);
    } else {
        g_string_append(text, words[type->shape]);
    }
}

static gboolean
type_fits(const SchemaType *type, const json_t *value)
{
    json_type found = json_typeof(value);

    if (found == JSON_NULL)
        return TRUE;
    switch (type->shape) {
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return found == JSON_STRING;
    case SCHEMA_BOOL:
        return json_is_boolean(value);
    case SCHEMA_INT32:
        return found == JSON_INTEGER &&
               json_integer_value(value) == (gint32)json_integer_value(value);
    case SCHEMA_INT64:
        return found == JSON_INTEGER;
    case SCHEMA_DOUBLE:
        return json_is_number(value);
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
        return json_is_number(value) || found == JSON_STRING;
    case SCHEMA_ANY:
        return TRUE;
    case SCHEMA_STRUCT:
    case SCHEMA_MAP:
        return found == JSON_OBJECT;
    case SCHEMA_LIST:
        return found == JSON_ARRAY;
    }
    g_assert_not_reached();
}

const char *
strict_json_word(const json_t *value)
{
    static const char *const words[] = {
        [JSON_OBJECT] = "object",  [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "number", [JSON_REAL] = "number", [JSON_TRUE] = "bool",
        [JSON_FALSE] = "bool",     [JSON_NULL] = "null",
    };

    return words[json_typeof(value)];
}

static gboolean
is_base64(char c)
{
    return g_ascii_isalnum(c) || c == '+' || c == '/';
}

long
strict_base64_fault(const char *text)
{
    size_t n = 0; /* of the four characters of a group */
    const char *at = text, *group = text;

    for (; *at != '\0' && *at != '='; at++) {
        if (*at == '\n' || *at == '\r')
            continue;
        if (!is_base64(*at))
            return at - text;
        group = n % 4 == 0 ? at : group;
        n++;
    }
    if (*at == '\0')
        return n % 4 == 0 ? -1 : group - text;
    if (n % 4 < 2)
        return at - text;
    for (n %= 4, at++; *at == '\n' || *at == '\r' || (n == 2 && *at == '='); at++)
        n += *at == '=';
    return *at == '\0' && n == 3 ? -1 : at - text;
}

/* @within: the innermost struct around @value. Returns: (owned): the message; NULL: all fit */
static char *
find_misfit(const SchemaType *type, const json_t *value, const SchemaType *within, GString *path)
{
    gsize length = path->len, i;
    char *message = NULL;
    const char *name;
    json_t *member;

    if (type == NULL)
        return NULL;
    if (!type_fits(type, value)) {
        GString *text = g_string_new(NULL);
        g_autofree char *number =
            json_is_integer(value) && (type->shape == SCHEMA_INT32)
                ? g_strdup_printf(" %" JSON_INTEGER_FORMAT, json_integer_value(value))
                : g_strdup("");

        g_string_append_printf(text, "json: cannot unmarshal %s%s into Go ",
                               strict_json_word(value), number);
        if (within != NULL)
            g_string_append_printf(text, "struct field %s.%s of type ",
                                   strrchr(within->name, '.') + 1, path->str);
        else
            g_string_append(text, "value of type ");
        append_go_type(text, type);
        return g_string_free(text, FALSE);
    }
    if (type->shape == SCHEMA_STRUCT)
        within = type;
    if (type->shape == SCHEMA_BYTES && json_is_string(value) &&
        strict_base64_fault(json_string_value(value)) >= 0)
        return g_strdup_printf("illegal base64 data at input byte %ld",
                               strict_base64_fault(json_string_value(value)));
    json_object_foreach((json_t *)value, name, member) {
        if (message != NULL)
            break;
        enter(path, name);
        message = find_misfit(schema_member(type, name), member, within, path);
        g_string_truncate(path, length);
    }
    json_array_foreach((json_t *)value, i, member) {
        if (message != NULL)
            break;
        message = find_misfit(type->element, member, within, path);
    }
    return message;
}

char *
strict_type_error(const SchemaType *type, const json_t *object)
{
    g_autoptr(GString) path = g_string_new(NULL);

    return find_misfit(type, object, NULL, path);
}
