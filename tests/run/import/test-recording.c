/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Milestones and faults that a log without bodies tells: a few requests a row, and what follows
 * from them. */
#include <glib/gstdio.h>
#include <string.h>

#include "models/api/field.h"
#include "run/import/found-faults.h"
#include "run/import/import-test.h"
#include "run/import/recording.h"
#include "tests/lib/test.h"

#define KCM "kube-controller-manager/v1/system:serviceaccount:kube-system:"
#define REQUESTS_MAX 16

/* "at sender verb resource namespace/name [code]"; the sender is a short word. */
typedef struct {
    const char *name;
    const char *requests[REQUESTS_MAX];
    const char *kind, *object; /* whose milestones are looked at; NULL: the faults are */
    const char *found;         /* "created 1 ready 2.5 ...", in seconds */
} RecordingRow;

static const char *const agents[][2] = {
    {"kubectl",       "kubectl/v1"                   },
    {"scheduler",     "kube-scheduler/v1"            },
    {"kubelet",       "kubelet/v1"                   },
    {"provisioner",   "csi-provisioner/v1"           },
    {"attacher",      "csi-attacher/v1"              },
    {"resizer",       "csi-resizer/v1"               },
    {"binder",        KCM "persistent-volume-binder" },
    {"adc",           KCM "attachdetach-controller"  },
    {"sets",          KCM "statefulset-controller"   },
    {"replicas",      KCM "replicaset-controller"    },
    {"nodes",         KCM "node-controller"          },
    {"protection",    KCM "pvc-protection-controller"},
    {"pv-protection", KCM "pv-protection-controller" },
    {"gc",            KCM "generic-garbage-collector"},
    {"podgc",         KCM "pod-garbage-collector"    },
};

