/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "reference-grant.h"

#include <string.h>

#include "fields.h"

static const Field party_fields[] = {
    FIELD("group", field_word, GrantParty, group, FIELD_SPEC),
    FIELD("kind", field_string, GrantParty, kind, FIELD_REQUIRED),
    FIELD("namespace", field_word, GrantParty, namespace, FIELD_SPEC),
    FIELD("name", field_word, GrantParty, name, FIELD_SPEC),
    FIELDS_END,
};

static REF_LIST_DEFINE(GrantParties, GrantParty, grant_parties)

    static UNREF_DEFINE(GrantParties, grant_parties, g_free)

        static gboolean grant_parties_equal(const GrantParties *a, const GrantParties *b)
{
    return items_equal(party_fields, a->items, a->n_items, b->items, b->n_items,
                       sizeof a->items[0]);
}

static void
parties_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const GrantParty initial;
    GrantParties **parties = field;
    unsigned n;
    g_autofree GrantParty *items =
        items_parse(parser, value, party_fields, &initial, sizeof initial, &n);

    grant_parties_unref(*parties);
    *parties = grant_parties_new(items, n);
}

static json_t *
parties_to_json(const void *field)
{
    const GrantParties *parties = *(GrantParties *const *)field;

    return parties == NULL ? NULL
                           : items_to_json(party_fields, parties->items, parties->n_items,
                                           sizeof parties->items[0], NULL);
}

FIELD_SHARED_DEFINE(GrantParties, grant_parties)

static const FieldType parties_type = {
    .name = "parties of a grant",
    FIELD_SHARED(grant_parties),
    .parse = parties_parse,
    .to_json = parties_to_json,
};

static const Field grant_fields[] = {
    FIELD("spec.from", parties_type, ReferenceGrant, from, FIELD_REQUIRED),
    FIELD("spec.to", parties_type, ReferenceGrant, to, FIELD_REQUIRED),
    FIELDS_END,
};

const KindClass reference_grant_kind = {
    .kind = "ReferenceGrant",
    .api_version = "gateway.networking.k8s.io/v1beta1",
    .resource = "referencegrants",
    .size = sizeof(ReferenceGrant),
    .fields = grant_fields,
    .namespaced = TRUE,
};

static gboolean
is_same(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

gboolean
reference_grant_admits(const ReferenceGrant *self, const Claim *claim)
{
    const DataSource *source = &claim->data_source;
    gboolean is_from = FALSE;

    for (unsigned i = 0; self->from != NULL && i < self->from->n_items; i++) {
        const GrantParty *from = &self->from->items[i];
        is_from |= is_same(from->group, "") && is_same(from->kind, "PersistentVolumeClaim") &&
                   is_same(from->namespace, claim->meta.key->namespace);
    }
    for (unsigned i = 0; is_from && self->to != NULL && i < self->to->n_items; i++) {
        const GrantParty *to = &self->to->items[i];
        if (is_same(to->group, source->api_group) && is_same(to->kind, source->kind) &&
            (is_same(to->name, "") || is_same(to->name, source->name)))
            return TRUE;
    }
    return FALSE;
}
