/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Label and field selectors as texts, matched against an object in one walk: Parse() in Kubernetes'
 * pkg/labels/selector.go. Nothing is built: each requirement is judged while it is read. Faults
 * have the words of Kubernetes. Fields that an object does not have count as the zero value of
 * their type, since the kinds' ToSelectableFields() print all of them. */
#include <string.h>

#include "cluster.h"
#include "models/api/fields.h"

/* ---- Label selectors: Parse() in Kubernetes' pkg/labels/selector.go ---- */

typedef enum {
    TOKEN_END,
    TOKEN_WORD, /* also "in" and "notin", which are operators only behind a key */
    TOKEN_SYMBOL,
} TokenType;

/* A selector that is being read, with the token that comes next. */
typedef struct {
    const char *rest; /* the text behind the token */
    TokenType type;
    char *token; /* (owned) */
    json_t *labels;
    char *fault; /* (owned): NULL: none so far */
} SelectorsReader;

static const char *const comparisons[] = {"=", "==", "!=", ">", "<"};

/* The longest symbol that @text begins with, as long as each beginning of it is one: "=" of "=!",
 * "==" of "===". */
static gsize
symbol_length(const char *text)
{
    return strncmp(text, "==", 2) == 0 || strncmp(text, "!=", 2) == 0 ? 2 : 1;
}

static void
next_token(SelectorsReader *self)
{
    gsize length;

    self->rest += strspn(self->rest, " \t\r\n");
    self->type = *self->rest == '\0'                      ? TOKEN_END
                 : strchr("=!(),><", *self->rest) != NULL ? TOKEN_SYMBOL
                                                          : TOKEN_WORD;
    length = self->type == TOKEN_SYMBOL ? symbol_length(self->rest)
                                        : strcspn(self->rest, "=!(),>< \t\r\n");
    g_free(self->token);
    self->token = g_strndup(self->rest, length);
    self->rest += length;
}

static gboolean
is_symbol(const SelectorsReader *self, const char *symbol)
{
    return self->type == TOKEN_SYMBOL && strcmp(self->token, symbol) == 0;
}

static gboolean
is_requirement_over(const SelectorsReader *self)
{
    return self->type == TOKEN_END || is_symbol(self, ",");
}

/* Returns: FALSE */
static gboolean
expected(SelectorsReader *self, const char *what)
{
    self->fault = g_strdup_printf("found '%s', expected: %s", self->token, what);
    return FALSE;
}

/* Whether the word may be a value of the label. */
static gboolean
check_value(SelectorsReader *self, const char *key, unsigned i, const char *value)
{
    const char *why = name_fault_label_value(value);

    if (why != NULL)
        self->fault =
            g_strdup_printf("values[%u][%s]: Invalid value: \"%s\": %s", i, key, value, why);
    return why == NULL;
}

/* "(a,b)"; between commas may be nothing, the empty value. */
static gboolean
read_set(SelectorsReader *self, const char *key, const char *value, gboolean *is_found)
{
    unsigned n = 0;

    *is_found = FALSE;
    if (!is_symbol(self, "(")) {
        self->fault = g_strdup_printf("found '%s' expected: '('", self->token);
        return FALSE;
    }
    do {
        next_token(self);
        if (self->type != TOKEN_WORD && !is_symbol(self, ",") && !is_symbol(self, ")"))
            return expected(self, n == 0 ? "',', ')' or identifier" : "',', or identifier");
        g_autofree char *word = g_strdup(self->type == TOKEN_WORD ? self->token : "");
        if (!check_value(self, key, n++, word))
            return FALSE;
        *is_found = *is_found || (value != NULL && strcmp(word, value) == 0);
        if (self->type == TOKEN_WORD)
            next_token(self);
    } while (is_symbol(self, ","));
    if (!is_symbol(self, ")"))
        return expected(self, "',' or ')'");
    next_token(self);
    return TRUE;
}

static gboolean
selectors_check_number(SelectorsReader *self, const char *text)
{
    char *end;

    (void)g_ascii_strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0')
        self->fault = g_strdup_printf("values[0]: Invalid value: \"%s\": for 'Gt', 'Lt' operators, "
                                      "the value must be an integer",
                                      text);
    return self->fault == NULL;
}

static gboolean
is_beyond(const char *value, const char *limit, gboolean is_greater)
{
    char *end;

    if (value == NULL)
        return FALSE;
    gint64 number = g_ascii_strtoll(value, &end, 10), other = g_ascii_strtoll(limit, NULL, 10);
    return *value != '\0' && *end == '\0' && (is_greater ? number > other : number < other);
}

/* The text behind "=": a value, or nothing, the empty value. */
static gboolean
read_comparison(SelectorsReader *self, const char *key, const char *value, gboolean *matches)
{
    g_autofree char *operator= g_steal_pointer(&self->token);

    next_token(self);
    g_autofree char *wanted = g_strdup(is_requirement_over(self) ? "" : self->token);
    if (self->type != TOKEN_WORD && !is_requirement_over(self))
        return expected(self, "identifier");
    if (!is_requirement_over(self))
        next_token(self);
    gboolean is_order = *operator== '>' || * operator== '<';
    if ((is_order && !selectors_check_number(self, wanted)) || !check_value(self, key, 0, wanted))
        return FALSE;
    gboolean is_equal = value != NULL && strcmp(value, wanted) == 0;
    *matches = is_order ? is_beyond(value, wanted, *operator== '>') : is_equal == (*operator!= '!');
    return TRUE;
}

