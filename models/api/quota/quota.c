/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ResourceQuotas and LimitRanges: fields and checks. Amounts are lists of name and value, with the
 * format in which they are to be printed; cpu counts in thousandths. Scopes and the scope selector
 * are one list of requirements. Of LimitRanges models read only the limits of claims; usage.c
 * computes the use of objects. */
#include "quota.h"

#include <string.h>

#include "models/api/fields.h"

#define CLAIMS "persistentvolumeclaims"
#define STORAGE "requests.storage"

/* ---- Amounts ---- */

REF_LIST_DEFINE(ResourceAmounts, ResourceAmount, resource_amounts)

REF_COUNTED_DEFINE(ResourceAmounts, resource_amounts, g_free)

gboolean
resource_amounts_equal(const ResourceAmounts *a, const ResourceAmounts *b)
{
    if (a == b || a == NULL || b == NULL || a->n_items != b->n_items)
        return a == b;
    for (unsigned i = 0; i < a->n_items; i++)
        if (a->items[i].name != b->items[i].name || a->items[i].value != b->items[i].value)
            return FALSE;
    return TRUE;
}

const ResourceAmount *
resource_amounts_find(const ResourceAmounts *self, const char *name)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++)
        if (strcmp(self->items[i].name, name) == 0)
            return &self->items[i];
    return NULL;
}

gboolean
resource_is_milli(const char *name)
{
    static const char *const names[] = {"cpu", "requests.cpu", "limits.cpu", NULL};

    return word_is_among(name, names);
}

const char *
resource_amount_format(const ResourceAmount *self, char *buffer)
{
    if (self->text != NULL)
        return self->text;
    if (resource_is_milli(self->name))
        return quantity_format_milli(self->value, buffer);
    return self->decimal ? quantity_format_decimal(self->value, buffer)
                         : quantity_format(self->value, buffer);
}

static int
quota_compare_names(const void *a, const void *b)
{
    return strcmp(((const ResourceAmount *)a)->name, ((const ResourceAmount *)b)->name);
}

/* "10Gi" is printed with binary suffixes, "10G" and "10" are not. */
static gboolean
text_is_decimal(const char *text)
{
    return !g_str_has_suffix(text, "i");
}

static gboolean
amount_parse(ApiParser *parser, const json_t *value, ResourceAmount *amount)
{
    char buffer[QUANTITY_BUFFER];
    int64_t units, milli;

    if (!api_parser_quantity(parser, value, &units, buffer))
        return FALSE;
    quantity_parse(buffer, &units, &milli, NULL);
    amount->value = resource_is_milli(amount->name) ? milli : units;
    amount->text = api_parser_intern(parser, buffer);
    amount->decimal = text_is_decimal(buffer);
    return TRUE;
}

static void
amounts_parse(ApiParser *parser, const json_t *value, void *field)
{
    ResourceAmounts **amounts = field;
    const json_t *amount;
    const char *name;
    unsigned n = 0;

    if (!api_parser_expect(parser, value, JSON_OBJECT))
        return;
    g_autofree ResourceAmount *items = g_new0(ResourceAmount, json_object_size(value) + 1);
    json_object_foreach((json_t *)value, name, amount) {
        gsize length = api_parser_enter_member(parser, name);
        items[n].name = api_parser_intern(parser, name);
        n += amount_parse(parser, amount, &items[n]);
        api_parser_leave(parser, length);
    }
    qsort(items, n, sizeof items[0], quota_compare_names);
    resource_amounts_unref(*amounts);
    *amounts = resource_amounts_new(items, n);
}

static json_t *
amounts_to_json(const void *field)
{
    const ResourceAmounts *amounts = *(ResourceAmounts *const *)field;
    char buffer[QUANTITY_BUFFER];

    if (amounts == NULL)
        return NULL;
    json_t *object = json_object();
    for (unsigned i = 0; i < amounts->n_items; i++)
        json_object_set_new(object, amounts->items[i].name,
                            json_string(resource_amount_format(&amounts->items[i], buffer)));
    return object;
}

