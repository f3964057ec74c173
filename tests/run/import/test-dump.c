/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <archive.h>
#include <archive_entry.h>
#include <glib/gstdio.h>
#include <string.h>

#include "models/api/fields.h"
#include "run/files/packed.h"
#include "run/import/anonymize.h"
#include "run/import/dump.h"
#include "run/import/import-test.h"
#include "run/import/owners.h"
#include "run/import/prune.h"
#include "run/import/start/migrated.h"
#include "tests/lib/test.h"

/* Dumps are read whole or refused with file and line, whatever is in them. */

static char *folder;

/* Returns: (owned): its path */
static char *
dump_put(const char *name, const char *text)
{
    char *path = g_build_filename(folder, name, NULL);

    assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static int
make_folder(void **state)
{
    (void)state;
    folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    return folder == NULL;
}

static int
remove_folder(void **state)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    (void)state;
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
    g_free(folder);
    return 0;
}
TEST_PROGRAM(make_folder, remove_folder);

#define UID(n) "\"uid\": \"00000000-0000-4000-8000-00000000000" n "\""
#define META(name, n) "\"metadata\": {\"name\": \"" name "\", " UID(n) "}"
#define NODE(name, n) "{\"apiVersion\": \"v1\", \"kind\": \"Node\", " META(name, n) "}"
#define CLAIM(name, n)                                                                             \
    "{\"apiVersion\": \"v1\", \"kind\": \"PersistentVolumeClaim\", \"metadata\": {\"name\": "      \
    "\"" name "\", \"namespace\": \"shop\", \"creationTimestamp\": \"2026-01-0" n                  \
    "T00:00:00Z\", " UID(n) "}}"
#define LIST(items) "{\"apiVersion\": \"v1\", \"items\": [" items "], \"kind\": \"List\"}"
#define SYSTEM(n) "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", " META("kube-system", n) "}"

/* ---- One file ---- */

/* clang-format off */
static const struct {
    const char *what, *text;
    unsigned n;        /* objects that are taken */
    const char *fault; /* behind the file's name; NULL: none */
    const char *left;  /* reason of something left out; NULL: none */
} texts[] = {
    {"a list", LIST(NODE("a", "1") "," CLAIM("c","2")), 2, NULL, NULL},
    {"one object", NODE("a", "1"), 1, NULL, NULL},
    {"two values", NODE("a", "1") "\n" NODE("b","2"), 2, NULL, NULL},
    {"a bare array", "[" NODE("a", "1") "," NODE("b","2") "]", 2, NULL, NULL},
    {"a list in a list", LIST(LIST(NODE("a","1")) "," NODE("b","2")), 2, NULL, NULL},
    {"kind in the list", "{\"items\": [{" META("a", "1") "}], \"kind\": \"NodeList\", \"apiVersion\": \"v1\"}", 1, NULL, NULL},
    {"YAML", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: b}\n", 2, NULL, NULL},
    {"brackets in texts", "[" NODE("a]}\\\"", "1") "]", 1, NULL, NULL},
    {"the same twice", LIST(NODE("a", "1") "," NODE("a","1")), 1, NULL, "Objects that a file has twice"},
    {"a uid twice", LIST(NODE("a","1") "," NODE("b","1")), 1, NULL, "A second object with the uid of another"},
    {"a name twice", LIST(NODE("a", "1") "," NODE("a","2")), 1, NULL, "A second object of one name, with another uid"},
    {"an unknown kind", "{\"apiVersion\": \"v1\", \"kind\": \"Endpoints\", " META("a", "1") "}", 0, NULL, "Endpoints, which has no effect on storage"},
    {"a custom resource", "{\"apiVersion\": \"acme.com/v1\", \"kind\": \"Node\", " META("a", "1") "}", 0, NULL, "Node of acme.com/v1, a version that no model knows"},
    {"nothing", "", 0, ":1: the file is empty", NULL},
    {"space", " \n\n", 0, ":1: the file is empty", NULL},
    {"cut off", "{\"items\": [\n" NODE("a", "1") ",\n{\"kind\": \"No", 0, ":3: the file ends in the middle", NULL},
    {"cut between items", "{\"items\": [\n" NODE("a", "1") ",\n", 0, ":3: the file ends in the middle", NULL},
    {"no JSON in an item", "{\"items\": [\n{\n\"kind\" \"Node\"}]}", 0, ":3: ':' expected", NULL},
    {"words among items", "{\"items\": [\n" NODE("a", "1") ",\nnull]}", 0, ":3: expected an object in JSON", NULL},
    {"an item is a list", "{\"items\": [\n[]\n]}", 0, ":2: expected an object of Kubernetes", NULL},
    {"other JSON", "\n{\"users\": 3}", 0, ":2: has no kind: not an object of Kubernetes", NULL},
    {"no kind", "{\"items\": [\n{\"metadata\": {\"name\": \"a\"}}]}", 0, ":2: has no kind: not an object of Kubernetes", NULL},
    {"no name", "\n{\"apiVersion\": \"v1\", \"kind\": \"Node\"}", 0, ":2: the object has no metadata.name", NULL},
    {"too many brackets", "]", 0, ":1:", NULL},
    {"more after the end", NODE("a","1") "}", 0, ":1: a bracket closes nothing", NULL},
    {"other YAML", "- a\n- b\n", 0, ":1: expected an object of Kubernetes", NULL},
    {"no YAML", "a: [\n", 0, ":", NULL},
};
/* clang-format on */

