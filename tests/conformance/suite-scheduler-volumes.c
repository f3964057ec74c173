/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/compare.h"
#include "tests/conformance/scheduler-case.h"

/* NodeVolumeLimits, VolumeRestrictions and VolumeZone, each by itself. */

static void
run_limits(Case *self)
{
    scheduler_case_run_plugin(self, PLUGIN_NODE_VOLUME_LIMITS, FALSE);
}

static void
run_limits_claim_added(Case *self)
{
    scheduler_case_new(self);
    scheduler_case_expect_hint(self, PLUGIN_NODE_VOLUME_LIMITS, NULL,
                               case_get(self, "initial.added_claim"));
}

static void
run_limits_pod_deleted(Case *self)
{
    scheduler_case_new(self);
    scheduler_case_expect_hint(self, PLUGIN_NODE_VOLUME_LIMITS,
                               case_get(self, "initial.deleted_pod"), NULL);
}

static const Act limits_acts[] = {
    {"PreFilter,Filter",          run_limits            },
    {"queueing_hint:claim_added", run_limits_claim_added},
    {"queueing_hint:pod_deleted", run_limits_pod_deleted},
    {NULL,                        NULL                  },
};

const Suite scheduler_limits_suite = {"scheduler_nodevolumelimits", limits_acts};

static void
run_restrictions(Case *self)
{
    scheduler_case_run_plugin(self, PLUGIN_VOLUME_RESTRICTIONS, FALSE);
}

static void
run_restrictions_hint(Case *self)
{
    scheduler_case_new(self);
    scheduler_case_expect_hint(self, PLUGIN_VOLUME_RESTRICTIONS, case_get(self, "initial.old"),
                               case_get(self, "initial.new"));
}

static const Act restrictions_acts[] = {
    {"PreFilter,Filter", run_restrictions     },
    {"queueing_hint",    run_restrictions_hint},
    {NULL,               NULL                 },
};

const Suite scheduler_restrictions_suite = {"scheduler_volumerestrictions", restrictions_acts};

static void
run_zone(Case *self)
{
    scheduler_case_run_plugin(self, PLUGIN_VOLUME_ZONE, TRUE);
}

static void
run_zone_hint(Case *self)
{
    scheduler_case_new(self);
    scheduler_case_expect_hint(self, PLUGIN_VOLUME_ZONE, case_get(self, "initial.old"),
                               case_get(self, "initial.new"));
}

static const Act zone_acts[] = {
    {"PreFilter,Filter", run_zone     },
    {"queueing_hint",    run_zone_hint},
    {NULL,               NULL         },
};

const Suite scheduler_zone_suite = {"scheduler_volumezone", zone_acts};
