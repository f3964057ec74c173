/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/api/field.h"
#include "run/results/event-list.h"
#include "tests/lib/test.h"

/* Compares events.json and events.jsonl with a JSON library and with the API server's own Events */

static const char scenario_text[] =
    "apiVersion: kvolsim.io/v1\n"
    "kind: Scenario\n"
    "metadata: {name: events}\n"
    "spec:\n"
    "  until: 20m\n"
    "  nodes: [{count: 2, name: node-%d, zones: [a]}]\n"
    "  drivers: [{name: csi.example.com, errors: [{method: CreateVolume, "
    "code: INTERNAL, message: \"say \\\"no\\\"\\n\\\\\", probability: 0.5}]}]\n"
    "---\n"
    "apiVersion: storage.k8s.io/v1\n"
    "kind: StorageClass\n"
    "metadata: {name: fast}\n"
    "provisioner: csi.example.com\n"
    "---\n"
    "apiVersion: v1\n"
    "kind: Pod\n"
    "metadata: {name: nowhere}\n"
    "spec: {nodeSelector: {no: where}, containers: [{name: c, image: i}]}\n";

static const char objects_text[] =
    "---\n"
    "apiVersion: v1\n"
    "kind: PersistentVolumeClaim\n"
    "metadata: {name: %s, namespace: %s}\n"
    "spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: "
    "1Gi}}}\n"
    "---\n"
    "apiVersion: v1\n"
    "kind: Pod\n"
    "metadata: {name: %s, namespace: %s}\n"
    "spec:\n"
    "  containers: [{name: c, image: i}]\n"
    "  volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]\n";

/* Names with common beginnings. One continues "a" like the time of an Event, so its Events come
 * between those of "a". */
static const char *const names[] = {"b", "a", "a-1", "a.z", "a.1", "aa", "a.%.8sf", "a.%.8sf.c"};
static const char *const namespaces[] = {"default", "apps"};

static Run *
run_names(Scenario **scenario)
{
    g_autofree char *file = NULL;
    g_autofree char *epoch = g_strdup_printf("%" PRIx64, (uint64_t)(API_EPOCH_S * SIM_SECOND));
    g_autoptr(GString) text = g_string_new(NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    const RunOptions run_options = {.seed = 1, .untraced = TRUE};
    g_autoptr(GPtrArray) faults = NULL;
    int fd = g_file_open_tmp("kvolsim-XXXXXX.yaml", &file, NULL);

    assert_true(fd >= 0);
    g_string_append(text, scenario_text);
    for (unsigned i = 0; i < G_N_ELEMENTS(names) * G_N_ELEMENTS(namespaces); i++) {
        const char *namespace = namespaces[i % G_N_ELEMENTS(namespaces)];
        g_autoptr(GString) name = g_string_new(names[i / G_N_ELEMENTS(namespaces)]);
        epoch[8] = '\0';
        g_string_replace(name, "%.8s", epoch, 0);
        g_string_append_printf(text, objects_text, name->str, namespace, name->str, namespace,
                               name->str);
    }
    assert_true(g_file_set_contents(file, text->str, (gssize)text->len, NULL));
    g_close(fd, NULL);
    *scenario = scenario_load(file, &options, &faults);
    g_remove(file);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *fault = file_fault_text(faults->pdata[i]);
        print_error("%s\n", fault);
    }
    assert_non_null(*scenario);
    Run *run = run_new(*scenario, &run_options, NULL);
    assert_non_null(run);
    assert_int_equal(run_execute(run), RUN_DONE);
    return run;
}

typedef void (*EventListWriter)(const Run *run, const Stages *stages, ResultFile *file);

/* Returns: (owned): the text of a file */
static char *
contents_of(const Run *run, EventListWriter writer)
{
    char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL), *contents = NULL;
    g_autofree char *path = g_build_filename(folder, "events", NULL);
    g_autoptr(ResultFile) file = result_file_new(folder, "events");

    writer(run, NULL, file);
    assert_true(result_file_finish(file, NULL));
    assert_true(g_file_get_contents(path, &contents, NULL, NULL));
    g_remove(path);
    g_remove(folder);
    g_free(folder);
    return contents;
}

static const char *
event_list_text_of(const json_t *object, const char *one, const char *other)
{
    return json_string_value(json_object_get(json_object_get(object, one), other));
}

