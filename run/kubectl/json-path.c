/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSONPath as kubectl has it: parsing, walking, printing. A template is a list of parts; a part is
 * text, or an action in braces: a list of steps. Each step maps the values of the step before it to
 * new values. Ranges repeat the parts up to their end. Members of maps come in the order of their
 * names, as Go sorts them; errors have client-go's words, and where kubectl is odd (dots in quoted
 * names, "=~"), so is this. */
#include <string.h>

#include "json-path.h"
#include "print.h"
#include "sim/order.h"
#include "sim/strings.h"

typedef enum {
    STEP_TEXT,
    STEP_NUMBER,
    STEP_FIELD,
    STEP_SLICE,
    STEP_FILTER,
    STEP_WILDCARD,
    STEP_RECURSIVE,
    STEP_UNION,
    STEP_RANGE,
    STEP_END,
} JsonPathStepKind;

typedef struct {
    JsonPathStepKind kind;
    char *text;      /* of TEXT and FIELD; of FILTER its operator, or "exists" */
    json_t *number;  /* of NUMBER, which includes true and false */
    GPtrArray *left; /* of FILTER: Step; of UNION: GPtrArray of Step */
    GPtrArray *right;
    int64_t bounds[3];         /* of SLICE: first, end, step */
    gboolean known[3], is_one; /* is_one: [n], which ends at n + 1 */
} JsonPathStep;

struct JsonPath {
    GPtrArray *parts; /* GPtrArray of Step */
};

typedef struct {
    const char *at;
    GError **error;
} Parser;

G_DEFINE_QUARK(kvolsim - json - path - error, json_path_error)

static void
step_free(void *data)
{
    JsonPathStep *self = data;

    g_free(self->text);
    json_decref(self->number);
    g_clear_pointer(&self->left, g_ptr_array_unref);
    g_clear_pointer(&self->right, g_ptr_array_unref);
    g_free(self);
}

static GPtrArray *
steps_new(void)
{
    return g_ptr_array_new_with_free_func(step_free);
}

static JsonPathStep *
add_step(GPtrArray *steps, JsonPathStepKind kind)
{
    JsonPathStep *step = g_new0(JsonPathStep, 1);

    step->kind = kind;
    g_ptr_array_add(steps, step);
    return step;
}

