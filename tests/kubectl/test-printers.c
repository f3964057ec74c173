/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the printers for which recordings hold too few cases: ages at the edges of their units,
 * words that YAML would read as other types, JSONPath, selectors, and the order of equal rows. */
#include <string.h>

#include "run/kubectl/cluster.h"
#include "run/kubectl/go-sort.h"
#include "run/kubectl/json-path.h"
#include "run/kubectl/kubectl-test.h"
#include "run/kubectl/print.h"
#include "run/kubectl/tab-writer.h"
#include "tests/lib/test.h"

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* HumanDuration: the first and last moments of each unit. */
TEST(ages_change_at_their_edges)
{
    static const struct {
        int64_t ago;
        const char *text;
    } cases[] = {
        {-5 * SECOND,                "<invalid>"},
        {-2 * SECOND,                "<invalid>"},
        {-2 * SECOND + 1,            "0s"       },
        {0,                          "0s"       },
        {119 * SECOND + SECOND - 1,  "119s"     },
        {2 * MINUTE,                 "2m"       },
        {9 * MINUTE + 59 * SECOND,   "9m59s"    },
        {10 * MINUTE + 30 * SECOND,  "10m"      },
        {179 * MINUTE + 59 * SECOND, "179m"     },
        {3 * HOUR,                   "3h"       },
        {7 * HOUR + 59 * MINUTE,     "7h59m"    },
        {8 * HOUR + 30 * MINUTE,     "8h"       },
        {48 * HOUR - 1,              "47h"      },
        {2 * DAY,                    "2d"       },
        {7 * DAY + 23 * HOUR,        "7d23h"    },
        {8 * DAY + 5 * HOUR,         "8d"       },
        {729 * DAY,                  "729d"     },
        {730 * DAY,                  "2y"       },
        {730 * DAY + 3 * DAY,        "2y3d"     },
        {8 * 365 * DAY + 100 * DAY,  "8y"       },
    };
    const ValueTime now = INT64_C(1790000000) * SECOND;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = g_string_new(NULL);

        value_append_age(text, now - cases[i].ago, now);
        assert_string_equal(text->str, cases[i].text);
    }

    g_autoptr(GString) none = g_string_new(NULL);
    value_append_age(none, VALUE_TIME_NONE, now);
    assert_string_equal(none->str, "<unknown>");
}

/* Only words that YAML 1.1 would read as another type have quotes. */
TEST(yaml_quotes_other_types)
{
    static const char *const quoted[] = {
        "",    "true", "yes",   "y",    "off",  "null",       "~",    "12", "0x1f", "0o17",
        "1e3", ".5",   "1_000", "+1.5", ".inf", "2026-11-20", "1:30", "<<", "-7"};
    static const char *const plain[] = {"data", "1Gi", "1.2.3", "v1",  "yesterday",
                                        "a:b",  "0x",  "12a",   "1:75"};

    for (unsigned i = 0; i < G_N_ELEMENTS(quoted); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        g_autofree char *wanted = g_strdup_printf("a: \"%s\"\n", quoted[i]);
        json_auto_t *value = json_pack("{s:s}", "a", quoted[i]);

        print_yaml(out, value);
        assert_string_equal(out->str, wanted);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(plain); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        g_autofree char *wanted = g_strdup_printf("a: %s\n", plain[i]);
        json_auto_t *value = json_pack("{s:s}", "a", plain[i]);

        print_yaml(out, value);
        assert_string_equal(out->str, wanted);
    }
}

/* YAML sorts numbers in names by value, and letters after other characters, as go-yaml; JSON sorts
 * by bytes. */
TEST(names_are_sorted)
{
    json_auto_t *value = json_pack("{s:i, s:i, s:i, s:i}", "a10", 1, "a2", 2, "B", 3, "a.b", 4);
    g_autoptr(GString) yaml = g_string_new(NULL), json = g_string_new(NULL);

    print_yaml(yaml, value);
    assert_string_equal(yaml->str, "B: 3\na.b: 4\na2: 2\na10: 1\n");
    print_json(json, value, 0);
    assert_string_equal(json->str, "{\"B\":3,\"a.b\":4,\"a10\":1,\"a2\":2}");
}