/* clang-format off */
static const RecordingRow rows[] = {
    {"a pod's way",
     {"1 sets create pods s/p", "2 scheduler create pods/binding s/p", "3 kubelet patch pods/status s/p", "4 kubelet patch pods/status s/p",
      "9 kubectl delete pods s/p", "10 kubelet patch pods/status s/p", "11 kubelet delete pods s/p"},
     "Pod", "p", "created 1 scheduled 2 running 4 ready 4 stopped 10 deleted 9 gone 11"},
    {"a probe delays Ready",
     {"1 sets create pods s/p", "2 scheduler create pods/binding s/p", "3 kubelet patch pods/status s/p", "4 kubelet patch pods/status s/p",
      "6 kubelet patch pods/status s/p"},
     "Pod", "p", "created 1 scheduled 2 running 4 ready 6"},
    {"a silent node does not make a pod Ready again",
     {"1 sets create pods s/p", "2 scheduler create pods/binding s/p", "3 kubelet patch pods/status s/p", "4 kubelet patch pods/status s/p",
      "60 nodes update pods/status s/p", "90 kubelet patch pods/status s/p"},
     "Pod", "p", "created 1 scheduled 2 running 4 ready 4"},
    {"deleted before it had a node",
     {"1 kubectl create pods s/p", "2 scheduler patch pods/status s/p", "3 kubectl delete pods s/p"},
     "Pod", "p", "created 1 unschedulable 2 deleted 3 gone 3"},
    {"evicted", {"1 sets create pods s/p", "2 scheduler create pods/binding s/p", "3 kubectl create pods/eviction s/p 429", "8 kubectl create pods/eviction s/p"},
     "Pod", "p", "created 1 scheduled 2 deleted 8"},
    {"the scheduler names a pod", {"1 replicas create pods s/", "2 scheduler create pods/binding s/web-abc-x1y2z"}, "Pod", "web-abc-x1y2z",
     "created 1 scheduled 2"},
    {"a claim's way",
     {"1 sets create persistentvolumeclaims s/c", "2 scheduler update persistentvolumeclaims s/c", "3 binder update persistentvolumeclaims s/c",
      "4 provisioner create persistentvolumes /pvc-uc", "5 binder update persistentvolumeclaims s/c", "6 binder update persistentvolumeclaims/status s/c",
      "20 kubectl delete persistentvolumeclaims s/c", "21 protection update persistentvolumeclaims s/c"},
     "PersistentVolumeClaim", "c", "created 1 selected-node 2 provisioner-asked 3 bound 6 deleted 20 gone 21"},
    {"an expansion",
     {"1 kubectl create persistentvolumeclaims s/c", "6 binder update persistentvolumeclaims/status s/c", "10 kubectl patch persistentvolumeclaims s/c",
      "11 resizer patch persistentvolumeclaims/status s/c", "13 kubelet patch persistentvolumeclaims/status s/c"},
     "PersistentVolumeClaim", "c", "created 1 bound 6 expansion-asked 10 node-awaited 11 expanded 13"},
    {"a label is no expansion", {"1 kubectl create persistentvolumeclaims s/c", "10 kubectl patch persistentvolumeclaims s/c"},
     "PersistentVolumeClaim", "c", "created 1"},
    {"a volume's way",
     {"1 provisioner create persistentvolumes /v", "2 binder update persistentvolumes/status /v", "9 binder update persistentvolumes/status /v",
      "10 provisioner delete persistentvolumes /v", "11 provisioner patch persistentvolumes /v", "12 pv-protection update persistentvolumes /v 409",
      "13 pv-protection update persistentvolumes /v"},
     "PersistentVolume", "v", "created 1 bound 2 released 9 deleted 10 gone 13"},
    {"an attachment's way",
     {"1 adc create volumeattachments /a", "2 attacher patch volumeattachments /a", "3 attacher patch volumeattachments/status /a",
      "5 kubelet get volumeattachments /a", "9 adc delete volumeattachments /a", "10 attacher patch volumeattachments /a",
      "11 attacher patch volumeattachments/status /a 404"},
     "VolumeAttachment", "a", "attach-requested 1 attached 3 detach-requested 9 detached 10"},
    {"attached, and said so twice",
     {"1 adc create volumeattachments /a", "3 attacher patch volumeattachments/status /a", "3.4 adc patch nodes/status /n1",
      "4.8 attacher patch volumeattachments/status /a", "9 kubelet get volumeattachments /a"},
     "VolumeAttachment", "a", "attach-requested 1 attached 3"},
    {"attached after two errors",
     {"1 adc create volumeattachments /a", "3 attacher patch volumeattachments/status /a", "6 attacher patch volumeattachments/status /a",
      "8 adc patch nodes/status /n9", "11 attacher patch volumeattachments/status /a", "11.6 adc patch nodes/status /n1",
      "13 kubelet get volumeattachments /a"},
     "VolumeAttachment", "a", "attach-requested 1 attached 11"},
    {"a name again is another object",
     {"1 sets create pods s/p", "2 scheduler create pods/binding s/p", "3 kubectl delete pods s/p", "4 kubelet delete pods s/p", "5 sets create pods s/p"},
     "Pod", "p", "created 5"},
    {"a kubelet falls silent", {"10 kubelet list nodes /n1", "30 kubelet patch nodes/status /n1", "81 nodes update nodes/status /n1", "100 kubelet patch nodes/status /n1"},
     NULL, NULL, "stop-kubelet n1 33.500s 66.500s"},
    {"a kubelet never comes back", {"30 kubelet patch nodes/status /n1", "81 nodes update nodes/status /n1"}, NULL, NULL, "stop-kubelet n1 33.500s for ever"},
    {"the scheduler starts anew",
     {"1 scheduler start pods", "1 scheduler start nodes", "1 scheduler start csinodes", "50 scheduler create pods/binding s/p", "63 scheduler start pods",
      "63 scheduler start nodes", "64 scheduler start csinodes"},
     NULL, NULL, "crash kube-scheduler 50.000s 13.000s"},
    {"one list is no start", {"1 scheduler start pods", "50 scheduler create pods/binding s/p", "63 scheduler start pods"}, NULL, NULL, ""},
};
/* clang-format on */

static const char *
agent_of(const char *word)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(agents); i++)
        if (g_str_equal(agents[i][0], word))
            return agents[i][1];
    fail_msg("%s", word);
    return NULL;
}

