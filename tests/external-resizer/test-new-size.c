/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/external-resizer/resizer.h"
#include "tests/lib/test.h"

const ModelClass *const model_classes[] = {&external_resizer_class, NULL};

#define GI(n) ((int64_t)(n) << 30)
#define CONTROLLER_IN_PROGRESS "ControllerResizeInProgress"
#define CONTROLLER_INFEASIBLE "ControllerResizeInfeasible"
#define NODE_PENDING "NodeResizePending"
#define NODE_IN_PROGRESS "NodeResizeInProgress"
#define NODE_INFEASIBLE "NodeResizeInfeasible"

/* RSZ-3.1, row by row: the volume's capacity, the claim's request, allocation (0: none) and status;
 * further facts; then the size that is asked for (0: nothing). */
static const struct {
    const char *rule;
    int64_t capacity, request, allocated;
    const char *status;
    unsigned facts;
    int64_t expected;
} cases[] = {
    {"RSZ-3.1.1",  1, 3, 2, NODE_INFEASIBLE,        0,                   2},
    {"RSZ-3.1.1",  1, 3, 0, NODE_INFEASIBLE,        CONTROLLER,          3},
    {"RSZ-3.1.2",  1, 3, 2, NODE_PENDING,           0,                   2},
    {"RSZ-3.1.2",  2, 3, 2, NODE_PENDING,           0,                   0},
    {"RSZ-3.1.2",  2, 3, 2, NODE_IN_PROGRESS,       CONTROLLER,          0},
    {"RSZ-3.1.2",  1, 3, 0, NODE_IN_PROGRESS,       0,                   3},
    {"RSZ-3.1.3",  3, 5, 9, CONTROLLER_IN_PROGRESS, FAILED,              5},
    {"RSZ-3.1.4",  3, 5, 9, CONTROLLER_IN_PROGRESS, CONTROLLER,          9},
    {"RSZ-3.1.4",  3, 5, 0, CONTROLLER_IN_PROGRESS, 0,                   5},
    {"RSZ-3.1.5",  3, 5, 9, CONTROLLER_INFEASIBLE,  FAILED | CONTROLLER, 5},
    {"RSZ-3.1.5",  1, 2, 0, NULL,                   CONTROLLER,          2},
    {"RSZ-3.1.5",  1, 2, 0, "SomethingNewer",       CONTROLLER,          2},
    {"RSZ-3.1.5",  1, 2, 0, NULL,                   PENDING,             2},
    {"RSZ-3.1.6",  5, 5, 5, NODE_PENDING,           CONTROLLER,          0},
    {"RSZ-3.1.6",  9, 5, 9, NODE_IN_PROGRESS,       FAILED,              0},
    {"RSZ-3.1.7",  9, 5, 9, NODE_INFEASIBLE,        CONTROLLER,          9},
    {"RSZ-3.1.8",  9, 5, 9, NODE_INFEASIBLE,        0,                   5},
    {"RSZ-3.1.9",  5, 5, 5, CONTROLLER_IN_PROGRESS, FAILED,              5},
    {"RSZ-3.1.9",  5, 5, 0, CONTROLLER_INFEASIBLE,  0,                   5},
    {"RSZ-3.1.10", 5, 5, 5, NULL,                   PENDING,             5},
    {"RSZ-3.1.11", 5, 5, 0, NULL,                   PENDING,             0},
    {"RSZ-3.1.12", 5, 5, 0, NULL,                   0,                   5},
};

TEST(sizes)
{
    g_autoptr(Objects) objects = objects_new(1);
    ObjectKey *claim_key = objects_key(objects, KIND_CLAIM, "default", "data");
    ObjectKey *volume_key = objects_key(objects, KIND_VOLUME, NULL, "pv");
    const ClaimCondition pending = {.type = CONDITION_FS_RESIZE_PENDING, .status = "True"};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Object) claim = object_new(claim_key), volume = object_new(volume_key);
        const Rule *rule;
        CLAIM(claim)->request_bytes = GI(cases[i].request);
        CLAIM(claim)->allocated_bytes = GI(cases[i].allocated);
        CLAIM(claim)->resize_status = cases[i].status;
        if (cases[i].facts & PENDING)
            claim_set_conditions(CLAIM(claim), claim_conditions_new(&pending, 1));
        VOLUME(volume)->capacity_bytes = GI(cases[i].capacity);
        int64_t bytes =
            new_size(CLAIM(claim), VOLUME(volume), cases[i].facts & ~(unsigned)PENDING, &rule);
        if (bytes != GI(cases[i].expected) || !g_str_equal(rule->id, cases[i].rule))
            fail_msg("row %u (%s): %s, %" G_GINT64_FORMAT " Gi", i, cases[i].rule, rule->id,
                     bytes >> 30);
    }
}

