/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file recorded.json: what is written reads back the same; a wrong file is told with its line.
 */
#include "run/import/import-test.h"
#include "run/import/recorded.h"
#include "tests/lib/test.h"

#include <glib/gstdio.h>
#include <string.h>

#define HEAD                                                                                       \
    "{\"format\": \"kvolsim-recorded/1\", \"start\": \"2026-11-22T15:58:54Z\", \"until\": 9,\n"

typedef struct {
    const char *name, *text, *fault; /* the fault without the file's name */
} RecordedRow;

/* clang-format off */
static const RecordedRow rows[] = {
    {"no JSON", "{\n\"format\":\n", ":3:1: did not find expected node content"},
    {"empty", "", ": must be one JSON object"},
    {"a list", "[1]", ":1:1: must be a mapping, not a list"},
    {"another format", "{\"format\": \"x\",\n\"start\": \"a\", \"until\": 9, \"objects\": []}",
     ":1:12: format: must be \"kvolsim-recorded/1\" (write it with kvolsim import)"},
    {"no objects", HEAD "\"requests\": []}", ":1:1: \"objects\" is missing"},
    {"unknown kind", HEAD "\"objects\": [\n{\"kind\": \"Pot\", \"name\": \"a\", \"milestones\": {}}]}",
     ":3:10: objects[0].kind: \"Pot\" is not known here (did you mean \"Pod\"?)"},
    {"no name", HEAD "\"objects\": [{\"kind\": \"Pod\",\n\"milestones\": {}}]}", ":2:13: objects[0]: \"name\" is missing"},
    {"unknown milestone", HEAD "\"objects\": [{\"kind\": \"Pod\", \"name\": \"a\",\n\"milestones\": {\"redy\": 1}}]}",
     ":3:16: objects[0].milestones.redy: unknown field (did you mean \"ready\"?)"},
    {"before the start", HEAD "\"objects\": [{\"kind\": \"Pod\", \"name\": \"a\",\n\"milestones\": {\"ready\": -1}}]}",
     ":3:25: objects[0].milestones.ready: must be seconds since the start, from 0 to 1000000"},
    {"a count that is none", HEAD "\"objects\": [], \"requests\": [\n{\"client\": \"a\", \"verb\": \"get\", \"resource\": \"pods\","
     " \"count\": -1}]}", ":3:61: requests[0].count: -1 is too small: at least 0"},
};
/* clang-format on */

typedef struct {
    char *folder, *file;
} RecordedPlace;

static int
recorded_set_up(void **state)
{
    RecordedPlace *place = g_new0(RecordedPlace, 1);

    place->folder = g_dir_make_tmp("recorded-XXXXXX", NULL);
    place->file = g_build_filename(place->folder, "recorded.json", NULL);
    *state = place;
    return place->folder == NULL;
}

static int
recorded_tear_down(void **state)
{
    RecordedPlace *place = *state;

    g_unlink(place->file);
    g_rmdir(place->folder);
    g_free(place->file);
    g_free(place->folder);
    g_free(place);
    return 0;
}

TEST_WITH(recorded_set_up, recorded_tear_down, faults_have_lines)
{
    const RecordedPlace *place = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        assert_true(g_file_set_contents(place->file, rows[i].text, -1, NULL));
        assert_null(recorded_read(place->file, &error));
        assert_non_null(error);
        if (!g_str_has_prefix(error->message + strlen(place->file), rows[i].fault))
            print_error("%s: %s\n", rows[i].name, error->message);
        assert_true(g_str_has_prefix(error->message, place->file));
        assert_true(g_str_has_prefix(error->message + strlen(place->file), rows[i].fault));
    }
}

static void
recorded_fill(Recorded *recorded)
{
    static const char *claims[] = {"data-cache-0", NULL};

    recorded_set_span(recorded, "2026-11-22T15:58:54.5Z", 724 * SIM_SECOND);
    RecordedObject *pod = recorded_add(recorded, RECORDED_POD, "shop", "cache-0");
    pod->workload = recorded_text(recorded, "StatefulSet/cache");
    pod->node = recorded_text(recorded, "node-a1");
    pod->claims = claims;
    recorded_see(pod, RECORDED_CREATED, 15384 * SIM_MS);
    recorded_see(pod, RECORDED_READY, 28091 * SIM_MS);
    recorded_see(pod, RECORDED_READY, 99 * SIM_SECOND); /* the first one counts */
    RecordedObject *attachment = recorded_add(recorded, RECORDED_ATTACHMENT, NULL, "csi-1");
    attachment->volume = recorded_text(recorded, "pvc-\"1\"");
    attachment->claim = recorded_text(recorded, "shop/data-cache-0");
    for (unsigned i = 0; i < 3; i++)
        recorded_count_requests(recorded, "kube-scheduler", "patch", "pods/status", 1, i == 1);
    recorded_count_requests(recorded, "kubelet", "get", "nodes", 1, 0);
    recorded_miss(recorded, "mounts: an audit log has no calls of drivers");
}

TEST_WITH(recorded_set_up, recorded_tear_down, written_reads_back)
{
    const RecordedPlace *place = *state;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL, *again = NULL;
    g_autoptr(Recorded) recorded = recorded_new();

    recorded_fill(recorded);
    assert_true(recorded_write(recorded, place->folder, &error));
    assert_true(g_file_get_contents(place->file, &text, NULL, NULL));
    g_autoptr(Recorded) read = recorded_read(place->file, &error);
    if (read == NULL)
        print_error("%s\n", error->message);
    assert_non_null(read);
    assert_int_equal(recorded_until(read), 724 * SIM_SECOND);
    const RecordedObject *pod = recorded_objects(read)->pdata[0];
    assert_int_equal(pod->kind, RECORDED_POD);
    assert_string_equal(pod->claims[0], "data-cache-0");
    assert_int_equal(pod->at[RECORDED_READY], 28091 * SIM_MS);
    assert_true(pod->at[RECORDED_GONE] == TIME_UNSET);
    const RecordedRequests *requests = recorded_requests(read)->pdata[0];
    assert_int_equal(requests->count, 3);
    assert_int_equal(requests->failed, 1);
    assert_true(recorded_write(read, place->folder, &error));
    assert_true(g_file_get_contents(place->file, &again, NULL, NULL));
    assert_string_equal(text, again);
}
