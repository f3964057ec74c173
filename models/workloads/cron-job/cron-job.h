/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The controller of kube-controller-manager that makes the Jobs of CronJobs:
 * docs/rules/cron-job.md.
 */
extern const ModelClass cron_job_controller_class;
