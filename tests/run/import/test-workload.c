/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of an audit log as items of a workload: one request a row, and the item, or the reason
 * why there is none. */
#include <glib/gstdio.h>
#include <string.h>

#include "models/api/field.h"
#include "run/import/import-test.h"
#include "run/import/workload.h"
#include "tests/lib/test.h"

#define DUMP_HEAD "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["
#define BORN "\"creationTimestamp\":\"2026-03-01T09:00:00Z\""
/* What is there at the start. */
#define AT_START                                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u1\"," BORN  \
    ",\"labels\":{\"zone\":\"a\",\"old\":\"x\"}},\"spec\":{},\"status\":{}},"                      \
    "{\"apiVersion\":\"apps/"                                                                      \
    "v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"db\",\"namespace\":"                   \
    "\"s\",\"uid\":\"u2\"," BORN                                                                   \
    "},\"spec\":{\"replicas\":2,\"serviceName\":\"a\",\"template\":{\"spec\":"                     \
    "{\"containers\":[{\"name\":\"b\",\"image\":\"old\",\"volumeMounts\":[{\"name\":\"v\"}]},{"    \
    "\"name\":\"c\"}]}}}},"                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":\"c-1\","    \
    "\"namespace\":\"s\",\"uid\":\"u3\"," BORN "},\"spec\":{\"volumeName\":\"v\",\"resources\":{"  \
    "\"requests\":{\"storage\":\"1Gi\"}}}},"                                                       \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-1\",\"namespace\":\"s\","  \
    "\"uid\":"                                                                                     \
    "\"u4\"," BORN "},\"spec\":{\"nodeName\":\"n1\",\"volumes\":[{\"name\":\"p-1\"}]}}"

typedef struct {
    const char *name, *agent, *verb, *query, *resource, *group, *namespace, *object;
    int code;
    const char *request, *response; /* bodies; NULL: a log of level Metadata */
    const char *item;               /* without its time; NULL: none */
    const char *reason;             /* of what is left out; NULL: nothing is */
} WorkloadRow;

