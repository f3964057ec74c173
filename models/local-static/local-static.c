/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The local static provisioner of one node: its loop in pkg/controller, DeletePVs() in pkg/deleter,
 * discoverVolumesAtPath() in pkg/discovery. Each pass first reclaims released volumes and then
 * makes volumes for disks that have none. A rule table decides about a released volume; cleaning
 * takes time beside the passes and is remembered in memory only, so a restart cleans again
 * (LOC-44). A volume's name is a hash of disk, node and class, hence the same after a restart. */
#include "local-static.h"

#include "models/api/local/local-disks.h"
#include "models/api/pod.h"
#include "models/local-static/local-static-test.h"
#include "models/plan/plan.h"
#include "models/timing/waits.h"
#include "sim/ticker.h"

#define LABEL_HOSTNAME "kubernetes.io/hostname"

typedef struct {
    Component base;
    const LocalStaticOptions *options; /* borrowed, of the process */
    Informer *volumes, *classes;
    Informer *node;       /* (owned): of this node alone */
    SimTicker *loop;      /* LOC-40 */
    GHashTable *cleaning; /* ObjectKey of a volume -> Cleaning (owned); LOC-44: only in memory */
} LocalStatic;

typedef struct {
    LocalStatic *self;
    SimEventId end; /* 0: done */
} LocalStaticCleaning;

int64_t
local_static_round(int64_t bytes)
{
    static const int64_t units[] = {INT64_C(1) << 30, INT64_C(1) << 20};

    for (unsigned i = 0; i < G_N_ELEMENTS(units); i++)
        if (bytes / units[i] >= 10)
            return bytes / units[i] * units[i];
    return bytes;
}

char *
local_static_volume_name(const char *file, const char *node, const char *class)
{
    const char *const parts[] = {file, node, class};
    uint32_t hash = UINT32_C(2166136261);

    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
        for (const char *c = parts[i]; *c != '\0'; c++)
            hash = (hash ^ (uint8_t)*c) * UINT32_C(16777619);
    return g_strdup_printf("local-pv-%x", hash);
}

static const Object *
own_node(const LocalStatic *self)
{
    return informer_find(self->node, NULL, self->base.node_name);
}

static gboolean
local_static_is_ours(const LocalStatic *self, const Object *volume)
{
    const char *by = object_annotation(volume, ANNOTATION_PROVISIONED_BY);
    const Object *node = own_node(self);
    char uid[OBJECT_UID_BUFFER];

    if (by == NULL || node == NULL)
        return FALSE;
    g_autofree char *name = g_strdup_printf("local-volume-provisioner-%s-%s", self->base.node_name,
                                            object_uid_format(node->uid, uid));
    return g_str_equal(by, name);
}

/* ---- Released volumes ---- */

enum {
    RELEASED = 1 << 0,
    GOING = 1 << 1,   /* it has a deletionTimestamp */
    DELETES = 1 << 2, /* reclaim policy Delete */
    CLEANS = 1 << 3,  /* cleaning is under way */
    CLEAN = 1 << 4,   /* ... or done */
    RELEASED_FACTS_END = 1 << 5,
};

enum {
    LEAVE,
    BEGIN,
    DELETE,
};

static const Rule released_table[] = {
    {"LOC-41.1", 0,                           RELEASED,               LEAVE },
    {"LOC-41.1", RELEASED | GOING,            0,                      LEAVE },
    {"LOC-41.2", RELEASED,                    GOING | DELETES,        LEAVE },
    {"LOC-41.3", RELEASED | DELETES | CLEANS, GOING,                  LEAVE },
    {"LOC-41.4", RELEASED | DELETES,          GOING | CLEANS | CLEAN, BEGIN },
    {"LOC-41.5", RELEASED | DELETES | CLEAN,  GOING | CLEANS,         DELETE},
};
static const RuleTable released_rules =
    RULE_TABLE("released disks", RELEASED_FACTS_END, released_table);

static uint32_t
released_facts(const LocalStatic *self, const Volume *volume)
{
    const LocalStaticCleaning *cleaning = g_hash_table_lookup(self->cleaning, volume->meta.key);

    return (volume->phase == VOLUME_RELEASED ? RELEASED : 0) |
           (object_is_deleted(&volume->meta) ? GOING : 0) |
           (volume->reclaim_policy == RECLAIM_DELETE ? DELETES : 0) |
           (cleaning != NULL && cleaning->end != 0 ? CLEANS : 0) |
           (cleaning != NULL && cleaning->end == 0 ? CLEAN : 0);
}