TEST(json_paths_find)
{
    static const char data[] = "{\"kind\":\"List\",\"items\":[{\"metadata\":{\"name\":\"a\","
                               "\"labels\":{\"x/y.z\":\"1\"}},\"n\":3},"
                               "{\"metadata\":{\"name\":\"b\"},\"n\":5,\"none\":null}]}";
    static const struct {
        const char *template, *text;
    } cases[] = {
        {"{.kind}",                                              "List"                                         },
        {"{$.kind}",                                             "List"                                         },
        {"{.items[*].metadata.name}",                            "a b"                                          },
        {"{.items[0].metadata.name}",                            "a"                                            },
        {"{.items[-1].metadata.name}",                           "b"                                            },
        {"{.items[0:1].n}",                                      "3"                                            },
        {"{.items[0,1].n}",                                      "3 5"                                          },
        {"{.items[0]['n','kind']}",                              "3"                                            },
        {"{.items[?(@.n>3)].metadata.name}",                     "b"                                            },
        {"{.items[?(@.metadata.name==\"a\")].n}",                "3"                                            },
        {"{.items[?(@.metadata.labels)].n}",                     "3"                                            },
        {"{.items[0].metadata.labels.x/y\\.z}",                  "1"                                            },
        {"{..name}",                                             "a b"                                          },
        {"{.items[0].metadata}",                                 "{\"labels\":{\"x/y.z\":\"1\"},\"name\":\"a\"}"},
        {"{range .items[*]}{.metadata.name}={.n}{\"\\n\"}{end}", "a=3\nb=5\n"                                   },
        {"{range .nothing[*]}{.x}{end}done",                     "done"                                         },
        {"<{.missing.deeper}>",                                  "<>"                                           },
        {"{.items[1].none}",                                     "<nil>"                                        },
    };
    json_auto_t *value = json_loads(data, 0, NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        g_autoptr(JsonPath) path = json_path_parse(cases[i].template, NULL);

        assert_non_null(path);
        assert_true(json_path_print(path, value, out, NULL));
        assert_string_equal(out->str, cases[i].text);
    }
}

TEST(broken_json_paths_are_errors)
{
    static const char *const templates[] = {"{.a",      "{.a[}", "{.a[?(@.b}",    "{.a[x]}",
                                            "{\"text}", "{foo}", "{.a[?(@.b==1)}"};

    for (unsigned i = 0; i < G_N_ELEMENTS(templates); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(JsonPath) path = json_path_parse(templates[i], &error);

        assert_null(path);
        assert_true(g_error_matches(error, JSON_PATH_ERROR, JSON_PATH_ERROR_INVALID));
    }
}

TEST(label_selectors_match)
{
    static const struct {
        const char *selector;
        gboolean matches;
    } cases[] = {
        {"app=web",                TRUE },
        {"app==web",               TRUE },
        {"app=db",                 FALSE},
        {"app!=db",                TRUE },
        {"app!=web",               FALSE},
        {"tier",                   TRUE },
        {"!tier",                  FALSE},
        {"!other",                 TRUE },
        {"other!=x",               TRUE },
        {"app in (web, db)",       TRUE },
        {"app notin (web,db)",     FALSE},
        {"other notin (a)",        TRUE },
        {"app=web,tier=front",     TRUE },
        {"app in (web),tier=back", FALSE},
        {"",                       TRUE },
        {"app=web,tier=",          FALSE},
        {"other notin ()",         TRUE },
        {"app in (,web)",          TRUE },
        {"app in(web)",            TRUE },
        {"in in (in)",             FALSE},
        {"size>2",                 TRUE },
        {"size<2,app",             FALSE},
        {"app>2",                  FALSE},
    };
    json_auto_t *labels = json_pack("{s:s, s:s, s:s}", "app", "web", "tier", "front", "size", "3");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *fault = NULL;
        gboolean matches;

        assert_true(label_selector_text_matches(cases[i].selector, labels, &matches, &fault));
        assert_int_equal(matches, cases[i].matches);
    }
}

