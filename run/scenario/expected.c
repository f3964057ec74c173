/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run must meet: the fields of spec.slo and spec.expect. Both are read into the structs that
 * a run looks at (ScenarioSlo, ScenarioExpect); an item of spec.expect becomes one ScenarioExpect
 * for each kind that it names. That waits for the drivers: driverVolumes may leave the name of the
 * only driver out. */
#include <string.h>

#include "labels.h"
#include "scenario-private.h"
#include "stage.h"

static const FileType range_type;

static void
slo_init(void *target)
{
    *(ScenarioSlo *)target = (ScenarioSlo){.quantile = 1, .below = -1, .at_least = -1};
}

static void
slo_check(SchemaReader *reader, const json_t *value, void *target)
{
    static const char *const pod_stages[] = {"schedule", "attach",    "stage", "publish", "pull",
                                             "start",    "pod-start", "stop",  NULL};
    const gboolean has_stage = json_object_get(value, "stage") != NULL;
    const gboolean has_below = json_object_get(value, "below") != NULL;
    const gboolean has_workload = json_object_get(value, "availability") != NULL;
    const gboolean has_share = json_object_get(value, "atLeast") != NULL;
    const ScenarioSlo *slo = target;

    if ((has_stage || has_below) == (has_workload || has_share))
        schema_fault(reader, "such as {stage: pod-start, quantile: 0.99, below: 60s}",
                     "needs either stage and below, or availability and atLeast");
    else if (has_stage != has_below)
        schema_fault(reader, has_stage ? "Upper bound" : "Stage of the way to a ready pod and back",
                     "\"%s\" is missing", has_stage ? "below" : "stage");
    else if (has_workload != has_share)
        schema_fault(reader, has_workload ? "Smallest share of the time" : "Workload",
                     "\"%s\" is missing", has_workload ? "atLeast" : "availability");
    else if (slo->labels != NULL && slo->stage != NULL && !g_strv_contains(pod_stages, slo->stage))
        schema_fault_member(reader, value, "labels", NULL,
                            "are for stages of pods only, not for %s", slo->stage);
    else if (slo->availability != NULL && strchr(slo->availability, '/') == NULL)
        schema_fault_member(reader, value, "availability",
                            "such as StatefulSet/web, StatefulSet/shop/web, or */* for all",
                            "\"%s\" is no KIND/NAME", slo->availability);
}

/* 3, or {min: 2, max: 4}. */
static void
read_count(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    ScenarioCount *count = target;

    (void)type;
    if (!json_is_object(value)) {
        schema_read(reader, &schema_integer, value, &count->min);
        count->max = count->min;
        return;
    }
    *count = (ScenarioCount){0, INT64_MAX};
    schema_read_fields(reader, range_type.fields, value, count, FALSE);
    if (count->min > count->max)
        schema_fault(reader, NULL, "\"min\" is greater than \"max\"");
}

static json_t *
schema_json_count(const FileType *type)
{
    (void)type;
    return json_pack("{s:[o, o]}", "anyOf", schema_json_integer(&schema_integer),
                     schema_json_struct(&range_type));
}

static void
expected_init(void *target)
{
    *(ScenarioExpect *)target = (ScenarioExpect){
        .ready = -1, .capacity_bytes = -1, .count = {-1, -1}
    };
}

/* "app=web,tier!=front" */
static void
read_labels(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    const char *text = NULL, *wrong;

    (void)type;
    schema_read(reader, &schema_string, value, &text);
    wrong = text == NULL ? NULL : labels_text_fault(text);
    if (wrong != NULL)
        schema_fault(reader, wrong, "\"%s\" is no list of labels", text);
    *(const char **)target = text;
}

static void
expect_init(void *target)
{
    *(ExpectFields *)target = (ExpectFields){.at = SIM_TIME_MAX};
}

static void
expect_check(SchemaReader *reader, const json_t *value, void *target)
{
    ExpectFields *fields = target;

    fields->source = value;
    fields->place = reader->at;
    fields->path = schema_intern(reader, reader->path->str);
    if (json_object_size(value) == (json_object_get(value, "at") != NULL))
        schema_fault(reader, "one of pods, claims, volumes, attachments, nodes, driverVolumes",
                     "nothing is expected here");
}

/* ==== The tables: a row for each field ==== */

/* clang-format off */

#define AT(type, member) offsetof(type, member)
#define END {NULL, NULL, 0, 0, NULL, NULL}

static const char *const stages[] = {
#define STAGE_WORD(member, name, meaning) name,
    STAGES(STAGE_WORD)
#undef STAGE_WORD
    NULL,
};

