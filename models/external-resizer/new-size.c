/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "resizer.h"

#define CONTROLLER_IN_PROGRESS RESIZE_CONTROLLER_IN_PROGRESS
#define CONTROLLER_INFEASIBLE RESIZE_CONTROLLER_INFEASIBLE
#define NODE_PENDING RESIZE_NODE_PENDING
#define NODE_IN_PROGRESS RESIZE_NODE_IN_PROGRESS
#define NODE_INFEASIBLE RESIZE_NODE_INFEASIBLE
#define NONE RESIZE_NONE

/* expandAndRecover() in external-resizer's expand_and_recover.go: which size the driver is asked
 * for. While an expansion is under way somewhere its size stays, also if the request has been
 * lowered meanwhile; only when it has failed for good may another one be tried. Exactly one row
 * applies. Columns: one of these statuses, all of these facts, none of these, then. */
static const NewSizeRule rules[] = {
    {"RSZ-3.1.1",  NODE_INFEASIBLE,                                GROWS,          0,                           ASK_ALLOCATED  },
    {"RSZ-3.1.2",  NODE_PENDING | NODE_IN_PROGRESS,                GROWS,          0,                           ASK_UNLESS_DONE},
    {"RSZ-3.1.3",  CONTROLLER_IN_PROGRESS,                         GROWS | FAILED, 0,                           ASK_REQUEST    },
    {"RSZ-3.1.4",  CONTROLLER_IN_PROGRESS,                         GROWS,          FAILED,                      ASK_ALLOCATED  },
    {"RSZ-3.1.5",  NONE | CONTROLLER_INFEASIBLE,                   GROWS,          0,                           ASK_REQUEST    },
    {"RSZ-3.1.6",  NODE_PENDING | NODE_IN_PROGRESS,                0,              GROWS,                       LEAVE          },
    {"RSZ-3.1.7",  NODE_INFEASIBLE,                                CONTROLLER,     GROWS,                       ASK_ALLOCATED  },
    {"RSZ-3.1.8",  NODE_INFEASIBLE,                                0,              GROWS | CONTROLLER,          ASK_REQUEST    },
    {"RSZ-3.1.9",  CONTROLLER_IN_PROGRESS | CONTROLLER_INFEASIBLE, 0,              GROWS,                       ASK_ALLOCATED  },
    {"RSZ-3.1.10", NONE,                                           ALLOCATED,      GROWS,                       ASK_ALLOCATED  },
    {"RSZ-3.1.11", NONE,                                           PENDING,        GROWS | ALLOCATED,           LEAVE          },
    {"RSZ-3.1.12", NONE,                                           0,              GROWS | ALLOCATED | PENDING, ASK_REQUEST    },
};

static gboolean
applies(const NewSizeRule *rule, ResizeStatus status, NewSizeFacts facts)
{
    return (status & rule->statuses) != 0 && (facts & rule->all) == rule->all &&
           (facts & rule->none) == 0;
}

unsigned
new_size_rules_matching(ResizeStatus status, NewSizeFacts facts)
{
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++)
        n += applies(&rules[i], status, facts) ? 1 : 0;
    return n;
}

const NewSizeRule *
new_size_rule_for(ResizeStatus status, NewSizeFacts facts)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++)
        if (applies(&rules[i], status, facts))
            return &rules[i];
    g_assert_not_reached();
}

int64_t
new_size(const Claim *claim, const Volume *volume, NewSizeFacts facts, const NewSizeRule **rule)
{
    int64_t allocated = claim->allocated_bytes > 0 ? claim->allocated_bytes : claim->request_bytes;
    unsigned all = facts;

    all |= volume->capacity_bytes < claim->request_bytes ? GROWS : 0;
    all |= claim->allocated_bytes > 0 ? ALLOCATED : 0;
    all |= claim_condition_is_true(claim, CONDITION_FS_RESIZE_PENDING) ? PENDING : 0;
    *rule = new_size_rule_for(claim_resize_status(claim), (NewSizeFacts)all);
    switch ((*rule)->then) {
    case ASK_REQUEST:
        return claim->request_bytes;
    case ASK_ALLOCATED:
        return allocated;
    case ASK_UNLESS_DONE:
        return volume->capacity_bytes >= allocated ? 0 : allocated;
    case LEAVE:
        return 0;
    }
    g_assert_not_reached();
}