/* Keys, indentation and escapes are those of a JSON library for the same values. */
TEST(the_list_is_as_a_library_prints_it)
{
    Scenario *scenario = NULL;
    g_autoptr(Run) run = run_names(&scenario);
    g_autofree char *found = contents_of(run, event_list);
    json_t *list = json_loads(found, 0, NULL);

    assert_non_null(list);
    char *wanted = json_dumps(list, JSON_INDENT(4) | JSON_SORT_KEYS);
    g_autofree char *line = g_strconcat(wanted, "\n", NULL);
    assert_string_equal(found, line);
    assert_non_null(
        strstr(found, "say \\\"no\\\"\\n\\\\")); /* the driver's message needs escapes */
    assert_non_null(strstr(found, "\"action\": \"Binding\"")); /* both styles are there */
    assert_non_null(strstr(found, "\"series\": "));
    assert_non_null(strstr(found, "\"source\": {}"));
    assert_non_null(strstr(found, "\"component\": \"csi.example.com_"));
    free(wanted);
    json_decref(list);
    run_free(g_steal_pointer(&run));
    scenario_free(scenario);
}

/* Sorted by namespace and name, letter by letter, with each Event of the API server once. */
TEST(the_list_is_by_namespace_and_name)
{
    Scenario *scenario = NULL;
    g_autoptr(Run) run = run_names(&scenario);
    g_autofree char *found = contents_of(run, event_list);
    const ApiServer *api = cluster_api(run_cluster(run));
    json_t *list = json_loads(found, 0, NULL);
    const json_t *items = json_object_get(list, "items"), *before = NULL;
    unsigned n_written = 0, n_between = 0;

    for (gsize i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        int order = before == NULL ? -1
                                   : strcmp(event_list_text_of(before, "metadata", "namespace"),
                                            event_list_text_of(item, "metadata", "namespace"));
        assert_true(order <= 0);
        if (order == 0)
            assert_true(strcmp(event_list_text_of(before, "metadata", "name"),
                               event_list_text_of(item, "metadata", "name")) <= 0);
        n_between +=
            order == 0 && strcmp(event_list_text_of(before, "involvedObject", "name"), "a") == 0 &&
            strlen(event_list_text_of(item, "involvedObject", "name")) > strlen("a.12345678");
        before = item;
    }
    for (unsigned i = 0; i < api_server_n_events(api); i++)
        n_written += api_server_event(api, i)->count > 0;
    assert_int_equal(json_array_size(items), n_written);
    assert_true(n_between > 0); /* such names occur */
    json_decref(list);
    run_free(g_steal_pointer(&run));
    scenario_free(scenario);
}

/* Each line holds an Event of the API server, in its order. */
TEST(lines_hold_what_the_api_server_has)
{
    Scenario *scenario = NULL;
    g_autoptr(Run) run = run_names(&scenario);
    g_autofree char *found = contents_of(run, events_jsonl);
    g_auto(GStrv) lines = g_strsplit(found, "\n", -1);
    const ApiServer *api = cluster_api(run_cluster(run));
    unsigned n = 1; /* after the first line, about the run */

    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent *event = api_server_event(api, i);
        char uid[OBJECT_UID_BUFFER], first[API_TIME_BUFFER], last[API_TIME_BUFFER];
        const char *namespace = event->involved->namespace;
        if (event->count == 0)
            continue;
        g_autofree char *name =
            g_strdup_printf("%s.%" PRIx64, event->involved->name,
                            (uint64_t)(API_EPOCH_S * SIM_SECOND + event->first_at));
        const KindClass *class = kind_class(event->involved->kind);
        json_t *wanted = json_pack(
            "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s*}, s:s, s:s, s:s, s:{s:s}, s:s, "
            "s:s, s:i}",
            "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
            *namespace == '\0' ? "default" : namespace, "involvedObject", "kind", class->kind,
            "apiVersion", class->api_version, "name", event->involved->name, "uid",
            object_uid_format(event->involved_uid, uid), "namespace",
            *namespace == '\0' ? NULL : namespace, "type", event->type, "reason", event->reason,
            "message", event->message, "source", "component", event->source, "firstTimestamp",
            api_time_format(event->first_at, FALSE, first), "lastTimestamp",
            api_time_format(event->last_at, FALSE, last), "count", (int)event->count);
        json_t *line = json_loads(lines[n++], 0, NULL);
        assert_non_null(wanted);
        assert_true(json_equal(line, wanted));
        json_decref(line);
        json_decref(wanted);
    }
    assert_true(n > 100);
    assert_string_equal(lines[n], "");
    run_free(g_steal_pointer(&run));
    scenario_free(scenario);
}
