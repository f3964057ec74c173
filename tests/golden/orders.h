/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* In which order one run wrote its objects and called the driver about them: of each object the
 * steps, with their instants. */
typedef struct Orders Orders;

/* "csi-provisioner create persistentvolumes 200", the @nth of its kind for these objects, from 1.
 */
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
/* The steps of several objects together, by time; @objects ends with NULL. Returns: (owned): of
 * OrderStep */
GArray *orders_of(const Orders *self, const char *const *objects);

/* Two steps that the recorded run took one after the other, and how many of the simulated runs that
 * took both did so. */
typedef struct {
    OrderStep first, then;
    unsigned n_same, n_both;
} OrderPair;

/* All pairs of @recorded's steps, as simulated: @simulated has a GArray of OrderStep for each run.
 * Pairs of no run are left out. Returns: (owned): of OrderPair */
GArray *orders_compare(const GArray *recorded, const GPtrArray *simulated);
