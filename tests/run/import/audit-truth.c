/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests with a real cluster's bundle:
 *
 *   audit-truth reduce                               makes of an audit log (stdin) one of level
 *                                                    Metadata with all stages (stdout)
 *   audit-truth milestones RECORDED WATCH START      compares a recording with watch.jsonl, which
 *                                                    began at START (RFC 3339)
 *   audit-truth steps WORKLOAD STEPS OFFSET          compares a workload with steps.jsonl, whose
 *                                                    clock began OFFSET seconds after t = 0
 *
 * Prints each difference; the status tells whether there was none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/api/field.h"
#include "run/import/import-test.h"
#include "run/import/recorded.h"

/* A watch sees a write some ms after its commit; the recorder was slow at times. */
#define TOLERANCE (200 * SIM_MS)

static json_t *
audit_truth_read_line(FILE *file, char **line, size_t *room)
{
    ssize_t length = getline(line, room, file);

    return length <= 0 ? NULL : json_loadb(*line, (size_t)length, 0, NULL);
}

static const char *
audit_truth_text_at(const json_t *object, const char *section, const char *key)
{
    const json_t *inner = section == NULL ? object : json_object_get(object, section);

    return json_string_value(json_object_get(inner, key));
}

/* ---- Level Metadata ---- */

static void
print_stage(json_t *event, const char *stage)
{
    json_object_set_new(event, "stage", json_string(stage));
    char *text = json_dumps(event, JSON_COMPACT);
    puts(text);
    free(text);
}

/* A new object has no name before its body is read. */
static void
print_received(const json_t *event)
{
    json_t *received = json_deep_copy(event);

    json_object_del(received, "responseStatus");
    if (g_strcmp0(audit_truth_text_at(received, NULL, "verb"), "create") == 0 &&
        audit_truth_text_at(received, "objectRef", "subresource") == NULL)
        json_object_del(json_object_get(received, "objectRef"), "name");
    json_object_set(received, "stageTimestamp",
                    json_object_get(received, "requestReceivedTimestamp"));
    print_stage(received, "RequestReceived");
    json_decref(received);
}

static int
reduce(void)
{
    g_autofree char *line = NULL;
    size_t room = 0;
    json_t *event;

    while ((event = audit_truth_read_line(stdin, &line, &room)) != NULL) {
        const char *stage = audit_truth_text_at(event, NULL, "stage");
        g_autofree char *kept = g_strdup(stage);
        json_object_del(event, "requestObject");
        json_object_del(event, "responseObject");
        json_object_set_new(event, "level", json_string("Metadata"));
        if (g_str_equal(kept, "ResponseComplete"))
            print_received(event);
        print_stage(event, kept);
        json_decref(event);
    }
    return 0;
}

/* ---- Milestones ---- */

typedef struct {
    RecordedObject object; /* its times */
    json_t *first;         /* (owned): its first state */
} AuditTruthSeen;

static void
seen_free(void *data)
{
    json_decref(((AuditTruthSeen *)data)->first);
    g_free(data);
}

static gboolean
has_condition(const json_t *object, const char *type, const char *status)
{
    const json_t *list = json_object_get(json_object_get(object, "status"), "conditions");
    json_t *condition;
    gsize i;

    json_array_foreach((json_t *)list, i, condition) {
        if (g_strcmp0(audit_truth_text_at(condition, NULL, "type"), type) == 0)
            return g_strcmp0(audit_truth_text_at(condition, NULL, "status"), status) == 0;
    }
    return FALSE;
}

static gboolean
differs(const json_t *first, const json_t *now, const char *section, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    const json_t *a = json_object_get(first, section), *b = json_object_get(now, section);

    for (unsigned i = 0; keys[i] != NULL; i++) {
        a = json_object_get(a, keys[i]);
        b = json_object_get(b, keys[i]);
    }
    return a != NULL && b != NULL && !json_equal(a, b);
}

static void
see_if(AuditTruthSeen *self, gboolean holds, RecordedTime time, SimTime at)
{
    if (holds)
        recorded_see(&self->object, time, at);
}