#define KUBECTL "kubectl/v1"
#define POD                                                                                        \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"q\",\"namespace\":\"s\""
/* clang-format off */
static const WorkloadRow rows[] = {
    {"create", KUBECTL, "create", "", "pods", "", "s", "q", 201, POD "}}", POD ",\"uid\":\"9\",\"generation\":1},\"spec\":{\"nodeName\":\"n1\"},\"status\":{}}",
     "{\"create\":{\"manifest\":" POD "},\"spec\":{\"nodeName\":\"n1\"}}}}", NULL},
    {"create at level Request", KUBECTL, "create", "", "pods", "", "s", "q", 201, POD "},\"spec\":{}}", NULL,
     "{\"create\":{\"manifest\":" POD "},\"spec\":{}}}}", NULL},
    {"create of an operator", "operator/v1", "create", "", "pods", "", "s", "q", 201, NULL,
     POD ",\"ownerReferences\":[{\"kind\":\"Kafka\",\"name\":\"k\"}]},\"spec\":{}}", "{\"create\":{\"manifest\":" POD "},\"spec\":{}}}}", NULL},
    {"create without a body: one of a like name", KUBECTL, "create", "", "pods", "", "s", "p-2", 201, NULL, NULL,
     "{\"create\":{\"manifest\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-2\",\"namespace\":\"s\"},\"spec\":{\"volumes\":[{\"name\":\"p-2\"}]}}}}",
     NULL},
    {"create without a body", KUBECTL, "create", "", "pods", "", "s", "q", 201, NULL, NULL, NULL,
     "Created objects that no dump knows, and that the log has no body of"},
    {"a name that is taken", KUBECTL, "create", "", "pods", "", "s", "q", 409, POD "},\"spec\":{}}", NULL,
     "{\"create\":{\"manifest\":" POD "},\"spec\":{}}},\"code\":409}", NULL},
    {"forbidden", KUBECTL, "create", "", "pods", "", "s", "q", 403, POD "},\"spec\":{}}", NULL, NULL,
     "Requests that the cluster refused for reasons that a run does not have"},
    {"dry run", KUBECTL, "create", "?fieldManager=k\\u0026dryRun=All", "pods", "", "s", "q", 201, POD "},\"spec\":{}}", NULL, NULL,
     "Requests that only ask what would happen (dryRun)"},
    {"exec", KUBECTL, "create", "?command=ls", "pods/exec", "", "s", "p-1", 101, NULL, NULL, NULL, "Sub-resources that no model has"},
    {"a volcano's job", KUBECTL, "create", "", "jobs", "batch.volcano.sh", "s", "q", 201, POD "}}", NULL, NULL,
     "Writes of people and tools to kinds that no model knows"},
    {"delete", KUBECTL, "delete", "", "pods", "", "s", "p-1", 200, "{\"gracePeriodSeconds\":5}", NULL,
     "{\"delete\":{\"kind\":\"Pod\",\"namespace\":\"s\",\"name\":\"p-1\",\"gracePeriodSeconds\":5}}", NULL},
    {"delete with a parameter", KUBECTL, "delete", "?x=1\\u0026gracePeriodSeconds=0", "pods", "", "s", "p-1", 200, NULL, NULL,
     "{\"delete\":{\"kind\":\"Pod\",\"namespace\":\"s\",\"name\":\"p-1\",\"gracePeriodSeconds\":0}}", NULL},
    {"delete of nothing", KUBECTL, "delete", "", "pods", "", "s", "q", 404, NULL, NULL,
     "{\"delete\":{\"kind\":\"Pod\",\"namespace\":\"s\",\"name\":\"q\"},\"code\":404}", NULL},
    {"delete of something unknown", KUBECTL, "delete", "", "pods", "", "s", "q", 200, NULL, NULL, NULL,
     "Requests about objects that neither a dump nor the workload has"},
    {"delete that keeps the pods", KUBECTL, "delete", "", "statefulsets", "apps", "s", "db", 200, "{\"propagationPolicy\":\"Orphan\"}", NULL,
     "{\"delete\":{\"kind\":\"StatefulSet\",\"namespace\":\"s\",\"name\":\"db\",\"propagationPolicy\":\"Orphan\"}}", NULL},
    {"delete of a namespace's claims", "kube-controller-manager/v1/system:serviceaccount:kube-system:namespace-controller", "deletecollection", "",
     "persistentvolumeclaims", "", "s", NULL, 200, NULL, NULL,
     "{\"delete\":{\"kind\":\"PersistentVolumeClaim\",\"namespace\":\"s\",\"name\":\"*\"}}", NULL},
    {"delete of a node", "cluster-autoscaler/v1", "delete", "", "nodes", "", NULL, "n1", 200, NULL, NULL,
     "{\"delete\":{\"kind\":\"Node\",\"name\":\"n1\"}}", NULL},
    {"eviction", KUBECTL, "create", "", "pods/eviction", "", "s", "p-1", 201, "{\"deleteOptions\":{\"gracePeriodSeconds\":7}}", NULL,
     "{\"evict\":{\"namespace\":\"s\",\"name\":\"p-1\",\"gracePeriodSeconds\":7}}", NULL},
    {"refused eviction", KUBECTL, "create", "", "pods/eviction", "", "s", "p-1", 429, NULL, NULL,
     "{\"evict\":{\"namespace\":\"s\",\"name\":\"p-1\",\"node\":\"n1\"},\"code\":429}", NULL},
    {"cordon", KUBECTL, "patch", "", "nodes", "", NULL, "n1", 200, "{\"spec\":{\"unschedulable\":true}}", "{\"kind\":\"Node\",\"spec\":{\"unschedulable\":true}}",
     "{\"cordon\":{\"node\":\"n1\"}}", NULL},
    {"uncordon", KUBECTL, "patch", "", "nodes", "", NULL, "n1", 200, "{\"spec\":{\"unschedulable\":null}}", "{\"kind\":\"Node\",\"spec\":{}}",
     "{\"uncordon\":{\"node\":\"n1\"}}", NULL},
    {"cordon without a body", KUBECTL, "patch", "", "nodes", "", NULL, "n1", 200, NULL, NULL, "{\"cordon\":{\"node\":\"n1\"}}", NULL},
    {"strategic merge patch", KUBECTL, "patch", "", "nodes", "", NULL, "n1", 200,
     "{\"spec\":{\"$setElementOrder/taints\":[{\"key\":\"b\"}],\"taints\":[{\"key\":\"b\"}]}}", "{\"kind\":\"Node\",\"spec\":{\"taints\":[{\"key\":\"b\"},{\"key\":\"a\"}]}}",
     "{\"patch\":{\"kind\":\"Node\",\"name\":\"n1\",\"patch\":{\"spec\":{\"taints\":[{\"key\":\"b\"},{\"key\":\"a\"}]}}}}", NULL},
    {"strategic merge patch at level Request", KUBECTL, "patch", "", "statefulsets", "apps", "s", "db", 200,
     "{\"spec\":{\"template\":{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"d\"}],\"containers\":[{\"name\":\"b\",\"image\":\"new\"},"
     "{\"name\":\"c\",\"$patch\":\"delete\"},{\"name\":\"d\"}]}}}}", NULL,
     "{\"patch\":{\"kind\":\"StatefulSet\",\"namespace\":\"s\",\"name\":\"db\",\"patch\":{\"spec\":{\"template\":{\"spec\":{\"containers\":"
     "[{\"name\":\"b\",\"image\":\"new\",\"volumeMounts\":[{\"name\":\"v\"}]},{\"name\":\"d\"}]}}}}}}", NULL},
    {"JSON patch", KUBECTL, "patch", "", "statefulsets", "apps", "s", "db", 200,
     "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/image\",\"value\":\"i\"},{\"op\":\"remove\",\"path\":\"/metadata/labels/a~1b\"}]",
     "{\"metadata\":{\"name\":\"db\",\"labels\":{\"x\":\"y\"}},\"spec\":{\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}}",
     "{\"patch\":{\"kind\":\"StatefulSet\",\"namespace\":\"s\",\"name\":\"db\",\"patch\":{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}},"
     "\"metadata\":{\"labels\":{\"a/b\":null}}}}}", NULL},
    {"update", "operator/v1", "update", "", "nodes", "", NULL, "n1", 200, NULL,
     "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u1\",\"labels\":{\"zone\":\"b\"}},\"spec\":{\"podCIDR\":\"x\"}}",
     "{\"patch\":{\"kind\":\"Node\",\"name\":\"n1\",\"patch\":{\"metadata\":{\"labels\":{\"zone\":\"b\",\"old\":null}},\"spec\":{\"podCIDR\":\"x\"}}}}", NULL},
    {"server-side apply of a new object", KUBECTL, "patch", "?fieldManager=kubectl", "pods", "", "s", "q", 201, POD "}}", POD "},\"spec\":{}}",
     "{\"create\":{\"manifest\":" POD "},\"spec\":{}}}}", NULL},
    {"change of status", "npd/v1", "patch", "", "nodes/status", "", NULL, "n1", 200, "{\"status\":{}}", NULL, NULL, "Sub-resources that no model has"},
    {"rollout restart without a body", KUBECTL, "patch", "?fieldManager=kubectl-rollout", "statefulsets", "apps", "s", "db", 200, NULL, NULL,
     "{\"patch\":{\"kind\":\"StatefulSet\",\"namespace\":\"s\",\"name\":\"db\",\"patch\":{\"spec\":{\"template\":{\"metadata\":{\"annotations\":"
     "{\"kubectl.kubernetes.io/restartedAt\":\"2026-03-01T10:00:05Z\"}}}}}}}", NULL},
    {"change without a body", KUBECTL, "patch", "?fieldManager=kubectl-edit", "statefulsets", "apps", "s", "db", 200, NULL, NULL, NULL,
     "Changes that neither the log nor a dump tells"},
    {"scale", KUBECTL, "patch", "", "statefulsets/scale", "apps", "s", "db", 200, "{\"spec\":{\"replicas\":5}}", NULL,
     "{\"scale\":{\"kind\":\"StatefulSet\",\"namespace\":\"s\",\"name\":\"db\",\"replicas\":5}}", NULL},
    {"scale by the autoscaler", "kube-controller-manager/v1/system:serviceaccount:kube-system:horizontal-pod-autoscaler", "update", "", "statefulsets/scale", "apps",
     "s", "db", 200, "{\"spec\":{\"replicas\":3}}", "{\"spec\":{\"replicas\":3}}",
     "{\"scale\":{\"kind\":\"StatefulSet\",\"namespace\":\"s\",\"name\":\"db\",\"replicas\":3}}", NULL},
    {"scale without a body", KUBECTL, "patch", "", "statefulsets/scale", "apps", "s", "db", 200, NULL, NULL, NULL,
     "Scaling to a number that neither the log nor a dump tells"},
    {"a component's write", "kube-scheduler/v1", "create", "", "pods/binding", "", "s", "p-1", 201, NULL, NULL, NULL, NULL},
    {"a machine that joins", "kubelet/v1", "create", "", "nodes", "", NULL, "n2", 201, NULL,
     "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n2\"},\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"4\"}}}",
     "{\"create\":{\"manifest\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n2\"},\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"4\"}}}}}",
     NULL},
};
/* clang-format on */

