/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: state of a driver that real callers use */
/* The memory of a served driver in a file of SQLite: a row for each volume, snapshot and group, as
 * JSON with its place in the order of creation. One process has the file, so no foreign lock holds
 * up a call, and a killed process leaves no lock. Changes of a turn are one transaction. A file of
 * another driver, or of a newer version, is refused. */
#include "store.h"

#include <sqlite3.h>
#include <string.h>

#define SCHEMA_VERSION 1
#define APPLICATION_ID 0x6b637369 /* "kcsi" */

struct CsiStore {
    sqlite3 *db;
    char *file;
    sqlite3_stmt *put, *remove;
    gboolean is_open; /* a transaction */
};

G_DEFINE_QUARK(kvolsim - csi - store - error, csi_store_error)

static gboolean
store_fail(const CsiStore *self, GError **error)
{
    int code = sqlite3_errcode(self->db);
    CsiStoreError kind = code == SQLITE_BUSY     ? CSI_STORE_ERROR_TAKEN
                         : code == SQLITE_NOTADB ? CSI_STORE_ERROR_FOREIGN
                                                 : CSI_STORE_ERROR_IO;

    g_set_error(error, CSI_STORE_ERROR, kind, "%s: %s", self->file,
                kind == CSI_STORE_ERROR_TAKEN ? "another process has it"
                                              : sqlite3_errmsg(self->db));
    return FALSE;
}

static gboolean
store_execute(CsiStore *self, const char *sql, GError **error)
{
    return sqlite3_exec(self->db, sql, NULL, NULL, NULL) == SQLITE_OK || store_fail(self, error);
}

static gboolean
store_prepare(CsiStore *self, const char *sql, sqlite3_stmt **statement, GError **error)
{
    return sqlite3_prepare_v2(self->db, sql, -1, statement, NULL) == SQLITE_OK ||
           store_fail(self, error);
}

/* Returns: %FALSE with @error */
static gboolean
store_number_of(CsiStore *self, const char *sql, int64_t *number, GError **error)
{
    sqlite3_stmt *statement;

    if (!store_prepare(self, sql, &statement, error))
        return FALSE;
    gboolean ok = sqlite3_step(statement) == SQLITE_ROW;
    *number = ok ? sqlite3_column_int64(statement, 0) : 0;
    if (!ok)
        store_fail(self, error);
    sqlite3_finalize(statement);
    return ok;
}

/* One process has the file, so nobody else's lock holds up a call. A killed process leaves no lock.
 */
static const char settings[] = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
                               "PRAGMA synchronous=NORMAL; BEGIN EXCLUSIVE; COMMIT;";

static const char schema[] =
    "BEGIN; CREATE TABLE about (driver TEXT NOT NULL);"
    "CREATE TABLE record (kind INTEGER, id TEXT, sequence INTEGER NOT NULL, json TEXT NOT NULL,"
    "  PRIMARY KEY (kind, id)) WITHOUT ROWID;"
    "PRAGMA application_id=1801679721; PRAGMA user_version=1; COMMIT;";
G_STATIC_ASSERT(APPLICATION_ID == 1801679721 && SCHEMA_VERSION == 1);

static gboolean
check_driver(CsiStore *self, const char *driver, GError **error)
{
    sqlite3_stmt *statement;
    gboolean ok = TRUE;

    if (!store_prepare(self, "SELECT driver FROM about", &statement, error))
        return FALSE;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        ok = found != NULL && strcmp(found, driver) == 0;
        if (!ok)
            g_set_error(error, CSI_STORE_ERROR, CSI_STORE_ERROR_FOREIGN,
                        "%s: is the state of driver %s, not of %s", self->file,
                        found != NULL ? found : "?", driver);
        sqlite3_finalize(statement);
        return ok;
    }
    sqlite3_finalize(statement);
    if (!store_prepare(self, "INSERT INTO about VALUES (?1)", &statement, error))
        return FALSE;
    sqlite3_bind_text(statement, 1, driver, -1, SQLITE_STATIC);
    ok = sqlite3_step(statement) == SQLITE_DONE || store_fail(self, error);
    sqlite3_finalize(statement);
    return ok;
}

