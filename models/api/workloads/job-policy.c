/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-policy.h"

#include <stdlib.h>
#include <string.h>

#include "workload-private.h"

/* Kubernetes' pkg/controller/job/pod_failure_policy.go; validation as in
 * pkg/apis/batch/validation/validation.go. */

#define RULES_MAX 20    /* maxPodFailurePolicyRules, maxJobSuccessPolicyRule */
#define CODES_MAX 255   /* maxPodFailurePolicyOnExitCodesValues */
#define PATTERNS_MAX 20 /* maxPodFailurePolicyOnPodConditionsPatterns */

/* ---- Matching ---- */

/* Of those that a pod here can have. */
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
    for (unsigned i = 0; i < rule->n_conditions; i++) {
        const ConditionPattern *pattern = &rule->conditions[i];
        uint32_t wanted = pattern->status == CONDITION_ABSENT ? CONDITION_TRUE : pattern->status;
        if (condition_status(pod, pattern->type) == wanted)
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

    if (rule->n_codes == 0 || pod->exit_code == 0)
        return NULL;
    for (unsigned i = 0; i < rule->n_codes; i++)
        is_listed |= rule->codes[i] == pod->exit_code;
    return is_listed == (rule->not_in != 0) ? NULL : first_container(pod->spec, rule->container);
}

