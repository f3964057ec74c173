/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "report.h"

#include <jansson.h>

/* Drops the parts of objects that no model reads or that may be secret, before they are written.
 *
 * Two pod templates that differ only in what is dropped must stay different, or a Deployment would
 * find the wrong ReplicaSet. So a template gets the annotation kvolsim.io/pruned with a number:
 * equal contents have equal numbers, in order of appearance. */
typedef struct Pruner Pruner;

/* Drops managedFields, the data of Secrets, what kubectl remembers of the last apply and the
 * environment of pods: none of it is in memory while the import goes on. */
void prune_while_reading(json_t *object);

/* @report: gets the counts; outlives the pruner. Returns: (owned) */
Pruner *pruner_new(ImportReport *report);
void pruner_free(Pruner *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pruner, pruner_free)
/* Drops all that is not written out, of an object or of a patch with some of its members. */
void pruner_object(Pruner *self, json_t *object);
