/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* What a driver remembers, in one SQLite file: it survives the end of the process at any instant.
 * Changes are kept until csi_store_commit() writes them together; nobody is told of a change that
 * is not written. */
typedef struct CsiStore CsiStore;

#define CSI_STORE_ERROR (csi_store_error_quark())
GQuark csi_store_error_quark(void);
typedef enum {
    CSI_STORE_ERROR_TAKEN,   /* another process has it */
    CSI_STORE_ERROR_FOREIGN, /* it is no such file, or another driver's */
    CSI_STORE_ERROR_IO,
} CsiStoreError;

/* In the order in which they are read back. */
typedef enum {
    CSI_STORE_NODE,
    CSI_STORE_VOLUME,
    CSI_STORE_SNAPSHOT,
    CSI_STORE_GROUP,
    CSI_STORE_N_KINDS,
} CsiStoreKind;

/* @folder: made if there is none. @driver: its name. Returns: (owned): %NULL with @error */
CsiStore *csi_store_open(const char *folder, const char *driver, GError **error);
void csi_store_close(CsiStore *self); /* %NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsiStore, csi_store_close)

/* @record: (borrowed): has "id" and, if the order matters, "sequence"; %NULL: there is no such
 * object any more */
gboolean csi_store_put(
    CsiStore *self, CsiStoreKind kind, const char *id, const json_t *record, GError **error);
/* Returns: %FALSE with @error: nothing since the last commit is written */
gboolean csi_store_commit(CsiStore *self, GError **error);
/* Calls @visit for all records, kind by kind, in the order of their sequence. Returns: %FALSE with
 * @error */
gboolean csi_store_each(CsiStore *self,
                        void (*visit)(void *data, CsiStoreKind kind, const json_t *record),
                        void *data,
                        GError **error);
