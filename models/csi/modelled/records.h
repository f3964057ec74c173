/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "modelled-driver.h"

/* The memory of the modelled back end, one record for each object, for a process that goes on where
 * another one ended. The records of nodes are the caller's: they are there before volumes are
 * remembered; volumes are there before snapshots, and snapshots before groups. */

typedef enum {
    CSI_RECORD_VOLUME,
    CSI_RECORD_SNAPSHOT,
    CSI_RECORD_GROUP,
} CsiRecordKind;

/* @name_or_id: interned. @epoch: ns since 1970 at virtual time 0. Returns: (owned): %NULL: no such
 * object exists */
json_t *csi_modelled_driver_record(const CsiModelledDriver *self,
                                   CsiRecordKind kind,
                                   const char *name_or_id,
                                   int64_t epoch);
/* The object exists from now on. @epoch: of this process. Returns: %FALSE: it is no such record, or
 * another object has its name or id */
gboolean csi_modelled_driver_remember(CsiModelledDriver *self,
                                      CsiRecordKind kind,
                                      const json_t *record,
                                      int64_t epoch);
