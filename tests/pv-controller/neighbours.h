/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/lib/storage-world.h"

/* What users and other controllers do to claims and volumes. */

/* ObjectEdits. The volume is reserved for @claim, a Claim; its claimRef goes. */
gboolean edit_reserve(Object *object, const void *claim);
gboolean edit_clear_reference(Object *object, const void *arg);
void annotate(StorageWorld *world, ObjectKey *key, const char *name, const char *value);