static const FieldType amounts_type = {
    FIELD_SHARED(resource_amounts),
    .parse = amounts_parse,
    .to_json = amounts_to_json,
};

/* ---- ResourceQuota ---- */

/* An item of spec.scopes. */
static void
scope_parse(ApiParser *parser, const json_t *value, void *field)
{
    SelectRequirement *scope = field;

    *scope = (SelectRequirement){.key = "", .operator= SELECT_EXISTS };
    field_type_parse(&field_full_text, parser, value, &scope->key);
}

static const FieldType scope_type = {.size = sizeof(SelectRequirement), .parse = scope_parse};

/* An expression of spec.scopeSelector. */
static const FieldType operator_type = {FIELD_WORDS("In", "NotIn", "Exists", "DoesNotExist")};
static const Field expression_fields[] = {
    FIELD("values", field_string_list, SelectRequirement, values, FIELD_SPEC),
    FIELD("scopeName", field_full_text, SelectRequirement, key, FIELD_SPEC),
    FIELD_FROM("operator", operator_type, SelectRequirement, operator, FIELD_SPEC, SELECT_EXISTS),
    FIELDS_END,
};
static const FieldType expression_type = {FIELD_STRUCT(SelectRequirement, expression_fields)};

static json_t *
scopes_over(const void *field G_GNUC_UNUSED, const json_t *manifest)
{
    return json_incref((json_t *)manifest); /* models only read it */
}

static const FieldType scopes_type = {
    FIELD_SHARED(label_selector),
    .item = &scope_type,
    .over = scopes_over,
};
static const FieldType expressions_type = {
    FIELD_SHARED(label_selector),
    .item = &expression_type,
    .over = scopes_over,
};

static const Field resource_quota_fields[] = {
    FIELD("spec.hard", amounts_type, ResourceQuota, hard, FIELD_SPEC),
    FIELD("status.hard", amounts_type, ResourceQuota, status_hard, FIELD_STATUS),
    FIELD("status.used", amounts_type, ResourceQuota, used, FIELD_STATUS),
    FIELD("spec.scopes", scopes_type, ResourceQuota, scopes, FIELD_SPEC),
    FIELD("spec.scopeSelector.matchExpressions",
          expressions_type,
          ResourceQuota,
          scope_selector,
          FIELD_SPEC),
    FIELDS_END,
};

/* Names without a slash; IsStandardQuotaResourceName(). */
static const char *const standard_resources[] = {
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    STORAGE,
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    CLAIMS,
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
    NULL,
};

/* IsIntegerResourceName(), and claims' sizes. */
static gboolean
is_number_of_things(const char *name)
{
    return quota_resource_is_of(name, KIND_CLAIM) ||
           (word_is_among(name, standard_resources) && strchr(name, '.') == NULL &&
            strcmp(name, "cpu") != 0 && strcmp(name, "memory") != 0 &&
            strcmp(name, "ephemeral-storage") != 0) ||
           g_str_has_prefix(name, "services.") || g_str_has_prefix(name, "count/");
}

static const char *
resource_name_fault(const char *name)
{
    if (strchr(name, '/') != NULL)
        return name_fault_qualified(name);
    if (g_str_has_prefix(name, "hugepages-") || g_str_has_prefix(name, "requests.hugepages-") ||
        word_is_among(name, standard_resources))
        return NULL;
    return "must be a standard resource for quota";
}

static void
check_amount(ApiParser *parser, const json_t *value, const ResourceAmount *amount)
{
    static const unsigned n_standard = G_N_ELEMENTS(standard_resources) - 1;
    const char *fault = resource_name_fault(amount->name);
    g_autofree char *hint = NULL;
    gsize length = api_parser_enter_member(parser, amount->name);

    if (fault != NULL) {
        hint = name_hint(amount->name, standard_resources, n_standard);
        api_parser_fault(parser, value, hint, "Invalid value: \"%s\": %s", amount->name, fault);
    } else if (amount->value < 0) {
        api_parser_invalid(parser, value, NULL, "must be greater than or equal to 0");
    } else if (is_number_of_things(amount->name) && g_str_has_suffix(amount->text, "m")) {
        api_parser_invalid(parser, value, NULL, "must be an integer");
    }
    api_parser_leave(parser, length);
}

