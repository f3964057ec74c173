/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scenario-private.h"

/* The checks of names in a scenario. check.c gathers what is there; check-names.c looks names up;
 * check-manifests.c, check-actions.c and check-parsed.c check them. */

typedef struct {
    Loader *loader;
    GHashTable *known;       /* ObjectKey -> its first ManifestInfo */
    GHashTable *class_names; /* classes that volumes have: those need no StorageClass */
    GHashTable *node_names;  /* all nodes */
    GPtrArray *node_list;    /* the same, for patterns */
    GHashTable *driver_names;
} Checker;

/* ---- check-names.c ---- */

/* A fault at @path of a manifest. @hint: NULL: none */
void checker_fault(Checker *self,
                   const ManifestInfo *info,
                   const char *path,
                   const char *hint,
                   const char *format,
                   ...) G_GNUC_PRINTF(5, 6);

/* Returns: (borrowed): the first manifest of an object of this name; NULL: there is none */
const ManifestInfo *
checker_find(const Checker *self, ObjectKind kind, const char *namespace, const char *name);
/* Whether there is such an object, or one may be made. @from: the manifest that names it; NULL: the
 * scenario */
gboolean checker_has(const Checker *self,
                     ObjectKind kind,
                     const char *namespace,
                     const char *name,
                     const ManifestInfo *from);
/* Returns: (owned): a hint at the nearest name of that kind; NULL: none is near */
char *checker_nearest(const Checker *self, ObjectKind kind, const char *name);
/* The same of a name in a manifest, which may be that of numbered copies. */
char *checker_hint(const Checker *self, ObjectKind kind, const char *namespace, const char *name);
/* Whether @info is made in copies ("web-0"); an object "web" is not there then. */
gboolean checker_is_numbered(const Checker *self, const ManifestInfo *info);
/* Whether @maker makes objects of this kind, whose names are not known before. */
gboolean object_makes(const Object *maker, ObjectKind kind);

/* ---- The checks ---- */

void checker_check_manifest(Checker *self, const ManifestInfo *info);
void checker_check_drivers(Checker *self);
void checker_check_actions(Checker *self);
void checker_check_expects(Checker *self);
/* Node groups: their nodes must be such as the API server accepts. */
void checker_check_nodes(Checker *self);
/* What a patch makes of a sound object must be sound. */
void checker_check_patch(Checker *self, const ScenarioAction *action, const ActionFields *fields);
