/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/resources.h"

/* A kind that differs between its versions is stored in one version and converted to and from the
 * others, as k8s.io/kubernetes' pkg/apis/.../conversion.go does. */

/* Whether the version of @row is not that in which its kind is stored, and differs from it. */
gboolean versions_differ(const ApiResource *row);
/* @object: its own members may be shared with others, which are left alone. Converting what is
 * converted already changes nothing. */
void versions_from_stored(const ApiResource *row, json_t *object);
void versions_to_stored(const ApiResource *row, json_t *object);
