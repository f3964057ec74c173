/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "migration.h"

/* An in-tree volume that is translated. */
typedef struct {
    const json_t *source;  /* its member in spec, or in the pod's volume */
    const json_t *volume;  /* the PersistentVolume; NULL: it stands in a pod */
    const char *name;      /* of the PersistentVolume, or of the volume in the pod */
    const char *namespace; /* of the pod; "" or of no pod */
} MigrationOrigin;

/* Labels and keys of places: see topology.c */
typedef char *(*RegionOfZones)(char **zones, GError **error);

typedef enum {
    PLUGIN_READ_ONLY = 1 << 0,       /* the CSI source has its readOnly */
    PLUGIN_NAMED_BY_HANDLE = 1 << 1, /* volumes of pods are called as their handle alone */
    PLUGIN_ZONE_PARAMETERS = 1 << 2, /* zone and zones of its classes are allowed topologies */
    PLUGIN_SHARED = 1 << 3,          /* volumes of pods are ReadWriteMany */
    PLUGIN_READERS = 1 << 4,         /* ... are ReadOnlyMany if they are read-only */
    PLUGIN_NAMED_BY_ID = 1 << 5,     /* ... are called by their id, not by their handle */
} PluginFlags;

struct InTreePlugin {
    const char *name;
    const char *driver;
    const char *source;                 /* "awsElasticBlockStore" */
    const char *id;                     /* the field of the source that identifies a volume */
    const char *class_key;              /* the driver's key of zones in classes; NULL: none */
    const char *zone_key, *region_key;  /* ... and of zones and regions in volumes */
    const char *migration, *unregister; /* feature gates */
    int gone;                           /* 1.gone is without the plugin's code */
    unsigned flags;                     /* PluginFlags */

    /* Each NULL: nothing special. */

    /* Returns: (owned): the driver's handle; NULL with @error */
    char *(*handle)(const MigrationOrigin *origin, GError **error);
    /* The rest of the CSI source */
    gboolean (*to_csi)(const MigrationOrigin *origin,
                       json_t *csi,
                       json_t *attributes,
                       GError **error);
    /* The rest of the in-tree source, and of the volume */
    gboolean (*from_csi)(json_t *volume, const json_t *csi, json_t *source, GError **error);
    /* @key: in small letters. Returns: FALSE: the parameter stays as it is */
    gboolean (*parameter)(json_t *parameters,
                          const char *key,
                          const char *given,
                          const char *value);
    /* The whole class, and the whole volume, at last */
    void (*finish_class)(json_t *class);
    void (*finish_volume)(json_t *volume);
    RegionOfZones region;
    char *(*repair)(const char *handle, const char *node_id, GError **error);
};

extern const InTreePlugin plugin_aws_ebs, plugin_azure_disk, plugin_azure_file, plugin_cinder,
    plugin_gce_pd, plugin_portworx, plugin_vsphere;

gboolean migration_fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The member's text; "" if it has none. */
const char *migration_text(const json_t *object, const char *key);
/* Sets a text, unless it is empty. */
void migration_set(json_t *object, const char *key, const char *value);
/* Returns: (borrowed): the mapping below @object, made if there is none */
json_t *migration_member(json_t *object, const char *key);
/* of {"name", "namespace"}. (owned) */
json_t *migration_secret(const char *name, const char *namespace);

/* Places (topology.c) */

#define ZONE_SEPARATOR "__" /* of a label that names several zones */

/* Returns: (owned): the zones of the volume's label; empty: there is no label */
char **topology_zones_of_label(const json_t *volume);
void topology_to_csi(json_t *volume, const InTreePlugin *plugin);
gboolean topology_from_csi(json_t *volume, const InTreePlugin *plugin, GError **error);
/* (owned): allowedTopologies with the driver's key of zones; @terms NULL: NULL */
json_t *topology_translate_terms(const json_t *terms, const char *zone_key);
/* (owned): allowedTopologies of one term */
json_t *topology_of_zones(const char *zone_key, char **zones);