TEST(texts_are_read_or_refused)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *path = dump_put("dump", texts[i].text);
        const char *const files[] = {path, NULL};
        g_autoptr(ImportReport) report = import_report_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) dumps = dumps_read(files, report, &error);
        if (texts[i].fault != NULL) {
            g_autofree char *expected = g_strconcat(path, texts[i].fault, NULL);
            if (dumps != NULL || !g_str_has_prefix(error->message, expected))
                fail_msg("%s: %s", texts[i].what, error != NULL ? error->message : "read");
            continue;
        }
        if (dumps == NULL)
            fail_msg("%s: %s", texts[i].what, error->message);
        const Dump *dump = dumps->pdata[0];
        if (dump->objects->len != texts[i].n)
            fail_msg("%s: %u objects", texts[i].what, dump->objects->len);
        if (texts[i].left != NULL &&
            import_report_counted(report, REPORT_LEFT_OUT, texts[i].left) != 1)
            fail_msg("%s: not reported", texts[i].what);
    }
}

TEST(any_cut_of_a_dump_is_told)
{
    static const char text[] = LIST(NODE("a", "1") "," CLAIM("\\\"{[", "2"));

    for (gsize n = 0; n < strlen(text); n++) {
        g_autofree char *cut = g_strndup(text, n);
        g_autofree char *path = dump_put("cut", cut);
        const char *const files[] = {path, NULL};
        g_autoptr(ImportReport) report = import_report_new();
        g_autoptr(GError) error = NULL;
        assert_null(dumps_read(files, report, &error));
        assert_true(g_str_has_prefix(error->message, path));
    }
}

TEST(deep_nesting_is_refused)
{
    g_autoptr(GString) text = g_string_new("{\"items\": [\n");

    for (unsigned i = 0; i < 100000; i++)
        g_string_append(text, "{\"a\": ");
    g_autofree char *path = dump_put("deep", text->str);
    const char *const files[] = {path, NULL};
    g_autoptr(ImportReport) report = import_report_new();
    g_autoptr(GError) error = NULL;
    assert_null(dumps_read(files, report, &error));
    assert_non_null(strstr(error->message, "deep:2: more than 1000 brackets"));
}

/* ---- Several files ---- */

