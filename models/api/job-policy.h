/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "pod.h"

/* What single failures and successes mean for a Job: spec.podFailurePolicy and spec.successPolicy.
 * Immutable, shared. */

typedef enum {
    FAILURE_COUNT,
    FAILURE_FAIL_INDEX,
    FAILURE_FAIL_JOB,
    FAILURE_IGNORE,
} FailureAction;

/* A condition of a pod. */
typedef struct {
    const char *type;
    uint32_t status; /* ConditionStatus; ABSENT: True */
} ConditionPattern;

/* One of the two lists says whom the rule is about. */
typedef struct {
    uint32_t action;       /* FailureAction */
    uint32_t not_in;       /* onExitCodes.operator: 0 In, 1 NotIn */
    const char *container; /* NULL: any */
    unsigned n_codes, n_conditions;
    int32_t *codes;               /* (owned) */
    ConditionPattern *conditions; /* (owned) */
} FailureRule;

typedef struct {
    RefCount refs;
    unsigned n_rules;
    FailureRule *rules;
    json_t *manifest; /* for output */
} FailurePolicy;

/* A rule that a failure matches. */
typedef struct {
    const FailureRule *rule; /* NULL: none; then it counts */
    unsigned index;
    const char *container; /* that ended so; NULL: a condition matches */
    const char *condition; /* its type */
} FailureMatch;

/* Returns: the first rule that the failed pod matches. All its containers have ended alike. @self:
 * nullable */
FailureMatch failure_policy_match(const FailurePolicy *self, const Pod *pod);
/* Whether a failure counts towards the limits. */
static inline gboolean
failure_counts(const FailureMatch *match)
{
    return match->rule == NULL || match->rule->action != FAILURE_IGNORE;
}

/* All that are told must be met. */
typedef struct {
    const char *indexes; /* "0-2,5"; NULL: any */
    int32_t count;       /* negative: all of @indexes */
} SuccessRule;

typedef struct {
    RefCount refs;
    unsigned n_rules;
    SuccessRule *rules;
    json_t *manifest; /* for output */
} SuccessPolicy;

extern const FieldType field_failure_policy; /* FailurePolicy * */
extern const FieldType field_success_policy; /* SuccessPolicy * */

/* How many indexes such a list has, in order and all below @below. Returns: -1 with Kubernetes'
 * words in @fault (owned) */
int32_t job_indexes_count(const char *text, int32_t below, char **fault);