FailureMatch
failure_policy_match(const FailurePolicy *self, const Pod *pod)
{
    for (unsigned i = 0; self != NULL && i < self->n_rules; i++) {
        FailureMatch match = {.rule = &self->rules[i], .index = i};
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

/* ---- Policies ---- */

static FailurePolicy *
failure_policy_new(const FailureRule *rules, unsigned n)
{
    FailurePolicy *self = g_new0(FailurePolicy, 1);

    self->refs = REF_COUNT_ONE;
    self->n_rules = n;
    self->rules = g_memdup2(rules, n * sizeof *rules);
    for (unsigned i = 0; i < n; i++) {
        FailureRule *rule = &self->rules[i];
        rule->codes = g_memdup2(rule->codes, rule->n_codes * sizeof *rule->codes);
        rule->conditions =
            g_memdup2(rule->conditions, rule->n_conditions * sizeof *rule->conditions);
    }
    return self;
}

static void
failure_policy_free(FailurePolicy *self)
{
    for (unsigned i = 0; i < self->n_rules; i++) {
        g_free(self->rules[i].codes);
        g_free(self->rules[i].conditions);
    }
    g_free(self->rules);
    json_decref(self->manifest);
    g_free(self);
}

static UNREF_DEFINE(FailurePolicy, failure_policy, failure_policy_free)

    /* Returns: (owned): of parts that are copied; NULL of no rules */
    static SuccessPolicy *success_policy_new(const SuccessRule *rules, unsigned n)
{
    SuccessPolicy *self = g_new0(SuccessPolicy, 1);

    self->refs = REF_COUNT_ONE;
    self->n_rules = n;
    self->rules = g_memdup2(rules, n * sizeof *rules);
    return self;
}

static void
success_policy_free(SuccessPolicy *self)
{
    g_free(self->rules);
    json_decref(self->manifest);
    g_free(self);
}

static UNREF_DEFINE(SuccessPolicy, success_policy, success_policy_free)

    /* ---- Reading a failure policy ---- */

    static const FieldType action_type = {FIELD_WORDS("Count", "FailIndex", "FailJob", "Ignore")};

static const FieldType operator_type = {FIELD_WORDS("In", "NotIn")};

static void
codes_parse(ApiParser *parser, const json_t *value, void *field)
{
    FailureRule *rule = field;

    if (!api_parser_expect(parser, value, JSON_ARRAY))
        return;
    rule->codes = g_new0(int32_t, json_array_size(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        gsize length = api_parser_enter_index(parser, (unsigned)i);
        field_int_parse(parser, json_array_get(value, i), &rule->codes[i]);
        api_parser_leave(parser, length);
    }
    rule->n_codes = (unsigned)json_array_size(value);
}

static gboolean
codes_equal(const void *a, const void *b)
{
    const FailureRule *x = a, *y = b;

    return x->n_codes == y->n_codes &&
           (x->n_codes == 0 || memcmp(x->codes, y->codes, x->n_codes * sizeof *x->codes) == 0);
}

static const FieldType codes_type = {
    .equal = codes_equal,
    .parse = codes_parse,
};

static const Field pattern_fields[] = {
    FIELD("type", field_text, ConditionPattern, type, FIELD_REQUIRED),
    FIELD("status", field_condition_status, ConditionPattern, status, FIELD_SPEC),
    FIELDS_END,
};
static void
patterns_parse(ApiParser *parser, const json_t *value, void *field)
{
    FailureRule *rule = field;

    rule->conditions =
        items_parse(parser, value, pattern_fields, sizeof *rule->conditions, &rule->n_conditions);
}

static gboolean
patterns_equal(const void *a, const void *b)
{
    const FailureRule *x = a, *y = b;

    return items_equal(pattern_fields, x->conditions, x->n_conditions, y->conditions,
                       y->n_conditions, sizeof x->conditions[0]);
}

static const FieldType patterns_type = {
    .equal = patterns_equal,
    .parse = patterns_parse,
};

static const Field rule_fields[] = {
    FIELD("action", action_type, FailureRule, action, FIELD_SPEC),
    FIELD("onExitCodes.containerName", field_string, FailureRule, container, FIELD_SPEC),
    FIELD("onExitCodes.operator", operator_type, FailureRule, not_in, FIELD_SPEC),
    FIELD_WHOLE("onExitCodes.values", codes_type, FIELD_SPEC),
    FIELD_WHOLE("onPodConditions", patterns_type, FIELD_SPEC),
    FIELDS_END,
};

static void
check_count(ApiParser *parser, const char *path, const json_t *list, unsigned most)
{
    if (json_array_size(list) > most)
        api_parser_fault_at(parser, list, path, NULL, "Too many: %u: must have at most %u items",
                            (unsigned)json_array_size(list), most);
}

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
    check_count(parser, "values", values, CODES_MAX);
    gsize inner = api_parser_enter(parser, "values");
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
    check_count(parser, "onPodConditions", patterns, PATTERNS_MAX);
    if (codes != NULL && json_array_size(patterns) > 0)
        api_parser_fault(
            parser, manifest, "write two rules",
            "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported");
    if (codes == NULL && json_array_size(patterns) == 0)
        api_parser_fault(
            parser, manifest, NULL,
            "Invalid value: specifying one of OnExitCodes and OnPodConditions is required");
}

/* The status of a condition is True where nothing is said: pkg/apis/batch/v1/defaults.go. */
static json_t *
with_statuses(const json_t *manifest)
{
    json_t *copy = json_deep_copy(manifest), *rule, *pattern;
    size_t i, k;

    json_array_foreach(json_object_get(copy, "rules"), i, rule) {
        json_array_foreach(json_object_get(rule, "onPodConditions"), k, pattern) {
            if (json_is_object(pattern) && json_object_get(pattern, "status") == NULL)
                json_object_set_new(pattern, "status", json_string("True"));
        }
    }
    return copy;
}

static void
failure_policy_parse(ApiParser *parser, const json_t *value, void *field)
{
    const json_t *rules = json_path_get(value, "rules");
    FailurePolicy *self;
    gsize length;

    if (!api_parser_expect(parser, value, JSON_OBJECT))
        return;
    g_clear_pointer((FailurePolicy **)field, failure_policy_unref);
    self = *(FailurePolicy **)field = failure_policy_new(NULL, 0);
    self->manifest = with_statuses(value);
    check_count(parser, "rules", rules, RULES_MAX);
    length = api_parser_enter(parser, "rules");
    if (rules != NULL)
        self->rules = items_parse(parser, rules, rule_fields, sizeof *self->rules, &self->n_rules);
    for (unsigned i = 0; i < self->n_rules; i++) {
        gsize inner = api_parser_enter_index(parser, i);
        check_rule(parser, json_array_get(rules, i), &self->rules[i]);
        api_parser_leave(parser, inner);
    }
    api_parser_leave(parser, length);
}

static gboolean
failure_policy_equal(const FailurePolicy *a, const FailurePolicy *b)
{
    return items_equal(rule_fields, a->rules, a->n_rules, b->rules, b->n_rules, sizeof a->rules[0]);
}

static json_t *
failure_policy_to_json(const void *field)
{
    const FailurePolicy *self = *(FailurePolicy *const *)field;

    return self == NULL ? NULL : json_deep_copy(self->manifest);
}

const FieldType field_failure_policy = {
    FIELD_SHARED(failure_policy),
    .parse = failure_policy_parse,
    .to_json = failure_policy_to_json,
};

/* ---- Reading a success policy ---- */

static const Field success_fields[] = {
    FIELD("succeededIndexes", field_string, SuccessRule, indexes, FIELD_SPEC),
    FIELD("succeededCount", field_int_or_unset, SuccessRule, count, FIELD_NATURAL),
    FIELDS_END,
};

static void
success_policy_parse(ApiParser *parser, const json_t *value, void *field)
{
    const json_t *rules = json_path_get(value, "rules");
    SuccessPolicy *self;

    if (!api_parser_expect(parser, value, JSON_OBJECT))
        return;
    g_clear_pointer((SuccessPolicy **)field, success_policy_unref);
    self = *(SuccessPolicy **)field = success_policy_new(NULL, 0);
    self->manifest = json_deep_copy(value);
    check_count(parser, "rules", rules, RULES_MAX);
    gsize length = api_parser_enter(parser, "rules");
    if (rules != NULL)
        self->rules =
            items_parse(parser, rules, success_fields, sizeof *self->rules, &self->n_rules);
    api_parser_leave(parser, length);
}

static gboolean
success_policy_equal(const SuccessPolicy *a, const SuccessPolicy *b)
{
    return items_equal(success_fields, a->rules, a->n_rules, b->rules, b->n_rules,
                       sizeof a->rules[0]);
}

static json_t *
success_policy_to_json(const void *field)
{
    const SuccessPolicy *self = *(SuccessPolicy *const *)field;

    return self == NULL ? NULL : json_deep_copy(self->manifest);
}

const FieldType field_success_policy = {
    FIELD_SHARED(success_policy),
    .parse = success_policy_parse,
    .to_json = success_policy_to_json,
};