/* clang-format off */
static const struct {
    const char *what;
    const char *files[4];
    const char *dumps; /* the numbers of objects in each; NULL: refused */
} several[] = {
    {"parts of one", {LIST(NODE("a", "1")), LIST(CLAIM("c", "2"))}, "2"},
    {"two times", {LIST(CLAIM("c", "2") "," CLAIM("d", "3")), LIST(CLAIM("c", "2"))}, "1 2"},
    {"parts of two times",
     {LIST(CLAIM("c", "2")), LIST(NODE("a", "1")), LIST(NODE("a", "1")), LIST(CLAIM("c", "2") "," CLAIM("d", "3"))},
     "2 3"},
    {"one cluster", {LIST(SYSTEM("1") "," CLAIM("c", "2")), LIST(SYSTEM("1") "," CLAIM("d", "3"))},
     "3"},
    {"another cluster",
     {LIST(SYSTEM("1") "," CLAIM("c", "2")), LIST(SYSTEM("9") "," CLAIM("d", "3"))}, NULL},
    {"another cluster's nodes",
     {LIST(NODE("a", "1") "," CLAIM("c", "2")), LIST(NODE("a", "9") "," CLAIM("d", "3"))}, NULL},
    {"a file for each node", {NODE("a", "1"), NODE("b", "2"), CLAIM("c", "3")}, "3"},
};
/* clang-format on */

TEST(files_are_parts_or_times)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(several); i++) {
        const char *files[5] = {NULL};
        g_autoptr(ImportReport) report = import_report_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) counts = g_string_new(NULL);
        for (unsigned j = 0; j < 4 && several[i].files[j] != NULL; j++) {
            g_autofree char *name = g_strdup_printf("part-%u", j);
            files[j] = dump_put(name, several[i].files[j]);
        }
        g_autoptr(GPtrArray) dumps = dumps_read(files, report, &error);
        for (unsigned j = 0; dumps != NULL && j < dumps->len; j++)
            g_string_append_printf(counts, "%s%u", j > 0 ? " " : "",
                                   ((const Dump *)dumps->pdata[j])->objects->len);
        if (dumps == NULL && several[i].dumps != NULL)
            fail_msg("%s: %s", several[i].what, error->message);
        if (dumps == NULL)
            assert_non_null(strstr(error->message, "are dumps of different clusters"));
        else if (several[i].dumps == NULL || strcmp(counts->str, several[i].dumps) != 0)
            fail_msg("%s: %s", several[i].what, counts->str);
        for (unsigned j = 0; files[j] != NULL; j++)
            g_free((char *)files[j]);
    }
}

TEST(newest_time_stamp)
{
    static const struct {
        const char *object, *newest;
    } cases[] = {
        {"\"creationTimestamp\": \"2026-01-01T00:00:05Z\"}",                       "2026-01-01T00:00:05Z"       },
        {"\"creationTimestamp\": \"2026-01-01T00:00:05Z\", \"managedFields\": [{\"time\": "
         "\"2026-01-01T00:00:09Z\"}]}",                                   "2026-01-01T00:00:09Z"       },
        {"\"creationTimestamp\": \"2026-01-01T00:00:05Z\", \"deletionTimestamp\": "
         "\"2026-01-01T00:01:00Z\", \"deletionGracePeriodSeconds\": 30}", "2026-01-01T00:00:30Z"       },
        {"\"creationTimestamp\": \"2026-01-01T00:00:05Z\"}, \"status\": {\"conditions\": "
         "[{\"lastHeartbeatTime\": \"2026-01-01T00:00:05.5Z\"}]}",        "2026-01-01T00:00:05.500000Z"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf(
            "{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"a\", %s}",
            cases[i].object);
        g_autofree char *path = dump_put("times", text);
        const char *const files[] = {path, NULL};
        g_autoptr(ImportReport) report = import_report_new();
        g_autoptr(GPtrArray) dumps = dumps_read(files, report, NULL);
        SimTime expected;
        assert_non_null(dumps);
        assert_true(api_time_parse(cases[i].newest, &expected));
        assert_int_equal(((const Dump *)dumps->pdata[0])->newest, expected);
    }
}

/* ---- Packed files ---- */

static void
pack(const char *path, int filter, const char *text)
{
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();

    assert_int_equal(archive_write_add_filter(archive, filter), ARCHIVE_OK);
    archive_write_set_format_raw(archive);
    archive_write_set_bytes_in_last_block(archive, 1);
    archive_entry_set_filetype(entry, AE_IFREG);
    assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(archive, text, strlen(text)), strlen(text));
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_entry_free(entry);
    archive_write_free(archive);
}

