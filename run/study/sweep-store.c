/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a sweep in a file of SQLite. A row's key is its point and replication, so it is the
 * same wherever and whenever it was computed; files of shards merge, and a row that differs is an
 * error. A file belongs to one sweep by its identity. It has a rollback journal, not a write-ahead
 * log, because that works on network file systems; a killed program leaves the file as of its last
 * transaction. A file of a stranger is checked as a whole before it is read. */
#include "sweep-store.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "run/results/results.h"

#define APPLICATION_ID 0x6b766f6c /* "kvol" */
#define SCHEMA_VERSION 1
#define BUSY_MS 60000 /* wait for other processes that write into the file */

struct SweepStore {
    sqlite3 *db;
    char *file;
    sqlite3_stmt *insert_run, *insert_value;
};

G_DEFINE_QUARK(kvolsim - sweep - store - error, sweep_store_error)

/* A row's key is its subject, so a row is the same wherever and whenever it was computed. */
static const char schema[] =
    "CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE parameter (parameter INTEGER PRIMARY KEY, name TEXT NOT NULL, paths TEXT NOT "
    "NULL);"
    "CREATE TABLE point (point INTEGER PRIMARY KEY, hash TEXT NOT NULL);"
    "CREATE TABLE setting (point INTEGER, parameter INTEGER, value TEXT NOT NULL,"
    "  PRIMARY KEY (point, parameter)) WITHOUT ROWID;"
    "CREATE TABLE measure (measure INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL);"
    "CREATE TABLE run (point INTEGER, replication INTEGER, virtual_s REAL NOT NULL,"
    "  events INTEGER NOT NULL, PRIMARY KEY (point, replication)) WITHOUT ROWID;"
    "CREATE TABLE observation (point INTEGER, replication INTEGER, measure INTEGER, batch INTEGER,"
    "  value REAL, count INTEGER NOT NULL,"
    "  PRIMARY KEY (point, replication, measure, batch)) WITHOUT ROWID;";

/* ---- SQLite's calls with our errors ---- */

/* An explanation in front of SQLite's message. NULL: none */
static const char *
more_words(int code)
{
    switch (code) {
    case SQLITE_NOTADB:
        return "is no result file of kvolsim sweep";
    case SQLITE_CORRUPT:
        return "is damaged; take a copy, or begin anew";
    case SQLITE_ERROR: /* our statements are sound: the tables are others */
    case SQLITE_MISMATCH:
        return "is damaged: its tables are not those of a sweep";
    case SQLITE_CANTOPEN:
        return "cannot be opened: is there such a file, in a folder one may write into?";
    case SQLITE_READONLY:
        return "cannot be written";
    case SQLITE_FULL:
        return "there is no room on the disk; what is finished is kept";
    default:
        return NULL;
    }
}

static gboolean
sweep_store_fail(const SweepStore *self, GError **error)
{
    int code = sqlite3_errcode(self->db);
    const char *more = more_words(code);

    g_set_error(error, SWEEP_STORE_ERROR,
                code == SQLITE_NOTADB ? SWEEP_STORE_ERROR_FOREIGN
                : code == SQLITE_CORRUPT || code == SQLITE_ERROR || code == SQLITE_MISMATCH
                    ? SWEEP_STORE_ERROR_DAMAGED
                    : SWEEP_STORE_ERROR_IO,
                "%s: %s%s%s%s", self->file, more != NULL ? more : "", more != NULL ? " (" : "",
                sqlite3_errmsg(self->db), more != NULL ? ")" : "");
    return FALSE;
}

static gboolean
sweep_store_execute(SweepStore *self, const char *sql, GError **error)
{
    return sqlite3_exec(self->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
           sweep_store_fail(self, error);
}

/* Returns: (owned): sqlite3_finalize(); %NULL with @error */
static sqlite3_stmt *
sweep_store_prepare(SweepStore *self, const char *sql, GError **error)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(self->db, sql, -1, &statement, NULL) == SQLITE_OK)
        return statement;
    sweep_store_fail(self, error);
    return NULL;
}

/* For a statement that gives no rows. */
static gboolean
run_statement(SweepStore *self, sqlite3_stmt *statement, GError **error)
{
    int code = sqlite3_step(statement);

    if (code != SQLITE_DONE)
        sweep_store_fail(self, error);
    sqlite3_reset(statement);
    return code == SQLITE_DONE;
}

