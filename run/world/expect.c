/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expectations of a scenario: objects, Events and volumes of drivers that meet some conditions are
 * counted at an instant, or at the end. Looking changes nothing. Objects that every cluster has
 * from the start do not count. */
#include <string.h>

#include "models/api/namespace.h"
#include "models/api/snapshot.h"
#include "models/api/workload.h"
#include "run-private.h"
#include "run/scenario/labels.h"

/* kubectl's word for it. */
static const char *
job_phase(const Job *job)
{
    return job->complete.status == CONDITION_TRUE     ? "Complete"
           : job->has_failed.status == CONDITION_TRUE ? "Failed"
           : job->suspended.status == CONDITION_TRUE  ? "Suspended"
                                                      : "Running";
}

static const char *
phase_of(const Object *object)
{
    switch ((int)object_kind(object)) {
    case KIND_POD:
        return pod_phase_name(POD_CONST(object)->phase);
    case KIND_CLAIM:
        return claim_phase_name(CLAIM_CONST(object)->phase);
    case KIND_VOLUME:
        return volume_phase_name(VOLUME_CONST(object)->phase);
    case KIND_JOB:
        return job_phase(JOB_CONST(object));
    case KIND_NAMESPACE:
        return NAMESPACE_CONST(object)->phase == NAMESPACE_ACTIVE ? "Active" : "Terminating";
    default:
        return "";
    }
}

static gboolean
text_has(const char *text, const char *part)
{
    return text != NULL && strstr(text, part) != NULL;
}

static gboolean
pod_is_in_zone(const Run *self, const Pod *pod, const char *zone)
{
    const Object *node = world_find(self, KIND_NODE, NULL, pod->node_name);

    return node != NULL && g_strcmp0(object_label(node, LABEL_ZONE), zone) == 0;
}

static gboolean
pod_meets(const Run *self, const ScenarioExpect *expect, const Pod *pod)
{
    if (expect->reason != NULL && !text_has(pod->scheduled.message, expect->reason) &&
        !text_has(pod->reason, expect->reason))
        return FALSE;
    if (expect->on_node != NULL && g_strcmp0(pod->node_name, expect->on_node) != 0)
        return FALSE;
    if (expect->in_zone != NULL && !pod_is_in_zone(self, pod, expect->in_zone))
        return FALSE;
    return expect->ready < 0 || pod_is_ready(pod) == (expect->ready == 1);
}

/* @expected: NULL: any, "none": not set */
static gboolean
is_expected(const char *expected, const char *found)
{
    return expected == NULL || g_str_equal(expected, found == NULL ? "none" : found);
}

static gboolean
claim_meets(const ScenarioExpect *expect, const Claim *claim)
{
    if (expect->capacity_bytes >= 0 && claim->capacity_bytes != expect->capacity_bytes)
        return FALSE;
    return is_expected(expect->resize_status, claim->resize_status) &&
           is_expected(expect->attributes_class, claim->current_attributes_class) &&
           is_expected(expect->modify_status, claim->modify_status);
}

static gboolean
volume_meets(const ScenarioExpect *expect, const Volume *volume)
{
    return expect->capacity_bytes < 0 || volume->capacity_bytes == expect->capacity_bytes;
}

static gboolean
attachment_meets(const ScenarioExpect *expect, const Attachment *attachment)
{
    if (expect->on_node != NULL && g_strcmp0(attachment->node_name, expect->on_node) != 0)
        return FALSE;
    return expect->ready < 0 || attachment->attached == (expect->ready == 1);
}

static gboolean
snapshot_meets(const ScenarioExpect *expect, const VolumeSnapshot *snapshot)
{
    return expect->ready < 0 || (snapshot->readiness == SNAPSHOT_READY) == (expect->ready == 1);
}

