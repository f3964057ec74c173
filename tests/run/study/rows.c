/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rows.h"
#include "tests/lib/test.h"

#include <glib/gstdio.h>
#include <sqlite3.h>

static void
append_rows(sqlite3 *db, const char *sql, GString *text)
{
    sqlite3_stmt *statement = NULL;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *cell = (const char *)sqlite3_column_text(statement, i);
            g_string_append_printf(text, "%s|", cell != NULL ? cell : "NULL");
        }
        g_string_append_c(text, '\n');
    }
    sqlite3_finalize(statement);
}

char *
all_rows(const char *file)
{
    static const char *const queries[] = {
        "PRAGMA integrity_check",
        "PRAGMA application_id",
        "PRAGMA user_version",
        "SELECT sql FROM sqlite_schema ORDER BY name",
        "SELECT * FROM study ORDER BY key",
        "SELECT * FROM parameter ORDER BY parameter",
        "SELECT * FROM point ORDER BY point",
        "SELECT * FROM setting ORDER BY point, parameter",
        "SELECT * FROM measure ORDER BY measure",
        "SELECT point, replication, format('%!.17g', virtual_s), events FROM run ORDER BY 1, 2",
        "SELECT point, replication, measure, batch, format('%!.17g', value), value IS NULL, count "
        "FROM observation"
        " ORDER BY 1, 2, 3, 4",
    };
    GString *text = g_string_new(NULL);
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    for (unsigned i = 0; i < G_N_ELEMENTS(queries); i++)
        append_rows(db, queries[i], text);
    sqlite3_close(db);
    return g_string_free(text, FALSE);
}

char *
scratch_folder(void)
{
    char *folder = g_dir_make_tmp("kvolsim-sweep-XXXXXX", NULL);

    assert_non_null(folder);
    return folder;
}

void
scratch_remove(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

char *
source_file(const char *path)
{
    return g_build_filename(g_getenv("KVOLSIM_SRCDIR"), path, NULL);
}