static char *
line_of(const WorkloadRow *row, unsigned number)
{
    GString *line = g_string_new(NULL);
    g_auto(GStrv) resource = g_strsplit(row->resource, "/", 2);
    gboolean is_kubelet = g_str_has_prefix(row->agent, "kubelet");

    g_string_append_printf(
        line,
        "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"auditID\":\"%u\",\"stage\":"
        "\"ResponseComplete\",\"requestURI\":\"/x%s\",\"verb\":\"%s\",\"user\":{"
        "\"username\":\"%s\"},\"userAgent\":\"%s\",\"objectRef\":{\"resource\":\"%s\",\"apiGroup\":"
        "\"%s\"",
        number, row->query, row->verb, is_kubelet ? "system:node:n2" : "u", row->agent, resource[0],
        row->group);
    if (resource[1] != NULL)
        g_string_append_printf(line, ",\"subresource\":\"%s\"", resource[1]);
    if (row->namespace != NULL)
        g_string_append_printf(line, ",\"namespace\":\"%s\"", row->namespace);
    if (row->object != NULL)
        g_string_append_printf(line, ",\"name\":\"%s\"", row->object);
    g_string_append_printf(line, "},\"responseStatus\":{\"code\":%d}", row->code);
    if (row->request != NULL)
        g_string_append_printf(line, ",\"requestObject\":%s", row->request);
    if (row->response != NULL)
        g_string_append_printf(line, ",\"responseObject\":%s", row->response);
    g_string_append_printf(line,
                           ",\"requestReceivedTimestamp\":\"2026-03-01T10:00:05.%u00000Z\","
                           "\"stageTimestamp\":\"2026-03-01T10:00:05.%u04000Z\"}\n",
                           number, number);
    return g_string_free(line, FALSE);
}

