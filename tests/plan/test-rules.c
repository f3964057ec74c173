/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster/model.h"
#include "tests/lib/test.h"
#include "tests/plan/rule-walk.h"

/* The rule engine, and faults of tables that the walk must find. */

const ModelClass *const model_classes[] = {NULL};

enum {
    A = 1 << 0,
    B = 1 << 1,
    C = 1 << 2,
    FACTS_END = 1 << 3,
};

#define TABLE(rows) ((RuleTable)RULE_TABLE("t", FACTS_END, rows))
#define GATE "VolumeAttributesClass"

static const Rule complete[] = {
    {"T-1", A, 0,     1},
    {"T-2", B, A,     2},
    {"T-3", 0, A | B, 3},
};
static const Rule gap[] = {
    {"T-1", A, 0, 1},
    {"T-2", B, A, 2},
};
static const Rule overlap[] = {
    {"T-1", A, 0,     1},
    {"T-2", B, 0,     2},
    {"T-3", 0, A | B, 3},
};
static const Rule unused[] = {
    {"T-1", A, 0, 1},
    {"T-2", 0, A, 2},
    {"T-3", A, A, 3},
};
/* Rows of unequal length. */
/* clang-format off */
static const Rule by_release[] = {
    {"T-1", A, 0, 1, .until = 26},
    {"T-2", A, 0, 2, .since = 26},
    {"T-3", 0, A, 3},
};
static const Rule release_gap[] = {
    {"T-1", A, 0, 1, .until = 26},
    {"T-2", A, 0, 2, .since = 27},
    {"T-3", 0, A, 3},
};
static const Rule by_gate[] = {
    {"T-1", A, 0, 1, .gate = GATE},
    {"T-2", A, 0, 2, .no_gate = GATE},
    {"T-3", 0, A, 3},
};
static const Rule gate_gap[] = {
    {"T-1", A, 0, 1, .gate = GATE},
    {"T-3", 0, A, 3},
};
static const Rule by_any[] = {
    {"T-1", 0, 0,     1, .any = A | B},
    {"T-2", 0, A | B, 2},
};
/* clang-format on */

static const struct {
    const char *what;
    RuleTable table;
    const char *fault;
} walks[] = {
    {"complete",                 TABLE(complete),    NULL                                          },
    {"a gap",                    TABLE(gap),         "t: facts 0 in 1.18: no row applies"          },
    {"an overlap",               TABLE(overlap),     "t: facts 0x3 in 1.18: both T-1 and T-2 apply"},
    {"a row that never applies", TABLE(unused),      "t: T-3 never applies"                        },
    {"releases",                 TABLE(by_release),  NULL                                          },
    {"a release without a row",  TABLE(release_gap), "t: facts 0x1 in 1.26: no row applies"        },
    {"a feature gate",           TABLE(by_gate),     NULL                                          },
    {"a feature gate, half",     TABLE(gate_gap),    "t: facts 0x1 in 1.18: no row applies"        },
    {"one of several",           TABLE(by_any),      NULL                                          },
};

TEST(walk_finds_faults)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(walks); i++) {
        g_autofree char *fault = rules_fault(&walks[i].table);

        if (g_strcmp0(fault, walks[i].fault) != 0)
            fail_msg("%s: %s", walks[i].what, fault);
    }
}

TEST(bounds_leave_sets_out)
{
    /* B only with A, never A and C, and one of A and C always: left are A, AB and C. */
    static const RuleBound bounds[] = {
        {.given = B, .all = A},
        {.given = A,          .none = C},
        {.one_of = A | C},
    };
    static const Rule rows[] = {
        {"T-1", A | B, 0, 1},
        {"T-2", A,     B, 2},
        {"T-3", C,     0, 3},
    };
    const RuleTable table = RULE_TABLE("t", FACTS_END, rows, RULE_BOUNDS(bounds));
    g_autofree char *fault = rules_fault(&table);

    assert_null(fault);
}

TEST(rows_are_found)
{
    const StringPair pair = {GATE, "true"};
    g_autoptr(StringMap) gates = string_map_new(&pair, 1);
    const RuleTable plain = TABLE(complete), release = TABLE(by_release), gate = TABLE(by_gate);

    assert_string_equal(rules_find(&plain, B | C, NULL)->id, "T-2");
    assert_string_equal(rules_find(&release, A, &(Release){25, NULL})->id, "T-1");
    assert_string_equal(rules_find(&release, A, &(Release){26, NULL})->id, "T-2");
    assert_string_equal(rules_find(&gate, A, &(Release){33, NULL})->id, "T-2");
    assert_string_equal(rules_find(&gate, A, &(Release){34, NULL})->id, "T-1");
    assert_string_equal(rules_find(&gate, A, &(Release){33, gates})->id, "T-1");
}
