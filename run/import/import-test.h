/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/import/recorded.h"
#include "run/import/report.h"

/* What only tests may call from outside of its file. */

SimTime recorded_until(const Recorded *self);
const char *recorded_time_name(RecordedTime time);
/* How often that reason was counted. */
guint64 import_report_counted(const ImportReport *self, ReportPart part, const char *reason);
