/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "pod-private.h"

ClaimTemplate *
claim_template_new(const char *name, Claim *claim)
{
    ClaimTemplate *self = g_new(ClaimTemplate, 1);

    *self = (ClaimTemplate){REF_COUNT_ONE, name, claim};
    return self;
}

static void
claim_template_free(ClaimTemplate *self)
{
    object_unref(&self->claim->meta);
    g_free(self);
}

REF_COUNTED_DEFINE(ClaimTemplate, claim_template, claim_template_free)

gboolean
claim_template_equal(const ClaimTemplate *a, const ClaimTemplate *b)
{
    if (a == b)
        return TRUE;
    return a != NULL && b != NULL && g_strcmp0(a->name, b->name) == 0 &&
           object_equal(&a->claim->meta, &b->claim->meta);
}

ClaimTemplates *
claim_templates_new(ClaimTemplate *const *items, unsigned n)
{
    if (n == 0)
        return NULL;
    ClaimTemplates *self = g_malloc(sizeof *self + n * sizeof items[0]);
    self->refs = REF_COUNT_ONE;
    self->n_items = n;
    memcpy(self->items, items, n * sizeof items[0]);
    return self;
}

static void
claim_templates_free(ClaimTemplates *self)
{
    for (unsigned i = 0; i < self->n_items; i++)
        claim_template_unref(self->items[i]);
    g_free(self);
}

static UNREF_DEFINE(ClaimTemplates, claim_templates, claim_templates_free)

    ClaimTemplate *claim_template_parse(ApiParser *parser, const json_t *value, const char *name)
{
    ObjectKey *key = objects_key(parser->objects, KIND_CLAIM, NULL, name);

    return claim_template_new(key->name, CLAIM(api_parser_template(parser, value, key)));
}

static void
claim_templates_parse(ApiParser *parser, const json_t *value, void *field)
{
    ClaimTemplates **templates = field;
    g_autoptr(GPtrArray) found = g_ptr_array_new();

    if (!api_parser_expect(parser, value, JSON_ARRAY))
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        const char *name = json_path_string(item, "metadata.name");
        gsize length = api_parser_enter_index(parser, (unsigned)i);
        if (!api_parser_expect(parser, item, JSON_OBJECT)) {
            api_parser_leave(parser, length);
            continue;
        }
        if (name == NULL || name[0] == '\0')
            api_parser_required_at(parser, item, "metadata.name", NULL);
        g_ptr_array_add(found, claim_template_parse(parser, item, name == NULL ? "" : name));
        api_parser_leave(parser, length);
    }
    claim_templates_unref(*templates);
    *templates = claim_templates_new((ClaimTemplate *const *)found->pdata, found->len);
}

static json_t *
claim_templates_to_json(const void *field)
{
    const ClaimTemplates *templates = *(ClaimTemplates *const *)field;

    if (templates == NULL)
        return NULL;
    json_t *array = json_array();
    for (unsigned i = 0; i < templates->n_items; i++) {
        json_t *claim = object_to_json(&templates->items[i]->claim->meta);
        json_t *metadata = json_object_get(claim, "metadata");
        if (json_object_get(metadata, "creationTimestamp") == NULL)
            json_object_set_new(metadata, "creationTimestamp", json_null());
        json_array_append_new(array, claim);
    }
    return array;
}

static gboolean
claim_templates_equal(const ClaimTemplates *a, const ClaimTemplates *b)
{
    if (a->n_items != b->n_items)
        return FALSE;
    for (unsigned i = 0; i < a->n_items; i++)
        if (!claim_template_equal(a->items[i], b->items[i]))
            return FALSE;
    return TRUE;
}

const FieldType field_claim_templates = {
    FIELD_SHARED(claim_templates),
    .parse = claim_templates_parse,
    .to_json = claim_templates_to_json,
};