/* Calls @visit for each row of @sql. Returns: %FALSE with @error */
static gboolean
each_row(SweepStore *self,
         const char *sql,
         void (*visit)(void *data, sqlite3_stmt *row),
         void *data,
         GError **error)
{
    sqlite3_stmt *statement = sweep_store_prepare(self, sql, error);
    int code = SQLITE_ERROR;

    while (statement != NULL && (code = sqlite3_step(statement)) == SQLITE_ROW)
        visit(data, statement);
    if (statement != NULL && code != SQLITE_DONE)
        sweep_store_fail(self, error);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE;
}

/* Runs a statement that gives no rows. @sql: the numbers are ?1 and ?2 in it, the texts ?3 and ?4.
 */
static gboolean
run_with(SweepStore *self,
         const char *sql,
         int first_number,
         int second_number,
         const char *first_text,
         const char *second_text,
         GError **error)
{
    sqlite3_stmt *statement = sweep_store_prepare(self, sql, error);

    if (statement == NULL)
        return FALSE;
    sqlite3_bind_int(statement, 1, first_number);
    sqlite3_bind_int(statement, 2, second_number);
    sqlite3_bind_text(statement, 3, first_text, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 4, second_text, -1, SQLITE_STATIC);
    gboolean ok = run_statement(self, statement, error);
    sqlite3_finalize(statement);
    return ok;
}

static int64_t
sweep_store_number_of(SweepStore *self, const char *sql)
{
    sqlite3_stmt *statement = sweep_store_prepare(self, sql, NULL);
    int64_t number = 0;

    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* Returns: (owned): the first column of the first row; NULL: none */
static char *
sweep_store_text_of(SweepStore *self, const char *sql)
{
    sqlite3_stmt *statement = sweep_store_prepare(self, sql, NULL);
    char *text = NULL;

    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW)
        text = g_strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

/* ---- What the file says of its sweep ---- */

static gboolean
put_study(SweepStore *self, const char *key, const char *value, GError **error)
{
    return run_with(self, "INSERT OR REPLACE INTO study VALUES (?3, ?4)", 0, 0, key, value, error);
}

static gboolean
put_number(SweepStore *self, const char *key, double number, GError **error)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    return put_study(self, key, g_ascii_formatd(text, sizeof text, "%.17g", number), error);
}

static gboolean
put_parts(SweepStore *self, const Sweep *sweep, GError **error)
{
    for (unsigned i = 0; i < sweep->n_parameters; i++) {
        g_autofree char *paths = g_strjoinv(" ", (char **)sweep->parameters[i].paths);
        if (!run_with(self, "INSERT INTO parameter VALUES (?1, ?3, ?4)", (int)i, 0,
                      sweep->parameters[i].name, paths, error))
            return FALSE;
    }
    for (unsigned i = 0; i < sweep->n_measures; i++)
        if (!run_with(self, "INSERT INTO measure VALUES (?1, ?3, ?4)", (int)i, 0,
                      sweep->measures[i].name, sweep->measures[i].unit, error))
            return FALSE;
    for (unsigned i = 0; i < sweep->n_points; i++) {
        const SweepPoint *point = &sweep->points[i];
        if (!run_with(self, "INSERT INTO point VALUES (?1, ?3)", (int)i, 0, point->hash, NULL,
                      error))
            return FALSE;
        for (unsigned k = 0; k < sweep->n_parameters; k++)
            if (!run_with(self, "INSERT INTO setting VALUES (?1, ?2, ?3)", (int)i, (int)k,
                          point->labels[k], NULL, error))
                return FALSE;
    }
    return TRUE;
}

