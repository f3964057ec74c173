/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"

#include "fields.h"

static void
keys_parse(ApiParser *parser, const json_t *value, void *field)
{
    if (api_parser_expect(parser, value, JSON_OBJECT))
        *(uint32_t *)field += (uint32_t)json_object_size(value);
}

static json_t *
keys_over(const void *field G_GNUC_UNUSED, const json_t *manifest)
{
    return json_incref((json_t *)manifest); /* only counted */
}

/* The data itself stays in the manifest. */
static const FieldType keys_type = {
    .size = sizeof(uint32_t),
    .parse = keys_parse,
    .over = keys_over,
};

static const Field secret_fields[] = {
    FIELD("data", keys_type, Secret, n_keys, FIELD_SPEC),
    FIELD("stringData", keys_type, Secret, n_keys, FIELD_SPEC),
    FIELDS_END,
};

const KindClass secret_kind = {
    .kind = "Secret",
    .api_version = "v1",
    .resource = "secrets",
    .size = sizeof(Secret),
    .fields = secret_fields,
    .namespaced = TRUE,
};