TEST(broken_label_selectors_are_refused)
{
    static const struct {
        const char *selector, *fault;
    } cases[] = {
        {"a===",       "unable to parse requirement: found '=', expected: identifier"           },
        {"a===b",      "unable to parse requirement: found '=', expected: identifier"           },
        {"a b",        "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, "
                "lt"                                                             },
        {"a=b c",      "found 'c', expected: ',' or 'end of string'"                            },
        {"a=b,",       "found '', expected: identifier after ','"                               },
        {",a",         "found ',', expected: !, identifier, or 'end of string'"                 },
        {"!",          "unable to parse requirement: found '', expected: identifier"            },
        {"!a=b",       "found '=', expected: ',' or 'end of string'"                            },
        {"a in b",     "unable to parse requirement: found 'b' expected: '('"                   },
        {"a in (",     "unable to parse requirement: found '', expected: ',', ')' or identifier"},
        {"a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"   },
        {"a in (b",    "unable to parse requirement: found '', expected: ',' or ')'"            },
        {"a>b",        "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', "
                "'Lt' operators, the value must be an integer"                   },
        {"a=b!",       "found '!', expected: ',' or 'end of string'"                            },
    };
    json_auto_t *labels = json_pack("{s:s}", "a", "b");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *fault = NULL;
        gboolean matches;

        assert_int_equal(label_selector_text_matches(cases[i].selector, labels, &matches, &fault),
                         FALSE);
        assert_string_equal(fault, cases[i].fault);
    }
}

/* A column ends at a line without a cell for it; the last cell of a line is not padded; widths
 * count characters, not bytes. */
TEST(columns_are_aligned)
{
    g_autoptr(TabWriter) writer = tab_writer_new_description();
    g_autoptr(GString) out = g_string_new(NULL);

    g_string_append(tab_writer_text(writer),
                    "Name:\ta\nLonger name:\t\xc3\xa9\tx\nNo:\t12\ty\nblock\nb:\tc\n");
    tab_writer_flush(writer, out);
    assert_string_equal(
        out->str,
        "Name:         a\nLonger name:  \xc3\xa9   x\nNo:           12  y\nblock\nb:  c\n");
}

static gboolean
is_less(const void *a, const void *b, const void *data)
{
    (void)data;
    return *(const char *)a < *(const char *)b;
}

/* Up to 12 equal rows keep their order. Any number is sorted, the same way again, and stays
 * complete. */
TEST(equal_rows_come_out_alike)
{
    for (unsigned n = 0; n < 300; n++) {
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free),
                             again = g_ptr_array_new();

        for (unsigned i = 0; i < n; i++) {
            g_ptr_array_add(rows, g_strdup_printf("%c%u", 'a' + (int)(i * 7 % 3), i));
            g_ptr_array_add(again, rows->pdata[i]);
        }
        go_sort(rows, is_less, NULL);
        go_sort(again, is_less, NULL);
        uint64_t sum = 0;
        for (unsigned i = 0; i < n; i++) {
            const char *row = rows->pdata[i];

            assert_ptr_equal(row, again->pdata[i]);
            sum += g_ascii_strtoull(row + 1, NULL, 10);
            if (i > 0) {
                const char *before = rows->pdata[i - 1];
                assert_true(*before <= *row);
                if (n <= 12 && *before == *row)
                    assert_true(g_ascii_strtoull(before + 1, NULL, 10) <
                                g_ascii_strtoull(row + 1, NULL, 10));
            }
        }
        assert_int_equal(sum, n > 0 ? (uint64_t)n * (n - 1) / 2 : 0);
    }
}

typedef struct {
    const char *kind, *json, *text; /* json: with ' in place of " */
} PrinterCase;

/* Runs `kubectl COMMAND KIND WORD` at 2026-01-01T00:10:00Z for the objects of a case. */
static void
print_case(const PrinterCase *printed, const char *command, const char *word, GString *out)
{
    g_autofree char *json = g_strdelimit(g_strdup(printed->json), "'", '"');
    json_auto_t *list = json_loads(json, 0, NULL);
    g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(list);
    g_autoptr(GString) errors = g_string_new(NULL);
    const KubectlRequest request = {.cluster = cluster,
                                    .now = value_time_parse("2026-01-01T00:10:00Z"),
                                    .out = out,
                                    .errors = errors};
    char *words[] = {(char *)command, (char *)printed->kind, (char *)word, NULL};

    assert_int_equal(kubectl_run(&request, words), 0);
}

