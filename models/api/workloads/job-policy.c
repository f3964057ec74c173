/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failure and success policies of Jobs: pkg/controller/job/pod_failure_policy.go, and their checks
 * as in pkg/apis/batch/validation/validation.go. The first rule that matches a failed pod decides:
 * by the exit code of a container, in the order of names as the kubelet lists them, or by a
 * condition of the pod. An exit code of 0 never matches. */
#include "job-policy.h"

#include <stdlib.h>
#include <string.h>

#include "workload-private.h"

/* maxPodFailurePolicyRules, maxJobSuccessPolicyRule, maxPodFailurePolicyOnPodConditionsPatterns */
#define ITEMS_MAX 20
#define CODES_MAX 255 /* maxPodFailurePolicyOnExitCodesValues */

/* ---- Matching ---- */

/* Knows the conditions that pods have in this model; others are absent. */
static uint32_t
condition_status(const Pod *pod, const char *type)
{
    const struct {
        const char *type;
        const PodCondition *condition;
    } conditions[] = {
        {"DisruptionTarget",          &pod->disruption      },
        {"PodReadyToStartContainers", &pod->ready_to_start  },
        {"Initialized",               &pod->initialized     },
        {"Ready",                     &pod->ready           },
        {"ContainersReady",           &pod->containers_ready},
        {"PodScheduled",              &pod->scheduled       },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(conditions); i++)
        if (strcmp(conditions[i].type, type) == 0)
            return conditions[i].condition->status;
    return CONDITION_ABSENT;
}

static const char *
matching_condition(const FailureRule *rule, const Pod *pod)
{
    for (unsigned i = 0; rule->conditions != NULL && i < rule->conditions->n_items; i++) {
        const ConditionPattern *pattern = &rule->conditions->items[i];
        if (condition_status(pod, pattern->type) == pattern->status)
            return pattern->type;
    }
    return NULL;
}

/* The kubelet lists containers by name. */
static const char *
first_container(const PodSpec *spec, const char *wanted)
{
    const char *first = NULL;

    for (unsigned i = 0; spec->containers != NULL && i < spec->n_containers; i++) {
        const char *name = spec->containers[i].name;
        if (wanted != NULL ? strcmp(name, wanted) == 0 : first == NULL || strcmp(name, first) < 0)
            first = name;
    }
    return first;
}

/* An exit code of 0 never matches. */
static const char *
matching_container(const FailureRule *rule, const Pod *pod)
{
    gboolean is_listed = FALSE;

    if (rule->codes == NULL || pod->exit_code == 0)
        return NULL;
    for (unsigned i = 0; i < rule->codes->n_items; i++)
        is_listed |= rule->codes->items[i] == pod->exit_code;
    return is_listed == (rule->not_in != 0) ? NULL : first_container(pod->spec, rule->container);
}

FailureMatch
failure_policy_match(const FailurePolicy *self, const Pod *pod)
{
    for (unsigned i = 0; self != NULL && self->rules != NULL && i < self->rules->n_items; i++) {
        FailureMatch match = {.rule = &self->rules->items[i], .index = i};
        match.container = matching_container(match.rule, pod);
        match.condition = matching_condition(match.rule, pod);
        if (match.container != NULL || match.condition != NULL)
            return match;
    }
    return (FailureMatch){.rule = NULL};
}

/* ---- Lists of indexes ---- */

/* One number, up to its end. Returns: FALSE with @fault */
static gboolean
read_index(const char *text, int32_t below, int32_t *index, char **fault)
{
    gint64 number;

    if (!g_ascii_string_to_signed(text, 10, INT32_MIN, INT32_MAX, &number, NULL))
        *fault = g_strdup_printf("cannot convert string to integer for index: \"%s\"", text);
    else if (number >= below)
        *fault = g_strdup_printf("too large index: \"%s\"", text);
    else
        *index = (int32_t)number;
    return *fault == NULL;
}

static gboolean
read_interval(const char *text, int32_t below, int32_t *first, int32_t *last, char **fault)
{
    g_auto(GStrv) limits = g_strsplit(text, "-", -1);
    unsigned n = g_strv_length(limits);

    if (n > 2)
        *fault =
            g_strdup_printf("the fragment \"%s\" violates the requirement that an index interval "
                            "can have at most two parts separated by '-'",
                            text);
    if (*fault != NULL || !read_index(n == 0 ? "" : limits[0], below, first, fault))
        return FALSE;
    *last = *first;
    if (n < 2)
        return TRUE;
    if (read_index(limits[1], below, last, fault) && *first >= *last)
        *fault = g_strdup_printf("non-increasing order, previous: %d, current: %d", *first, *last);
    return *fault == NULL;
}

int32_t
job_indexes_count(const char *text, int32_t below, char **fault)
{
    g_auto(GStrv) intervals = g_strsplit(text, ",", -1);
    int32_t count = 0, before = -1;

    *fault = NULL;
    for (unsigned i = 0; intervals[i] != NULL; i++) {
        int32_t first = 0, last = 0;
        if (!read_interval(intervals[i], below, &first, &last, fault))
            return -1;
        if (i > 0 && before >= first) {
            *fault =
                g_strdup_printf("non-increasing order, previous: %d, current: %d", before, first);
            return -1;
        }
        count += last - first + 1;
        before = last;
    }
    return count;
}

/* ---- Reading a failure policy ---- */

static void
check_count(ApiParser *parser, const json_t *list, unsigned most)
{
    if (json_array_size(list) > most)
        api_parser_fault(parser, list, NULL, "Too many: %u: must have at most %u items",
                         (unsigned)json_array_size(list), most);
}

