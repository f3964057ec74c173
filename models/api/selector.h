/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "object.h"

/* Selectors of labels and nodes (API-62). Immutable, shared by reference; NULL: absent. */

typedef enum {
    SELECT_IN,
    SELECT_NOT_IN,
    SELECT_EXISTS,
    SELECT_DOES_NOT_EXIST,
    SELECT_GT,
    SELECT_LT,
} SelectOperator;

typedef struct {
    const char *key; /* interned */
    SelectOperator operator;
    StringList *values;
} SelectRequirement;

/* All requirements must hold. matchLabels become IN with one value. */
typedef struct {
    RefCount refs;
    unsigned n_requirements;
    SelectRequirement requirements[];
} LabelSelector;

LabelSelector *label_selector_new(const SelectRequirement *requirements,
                                  unsigned n); /* takes the values */
/* Returns: (owned): @self's requirements, and key In {value} for each pair. Both may be %NULL. */
LabelSelector *label_selector_with_pairs(const LabelSelector *self, const StringMap *pairs);
LabelSelector *label_selector_ref(const LabelSelector *self);
void label_selector_unref(LabelSelector *self);
gboolean label_selector_equal(const LabelSelector *a, const LabelSelector *b);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LabelSelector, label_selector_unref)
/* NULL matches nothing; a selector without requirements matches everything. */
gboolean label_selector_matches(const LabelSelector *self, const StringMap *labels);

/* One of several alternatives; its requirements must all hold. Without any it matches nothing. */
typedef struct {
    LabelSelector *expressions; /* on labels; NULL: none */
    const char *field_name;     /* matchFields metadata.name In [this]; NULL: none */
    int32_t weight;             /* of a preferred term */
} NodeSelectorTerm;

/* Terms are ORed: nodeSelectorTerms, or the preferred terms of an affinity. */
typedef struct {
    RefCount refs;
    unsigned n_terms;
    NodeSelectorTerm terms[];
} NodeSelector;

NodeSelector *node_selector_new(const NodeSelectorTerm *terms,
                                unsigned n); /* takes the expressions */
/* One term of key In {value} for each pair of each segment: the node affinity that
 * external-provisioner gives a volume. */
NodeSelector *node_selector_from_segments(const StringMap *const *segments, unsigned n);
NodeSelector *node_selector_ref(const NodeSelector *self);
void node_selector_unref(NodeSelector *self);
gboolean node_selector_equal(const NodeSelector *a, const NodeSelector *b);
gboolean node_selector_term_matches(const NodeSelectorTerm *term,
                                    const StringMap *labels,
                                    const char *node_name);
/* NULL matches (no constraint); no terms match nothing. @node_name: NULL: matchFields match nothing
 * (VB-30) */
gboolean
node_selector_matches(const NodeSelector *self, const StringMap *labels, const char *node_name);

/* StorageClass.allowedTopologies: terms ORed; in a term each key must be a label with one of the
 * values (VB-50). */
extern const FieldType field_label_selector;  /* LabelSelector * */
extern const FieldType field_node_selector;   /* NodeSelector *: {nodeSelectorTerms: [...]} */
extern const FieldType field_topology_terms;  /* NodeSelector *: [{matchLabelExpressions: [...]}] */
extern const FieldType field_preferred_nodes; /* NodeSelector *: [{weight, preference}] */
