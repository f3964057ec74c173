/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/api-test.h"
#include "pod-private.h"

/* Claims of StatefulSets and of ephemeral volumes: labels and annotations, and the claim's spec. */

REF_LIST_DEFINE(ClaimTemplates, ClaimTemplate, claim_templates)

Claim *
claim_template_parse(ApiParser *parser, const json_t *value, const char *name)
{
    return CLAIM(
        api_parser_template(parser, value, objects_key(parser->objects, KIND_CLAIM, NULL, name)));
}

static void
template_parse(ApiParser *parser, const json_t *value, void *field)
{
    const char *name = json_path_string(value, "metadata.name");

    if (api_parser_expect(parser, value, JSON_OBJECT) && (name == NULL || name[0] == '\0'))
        api_parser_required_at(parser, value, "metadata.name", NULL);
    *(Claim **)field = claim_template_parse(parser, value, name == NULL ? "" : name);
}

static json_t *
template_to_json(const void *field)
{
    json_t *claim = object_to_json(*(Object *const *)field);

    json_set_missing(json_object_get(claim, "metadata"), "creationTimestamp", json_null());
    return claim;
}

static const FieldType template_type = {
    FIELD_OBJECT,
    .parse = template_parse,
    .to_json = template_to_json,
};

const FieldType field_claim_templates = {FIELD_LIST_OF(template_type)};
