/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scenario-private.h"

/* The checks of names in a scenario: check.c collects the objects; check-names.c looks names up;
 * check-manifests.c, check-actions.c and check-parsed.c use them. */

typedef struct {
    Loader *loader;
    GHashTable *known;       /* ObjectKey -> its first ManifestInfo */
    GHashTable *class_names; /* classes of volumes: these need no StorageClass */
    GHashTable *node_names;  /* all nodes */
    GPtrArray *node_list;    /* the same, for patterns */
    GHashTable *driver_names;
} Checker;

/* ---- check-names.c ---- */

/* Reports a fault at @path of a manifest. @hint: NULL: none */
void checker_fault(Checker *self,
                   const ManifestInfo *info,
                   const char *path,
                   const char *hint,
                   const char *format,
                   ...) G_GNUC_PRINTF(5, 6);

/* Returns: (borrowed): the first manifest of this object; NULL: none */
const ManifestInfo *
checker_find(const Checker *self, ObjectKind kind, const char *namespace, const char *name);
/* Whether such an object exists or may be made. @from: the manifest with the reference; NULL: the
 * scenario */
gboolean checker_has(const Checker *self,
                     ObjectKind kind,
                     const char *namespace,
                     const char *name,
                     const ManifestInfo *from);
/* Returns: (owned): a hint at the nearest name of that kind; NULL: no name is near */
char *checker_nearest(const Checker *self, ObjectKind kind, const char *name);
/* The same for a name in a manifest, where it may belong to numbered copies. */
char *checker_hint(const Checker *self, ObjectKind kind, const char *namespace, const char *name);
/* Whether @info is created in copies ("web-0"): an object "web" does not exist then. */
gboolean checker_is_numbered(const Checker *self, const ManifestInfo *info);
/* Whether a controller makes objects of this kind for @maker: their names are not known before. */
gboolean object_makes(const Object *maker, ObjectKind kind);

/* ---- The checks ---- */

void checker_check_manifest(Checker *self, const ManifestInfo *info);
void checker_check_drivers(Checker *self);
void checker_check_actions(Checker *self);
void checker_check_expects(Checker *self);
/* Checks that the API server would accept the nodes of each group. */
void checker_check_nodes(Checker *self);
/* Checks that a sound object is still sound after the patch. */
void checker_check_patch(Checker *self, const ScenarioAction *action, const ActionFields *fields);