static gboolean
create_tables(SweepStore *self, GError **error)
{
    g_autofree char *pragmas = g_strdup_printf(
        "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID, SCHEMA_VERSION);

    return sweep_store_execute(self, schema, error) && sweep_store_execute(self, pragmas, error);
}

/* Writes settings that may change between calls: they only affect how rows are shown. */
static gboolean
put_view(SweepStore *self, const Sweep *sweep, GError **error)
{
    return put_number(self, "confidence", sweep->confidence, error) &&
           put_number(self, "baseline", sweep->baseline, error);
}

static gboolean
put_sweep(SweepStore *self, const Sweep *sweep, GError **error)
{
    g_autofree char *seed = g_strdup_printf("%" PRIu64, sweep->seed);

    return create_tables(self, error) && put_study(self, "name", sweep->name, error) &&
           put_study(self, "identity", sweep->identity, error) &&
           put_study(self, "kvolsim", results_version(), error) &&
           put_study(self, "seed", seed, error) &&
           put_study(self, "commonRandomNumbers", sweep->independent ? "false" : "true", error) &&
           put_number(self, "warmUp_s", (double)sweep->warm_up / (double)SIM_SECOND, error) &&
           put_number(self, "batches", sweep->batches, error) && put_parts(self, sweep, error) &&
           put_view(self, sweep, error);
}

/* ---- Opening ---- */

void
sweep_store_free(SweepStore *self)
{
    if (self == NULL)
        return;
    sqlite3_finalize(self->insert_run);
    sqlite3_finalize(self->insert_value);
    sqlite3_close(self->db);
    g_free(self->file);
    g_free(self);
}

/* A rollback journal, not a write-ahead log: it works on network file systems. If the program is
 * killed, the next process finds the file as it was after the last whole transaction. */
static SweepStore *
open_file(const char *file, int flags, GError **error)
{
    g_autoptr(SweepStore) self = g_new0(SweepStore, 1);

    self->file = g_strdup(file);
    if (sqlite3_open_v2(file, &self->db, flags, NULL) != SQLITE_OK) {
        sweep_store_fail(self, error);
        return NULL;
    }
    sqlite3_busy_timeout(self->db, BUSY_MS);
    if (!sweep_store_execute(self, "PRAGMA synchronous = NORMAL", error))
        return NULL;
    return g_steal_pointer(&self);
}

static gboolean
check_is_ours(SweepStore *self, GError **error)
{
    int64_t version = sweep_store_number_of(self, "PRAGMA user_version");

    if (!sweep_store_execute(self, "SELECT count(*) FROM sqlite_schema", error))
        return FALSE;
    if (sweep_store_number_of(self, "PRAGMA application_id") == APPLICATION_ID &&
        version == SCHEMA_VERSION)
        return TRUE;
    g_set_error(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_FOREIGN,
                "%s: is no result file of kvolsim sweep, or of another version", self->file);
    return FALSE;
}

static gboolean
check_identity(SweepStore *self, const char *identity, const char *of, GError **error)
{
    g_autofree char *mine =
        sweep_store_text_of(self, "SELECT value FROM study WHERE key = 'identity'");

    if (g_strcmp0(mine, identity) == 0)
        return TRUE;
    if (mine == NULL && sqlite3_errcode(self->db) == SQLITE_CORRUPT)
        return sweep_store_fail(self, error);
    g_set_error(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_FOREIGN,
                "%s: holds results of another sweep than %s (the scenario, a parameter, a measure, "
                "the seed or the program's version differs)",
                self->file, of);
    return FALSE;
}

/* How many texts no sweep has: they would command a terminal, or break a table. */
#define ODD_TEXTS(texts)                                                                           \
    "SELECT count(*) FROM (SELECT " texts ") WHERE typeof(text) <> 'text'"                         \
    " OR instr(CAST(text AS BLOB), x'00') > 0 OR text GLOB"                                        \
    " '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'"

/* Each must be 0 in a whole file. Readers rely on it: they find rows by number. */
static const struct {
    const char *table, *sql;
} damages[] = {
    {"study",       "SELECT count(*) <> 9 FROM study WHERE key IN ('name', 'identity', 'kvolsim', 'seed',"
              " 'commonRandomNumbers', 'warmUp_s', 'batches', 'confidence', 'baseline')"  },
    {"parameter",   "SELECT count(*) <> 0 AND (min(parameter) <> 0 OR max(parameter) <> count(*) - 1)"
                  " FROM parameter"                                                   },
    {"point",       "SELECT count(*) = 0 OR min(point) <> 0 OR max(point) <> count(*) - 1 FROM point"  },
    {"measure",
     "SELECT count(*) = 0 OR min(measure) <> 0 OR max(measure) <> count(*) - 1 FROM measure"           },
    {"setting",
     "SELECT count(*) <> (SELECT count(*) FROM point) * (SELECT count(*) FROM parameter) FROM"
     " setting JOIN point USING (point) JOIN parameter USING (parameter)"                              },
    {"parameter",
     "SELECT count(*) FROM setting WHERE parameter NOT IN (SELECT parameter FROM parameter)"           },
    {"point",       "SELECT count(*) FROM run WHERE point NOT IN (SELECT point FROM point)"            },
    {"run",         "SELECT count(*) FROM observation LEFT JOIN run USING (point, replication)"
            " WHERE run.events IS NULL"                                                     },
    {"measure",
     "SELECT count(*) FROM observation WHERE measure NOT IN (SELECT measure FROM measure)"             },
    {"observation",
     "SELECT count(*) FROM run JOIN measure LEFT JOIN observation ON"
     " observation.point = run.point AND observation.replication = run.replication AND"
     " observation.measure = measure.measure AND observation.batch = 0"
     " WHERE observation.count IS NULL"                                                                },
    {"study",       "SELECT count(*) FROM study WHERE"
              " key = 'batches' AND CAST(value AS REAL) NOT BETWEEN 0 AND 1000000 OR"
              " key = 'confidence' AND CAST(value AS REAL) NOT BETWEEN 0.0001 AND 0.9999 OR"
              " key = 'baseline' AND"
              "   CAST(value AS REAL) NOT BETWEEN -1 AND (SELECT count(*) - 1 FROM point)"},
    {"study",       ODD_TEXTS("value AS text FROM study")                                              },
    {"parameter",   ODD_TEXTS("name || paths AS text FROM parameter")                                  },
    {"setting",     ODD_TEXTS("value AS text FROM setting")                                            },
    {"measure",     ODD_TEXTS("name || unit AS text FROM measure")                                     },
    {"point",       ODD_TEXTS("hash AS text FROM point")                                               },
    {"run",
     "SELECT count(*) FROM run WHERE typeof(events) <> 'integer' OR typeof(virtual_s) <> 'real'"       },
    {"observation", "SELECT count(*) FROM observation WHERE typeof(count) <> 'integer' OR"
                    " typeof(value) NOT IN ('real', 'null')"                        },
};

/* To be called in a transaction: others may be writing into the file. */
static gboolean
check_is_whole(SweepStore *self, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(damages); i++) {
        sqlite3_stmt *statement = sweep_store_prepare(self, damages[i].sql, error);
        if (statement == NULL)
            return FALSE;
        gboolean is_read = sqlite3_step(statement) == SQLITE_ROW || sweep_store_fail(self, error);
        gboolean is_whole = is_read && sqlite3_column_int64(statement, 0) == 0;
        sqlite3_finalize(statement);
        if (is_read && !is_whole)
            g_set_error(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_DAMAGED,
                        "%s: is damaged (rows of its table %s are missing or wrong); take a copy, "
                        "or begin anew",
                        self->file, damages[i].table);
        if (!is_whole)
            return FALSE;
    }
    return TRUE;
}

