/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks-private.h"

#include <string.h>

/* LimitRanges and ResourceQuotas. Names and amounts of quotas are in models/api/quota. */

/* ---- LimitRanges ---- */

typedef struct {
    int64_t units, milli;
    char text[QUANTITY_BUFFER];
    gboolean is_given;
} QuotasAmount;

static QuotasAmount
amount_at(const json_t *item, const char *list, const char *resource)
{
    const json_t *value = json_object_get(json_object_get(item, list), resource);
    QuotasAmount amount = {0};

    amount.is_given = json_quantity(value, &amount.units, &amount.milli, amount.text);
    return amount;
}

/* Each pair may not be the wrong way round. */
static const struct {
    const char *less, *more; /* lists */
    const char *told;        /* the list at fault */
    gboolean tells_more;     /* the value that is printed is the greater one */
    const char *less_word, *word, *more_word;
} limit_pairs[] = {
    {"min",            "max",            "min",            FALSE, "min value",             "greater than", "max value"    },
    {"min",            "defaultRequest", "defaultRequest", TRUE,  "min value",             "greater than",
     "default request value"                                                                                              },
    {"defaultRequest", "max",            "defaultRequest", FALSE, "default request value", "greater than",
     "max value"                                                                                                          },
    {"defaultRequest", "default",        "defaultRequest", FALSE, "default request value", "greater than",
     "default limit value"                                                                                                },
    {"min",            "default",        "default",        FALSE, "min value",             "greater than", "default value"},
    {"default",        "max",            "default",        TRUE,  "default value",         "greater than", "max value"    },
};

static void
check_limit_pairs(Check *check, const json_t *item, const char *resource)
{
    for (gsize i = 0; i < G_N_ELEMENTS(limit_pairs); i++) {
        QuotasAmount less = amount_at(item, limit_pairs[i].less, resource),
                     more = amount_at(item, limit_pairs[i].more, resource);
        g_autofree char *path = g_strdup_printf("%s[%s]", limit_pairs[i].told, resource);
        if (!less.is_given || !more.is_given || less.units < more.units ||
            (less.units == more.units && less.milli <= more.milli))
            continue;
        check_fault(check, json_object_get(json_object_get(item, limit_pairs[i].told), resource),
                    path, "Invalid value: %s: %s %s is %s %s %s",
                    limit_pairs[i].tells_more ? more.text : less.text, limit_pairs[i].less_word,
                    less.text, limit_pairs[i].word, limit_pairs[i].more_word, more.text);
    }
}

static void
check_limit(Check *check, const json_t *item)
{
    static const char *const types[] = {"Container", "Pod", "PersistentVolumeClaim", NULL};
    static const char *const lists[] = {"max", "min", "default", "defaultRequest",
                                        "maxLimitRequestRatio"};
    static const char *const of_containers[] = {"default", "defaultRequest"};
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    const char *type = json_path_text(item, "type"), *resource;
    json_t *value;

    if (*type != '\0' && strchr(type, '/') == NULL && !g_strv_contains(types, type))
        check_invalid(check, json_path_get(item, "type"), "type",
                      "must be a standard limit type or fully qualified");
    for (gsize i = 0; strcmp(type, "Pod") == 0 && i < G_N_ELEMENTS(of_containers); i++)
        if (json_object_size(json_object_get(item, of_containers[i])) > 0)
            check_forbidden(check, json_object_get(item, of_containers[i]), of_containers[i],
                            "may not be specified when `type` is 'Pod'");
    for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
        json_object_foreach(json_object_get(item, lists[i]), resource, value)
            if (g_hash_table_add(seen, (char *)resource)) /* only compared */
                check_limit_pairs(check, item, resource);
    if (strcmp(type, "PersistentVolumeClaim") == 0 && !amount_at(item, "min", "storage").is_given &&
        !amount_at(item, "max", "storage").is_given)
        check_required(check, "limits",
                       "either minimum or maximum storage value is required, but neither was "
                       "provided");
}

/* ---- ResourceQuotas ---- */

/* validateResourceQuotaScopes(). */
static void
check_scopes(Check *check, const json_t *spec)
{
    static const char *const known[] = {"BestEffort",
                                        "CrossNamespacePodAffinity",
                                        "NotBestEffort",
                                        "NotTerminating",
                                        "PriorityClass",
                                        "Terminating",
                                        "VolumeAttributesClass",
                                        NULL};
    const json_t *scopes = json_path_get(spec, "scopes");
    g_autofree char *list = check_go_value(scopes);
    const char *items = strchr(list, '{') == NULL ? "{}" : strchr(list, '{');
    const char *fault = NULL;

    for (size_t i = 0; i < json_array_size(scopes); i++) {
        const char *scope = json_string_value(json_array_get(scopes, i));
        if (scope != NULL && !g_strv_contains(known, scope))
            fault = "unsupported scope";
    }
    if (fault == NULL &&
        ((json_list_has(scopes, "BestEffort") && json_list_has(scopes, "NotBestEffort")) ||
         (json_list_has(scopes, "Terminating") && json_list_has(scopes, "NotTerminating"))))
        fault = "conflicting scopes";
    if (fault != NULL)
        check_fault(check, scopes, "scopes", "Invalid value: []core.ResourceQuotaScope%s: %s",
                    items, fault);
}

const CheckRule check_quota_rules[] = {
    {"ValidateLimitRange",          "core.v1.LimitRangeItem",    check_limit },
    {"validateResourceQuotaScopes", "core.v1.ResourceQuotaSpec", check_scopes},
    {NULL,                          NULL,                        NULL        },
};
