/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of texts, after apimachinery's util/validation. A constraint of the schema names its
 * format; the function of that name returns the fault in Kubernetes' words, or NULL. Only port
 * names may have several faults in one text. Formats that a release has relaxed (names of
 * environment variables) are chosen by the minor version. */
#include "checks-private.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static gboolean
is_made_of(const char *text, const char *characters)
{
    return text[strspn(text, characters)] == '\0';
}

/* IsDNS1035Label(). */
static const char *
fault_dns_1035(const char *text)
{
    size_t length = strlen(text);

    if (length > 63)
        return "must be no more than 63 characters";
    if (length > 0 && g_ascii_islower(text[0]) && is_made_of(text, LETTERS DIGITS "-") &&
        text[length - 1] != '-')
        return NULL;
    return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
           "an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
           "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

/* IsConfigMapKey(). */
static const char *
fault_config_key(const char *text)
{
    if (strlen(text) > 253)
        return "must be no more than 253 characters";
    if (*text == '\0' || !is_made_of(text, LETTERS CAPITALS DIGITS "-._"))
        return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
               "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
               "'[-._a-zA-Z0-9]+')";
    if (strcmp(text, ".") == 0)
        return "must not be '.'";
    if (strcmp(text, "..") == 0)
        return "must not be '..'";
    return g_str_has_prefix(text, "..") ? "must not start with '..'" : NULL;
}

/* IsRelaxedEnvVarName(). */
static const char *
fault_env_name(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (!g_ascii_isprint(*at) || *at == '=')
            return "a valid environment variable name must consist only of printable ASCII "
                   "characters other than '='";
    return NULL;
}

/* IsEnvVarName(). */
static const char *
fault_old_env_name(const char *text)
{
    if (*text == '\0' || g_ascii_isdigit(*text) || !is_made_of(text, LETTERS CAPITALS DIGITS "-._"))
        return "a valid environment variable name must consist of alphabetic characters, digits, "
               "'_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or "
               "'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is "
               "'[-._a-zA-Z][-._a-zA-Z0-9]*')";
    if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return text[1] == '\0' ? "must not be '.'" : "must not be '..'";
    return g_str_has_prefix(text, "..") ? "must not start with '..'" : NULL;
}

/* IsValidPortName(): the only format that reports several faults of one text. */
static const char *
fault_port_name(const char *text, unsigned n)
{
    size_t length = strlen(text);
    const char *const faults[] = {
        length > 15 ? "must be no more than 15 characters" : NULL,
        length == 0 || !is_made_of(text, LETTERS DIGITS "-")
            ? "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
            : NULL,
        text[strcspn(text, LETTERS)] == '\0' ? "must contain at least one letter (a-z)" : NULL,
        strstr(text, "--") != NULL ? "must not contain consecutive hyphens" : NULL,
        length > 0 && (text[0] == '-' || text[length - 1] == '-')
            ? "must not begin or end with a hyphen"
            : NULL,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(faults); i++)
        if (faults[i] != NULL && n-- == 0)
            return faults[i];
    return NULL;
}

/* IsValidIP(). */
static const char *
fault_ip(const char *text)
{
    return g_hostname_is_ip_address(text)
               ? NULL
               : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
}

/* IsValidCIDR(): bits behind the mask are no fault. */
static const char *
fault_cidr(const char *text)
{
    const char *slash = strchr(text, '/');
    g_autofree char *address = g_strndup(text, strcspn(text, "/"));
    guint64 bits, most = strchr(address, ':') != NULL ? 128 : 32;

    return slash != NULL && fault_ip(address) == NULL &&
                   g_ascii_string_to_unsigned(slash + 1, 10, 0, most, &bits, NULL)
               ? NULL
               : "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
}

/* IsDomainPrefixedPath(). */
static const char *
fault_domain_path(const char *text)
{
    const char *slash = strchr(text, '/');
    g_autofree char *host = slash == NULL ? NULL : g_strndup(text, (gsize)(slash - text));

    if (slash == NULL || slash == text || slash[1] == '\0')
        return "must be a domain-prefixed path (such as \"acme.io/foo\")";
    if (name_fault_subdomain(host) != NULL)
        return name_fault_subdomain(host);
    return is_made_of(slash + 1, LETTERS CAPITALS DIGITS "/-._~%!$&'()*+,;=:")
               ? NULL
               : "Invalid path (regex used for validation is "
                 "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
}

static const char *
fault_http_header(const char *text)
{
    return *text != '\0' && is_made_of(text, LETTERS CAPITALS DIGITS "-")
               ? NULL
               : "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
                 "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
}

/* IsWildcardDNS1123Subdomain(). */
static const char *
fault_wildcard(const char *text)
{
    return g_str_has_prefix(text, "*.") && name_fault_subdomain(text + 2) == NULL
               ? NULL
               : "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
                 "subdomain, which must consist of lower case alphanumeric characters, '-' or '.' "
                 "and end with an alphanumeric character (e.g. '*.example.com', regex used for "
                 "validation is "
                 "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

/* A host of an Ingress. */
static const char *
fault_host(const char *text)
{
    if (fault_ip(text) == NULL)
        return "must be a DNS name, not an IP address";
    return strchr(text, '*') != NULL ? fault_wildcard(text) : name_fault_subdomain(text);
}

/* validatePathNoBacksteps(), validateLocalDescendingPath(). */
static const char *
fault_no_backsteps(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", -1);

    return g_strv_contains((const char *const *)parts, "..") ? "must not contain '..'" : NULL;
}

static const char *
fault_local_path(const char *text)
{
    return *text == '/' ? "must be a relative path" : fault_no_backsteps(text);
}

/* IsQualifiedName() of the text in lower case. */
static const char *
fault_any_case(const char *text)
{
    g_autofree char *lower = g_ascii_strdown(text, -1);

    return *text == '\0' ? NULL : name_fault_qualified(lower);
}

/* ValidateCSIDriverName(). */
static const char *
fault_csi_driver(const char *text)
{
    g_autofree char *lower = g_ascii_strdown(text, -1);

    return *text == '\0' ? NULL : name_fault_subdomain(lower);
}

static const char *
fault_selector_operator(const char *text)
{
    static const char *const words[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL};

    return g_strv_contains(words, text) ? NULL : "not a valid selector operator";
}

static const struct {
    const char *name;
    const char *(*fault_of)(const char *text);
} formats[] = {
    {"any-case-name",     fault_any_case         },
    {"cidr",              fault_cidr             },
    {"config-key",        fault_config_key       },
    {"csi-driver",        fault_csi_driver       },
    {"dns-1035",          fault_dns_1035         },
    {"dns-label",         name_fault_dns_label   },
    {"dns-subdomain",     name_fault_subdomain   },
    {"domain-path",       fault_domain_path      },
    {"env-name",          fault_env_name         },
    {"host",              fault_host             },
    {"http-header",       fault_http_header      },
    {"ip",                fault_ip               },
    {"label-value",       name_fault_label_value },
    {"local-path",        fault_local_path       },
    {"no-backsteps",      fault_no_backsteps     },
    {"path-segment",      name_fault_path        },
    {"qualified-name",    name_fault_qualified   },
    {"selector-operator", fault_selector_operator},
};

const char *
check_format_fault(const Check *check, const char *format, const char *text, unsigned n)
{
    if (strcmp(format, "port-name") == 0)
        return fault_port_name(text, n);
    if (n > 0)
        return NULL;
    if (strcmp(format, "env-name") == 0 &&
        check->minor < 32) /* RelaxedEnvironmentVariableValidation */
        return fault_old_env_name(text);
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].name, format) == 0)
            return formats[i].fault_of(text);
    return NULL;
}

void
check_port(Check *check, const json_t *value, const char *path)
{
    json_auto_t *zero = json_integer(0);

    if (value == NULL)
        value = zero;
    if (json_is_string(value))
        check_format(check, value, path, "port-name");
    else if (json_is_integer(value) &&
             (json_integer_value(value) < 1 || json_integer_value(value) > 65535))
        check_invalid(check, value, path, "must be between 1 and 65535, inclusive");
}

void
check_format(Check *check, const json_t *value, const char *path, const char *format)
{
    json_auto_t *empty = json_string("");
    const char *fault;

    if (strcmp(format, "port") == 0) {
        check_port(check, value, path);
        return;
    }
    if (value == NULL)
        value = empty;
    if (!json_is_string(value))
        return;
    for (unsigned n = 0;
         (fault = check_format_fault(check, format, json_string_value(value), n)) != NULL; n++)
        check_invalid(check, value, path, fault);
}