static void
reclaim(const LocalStatic *self, Plan *plan, const Object *volume)
{
    uint32_t facts = released_facts(self, VOLUME_CONST(volume));

    switch (plan_judge(plan, &released_rules, facts)) {
    case LEAVE:
        return;
    case BEGIN:
        plan_change(plan, &(PlanChange){.key = volume->key}); /* cleaning begins */
        return;
    case DELETE:
        plan_forget(plan, self->cleaning, volume->key);
        plan_delete(plan, volume->key, (ObjectUid){0, 0}, -1, PLAN_GO_ON);
        return;
    }
    g_assert_not_reached();
}

/* ---- Discovery ---- */

static Object *
local_static_make_volume(
    const LocalStatic *self, const StorageClass *class, ObjectKey *key, int disk, int64_t bytes)
{
    Strings *strings = self->base.strings;
    const Object *node = own_node(self);
    const char *hostname = object_label(node, LABEL_HOSTNAME);
    StringPair pair = {strings_intern(strings, LABEL_HOSTNAME),
                       hostname != NULL ? hostname : self->base.node_name};
    g_autoptr(StringMap) place = string_map_new(&pair, 1);
    const StringMap *places[] = {place};
    Volume *volume = VOLUME(object_new(key));
    char uid[OBJECT_UID_BUFFER];

    object_set_annotation(&volume->meta, strings_intern(strings, ANNOTATION_PROVISIONED_BY),
                          strings_internf(strings, "local-volume-provisioner-%s-%s",
                                          self->base.node_name, object_uid_format(node->uid, uid)));
    volume->class_name = object_name(&class->meta);
    volume->mount_options = string_list_ref(class->mount_options);
    volume->capacity_bytes = local_static_round(bytes);
    volume->source = volume_source_new(&(VolumeSource){
        .plugin = strings_intern(strings, "local"),
        .handle = strings_internf(strings, "%s/disk-%d", self->options->host_dir, disk)});
    volume->node_affinity = node_selector_from_segments(places, 1);
    volume->access_modes = ACCESS_RWO;
    volume->reclaim_policy = class->reclaim_policy;
    return &volume->meta;
}

static void
discover_disk(
    const LocalStatic *self, Plan *plan, const StorageClass *class, int disk, int64_t bytes)
{
    g_autofree char *file = g_strdup_printf("disk-%d", disk);
    g_autofree char *name =
        local_static_volume_name(file, self->base.node_name, object_name(&class->meta));
    ObjectKey *key = objects_key(self->base.objects, KIND_VOLUME, NULL,
                                 strings_intern(self->base.strings, name));
    const LocalStaticCleaning *cleaning = g_hash_table_lookup(self->cleaning, key);

    if (informer_get(self->volumes, key) != NULL || (cleaning != NULL && cleaning->end != 0))
        return; /* LOC-42 */
    plan_because(plan, "LOC-43");
    plan_forget(plan, self->cleaning, key);
    plan_create(plan, local_static_make_volume(self, class, key, disk, bytes), PLAN_GO_ON);
}

/* LOC-42: nothing is discovered without the class, or with the policy Recycle. */
static void
decide_discovery(const void *data, Plan *plan)
{
    const LocalStatic *self = data;
    const Object *node = own_node(self);
    const StorageClass *class =
        (const StorageClass *)informer_find(self->classes, NULL, self->options->storage_class);
    int64_t bytes[LOCAL_DISKS_MAX];
    int n = node == NULL
                ? 0
                : local_disks_parse(object_annotation(node, ANNOTATION_DISKS), bytes, NULL);

    if (class == NULL || class->reclaim_policy == RECLAIM_RECYCLE)
        return;
    for (int disk = 0; disk < n; disk++)
        discover_disk(self, plan, class, disk, bytes[disk]);
}

/* ---- The loop ---- */

static void
decide_pass(const void *data, Plan *plan)
{
    const LocalStatic *self = data;
    InformerIter iter;
    const Object *volume;

    informer_iter_init(&iter, self->volumes);
    while ((volume = informer_iter_next(&iter)) != NULL)
        if (local_static_is_ours(self, volume))
            reclaim(self, plan, volume);
    plan_then(plan, decide_discovery);
}