static gboolean json_path_fail(Parser *parser, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean
json_path_fail(Parser *parser, const char *format, ...)
{
    FORMATTED(message, format);
    g_set_error_literal(parser->error, JSON_PATH_ERROR, JSON_PATH_ERROR_INVALID, message);
    return FALSE;
}

static gboolean
ends_word(char c)
{
    return c == '\0' || strchr(" \t\r\n.,[]$@{}", c) != NULL;
}

static gboolean parse_action(Parser *parser, GPtrArray *steps, char end);

/* Parses a member of a union, or one side of a filter. */
static GPtrArray *
parse_part(Parser *parser, const char *text, gsize length)
{
    g_autofree char *copy = g_strndup(text, length);
    g_autoptr(GPtrArray) steps = steps_new();
    Parser part = {.at = copy, .error = parser->error};

    return parse_action(&part, steps, '\0') ? g_steal_pointer(&steps) : NULL;
}

/* "text" or 'text', with Go's escapes. */
static gboolean
parse_quote(Parser *parser, GPtrArray *steps)
{
    char quote = *parser->at++;
    const char *start = parser->at;

    while (*parser->at != quote || (parser->at > start && parser->at[-1] == '\\')) {
        if (*parser->at == '\0' || *parser->at == '\n')
            return json_path_fail(parser, "unterminated quoted string");
        parser->at++;
    }
    g_autofree char *raw = g_strndup(start, (gsize)(parser->at++ - start));
    add_step(steps, STEP_TEXT)->text = g_strcompress(raw);
    return TRUE;
}

static gboolean
parse_field(Parser *parser, GPtrArray *steps)
{
    GString *name = g_string_new(NULL);

    for (; !ends_word(*parser->at); parser->at++) {
        if (*parser->at == '\\' && parser->at[1] != '\0')
            parser->at++;
        g_string_append_c(name, *parser->at);
    }
    if (strcmp(name->str, "*") == 0)
        add_step(steps, STEP_WILDCARD), g_string_free(name, TRUE);
    else
        add_step(steps, STEP_FIELD)->text = g_string_free(name, FALSE);
    return TRUE;
}

static gboolean
parse_word(Parser *parser, GPtrArray *steps)
{
    const char *start = parser->at;

    while (!ends_word(*parser->at))
        parser->at++;
    g_autofree char *word = g_strndup(start, (gsize)(parser->at - start));
    char *end;
    gint64 integer = g_ascii_strtoll(word, &end, 10);

    if (strcmp(word, "range") == 0)
        add_step(steps, STEP_RANGE);
    else if (strcmp(word, "end") == 0)
        add_step(steps, STEP_END);
    else if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        add_step(steps, STEP_NUMBER)->number = json_boolean(*word == 't');
    else if (end != word && *end == '\0')
        add_step(steps, STEP_NUMBER)->number = json_integer(integer);
    else
        return json_path_fail(parser, "unrecognized identifier %s", word);
    return TRUE;
}

/* first, first:end, first:end:step; each may be left out. */
static gboolean
parse_slice(Parser *parser, GPtrArray *steps, const char *text)
{
    g_auto(GStrv) bounds = g_strsplit(text, ":", -1);
    JsonPathStep *step = add_step(steps, STEP_SLICE);
    unsigned n = g_strv_length(bounds);

    if (n > 3 || n == 0)
        return json_path_fail(parser, "invalid array index %s", text);
    for (unsigned i = 0; i < n; i++) {
        char *end;

        step->known[i] = *bounds[i] != '\0';
        step->bounds[i] = g_ascii_strtoll(bounds[i], &end, 10);
        if (*end != '\0')
            return json_path_fail(parser, "invalid array index %s", text);
    }
    if (n == 1) {
        step->is_one = step->known[1] = TRUE;
        step->bounds[1] = step->bounds[0] == G_MAXINT64 ? G_MAXINT64 : step->bounds[0] + 1;
    }
    return TRUE;
}

static gboolean
parse_union(Parser *parser, GPtrArray *steps, const char *text)
{
    g_auto(GStrv) members = g_strsplit(text, ",", -1);
    JsonPathStep *step = add_step(steps, STEP_UNION);

    step->left = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    for (unsigned i = 0; members[i] != NULL; i++) {
        g_autofree char *member = g_strdup_printf("[%s]", g_strstrip(members[i]));
        GPtrArray *found = parse_part(parser, member, strlen(member));

        if (found == NULL)
            return FALSE;
        g_ptr_array_add(step->left, found);
    }
    return TRUE;
}

/* [...] other than a filter; @parser is behind the bracket. */
static gboolean
parse_array(Parser *parser, GPtrArray *steps)
{
    const char *start = parser->at, *end = strchr(start, ']');

    if (end == NULL)
        return json_path_fail(parser, "unterminated array");
    parser->at = end + 1;

    g_autofree char *text = g_strndup(start, (gsize)(end - start));
    gsize length = strlen(text);
    if (strchr(text, ',') != NULL)
        return parse_union(parser, steps, text);
    if (length >= 2 && *text == '\'' && strchr(text + 1, '\'') == text + length - 1) {
        /* Dots in the name lead deeper, as behind a dot. */
        g_autofree char *path = g_strdup_printf(".%.*s", (int)length - 2, text + 1);
        Parser part = {.at = path, .error = parser->error};

        return parse_action(&part, steps, '\0');
    }
    return parse_slice(parser, steps, strcmp(text, "*") == 0 ? ":" : text);
}

/* [?(left op right)] or [?(left)]; @parser is behind "[?(". */
static gboolean
parse_filter(Parser *parser, GPtrArray *steps)
{
    const char *start = parser->at;
    char quote = '\0';

    for (; *parser->at != '\0' && (quote != '\0' || *parser->at != ')'); parser->at++) {
        if (quote == '\0' && (*parser->at == '"' || *parser->at == '\''))
            quote = *parser->at;
        else if (*parser->at == quote && parser->at[-1] != '\\')
            quote = '\0';
    }
    if (*parser->at == '\0')
        return json_path_fail(parser, "unterminated filter");
    if (parser->at[1] != ']')
        return json_path_fail(parser, "unclosed array expect ]");

    const char *end = parser->at, *operator= start + strcspn(start, "!<>=");
    parser->at += 2;
    JsonPathStep *step = add_step(steps, STEP_FILTER);
    if (operator>= end || operator== start) {
        step->text = g_strdup("exists");
        step->left = parse_part(parser, start, (gsize)(end - start));
        return step->left != NULL;
    }

    gsize length = strspn(operator, "!<>=~");
    step->text = g_strndup(operator, length);
    step->left = parse_part(parser, start, (gsize)(operator- start));
    if (step->left != NULL)
        step->right = parse_part(parser, operator+ length, (gsize)(end - operator) - length);
    return step->right != NULL;
}

/* Steps up to @end: '}' or the end of the text. */
static gboolean
parse_action(Parser *parser, GPtrArray *steps, char end)
{
    for (;;) {
        char c = *parser->at;
        gboolean is_sound = TRUE;

        if (c == end)
            return TRUE;
        if (c == '\0' || c == '\n' || c == '\r')
            return json_path_fail(parser, "unclosed action");
        if (c == ' ' || c == '@' || c == '$') {
            parser->at++;
        } else if (g_str_has_prefix(parser->at, "[?(")) {
            parser->at += 3;
            is_sound = parse_filter(parser, steps);
        } else if (c == '[') {
            parser->at++;
            is_sound = parse_array(parser, steps);
        } else if (c == '"' || c == '\'') {
            is_sound = parse_quote(parser, steps);
        } else if (g_str_has_prefix(parser->at, "..")) {
            parser->at += 2;
            add_step(steps, STEP_RECURSIVE);
            if (g_ascii_isalnum(*parser->at) || *parser->at == '_')
                is_sound = parse_field(parser, steps);
        } else if (c == '.') {
            parser->at++;
            is_sound = parse_field(parser, steps);
        } else if (g_ascii_isalnum(c) || c == '_' || c == '+' || c == '-') {
            is_sound = parse_word(parser, steps);
        } else {
            is_sound =
                json_path_fail(parser, "unrecognized character in action: U+%04X '%c'", c, c);
        }
        if (!is_sound)
            return FALSE;
    }
}

JsonPath *
json_path_parse(const char *text, GError **error)
{
    g_autoptr(JsonPath) self = g_new0(JsonPath, 1);
    Parser parser = {.at = text, .error = error};

    self->parts = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    while (*parser.at != '\0') {
        GPtrArray *steps = steps_new();

        g_ptr_array_add(self->parts, steps);
        if (*parser.at == '{') {
            parser.at++;
            if (!parse_action(&parser, steps, '}'))
                return NULL;
            parser.at++;
        } else {
            gsize length = strcspn(parser.at, "{");

            add_step(steps, STEP_TEXT)->text = g_strndup(parser.at, length);
            parser.at += length;
        }
    }
    return g_steal_pointer(&self);
}

JsonPath *
json_path_parse_relaxed(const char *text, GError **error)
{
    gsize length = strlen(text);

    if (length > 1 && *text == '{' && text[length - 1] == '}') {
        text++;
        length -= 2;
    }
    if (length > 0 && *text == '.') {
        text++;
        length--;
    }
    if (memchr(text, '{', length) != NULL || memchr(text, '}', length) != NULL) {
        g_set_error(error, JSON_PATH_ERROR, JSON_PATH_ERROR_INVALID,
                    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or "
                    "'{name1.name2}' or '{.name1.name2}'");
        return NULL;
    }
    g_autofree char *expression = g_strdup_printf("{.%.*s}", (int)length, text);
    return json_path_parse(expression, error);
}

void
json_path_free(JsonPath *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->parts);
    g_free(self);
}

