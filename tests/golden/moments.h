/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "curves.h"
#include "orders.h"
#include "words.h"

/* One run, recorded or simulated, in the same words: moments ("pod app ready", in seconds; a volume
 * has the name of its claim, because its own is drawn), counts of requests and calls ("csi-attacher
 * patch volumeattachments 200"), messages of Events, the order of steps about each object, and
 * curves of requests and new Events ("events csi.lab.example"). */
typedef struct Moments Moments;

typedef struct {
    const char *pod, *claim; /* NULL: a claim without a pod, a pod without claims */
    const char *snapshot;    /* NULL: a pod or a claim */
} GoldenPair;

Moments *moments_new(void);
void moments_free(Moments *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Moments, moments_free)

/* The first time. Returns: FALSE: never */
gboolean moments_find(const Moments *self, const char *name, double *at);
unsigned moments_n_pairs(const Moments *self);
const GoldenPair *moments_pair(const Moments *self, unsigned i);
/* Returns: (owned): the names of all counts */
GPtrArray *moments_counted(const Moments *self);
double moments_count(const Moments *self, const char *name);
const Curves *moments_curves(const Moments *self);
const Orders *moments_orders(const Moments *self);
