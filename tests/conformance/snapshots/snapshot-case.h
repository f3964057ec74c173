/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/object-store.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/known.h"

/* What the cases of external-snapshotter's two programs share. */

/* The case in a form that the models take, while this lives: names that are made of a uid have the
 * uid that the object gets here, and times that the driver gives are SNAPSHOT_CASE_TIME. */
typedef struct {
    Case *self;
    const json_t *told;
    json_t *adapted;
} SnapshotCase;

SnapshotCase snapshot_case_begin(Case *self);
void snapshot_case_end(SnapshotCase *snapshot_case);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SnapshotCase, snapshot_case_end)

#define SNAPSHOT_CASE_TIME (INT64_C(1577836800) * SIM_SECOND) /* since 1970 */

/* "contents/content1-1". Returns: (borrowed): NULL: the case has failed */
ObjectKey *snapshot_case_subject(Case *self, const char *path);

/* Imports initial.<list> into the API. @process: (nullable): its informer gets them, too; @store:
 * (nullable): so do these copies */
void snapshot_case_import(Case *self, const char *list, Process *process, ObjectStore *store);
/* expected.error, .events, .snapshots, .contents, ..., and observed.writes with the objects of
 * creations and updates. An object that is being deleted may be gone or not: the recorded tests'
 * API deletes at once in spite of finalizers, and keeps what has lost its last one. */
void snapshot_case_compare(Case *self);