static gboolean
read_requirement(SelectorsReader *self, gboolean *matches)
{
    gboolean is_negated = is_symbol(self, "!"), is_found;

    if (is_negated)
        next_token(self);
    if (self->type != TOKEN_WORD)
        return expected(self, "identifier");
    g_autofree char *key = g_strdup(self->token);
    const char *why = name_fault_qualified(key);
    if (why != NULL) {
        self->fault = g_strdup_printf("<nil>: Invalid value: \"%s\": %s", key, why);
        return FALSE;
    }
    const char *value = json_string_value(json_object_get(self->labels, key));
    next_token(self);
    if (is_negated || is_requirement_over(self)) {
        *matches = (value != NULL) != is_negated;
        return TRUE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(comparisons); i++)
        if (is_symbol(self, comparisons[i]))
            return read_comparison(self, key, value, matches);
    gboolean is_in = self->type == TOKEN_WORD && strcmp(self->token, "in") == 0;
    if (!is_in && (self->type != TOKEN_WORD || strcmp(self->token, "notin") != 0))
        return expected(self, "in, notin, =, ==, !=, gt, lt");
    next_token(self);
    if (!read_set(self, key, value, &is_found))
        return FALSE;
    *matches = is_found == is_in;
    return TRUE;
}

static gboolean
read_selector(SelectorsReader *self, gboolean *matches)
{
    if (self->type == TOKEN_END)
        return TRUE;
    if (self->type != TOKEN_WORD && !is_symbol(self, "!"))
        return expected(self, "!, identifier, or 'end of string'");
    for (;;) {
        gboolean one = FALSE;

        if (!read_requirement(self, &one)) {
            g_autofree char *why = self->fault;
            self->fault = g_strdup_printf("unable to parse requirement: %s", why);
            return FALSE;
        }
        *matches = *matches && one;
        if (self->type == TOKEN_END)
            return TRUE;
        if (!is_symbol(self, ","))
            return expected(self, "',' or 'end of string'");
        next_token(self);
        if (self->type != TOKEN_WORD && !is_symbol(self, "!"))
            return expected(self, "identifier after ','");
    }
}

gboolean
label_selector_text_matches(const char *selector, json_t *labels, gboolean *matches, char **fault)
{
    SelectorsReader reader = {.rest = selector, .labels = labels};

    *matches = TRUE;
    next_token(&reader);
    gboolean is_selector = read_selector(&reader, matches);
    g_free(reader.token);
    if (!is_selector)
        *fault = reader.fault;
    return is_selector;
}

/* ---- Field selectors ---- */

/* The value of a field that is absent: false for a boolean, 0 for a number (the kinds'
 * ToSelectableFields() in pkg/registry print such fields always). */
static const char *
absent_value(const char *field)
{
    static const char *const values[][2] = {
        {"spec.hostNetwork",   "false"},
        {"spec.unschedulable", "false"},
        {"status.replicas",    "0"    },
        {"status.successful",  "0"    },
    };

    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (strcmp(values[i][0], field) == 0)
            return values[i][1];
    return "";
}

/* Some fields have other names in selectors than in objects; Events are kept in the words of the
 * core group. Returns: (borrowed): %NULL: it is absent */
static json_t *
field_value(json_t *object, const char *field)
{
    static const char *const names[][2] = {
        {"spec.host",           "spec.nodeName"     },
        {"source",              "source.component"  },
        {"source",              "reportingComponent"},
        {"reportingController", "reportingComponent"},
    };
    json_t *found = strcmp(field, "source") == 0 ? NULL : value_at(object, field);

    for (gsize i = 0; found == NULL && i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i][0], field) == 0)
            found = value_at(object, names[i][1]);
    if (found == NULL && g_str_has_prefix(field, "regarding.")) {
        g_autofree char *core = g_strdup_printf("involvedObject.%s", strchr(field, '.') + 1);
        found = value_at(object, core);
    }
    return found;
}

gboolean
field_selector_text_matches(const char *selector, json_t *object)
{
    g_auto(GStrv) parts = g_strsplit(selector, ",", -1);

    for (unsigned i = 0; parts[i] != NULL; i++) {
        char *equals = strchr(parts[i], '=');
        g_autoptr(GString) value = g_string_new(NULL);

        if (equals == NULL)
            continue;
        gboolean is_unequal = equals > parts[i] && equals[-1] == '!';
        const char *wanted = equals[1] == '=' ? equals + 2 : equals + 1;
        equals[is_unequal ? -1 : 0] = '\0';
        json_t *found = field_value(object, parts[i]);
        if (found != NULL)
            value_append_go(value, found);
        else
            g_string_append(value, absent_value(parts[i]));
        if ((strcmp(value->str, wanted) == 0) == is_unequal)
            return FALSE;
    }
    return TRUE;
}