/* Lines of many lengths, of more than one block in all. (owned) */
static char *
many_lines(void)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < 3000; i++)
        g_string_append_printf(text, "%u %.*s\n", i, (int)(i % 400),
                               "................................................................"
                               "................................................................"
                               "................................................................");
    return g_string_free(text, FALSE);
}

TEST(packed_files_read_alike)
{
    static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_XZ,
                                  ARCHIVE_FILTER_ZSTD};
    g_autofree char *text = many_lines();
    g_autofree char *path = g_build_filename(folder, "packed", NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(filters); i++) {
        g_autofree char *read = NULL, *cut = NULL;
        g_autoptr(GError) error = NULL;
        gsize length, packed_length;
        pack(path, filters[i], text);
        assert_true(packed_get_contents(path, &read, &length, NULL));
        assert_string_equal(read, text);
        if (filters[i] == ARCHIVE_FILTER_NONE)
            continue;
        g_clear_pointer(&read, g_free);
        assert_true(g_file_get_contents(path, &cut, &packed_length, NULL));
        assert_true(g_file_set_contents(path, cut, (gssize)packed_length / 2, NULL));
        assert_false(packed_get_contents(path, &read, &length, &error));
        assert_true(g_str_has_prefix(error->message, path));
    }
}

TEST(xz_is_read_back)
{
    g_autofree char *text = many_lines(), *read = NULL;
    g_autofree char *path = g_build_filename(folder, "xz", NULL);
    g_autoptr(GBytes) packed = packed_xz(text, strlen(text), NULL);
    gsize length;
    const char *bytes = g_bytes_get_data(packed, &length);

    assert_true(length < strlen(text) / 10);
    assert_true(g_file_set_contents(path, bytes, (gssize)length, NULL));
    assert_true(packed_get_contents(path, &read, NULL, NULL));
    assert_string_equal(read, text);
}

/* ---- What is dropped ---- */

/* CANARY stands where nothing may come through. */
static const char *const secretive[] = {
    "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"s\", \"labels\": "
    "{\"a\": \"CANARY\"}}, \"data\": {\"a\": \"CANARY\"}, \"stringData\": {\"a\": \"CANARY\"}}",
    "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"p\", \"annotations\": {\"acme.com/token\": "
    "\"CANARY\", \"kubectl.kubernetes.io/last-applied-configuration\": \"CANARY\"}, "
    "\"managedFields\": [{\"manager\": \"CANARY\"}]}}",
    "{\"kind\": \"Pod\", \"spec\": {\"containers\": [{\"name\": \"c\", \"env\": [{\"value\": "
    "\"CANARY\"}], \"envFrom\": [\"CANARY\"], \"command\": [\"CANARY\"], \"args\": "
    "[\"--password=CANARY\"]}]}}",
    "{\"kind\": \"Pod\", \"spec\": {\"initContainers\": [{\"name\": \"c\", \"args\": "
    "[\"CANARY\"]}], \"ephemeralContainers\": [{\"args\": [\"CANARY\"]}], \"imagePullSecrets\": "
    "[{\"name\": \"CANARY\"}]}}",
    "{\"kind\": \"Pod\", \"spec\": {\"containers\": [{\"livenessProbe\": {\"httpGet\": "
    "{\"httpHeaders\": [{\"value\": \"CANARY\"}]}}, \"lifecycle\": {\"exec\": \"CANARY\"}}]}}",
    "{\"kind\": \"Pod\", \"status\": {\"podIP\": \"CANARY\", \"containerStatuses\": [{\"imageID\": "
    "\"CANARY\", \"lastState\": {\"terminated\": {\"message\": \"CANARY\"}}}]}}",
    "{\"kind\": \"Deployment\", \"spec\": {\"template\": {\"metadata\": {\"annotations\": "
    "{\"vault/secret\": \"CANARY\"}}, \"spec\": {\"containers\": [{\"env\": \"CANARY\"}]}}}}",
    "{\"kind\": \"ControllerRevision\", \"data\": {\"spec\": {\"template\": {\"spec\": "
    "{\"containers\": [{\"env\": \"CANARY\"}]}}}}}",
    "{\"kind\": \"Deployment\", \"metadata\": {\"annotations\": {\"kubernetes.io/change-cause\": "
    "\"CANARY\"}}}",
    "{\"kind\": \"Node\", \"status\": {\"addresses\": [\"CANARY\"], \"images\": [\"CANARY\"]}}",
};

