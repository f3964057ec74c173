/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"
#include "writes.h"

/* Faults that an audit log shows, as items of a scenario. The member "#" of an item is a comment
 * with the evidence (yaml-print.h). */

/* Kubelets that fell silent until their nodes were NotReady, and processes that were started anew;
 * sidecars only if one driver alone has such a sidecar by the objects of @first. Returns: (owned):
 * of spec.faults; may be empty */
json_t *found_outages(const Writes *writes,
                      unsigned n_drivers,
                      const Dump *first,
                      SimTime start,
                      ImportReport *report);
/* Phases in which calls of a driver failed. @recorded: tells what went well meanwhile. Returns:
 * (owned): of drivers[].errors; NULL: none */
json_t *found_errors(const Writes *writes,
                     const Recorded *recorded,
                     const Dump *first,
                     const char *driver,
                     SimTime start,
                     ImportReport *report);
