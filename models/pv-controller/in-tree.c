/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operation by which this controller makes a volume itself, with an in-tree plugin that has not
 * migrated: provisionClaimOperation(), INT-30 to INT-35. It reads the PersistentVolume first, so a
 * volume that an earlier operation made is not made twice; then the checks, the disk, the object.
 * Storing the object is tried five times; if that fails, the disk is deleted once. */
#include "models/cluster/cluster.h"
#include "models/pv-controller/in-tree-volume.h"
#include "models/pv-controller/pv-controller-private.h"
#include "models/volume/in-process.h"

#define CREATE_TRIES 5                    /* createProvisionedPVRetryCount */
#define CREATE_INTERVAL (10 * SIM_SECOND) /* createProvisionedPVInterval */

/* Notes of the operation. */
typedef struct {
    InTreeQuery query;
    InTreePlace place;
    CsiDriver *backend;
    Volume *volume; /* (owned): to be stored; NULL: not made yet */
    unsigned n_tries;
    const char *error; /* of the last one; interned */
} Making;

static void
making_clear(void *data)
{
    Making *making = data;

    if (making->volume != NULL)
        object_unref(&making->volume->meta);
}

static void
plan_tell_failure(Plan *plan, const Claim *claim, const char *message)
{
    plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed", "%s", message);
    plan_fail(plan, "%s", message);
}

static ObjectKey *
volume_key(const PvController *self, const Claim *claim)
{
    char uid[OBJECT_UID_BUFFER];

    return objects_key(
        self->base.objects, KIND_VOLUME, NULL,
        strings_internf(self->base.strings, "pvc-%s", object_uid_format(claim->meta.uid, uid)));
}

/* ---- Saving: INT-35 ---- */

static void plan_save(Plan *plan, const Making *making);

/* The disk is deleted once. The event comes in any case, as in 1.32. */
static void
decide_cleaned_up(const void *component, Plan *plan)
{
    const Making *making = plan_notes(plan);

    (void)component;
    plan_because(plan, "INT-35");
    plan_event(plan, &making->query.claim->meta, "Warning", "ProvisioningCleanupFailed",
               "Error cleaning provisioned volume for claim %s: %s. Please delete manually.",
               plan_key(plan)->text, making->error);
}

static void
plan_clean_up(Plan *plan, const Making *making)
{
    const CsiRequest request = {.method = CSI_DELETE_VOLUME,
                                .volume_id = volume_backend_id(making->volume)};

    plan_event(plan, &making->query.claim->meta, "Warning", "ProvisioningFailed",
               "Error creating provisioned PV object for claim %s: %s. Deleting the volume.",
               plan_key(plan)->text, making->error);
    plan_call(plan, making->backend, &request, PLAN_DECIDE);
    plan_then(plan, decide_cleaned_up);
}

static void
plan_tell_success(Plan *plan, const Making *making)
{
    plan_event(plan, &making->query.claim->meta, "Normal", "ProvisioningSucceeded",
               "Successfully provisioned volume %s using %s", object_name(&making->volume->meta),
               in_tree_plugin_name(making->query.plugin));
}

static void
decide_waited(const void *component, Plan *plan)
{
    (void)component;
    plan_because(plan, "INT-35");
    plan_save(plan, plan_notes(plan));
}

static void
decide_save_given_up(const void *component, Plan *plan)
{
    (void)component;
    plan_because(plan, "INT-35");
    plan_clean_up(plan, plan_notes(plan));
}

static void
decide_saved(const void *component, Plan *plan)
{
    Making *making = plan_notes(plan);
    int step = plan_last_step(plan);

    (void)component;
    plan_because(plan, "INT-35");
    if (plan_code(plan, step) == API_OK)
        pv_plan_kept(plan, step);
    if (plan_code(plan, step) == API_OK || plan_code(plan, step) == API_EXISTS) {
        plan_tell_success(plan, making);
        return;
    }
    making->error = plan_message(plan, step);
    making->n_tries++;
    plan_wait(plan, CREATE_INTERVAL, WAIT_BACKOFF);
    plan_then(plan, making->n_tries < CREATE_TRIES ? decide_waited : decide_save_given_up);
}