TEST(secrets_are_dropped)
{
    g_autoptr(ImportReport) report = import_report_new();
    g_autoptr(Pruner) pruner = pruner_new(report);

    for (unsigned i = 0; i < G_N_ELEMENTS(secretive); i++) {
        json_t *object = json_loads(secretive[i], 0, NULL);
        assert_non_null(object);
        pruner_object(pruner, object);
        g_autofree char *text = json_dumps(object, JSON_COMPACT);
        if (strstr(text, "CANARY") != NULL)
            fail_msg("%s", text);
        json_decref(object);
    }
}

static json_t *
pruned_template(Pruner *pruner, const char *kind, const char *env, const char *path)
{
    g_autofree char *text = g_strdup_printf(
        "{\"kind\": \"%s\", \"%s\": {%s\"template\": {\"spec\": {\"containers\": [{\"name\": "
        "\"c\", \"env\": \"%s\"}]}}%s}}",
        kind, path, *path == 'd' ? "\"spec\": {" : "", env, *path == 'd' ? "}" : "");
    json_t *object = json_loads(text, 0, NULL), *spec = json_object_get(object, path);

    assert_non_null(object);
    pruner_object(pruner, object);
    if (*path == 'd')
        spec = json_object_get(spec, "spec");
    json_t *template = json_incref(json_object_get(spec, "template"));
    json_decref(object);
    return template;
}

TEST(templates_stay_equal_and_different)
{
    g_autoptr(ImportReport) report = import_report_new();
    g_autoptr(Pruner) pruner = pruner_new(report);
    json_auto_t *deployed = pruned_template(pruner, "Deployment", "two", "spec");
    json_auto_t *old = pruned_template(pruner, "ReplicaSet", "one", "spec");
    json_auto_t *new = pruned_template(pruner, "ReplicaSet", "two", "spec");
    json_auto_t *revised = pruned_template(pruner, "ControllerRevision", "two", "data");

    assert_true(json_equal(deployed, new));
    assert_false(json_equal(deployed, old));
    assert_true(json_equal(deployed, revised));
}

/* ---- Stand-ins ---- */

TEST(stand_ins_fit_each_other)
{
    g_autoptr(Anonymizer) anonymizer = anonymizer_new();
    json_auto_t *value = json_pack(
        "{s:{s:s, s:s, s:{s:s, s:s}}, s:s, s:s, s:s, s:s, s:s}", "metadata", "name", "web-0",
        "generateName", "web-", "labels", "kubernetes.io/hostname", "node-acme", "acme.com/team",
        "web", "claim", "data-web-0", "image", "10.1.2.3:5000/web:1.2", "message", "acme is down",
        "volume", "pvc-41075652-492c-491b-bf47-b1dd64f94e0e", "kind", "Pod");
    json_auto_t *expected =
        json_pack("{s:{s:s, s:s, s:{s:s, s:s}}, s:s, s:s, s:s, s:s, s:s}", "metadata", "name",
                  "w0005-0", "generateName", "w0005-", "labels", "kubernetes.io/hostname",
                  "node-w0001", "w0001.w0002/w0004", "w0005", "claim", "w0003-w0005-0", "image",
                  "w0000:5000/w0005:1.2", "message", "message 1", "volume",
                  "pvc-41075652-492c-491b-bf47-b1dd64f94e0e", "kind", "Pod");

    anonymizer_see(anonymizer, value);
    json_auto_t *replaced = anonymizer_replace(anonymizer, value);
    g_autofree char *text = json_dumps(replaced, JSON_COMPACT);
    if (!json_equal(replaced, expected))
        fail_msg("%s", text);
    g_autofree char *sentence = anonymizer_sentence(anonymizer, "Driver web.acme is not known.");
    assert_string_equal(sentence, "Driver w0005.w0001 is not known.");
}