static void
audit_truth_see_pod(AuditTruthSeen *self, const json_t *pod, SimTime at)
{
    const char *phase = audit_truth_text_at(pod, "status", "phase");

    see_if(self, audit_truth_text_at(pod, "spec", "nodeName") != NULL, RECORDED_SCHEDULED, at);
    see_if(self, has_condition(pod, "PodScheduled", "False"), RECORDED_UNSCHEDULABLE, at);
    see_if(self, has_condition(pod, "Ready", "True"), RECORDED_READY, at);
    see_if(self, g_strcmp0(phase, "Succeeded") == 0 || g_strcmp0(phase, "Failed") == 0,
           RECORDED_STOPPED, at);
}

static void
audit_truth_see_claim(AuditTruthSeen *self, const json_t *claim, SimTime at)
{
    const json_t *marks = json_object_get(json_object_get(claim, "metadata"), "annotations");
    const json_t *capacity = json_object_get(json_object_get(claim, "status"), "capacity");

    see_if(self, json_object_get(marks, "volume.kubernetes.io/selected-node") != NULL,
           RECORDED_SELECTED, at);
    see_if(self, json_object_get(marks, "volume.kubernetes.io/storage-provisioner") != NULL,
           RECORDED_ASKED, at);
    see_if(self, g_strcmp0(audit_truth_text_at(claim, "status", "phase"), "Bound") == 0,
           RECORDED_BOUND, at);
    see_if(self, differs(self->first, claim, "spec", "resources.requests.storage"),
           RECORDED_EXPANSION_ASKED, at);
    see_if(self, differs(self->first, claim, "status", "capacity.storage"), RECORDED_EXPANDED, at);
    if (capacity != NULL)
        json_object_set(json_object_get(self->first, "status"), "capacity", (json_t *)capacity);
}

static void
audit_truth_see_volume(AuditTruthSeen *self, const json_t *volume, SimTime at)
{
    const char *phase = audit_truth_text_at(volume, "status", "phase");

    see_if(self, g_strcmp0(phase, "Bound") == 0, RECORDED_BOUND, at);
    see_if(self, g_strcmp0(phase, "Released") == 0, RECORDED_RELEASED, at);
    see_if(self, differs(self->first, volume, "spec", "capacity.storage"), RECORDED_GROWN, at);
}

static void
audit_truth_see_attachment(AuditTruthSeen *self, const json_t *attachment, SimTime at)
{
    const json_t *status = json_object_get(attachment, "status");

    see_if(self, json_is_true(json_object_get(status, "attached")), RECORDED_ATTACHED, at);
}

typedef struct {
    void (*see)(AuditTruthSeen *self, const json_t *object, SimTime at);
    RecordedTime created, deleted, gone;
} Watched;

static const Watched watched[N_RECORDED_KINDS] = {
    [RECORDED_POD] = {audit_truth_see_pod,        RECORDED_CREATED,          RECORDED_DELETED, RECORDED_GONE    },
    [RECORDED_CLAIM] = {audit_truth_see_claim,      RECORDED_CREATED,          RECORDED_DELETED, RECORDED_GONE    },
    [RECORDED_VOLUME] = {audit_truth_see_volume,     RECORDED_CREATED,          RECORDED_DELETED, RECORDED_GONE    },
    [RECORDED_ATTACHMENT] = {audit_truth_see_attachment, RECORDED_ATTACH_REQUESTED,
                      RECORDED_DETACH_REQUESTED,                                               RECORDED_DETACHED},
};

static char *
audit_truth_key_of(int kind, const char *namespace, const char *name)
{
    return g_strdup_printf("%s %s/%s", recorded_kind_name((RecordedKind)kind),
                           namespace != NULL ? namespace : "", name);
}

