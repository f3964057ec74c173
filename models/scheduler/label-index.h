/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/selector.h"
#include "node-set.h"

/* Which nodes have a label: selectors become sets of nodes without a look at each. A label is
 * indexed when it is first asked for, and again after the nodes have changed. */
typedef struct LabelIndex LabelIndex;

LabelIndex *label_index_new(void);
void label_index_free(LabelIndex *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LabelIndex, label_index_free)

/* The labels of the node at a place of the list. */
typedef const StringMap *(*LabelsAt)(const void *data, unsigned place);
/* The list of nodes, or the labels of one, have changed. Keeps @data (borrowed) and reads it at the
 * next question. */
void label_index_reset(LabelIndex *self, LabelsAt labels_at, const void *data, unsigned n_nodes);

/**
 * label_index_add:
 * @set: of the list's size; the nodes that @selector admits, by their labels alone (VB-30), are
 * added Returns: FALSE: it asks for more than labels being there or having a value, so @set lacks
 * some
 */
gboolean label_index_add(LabelIndex *self, const NodeSelector *selector, NodeSet *set);
/* The same of a selector of labels. */
gboolean label_index_add_labels(LabelIndex *self, const LabelSelector *selector, NodeSet *set);
/* Leaves in @set only nodes with all these labels. */
void label_index_keep(LabelIndex *self, const StringMap *labels, NodeSet *set);