static gboolean
prepare_file(CsiStore *self, const char *driver, GError **error)
{
    int64_t application, version;

    if (!store_execute(self, settings, error) ||
        !store_number_of(self, "PRAGMA application_id", &application, error) ||
        !store_number_of(self, "PRAGMA user_version", &version, error))
        return FALSE;
    if (application == 0 && version == 0) {
        if (!store_execute(self, schema, error))
            return FALSE;
    } else if (application != APPLICATION_ID || version != SCHEMA_VERSION) {
        g_set_error(error, CSI_STORE_ERROR, CSI_STORE_ERROR_FOREIGN,
                    "%s: is no state of a driver, or of another version of kvolsim", self->file);
        return FALSE;
    }
    return check_driver(self, driver, error) &&
           store_prepare(self, "INSERT OR REPLACE INTO record VALUES (?1, ?2, ?3, ?4)", &self->put,
                         error) &&
           store_prepare(self, "DELETE FROM record WHERE kind = ?1 AND id = ?2", &self->remove,
                         error);
}

CsiStore *
csi_store_open(const char *folder, const char *driver, GError **error)
{
    g_autoptr(CsiStore) self = g_new0(CsiStore, 1);

    self->file = g_build_filename(folder, "csi.sqlite", NULL);
    if (g_mkdir_with_parents(folder, 0700) != 0 ||
        sqlite3_open(self->file, &self->db) != SQLITE_OK) {
        g_set_error(error, CSI_STORE_ERROR, CSI_STORE_ERROR_IO, "%s: cannot be opened", self->file);
        return NULL;
    }
    return prepare_file(self, driver, error) ? g_steal_pointer(&self) : NULL;
}

void
csi_store_close(CsiStore *self)
{
    if (self == NULL)
        return;
    sqlite3_finalize(self->put);
    sqlite3_finalize(self->remove);
    sqlite3_close(self->db);
    g_free(self->file);
    g_free(self);
}

gboolean
csi_store_put(
    CsiStore *self, CsiStoreKind kind, const char *id, const json_t *record, GError **error)
{
    sqlite3_stmt *statement = record != NULL ? self->put : self->remove;
    g_autofree char *text =
        record != NULL ? json_dumps(record, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (!self->is_open && !store_execute(self, "BEGIN", error))
        return FALSE;
    self->is_open = TRUE;
    sqlite3_bind_int(statement, 1, kind);
    sqlite3_bind_text(statement, 2, id, -1, SQLITE_STATIC);
    if (record != NULL) {
        sqlite3_bind_int64(statement, 3, json_integer_value(json_object_get(record, "sequence")));
        sqlite3_bind_text(statement, 4, text, -1, SQLITE_STATIC);
    }
    gboolean ok = sqlite3_step(statement) == SQLITE_DONE || store_fail(self, error);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return ok;
}

gboolean
csi_store_commit(CsiStore *self, GError **error)
{
    if (!self->is_open)
        return TRUE;
    self->is_open = FALSE;
    if (store_execute(self, "COMMIT", error))
        return TRUE;
    store_execute(self, "ROLLBACK", NULL);
    return FALSE;
}

gboolean
csi_store_each(CsiStore *self,
               void (*visit)(void *data, CsiStoreKind kind, const json_t *record),
               void *data,
               GError **error)
{
    sqlite3_stmt *statement;
    int code;

    if (!store_prepare(self, "SELECT kind, json FROM record ORDER BY kind, sequence, id",
                       &statement, error))
        return FALSE;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        json_auto_t *record = json_loads((const char *)sqlite3_column_text(statement, 1), 0, NULL);
        if (json_is_object(record))
            visit(data, (CsiStoreKind)sqlite3_column_int(statement, 0), record);
    }
    gboolean ok = code == SQLITE_DONE || store_fail(self, error);
    sqlite3_finalize(statement);
    return ok;
}