static char *
workload_write_file(const char *text)
{
    char *path = NULL;
    int file = g_file_open_tmp("workload-XXXXXX", &path, NULL);

    assert_true(file >= 0);
    g_close(file, NULL);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static json_t *
items_of(const WorkloadRow *first, unsigned n, ImportReport *report)
{
    g_autoptr(GString) lines = g_string_new(NULL);
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *line = line_of(&first[i], i);
        g_string_append(lines, line);
    }
    g_autofree char *log = workload_write_file(lines->str);
    g_autofree char *dump = workload_write_file(DUMP_HEAD AT_START "]}");
    g_autoptr(GPtrArray) dumps = dumps_read((const char *const[]){dump, NULL}, report, NULL);
    g_autoptr(Recorded) recorded = recorded_new();
    g_autoptr(Pruner) pruner = pruner_new(report);
    SimTime start;

    assert_non_null(dumps);
    assert_true(api_time_parse("2026-03-01T10:00:00Z", &start));
    g_autoptr(Writes) writes =
        writes_read((const char *const[]){log, NULL}, start, recorded, report, NULL);
    assert_non_null(writes);
    g_unlink(log);
    g_unlink(dump);
    return workload_make(writes, dumps, start, pruner, report);
}

static void
a_request_is_an_item(void **state)
{
    const WorkloadRow *row = *state;
    g_autoptr(ImportReport) report = import_report_new();
    json_t *items = items_of(row, 1, report), *item = json_array_get(items, 0);
    const char *at = json_string_value(json_object_get(item, "at"));

    assert_true(item == NULL || g_str_equal(at, "5.000000s"));
    json_object_del(item, "at");
    json_t *wanted = row->item == NULL ? NULL : json_loads(row->item, 0, NULL);
    assert_true(row->item == NULL || wanted != NULL);
    if (json_array_size(items) != (row->item != NULL) ||
        (item != NULL && !json_equal(item, wanted)))
        fail_msg("%s", json_dumps(items, JSON_COMPACT));
    if (row->reason != NULL)
        assert_int_equal(import_report_counted(report, REPORT_LEFT_OUT, row->reason), 1);
    json_decref(wanted);
    json_decref(items);
}
TEST_ROWS(rows, a_request_is_an_item);