/* @objects: key -> GPtrArray of Seen, one for each incarnation */
static void
audit_truth_see_event(GHashTable *objects, GHashTable *by_uid, const json_t *event, SimTime offset)
{
    json_t *object = json_object_get(event, "object");
    const char *uid = audit_truth_text_at(object, "metadata", "uid");
    gboolean is_initial = json_object_get(event, "initial") != NULL;
    SimTime at = (SimTime)(json_number_value(json_object_get(event, "t")) * 1e9) + offset;
    int kind = 0;

    while (kind < N_RECORDED_KINDS && g_strcmp0(recorded_kind_name((RecordedKind)kind),
                                                audit_truth_text_at(event, NULL, "kind")) != 0)
        kind++;
    if (kind == N_RECORDED_KINDS)
        return;
    AuditTruthSeen *seen = g_hash_table_lookup(by_uid, uid);
    if (seen == NULL) {
        char *key = audit_truth_key_of(kind, audit_truth_text_at(object, "metadata", "namespace"),
                                       audit_truth_text_at(object, "metadata", "name"));
        GPtrArray *list = g_hash_table_lookup(objects, key);
        if (list == NULL) {
            list = g_ptr_array_new_with_free_func(seen_free);
            g_hash_table_insert(objects, g_strdup(key), list);
        }
        seen = g_new0(AuditTruthSeen, 1);
        seen->object.kind = kind;
        seen->first = json_incref(object);
        for (unsigned i = 0; i < N_RECORDED_TIMES; i++)
            seen->object.at[i] = TIME_UNSET;
        g_ptr_array_add(list, seen);
        g_hash_table_insert(by_uid, g_strdup(uid), seen);
        see_if(seen, !is_initial, watched[kind].created, at);
        g_free(key);
    }
    if (is_initial)
        return;
    see_if(seen, audit_truth_text_at(object, "metadata", "deletionTimestamp") != NULL,
           watched[kind].deleted, at);
    see_if(seen, g_strcmp0(audit_truth_text_at(event, NULL, "type"), "DELETED") == 0,
           watched[kind].gone, at);
    watched[kind].see(seen, object, at);
}

/* Returns: whether they agree */
static gboolean
audit_truth_compare_times(const char *key, const RecordedObject *real, const RecordedObject *told)
{
    gboolean ok = TRUE;

    for (unsigned i = 0; i < N_RECORDED_TIMES; i++) {
        if (i == RECORDED_RUNNING || i == RECORDED_NODE_AWAITED) /* not looked for */
            continue;
        SimTime a = real->at[i], b = told->at[i];
        if ((a == TIME_UNSET) == (b == TIME_UNSET) && (a == TIME_UNSET || ABS(a - b) <= TOLERANCE))
            continue;
        printf("%s %s: %.3f, recorded %.3f\n", key, recorded_time_name(i),
               a == TIME_UNSET ? -1 : (double)a / 1e9, b == TIME_UNSET ? -1 : (double)b / 1e9);
        ok = FALSE;
    }
    return ok;
}

static gboolean
compare_all(const Recorded *recorded, GHashTable *objects)
{
    const GPtrArray *told = recorded_objects(recorded);
    g_autoptr(GHashTable) n_of = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gboolean ok = TRUE;
    unsigned n = 0;

    for (unsigned i = 0; i < told->len; i++) {
        const RecordedObject *object = told->pdata[i];
        char *key = audit_truth_key_of(object->kind, object->namespace, object->name);
        const GPtrArray *list = g_hash_table_lookup(objects, key);
        unsigned incarnation = GPOINTER_TO_UINT(g_hash_table_lookup(n_of, key));
        if (list == NULL || incarnation >= list->len) {
            printf("%s: was never seen\n", key);
            ok = FALSE;
        } else {
            ok &= audit_truth_compare_times(
                key, &((AuditTruthSeen *)list->pdata[incarnation])->object, object);
            n++;
        }
        g_hash_table_insert(n_of, key, GUINT_TO_POINTER(incarnation + 1));
    }
    printf("%u of %u objects agree\n", ok ? n : 0, told->len);
    return ok && n > 0;
}

static int
milestones(const char *recorded_file, const char *watch_file, const char *began)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Recorded) recorded = recorded_read(recorded_file, &error);
    g_autoptr(GHashTable) objects =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    g_autoptr(GHashTable) by_uid = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    FILE *watch = fopen(watch_file, "r");
    g_autofree char *line = NULL;
    SimTime start, zero;
    size_t room = 0;
    json_t *event;

    if (recorded == NULL || watch == NULL || !api_time_parse(began, &zero) ||
        !api_time_parse(recorded_start(recorded), &start)) {
        puts(error != NULL ? error->message : "cannot be read");
        return 1;
    }
    while ((event = audit_truth_read_line(watch, &line, &room)) != NULL) {
        audit_truth_see_event(objects, by_uid, event, zero - start);
        json_decref(event);
    }
    fclose(watch);
    return !compare_all(recorded, objects);
}

