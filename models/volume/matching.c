/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a volume fits a claim: size, class, access modes, volume mode, selector, node affinity.
 * Judges one volume; searches are those of the PV controller and the scheduler, which choose the
 * smallest. Each refusal names its rule. */
#include "models/volume/matching.h"
#include "sim/order.h"

#include <string.h>

/* Names of VolumeAttributesClasses: absent and "" are the same. 1.18 had none (PVC-34). */
static const char *
attributes_class_or_empty(const char *name)
{
    return name == NULL ? "" : name;
}

static gboolean
attributes_classes_differ(const Claim *claim, const Volume *volume)
{
    return strcmp(attributes_class_or_empty(claim->attributes_class),
                  attributes_class_or_empty(volume->attributes_class)) != 0;
}

static gboolean
has_attributes_class(const char *name)
{
    return attributes_class_or_empty(name)[0] != '\0';
}

/* A size too large for capacity_bytes, in units of 10^18 bytes. Only tests of Kubernetes have such
 * volumes. */
static double
huge_size(const json_t *resources)
{
    static const struct {
        const char *text;
        double factor;
    } suffixes[] = {
        {"E",  1                   },
        {"Ei", 1.152921504606846976},
        {"P",  1e-3                },
        {"",   1e-18               }
    };
    const char *text = json_string_value(json_object_get(resources, "storage"));
    char *suffix;
    double value = text == NULL ? 0 : g_ascii_strtod(text, &suffix);

    for (unsigned i = 0; text != NULL && i < G_N_ELEMENTS(suffixes); i++)
        if (strcmp(suffix, suffixes[i].text) == 0)
            return value * suffixes[i].factor;
    return 0;
}

static double
huge_capacity(const Volume *volume)
{
    return huge_size(json_object_get(json_object_get(volume->meta.manifest, "spec"), "capacity"));
}

static double
huge_request(const Claim *claim)
{
    const json_t *spec = json_object_get(claim->meta.manifest, "spec");

    return huge_size(json_object_get(json_object_get(spec, "resources"), "requests"));
}

int
volume_compare_capacity(const Volume *a, const Volume *b)
{
    if (a->capacity_bytes != b->capacity_bytes)
        return a->capacity_bytes < b->capacity_bytes ? -1 : 1;
    if (a->capacity_bytes < INT64_MAX)
        return 0;
    double x = huge_capacity(a), y = huge_capacity(b);
    return ORDER(x, y);
}

static gboolean
volume_holds(const Volume *volume, const Claim *claim)
{
    if (claim->request_bytes < INT64_MAX)
        return volume->capacity_bytes >= claim->request_bytes;
    return volume->capacity_bytes == INT64_MAX && huge_capacity(volume) >= huge_request(claim);
}

/* A judgement and its rule, in one return. */
static MatchVerdict
because(MatchVerdict verdict, const char *rule, const char **out)
{
    if (out != NULL)
        *out = rule;
    return verdict;
}

/* Further tests for a volume that is not reserved for the claim. */
static MatchVerdict
judge_free_volume(const MatchQuery *query, const Volume *volume, const char **rule)
{
    const Claim *claim = query->claim;

    if (query->delayed)
        return because(MATCH_SKIP, "PVC-32.9", rule);
    if (volume->phase != VOLUME_AVAILABLE)
        return because(MATCH_SKIP, "PVC-32.10", rule);
    if (claim->selector != NULL && !label_selector_matches(claim->selector, volume->meta.labels))
        return because(MATCH_SKIP, "PVC-32.11", rule);
    if (strcmp(claim_class(claim), volume_class(volume)) != 0)
        return because(MATCH_SKIP, "PVC-32.12", rule);
    return because(MATCH_CANDIDATE, "PVC-32.14", rule);
}

MatchVerdict
volume_match_judge(const MatchQuery *query, const Volume *volume, const char **rule)
{
    const Claim *claim = query->claim;
    gboolean is_reserved = volume->claim_ref.claim != NULL && volume_is_bound_to(volume, claim);

    if (volume->claim_ref.claim != NULL && !is_reserved)
        return because(MATCH_SKIP, "PVC-32.2", rule);
    if (!volume_holds(volume, claim))
        return because(MATCH_SKIP, "PVC-32.3", rule);
    if (volume->volume_mode != claim->volume_mode)
        return because(MATCH_SKIP, "PVC-32.4", rule);
    if (!query->attributes_classes && has_attributes_class(claim->attributes_class))
        return because(MATCH_REFUSED, "PVC-32.5", rule);
    if (query->attributes_classes ? attributes_classes_differ(claim, volume)
                                  : has_attributes_class(volume->attributes_class))
        return because(MATCH_SKIP, "PVC-32.5", rule);
    if (object_is_deleted(&volume->meta))
        return because(MATCH_SKIP, "PVC-32.6", rule);
    if (is_reserved)
        return because(MATCH_RESERVED, "PVC-32.8", rule);
    return judge_free_volume(query, volume, rule);
}

const char *
volume_mismatch(const Claim *claim,
                const Volume *volume,
                gboolean attributes_classes,
                Strings *strings)
{
    if (object_is_deleted(&volume->meta))
        return strings_internf(strings, "the volume is marked for deletion \"%s\"",
                               object_name(&volume->meta));
    if (volume->capacity_bytes < claim->request_bytes)
        return "requested PV is too small";
    if (strcmp(claim_class(claim), volume_class(volume)) != 0)
        return "storageClassName does not match";
    if (attributes_classes && attributes_classes_differ(claim, volume))
        return "volumeAttributesClassName does not match";
    if (!attributes_classes && (has_attributes_class(claim->attributes_class) ||
                                has_attributes_class(volume->attributes_class)))
        return "volumeAttributesClassName is not supported when the feature-gate "
               "VolumeAttributesClass is disabled";
    if (volume->volume_mode != claim->volume_mode)
        return "incompatible volumeMode";
    if (!access_modes_include(volume->access_modes, claim->access_modes))
        return "incompatible accessMode";
    return NULL;
}
