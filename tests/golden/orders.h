/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The order of one run's writes and calls of drivers: the steps of each object, with their
 * instants. */
typedef struct Orders Orders;

/* "csi-provisioner create persistentvolumes 200", the @nth of its kind for these objects, from 1 */
typedef struct {
    const char *what; /* interned */
    unsigned nth;
    double at; /* seconds */
} OrderStep;

Orders *orders_new(void);
void orders_free(Orders *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Orders, orders_free)

/* In any order. @object: "pod app" */
void orders_add(Orders *self, const char *object, const char *what, double at);
/* @objects: ends with NULL. Returns: (owned): their steps together (OrderStep), by time */
GArray *orders_of(const Orders *self, const char *const *objects);

/* Two steps of the recorded run, with the numbers of simulated runs that took both, and in this
 * order. */
typedef struct {
    OrderStep first, then;
    unsigned n_same, n_both;
} OrderPair;

/* Returns: (owned): all pairs (OrderPair) of steps of @recorded, not counted yet */
GArray *orders_pairs(const GArray *recorded);
/* Adds a simulated run's steps to the counts of @pairs, which are those of @recorded. */
void orders_count(GArray *pairs, const GArray *recorded, const GArray *drawn);
