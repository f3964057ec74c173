/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "models/api/release.h"

/* In-tree plugins whose volumes a CSI driver takes over: the driver of each plugin, and what
 * becomes of classes, PersistentVolumes and pods' volumes (k8s.io/csi-translation-lib). All objects
 * are manifests; the arguments stay unchanged. */

#define ANNOTATION_MIGRATED_PLUGINS                                                                \
    "storage.alpha.kubernetes.io/migrated-plugins" /* of a CSINode */

typedef struct InTreePlugin InTreePlugin;

/* Each returns (borrowed): NULL: no such plugin migrates */
const InTreePlugin *in_tree_plugin_find(const char *name); /* "kubernetes.io/aws-ebs", or NULL */
const InTreePlugin *in_tree_plugin_of_driver(const char *driver);   /* "ebs.csi.aws.com" */
const InTreePlugin *in_tree_plugin_of_key(const char *key);         /* "awsElasticBlockStore" */
const InTreePlugin *in_tree_plugin_of_source(const json_t *source); /* a PersistentVolume's spec,
                                                                       or a volume of a pod */
/* All, sorted by name; NULL: @i is behind the last */
const InTreePlugin *in_tree_plugin_at(unsigned i);
const char *in_tree_plugin_name(const InTreePlugin *self);
const char *in_tree_plugin_driver(const InTreePlugin *self);
const char *in_tree_plugin_source(const InTreePlugin *self); /* "awsElasticBlockStore" */
/* The driver's key of zones in volumes; NULL: none */
const char *in_tree_plugin_zone_key(const InTreePlugin *self);

/* Each returns (owned): NULL with @error: the manifest has something that does not translate */

/* A StorageClass, for the driver. Portworx' gets the driver's name, others keep their provisioner
 */
json_t *in_tree_plugin_class_to_csi(const InTreePlugin *self, const json_t *class, GError **error);
/* A PersistentVolume with spec.csi in place of its own source. @volume: (nullable): refused */
json_t *
in_tree_plugin_volume_to_csi(const InTreePlugin *self, const json_t *volume, GError **error);
/* A PersistentVolume for a volume that stands in a pod. @namespace: of the pod; may be "" */
json_t *in_tree_plugin_inline_to_csi(const InTreePlugin *self,
                                     const json_t *volume,
                                     const char *namespace,
                                     GError **error);
/* The way back: what the API keeps of a volume that the driver has made. */
json_t *
in_tree_plugin_volume_from_csi(const InTreePlugin *self, const json_t *volume, GError **error);
/* Returns: (owned): @handle with what the driver's id of a node tells of unknown parts; NULL with
 * @error */
char *in_tree_plugin_repair_handle(const InTreePlugin *self,
                                   const char *handle,
                                   const char *node_id,
                                   GError **error);

/* Whether components of this release, with these gates, hand the plugin's volumes to CSI. */
gboolean in_tree_plugin_is_migrated(const InTreePlugin *self, const Release *release);
/* ... and have no plugin of their own any more. */
gboolean in_tree_plugin_is_gone(const InTreePlugin *self, const Release *release);
