/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/import/dump.h"
#include "run/import/report.h"

/* Adds the PriorityClasses that pods and templates name to a dump that has none, with the values
 * that pods of theirs have: without them new pods would be refused (API-190). */
void priorities_complete(Dump *dump, ImportReport *report);