/* clang-format off */
#define CREATED "'creationTimestamp':'2026-01-01T00:00:00Z','name':'x','namespace':'default'"
#define JOB "[{'apiVersion':'batch/v1','kind':'Job','metadata':{" CREATED "},"
#define BUDGET "[{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{" CREATED "},"
#define DAEMON_SET "[{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':{" CREATED
#define REVISION "[{'apiVersion':'apps/v1','kind':'ControllerRevision','metadata':{" CREATED
#define POD(name, phase, uid)                                                                      \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" name "','namespace':'default',"         \
    "'ownerReferences':[{'uid':'" uid "','controller':true}]},'status':{'phase':'" phase "'}}"
#define TEMPLATE(more)                                                                             \
    "'template':{'metadata':{'labels':{'app':'x'}},'spec':{" more                                  \
    "'containers':[{'name':'c','image':'i'}]}}"
#define SELECTOR "'selector':{'matchLabels':{'app':'x'}}"

/* Rows of kinds that no recording has, as pkg/printers/internalversion writes them. */
static const PrinterCase rows[] = {
    {"job", JOB "'spec':{'completions':3,'parallelism':2},"
     "'status':{'succeeded':1,'startTime':'2026-01-01T00:00:30Z'}}]", "x Running 1/3 9m30s 10m"},
    {"job", JOB "'spec':{'completions':1},"
     "'status':{'succeeded':1,'conditions':[{'type':'Complete','status':'True'}],"
     "'startTime':'2026-01-01T00:00:30Z','completionTime':'2026-01-01T00:00:42Z'}}]",
     "x Complete 1/1 12s 10m"},
    {"job", JOB "'spec':{'parallelism':4},'status':{'conditions':["
     "{'type':'Suspended','status':'True'},{'type':'Failed','status':'False'}]}}]",
     "x Suspended 0/1 of 4 10m"},
    {"pdb", BUDGET "'spec':{'minAvailable':'60%'},'status':{'disruptionsAllowed':2}}]", "x 60% N/A 2 10m"},
    {"pdb", BUDGET "'spec':{'maxUnavailable':0},'status':{}}]", "x N/A 0 0 10m"},
    {"ds", DAEMON_SET "},'spec':{'template':{'spec':{'nodeSelector':{'b':'2','a':'1'}}}},"
     "'status':{'desiredNumberScheduled':5,'currentNumberScheduled':4,'numberReady':3,"
     "'updatedNumberScheduled':2,'numberAvailable':1}}]", "x 5 4 3 2 1 a=1,b=2 10m"},
    {"controllerrevision", REVISION ",'ownerReferences':[{'apiVersion':'apps/v1',"
     "'kind':'StatefulSet','name':'web','controller':true}]},'revision':7}]",
     "x statefulset.apps/web 7 10m"},
    {"controllerrevision", REVISION "},'revision':1}]", "x <none> 1 10m"},
};

/* Descriptions that no recording has, as pkg/describe of kubectl 1.32 writes them: every optional
 * line occurs once. */