static gboolean
prepare_inserts(SweepStore *self, GError **error)
{
    self->insert_run =
        sweep_store_prepare(self, "INSERT OR IGNORE INTO run VALUES (?1, ?2, ?3, ?4)", error);
    self->insert_value =
        self->insert_run == NULL
            ? NULL
            : sweep_store_prepare(
                  self, "INSERT OR IGNORE INTO observation VALUES (?1, ?2, ?3, ?4, ?5, ?6)", error);
    return self->insert_value != NULL;
}

static gboolean
sweep_store_commit(SweepStore *self, gboolean ok, GError **error)
{
    if (ok && sweep_store_execute(self, "COMMIT", error))
        return TRUE;
    sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL);
    return FALSE;
}

SweepStore *
sweep_store_create(const char *file, const Sweep *sweep, gboolean resume, GError **error)
{
    g_autoptr(SweepStore) self = open_file(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);

    if (self == NULL || !sweep_store_execute(self, "BEGIN IMMEDIATE", error))
        return NULL;
    gboolean ok = TRUE;
    if (sweep_store_number_of(self, "SELECT count(*) FROM sqlite_schema") == 0 &&
        sweep_store_number_of(self, "PRAGMA user_version") == 0) {
        ok = put_sweep(self, sweep, error);
    } else if (!resume) {
        g_set_error(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_EXISTS, "%s exists", file);
        ok = FALSE;
    } else {
        ok = check_is_ours(self, error) && check_is_whole(self, error) &&
             check_identity(self, sweep->identity, sweep->file, error) &&
             put_view(self, sweep, error);
    }
    if (!sweep_store_commit(self, ok, error) || !prepare_inserts(self, error))
        return NULL;
    return g_steal_pointer(&self);
}