static gboolean
object_meets(const Run *self, const ScenarioExpect *expect, const Object *object)
{
    if (object_kind(object) == KIND_NAMESPACE && object->manifest == NULL)
        return FALSE; /* nobody has created it: every cluster has it, or objects are in it */
    if (expect->phase != NULL && !g_str_equal(phase_of(object), expect->phase))
        return FALSE;
    if (expect->name != NULL && !g_pattern_match_simple(expect->name, object_name(object)))
        return FALSE;
    if (expect->namespace != NULL && strcmp(expect->namespace, object->key->namespace) != 0)
        return FALSE;
    if (expect->labels != NULL && !labels_match(expect->labels, object->labels))
        return FALSE;
    if (object_kind(object) == KIND_CLAIM)
        return claim_meets(expect, CLAIM_CONST(object));
    if (object_kind(object) == KIND_VOLUME)
        return volume_meets(expect, VOLUME_CONST(object));
    if (object_kind(object) == KIND_ATTACHMENT)
        return attachment_meets(expect, (const Attachment *)object);
    if (object_kind(object) == KIND_VOLUME_SNAPSHOT || object_kind(object) == KIND_GROUP_SNAPSHOT)
        return snapshot_meets(expect, VOLUME_SNAPSHOT_CONST(object));
    return object_kind(object) != KIND_POD || pod_meets(self, expect, POD_CONST(object));
}

static int64_t
count_objects(const Run *self, const ScenarioExpect *expect)
{
    const ApiServer *api = cluster_api(self->cluster);
    int64_t count = 0;

    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, expect->kind); slot++) {
        const Object *object =
            api_server_get(api, objects_key_at(self->objects, expect->kind, slot));
        count += object != NULL && object_meets(self, expect, object);
    }
    return count;
}

static int64_t
count_events(const Run *self, const ScenarioExpect *expect)
{
    const ApiServer *api = cluster_api(self->cluster);
    int64_t count = 0;

    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent *event = api_server_event(api, i);
        count +=
            (expect->reason == NULL || g_str_equal(event->reason, expect->reason)) &&
            (expect->name == NULL || g_pattern_match_simple(expect->name, event->involved->name));
    }
    return count;
}

static int64_t
count_driver_volumes(const Run *self, const char *driver)
{
    for (unsigned i = 0; i < self->scenario->n_drivers; i++)
        if (g_str_equal(self->scenario->drivers[i].name, driver))
            return run_driver_volumes(self, i);
    return 0;
}

static void
expect_look(Run *self, const ScenarioExpect *expect)
{
    ExpectResult result = {.expect = expect, .at = sim_now(self->sim)};

    result.count = expect->driver != NULL ? count_driver_volumes(self, expect->driver)
                   : expect->of_events    ? count_events(self, expect)
                                          : count_objects(self, expect);
    result.is_met = result.count >= expect->count.min && result.count <= expect->count.max;
    g_array_append_val(self->expects, result);
}

typedef struct {
    Run *run;
    const ScenarioExpect *expect;
} ExpectLook;

static void
look_now(Sim *sim, void *data)
{
    ExpectLook *look_at = data;

    (void)sim;
    expect_look(look_at->run, look_at->expect);
    g_free(look_at);
}

static const SimEventType look_event = {
    .name = "run/expect",
    .fire = look_now,
    .free_data = g_free,
};

void
expects_schedule(Run *self)
{
    for (unsigned i = 0; i < self->scenario->n_expects; i++) {
        const ScenarioExpect *expect = &self->scenario->expects[i];
        ExpectLook *look_at = g_new(ExpectLook, 1);
        *look_at = (ExpectLook){self, expect};
        sim_at(self->sim, expect->at, &look_event, look_at,
               WAIT_SCENARIO); /* SIM_TIME_MAX: at the end, without an event */
    }
}

void
expects_finish(Run *self)
{
    for (unsigned i = 0; i < self->scenario->n_expects; i++)
        if (self->scenario->expects[i].at == SIM_TIME_MAX)
            expect_look(self, &self->scenario->expects[i]);
}
