/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>

#include "models/api/field.h"
#include "run/import/audit.h"
#include "run/import/clients.h"
#include "tests/lib/test.h"

/* The reader of audit logs, and who is who in them. */

/* ---- Values inside a text ---- */

typedef struct {
    const char *text, *key, *value; /* value: NULL: there is none, or the text is broken before */
} MemberCase;

/* clang-format off */
static const MemberCase members[] = {
    {"{\"a\":1,\"b\":\"x\"}",                   "b", "\"x\""       },
    {" { \"a\" : [ 1 , 2 ] , \"b\" : null } ",  "b", "null"        },
    {"{\"a\":{\"b\":1},\"b\":{\"c\":[{}]}}",    "b", "{\"c\":[{}]}"},
    {"{\"a\":\"}\\\"\\\\\",\"b\":\"{\\\"\"}",   "b", "\"{\\\"\""   },
    {"{\"a\":\"\\\\\",\"b\":true}",             "b", "true"        },
    {"{\"a\":1}",                               "b", NULL          },
    {"{\"a\":1,\"b\":",                         "b", NULL          },
    {"{\"a\":\"no end,\"b\":1}",                "b", NULL          },
    {"{\"a\":[1,2,\"b\":1}",                    "b", NULL          },
    {"[1,2]",                                   "b", NULL          },
    {"",                                        "b", NULL          },
    {"{",                                       "b", NULL          },
};
/* clang-format on */

TEST(a_member_is_found_without_a_parse)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++) {
        JsonPart value = json_part_get(JSON_PART(members[i].text), members[i].key);
        g_autofree char *text = value.at == NULL ? NULL : g_strndup(value.at, value.length);
        if (g_strcmp0(text, members[i].value) != 0)
            fail_msg("%s: %s", members[i].text, text);
    }
}

/* A cut at any byte is told, or gives the same value: nothing is read behind the end. */
TEST(a_cut_text_is_no_other_text)
{
    const char *text = members[3].text;

    for (gsize cut = 0; cut < strlen(text); cut++) {
        g_autofree char *copy = g_memdup2(text, MAX(cut, 1)); /* exact: sanitizers see the end */
        assert_null(json_part_get((JsonPart){copy, cut}, "c").at);
    }
}

/* ---- Senders ---- */

typedef struct {
    const char *user, *agent, *name;
    SenderSide side;
    const char *node;
} SenderCase;

/* clang-format off */
#define KCM "kube-controller-manager/v1.32.1 (linux/amd64) kubernetes/abc"
#define SA "system:serviceaccount:"
static const SenderCase senders[] = {
    {"system:node:n1",                          "kubelet/v1.32.1 (linux/amd64) kubernetes/abc",      "kubelet",                   SENDER_MODELLED, "n1"},
    {"system:kube-scheduler",                   "kube-scheduler/v1.32.1 (linux/amd64) x/scheduler",  "kube-scheduler",            SENDER_MODELLED, NULL},
    {SA "kube-system:persistent-volume-binder", KCM "/" SA "kube-system:persistent-volume-binder",   "persistent-volume-binder",  SENDER_MODELLED, NULL},
    {"system:kube-controller-manager",          KCM "/persistent-volume-binder",                     "persistent-volume-binder",  SENDER_MODELLED, NULL},
    {SA "kube-system:daemon-set-controller",    KCM "/" SA "kube-system:daemon-set-controller",      "daemonset-controller",      SENDER_MODELLED, NULL},
    {SA "kube-system:endpoint-controller",      KCM "/" SA "kube-system:endpoint-controller",        "endpoint-controller",       SENDER_OTHER,    NULL},
    {SA "kube-system:cronjob-controller",       KCM "/" SA "kube-system:cronjob-controller",         "cronjob-controller",        SENDER_MODELLED, NULL},
    {"system:kube-controller-manager",          KCM "/shared-informers",                             "kube-controller-manager",   SENDER_OTHER,    NULL},
    {SA "csi:ebs-csi-controller-sa",            "csi-provisioner/v5.1.0 (linux/amd64) kubernetes/x", "external-provisioner",      SENDER_MODELLED, NULL},
    {SA "driver:csi-attacher",                  "attach/v1 (linux/amd64)",                           "external-attacher",         SENDER_MODELLED, NULL},
    {"system:apiserver",                        "kube-apiserver/v1.32.1 (linux/amd64)",              "kube-apiserver",            SENDER_OTHER,    NULL},
    {"kubernetes-admin",                        "kubectl/v1.32.4 (linux/amd64) kubernetes/4cb5f07",  "kubectl",                   SENDER_OUTSIDE,  NULL},
    {SA "kube-system:cluster-autoscaler",       "cluster-autoscaler/v1.32.0 (linux/amd64)",          "cluster-autoscaler",        SENDER_OUTSIDE,  NULL},
    {"kubelet-lookalike",                       "",                                                  "kubelet-lookalike",         SENDER_OUTSIDE,  NULL},
};
/* clang-format on */