static void
pass_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    LocalStatic *self = data;

    (void)end, (void)message;
    sim_ticker_end_pass(self->loop, plan_last_step(plan) >= 0);
}

static gboolean
local_static_pass(void *data)
{
    LocalStatic *self = data;

    sim_ticker_begin_long_pass(self->loop);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_pass,
        .key = objects_key(self->base.objects, KIND_NODE, NULL, self->base.node_name),
        .done = pass_over,
    });
    return TRUE;
}

static void
cleaned(Sim *sim, void *data)
{
    LocalStaticCleaning *cleaning = data;

    (void)sim;
    cleaning->end = 0;
    sim_ticker_wake(cleaning->self->loop);
}

static const SimEventType cleaned_event = {.name = "local-static/disk is clean", .fire = cleaned};

static void
cleaning_free(void *data)
{
    LocalStaticCleaning *cleaning = data;

    sim_cancel(cleaning->self->base.sim, cleaning->end);
    g_free(cleaning);
}

static void
local_static_apply_change(void *data, const PlanChange *change)
{
    LocalStatic *self = data;

    LocalStaticCleaning *cleaning = g_new(LocalStaticCleaning, 1);
    *cleaning = (LocalStaticCleaning){self, 0};
    cleaning->end = sim_after(self->base.sim, self->options->cleaning_time, &cleaned_event,
                              cleaning, WAIT_RUNTIME);
    g_hash_table_replace(self->cleaning, (void *)change->key, cleaning);
}

static void
local_static_volume_changed(void *data, const Object *before, const Object *after)
{
    LocalStatic *self = data;

    if (local_static_is_ours(self, after != NULL ? after : before))
        sim_ticker_wake(self->loop);
}

static void
other_changed(void *data, const Object *before, const Object *after)
{
    LocalStatic *self = data;

    (void)before, (void)after;
    sim_ticker_wake(self->loop);
}

static void
local_static_init(void *data)
{
    LocalStatic *self = data;
    ObjectKey *node = objects_key(self->base.objects, KIND_NODE, NULL, self->base.node_name);

    self->node = informer_new_of(self->base.process, node, node->hash);
}

static void
local_static_filled(void *data)
{
    LocalStatic *self = data;

    informer_add_handler(self->node, other_changed, self);
}

static double
local_static_client_qps(const void *options, unsigned *burst)
{
    (void)options;
    *burst = 10;
    return 5; /* client-go's defaults */
}

#define AT(member) offsetof(LocalStaticOptions, member)

#define SELF LocalStatic
static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    HAS_STATE(node, NULL, informer_free),
    HAS_TABLE(cleaning, cleaning_free),
    HAS_INFORMER(classes, KIND_STORAGE_CLASS, .changed = other_changed),
    HAS_INFORMER(volumes, KIND_VOLUME, .changed = local_static_volume_changed),
    HAS_TICKER(loop,
               "local-static-provisioner/discovery",
               local_static_pass,
               .period_flag = AT(discovery_period),
               .is_awake = TRUE),
};

/* clang-format off */
static const ProcessFlag flags[] = {
    {"discovery-period", FLAG_DURATION, AT(discovery_period), "10s",
     "Rest between two passes (LOC-40)"},
    {"storageClass", FLAG_STRING, AT(storage_class), "local-storage",
     "Class of its volumes (LOC-42)"},
    {"hostDir", FLAG_STRING, AT(host_dir), "/mnt/disks",
     "Folder with the disks; which there are: the Node's annotation kvolsim.io/disks"},
    {"cleaningTime", FLAG_DURATION, AT(cleaning_time), "1s",
     "Simulated: how long the cleaning of a disk takes (LOC-41)"},
    {NULL, FLAG_BOOL, 0, NULL, NULL},
};
/* clang-format on */

const ProcessClass local_static_process = {
    .name = "local-static-provisioner",
    .scope = PER_NODE,
    .options_size = sizeof(LocalStaticOptions),
    .flags = flags,
    .is_optional = TRUE,
    .startup = offsetof(Timing, sidecar_start), /* as a sidecar, TIM-91 */
};

const ModelClass local_static_class = {
    .name = "local-static-provisioner",
    .process = &local_static_process,
    .client_qps = local_static_client_qps,
    .rule_tables = RULE_TABLES(&released_rules),
    PARTS(parts),
    .init = local_static_init,
    .filled = local_static_filled,
    .apply_change = local_static_apply_change,
};
