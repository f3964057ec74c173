/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "patch.h"

typedef enum {
    PATCH_BAD_REQUEST = 400,
    PATCH_TOO_LARGE = 413,
    PATCH_UNSUPPORTED = 415,
    PATCH_INVALID = 422,
    PATCH_FAILED = 500, /* errors that the API server passes on as they are */
} PatchError;

/* Sets an error that the API server hides behind a general sentence (NewGenericServerResponse() in
 * k8s.io/apimachinery's errors.go). Returns: %FALSE */
gboolean patch_refuse(GError **error);
/* Sets the error of a body of another type than @wanted, as Go's decoder words it. */
void patch_wrong_type(GError **error, const char *place, const json_t *value, const char *wanted);