/* RSZ-34: every code has a class. */
TEST(error_classes)
{
    static const struct {
        CsiCode code;
        ResizeError class;
    } rows[] = {
        {CSI_CANCELLED,           RESIZE_ERROR_NOT_FINAL },
        {CSI_DEADLINE_EXCEEDED,   RESIZE_ERROR_NOT_FINAL },
        {CSI_UNAVAILABLE,         RESIZE_ERROR_NOT_FINAL },
        {CSI_RESOURCE_EXHAUSTED,  RESIZE_ERROR_NOT_FINAL },
        {CSI_ABORTED,             RESIZE_ERROR_NOT_FINAL },
        {CSI_INVALID_ARGUMENT,    RESIZE_ERROR_INFEASIBLE},
        {CSI_OUT_OF_RANGE,        RESIZE_ERROR_INFEASIBLE},
        {CSI_NOT_FOUND,           RESIZE_ERROR_INFEASIBLE},
        {CSI_INTERNAL,            RESIZE_ERROR_FINAL     },
        {CSI_FAILED_PRECONDITION, RESIZE_ERROR_FINAL     },
        {CSI_UNKNOWN,             RESIZE_ERROR_FINAL     },
        {CSI_PERMISSION_DENIED,   RESIZE_ERROR_FINAL     },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        assert_int_equal(resize_error_class(rows[i].code), rows[i].class);
}

/* Conditions by their first letters, "RF": before, new ones, whether the rest stays, after. */
static const struct {
    ConditionsKind kind;
    const char *old, *news;
    gboolean keep;
    const char *expected;
} merges[] = {
    {CONDITIONS_OF_RESIZE, "M",   "F", FALSE, "MF"},
    {CONDITIONS_OF_RESIZE, "R",   "F", FALSE, "F" },
    {CONDITIONS_OF_RESIZE, "R",   "F", TRUE,  "RF"},
    {CONDITIONS_OF_RESIZE, "RMC", "C", FALSE, "MC"},
    {CONDITIONS_OF_RESIZE, "C",   "C", TRUE,  "C" },
    {CONDITIONS_OF_RESIZE, "RFC", "",  FALSE, ""  },
    {CONDITIONS_OF_RESIZE, "RFN", "R", FALSE, "R" },
    {CONDITIONS_OF_MODIFY, "F",   "M", FALSE, "FM"},
    {CONDITIONS_OF_MODIFY, "M",   "M", FALSE, "M" },
    {CONDITIONS_OF_MODIFY, "M",   "",  FALSE, ""  },
    {CONDITIONS_OF_MODIFY, "",    "",  FALSE, ""  },
};

static unsigned
conditions_of(const char *letters, ClaimCondition *items)
{
    static const char *const types[] = {CONDITION_RESIZING, CONDITION_FS_RESIZE_PENDING,
                                        CONDITION_CONTROLLER_RESIZE_ERROR,
                                        CONDITION_NODE_RESIZE_ERROR, "ModifyingVolume"};
    unsigned n = 0;

    for (; *letters != '\0'; letters++)
        for (unsigned i = 0; i < G_N_ELEMENTS(types); i++)
            if (types[i][0] == *letters)
                items[n++] = (ClaimCondition){.type = types[i], .status = "True"};
    return n;
}

TEST(merged_conditions)
{
    ClaimCondition items[5];

    for (unsigned i = 0; i < G_N_ELEMENTS(merges); i++) {
        g_autoptr(ClaimConditions) old =
            claim_conditions_new(items, conditions_of(merges[i].old, items));
        unsigned n = conditions_of(merges[i].news, items);
        g_autoptr(ClaimConditions) merged =
            claim_conditions_merge(old, merges[i].kind, items, n, merges[i].keep);
        g_autoptr(GString) letters = g_string_new(NULL);
        for (unsigned k = 0; merged != NULL && k < merged->n_items; k++)
            g_string_append_c(letters, merged->items[k].type[0]);
        assert_string_equal(letters->str, merges[i].expected);
    }
}

/* Of a condition that is told again: the resizer tells when it did (RSZ-39), the kubelet since when
 * it is so, unless it was not. */
TEST(time_of_a_condition)
{
    static const struct {
        ConditionsKind kind;
        const char *was;
        SimTime expected;
    } rows[] = {
        {CONDITIONS_OF_RESIZE,      "True",  9 * SIM_SECOND},
        {CONDITIONS_OF_NODE_RESIZE, "True",  5 * SIM_SECOND},
        {CONDITIONS_OF_NODE_RESIZE, "False", 9 * SIM_SECOND},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const ClaimCondition was = {.type = CONDITION_NODE_RESIZE_ERROR,
                                    .status = rows[i].was,
                                    .changed_at = 5 * SIM_SECOND};
        const ClaimCondition is = {
            .type = CONDITION_NODE_RESIZE_ERROR, .status = "True", .changed_at = 9 * SIM_SECOND};
        g_autoptr(ClaimConditions) old = claim_conditions_new(&was, 1);
        g_autoptr(ClaimConditions) merged = claim_conditions_merge(old, rows[i].kind, &is, 1, TRUE);
        assert_int_equal(merged->n_items, 1);
        assert_int_equal(merged->items[0].changed_at, rows[i].expected);
        assert_string_equal(merged->items[0].status, "True");
    }
}
