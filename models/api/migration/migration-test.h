/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/migration/private.h"

/* What only tests may call from outside of its file. */

/* Restricts each term of the volume's node affinity to these zones. */
gboolean topology_add(json_t *volume, const char *key, char **zones, GError **error);
void topology_replace(json_t *volume, const char *old_key, const char *new_key);
/* Each returns (owned): NULL with @error */
gboolean migration_azure_is_managed(const char *uri);
char *migration_azure_disk_name(const char *uri, GError **error);
char *migration_azure_account(const char *secret, GError **error);
char **migration_azure_share(const char *handle, GError **error); /* group, account, share, ... */
json_t *migration_gce_modes(const json_t *modes);
