/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "claim-strategy.h"

#include <string.h>

ClaimGates
claim_gates_of(const Release *release)
{
    return (ClaimGates){
        .attributes_classes = release_has_gate(release, "VolumeAttributesClass"),
        .any_source = release_has_gate(release, "AnyVolumeDataSource"),
        .cross_namespace = release_has_gate(release, "CrossNamespaceVolumeDataSource"),
        .recovers = release_has_gate(release, "RecoverVolumeExpansionFailure"),
    };
}

static gboolean
has_namespace(const DataSource *source)
{
    return source->namespace != NULL && source->namespace[0] != '\0';
}

/* Which fields the claim has. */
static uint32_t
forms_of(const Claim *claim)
{
    const DataSource *source = &claim->data_source;

    if (source->kind == NULL)
        return 0;
    if (source->forms != 0)
        return source->forms;
    return has_namespace(source) ? DATA_SOURCE_REF : DATA_SOURCE_OLD | DATA_SOURCE_REF;
}

static void
set_forms(Claim *claim, uint32_t forms)
{
    claim->data_source.forms = forms;
    if (forms == 0)
        claim->data_source = (DataSource){0};
}

void
claim_drop_disabled_fields(Claim *claim, const Claim *before, const ClaimGates *gates)
{
    gboolean has_reference = before != NULL && (forms_of(before) & DATA_SOURCE_REF) != 0;

    if (!gates->attributes_classes && (before == NULL || before->attributes_class == NULL))
        claim->attributes_class = NULL;
    if (has_reference || (forms_of(claim) & DATA_SOURCE_REF) == 0)
        return;
    if (!gates->any_source || (!gates->cross_namespace && has_namespace(&claim->data_source)))
        set_forms(claim, forms_of(claim) & ~(uint32_t)DATA_SOURCE_REF);
}

void
claim_drop_disabled_status(Claim *claim, const Claim *before, const ClaimGates *gates)
{
    if (!gates->attributes_classes) {
        if (before == NULL || before->current_attributes_class == NULL)
            claim->current_attributes_class = NULL;
        if (before == NULL || before->modify_status == NULL)
            claim->modify_target = claim->modify_status = NULL;
    }
    if (!gates->recovers) {
        if (before == NULL || before->allocated_bytes == 0)
            claim->allocated_bytes = 0;
        if (before == NULL || before->resize_status == NULL)
            claim->resize_status = NULL;
    }
}

static gboolean
is_claim_or_snapshot(const DataSource *source)
{
    const char *group = source->api_group == NULL ? "" : source->api_group;

    return (strcmp(source->kind, "PersistentVolumeClaim") == 0 && group[0] == '\0') ||
           (strcmp(source->kind, "VolumeSnapshot") == 0 &&
            strcmp(group, "snapshot.storage.k8s.io") == 0);
}

void
claim_drop_odd_source(Claim *claim, const Claim *before)
{
    if ((before == NULL || forms_of(before) == 0) && forms_of(claim) == DATA_SOURCE_OLD &&
        !is_claim_or_snapshot(&claim->data_source))
        set_forms(claim, 0);
}

void
claim_normalize_sources(Claim *claim, const ClaimGates *gates)
{
    if (gates->any_source && forms_of(claim) != 0 &&
        (forms_of(claim) != DATA_SOURCE_REF || !has_namespace(&claim->data_source)))
        set_forms(claim, DATA_SOURCE_OLD | DATA_SOURCE_REF);
}