static const FileType labels_type = SCHEMA_TEXT("text", "labels", read_labels, "{\"type\": \"string\"}", char *);

static const FileType stage_type = SCHEMA_TYPE("word", "a stage", schema_read_word, schema_json_enum, char *,
    .words = stages);

static const FileField slo_fields[] = {
    {"stage", &stage_type, AT(ScenarioSlo, stage), 0, "none",
     "Stage of the way to a ready pod and back. Objects that never end it are misses"},
    {"name", &schema_string, AT(ScenarioSlo, name), 0, "any", "Only objects of this name, with * and ?"},
    {"namespace", &schema_string, AT(ScenarioSlo, namespace), 0, "any", "Only objects of this namespace"},
    {"labels", &labels_type, AT(ScenarioSlo, labels), 0, "any",
     "Only pods with these labels, as for kubectl get -l: app=web"},
    {"quantile", &schema_quantile, AT(ScenarioSlo, quantile), 0, "1: the longest",
     "Quantile over all objects that passed through the stage"},
    {"below", &schema_duration, AT(ScenarioSlo, below), 0, "none", "Upper bound of the stage's quantile"},
    {"availability", &schema_string, AT(ScenarioSlo, availability), 0, "none",
     "In place of stage: workload, such as StatefulSet/web or Deployment/shop/api; `Pod/*`: pods without a controller; * and ? for several"},
    {"atLeast", &schema_quantile, AT(ScenarioSlo, at_least), 0, "none",
     "Smallest share of the pods' time in which they must be Ready"},
    END,
};

static const FileType slo_type = SCHEMA_STRUCT("slo", slo_fields, ScenarioSlo, .init = slo_init,
    .check = slo_check);
const FileType scenario_slos_type = SCHEMA_LIST(slo_type);

static const FileField range_fields[] = {
    {"min", &schema_integer, AT(ScenarioCount, min), 0, "0", "At least"},
    {"max", &schema_integer, AT(ScenarioCount, max), 0, "any", "At most"},
    END,
};

static const FileType range_type = SCHEMA_STRUCT("range", range_fields, ScenarioCount);

static const FileType count_type = SCHEMA_TYPE("whole number, or {min, max}", "a whole number or a range",
    read_count, schema_json_count, ScenarioCount);

#define PHASES(of, ...) \
    static const char *const of##_phases[] = {__VA_ARGS__, NULL}; \
    static const FileType of##_phase = \
        SCHEMA_TYPE("word", "a phase", schema_read_word, schema_json_enum, char *, .words = of##_phases)

PHASES(pod, "Pending", "Running", "Succeeded", "Failed", "Unknown");
PHASES(claim, "Pending", "Bound", "Lost");
PHASES(volume, "Pending", "Available", "Bound", "Released", "Failed");

#define EXPECTED_COUNT {"count", &count_type, AT(ScenarioExpect, count), SCHEMA_REQUIRED, NULL, \
    "Expected number"}
#define EXPECTED_NAME {"name", &schema_string, AT(ScenarioExpect, name), 0, "any", \
     "Name, with * and ? for several"}

#define EXPECTED_LABELS {"labels", &labels_type, AT(ScenarioExpect, labels), 0, "any", \
     "Only objects with these labels, as for kubectl get -l: app=web,tier!=front"}
#define EXPECTED_NAMESPACE {"namespace", &schema_string, AT(ScenarioExpect, namespace), 0, "any", \
     "Only objects of this namespace"}