/* ---- Steps ---- */

/* The last or first word of a line that kubectl printed, and the action of the item. */
static const char *const words[][2] = {
    {"created",    "create"  },
    {"deleted",    "delete"  },
    {"scaled",     "scale"   },
    {"cordoned",   "cordon"  },
    {"uncordoned", "uncordon"},
    {"patched",    "patch"   },
    {"restarted",  "patch"   },
    {"evicting",   "evict"   },
};

static gboolean
says(const char *line, const char *word)
{
    g_autofree char *end = g_strconcat(" ", word, NULL);

    return g_str_has_suffix(line, end) || g_str_has_prefix(line, word);
}

/* How many requests of one action a step made; Namespaces and Services have no model. */
static unsigned
count_told(const json_t *step, const char *action)
{
    const char *out = audit_truth_text_at(step, NULL, "stdout"),
               *errors = audit_truth_text_at(step, NULL, "stderr");
    g_auto(GStrv) lines = g_strsplit(out != NULL ? out : "", "\n", -1);
    unsigned n =
        g_str_equal(action, "delete") && errors != NULL && strstr(errors, "NotFound") != NULL;

    for (unsigned i = 0; lines[i] != NULL; i++) {
        if (g_str_has_prefix(lines[i], "namespace/") || g_str_has_prefix(lines[i], "service/") ||
            strstr(lines[i], "already") != NULL)
            continue;
        for (unsigned k = 0; k < G_N_ELEMENTS(words); k++)
            n += g_str_equal(words[k][1], action) && says(lines[i], words[k][0]);
    }
    return n;
}

static unsigned
count_items(const json_t *items, const char *action, double from, double until)
{
    const json_t *item;
    unsigned n = 0;
    gsize i;

    json_array_foreach((json_t *)items, i, item) {
        double at = g_ascii_strtod(audit_truth_text_at(item, NULL, "at"), NULL);
        n += json_object_get(item, action) != NULL && at >= from && at <= until;
    }
    return n;
}

static int
steps(const char *workload_file, const char *steps_file, double offset)
{
    json_t *items = json_load_file(workload_file, 0, NULL), *step;
    FILE *file = fopen(steps_file, "r");
    g_autofree char *line = NULL;
    size_t room = 0;
    unsigned n_all = 0, n_bad = 0;

    if (items == NULL || file == NULL)
        return 1;
    while ((step = audit_truth_read_line(file, &line, &room)) != NULL) {
        double from = json_number_value(json_object_get(step, "t")) + offset;
        double until = json_number_value(json_object_get(step, "t_end")) + offset;
        for (unsigned k = 0; k < G_N_ELEMENTS(words); k++) {
            unsigned told = count_told(step, words[k][1]);
            unsigned found = count_items(items, words[k][1], from, until);
            if (g_str_equal(words[k][0], "restarted") || told == 0)
                continue;
            n_all += told;
            if (found < told) { /* steps may overlap */
                printf("at %.3f: %u of %u %s\n", from, found, told, words[k][1]);
                n_bad++;
            }
        }
        json_decref(step);
    }
    fclose(file);
    printf("%u requests in the steps, %zu items\n", n_all, json_array_size(items));
    gboolean ok = n_bad == 0 && n_all == json_array_size(items);
    json_decref(items);
    return !ok;
}

int
main(int argc, char **argv)
{
    if (argc == 2 && g_str_equal(argv[1], "reduce"))
        return reduce();
    if (argc == 5 && g_str_equal(argv[1], "milestones"))
        return milestones(argv[2], argv[3], argv[4]);
    if (argc == 5 && g_str_equal(argv[1], "steps"))
        return steps(argv[2], argv[3], g_ascii_strtod(argv[4], NULL));
    fputs("usage: audit-truth reduce | milestones RECORDED WATCH START | steps WORKLOAD STEPS "
          "OFFSET\n",
          stderr);
    return 2;
}