/* Where Kubernetes' own words and a user's stand in one key or value. */
/* clang-format off */
static const struct {
    const char *text, *expected;
} mixed[] = {
    {"{\"hard\":{\"acme.storageclass.storage.k8s.io/requests.storage\":\"1Gi\",\"pods\":\"4\"}}",
     "{\"hard\":{\"w0000.storageclass.storage.k8s.io/requests.storage\":\"1Gi\",\"pods\":\"4\"}}"},
    {"{\"limits\":{\"acme.example/gpu\":\"1\",\"cpu\":\"2\"}}",
     "{\"limits\":{\"w0000.w0001/w0002\":\"1\",\"cpu\":\"2\"}}"},
    {"{\"labels\":{\"node-role.kubernetes.io/acme\":\"\",\"node-role.kubernetes.io/worker\":\"\"}}",
     "{\"labels\":{\"node-role.kubernetes.io/w0000\":\"\",\"node-role.kubernetes.io/worker\":\"\"}}"},
    {"{\"restoreSize\":\"10Gi\"}", "{\"restoreSize\":\"10Gi\"}"},
    {"{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"acme\"]}",
     "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"w0000\"]}"},
    {"{\"key\":\"node-role.kubernetes.io/acme\",\"operator\":\"Exists\"}",
     "{\"key\":\"node-role.kubernetes.io/w0000\",\"operator\":\"Exists\"}"},
    {"{\"apiVersion\":\"db.acme.example/v1\",\"kind\":\"AcmeCluster\"}",
     "{\"apiVersion\":\"w0002.w0001.w0003/v1\",\"kind\":\"w0000\"}"},
    {"{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\"}",
     "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\"}"},
};
/* clang-format on */

TEST(words_of_users_are_replaced_beside_those_of_kubernetes)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(mixed); i++) {
        g_autoptr(Anonymizer) anonymizer = anonymizer_new();
        json_auto_t *value = json_loads(mixed[i].text, 0, NULL);
        anonymizer_see(anonymizer, value);
        json_auto_t *replaced = anonymizer_replace(anonymizer, value);
        g_autofree char *text = json_dumps(replaced, JSON_COMPACT);
        assert_string_equal(text, mixed[i].expected);
    }
}

/* ---- Owners that the dump lacks ---- */

#define POD(name, n, day, hash, owner)                                                             \
    "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"" name                 \
    "\", \"namespace\": \"shop\", \"creationTimestamp\": \"2026-01-" day                           \
    "T00:00:00Z\", " UID(n) ", \"labels\": {\"app\": \"web\", \"pod-template-hash\": \"" hash      \
                            "\"}, \"ownerReferences\": [{\"apiVersion\": \"apps/v1\", " owner      \
                            ", \"controller\": true}]}, \"spec\": {\"nodeName\": \"a\", "          \
                            "\"containers\": [{\"name\": "                                         \
                            "\"of-a-pod\"}]}}"