static const FileField expected_pods[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_NAMESPACE,
    EXPECTED_LABELS,
    {"phase", &pod_phase, AT(ScenarioExpect, phase), 0, "any", "status.phase"},
    {"ready", &schema_tristate, AT(ScenarioExpect, ready), 0, "any", "Condition Ready"},
    {"reason", &schema_string, AT(ScenarioExpect, reason), 0, "any",
     "Part of the message of condition PodScheduled, or of the status' reason"},
    {"node", &schema_string, AT(ScenarioExpect, on_node), 0, "any", "Only pods on this node"},
    {"zone", &schema_string, AT(ScenarioExpect, in_zone), 0, "any", "Only pods on nodes of this zone"},
    END,
};
static const FileField expected_claims[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_NAMESPACE,
    EXPECTED_LABELS,
    {"phase", &claim_phase, AT(ScenarioExpect, phase), 0, "any", "status.phase"},
    {"capacity", &schema_quantity, AT(ScenarioExpect, capacity_bytes), 0, "any", "status.capacity.storage"},
    {"resizeStatus", &schema_string, AT(ScenarioExpect, resize_status), 0, "any",
     "status.allocatedResourceStatuses.storage; none: not set"},
    {"attributesClass", &schema_string, AT(ScenarioExpect, attributes_class), 0, "any",
     "status.currentVolumeAttributesClassName; none: not set"},
    {"modifyStatus", &schema_string, AT(ScenarioExpect, modify_status), 0, "any",
     "status.modifyVolumeStatus.status; none: not set"},
    END,
};
static const FileField expected_volumes[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_LABELS,
    {"phase", &volume_phase, AT(ScenarioExpect, phase), 0, "any", "status.phase"},
    {"capacity", &schema_quantity, AT(ScenarioExpect, capacity_bytes), 0, "any", "spec.capacity.storage"},
    END,
};
static const FileField expected_attachments[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_LABELS,
    {"node", &schema_string, AT(ScenarioExpect, on_node), 0, "any", "Only attachments to this node"},
    {"attached", &schema_tristate, AT(ScenarioExpect, ready), 0, "any", "status.attached"},
    END,
};
static const FileField expected_nodes[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_LABELS,
    END,
};
static const FileField expected_jobs[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_NAMESPACE,
    EXPECTED_LABELS,
    {"phase", &schema_string, AT(ScenarioExpect, phase), 0, "any", "Running, Suspended, Complete, Failed"},
    END,
};
static const FileField expected_namespaces[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_LABELS,
    {"phase", &schema_string, AT(ScenarioExpect, phase), 0, "any", "Active, Terminating"},
    END,
};
static const FileField expected_snapshots[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    EXPECTED_NAMESPACE,
    EXPECTED_LABELS,
    {"ready", &schema_tristate, AT(ScenarioExpect, ready), 0, "any", "status.readyToUse"},
    END,
};
static const FileField expected_events[] = {
    EXPECTED_COUNT,
    {"name", &schema_string, AT(ScenarioExpect, name), 0, "any",
     "Name of the objects that they are about, with * and ? for several"},
    {"reason", &schema_string, AT(ScenarioExpect, reason), 0, "any", "Reason"},
    END,
};
static const FileField expected_driver_volumes[] = {
    EXPECTED_COUNT,
    {"driver", &schema_string, AT(ScenarioExpect, driver), 0, "the only driver",
     "Driver with the back end"},
    END,
};

