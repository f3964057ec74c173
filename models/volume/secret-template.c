/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret-template.h"

#include <string.h>

#include "models/api/fields.h"

/* One half of a pair: the value, and how often it is given. */
static const char *
find_template(const StringMap *parameters, const char *key, const char *old_key, unsigned *n)
{
    const char *value = NULL;

    if (old_key != NULL && string_map_has(parameters, old_key)) {
        value = string_map_get(parameters, old_key);
        ++*n;
    }
    if (string_map_has(parameters, key)) {
        value = string_map_get(parameters, key);
        ++*n;
    }
    return value;
}

char *
secret_find_templates(const SecretKeys *keys,
                      const StringMap *parameters,
                      const char **name,
                      const char **namespace)
{
    unsigned n_names = 0, n_namespaces = 0;

    *name = find_template(parameters, keys->name_key, keys->old_name_key, &n_names);
    *namespace =
        find_template(parameters, keys->namespace_key, keys->old_namespace_key, &n_namespaces);
    if (n_names > 1 || n_namespaces > 1)
        return g_strdup_printf(
            "%s secrets specified in parameters with both \"%s\" and \"%s\" keys", keys->what,
            keys->old_name_key, keys->name_key);
    if (n_names != n_namespaces)
        return g_strdup_printf("either name and namespace for %s secrets specified, Both must be "
                               "specified",
                               keys->what);
    if (n_names > 0 && ((*name)[0] == '\0' || (*namespace)[0] == '\0'))
        return g_strdup_printf("%s secrets specified in parameters but value of either namespace "
                               "or name is empty",
                               keys->what);
    return NULL;
}

/* Like os.Expand(), but for ${...} only. Returns: (owned): NULL with @error: a token is unknown */
static char *
secret_template_expand(
    const char *template, SecretToken token, const void *data, gboolean for_name, char **error)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (const char *at = template; *at != '\0';) {
        const char *end = g_str_has_prefix(at, "${") ? strchr(at, '}') : NULL;
        if (end == NULL) {
            g_string_append_c(text, *at++);
            continue;
        }
        g_autofree char *name = g_strndup(at + 2, (size_t)(end - at - 2));
        g_autofree char *value = token(data, name, for_name);
        if (value == NULL) {
            *error = g_strdup_printf("error resolving value \"%s\": invalid tokens: [\"%s\"]",
                                     template, name);
            return NULL;
        }
        g_string_append(text, value);
        at = end + 1;
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Returns: (borrowed): interned; NULL with @error */
static const char *
resolve(Strings *strings,
        const char *template,
        SecretToken token,
        const void *data,
        gboolean for_name,
        char **error)
{
    const char *what = for_name ? "secret" : "namespace";
    g_autofree char *text = secret_template_expand(template, token, data, for_name, error);

    if (text == NULL)
        return NULL;
    if ((for_name ? name_fault_subdomain(text) : name_fault_dns_label(text)) == NULL)
        return strings_intern(strings, text);
    if (strcmp(template, text) != 0)
        *error = g_strdup_printf("\"%s\" resolved to \"%s\" which is not a valid %s name", template,
                                 text, what);
    else
        *error = g_strdup_printf("\"%s\" is not a valid %s name", text, what);
    return NULL;
}

char *
secret_resolve_templates(Strings *strings,
                         const char *name,
                         const char *namespace,
                         SecretToken token,
                         const void *data,
                         SecretReference *reference)
{
    SecretReference resolved = {0};
    char *error = NULL;

    resolved.namespace = resolve(strings, namespace, token, data, FALSE, &error);
    if (error == NULL)
        resolved.name = resolve(strings, name, token, data, TRUE, &error);
    if (error == NULL)
        *reference = resolved;
    return error;
}