#define OWNER(kind, name, n) "\"kind\": \"" kind "\", \"name\": \"" name "\", " UID(n)
#define DEPLOYMENT                                                                                 \
    "{\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\", \"metadata\": {\"name\": \"web\", "   \
    "\"namespace\": \"shop\", " UID(                                                               \
        "1") "}, \"spec\": {\"selector\": {\"matchLabels\": {\"app\": "                            \
             "\"web\"}}, \"template\": {\"metadata\": {\"labels\": {\"app\": \"web\"}}, "          \
             "\"spec\": "                                                                          \
             "{\"containers\": [{\"name\": \"of-the-deployment\"}]}}}}"

static void
expect_set(const Dump *dump, const char *name, unsigned replicas, const char *container)
{
    const json_t *set = dump_find(dump, "ReplicaSet", "shop", name);
    const char *found = NULL, *owner = NULL, *hash = NULL;
    json_int_t n = -1;

    assert_non_null(set);
    assert_int_equal(json_unpack((json_t *)set,
                                 "{s:{s:I, s:{s:{s:s}}, s:{s:{s:[{s:s}]}}}, s:{s:[{s:s}]}}", "spec",
                                 "replicas", &n, "selector", "matchLabels", "pod-template-hash",
                                 &hash, "template", "spec", "containers", "name", &found,
                                 "metadata", "ownerReferences", "name", &owner),
                     0);
    assert_int_equal(n, replicas);
    assert_string_equal(found, container);
    assert_string_equal(owner, "web");
    assert_true(g_str_has_suffix(name, hash));
}

/* In the midst of a rollout: the newest pods are those of the Deployment's template. */
TEST(sets_are_made_of_their_pods)
{
    g_autofree char *path = dump_put(
        "dump",
        LIST(DEPLOYMENT
             "," POD("web-old-1", "2", "01", "old", OWNER("ReplicaSet", "web-old", "7")) "," POD(
                 "web-old-2", "3", "02", "old",
                 OWNER("ReplicaSet", "web-old",
                       "7")) "," POD("web-new-1", "4", "03", "new",
                                     OWNER("ReplicaSet", "web-new",
                                           "8")) "," POD("db-0", "5", "01", "db",
                                                         OWNER("StatefulSet", "db", "9"))));
    const char *const files[] = {path, NULL};
    g_autoptr(ImportReport) report = import_report_new();
    g_autoptr(GPtrArray) dumps = dumps_read(files, report, NULL);

    assert_non_null(dumps);
    Dump *dump = dumps->pdata[0];
    owners_complete(dump, report);
    assert_int_equal(dump->objects->len, 7);
    expect_set(dump, "web-old", 2, "of-a-pod");
    expect_set(dump, "web-new", 1, "of-the-deployment");
    const json_t *metadata = json_object_get(dump_find(dump, "Pod", "shop", "db-0"), "metadata");
    assert_int_equal(json_array_size(json_object_get(metadata, "ownerReferences")), 0);
}

/* The garbage collector would delete such a pod in the cluster, too. */
TEST(owners_that_are_gone_stay_gone)
{
    g_autofree char *path = dump_put(
        "dump",
        LIST("{\"apiVersion\": \"apps/v1\", \"kind\": \"StatefulSet\", " META(
            "other", "1") "}," POD("db-0", "5", "01", "db", OWNER("StatefulSet", "db", "9"))));
    const char *const files[] = {path, NULL};
    g_autoptr(ImportReport) report = import_report_new();
    g_autoptr(GPtrArray) dumps = dumps_read(files, report, NULL);

    assert_non_null(dumps);
    owners_complete(dumps->pdata[0], report);
    const json_t *metadata =
        json_object_get(dump_find(dumps->pdata[0], "Pod", "shop", "db-0"), "metadata");
    assert_int_equal(json_array_size(json_object_get(metadata, "ownerReferences")), 1);
}

