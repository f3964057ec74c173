/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status objects: refusals with code, reason, details and causes as the API server writes them. The
 * modelled server's answers are texts; the faults of an invalid object are split again into causes
 * with their fields, since kubectl prints these. A text that is no list of faults stays whole. */
#include "status.h"
#include "models/api/fields.h"

#include <string.h>

static const struct {
    unsigned code;
    const char *reason;
} reasons[] = {
    {400, "BadRequest"           },
    {401, "Unauthorized"         },
    {403, "Forbidden"            },
    {404, "NotFound"             },
    {405, "MethodNotAllowed"     },
    {406, "NotAcceptable"        },
    {409, "Conflict"             },
    {410, "Expired"              },
    {413, "RequestEntityTooLarge"},
    {415, "UnsupportedMediaType" },
    {422, "Invalid"              },
    {429, "TooManyRequests"      },
    {500, "InternalError"        },
    {501, "NotImplemented"       },
    {503, "ServiceUnavailable"   },
    {504, "Timeout"              },
};

static const char *
reason_of(unsigned code)
{
    for (gsize i = 0; i < G_N_ELEMENTS(reasons); i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return "";
}

static json_t *
status_new(unsigned code, char *message)
{
    g_autofree char *text = g_utf8_make_valid(message, -1);

    g_free(message);
    return json_pack("{s:s, s:s, s:{}, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1",
                     "metadata", "status", "Failure", "message", text, "reason", reason_of(code),
                     "code", (int)code);
}

json_t *
status_format(unsigned code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *message = g_strdup_vprintf(format, args);
    va_end(args);
    return status_new(code, message);
}

static json_t *
details_of(json_t *status)
{
    json_t *details = json_object_get(status, "details");

    if (details == NULL) {
        details = json_object();
        json_object_set_new(status, "details", details);
    }
    return details;
}

json_t *
status_of(json_t *status, const StatusSubject *subject)
{
    json_t *details = details_of(status);

    if (subject->name != NULL)
        json_object_set_new(details, "name", json_string(subject->name));
    if (*subject->group != '\0')
        json_object_set_new(details, "group", json_string(subject->group));
    if (*subject->resource != '\0')
        json_object_set_new(details, "kind", json_string(subject->resource));
    return status;
}

void
status_add_cause(json_t *status, const char *reason, const char *message, const char *field)
{
    json_t *details = details_of(status), *causes = json_object_get(details, "causes");
    json_t *cause = json_object();

    if (causes == NULL) {
        causes = json_array();
        json_object_set_new(details, "causes", causes);
    }
    json_object_set_new(cause, "reason", json_string(reason));
    json_object_set_new(cause, "message", json_string(message));
    if (field != NULL)
        json_object_set_new(cause, "field", json_string(field));
    json_array_append_new(causes, cause);
}

/* "volumesnapshots.snapshot.storage.k8s.io"; "pods". (owned) */
static char *
qualified(const char *word, const char *group)
{
    return *group == '\0' ? g_strdup(word) : g_strdup_printf("%s.%s", word, group);
}

json_t *
status_not_found(const StatusSubject *subject)
{
    g_autofree char *resource = qualified(subject->resource, subject->group);

    return status_of(status_format(404, "%s \"%s\" not found", resource, subject->name), subject);
}

json_t *
status_exists(const StatusSubject *subject)
{
    g_autofree char *resource = qualified(subject->resource, subject->group);
    json_t *status = status_format(409, "%s \"%s\" already exists", resource, subject->name);

    json_object_set_new(status, "reason", json_string("AlreadyExists"));
    return status_of(status, subject);
}

json_t *
status_conflict(const StatusSubject *subject, const char *why)
{
    g_autofree char *resource = qualified(subject->resource, subject->group);

    return status_of(status_format(409, "Operation cannot be fulfilled on %s \"%s\": %s", resource,
                                   subject->name, why),
                     subject);
}

/* The words between the path and the detail (k8s.io/apimachinery's field.ErrorType). */
static const struct {
    const char *words, *reason;
} fault_types[] = {
    {"Required value",    "FieldValueRequired"    },
    {"Unsupported value", "FieldValueNotSupported"},
    {"Duplicate value",   "FieldValueDuplicate"   },
    {"Not found",         "FieldValueNotFound"    },
    {"Forbidden",         "FieldValueForbidden"   },
    {"Too long",          "FieldValueTooLong"     },
    {"Too many",          "FieldValueTooMany"     },
    {"Internal error",    "InternalError"         },
    {"Invalid value",     "FieldValueInvalid"     },
};

/* @fault: "spec.accessModes: Required value: at least 1 access mode is required" */
static void
status_add_fault(json_t *status, const char *fault)
{
    const char *end = strstr(fault, ": ");
    const char *message = end == NULL ? fault : end + strlen(": "), *reason = "FieldValueInvalid";
    g_autofree char *path = end == NULL ? g_strdup("") : g_strndup(fault, (gsize)(end - fault));

    for (gsize i = 0; i < G_N_ELEMENTS(fault_types); i++)
        if (g_str_has_prefix(message, fault_types[i].words)) {
            reason = fault_types[i].reason;
            break;
        }
    status_add_cause(status, reason, message, path);
}

/* Whether a fault begins here: "spec.accessModes: Required value". */
static gboolean
is_fault(const char *text)
{
    const char *end = strstr(text, ": ");

    for (const char *at = text; end != NULL && at < end; at++)
        if (*at == ' ')
            return FALSE;
    for (gsize i = 0; end != NULL && i < G_N_ELEMENTS(fault_types); i++)
        if (g_str_has_prefix(end + strlen(": "), fault_types[i].words))
            return TRUE;
    return FALSE;
}

/* Splits "a: Required value, b: Forbidden: too late, or too early"; several faults are in brackets.
 * Returns: (owned) */
static GPtrArray *
split_faults(const char *words)
{
    gsize length = strlen(words);
    gboolean is_list = length > 1 && words[0] == '[' && words[length - 1] == ']';
    g_autofree char *rest = is_list ? g_strndup(words + 1, length - 2) : g_strdup(words);
    GPtrArray *faults = g_ptr_array_new_with_free_func(g_free);
    const char *begin = rest;

    for (const char *at = rest; is_list && (at = strstr(at, ", ")) != NULL;) {
        const char *end = at;
        at += strlen(", ");
        if (!is_fault(at))
            continue;
        g_ptr_array_add(faults, g_strndup(begin, (gsize)(end - begin)));
        begin = at;
    }
    g_ptr_array_add(faults, g_strdup(begin));
    return faults;
}

json_t *
status_invalid(const StatusSubject *subject, const GPtrArray *faults)
{
    g_autofree char *kind = qualified(subject->kind, subject->group);
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_printf(text, "%s \"%s\" is invalid: %s", kind,
                    subject->name != NULL ? subject->name : "", faults->len > 1 ? "[" : "");
    for (unsigned i = 0; i < faults->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", (char *)faults->pdata[i]);
    if (faults->len > 1)
        g_string_append_c(text, ']');
    json_t *status = status_format(422, "%s", text->str);
    StatusSubject of_kind = *subject;
    of_kind.resource = subject->kind;
    status_of(status, &of_kind);
    for (unsigned i = 0; i < faults->len; i++)
        status_add_fault(status, faults->pdata[i]);
    return status;
}

json_t *
status_method_not_allowed(void)
{
    return status_of(
        status_format(405, "the server does not allow this method on the requested resource"),
        &(StatusSubject){"", "", "", NULL});
}

/* The words of the modelled server are about the bare resource: "deployments \"web\" not found". */
static json_t *
known_refusal(const StatusSubject *subject, ApiCode code, const char *message)
{
    const char *colon = message != NULL ? strstr(message, "\": ") : NULL;

    if (code == API_NOT_FOUND && (message == NULL || g_str_has_prefix(message, subject->resource)))
        return status_not_found(subject);
    if (code == API_EXISTS)
        return status_exists(subject);
    if (code == API_CONFLICT && colon != NULL)
        return status_conflict(subject, colon + strlen("\": "));
    return NULL;
}

json_t *
status_of_refusal(const StatusSubject *subject, ApiCode code, const char *message)
{
    static const char is_invalid[] = " is invalid: ";
    json_t *status = known_refusal(subject, code, message);

    if (status != NULL)
        return status;
    if (message == NULL || *message == '\0')
        message = code == API_UNREACHABLE ? "the server is down" : "refused by the API server";
    if (code == API_INVALID) {
        const char *words = strstr(message, is_invalid);
        g_autoptr(GPtrArray) faults =
            split_faults(words != NULL ? words + strlen(is_invalid) : message);
        return status_invalid(subject, faults);
    }
    status = status_of(status_format(code == API_EXISTS ? 409 : code, "%s", message), subject);
    if (code == API_TOO_MANY && g_str_has_prefix(message, "Cannot evict pod"))
        status_add_cause(status, "DisruptionBudget", message, NULL);
    return status;
}

json_t *
status_deleted(const StatusSubject *subject, const char *uid)
{
    json_t *status = json_pack("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                               "metadata", "status", "Success");

    status_of(status, subject);
    if (uid != NULL)
        json_object_set_new(details_of(status), "uid", json_string(uid));
    return status;
}

unsigned
status_code(const json_t *answer)
{
    const char *kind = json_path_string(answer, "kind");
    json_int_t code = json_integer_value(json_object_get(answer, "code"));

    return g_strcmp0(kind, "Status") == 0 && code != 0 ? (unsigned)code : 200;
}