static GPtrArray *
values_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
}

static void
json_path_add_value(GPtrArray *values, json_t *value)
{
    g_ptr_array_add(values, json_incref(value));
}

static gboolean
mismatch(GError **error, const char *message)
{
    g_set_error_literal(error, JSON_PATH_ERROR, JSON_PATH_ERROR_NOT_FOUND, message);
    return FALSE;
}

static gboolean json_path_walk(GPtrArray *steps, GPtrArray **values, GError **error);

static gboolean
walk_slice(const JsonPathStep *step, json_t *value, GPtrArray *found, GError **error)
{
    int64_t length = (int64_t)json_array_size(value), first = step->bounds[0],
            end = step->bounds[1], by = step->known[2] ? step->bounds[2] : 1;

    if (!json_is_array(value))
        return mismatch(error, "map[string]interface {} is not array or slice");
    if (!step->known[0])
        first = 0;
    if (first < 0)
        first += length;
    if (!step->known[1])
        end = length;
    if (end < 0 || (end == 0 && step->is_one))
        end += length;
    if (first == end)
        return TRUE;
    if (first >= length || first < 0 || end > length || end < 0) {
        g_set_error(error, JSON_PATH_ERROR, JSON_PATH_ERROR_NOT_FOUND,
                    "array index out of bounds: index %" PRId64 ", length %" PRId64,
                    first >= length || first < 0 ? first : end - 1, length);
        return FALSE;
    }
    if (first > end)
        return mismatch(error, "starting index is greater than ending index");
    if (by <= 0)
        return mismatch(error, "step must be > 0");
    for (int64_t i = first; i < end; i += by)
        json_path_add_value(found, json_array_get(value, (gsize)i));
    return TRUE;
}

