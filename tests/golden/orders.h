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

/* Two successive steps of the recorded run, with the numbers of simulated runs that took both, and
 * in this order. */
typedef struct {
    OrderStep first, then;
    unsigned n_same, n_both;
} OrderPair;

/* @simulated: a GArray of OrderStep for each run. Returns: (owned): the pairs (OrderPair) of steps
 * of @recorded that any simulated run took */
GArray *orders_compare(const GArray *recorded, const GPtrArray *simulated);