/* Kubernetes reads volumes of plugins that moved to CSI as those of the drivers. */
/* clang-format off */
static const struct {
    const char *driver; /* in the annotation migrated-to; "": not migrated */
    const char *source; /* in the PersistentVolume's spec */
    const char *zones;  /* of its node affinity */
    const char *handle; /* NULL: it stays as it is */
    const char *key;    /* of its node affinity afterwards */
} migrated[] = {
    {"ebs.csi.aws.com", "'awsElasticBlockStore': {'volumeID': 'vol-0f', 'fsType': 'xfs'}", "'a'",
     "vol-0f", "topology.ebs.csi.aws.com/zone"},
    {"ebs.csi.aws.com", "'awsElasticBlockStore': {'volumeID': 'aws://eu-1a/vol-0f'}", "'a'",
     "vol-0f", "topology.ebs.csi.aws.com/zone"},
    {"", "'awsElasticBlockStore': {'volumeID': 'vol-0f'}", "'a'", NULL,
     "topology.kubernetes.io/zone"},
    {"pd.csi.storage.gke.io", "'gcePersistentDisk': {'pdName': 'd'}", "'eu-1-b'",
     "projects/UNSPECIFIED/zones/eu-1-b/disks/d", "topology.kubernetes.io/zone"},
    {"pd.csi.storage.gke.io", "'gcePersistentDisk': {'pdName': 'd'}", "'eu-1-b', 'eu-1-c'",
     "projects/UNSPECIFIED/regions/eu-1/disks/d", "topology.kubernetes.io/zone"},
    {"disk.csi.azure.com", "'azureDisk': {'diskURI': '/subscriptions/A/disks/D', 'diskName': 'D'}",
     "'eu-1'", "/subscriptions/A/disks/D", "topology.kubernetes.io/zone"},
    {"csi.vsphere.vmware.com", "'vsphereVolume': {'volumePath': '[ds] k/d.vmdk'}", "'eu-1'",
     "[ds] k/d.vmdk", "topology.kubernetes.io/zone"},
};
/* clang-format on */

/* In a cluster whose nodes have the zone of the EBS driver, and no other driver's. */
TEST(migrated_volumes_become_csi_volumes)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(migrated); i++) {
        g_auto(GStrv) zones = g_strsplit(migrated[i].zones, "', '", -1);
        g_autofree char *joined = g_strjoinv("__", zones); /* as a label names several zones */
        g_autofree char *label = g_strndup(joined + 1, strlen(joined) - 2);
        g_autofree char *text = g_strdup_printf(
            "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n', 'labels': "
            "{'topology.ebs.csi.aws.com/zone': 'a'}}}"
            "{'apiVersion': 'v1', 'kind': 'PersistentVolume', 'metadata': {'name': 'v', "
            "'labels': {'topology.kubernetes.io/zone': '%s'}, "
            "'annotations': {'pv.kubernetes.io/migrated-to': '%s'}}, 'spec': {%s, "
            "'nodeAffinity': {'required': {'nodeSelectorTerms': [{'matchExpressions': [{'key': "
            "'topology.kubernetes.io/zone', 'operator': 'In', 'values': [%s]}]}]}}}}",
            label, migrated[i].driver, migrated[i].source, migrated[i].zones);
        g_autofree char *path = dump_put("migrated", g_strdelimit(text, "'", '"'));
        const char *const files[] = {path, NULL};
        g_autoptr(ImportReport) report = import_report_new();
        g_autoptr(GPtrArray) dumps = dumps_read(files, report, NULL);
        migrated_translate(dumps->pdata[0], report);
        const json_t *volume = dump_find(dumps->pdata[0], "PersistentVolume", NULL, "v");
        const json_t *terms = json_path_get(volume, "spec.nodeAffinity.required.nodeSelectorTerms");
        const json_t *keys = json_object_get(json_array_get(terms, 0), "matchExpressions");
        const char *handle = json_path_string(volume, "spec.csi.volumeHandle");
        if (g_strcmp0(handle, migrated[i].handle) != 0)
            fail_msg("%s: %s", migrated[i].source, handle != NULL ? handle : "no handle");
        assert_string_equal(json_path_string(json_array_get(keys, 0), "key"), migrated[i].key);
        if (handle != NULL)
            assert_string_equal(json_path_string(volume, "spec.csi.driver"), migrated[i].driver);
    }
}
