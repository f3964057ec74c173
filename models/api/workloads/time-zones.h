/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/object.h"

/* Time zones, from a table of ours: results do not depend on the database of a machine. Each zone
 * has the rules of today in all years. */
typedef struct TimeZone TimeZone;

#define TIME_ZONE_JULIAN_1970 719163 /* 1970-01-01 as g_date_get_julian() counts days */

/* @name: as the IANA time zone database spells it, "Europe/Berlin". Returns: NULL: unknown */
const TimeZone *time_zone_find(const char *name);
/* @self: (nullable): UTC. @at_s: since 1970. Returns: seconds east of UTC at that instant */
int64_t time_zone_offset(const TimeZone *self, int64_t at_s);