#define SET_CONTROLLER                                                                             \
    "kube-controller-manager/v1/system:serviceaccount:kube-system:statefulset-controller"
#define MADE(resource, name)                                                                       \
    {                                                                                              \
        "", SET_CONTROLLER, "create", "", resource, "", "s", name, 201, NULL, NULL, NULL, NULL     \
    }
#define EVICTED(name)                                                                              \
    {                                                                                              \
        "", KUBECTL, "create", "", "pods/eviction", "", "s", name, 201, NULL, NULL, NULL, NULL     \
    }
#define DELETED(resource, name)                                                                    \
    {                                                                                              \
        "", KUBECTL, "delete", "", resource, "", "s", name, 200, NULL, NULL, NULL, NULL            \
    }

/* The StatefulSet "db" is there at the start; nobody knows "cache", so its pods and claims will not
 * be there, and a run would refuse requests about them. */
TEST(what_a_missing_workload_made_is_left_out)
{
    static const WorkloadRow there[] = {MADE("pods", "db-7"), EVICTED("db-7"),
                                        MADE("persistentvolumeclaims", "data-x-db-7"),
                                        DELETED("persistentvolumeclaims", "data-x-db-7")};
    static const WorkloadRow missing[] = {MADE("pods", "cache-0"), EVICTED("cache-0"),
                                          MADE("persistentvolumeclaims", "data-cache-0"),
                                          DELETED("persistentvolumeclaims", "data-cache-0")};
    g_autoptr(ImportReport) report = import_report_new();
    json_auto_t *some = items_of(there, G_N_ELEMENTS(there), report);
    json_auto_t *none = items_of(missing, G_N_ELEMENTS(missing), report);

    assert_int_equal(json_array_size(some), 2);
    assert_int_equal(json_array_size(none), 0);
    assert_int_equal(
        import_report_counted(report, REPORT_LEFT_OUT,
                              "Requests about objects that neither a dump nor the workload has"),
        2);
}
