/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* What an update may not change, judged on manifests: they show more than the models' structs, such
 * as whether a field was given. Rules for new objects are in the manifest's parser. Each function
 * appends to @errors (of char *) what the API server says: "spec: Forbidden: ...". */

typedef struct {
    gboolean recovers;           /* gate RecoverVolumeExpansionFailure (API-132) */
    gboolean attributes_classes; /* gate VolumeAttributesClass */
} UpdateGates;

/* API-122, API-131, API-132. */
void check_claim_update(const json_t *before,
                        const json_t *after,
                        const UpdateGates *gates,
                        GPtrArray *errors);
/* API-184: a write of the status. */
void check_claim_status_update(const json_t *before, const json_t *after, GPtrArray *errors);
/* API-134. */
void check_volume_update(const json_t *before,
                         const json_t *after,
                         const UpdateGates *gates,
                         GPtrArray *errors);
/* VAC-2. */
void check_attributes_class_update(const json_t *before, const json_t *after, GPtrArray *errors);
