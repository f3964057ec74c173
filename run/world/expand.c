/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program outside the cluster that expands claims before their volumes are full, as TopoLVM's
 * pvc-autoresizer does (internal/runners/pvc_autoresizer.go): it looks at the kubelets' metrics,
 * and claims may have its annotations. */
#include <string.h>

#include "run-private.h"
#include "sim/random.h"

#define CLIENT "pvc-autoresizer"
#define ANNOTATION(name) "resize.topolvm.io/" name
#define GI (INT64_C(1) << 30)

/* A volume's usage in the last answer to a kubelet. */
typedef struct {
    int64_t bytes, available_bytes, inodes, free_inodes;
} ExpandUsage;

static const char *
usage_key(const Run *self, const char *driver, const char *handle)
{
    return strings_internf(objects_strings(self->objects), "%s %s", driver, handle);
}

static void
expand_see_answer(void *data, const RunRecord *record)
{
    Run *self = data;
    const CsiCallRecord *call = record->call;
    const CsiResponse *response = call->response;

    if (call->request->method != CSI_NODE_GET_VOLUME_STATS || call->answer != CSI_OK)
        return;
    ExpandUsage usage = {response->total_bytes, response->available_bytes, response->total_inodes,
                         response->available_inodes};
    g_hash_table_insert(
        self->usages,
        (char *)usage_key(self, csi_driver_name(call->driver), call->request->volume_id),
        g_memdup2(&usage, sizeof usage));
}

static void
watch_drivers(Run *self)
{
    if (self->usages != NULL)
        return;
    self->usages = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    records_watch(self->records, RECORD_CALL_ANSWERED, expand_see_answer, self);
}

/* Returns: NULL: no kubelet was told anything */
static const ExpandUsage *
find_usage(const Run *self, const Claim *claim)
{
    const Object *pv = world_find(self, KIND_VOLUME, NULL, claim->volume_name);
    const VolumeSource *source = pv == NULL ? NULL : VOLUME_CONST(pv)->source;

    return source == NULL || source->driver == NULL
               ? NULL
               : g_hash_table_lookup(self->usages, usage_key(self, source->driver, source->handle));
}

/* "20%" of @whole, or a quantity. @part: without the annotation */
static int64_t
amount(const Claim *claim, const char *annotation, int64_t whole, double part)
{
    const char *text = object_annotation(&claim->meta, annotation);
    int64_t value;

    if (text != NULL && g_str_has_suffix(text, "%"))
        part = g_ascii_strtod(text, NULL) / 100;
    else if (text != NULL && quantity_parse(text, &value, NULL, NULL))
        return value;
    return (int64_t)((double)whole * part);
}

/* The size that the claim is to have. Returns: 0: it stays */
static int64_t
wanted_bytes(const ScenarioAction *action, const Claim *claim, const ExpandUsage *usage)
{
    double free_part = 1 - action->expand.above;
    const char *before = object_annotation(&claim->meta, ANNOTATION("pre_capacity_bytes"));
    int64_t limit = amount(claim, ANNOTATION("storage_limit"), action->expand.up_to, 1);
    int64_t by = amount(claim, ANNOTATION("increase"), claim->capacity_bytes, action->expand.by);

    if (claim->volume_mode == VOLUME_BLOCK || claim->capacity_bytes >= limit ||
        (before != NULL && g_ascii_strtoll(before, NULL, 10) == usage->bytes)) /* under way */
        return 0;
    if (usage->available_bytes >= amount(claim, ANNOTATION("threshold"), usage->bytes, free_part) &&
        usage->free_inodes >=
            amount(claim, ANNOTATION("inodes-threshold"), usage->inodes, free_part))
        return 0;
    return MIN((claim->capacity_bytes + by + GI - 1) / GI * GI, limit);
}

typedef struct {
    Run *run;
    const ScenarioAction *action;
    int64_t bytes;
    const char *before; /* interned */
} ExpandGrowth;

static gboolean
expand_grow(Object *object, const void *data)
{
    const ExpandGrowth *growth = data;

    CLAIM(object)->request_bytes = growth->bytes;
    object_set_annotation(object, ANNOTATION("pre_capacity_bytes"), growth->before);
    return TRUE;
}

static void
expand_answered(void *data, const ApiResponse *response)
{
    const ExpandGrowth *growth = data;

    if (response->code != API_OK)
        run_note(growth->run, growth->action, "%s",
                 response->message == NULL ? "refused by the API server" : response->message);
    g_free(data);
}

static void
look_after(Run *self, const ScenarioAction *action, const Claim *claim)
{
    const ExpandUsage *usage = claim->phase == CLAIM_BOUND ? find_usage(self, claim) : NULL;
    int64_t bytes = usage == NULL ? 0 : wanted_bytes(action, claim, usage);

    if (bytes <= claim->request_bytes)
        return;
    ExpandGrowth *growth = g_new(ExpandGrowth, 1);
    *growth = (ExpandGrowth){
        self, action, bytes,
        strings_internf(objects_strings(self->objects), "%" G_GINT64_FORMAT, usage->bytes)};
    ApiRequest request = {
        .verb = API_PATCH,
        .key = (ObjectKey *)claim->meta.key,
        .edit = expand_grow,
        .arg = growth,
        .client = CLIENT,
        .client_hash = sim_hash_string(CLIENT),
    };
    api_server_request(cluster_api(self->cluster), &request, expand_answered, g_free, growth);
}

typedef struct {
    Run *run;
    const ScenarioAction *action;
} ExpandLook;

static void expand_look(Sim *sim, void *data);

static const SimEventType look_event = {
    .name = "workload/expand",
    .fire = expand_look,
    .free_data = g_free,
};

static void
expand_look(Sim *sim, void *data)
{
    const ExpandLook *self = data;
    const Run *run = self->run;
    g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(self->action->name);

    for (uint32_t slot = 0; slot < objects_n_keys(run->objects, KIND_CLAIM); slot++) {
        const ObjectKey *key = objects_key_at(run->objects, KIND_CLAIM, slot);
        const Object *claim = api_server_get(cluster_api(run->cluster), key);
        if (claim != NULL && g_strcmp0(key->namespace, self->action->namespace) == 0 &&
            g_pattern_spec_match_string(pattern, key->name))
            look_after(self->run, self->action, CLAIM_CONST(claim));
    }
    sim_after(sim, self->action->expand.every, &look_event, data, WAIT_POLL);
}

void
expand_begin(Run *self, const ScenarioAction *action)
{
    ExpandLook *look_at = g_new(ExpandLook, 1);

    watch_drivers(self);
    *look_at = (ExpandLook){self, action};
    sim_after(self->sim, action->expand.every, &look_event, look_at, WAIT_POLL);
}