SweepStore *
sweep_store_open(const char *file, GError **error)
{
    if (!g_file_test(file, G_FILE_TEST_EXISTS)) {
        g_set_error(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_FOREIGN,
                    "%s: no such file; kvolsim sweep --out makes one", file);
        return NULL;
    }
    /* For writing: the journal of a killed program must be rolled back. */
    g_autoptr(SweepStore) self = open_file(file, SQLITE_OPEN_READWRITE, error);

    if (self == NULL || !check_is_ours(self, error) || !sweep_store_execute(self, "BEGIN", error) ||
        !sweep_store_commit(self, check_is_whole(self, error), error))
        return NULL;
    return g_steal_pointer(&self);
}

/* ---- Rows ---- */

static gboolean
sweep_store_add_value(SweepStore *self,
                      const SweepRow *row,
                      unsigned measure,
                      unsigned batch,
                      const SweepObservation *value,
                      GError **error)
{
    sqlite3_stmt *insert = self->insert_value;

    sqlite3_bind_int64(insert, 1, row->point);
    sqlite3_bind_int64(insert, 2, row->replication);
    sqlite3_bind_int64(insert, 3, measure);
    sqlite3_bind_int64(insert, 4, batch);
    if (value->is_missing)
        sqlite3_bind_null(insert, 5);
    else
        sqlite3_bind_double(insert, 5, value->value);
    sqlite3_bind_int64(insert, 6, (sqlite3_int64)value->count);
    return run_statement(self, insert, error);
}

static gboolean
add_row(SweepStore *self, const Sweep *sweep, const SweepRow *row, GError **error)
{
    sqlite3_bind_int64(self->insert_run, 1, row->point);
    sqlite3_bind_int64(self->insert_run, 2, row->replication);
    sqlite3_bind_double(self->insert_run, 3, (double)row->ended_at / (double)SIM_SECOND);
    sqlite3_bind_int64(self->insert_run, 4, (sqlite3_int64)row->n_events);
    if (!run_statement(self, self->insert_run, error))
        return FALSE;
    for (unsigned measure = 0; measure < sweep->n_measures; measure++)
        for (unsigned batch = 0; batch <= sweep->batches; batch++) {
            unsigned place = sweep_observation_index(sweep, measure, batch);
            if ((batch == 0 || sweep->measures[measure].is_stage) &&
                !sweep_store_add_value(self, row, measure, batch, &row->observations[place], error))
                return FALSE;
        }
    return TRUE;
}

gboolean
sweep_store_add(
    SweepStore *self, const Sweep *sweep, const SweepRow *rows, unsigned n_rows, GError **error)
{
    gboolean ok = sweep_store_execute(self, "BEGIN IMMEDIATE", error);

    if (!ok)
        return FALSE;
    for (unsigned i = 0; i < n_rows && ok; i++)
        ok = add_row(self, sweep, &rows[i], error);
    return sweep_store_commit(self, ok, error);
}

typedef struct {
    void (*visit)(void *data, unsigned point, unsigned replication, const SweepObservation *value);
    void *data;
} ValueVisit;

static void
visit_value(void *data, sqlite3_stmt *row)
{
    const ValueVisit *to = data;
    const SweepObservation value = {.value = sqlite3_column_double(row, 2),
                                    .count = (uint64_t)sqlite3_column_int64(row, 3),
                                    .is_missing = sqlite3_column_type(row, 2) == SQLITE_NULL};

    to->visit(to->data, (unsigned)sqlite3_column_int64(row, 0),
              (unsigned)sqlite3_column_int64(row, 1), &value);
}

gboolean
sweep_store_values(
    SweepStore *self,
    unsigned measure,
    void (*visit)(void *data, unsigned point, unsigned replication, const SweepObservation *value),
    void *data,
    GError **error)
{
    ValueVisit to = {visit, data};
    g_autofree char *sql =
        g_strdup_printf("SELECT point, replication, value, count FROM observation"
                        " WHERE measure = %u AND batch = 0 ORDER BY point, replication",
                        measure);

    return each_row(self, sql, visit_value, &to, error);
}

/* ---- Merging ---- */

static gboolean
attach(SweepStore *self, const char *from, GError **error)
{
    return run_with(self, "ATTACH ?3 AS other", 0, 0, from, NULL, error);
}

/* Counts rows that differ between the two files. */
static const char differing[] =
    "SELECT (SELECT count(*) FROM main.run AS a JOIN other.run AS b USING (point, replication)"
    "        WHERE a.events <> b.events OR a.virtual_s <> b.virtual_s) +"
    "       (SELECT count(*) FROM main.observation AS a JOIN other.observation AS b"
    "        USING (point, replication, measure, batch)"
    "        WHERE a.value IS NOT b.value OR a.count <> b.count)";

