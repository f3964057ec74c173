/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"

#include "fields.h"

static const Field secret_fields[] = {FIELDS_END};

static const char *const secret_ignored[] = {IGNORED_ALWAYS, "data", "stringData",
                                             "immutable",    "type", NULL};

const KindClass secret_kind = {
    .kind = "Secret",
    .api_version = "v1",
    .resource = "secrets",
    .size = sizeof(Secret),
    .fields = secret_fields,
    .namespaced = TRUE,
    .ignored = secret_ignored,
};