static const PrinterCase descriptions[] = {
    {"ds", DAEMON_SET ",'uid':'u','labels':{'tier':'node'}},"
     "'spec':{" SELECTOR "," TEMPLATE("'nodeSelector':{'b':'2','a':'1'},") "},"
     "'status':{'desiredNumberScheduled':5,'currentNumberScheduled':4,'updatedNumberScheduled':3,"
     "'numberAvailable':2,'numberMisscheduled':1}},"
     POD("x-1", "Running", "u") "," POD("x-2", "Pending", "u") "," POD("x-3", "Running", "other") "]",
     "Name:           x\n"
     "Selector:       app=x\n"
     "Node-Selector:  a=1,b=2\n"
     "Labels:         tier=node\n"
     "Annotations:    <none>\n"
     "Desired Number of Nodes Scheduled: 5\n"
     "Current Number of Nodes Scheduled: 4\n"
     "Number of Nodes Scheduled with Up-to-date Pods: 3\n"
     "Number of Nodes Scheduled with Available Pods: 2\n"
     "Number of Nodes Misscheduled: 1\n"
     "Pods Status:  1 Running / 1 Waiting / 0 Succeeded / 0 Failed\n"
     "Pod Template:\n"
     "  Labels:  app=x\n"
     "  Containers:\n"
     "   c:\n"
     "    Image:         i\n"
     "    Port:          <none>\n"
     "    Host Port:     <none>\n"
     "    Environment:   <none>\n"
     "    Mounts:        <none>\n"
     "  Volumes:         <none>\n"
     "  Node-Selectors:  a=1\n"
     "                   b=2\n"
     "  Tolerations:     <none>\n"
     "Events:            <none>\n"},
    {"job", JOB "'spec':{" SELECTOR ",'parallelism':2,'completions':30,'completionMode':'Indexed',"
     "'suspend':false,'backoffLimit':6,'ttlSecondsAfterFinished':60,'activeDeadlineSeconds':600,"
     TEMPLATE("") "},"
     "'status':{'startTime':'2026-01-01T00:00:30Z','completionTime':'2026-01-01T00:03:00Z',"
     "'active':1,'ready':0,'succeeded':24,'failed':3,"
     "'completedIndexes':'0,2,4,6,8,10,12,14,16,18,20,22,24,26,28-30,32,34,36-38,40'}}]",
     "Name:                        x\n"
     "Namespace:                   default\n"
     "Selector:                    app=x\n"
     "Labels:                      <none>\n"
     "Annotations:                 <none>\n"
     "Parallelism:                 2\n"
     "Completions:                 30\n"
     "Completion Mode:             Indexed\n"
     "Suspend:                     false\n"
     "Backoff Limit:               6\n"
     "TTL Seconds After Finished:  60\n"
     "Start Time:                  Thu, 01 Jan 2026 00:00:30 +0000\n"
     "Completed At:                Thu, 01 Jan 2026 00:03:00 +0000\n"
     "Duration:                    2m30s\n"
     "Active Deadline Seconds:     600s\n"
     "Pods Statuses:               1 Active (0 Ready) / 24 Succeeded / 3 Failed\n"
     "Completed Indexes:           0,2,4,6,8,10,12,14,16,18,20,22,24,26,28-30,32,34,36-38,...\n"
     "Pod Template:\n"
     "  Labels:  app=x\n"
     "  Containers:\n"
     "   c:\n"
     "    Image:         i\n"
     "    Port:          <none>\n"
     "    Host Port:     <none>\n"
     "    Environment:   <none>\n"
     "    Mounts:        <none>\n"
     "  Volumes:         <none>\n"
     "  Node-Selectors:  <none>\n"
     "  Tolerations:     <none>\n"
     "Events:            <none>\n"},
    {"pdb", BUDGET "'spec':{'minAvailable':'60%'," SELECTOR "},"
     "'status':{'disruptionsAllowed':2,'currentHealthy':5,'desiredHealthy':3,'expectedPods':5}}]",
     "Name:           x\n"
     "Namespace:      default\n"
     "Min available:  60%\n"
     "Selector:       app=x\n"
     "Status:\n"
     "    Allowed disruptions:  2\n"
     "    Current:              5\n"
     "    Desired:              3\n"
     "    Total:                5\n"
     "Events:                   <none>\n"},
    {"pdb", BUDGET "'spec':{'maxUnavailable':0},'status':{}}]",
     "Name:             x\n"
     "Namespace:        default\n"
     "Max unavailable:  0\n"
     "Selector:         <unset>\n"
     "Status:\n"
     "    Allowed disruptions:  0\n"
     "    Current:              0\n"
     "    Desired:              0\n"
     "    Total:                0\n"
     "Events:                   <none>\n"},
};
/* clang-format on */

TEST(rows_without_recordings)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GString) out = g_string_new(NULL);

        print_case(&rows[i], "get", "--no-headers", out);
        g_auto(GStrv) cells = g_regex_split_simple(" +", g_strchomp(out->str), 0, 0);
        g_autofree char *row = g_strjoinv(" ", cells);
        assert_string_equal(row, rows[i].text);
    }
}

TEST(descriptions_without_recordings)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(descriptions); i++) {
        g_autoptr(GString) out = g_string_new(NULL);

        print_case(&descriptions[i], "describe", "x", out);
        assert_string_equal(out->str, descriptions[i].text);
    }
}