TEST(senders_are_told_by_user_and_agent)
{
    g_autoptr(Senders) all = senders_new();

    for (unsigned i = 0; i < G_N_ELEMENTS(senders); i++) {
        const SenderCase *row = &senders[i];
        const Sender *found =
            senders_find(all, row->user, strlen(row->user), row->agent, strlen(row->agent));
        if (!g_str_equal(found->name, row->name) || found->side != row->side ||
            g_strcmp0(found->node, row->node) != 0)
            fail_msg("%s, %s: %s %d", row->user, row->agent, found->name, found->side);
        assert_ptr_equal(
            found, senders_find(all, row->user, strlen(row->user), row->agent, strlen(row->agent)));
    }
}

/* ---- Lines ---- */

#define EVENT(id, stage, verb, time, more)                                                         \
    "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/"                                           \
    "v1\",\"level\":\"Metadata\",\"auditID\":\"" id "\",\"stage\":\"" stage                        \
    "\",\"requestURI\":\"/api/v1/pods\",\"verb\":\"" verb                                          \
    "\",\"user\":{\"username\":\"u\"},\"userAgent\":\"kubectl/v1\",\"objectRef\":{\"resource\":"   \
    "\"pods\",\"namespace\":\"n\",\"name\":\"p\"},\"responseStatus\":{\"code\":200},"              \
    "\"requestReceivedTimestamp\":\"2026-11-22T15:00:" time                                        \
    "Z\",\"stageTimestamp\":\"2026-11-22T15:00:" time "Z\"" more "}"
#define BARE(id)                                                                                   \
    "{\"auditID\":\"" id                                                                           \
    "\",\"stage\":\"ResponseComplete\",\"verb\":\"get\",\"objectRef\":{\"name\":"                  \
    "\"p\"},\"responseStatus\":{\"code\":200},\"requestReceivedTimestamp\":\"2026-11-22T15:00:"    \
    "01Z\"}"
#define LIST(items)                                                                                \
    "{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"items\":[" items "]}"
#define DONE(id, time) EVENT(id, "ResponseComplete", "get", time, "")

typedef struct {
    const char *what, *text;
    unsigned n_seen;
    int skip; /* AuditSkip; -1: none */
    unsigned n_skipped, n_back;
} LineCase;

/* clang-format off */
static const LineCase lines[] = {
    {"two lines",            DONE("1", "01") "\n" DONE("2", "02") "\n",                       2, -1,                    0, 0},
    {"no line feed",         DONE("1", "01") "\n" DONE("2", "02"),                            2, -1,                    0, 0},
    {"Windows, blank lines", DONE("1", "01") "\r\n\r\n \n" DONE("2", "02") "\r\n",            2, -1,                    0, 0},
    {"the same twice",       DONE("1", "01") "\n" DONE("1", "01") "\n",                       1, AUDIT_SKIP_TWICE,      1, 0},
    {"a watch's stages",
     EVENT("1", "ResponseStarted", "watch", "01", "") "\n" EVENT("1", "ResponseComplete", "watch", "09", ""),
     1, -1, 0, 0},
    {"RequestReceived",      EVENT("1", "RequestReceived", "get", "01", "") "\n" DONE("1", "01"), 1, AUDIT_SKIP_RECEIVED, 1, 0},
    {"Panic",                EVENT("1", "Panic", "get", "01", ""),                            1, -1,                    0, 0},
    {"cut last line",        DONE("1", "01") "\n{\"kind\":\"Event\",\"apiVer",                1, AUDIT_SKIP_TRUNCATED,  1, 0},
    {"cut first line",       "us\":1}}\n" DONE("1", "01"),                                    1, AUDIT_SKIP_BROKEN,     1, 0},
    {"other JSON",           DONE("1", "01") "\n{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n",  1, AUDIT_SKIP_FOREIGN,    1, 0},
    {"no time",              DONE("1", "01") "\n" DONE("2", "zz") "\n",                       1, AUDIT_SKIP_INCOMPLETE, 1, 0},
    {"clock runs back",      DONE("1", "09") "\n" DONE("2", "01") "\n" DONE("3", "10"),       3, -1,                    0, 1},
    {"a list in a line",     LIST(DONE("1", "01") "," DONE("2", "02")),                       2, -1,                    0, 0},
    {"a webhook's list",     LIST(BARE("1") "," BARE("2")),                                   2, -1,                    0, 0},
    {"a list in a list",     LIST(LIST(DONE("1", "01")) "," DONE("2", "02")),                 1, AUDIT_SKIP_FOREIGN,    1, 0},
    {"no list around it",    BARE("1") "\n" DONE("2", "02"),                                  1, AUDIT_SKIP_FOREIGN,    1, 0},
    {"a list over lines",
     "{\n\"kind\":\"EventList\",\n\"apiVersion\":\"audit.k8s.io/v1\",\n\"items\":[\n" DONE("1", "01") ",\n" DONE("2", "02") "\n]}\n",
     2, -1, 0, 0},
};
/* clang-format on */

