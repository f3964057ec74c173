/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/release.h"
#include "store.h"

/* Fields that exist only while their feature gate is on (API-186). */
typedef struct GatedFields GatedFields;

/* Returns: (owned): the fields whose gate is off in this release */
GatedFields *gated_fields_new(const Release *release);
void gated_fields_free(GatedFields *self);
/* Takes them out of @object, unless the stored one has them. @before: NULL: it is new */
void gated_fields_drop(const GatedFields *self, Object *object, const Object *before);
