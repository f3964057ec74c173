/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "run/files/rows.h"
#include "tests/lib/test.h"

/* Result files are whole or not there, for any length and any fault. */

#define NAME "rows.txt"

static char *
make_folder(void)
{
    char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);

    assert_non_null(folder);
    return folder;
}

static void
remove_folder(char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        g_remove(file);
    }
    g_remove(path);
    g_free(path);
}

/* The files in the folder, each with its length: "rows.txt 12 ". (owned) */
static char *
result_file_list(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    GString *text = g_string_new(NULL);
    const char *name;

    assert_non_null(dir);
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *file = g_build_filename(folder, name, NULL);
        GStatBuf found;
        assert_int_equal(g_stat(file, &found), 0);
        g_string_append_printf(text, "%s %" G_GINT64_FORMAT " ", name, (gint64)found.st_size);
    }
    return g_string_free(text, FALSE);
}

static void
assert_holds(const char *folder, const char *wanted)
{
    g_autofree char *found = result_file_list(folder);

    assert_string_equal(found, wanted);
}

/* Appends rows with different texts. */
static void
append_rows(GString *text, unsigned first, unsigned n, unsigned width)
{
    for (unsigned i = first; i < first + n; i++)
        g_string_append_printf(text, "%0*u\n", (int)width, i);
}

static const struct {
    const char *title;
    unsigned n_rows, width;
} lengths[] = {
    {"a row",                              1,     10                      },
    {"fewer than are gathered",            100,   100                     },
    {"as many as are gathered",            1024,  255                     },
    {"one more",                           1025,  255                     },
    {"many times as many",                 20000, 99                      },
    {"a row longer than what is gathered", 3,     2 * RESULT_FILE_GATHERED},
};

/* The file has what was appended, and memory never holds more than the buffer and a row. */
TEST(files_of_any_length_are_whole)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++) {
        char *folder = make_folder();
        g_autoptr(ResultFile) file = result_file_new(folder, NAME);
        g_autofree char *path = g_build_filename(folder, NAME, NULL), *found = NULL;
        g_autoptr(GString) wanted = g_string_new(NULL);
        gsize length;

        print_message("%s\n", lengths[i].title);
        append_rows(wanted, 0, lengths[i].n_rows, lengths[i].width);
        for (unsigned row = 0; row < lengths[i].n_rows; row++) {
            append_rows(file->text, row, 1, lengths[i].width);
            result_file_end_row(file);
            assert_true(file->text->len < RESULT_FILE_GATHERED);
            assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
        }
        assert_true(result_file_finish(file, NULL));
        assert_true(g_file_get_contents(path, &found, &length, NULL));
        assert_int_equal(length, wanted->len);
        assert_memory_equal(found, wanted->str, length);
        g_autofree char *all = result_file_list(folder);
        assert_true(g_str_has_prefix(all, NAME " "));
        assert_int_equal(strchr(all + strlen(NAME " "), ' ')[1],
                         '\0'); /* no other file in the folder */
        remove_folder(folder);
    }
}

TEST(a_file_without_contents_is_not_made)
{
    char *folder = make_folder();
    g_autoptr(ResultFile) file = result_file_new(folder, NAME);

    result_file_end_row(file);
    assert_true(result_file_finish(file, NULL));
    assert_holds(folder, "");
    remove_folder(folder);
}

/* An earlier file is replaced at the end, and stays if the writer gives up. */
TEST(an_earlier_file_stays_until_the_end)
{
    char *folder = make_folder();
    ResultFile *given_up = result_file_new(folder, NAME);
    g_autoptr(ResultFile) file = result_file_new(folder, NAME);

    assert_true(result_file_write(folder, NAME, "earlier\n", NULL));
    g_string_append(given_up->text, "half a row");
    result_file_pass_on(given_up);
    result_file_free(given_up);
    assert_holds(folder, NAME " 8 ");
    g_string_append(file->text, "later\n");
    assert_true(result_file_finish(file, NULL));
    assert_holds(folder, NAME " 6 ");
    remove_folder(folder);
}

