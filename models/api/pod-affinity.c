/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Affinity of pods to other pods, and how pods spread over a topology. The four lists of the API
 * (affinity and anti-affinity, required and preferred) are one list in PodSpec; a weight of 0 means
 * required. Terms never change once a pod exists, so printing takes the manifest's lists as they
 * are. */
#include <string.h>

#include "pod-private.h"

static const Field term_fields[] = {
    FIELD("labelSelector", field_label_selector, PodAffinityTerm, selector, FIELD_SPEC),
    FIELD("namespaces", field_string_list, PodAffinityTerm, namespaces, FIELD_SPEC),
    FIELD("topologyKey", field_string, PodAffinityTerm, topology_key, FIELD_REQUIRED),
    FIELDS_END,
};
static const Field weighted_term_fields[] = {
    /* clang-format off */
    FIELD("podAffinityTerm.labelSelector", field_label_selector, PodAffinityTerm, selector, FIELD_SPEC),
    FIELD("podAffinityTerm.namespaces", field_string_list, PodAffinityTerm, namespaces, FIELD_SPEC),
    FIELD("podAffinityTerm.topologyKey", field_string, PodAffinityTerm, topology_key, FIELD_REQUIRED),
    FIELD("weight", field_int, PodAffinityTerm, weight, FIELD_REQUIRED),
    FIELDS_END,
    /* clang-format on */
};
/* PodSpec has the four lists of pod affinity as one. */
static void
terms_parse(ApiParser *parser, const json_t *value, PodSpec *spec, gboolean anti, gboolean weighted)
{
    unsigned n;
    g_autofree PodAffinityTerm *terms = items_parse(
        parser, value, weighted ? weighted_term_fields : term_fields, sizeof *terms, &n);

    for (unsigned i = 0; i < n; i++) {
        terms[i].anti = anti;
        if (weighted && (terms[i].weight < 1 || terms[i].weight > 100)) {
            gsize length = api_parser_enter_index(parser, i);
            api_parser_fault_at(parser, json_array_get(value, i), "weight", NULL,
                                "Invalid value: %d: must be in the range 1-100", terms[i].weight);
            api_parser_leave(parser, length);
            terms[i].weight = 1; /* 0 would mean required */
        }
    }
    if (n == 0)
        return;
    spec->pod_terms = g_renew(PodAffinityTerm, spec->pod_terms, spec->n_pod_terms + n);
    memcpy(spec->pod_terms + spec->n_pod_terms, terms, n * sizeof terms[0]);
    spec->n_pod_terms += n;
}

static json_t *
terms_to_json(const PodSpec *spec, gboolean anti, gboolean weighted)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &spec->pod_terms[i];
        if (!term->anti == !anti && (term->weight > 0) == (weighted != FALSE))
            json_array_append_new(
                array, fields_to_json(weighted ? weighted_term_fields : term_fields, term, NULL));
    }
    if (json_array_size(array) == 0)
        g_clear_pointer(&array, json_decref);
    return array;
}

/* Terms never change, so a list of the same length keeps the manifest's other keys. */
static json_t *
terms_over(const PodSpec *spec, const json_t *manifest, gboolean anti, gboolean weighted)
{
    json_t *fresh = terms_to_json(spec, anti, weighted);

    if (fresh == NULL || json_array_size(fresh) != json_array_size(manifest))
        return fresh;
    json_decref(fresh);
    return json_incref((json_t *)manifest); /* only counted */
}

static gboolean
terms_equal(const void *a, const void *b)
{
    const PodSpec *x = a, *y = b;

    if (x->n_pod_terms != y->n_pod_terms)
        return FALSE;
    for (unsigned i = 0; i < x->n_pod_terms; i++)
        if (!fields_equal(term_fields, &x->pod_terms[i], &y->pod_terms[i]) ||
            x->pod_terms[i].weight != y->pod_terms[i].weight ||
            x->pod_terms[i].anti != y->pod_terms[i].anti)
            return FALSE;
    return TRUE;
}

#define AFFINITY_DEFINE(list, anti, weighted)                                                      \
    static void list##_parse(ApiParser *parser, const json_t *value, void *field)                  \
    {                                                                                              \
        terms_parse(parser, value, field, anti, weighted);                                         \
    }                                                                                              \
                                                                                                   \
    static json_t *list##_over(const void *field, const json_t *manifest)                          \
    {                                                                                              \
        return terms_over(field, manifest, anti, weighted);                                        \
    }                                                                                              \
                                                                                                   \
    const FieldType field_##list = {                                                               \
        .equal = terms_equal,                                                                      \
        .parse = list##_parse,                                                                     \
        .over = list##_over,                                                                       \
    };

AFFINITY_DEFINE(affinity_required, FALSE, FALSE)
AFFINITY_DEFINE(affinity_preferred, FALSE, TRUE)
AFFINITY_DEFINE(anti_affinity_required, TRUE, FALSE)
AFFINITY_DEFINE(anti_affinity_preferred, TRUE, TRUE)

static const FieldType unsatisfiable_type = {FIELD_WORDS("ScheduleAnyway", "DoNotSchedule")};

static const Field spread_fields[] = {
    FIELD("labelSelector", field_label_selector, SpreadConstraint, selector, FIELD_SPEC),
    FIELD("topologyKey", field_string, SpreadConstraint, topology_key, FIELD_REQUIRED),
    FIELD("maxSkew", field_int, SpreadConstraint, max_skew, FIELD_REQUIRED),
    FIELD("minDomains", field_count, SpreadConstraint, min_domains, FIELD_SPEC),
    FIELD(
        "whenUnsatisfiable", unsatisfiable_type, SpreadConstraint, do_not_schedule, FIELD_REQUIRED),
    FIELDS_END,
};
static void
spread_parse(ApiParser *parser, const json_t *value, void *field)
{
    PodSpec *spec = field;

    spec->spread = items_parse(parser, value, spread_fields, sizeof *spec->spread, &spec->n_spread);
    for (unsigned i = 0; i < spec->n_spread; i++) {
        const json_t *skew = json_path_get(json_array_get(value, i), "maxSkew");
        if (spec->spread[i].max_skew > 0 || !json_is_integer(skew))
            continue;
        gsize length = api_parser_enter_index(parser, i);
        api_parser_invalid_at(parser, json_array_get(value, i), "maxSkew", NULL,
                              "must be greater than zero");
        api_parser_leave(parser, length);
    }
}

static gboolean
spread_equal(const void *a, const void *b)
{
    const PodSpec *x = a, *y = b;

    return items_equal(spread_fields, x->spread, x->n_spread, y->spread, y->n_spread,
                       sizeof x->spread[0]);
}

static json_t *
spread_over(const void *field, const json_t *manifest)
{
    const PodSpec *spec = field;
    gboolean is_same = json_array_size(manifest) == spec->n_spread;
    json_t *array = spec->n_spread == 0 ? NULL : json_array();

    for (unsigned i = 0; i < spec->n_spread; i++)
        json_array_append_new(array, fields_to_json(spread_fields, &spec->spread[i],
                                                    is_same ? json_array_get(manifest, i) : NULL));
    return array;
}

const FieldType field_topology_spread = {
    .equal = spread_equal,
    .parse = spread_parse,
    .over = spread_over,
};