static void
plan_save(Plan *plan, const Making *making)
{
    plan_create(plan, object_edit(&making->volume->meta), PLAN_DECIDE);
    plan_then(plan, decide_saved);
}

/* ---- Making the disk: INT-33, INT-34 ---- */

/* Sets the members that all volumes of this controller have. */
static void
claim_volume(const PvController *self, Volume *volume, const Making *making)
{
    const Words *words = &self->words;
    const Claim *claim = making->query.claim;
    Object *object = &volume->meta;

    volume->claim_ref =
        (ClaimReference){claim->meta.key, claim->meta.uid, claim->meta.resource_version};
    volume->phase = VOLUME_BOUND; /* the API server begins with Pending all the same (PVC-90) */
    volume->class_name = object_name(&making->query.class->meta);
    object_set_annotation(object, words->bound_by_controller, words->yes);
    object_set_annotation(object, words->provisioned_by, making->query.class->provisioner);
    if (volume->reclaim_policy == RECLAIM_DELETE &&
        release_has_gate(self->release, "HonorPVReclaimPolicy"))
        edit_add_finalizer(object, words->in_tree_finalizer);
}

/* ObjectEdit. */
static gboolean
edit_unselect_node(Object *claim, const void *key)
{
    return object_set_annotation(claim, key, NULL);
}

/* rescheduleProvisioning(): the scheduler is to choose again. */
static void
plan_reschedule(const PvController *self, Plan *plan, const Claim *claim)
{
    const char *key = strings_intern(self->base.strings, ANNOTATION_SELECTED_NODE);

    if (object_annotation(&claim->meta, key) != NULL)
        pv_plan_kept(plan, plan_update(plan, &claim->meta, edit_unselect_node, key, PLAN_GO_ON));
}

static void
plan_disk_failed(const PvController *self, Plan *plan, const Making *making, const char *why)
{
    const Claim *claim = making->query.claim;

    plan_reschedule(self, plan, claim);
    plan_tell_failure(plan, claim,
                      plan_internf(plan, "Failed to provision volume with StorageClass \"%s\": %s",
                                   object_name(&making->query.class->meta), why));
}

static void
decide_made(const void *component, Plan *plan)
{
    const PvController *self = component;
    Making *making = plan_notes(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code != CSI_OK) {
        plan_because(plan, "INT-34");
        plan_disk_failed(self, plan, making, response->message);
        return;
    }
    plan_because(plan, "INT-33");
    int64_t bytes =
        response->capacity_bytes > 0 ? response->capacity_bytes : in_tree_size(&making->query);
    making->volume = in_tree_volume_new(&making->query, volume_key(self, making->query.claim),
                                        response->volume_id, bytes, &making->place);
    claim_volume(self, making->volume, making);
    plan_save(plan, making);
}

static void
plan_make(const PvController *self, Plan *plan, Making *making, const char *zone_key)
{
    const Claim *claim = making->query.claim;
    const StringMap **places = plan_alloc(plan, sizeof *places);
    CsiCapability *capability = plan_new_arg(plan, CsiCapability);
    CsiRequest request = {
        .method = CSI_CREATE_VOLUME,
        .name = volume_key(self, claim)->name,
        .required_bytes = in_tree_size(&making->query),
        .parameters = making->query.class->parameters,
        .capabilities = capability,
        .n_capabilities = 1,
    };

    *capability = (CsiCapability){
        .mode = in_process_access_mode(claim->access_modes),
        .type = claim->volume_mode == VOLUME_BLOCK ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
    };
    if (making->place.zone != NULL && zone_key != NULL) {
        StringMap *segment = string_map_with(NULL, zone_key, making->place.zone);
        plan_own(plan, segment, (GDestroyNotify)string_map_unref);
        places[0] = segment;
        request.requisite = request.preferred = places;
        request.n_requisite = request.n_preferred = 1;
    }
    plan_call(plan, making->backend, &request, PLAN_DECIDE);
    plan_then(plan, decide_made);
}

