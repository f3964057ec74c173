/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* The meaning of single failures and successes for a Job: spec.podFailurePolicy and
 * spec.successPolicy. Immutable, shared. */

typedef enum {
    FAILURE_COUNT,
    FAILURE_FAIL_INDEX,
    FAILURE_FAIL_JOB,
    FAILURE_IGNORE,
} FailureAction;

/* A condition of a pod. */
typedef struct {
    const char *type;
    uint32_t status; /* ConditionStatus; default True */
} ConditionPattern;

REF_LIST(ConditionPatterns, ConditionPattern);

REF_LIST(ExitCodes, int32_t);

/* Either the codes or the conditions select pods. */
typedef struct {
    uint32_t action;       /* FailureAction */
    uint32_t not_in;       /* onExitCodes.operator: 0 In, 1 NotIn */
    const char *container; /* NULL: any */
    ExitCodes *codes;
    ConditionPatterns *conditions;
} FailureRule;

REF_LIST(FailureRules, FailureRule);

typedef struct {
    RefCount refs;
    FailureRules *rules;
} FailurePolicy;

/* A rule that a failure matches. */
typedef struct {
    const FailureRule *rule; /* NULL: none, so the failure counts */
    unsigned index;
    const char *container; /* the container that ended so; NULL: a condition matches */
    const char *condition; /* its type */
} FailureMatch;

/* Returns: the first rule that the failed pod matches. All its containers ended alike. @self:
 * nullable */
FailureMatch failure_policy_match(const FailurePolicy *self, const Pod *pod);
/* Whether a failure counts towards the limits. */
static inline gboolean
failure_counts(const FailureMatch *match)
{
    return match->rule == NULL || match->rule->action != FAILURE_IGNORE;
}

/* All given conditions must be met. */
typedef struct {
    const char *indexes; /* "0-2,5"; NULL: any */
    int32_t count;       /* negative: all of @indexes */
} SuccessRule;

REF_LIST(SuccessRules, SuccessRule);

typedef struct {
    RefCount refs;
    SuccessRules *rules;
} SuccessPolicy;

extern const FieldType field_failure_policy; /* FailurePolicy * */
extern const FieldType field_success_policy; /* SuccessPolicy * */

/* Returns: the number of indexes in such a list; -1 with Kubernetes' words in @fault (owned) if
 * they are not in order or not below @below */
int32_t job_indexes_count(const char *text, int32_t below, char **fault);