/* The disk is full after some rows: a test can only set the limit of a file's length. */
TEST(a_full_disk_leaves_nothing)
{
    char *folder = make_folder();
    g_autofree char *path = g_build_filename(folder, NAME, NULL);
    g_autoptr(ResultFile) file = result_file_new(folder, NAME);
    g_autoptr(GError) error = NULL;
    struct rlimit before, small;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 2 * RESULT_FILE_GATHERED;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (unsigned row = 0; row < 20000; row++) {
        append_rows(file->text, row, 1, 99);
        result_file_end_row(file);
    }
    gboolean good = result_file_finish(file, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(good);
    assert_int_equal(error->domain, G_FILE_ERROR);
    assert_true(g_str_has_prefix(error->message, path)); /* the error names the file */
    assert_holds(folder, "");
    remove_folder(folder);
}

TEST(a_name_that_is_taken_by_a_folder_is_an_error)
{
    char *folder = make_folder();
    g_autofree char *path = g_build_filename(folder, NAME, NULL);
    g_autoptr(GError) error = NULL;

    assert_int_equal(g_mkdir(path, 0777), 0);
    assert_false(result_file_write(folder, NAME, "row\n", &error));
    assert_true(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ISDIR));
    assert_true(g_str_has_prefix(error->message, path));
    assert_true(g_file_test(path, G_FILE_TEST_IS_DIR));
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    assert_string_equal(g_dir_read_name(dir), NAME);
    assert_null(g_dir_read_name(dir));
    remove_folder(folder);
}

TEST(a_folder_that_is_not_there_is_an_error)
{
    char *folder = make_folder();
    g_autofree char *missing = g_build_filename(folder, "missing", NULL);
    g_autoptr(GError) error = NULL;

    assert_false(result_file_write(missing, NAME, "row\n", &error));
    assert_true(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
    assert_true(g_str_has_prefix(error->message, missing));
    remove_folder(folder);
}

/* Returns FALSE at the third call. */
static gboolean
twice(void *data)
{
    unsigned *n_asked = data;

    return ++*n_asked < 3;
}

TEST(who_breaks_it_off_leaves_nothing)
{
    char *folder = make_folder();
    g_autoptr(ResultFile) file = result_file_new(folder, NAME);
    g_autoptr(GError) error = NULL;
    unsigned n_asked = 0;

    file->go_on = twice;
    file->go_on_data = &n_asked;
    for (unsigned row = 0; row < 20000; row++) {
        append_rows(file->text, row, 1, 99);
        result_file_end_row(file);
    }
    assert_false(result_file_finish(file, &error));
    assert_true(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INTR));
    assert_int_equal(n_asked, 3); /* it is not called again */
    assert_holds(folder, "");
    remove_folder(folder);
}

/* The row writer sets commas and line breaks. */
static void
append_object(ResultFile *file)
{
    row_open(file, '{');
    row_json_text(file, "name", "a\"b");
    row_key(file, "times");
    row_open(file, '[');
    for (unsigned i = 0; i < 2; i++) {
        row_item(file);
        row_open(file, '{');
        row_json_seconds(file, "at", i * SIM_SECOND);
        row_close(file, '}');
    }
    row_close(file, ']');
    row_key(file, "none");
    row_open(file, '{');
    row_close(file, '}');
    row_json_unsigned(file, "n", 2);
    row_close(file, '}');
    row_end(file);
}

#define SAMPLE_COLUMNS(X)                                                                          \
    X("name", text, NULL, "", "a")                                                                 \
    X("n", count, NULL, "", 1)                                                                     \
    X("of", maybe_text, NULL, "", NULL)                                                            \
    X("long", quoted, NULL, "", "b,c")                                                             \
    X("never", time, NULL, "", TIME_UNSET)                                                         \
    X("at", time, NULL, "", SIM_SECOND)
static const ResultTable sample_table =
    RESULT_TABLE("sample.csv", "", NULL, SAMPLE_COLUMNS(COLUMN));

TEST(rows_have_commas_and_breaks)
{
    g_autoptr(ResultFile) file = result_file_new(".", NAME);

    row_header(file, &sample_table);
    SAMPLE_COLUMNS(CSV_CELL);
    row_end(file);
    append_object(file);
    file->indent = 4;
    append_object(file);
    assert_string_equal(file->text->str,
                        "name,n,of,long,never,at\n"
                        "a,1,,\"b,c\",,1.000000000\n"
                        "{\"name\":\"a\\\"b\",\"times\":[{\"at\":0.000000000},"
                        "{\"at\":1.000000000}],\"none\":{},\"n\":2}\n"
                        "{\n    \"name\": \"a\\\"b\",\n    \"times\": [\n"
                        "        {\n            \"at\": 0.000000000\n        },\n"
                        "        {\n            \"at\": 1.000000000\n        }\n    ],\n"
                        "    \"none\": {},\n    \"n\": 2\n}\n");
}