static gboolean
copy_rows(SweepStore *self, const char *from, GError **error)
{
    if (sweep_store_number_of(self, differing) > 0) {
        g_set_error(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_FOREIGN,
                    "%s: has other values than %s for the same run", from, self->file);
        return FALSE;
    }
    return sweep_store_execute(
        self,
        "INSERT OR IGNORE INTO main.run SELECT * FROM other.run;"
        "INSERT OR IGNORE INTO main.observation SELECT * FROM other.observation",
        error);
}

/* SQLite names the file that is written, not the attached one, when it meets a damaged page. */
static gboolean
check_pages(SweepStore *self, GError **error)
{
    g_autofree char *found = sweep_store_text_of(self, "PRAGMA quick_check(1)");

    if (g_strcmp0(found, "ok") == 0)
        return TRUE;
    g_set_error(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_DAMAGED, "%s: is damaged (%s)",
                self->file, found != NULL ? found : sqlite3_errmsg(self->db));
    return FALSE;
}

gboolean
sweep_store_verify(const char *file, GError **error)
{
    g_autoptr(SweepStore) self = sweep_store_open(file, error);

    return self != NULL && check_pages(self, error);
}

gboolean
sweep_store_merge(SweepStore *self, const char *from, GError **error)
{
    g_autoptr(SweepStore) other = sweep_store_open(from, error);
    g_autofree char *identity = NULL;

    if (other == NULL)
        return FALSE;
    identity = sweep_store_text_of(other, "SELECT value FROM study WHERE key = 'identity'");
    g_clear_pointer(&other, sweep_store_free);
    if (!check_identity(self, identity, from, error) || !attach(self, from, error))
        return FALSE;
    gboolean ok = sweep_store_execute(self, "BEGIN IMMEDIATE", error) &&
                  sweep_store_commit(self, copy_rows(self, from, error), error);
    if (!ok)
        g_prefix_error(error, "merging %s: ", from);
    return sweep_store_execute(self, "DETACH other", ok ? error : NULL) && ok;
}

SweepStore *
sweep_store_create_like(const char *file, const char *from, GError **error)
{
    g_autoptr(SweepStore) model = sweep_store_open(from, error);
    g_autoptr(SweepStore) self =
        model == NULL ? NULL : open_file(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);

    if (self == NULL)
        return NULL;
    if (sweep_store_number_of(self, "SELECT count(*) FROM sqlite_schema") > 0)
        return check_is_ours(self, error) && check_is_whole(self, error) ? g_steal_pointer(&self)
                                                                         : NULL;
    if (!attach(self, from, error) || !sweep_store_execute(self, "BEGIN IMMEDIATE", error))
        return NULL;
    if (!sweep_store_commit(
            self,
            create_tables(self, error) &&
                sweep_store_execute(self,
                                    "INSERT INTO main.study SELECT * FROM other.study;"
                                    "INSERT INTO main.parameter SELECT * FROM other.parameter;"
                                    "INSERT INTO main.point SELECT * FROM other.point;"
                                    "INSERT INTO main.setting SELECT * FROM other.setting;"
                                    "INSERT INTO main.measure SELECT * FROM other.measure",
                                    error),
            error) ||
        !sweep_store_execute(self, "DETACH other", error))
        return NULL;
    return g_steal_pointer(&self);
}

/* ---- Read back ---- */

static void
stored_measure_clear(void *data)
{
    StoredMeasure *measure = data;

    g_free(measure->name);
    g_free(measure->unit);
}

static void
free_arrays(GArray **arrays, unsigned n)
{
    for (unsigned i = 0; arrays != NULL && i < n; i++)
        g_array_unref(arrays[i]);
    g_free(arrays);
}

void
sweep_table_free(SweepTable *self)
{
    if (self == NULL)
        return;
    unsigned n = self->n_points * self->measures->len;
    free_arrays(self->values, n);
    free_arrays(self->replications, n);
    free_arrays(self->batches, n);
    g_free(self->n_runs);
    g_ptr_array_unref(self->parameters);
    g_ptr_array_unref(self->labels);
    g_array_unref(self->measures);
    g_free(self->name);
    g_free(self->hash);
    g_free(self);
}