static void
recording_add_line(GString *log, const char *request, unsigned number)
{
    g_auto(GStrv) words = g_strsplit(request, " ", -1);
    g_auto(GStrv) resource = g_strsplit(words[3], "/", 2);
    g_auto(GStrv) object = g_strsplit(words[4] != NULL ? words[4] : "/", "/", 2);
    gboolean starts = g_str_equal(words[2], "start"), is_kubelet = g_str_equal(words[1], "kubelet");
    const char *code = words[4] != NULL && words[5] != NULL ? words[5] : "200";
    char at[API_TIME_BUFFER];
    SimTime zero;

    assert_true(api_time_parse("2026-03-01T10:00:00Z", &zero));
    api_time_format(zero + (SimTime)(g_ascii_strtod(words[0], NULL) * 1e9), TRUE, at);
    g_string_append_printf(
        log,
        "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"auditID\":\"%u\",\"stage\":"
        "\"ResponseComplete\",\"requestURI\":\"/"
        "x%s\",\"verb\":\"%s\",\"user\":{\"username\":\"%s\"},"
        "\"userAgent\":\"%s\",\"objectRef\":{\"resource\":\"%s\",\"apiGroup\":\"%s\"",
        number, starts ? "?limit=500\\u0026resourceVersion=0" : "", starts ? "list" : words[2],
        is_kubelet ? "system:node:n1" : "u", agent_of(words[1]), resource[0],
        g_str_has_prefix(words[3], "volumeatt") ? "storage.k8s.io" : "");
    if (resource[1] != NULL)
        g_string_append_printf(log, ",\"subresource\":\"%s\"", resource[1]);
    if (*object[0] != '\0')
        g_string_append_printf(log, ",\"namespace\":\"%s\"", object[0]);
    if (*object[1] != '\0')
        g_string_append_printf(log, ",\"name\":\"%s\"", object[1]);
    if (g_str_equal(words[2], "update")) /* a PUT has the object's uid */
        g_string_append_printf(log, ",\"uid\":\"u%s\"", object[1]);
    g_string_append_printf(log,
                           "},\"responseStatus\":{\"code\":%s},\"requestReceivedTimestamp\":\"%s\","
                           "\"stageTimestamp\":\"%s\"}\n",
                           code, at, at);
}

static char *
recording_write_file(const char *text)
{
    char *path = NULL;
    int file = g_file_open_tmp("recording-XXXXXX", &path, NULL);

    assert_true(file >= 0);
    g_close(file, NULL);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

/* The last object of that name. */
static char *
times_text(const Recorded *recorded, const RecordingRow *row)
{
    const GPtrArray *objects = recorded_objects(recorded);
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *object = objects->pdata[i];
        if (!g_str_equal(recorded_kind_name((RecordedKind)object->kind), row->kind) ||
            !g_str_equal(object->name, row->object))
            continue;
        g_string_truncate(text, 0);
        for (unsigned k = 0; k < N_RECORDED_TIMES; k++)
            if (object->at[k] != TIME_UNSET)
                g_string_append_printf(text, "%s%s %g", text->len > 0 ? " " : "",
                                       recorded_time_name(k), (double)object->at[k] / 1e9);
    }
    return g_string_free(text, FALSE);
}

static char *
faults_text(const Writes *writes, SimTime start, ImportReport *report)
{
    json_t *faults = found_outages(writes, 1, NULL, start, report), *fault;
    GString *text = g_string_new(NULL);
    gsize i;

    json_array_foreach(faults, i, fault) {
        const char *node = json_string_value(json_object_get(fault, "node"));
        const char *until = json_string_value(json_object_get(fault, "restartAfter"));
        g_string_append_printf(
            text, "%s%s %s %s %s", i > 0 ? ", " : "",
            json_string_value(json_object_get(fault, "do")),
            node != NULL ? node : json_string_value(json_object_get(fault, "component")),
            json_string_value(json_object_get(fault, "at")), until != NULL ? until : "for ever");
    }
    json_decref(faults);
    return g_string_free(text, FALSE);
}

static void
requests_tell(void **state)
{
    const RecordingRow *row = *state;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(Recorded) recorded = recorded_new();
    g_autoptr(ImportReport) report = import_report_new();
    SimTime start;

    assert_true(api_time_parse("2026-03-01T10:00:00Z", &start));
    for (unsigned i = 0; i < REQUESTS_MAX && row->requests[i] != NULL; i++)
        recording_add_line(text, row->requests[i], i);
    g_autofree char *log = recording_write_file(text->str);
    g_autofree char *dump = recording_write_file(
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u\"}}");
    g_autoptr(GPtrArray) dumps = dumps_read((const char *const[]){dump, NULL}, report, NULL);
    g_autoptr(Writes) writes =
        writes_read((const char *const[]){log, NULL}, start, recorded, report, NULL);
    g_unlink(log);
    g_unlink(dump);
    assert_non_null(dumps);
    assert_non_null(writes);
    recording_make(recorded, writes, dumps, start, report);
    g_autofree char *found =
        row->kind != NULL ? times_text(recorded, row) : faults_text(writes, start, report);
    assert_string_equal(found, row->found);
}
TEST_ROWS(rows, requests_tell);