/* All members of a map, in order of their names, or items of a list. */
static void
add_members(GPtrArray *found, json_t *value)
{
    g_auto(GStrv) keys = value_keys(value);
    json_t *item;
    gsize i;

    for (unsigned k = 0; keys[k] != NULL; k++)
        json_path_add_value(found, json_object_get(value, keys[k]));
    json_array_foreach(value, i, item)
        json_path_add_value(found, item);
}

static void
walk_recursive(json_t *value, GPtrArray *found)
{
    g_autoptr(GPtrArray) members = values_new();

    add_members(members, value);
    if (members->len > 0)
        json_path_add_value(found, value);
    for (unsigned i = 0; i < members->len; i++)
        walk_recursive(members->pdata[i], found);
}

/* Returns: -1, 0, 1; 2 if the types cannot be compared */
static int
compare_values(json_t *a, json_t *b)
{
    if (json_is_string(a) && json_is_string(b))
        return CLAMP(strcmp(json_string_value(a), json_string_value(b)), -1, 1);
    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);
        return ORDER(x, y);
    }
    if (json_is_boolean(a) && json_is_boolean(b))
        return json_is_true(a) - json_is_true(b);
    return 2;
}

static gboolean
passes_filter(const char *operator, json_t * left, json_t *right, gboolean *passes, GError **error)
{
    int order = compare_values(left, right);

    if (strcmp(operator, "=~") == 0) {
        *passes = json_is_string(left) && json_is_string(right) &&
                  g_regex_match_simple(json_string_value(right), json_string_value(left), 0, 0);
        return TRUE;
    }
    if (order == 2)
        return mismatch(error, "incompatible types for comparison");
    if (strcmp(operator, "==") == 0)
        *passes = order == 0;
    else if (strcmp(operator, "!=") == 0)
        *passes = order != 0;
    else if (strcmp(operator, "<") == 0)
        *passes = order < 0;
    else if (strcmp(operator, "<=") == 0)
        *passes = order <= 0;
    else if (strcmp(operator, ">") == 0)
        *passes = order > 0;
    else if (strcmp(operator, ">=") == 0)
        *passes = order >= 0;
    else
        return mismatch(error, "unrecognized filter operator");
    return TRUE;
}

/* Returns: (owned): the values that @steps find in @item; NULL with @error */
static GPtrArray *
walk_item(GPtrArray *steps, json_t *item, GError **error)
{
    GPtrArray *values = values_new();

    json_path_add_value(values, item);
    if (json_path_walk(steps, &values, error))
        return values;
    g_ptr_array_unref(values);
    return NULL;
}

static gboolean
walk_filter(const JsonPathStep *step, json_t *list, GPtrArray *found, GError **error)
{
    json_t *item;
    gsize i;

    if (!json_is_array(list))
        return mismatch(error, "is not array or slice and cannot be filtered");
    json_array_foreach(list, i, item) {
        g_autoptr(GPtrArray) left = walk_item(step->left, item, error);

        if (left == NULL)
            return FALSE;
        if (step->right == NULL) {
            if (left->len > 0)
                json_path_add_value(found, item);
            continue;
        }

        g_autoptr(GPtrArray) right = walk_item(step->right, item, error);
        gboolean passes = FALSE;
        if (right == NULL)
            return FALSE;
        if (left->len == 0 || right->len == 0)
            continue;
        if (left->len > 1 || right->len > 1)
            return mismatch(error, "can only compare one element at a time");
        if (!passes_filter(step->text, left->pdata[0], right->pdata[0], &passes, error))
            return FALSE;
        if (passes)
            json_path_add_value(found, item);
    }
    return TRUE;
}

static gboolean
walk_value(const JsonPathStep *step, json_t *value, GPtrArray *found, GError **error)
{
    json_t *member;

    switch (step->kind) {
    case STEP_FIELD:
        member = json_object_get(value, step->text);
        if (member != NULL)
            json_path_add_value(found, member);
        return TRUE;
    case STEP_SLICE:
        return walk_slice(step, value, found, error);
    case STEP_FILTER:
        return walk_filter(step, value, found, error);
    case STEP_WILDCARD:
        add_members(found, value);
        return TRUE;
    case STEP_RECURSIVE:
        walk_recursive(value, found);
        return TRUE;
    case STEP_NUMBER:
        json_path_add_value(found, step->number);
        return TRUE;
    case STEP_TEXT:
    case STEP_UNION:
    case STEP_RANGE:
    case STEP_END:
        break;
    }
    g_assert_not_reached();
}