static GArray **
new_arrays(unsigned n, guint size)
{
    GArray **arrays = g_new(GArray *, MAX(n, 1));

    for (unsigned i = 0; i < n; i++)
        arrays[i] = g_array_new(FALSE, FALSE, size);
    return arrays;
}

static double
study_number(SweepStore *self, const char *key, double otherwise)
{
    g_autofree char *sql = g_strdup_printf("SELECT value FROM study WHERE key = '%s'", key);
    g_autofree char *text = sweep_store_text_of(self, sql);

    return text == NULL ? otherwise : g_ascii_strtod(text, NULL);
}

static void
add_text(void *texts, sqlite3_stmt *row)
{
    g_ptr_array_add(texts, g_strdup((const char *)sqlite3_column_text(row, 0)));
}

static gboolean
read_parts(SweepStore *self, SweepTable *table, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) units = g_ptr_array_new_with_free_func(g_free);

    if (!each_row(self, "SELECT name FROM parameter ORDER BY parameter", add_text,
                  table->parameters, error) ||
        !each_row(self, "SELECT value FROM setting ORDER BY point, parameter", add_text,
                  table->labels, error) ||
        !each_row(self, "SELECT name FROM measure ORDER BY measure", add_text, names, error) ||
        !each_row(self, "SELECT unit FROM measure ORDER BY measure", add_text, units, error))
        return FALSE;
    for (unsigned i = 0; i < names->len; i++) {
        StoredMeasure measure = {g_steal_pointer(&names->pdata[i]),
                                 g_steal_pointer(&units->pdata[i])};
        g_array_append_val(table->measures, measure);
    }
    table->n_points = (unsigned)sweep_store_number_of(self, "SELECT count(*) FROM point");
    return TRUE;
}

static void
keep_value(void *data, sqlite3_stmt *statement)
{
    SweepTable *table = data;
    unsigned point = (unsigned)sqlite3_column_int64(statement, 0);
    unsigned replication = (unsigned)sqlite3_column_int64(statement, 1);
    unsigned measure = (unsigned)sqlite3_column_int64(statement, 2);
    double value = sqlite3_column_double(statement, 4);

    if (point >= table->n_points || measure >= table->measures->len)
        return;
    unsigned place = point * table->measures->len + measure;
    if (sqlite3_column_int64(statement, 3) != 0) {
        g_array_append_val(table->batches[place], value);
        return;
    }
    g_array_append_val(table->values[place], value);
    g_array_append_val(table->replications[place], replication);
}

static void
keep_n_runs(void *data, sqlite3_stmt *row)
{
    SweepTable *table = data;
    sqlite3_int64 point = sqlite3_column_int64(row, 0);

    if (point >= 0 && point < table->n_points)
        table->n_runs[point] = (unsigned)sqlite3_column_int64(row, 1);
}

SweepTable *
sweep_store_table(SweepStore *self, GError **error)
{
    g_autoptr(SweepTable) table = g_new0(SweepTable, 1);

    table->parameters = g_ptr_array_new_with_free_func(g_free);
    table->labels = g_ptr_array_new_with_free_func(g_free);
    table->measures = g_array_new(FALSE, FALSE, sizeof(StoredMeasure));
    g_array_set_clear_func(table->measures, stored_measure_clear);
    if (!read_parts(self, table, error)) {
        table->n_points = 0;
        return NULL;
    }
    table->name = sweep_store_text_of(self, "SELECT value FROM study WHERE key = 'name'");
    table->hash = sweep_store_text_of(self, "SELECT value FROM study WHERE key = 'identity'");
    table->confidence = study_number(self, "confidence", 0.95);
    table->baseline = (int)study_number(self, "baseline", -1);
    table->n_batches = (unsigned)study_number(self, "batches", 0);
    unsigned n = table->n_points * table->measures->len;
    table->values = new_arrays(n, sizeof(double));
    table->replications = new_arrays(n, sizeof(unsigned));
    table->batches = new_arrays(n, sizeof(double));
    table->n_runs = g_new0(unsigned, MAX(table->n_points, 1));
    if (!each_row(self, "SELECT point, count(*) FROM run GROUP BY point", keep_n_runs, table,
                  error) ||
        !each_row(self,
                  "SELECT point, replication, measure, batch, value FROM observation"
                  " WHERE value IS NOT NULL ORDER BY point, replication, measure, batch",
                  keep_value, table, error))
        return NULL;
    return g_steal_pointer(&table);
}