/* ---- Checks: INT-30 to INT-32 ---- */

/* Returns: why the plugin is not asked at all, interned; NULL: it is */
static const char *
refusal(Plan *plan, const InTreeQuery *query)
{
    const StringList *options = query->class->mount_options;

    if (options == NULL || options->n_items == 0 || in_tree_takes_mount_options(query->plugin))
        return NULL;
    g_autoptr(GString) words = g_string_new(NULL);
    for (unsigned i = 0; i < options->n_items; i++)
        g_string_append_printf(words, "%s%s", i == 0 ? "" : " ", options->items[i]);
    return plan_internf(plan,
                        "Mount options are not supported by the provisioner but StorageClass "
                        "\"%s\" has mount options [%s]",
                        object_name(&query->class->meta), words->str);
}

/* The selected node is gone: nothing is told. Returns: whether the plan is over */
static gboolean
plan_find_node(const PvController *self, Plan *plan, InTreeQuery *query)
{
    const char *name = object_annotation(&query->claim->meta, ANNOTATION_SELECTED_NODE);

    if (name == NULL)
        return FALSE;
    query->node = informer_find(self->nodes, NULL, name);
    if (query->node != NULL)
        return FALSE;
    if (self->release->minor >= 27)
        plan_reschedule(self, plan, query->claim);
    else
        plan_tell_failure(
            plan, query->claim,
            plan_internf(plan, "Failed to get target node: node \"%s\" not found", name));
    return TRUE;
}

static void
decide_looked(const void *component, Plan *plan)
{
    const PvController *self = component;
    Making *making = plan_notes(plan);
    InTreeQuery *query = &making->query;
    int step = plan_last_step(plan);
    const char *zone_key;

    plan_because(plan, "INT-30");
    if (plan_code(plan, step) == API_OK)
        return; /* an operation before this one has made it */
    if (plan_code(plan, step) != API_NOT_FOUND) {
        plan_fail(plan, "%s", plan_message(plan, step));
        return;
    }
    plan_because(plan, "INT-31");
    const char *why = refusal(plan, query);
    if (why != NULL) {
        plan_tell_failure(plan, query->claim, why);
        return;
    }
    making->backend =
        cluster_plugin_backend(self->base.cluster, query->class->provisioner, &zone_key);
    if (plan_find_node(self, plan, query) || making->backend == NULL)
        return;
    why = in_tree_refusal(query);
    if (why == NULL) {
        plan_because(plan, "INT-32");
        why = in_tree_choose_place(query, &making->place);
    }
    if (why != NULL)
        plan_disk_failed(self, plan, making, why);
    else
        plan_make(self, plan, making, zone_key);
}

void
pv_plan_in_tree_volume(const PvController *self,
                       Plan *plan,
                       const Object *claim,
                       const StorageClass *class)
{
    Making *making = plan_new_notes(plan, Making, making_clear);

    plan_because(plan, "INT-30");
    making->query = (InTreeQuery){
        .strings = self->base.strings,
        .plugin = in_tree_plugin_find(class->provisioner),
        .class = (const StorageClass *)plan_keep(plan, &class->meta),
        .claim = CLAIM_CONST(plan_keep(plan, claim)),
        .nodes = self->nodes,
    };
    plan_get(plan, volume_key(self, making->query.claim), PLAN_DECIDE);
    plan_then(plan, decide_looked);
}

void
pv_plan_refuse_source(Plan *plan, const Claim *claim, const StorageClass *class)
{
    plan_because(plan, "INT-31");
    plan_tell_failure(plan, claim,
                      plan_internf(plan,
                                   "plugin \"%s\" is not a CSI plugin. Only CSI plugin can "
                                   "provision a claim with a datasource",
                                   class->provisioner));
}