static gboolean
walk_step(const JsonPathStep *step, GPtrArray *values, GPtrArray *found, GError **error)
{
    if (step->kind == STEP_TEXT) {
        g_ptr_array_add(found, json_string(step->text));
        return TRUE;
    }
    if (step->kind == STEP_UNION) {
        for (unsigned m = 0; m < step->left->len; m++) {
            GPtrArray *member = values_new();

            for (unsigned i = 0; i < values->len; i++)
                json_path_add_value(member, values->pdata[i]);
            gboolean is_sound = json_path_walk(step->left->pdata[m], &member, error);
            for (unsigned i = 0; i < member->len; i++)
                json_path_add_value(found, member->pdata[i]);
            g_ptr_array_unref(member);
            if (!is_sound)
                return FALSE;
        }
        return TRUE;
    }
    for (unsigned i = 0; i < values->len; i++) {
        if (json_is_null((json_t *)values->pdata[i]) && step->kind != STEP_NUMBER)
            continue;
        if (!walk_value(step, values->pdata[i], found, error))
            return FALSE;
    }
    return TRUE;
}

/* Replaces *@values by the values that @steps find in them. */
static gboolean
json_path_walk(GPtrArray *steps, GPtrArray **values, GError **error)
{
    for (unsigned i = 0; i < steps->len; i++) {
        const JsonPathStep *step = steps->pdata[i];

        if (step->kind == STEP_RANGE || step->kind == STEP_END)
            continue;
        GPtrArray *found = values_new();
        gboolean is_sound = walk_step(step, *values, found, error);
        g_ptr_array_unref(*values);
        *values = found;
        if (!is_sound)
            return FALSE;
    }
    return TRUE;
}

static gboolean
begins_with(GPtrArray *steps, JsonPathStepKind kind)
{
    return steps->len > 0 && ((const JsonPathStep *)steps->pdata[0])->kind == kind;
}

/* Walks the parts from @first to the end of their range. @found: gets the values of each part;
 * NULL: they are dropped. Returns: the index of the end; -1 with @error */
static int
find_parts(const JsonPath *self,
           unsigned first,
           gboolean in_range,
           json_t *data,
           GPtrArray *found,
           GError **error)
{
    for (unsigned i = first; i < self->parts->len; i++) {
        GPtrArray *steps = self->parts->pdata[i];

        if (begins_with(steps, STEP_END)) {
            if (in_range)
                return (int)i;
            mismatch(error, "not in range, nothing to end");
            return -1;
        }

        g_autoptr(GPtrArray) values = walk_item(steps, data, error);
        if (values == NULL)
            return -1;
        if (!begins_with(steps, STEP_RANGE)) {
            if (found != NULL)
                g_ptr_array_add(found, g_steal_pointer(&values));
            continue;
        }

        int end = (int)i;
        for (unsigned v = 0; v < values->len && end >= 0; v++)
            end = find_parts(self, i + 1, TRUE, values->pdata[v], found, error);
        if (values->len == 0)
            end = find_parts(self, i + 1, TRUE, json_null(), NULL, error);
        if (end < 0)
            return -1;
        i = (unsigned)end;
    }
    return (int)self->parts->len;
}

GPtrArray *
json_path_find(const JsonPath *self, json_t *data, GError **error)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

    return find_parts(self, 0, FALSE, data, found, error) < 0 ? NULL : g_steal_pointer(&found);
}

gboolean
json_path_print(const JsonPath *self, json_t *data, GString *out, GError **error)
{
    g_autoptr(GPtrArray) parts = json_path_find(self, data, error);

    if (parts == NULL)
        return FALSE;
    for (unsigned p = 0; p < parts->len; p++) {
        GPtrArray *values = parts->pdata[p];

        for (unsigned i = 0; i < values->len; i++) {
            json_t *value = values->pdata[i];

            if (i > 0)
                g_string_append_c(out, ' ');
            if (json_is_object(value) || json_is_array(value))
                print_json(out, value, 0);
            else
                value_append_go(out, value);
        }
    }
    return TRUE;
}

gboolean
json_path_print_json(const JsonPath *self, json_t *data, GString *out, GError **error)
{
    g_autoptr(GPtrArray) parts = json_path_find(self, data, error);

    if (parts == NULL)
        return FALSE;
    for (unsigned p = 0; p < parts->len; p++) {
        GPtrArray *values = parts->pdata[p];
        json_auto_t *list = json_array();

        for (unsigned i = 0; i < values->len; i++)
            json_array_append(list, values->pdata[i]);
        print_json(out, list, 4);
        g_string_append_c(out, '\n');
    }
    return TRUE;
}