static void
check_items(ApiParser *parser, const json_t *array, void *items, unsigned n)
{
    (void)items;
    (void)n;
    check_count(parser, array, ITEMS_MAX);
}

static const FieldType action_type = {FIELD_WORDS("Count", "FailIndex", "FailJob", "Ignore")};

static const FieldType operator_type = {FIELD_WORDS("In", "NotIn")};

static const Field pattern_fields[] = {
    FIELD("type", field_text, ConditionPattern, type, FIELD_REQUIRED),
    FIELD_FROM(
        "status", field_condition_status, ConditionPattern, status, FIELD_SPEC, CONDITION_TRUE),
    FIELDS_END,
};

static const FieldType codes_type = {FIELD_LIST_OF(field_int)};
static const FieldType patterns_type = {
    FIELD_LIST(ConditionPattern, pattern_fields),
    .finish = check_items,
};

static const Field rule_fields[] = {
    FIELD("onExitCodes.values", codes_type, FailureRule, codes, FIELD_SPEC),
    FIELD("onPodConditions", patterns_type, FailureRule, conditions, FIELD_SPEC),
    FIELD("action", action_type, FailureRule, action, FIELD_SPEC),
    FIELD("onExitCodes.containerName", field_string, FailureRule, container, FIELD_SPEC),
    FIELD("onExitCodes.operator", operator_type, FailureRule, not_in, FIELD_OPTIONAL),
    FIELDS_END,
};

/* "must not be 0", twice the same, out of order */
static void
check_values(ApiParser *parser, const json_t *values, gboolean not_in)
{
    gboolean is_ordered = TRUE;

    for (size_t i = 0; i < json_array_size(values); i++) {
        const json_t *value = json_array_get(values, i);
        gsize length = api_parser_enter_index(parser, (unsigned)i);
        gboolean is_again = FALSE;
        for (size_t k = 0; k < i; k++)
            is_again |= json_equal(json_array_get(values, k), value);
        if (!not_in && json_is_integer(value) && json_integer_value(value) == 0)
            api_parser_invalid(parser, value, NULL, "must not be 0 for the In operator");
        if (is_again)
            api_parser_fault(parser, value, NULL, "Duplicate value: %" JSON_INTEGER_FORMAT,
                             json_integer_value(value));
        is_ordered &= i == 0 || json_integer_value(json_array_get(values, i - 1)) <=
                                    json_integer_value(value);
        api_parser_leave(parser, length);
    }
    if (!is_ordered)
        api_parser_invalid(parser, values, NULL, "must be ordered");
}

static void
check_exit_codes(ApiParser *parser, const json_t *codes, const FailureRule *rule)
{
    const json_t *values = json_path_get(codes, "values");
    gsize length = api_parser_enter(parser, "onExitCodes");

    if (json_path_get(codes, "operator") == NULL)
        api_parser_required_at(parser, codes, "operator", "valid values: [\"In\" \"NotIn\"]");
    gsize inner = api_parser_enter(parser, "values");
    check_count(parser, values, CODES_MAX);
    if (json_array_size(values) == 0)
        api_parser_invalid(parser, values == NULL ? codes : values, NULL,
                           "at least one value is required");
    check_values(parser, values, rule->not_in);
    api_parser_leave(parser, inner);
    api_parser_leave(parser, length);
}

static void
check_rule(ApiParser *parser, const json_t *manifest, const FailureRule *rule)
{
    const json_t *codes = json_path_get(manifest, "onExitCodes");
    const json_t *patterns = json_path_get(manifest, "onPodConditions");

    if (json_path_get(manifest, "action") == NULL)
        api_parser_required_at(parser, manifest, "action",
                               "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
    if (codes != NULL)
        check_exit_codes(parser, codes, rule);
    if (codes != NULL && json_array_size(patterns) > 0)
        api_parser_fault(
            parser, manifest, "write two rules",
            "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported");
    if (codes == NULL && json_array_size(patterns) == 0)
        api_parser_fault(
            parser, manifest, NULL,
            "Invalid value: specifying one of OnExitCodes and OnPodConditions is required");
}

static void
check_rules(ApiParser *parser, const json_t *array, void *items, unsigned n)
{
    const FailureRule *rules = items;

    check_count(parser, array, ITEMS_MAX);
    for (unsigned i = 0; i < n; i++) {
        gsize length = api_parser_enter_index(parser, i);
        check_rule(parser, json_array_get(array, i), &rules[i]);
        api_parser_leave(parser, length);
    }
}

static const FieldType rules_type = {
    FIELD_LIST(FailureRule, rule_fields),
    .finish = check_rules,
};

static const Field policy_fields[] = {
    FIELD("rules", rules_type, FailurePolicy, rules, FIELD_SPEC),
    FIELDS_END,
};

const FieldType field_failure_policy = {FIELD_COUNTED(FailurePolicy, policy_fields)};

/* ---- Reading a success policy ---- */

static const Field success_rule_fields[] = {
    FIELD("succeededIndexes", field_string, SuccessRule, indexes, FIELD_SPEC),
    FIELD("succeededCount", field_int_or_unset, SuccessRule, count, FIELD_NATURAL),
    FIELDS_END,
};

static const FieldType success_rules_type = {
    FIELD_LIST(SuccessRule, success_rule_fields),
    .finish = check_items,
};

static const Field success_fields[] = {
    FIELD("rules", success_rules_type, SuccessPolicy, rules, FIELD_SPEC),
    FIELDS_END,
};

const FieldType field_success_policy = {FIELD_COUNTED(SuccessPolicy, success_fields)};
