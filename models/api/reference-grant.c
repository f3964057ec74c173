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

static const FieldType parties_type = {FIELD_LIST(GrantParty, party_fields)};

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
reference_grant_is_same(const char *a, const char *b)
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
        is_from |= reference_grant_is_same(from->group, "") &&
                   reference_grant_is_same(from->kind, "PersistentVolumeClaim") &&
                   reference_grant_is_same(from->namespace, claim->meta.key->namespace);
    }
    for (unsigned i = 0; is_from && self->to != NULL && i < self->to->n_items; i++) {
        const GrantParty *to = &self->to->items[i];
        if (reference_grant_is_same(to->group, source->api_group) &&
            reference_grant_is_same(to->kind, source->kind) &&
            (reference_grant_is_same(to->name, "") ||
             reference_grant_is_same(to->name, source->name)))
            return TRUE;
    }
    return FALSE;
}
