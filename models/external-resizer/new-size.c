/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "resizer.h"

#define CONTROLLER_IN_PROGRESS RESIZE_CONTROLLER_IN_PROGRESS
#define CONTROLLER_INFEASIBLE RESIZE_CONTROLLER_INFEASIBLE
#define NODE_PENDING RESIZE_NODE_PENDING
#define NODE_IN_PROGRESS RESIZE_NODE_IN_PROGRESS
#define NODE_INFEASIBLE RESIZE_NODE_INFEASIBLE
#define NONE RESIZE_NONE

/* expandAndRecover() in external-resizer's expand_and_recover.go: which size to ask the driver for.
 * An expansion that is under way keeps its size, even if the user has lowered the request since;
 * another size may be tried only after it has failed for good. Columns: all of these facts hold,
 * none of these, then. */
static const Rule new_size_table[] = {
    {"RSZ-3.1.1",  GROWS,          0,                           ASK_ALLOCATED,   NODE_INFEASIBLE                               },
    {"RSZ-3.1.2",  GROWS,          0,                           ASK_UNLESS_DONE, NODE_PENDING | NODE_IN_PROGRESS               },
    {"RSZ-3.1.3",  GROWS | FAILED, 0,                           ASK_REQUEST,     CONTROLLER_IN_PROGRESS                        },
    {"RSZ-3.1.4",  GROWS,          FAILED,                      ASK_ALLOCATED,   CONTROLLER_IN_PROGRESS                        },
    {"RSZ-3.1.5",  GROWS,          0,                           ASK_REQUEST,     NONE | CONTROLLER_INFEASIBLE                  },
    {"RSZ-3.1.6",  0,              GROWS,                       ASK_NOTHING,     NODE_PENDING | NODE_IN_PROGRESS               },
    {"RSZ-3.1.7",  CONTROLLER,     GROWS,                       ASK_ALLOCATED,   NODE_INFEASIBLE                               },
    {"RSZ-3.1.8",  0,              GROWS | CONTROLLER,          ASK_REQUEST,     NODE_INFEASIBLE                               },
    {"RSZ-3.1.9",  0,              GROWS,                       ASK_ALLOCATED,   CONTROLLER_IN_PROGRESS | CONTROLLER_INFEASIBLE},
    {"RSZ-3.1.10", ALLOCATED,      GROWS,                       ASK_ALLOCATED,   NONE                                          },
    {"RSZ-3.1.11", PENDING,        GROWS | ALLOCATED,           ASK_NOTHING,     NONE                                          },
    {"RSZ-3.1.12", 0,              GROWS | ALLOCATED | PENDING, ASK_REQUEST,     NONE                                          },
};
static const RuleBound new_size_bounds[] = {
    {.one_of = NONE | CONTROLLER_IN_PROGRESS | CONTROLLER_INFEASIBLE | NODE_PENDING |
               NODE_IN_PROGRESS | NODE_INFEASIBLE},
};
const RuleTable resizer_size_rules = RULE_TABLE(
    "sizes of expansions", NEW_SIZE_FACTS_END, new_size_table, RULE_BOUNDS(new_size_bounds));

int64_t
new_size(const Claim *claim, const Volume *volume, uint32_t facts, const Rule **rule)
{
    int64_t allocated = claim->allocated_bytes > 0 ? claim->allocated_bytes : claim->request_bytes;

    facts |= claim_resize_status(claim);
    facts |= volume->capacity_bytes < claim->request_bytes ? GROWS : 0;
    facts |= claim->allocated_bytes > 0 ? ALLOCATED : 0;
    facts |= claim_condition_is_true(claim, CONDITION_FS_RESIZE_PENDING) ? PENDING : 0;
    *rule = rules_find(&resizer_size_rules, facts, NULL);
    switch ((NewSizeAction)(*rule)->then) {
    case ASK_REQUEST:
        return claim->request_bytes;
    case ASK_ALLOCATED:
        return allocated;
    case ASK_UNLESS_DONE:
        return volume->capacity_bytes >= allocated ? 0 : allocated;
    case ASK_NOTHING:
        return 0;
    }
    g_assert_not_reached();
}
