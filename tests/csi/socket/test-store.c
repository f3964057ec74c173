/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file in which a driver remembers: what is committed is there for the next process, and
 * nothing else; it has one owner; a file that is no such file is left alone. */
#include "serve/csi/store.h"
#include "tests/lib/test.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER "store.kvolsim.io"

static int
enter(void **state)
{
    *state = g_dir_make_tmp("kvolsim-store-XXXXXX", NULL);
    return *state == NULL;
}

static int
leave(void **state)
{
    g_autofree char *folder = *state;
    const char *const endings[] = {"", "-wal", "-shm"};

    for (unsigned i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *file = g_strconcat(folder, "/csi.sqlite", endings[i], NULL);
        g_unlink(file);
    }
    return g_rmdir(folder);
}

/* Returns: (owned) */
static CsiStore *
open_store(const char *folder)
{
    g_autoptr(GError) error = NULL;
    CsiStore *store = csi_store_open(folder, DRIVER, &error);

    if (store == NULL)
        fail_msg("%s", error->message);
    return store;
}

/* Records have their id and a place in the order; @sequence -1: remove. */
static void
store_put(CsiStore *store, CsiStoreKind kind, const char *id, int sequence)
{
    json_auto_t *record =
        sequence < 0 ? NULL : json_pack("{s:s,s:i}", "id", id, "sequence", sequence);

    assert_true(csi_store_put(store, kind, id, record, NULL));
}

static void
append_id(void *data, CsiStoreKind kind, const json_t *record)
{
    g_string_append_printf(data, "%d%s ", kind, json_string_value(json_object_get(record, "id")));
}

/* Opens the file anew and compares "KIND-ID " of all records. */
static void
assert_found(const char *folder, const char *wanted)
{
    g_autoptr(CsiStore) store = open_store(folder);
    g_autoptr(GString) found = g_string_new(NULL);

    assert_true(csi_store_each(store, append_id, found, NULL));
    assert_string_equal(found->str, wanted);
}

TEST_WITH(enter, leave, keeps_what_is_committed_in_order)
{
    g_autoptr(CsiStore) store = open_store(*state);

    store_put(store, CSI_STORE_GROUP, "g", 1);
    store_put(store, CSI_STORE_VOLUME, "b", 1);
    store_put(store, CSI_STORE_VOLUME, "a", 2);
    store_put(store, CSI_STORE_SNAPSHOT, "a", 3);
    store_put(store, CSI_STORE_NODE, "n", 0);
    store_put(store, CSI_STORE_VOLUME, "gone", 4);
    assert_true(csi_store_commit(store, NULL));
    store_put(store, CSI_STORE_VOLUME, "gone", -1);
    store_put(store, CSI_STORE_VOLUME, "never", -1);
    store_put(store, CSI_STORE_VOLUME, "b", 9);
    assert_true(csi_store_commit(store, NULL));
    assert_true(csi_store_commit(store, NULL)); /* of nothing */
    csi_store_close(g_steal_pointer(&store));
    assert_found(*state, "0n 1a 1b 2a 3g ");
}

/* The other process ends without warning, after a commit and in the middle of the next. */
TEST_WITH(enter, leave, survives_a_kill)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        CsiStore *store = open_store(*state);
        store_put(store, CSI_STORE_VOLUME, "kept", 1);
        csi_store_commit(store, NULL);
        store_put(store, CSI_STORE_VOLUME, "lost", 2);
        store_put(store, CSI_STORE_VOLUME, "kept", -1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_found(*state, "1kept ");
}

static void
assert_refused(const char *folder, const char *driver, CsiStoreError code)
{
    g_autoptr(GError) error = NULL;

    assert_null(csi_store_open(folder, driver, &error));
    if (!g_error_matches(error, CSI_STORE_ERROR, (int)code))
        fail_msg("%d, not %d: %s", error->code, code, error->message);
    assert_non_null(strstr(error->message, "csi.sqlite"));
}

TEST_WITH(enter, leave, has_one_owner)
{
    g_autoptr(CsiStore) store = open_store(*state);

    store_put(store, CSI_STORE_VOLUME, "v", 1);
    assert_true(csi_store_commit(store, NULL));
    assert_refused(*state, DRIVER, CSI_STORE_ERROR_TAKEN);
    csi_store_close(g_steal_pointer(&store));
    assert_refused(*state, "other.kvolsim.io", CSI_STORE_ERROR_FOREIGN);
    assert_found(*state, "1v ");
}

TEST_WITH(enter, leave, leaves_other_files_alone)
{
    static const char text[] = "This is no database, and it is longer than the head of one would "
                               "be, which has a hundred bytes in all.\n";
    g_autofree char *file = g_build_filename(*state, "csi.sqlite", NULL);
    g_autofree char *after = NULL;

    assert_true(g_file_set_contents(file, text, -1, NULL));
    assert_refused(*state, DRIVER, CSI_STORE_ERROR_FOREIGN);
    assert_true(g_file_get_contents(file, &after, NULL, NULL));
    assert_string_equal(after, text);
}

TEST_WITH(enter, leave, says_that_it_cannot_write)
{
    g_autofree char *file = g_build_filename(*state, "csi.sqlite", NULL);

    assert_true(g_file_set_contents(file, "", -1, NULL));
    assert_refused(file, DRIVER, CSI_STORE_ERROR_IO); /* a file where the folder should be */
}
