/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/csi/loop/ledger.h"
#include "models/csi/loop/loop-backend.h"
#include "tests/lib/test.h"

/* A state folder that somebody else has prepared: its ledger and its links lead nowhere but into
 * the folder itself. No device is needed. */

#define N_DEPTHS 4

typedef struct {
    char *top, *state, *outside;
    LoopLedger *ledger;
} LedgerPlace;

static char *
below(const char *folder, const char *path)
{
    return g_build_filename(folder, path, NULL);
}

/* A state folder with folders a/b/c, and another folder with the same, in which each has a canary.
 */
static void
place_enter(LedgerPlace *self)
{
    static const char *const folders[] = {"", "a", "a/b", "a/b/c"};

    self->top = g_dir_make_tmp("kvolsim-ledger-XXXXXX", NULL);
    self->state = below(self->top, "state");
    self->outside = below(self->top, "outside");
    self->ledger = loop_ledger_open(self->state, NULL);
    assert_non_null(self->ledger);
    assert_true(loop_ledger_make_folder(self->ledger, "a/b/c", NULL));
    for (unsigned i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *folder = below(self->outside, folders[i]);
        g_autofree char *canary = below(folder, "canary"), *empty = below(folder, "empty");

        assert_int_equal(g_mkdir_with_parents(empty, 0700), 0);
        assert_true(g_file_set_contents(canary, "alive", -1, NULL));
    }
}

static void
remove_all(const char *folder)
{
    g_autofree char *command = g_strdup_printf("rm -rf '%s'", folder);

    assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

static void
place_leave(LedgerPlace *self)
{
    loop_ledger_free(self->ledger);
    remove_all(self->top);
    g_free(self->top);
    g_free(self->state);
    g_free(self->outside);
}

/* Puts a link to the outside in the place of the folder at @depth of "a/b/c". */
static void
put_link(const LedgerPlace *self, unsigned depth)
{
    static const char *const folders[N_DEPTHS] = {"a", "a/b", "a/b/c", "a/b/c/d"};
    g_autofree char *link = below(self->state, folders[depth]);
    g_autofree char *to = below(self->outside, depth < 3 ? folders[depth] : "a/b/c");

    remove_all(link);
    assert_int_equal(symlink(to, link), 0);
}

TEST(links_at_every_depth_are_not_followed)
{
    static const char *const ways[N_DEPTHS] = {"a", "a/b", "a/b/c", "a/b/c/d"};

    for (unsigned depth = 0; depth < N_DEPTHS; depth++) {
        LedgerPlace place;
        place_enter(&place);
        put_link(&place, depth);
        const char *real = depth < 3 ? ways[depth] : "a/b/c";
        g_autofree char *file = below(ways[depth], "canary"), *folder = below(ways[depth], "empty"),
                        *new = below(ways[depth], "new/folder");
        g_autofree char *inside = below(place.outside, real);
        g_autofree char *canary = below(inside, "canary"), *empty = below(inside, "empty"),
                        *made = below(inside, "new");

        assert_false(loop_ledger_remove(place.ledger, LOOP_FILE, file, NULL));
        assert_false(loop_ledger_remove(place.ledger, LOOP_FOLDER, folder, NULL));
        assert_false(loop_ledger_make_folder(place.ledger, new, NULL));
        for (unsigned deed = 0; deed < LOOP_N_DEEDS; deed++)
            if (loop_ledger_has_path((LoopDeed)deed))
                assert_false(loop_ledger_do(place.ledger, (LoopDeed)deed, file, NULL));
        assert_true(g_file_test(canary, G_FILE_TEST_IS_REGULAR));
        assert_true(g_file_test(empty, G_FILE_TEST_IS_DIR));
        assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
        /* The link itself is ours to remove. */
        assert_true(loop_ledger_remove(place.ledger, LOOP_FILE, ways[depth], NULL));
        place_leave(&place);
    }
}

TEST(a_folder_that_others_may_write_to_is_left_alone)
{
    LedgerPlace place;

    place_enter(&place);
    g_autofree char *folder = below(place.state, "a/b"), *file = below(place.state, "a/b/file");
    assert_true(g_file_set_contents(file, "", -1, NULL));
    assert_int_equal(g_chmod(folder, 0777), 0);
    assert_false(loop_ledger_remove(place.ledger, LOOP_FILE, "a/b/file", NULL));
    assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
    assert_int_equal(g_chmod(folder, 0700), 0);
    assert_true(loop_ledger_remove(place.ledger, LOOP_FILE, "a/b/file", NULL));
    assert_false(g_file_test(file, G_FILE_TEST_EXISTS));
    place_leave(&place);
}

/* A line stands only if the driver may have written it. */
TEST(lines_that_no_ledger_has)
{
    static const struct {
        const char *line;
        gboolean stands;
    } cases[] = {
        {"+ file a/b",           TRUE },
        {"+ folder a",           TRUE },
        {"+ mount a/b",          TRUE },
        {"+ number 7",           TRUE },
        {"+ asked 0-7,9",        TRUE },
        {"+ file a\\tb",         TRUE },
        {"+ file /etc/passwd",   FALSE},
        {"+ file ../x",          FALSE},
        {"+ file a/../../x",     FALSE},
        {"+ file a/\\56\\56/x",  FALSE}, /* ".." */
        {"+ file a//b",          FALSE},
        {"+ file a/./b",         FALSE},
        {"+ file ",              FALSE},
        {"+ number -1",          FALSE},
        {"+ number 7 8",         FALSE},
        {"+ asked all",          FALSE},
        {"+ files a",            FALSE},
        {"* file a",             FALSE},
        {"+file a",              FALSE},
        {"rm -rf /",             FALSE},
        {"+ file vol+ file a/b", TRUE }, /* a name may look so */
    };
    LedgerPlace place;

    place_enter(&place);
    g_autofree char *file = below(place.state, "ledger");
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf("%s\n+ file torn", cases[i].line);
        unsigned n_strange;

        assert_true(g_file_set_contents(file, text, -1, NULL));
        g_autoptr(GPtrArray) entries = loop_ledger_read(place.state, &n_strange, NULL);
        assert_non_null(entries);
        if (entries->len != (guint)cases[i].stands || n_strange != (unsigned)!cases[i].stands)
            fail_msg("%s: %u entries, %u strange lines", cases[i].line, entries->len, n_strange);
    }
    place_leave(&place);
}