static char *
write_log(const char *text)
{
    char *path = NULL;
    int file = g_file_open_tmp("audit-XXXXXX.log", &path, NULL);

    assert_true(file >= 0);
    g_close(file, NULL);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static void
count_event(const AuditEvent *event, void *data)
{
    assert_int_equal(event->code, 200);
    assert_int_equal(event->name.length, 1);
    if (event->is_repeated)
        assert_true(event->watch_end != TIME_UNSET);
    *(unsigned *)data += !event->is_repeated;
}

TEST(lines_are_read_or_counted)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
        const LineCase *row = &lines[i];
        g_autofree char *path = write_log(row->text);
        unsigned n_seen = 0, n_skipped = 0;
        AuditSummary summary;
        if (!audit_read((const char *const[]){path, NULL}, count_event, &n_seen, &summary, NULL))
            fail_msg("%s", row->what);
        for (unsigned k = 0; k < N_AUDIT_SKIPS; k++)
            n_skipped += (unsigned)summary.skipped[k].count;
        if (n_seen != row->n_seen || n_skipped != row->n_skipped || summary.n_back != row->n_back)
            fail_msg("%s: %u seen, %u skipped", row->what, n_seen, n_skipped);
        if (row->skip >= 0)
            assert_int_equal(summary.skipped[row->skip].count, row->n_skipped);
        audit_summary_clear(&summary);
        g_unlink(path);
    }
}

TEST(files_without_events_are_refused)
{
    static const char *const texts[] = {"{\"kind\":\"Pod\"}\n", "hello\nworld\n",
                                        "{\n  \"a\": 1\n}\n"};

    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *path = write_log(texts[i]), *place = g_strconcat(path, ":1: ", NULL);
        g_autoptr(GError) error = NULL;
        AuditSummary summary;
        assert_false(
            audit_read((const char *const[]){path, NULL}, count_event, NULL, &summary, &error));
        assert_true(g_str_has_prefix(error->message, place));
        audit_summary_clear(&summary);
        g_unlink(path);
    }
}

/* A line is found whole wherever the pieces of the file end, and one without end is dropped. */
TEST(long_lines_do_no_harm)
{
    GString *text = g_string_new(DONE("1", "01") "\n{\"kind\":\"");
    unsigned n_seen = 0;
    AuditSummary summary;

    for (unsigned i = 0; i < 70; i++) {
        gsize from = text->len;
        g_string_set_size(text, from + (1 << 20));
        memset(text->str + from, 'x', 1 << 20);
    }
    g_string_append(text, "\"}\n" EVENT("2", "ResponseComplete", "get", "02", ",\"more\":\""));
    g_string_truncate(text, text->len - 1); /* its brace: the line goes on */
    for (unsigned i = 0; i < 100000; i++)
        g_string_append(text, "0123456789");
    g_string_append(text, "\"}\n" DONE("3", "03"));
    g_autofree char *path = write_log(text->str);
    assert_true(
        audit_read((const char *const[]){path, NULL}, count_event, &n_seen, &summary, NULL));
    assert_int_equal(summary.skipped[AUDIT_SKIP_LONG].count, 1);
    assert_int_equal(n_seen, 3);
    audit_summary_clear(&summary);
    g_unlink(path);
    g_string_free(text, TRUE);
}