#define EXPECTED_TYPE(of, words) \
    static const FileType expected_##of##_type = \
        SCHEMA_STRUCT(words, expected_##of, ScenarioExpect, .init = expected_init)

EXPECTED_TYPE(pods, "pods");
EXPECTED_TYPE(claims, "claims");
EXPECTED_TYPE(volumes, "volumes");
EXPECTED_TYPE(attachments, "attachments");
EXPECTED_TYPE(nodes, "nodes");
EXPECTED_TYPE(jobs, "jobs");
EXPECTED_TYPE(namespaces, "namespaces");
EXPECTED_TYPE(snapshots, "snapshots");
EXPECTED_TYPE(events, "events");
EXPECTED_TYPE(driver_volumes, "volumes of a driver");

static const FileField expect_fields[] = {
    {"at", &schema_duration, AT(ExpectFields, at), 0, "the end", "Time"},
    {"pods", &expected_pods_type, AT(ExpectFields, pods), 0, NULL, "Pods"},
    {"claims", &expected_claims_type, AT(ExpectFields, claims), 0, NULL, "PersistentVolumeClaims"},
    {"volumes", &expected_volumes_type, AT(ExpectFields, volumes), 0, NULL, "PersistentVolumes"},
    {"attachments", &expected_attachments_type, AT(ExpectFields, attachments), 0, NULL, "VolumeAttachments"},
    {"nodes", &expected_nodes_type, AT(ExpectFields, nodes), 0, NULL, "Nodes"},
    {"jobs", &expected_jobs_type, AT(ExpectFields, jobs), 0, NULL, "Jobs"},
    {"namespaces", &expected_namespaces_type, AT(ExpectFields, namespaces), 0, NULL, "Namespaces"},
    {"snapshots", &expected_snapshots_type, AT(ExpectFields, snapshots), 0, NULL, "VolumeSnapshots"},
    {"groupSnapshots", &expected_snapshots_type, AT(ExpectFields, group_snapshots), 0, NULL,
     "VolumeGroupSnapshots"},
    {"events", &expected_events_type, AT(ExpectFields, events), 0, NULL, "Events, repetitions aside"},
    {"driverVolumes", &expected_driver_volumes_type, AT(ExpectFields, driver_volumes), 0, NULL,
     "Volumes in the driver's back end"},
    END,
};

static const FileType expect_type = SCHEMA_STRUCT("expectation", expect_fields, ExpectFields,
    .init = expect_init, .check = expect_check);
const FileType scenario_expects_type = SCHEMA_LIST(expect_type);
/* clang-format on */

/* ---- What is expected, after the drivers are known ---- */

typedef struct {
    const char *name;
    ObjectKind kind;
    gsize offset; /* in ExpectFields */
} ExpectedKind;

static const ExpectedKind expected_kinds[] = {
    {"pods",           KIND_POD,             offsetof(ExpectFields, pods)           },
    {"claims",         KIND_CLAIM,           offsetof(ExpectFields, claims)         },
    {"volumes",        KIND_VOLUME,          offsetof(ExpectFields, volumes)        },
    {"attachments",    KIND_ATTACHMENT,      offsetof(ExpectFields, attachments)    },
    {"nodes",          KIND_NODE,            offsetof(ExpectFields, nodes)          },
    {"jobs",           KIND_JOB,             offsetof(ExpectFields, jobs)           },
    {"namespaces",     KIND_NAMESPACE,       offsetof(ExpectFields, namespaces)     },
    {"snapshots",      KIND_VOLUME_SNAPSHOT, offsetof(ExpectFields, snapshots)      },
    {"groupSnapshots", KIND_GROUP_SNAPSHOT,  offsetof(ExpectFields, group_snapshots)},
    {"events",         N_KINDS,              offsetof(ExpectFields, events)         },
    {"driverVolumes",  KIND_VOLUME,          offsetof(ExpectFields, driver_volumes) },
};

static const char *
expected_driver(Loader *self, const ExpectFields *fields, const char *name)
{
    const json_t *where = json_object_get(fields->source, "driverVolumes");

    SchemaPlace place = schema_enter_member(&self->reader, fields->source, "driverVolumes");
    const char *driver = loader_driver_named(self, name, where, "driver");

    schema_leave(&self->reader, place);
    return driver;
}

/* "pods: {phase: Pending, count: 2}". Returns: (owned) */
static char *
expected_words(const char *kind, const json_t *value)
{
    GString *words = g_string_new(kind);
    const char *key, *separator = ": {";
    json_t *member;

    json_object_foreach((json_t *)value, key, member) {
        char *text = json_is_string(member) ? NULL : json_dumps(member, JSON_ENCODE_ANY);
        g_string_append_printf(words, "%s%s: %s", separator, key,
                               text != NULL ? text : json_string_value(member));
        free(text);
        separator = ", ";
    }
    g_string_append(words, "}");
    return g_string_free(words, FALSE);
}

static void
add_expect(Loader *self, GArray *expects, const ExpectFields *fields, const ExpectedKind *kind)
{
    const json_t *value = json_object_get(fields->source, kind->name);
    g_autofree char *words = expected_words(kind->name, value);
    ScenarioExpect expect = *(const ScenarioExpect *)((const char *)fields + kind->offset);

    expect.at = fields->at;
    expect.kind = kind->kind;
    expect.text = (char *)schema_intern(&self->reader, words);
    expect.of_events = kind->kind == N_KINDS;
    if (g_str_equal(kind->name, "driverVolumes"))
        expect.driver = (char *)expected_driver(self, fields, expect.driver);
    g_array_append_val(expects, expect);
}

void
loader_build_expects(Loader *self)
{
    const SchemaList *list = &self->fields.spec.expect;
    const ExpectFields *fields = list->items;
    g_autoptr(GArray) expects = g_array_new(FALSE, FALSE, sizeof(ScenarioExpect));

    for (unsigned i = 0; i < list->n; i++) {
        if (fields[i].source == NULL)
            continue;
        SchemaJump jump = schema_go(&self->reader, &fields[i].place, fields[i].path);
        for (unsigned k = 0; k < G_N_ELEMENTS(expected_kinds); k++)
            if (json_is_object(json_object_get(fields[i].source, expected_kinds[k].name)))
                add_expect(self, expects, &fields[i], &expected_kinds[k]);
        if (fields[i].at != SIM_TIME_MAX && fields[i].at > self->scenario.until &&
            self->fields.spec.recorded_from == UINT_MAX)
            schema_fault_member(&self->reader, fields[i].source, "at", NULL,
                                "is after the end of the run");
        schema_come_back(&self->reader, jump);
    }
    self->scenario.n_expects = expects->len;
    self->scenario.expects = schema_alloc(&self->reader, expects->len * sizeof(ScenarioExpect));
    if (expects->len > 0)
        memcpy(self->scenario.expects, expects->data, expects->len * sizeof(ScenarioExpect));
}