static void
resource_quota_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const ResourceAmounts *hard = RESOURCE_QUOTA_CONST(object)->hard;
    const json_t *values = json_path_get(manifest, "spec.hard");
    gsize length = api_parser_enter(parser, "spec.hard");

    for (unsigned i = 0; hard != NULL && i < hard->n_items; i++)
        check_amount(parser, json_object_get(values, hard->items[i].name), &hard->items[i]);
    api_parser_leave(parser, length);
}

const KindClass resource_quota_kind = {
    .kind = "ResourceQuota",
    .api_version = "v1",
    .resource = "resourcequotas",
    .size = sizeof(ResourceQuota),
    .fields = resource_quota_fields,
    .namespaced = TRUE,
    .check = resource_quota_check,
};

/* ---- LimitRange ---- */

static const Field limit_range_fields[] = {
    FIELD(LIMIT_RANGE_MIN, field_size, LimitRange, min_bytes, FIELD_SPEC),
    FIELD(LIMIT_RANGE_MAX, field_size, LimitRange, max_bytes, FIELD_SPEC),
    FIELDS_END,
};

static void
check_claim_limit(ApiParser *parser, const json_t *item, const LimitRange *range)
{
    if (range->min_bytes == 0 && range->max_bytes == 0)
        api_parser_required_at(parser, item, "limits",
                               "either minimum or maximum storage value is required, but neither "
                               "was provided");
    if (range->max_bytes != 0 && range->min_bytes > range->max_bytes) {
        const json_t *min = json_path_get(item, "min.storage");
        char buffer_min[QUANTITY_BUFFER], buffer_max[QUANTITY_BUFFER];
        api_parser_fault_at(parser, min, "min[storage]", NULL,
                            "Invalid value: \"%s\": min value %s is greater than max value %s",
                            quantity_format(range->min_bytes, buffer_min), buffer_min,
                            quantity_format(range->max_bytes, buffer_max));
    }
}

static void
limit_range_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const json_t *limits = json_path_get(manifest, "spec.limits");
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    gsize length = api_parser_enter(parser, "spec.limits");

    for (unsigned i = 0; i < json_array_size(limits); i++) {
        const json_t *item = json_array_get(limits, i);
        const char *type = json_path_string(item, "type");
        gsize inner = api_parser_enter_index(parser, i);
        if (type == NULL)
            api_parser_required_at(parser, item, "type", NULL);
        else if (!g_hash_table_add(seen, (void *)type))
            api_parser_fault_at(parser, json_object_get(item, "type"), "type", NULL,
                                "Duplicate value: \"%s\"", type);
        else if (strcmp(type, "PersistentVolumeClaim") == 0)
            check_claim_limit(parser, item, LIMIT_RANGE_CONST(object));
        api_parser_leave(parser, inner);
    }
    api_parser_leave(parser, length);
}

const KindClass limit_range_kind = {
    .kind = "LimitRange",
    .api_version = "v1",
    .resource = "limitranges",
    .size = sizeof(LimitRange),
    .fields = limit_range_fields,
    .namespaced = TRUE,
    .check = limit_range_check,
};

const char *
object_format_quantity(const Object *self, const char *path, int64_t value, char *buffer)
{
    const json_t *written = self->manifest == NULL ? NULL : json_path_get(self->manifest, path);
    json_t *text = field_type_to_json(&field_quantity, &value, written, 0);

    g_strlcpy(buffer, json_string_value(text), QUANTITY_BUFFER);
    json_decref(text);
    return buffer;
}