static void
note_complaint(void *data, const char *text)
{
    g_string_append_printf(data, "%s\n", text);
}

/* What the issue began with: a ledger that says that a file behind a link is ours. */
TEST(cleaning_tells_and_leaves_what_is_outside)
{
    g_autoptr(GString) said = g_string_new(NULL);
    LedgerPlace place;

    place_enter(&place);
    loop_ledger_free(g_steal_pointer(&place.ledger));
    put_link(&place, 1);
    g_autofree char *file = below(place.state, "ledger");
    g_autofree char *canary = below(place.outside, "a/b/canary");
    assert_true(g_file_set_contents(
        file, "+ file a/b/canary\n+ folder a/b/empty\n+ mount a/b\n+ freeze a/b/empty\nnonsense\n",
        -1, NULL));
    g_autoptr(GPtrArray) remains = loop_remains_list(place.state, NULL);
    assert_non_null(remains);
    assert_false(loop_remains_clean(place.state, 0, note_complaint, said, NULL));
    assert_true(g_file_test(canary, G_FILE_TEST_IS_REGULAR));
    if (said->len > 0) { /* it may use devices here */
        assert_non_null(strstr(said->str, "a/b/canary: a folder on the way is a link"));
        assert_non_null(
            strstr(said->str, "lines of the ledger that we did not write, left alone: 1"));
    }
    place_leave(&place);
}

/* Neither waits for a writer, nor reads for ever, nor reads a file of others. */
TEST(a_ledger_that_is_no_file_is_refused)
{
    static const char *const targets[] = {NULL, "/dev/zero", "/etc/passwd"};

    for (unsigned i = 0; i < G_N_ELEMENTS(targets); i++) {
        LedgerPlace place;
        place_enter(&place);
        g_autofree char *ledger = below(place.state, "ledger");
        g_autoptr(GError) error = NULL;

        assert_int_equal(g_unlink(ledger), 0);
        assert_int_equal(targets[i] == NULL ? mkfifo(ledger, 0600) : symlink(targets[i], ledger),
                         0);
        assert_null(loop_ledger_read(place.state, NULL, &error));
        assert_non_null(strstr(error->message, "/ledger: "));
        place_leave(&place);
    }
}
