/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/apiserver/apiserver-test.h"
#include "models/external-provisioner/provisioner.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world.h"

/* One claim or one volume, and one fact at a time: the reaction of the provisioner. */

const ModelClass *const model_classes[] = {&external_provisioner_class, NULL};

#define MADE "CreateVolume, CREATE PersistentVolume"

/* ---- Claims ---- */

typedef struct {
    const char *title;
    void (*change)(World *world, Claim *claim, StorageClass *class);
    void (*driver)(World *world, CsiModelledOptions *options);
    const char *log;
    const char *event; /* a part of the claim's Events; NULL: none is needed */
} ClaimCase;

static void
rules_annotate(World *world, Object *object, const char *key, const char *value)
{
    object_set_annotation(object, world_intern(world, key), world_intern(world, value));
}

static void
name_a_volume(World *world, Claim *claim, StorageClass *class)
{
    (void)class;
    claim->volume_name = world_intern(world, "pv");
}

static void
want_another_provisioner(World *world, Claim *claim, StorageClass *class)
{
    (void)class;
    rules_annotate(world, &claim->meta, ANNOTATION_STORAGE_PROVISIONER, "other.example");
}

/* The old key counts only where the new one is missing. */
static void
have_the_old_key_only(World *world, Claim *claim, StorageClass *class)
{
    (void)world, (void)class;
    object_set_annotation(&claim->meta, ANNOTATION_STORAGE_PROVISIONER, NULL);
}

static void
have_no_annotation(World *world, Claim *claim, StorageClass *class)
{
    have_the_old_key_only(world, claim, class);
    object_set_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_PROVISIONER, NULL);
}

static void
have_a_class_of_another(World *world, Claim *claim, StorageClass *class)
{
    (void)claim;
    class->provisioner = world_intern(world, "other.example");
}

static void
wait_for_a_node(World *world, Claim *claim, StorageClass *class)
{
    (void)world, (void)claim;
    class->binding_mode = BINDING_WAIT_FOR_FIRST_CONSUMER;
}

static void
have_a_node(World *world, Claim *claim, StorageClass *class)
{
    wait_for_a_node(world, claim, class);
    rules_annotate(world, &claim->meta, ANNOTATION_SELECTED_NODE, "b");
}

static void
have_an_empty_node(World *world, Claim *claim, StorageClass *class)
{
    wait_for_a_node(world, claim, class);
    rules_annotate(world, &claim->meta, ANNOTATION_SELECTED_NODE, "");
}

/* Neither phase nor annotation nor deletion is looked at. */
static void
be_bound_already(World *world, Claim *claim, StorageClass *class)
{
    (void)class;
    rules_annotate(world, &claim->meta, ANNOTATION_BIND_COMPLETED, "yes");
}

static void
select_labels(World *world, Claim *claim, StorageClass *class)
{
    SelectRequirement requirement = {world_intern(world, "tier"), SELECT_EXISTS, NULL};

    (void)class;
    claim->selector = label_selector_new(&requirement, 1);
}

static void
be_for_a_populator(World *world, Claim *claim, StorageClass *class)
{
    (void)class;
    claim->data_source.kind = world_intern(world, "Backup");
    claim->data_source.api_group = world_intern(world, "backup.example");
    claim->data_source.name = world_intern(world, "monday");
}

static void
be_a_clone(World *world, Claim *claim, StorageClass *class)
{
    (void)class;
    claim->data_source.kind = world_intern(world, "PersistentVolumeClaim");
    claim->data_source.name = world_intern(world, "source");
}

static void
set_parameter(World *world, StorageClass *class, const char *key, const char *value)
{
    StringPair pair = {world_intern(world, key), world_intern(world, value)};

    class->parameters = string_map_new(&pair, 1);
}

static void
name_an_unknown_parameter(World *world, Claim *claim, StorageClass *class)
{
    (void)claim;
    set_parameter(world, class, "csi.storage.k8s.io/secret", "x");
}

static void
need_a_secret(World *world, Claim *claim, StorageClass *class)
{
    StringPair pairs[] = {
        {world_intern(world, "csi.storage.k8s.io/provisioner-secret-name"),
         world_intern(world, "key") },
        {world_intern(world, "csi.storage.k8s.io/provisioner-secret-namespace"),
         world_intern(world, "safe")},
    };

    (void)claim;
    class->parameters = string_map_new(pairs, G_N_ELEMENTS(pairs));
}

/* API-180: without the gate the API server drops the field. */
static void
want_attributes(World *world, Claim *claim, StorageClass *class)
{
    (void)class;
    claim->attributes_class = world_intern(world, "gold");
}

static void
have_attributes(World *world, Claim *claim, StorageClass *class)
{
    want_attributes(world, claim, class);
    world_create(world, world_attributes_class(world, "gold", WORLD_DRIVER, "iops"));
}

static void
have_attributes_of_another(World *world, Claim *claim, StorageClass *class)
{
    want_attributes(world, claim, class);
    world_create(world, world_attributes_class(world, "gold", "other.example", "iops"));
}

static void
change_volumes(World *world, CsiModelledOptions *options)
{
    world_allow_changes(world, options, "iops");
}

static void
create_nothing(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities &=
        (CsiControllerCapabilities)~CSI_CONTROLLER_CREATE_DELETE_VOLUME;
}

#define ERROR "ProvisioningFailed x1: failed to provision volume with StorageClass \"class\": "

/* Until 500 ms: one attempt. */
/* clang-format off */
static const ClaimCase claim_cases[] = {
    {"PROV-14: all is well", NULL, NULL, MADE, "ProvisioningSucceeded x1"},
    {"PROV-13.1: has a volume", name_a_volume, NULL, "", NULL},
    {"PROV-13.2: another provisioner", want_another_provisioner, NULL, "", NULL},
    {"PROV-13.2: the old annotation", have_the_old_key_only, NULL, MADE, NULL},
    {"PROV-13.3: no annotation", have_no_annotation, NULL, "", NULL},
    {"PROV-14.2: a class of another provisioner", have_a_class_of_another, NULL, "", NULL},
    {"PROV-13.5: no node yet", wait_for_a_node, NULL, "", NULL},
    {"PROV-13.5: a node", have_a_node, NULL, MADE, NULL},
    {"PROV-13.5: an empty node is none", have_an_empty_node, NULL, "", NULL},
    {"PROV-13: bound once, PVC-43", be_bound_already, NULL, MADE, NULL},
    {"PROV-20.3: for a populator", be_for_a_populator, NULL, "",
     "Assuming an external populator will provision the volume"},
    {"PROV-20.4: the driver makes no volumes", NULL, create_nothing, "",
     ERROR "CSI driver does not support dynamic provisioning"},
    {"PROV-20.4: ... no clones", be_a_clone, NULL, "",
     ERROR "CSI driver does not support clone operations"},
    {"PROV-20.5: a selector", select_labels, NULL, "", ERROR "claim Selector is not supported"},
    {"PROV-20.9, SEC-3: a secret that is not there", need_a_secret, NULL, "GET Secret 404",
     ERROR "error getting secret"},
    {"PROV-20.10: a parameter of ours that is none", name_an_unknown_parameter, NULL, "",
     ERROR "failed to strip CSI Parameters of prefixed keys"},
    {"PROV-20.4: ... the driver changes no volumes", have_attributes, NULL, "",
     ERROR "CSI driver does not support VolumeAttributesClass"},
    {"PROV-20.11: a class of attributes", have_attributes, change_volumes,
     "GET VolumeAttributesClass, " MADE, "ProvisioningSucceeded x1"},
    {"PROV-20.11: ... that is not there", want_attributes, change_volumes,
     "GET VolumeAttributesClass 404", ERROR "volumeattributesclasses \"gold\" not found"},
    {"PROV-20.11: ... of another driver", have_attributes_of_another, change_volumes,
     "GET VolumeAttributesClass", ERROR "VAC gold referenced in PVC is for driver other.example"},
};
/* clang-format on */

static void
fast(World *world, CsiModelledOptions *options)
{
    void (*const *also)(World *, CsiModelledOptions *) = world->options.driver_arg;

    options->latency[CSI_CREATE_VOLUME] = NULL;
    if (also != NULL && *also != NULL)
        (*also)(world, options);
}

static void
try_claim(const ClaimCase *row)
{
    SidecarWorldOptions options = {.seed = 1,
                                   .driver = fast,
                                   .driver_arg = &row->driver,
                                   .flag = "feature-gates",
                                   .value = "VolumeAttributesClass=true",
                                   .gate_on = "VolumeAttributesClass"};
    g_autoptr(World) world = world_new(&options);
    StorageClass *class = world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE);
    Claim *claim = world_claim(world, "data", "class", NULL);

    if (row->change != NULL)
        row->change(world, claim, class);
    world_create(world, &class->meta);
    world_create(world, &claim->meta);
    world_run(world, 500 * SIM_MS);
    g_autofree char *log = world_take_log(world);
    g_autofree char *events = world_events(world, world_key(world, KIND_CLAIM, "data"));
    if (strcmp(log, row->log) != 0 || (row->event != NULL && strstr(events, row->event) == NULL))
        fail_msg("%s: did \"%s\", said \"%s\"", row->title, log, events);
}

TEST(what_becomes_of_claims)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(claim_cases); i++)
        try_claim(&claim_cases[i]);
}

/* ---- Volumes that cannot be stored ---- */

typedef struct {
    unsigned n_refused, n_to_refuse;
} ExternalProvisionerRulesRefusal;

static ApiCode
refuse_volumes(void *data, const ApiRequest *request, GString *message)
{
    ExternalProvisionerRulesRefusal *self = data;

    if (request->verb != API_CREATE || request->key->kind != KIND_VOLUME ||
        self->n_refused >= self->n_to_refuse)
        return API_OK;
    self->n_refused++;
    g_string_assign(message, "etcdserver: request timed out");
    return API_TIMEOUT;
}

static void
create_claim(World *world)
{
    world_create(world, &world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE)->meta);
    world_create(world, &world_claim(world, "data", "class", NULL)->meta);
}

/* PROV-18: the volume stays in memory, and is stored at once, 5, 10, 20, ... ms later, without
 * another call to the driver. */
TEST(a_volume_is_stored_at_last)
{
    SidecarWorldOptions options = {.seed = 1, .driver = fast};
    g_autoptr(World) world = world_new(&options);
    ExternalProvisionerRulesRefusal refusal = {.n_to_refuse = 6};

    api_server_set_fault(world->api, refuse_volumes, &refusal);
    create_claim(world);
    world_run(world, 10 * SIM_SECOND);
    g_autofree char *times = world_times(world, "CREATE PersistentVolume");
    assert_string_equal(times, "0 0 5 15 35 75 155");
    assert_int_equal(world_count(world, "CreateVolume", NULL, NULL), 1);
    g_autofree char *events = world_events(world, world_key(world, KIND_CLAIM, "data"));
    assert_non_null(strstr(events, "ProvisioningSucceeded x1"));
    assert_null(strstr(events, "ProvisioningFailed"));
}

/* PROV-18: a crash loses the memory; the claim is provisioned for again, by the same name: no
 * second volume. */
TEST(a_crash_before_it_is_stored)
{
    SidecarWorldOptions options = {.seed = 1, .driver = fast};
    g_autoptr(World) world = world_new(&options);
    ExternalProvisionerRulesRefusal refusal = {.n_to_refuse = 1000};

    api_server_set_fault(world->api, refuse_volumes, &refusal);
    create_claim(world);
    world_run(world, SIM_SECOND);
    assert_int_equal(api_server_count(world->api, KIND_VOLUME), 0);
    assert_true(cluster_crash(world->cluster, "external-provisioner", WORLD_DRIVER));
    refusal.n_to_refuse = 0;
    assert_true(cluster_restart(world->cluster, "external-provisioner", WORLD_DRIVER));
    world_run(world, SIM_MINUTE);
    assert_int_equal(world_count(world, "CreateVolume", NULL, NULL), 2);
    assert_int_equal(api_server_count(world->api, KIND_VOLUME), 1);
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 1);
}

static gboolean
touch(Object *object, const void *value)
{
    return object_set_annotation(object, "test/touched", value);
}

/* PROV-19: until the informer has the volume, another event of its claim asks the driver once more.
 * It answers with the same. */
TEST(a_late_watch_asks_again)
{
    unsigned n_again = 0;

    for (uint64_t seed = 1; seed <= 50; seed++) {
        SidecarWorldOptions options = {.seed = seed, .driver = fast, .recorded_timing = TRUE};
        g_autoptr(World) world = world_new(&options);
        create_claim(world);
        for (unsigned i = 0; i < 30; i++) { /* somebody touches the claim all the time */
            world_run(world, sim_now(world->sim) + SIM_MS);
            world_edit(world, KIND_CLAIM, "data", touch, strings_internf(world->strings, "%u", i));
        }
        world_run(world, SIM_MINUTE);
        n_again += world_count(world, "CreateVolume", NULL, NULL) - 1;
        assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 1);
        assert_int_equal(api_server_count(world->api, KIND_VOLUME), 1);
    }
    assert_in_range(n_again, 1, 100);
}

/* ---- Volumes ---- */

typedef struct {
    const char *title;
    uint32_t policy, phase;
    gboolean held;        /* by the provisioner's finalizer */
    gboolean terminating; /* and by another one */
    const char *by;       /* annotation provisioned-by; NULL: none */
    const char *log;
} VolumeCase;

#define GONE "DeleteVolume, DELETE PersistentVolume"
#define LET_GO "PATCH PersistentVolume"

/* clang-format off */
static const VolumeCase volume_cases[] = {
    {"PROV-32: Bound, to be deleted one day: held",          RECLAIM_DELETE, VOLUME_BOUND,     FALSE, FALSE, WORLD_DRIVER,   LET_GO},
    {"PROV-32: ... is already",                              RECLAIM_DELETE, VOLUME_BOUND,     TRUE,  FALSE, WORLD_DRIVER,   ""},
    {"PROV-32: ... not while it goes",                       RECLAIM_DELETE, VOLUME_BOUND,     FALSE, TRUE,  WORLD_DRIVER,   ""},
    {"PROV-32: ... nor before it is Bound",                  RECLAIM_DELETE, VOLUME_AVAILABLE, FALSE, FALSE, WORLD_DRIVER,   ""},
    {"PROV-32: Retain: let go",                              RECLAIM_RETAIN, VOLUME_BOUND,     TRUE,  FALSE, WORLD_DRIVER,   LET_GO},
    {"PROV-32: Retain, and Released: let go",                RECLAIM_RETAIN, VOLUME_RELEASED,  TRUE,  FALSE, WORLD_DRIVER,   LET_GO},
    {"PROV-33: Retain: never deleted",                       RECLAIM_RETAIN, VOLUME_RELEASED,  FALSE, FALSE, WORLD_DRIVER,   ""},
    {"PROV-33: Released: deleted",                           RECLAIM_DELETE, VOLUME_RELEASED,  TRUE,  FALSE, WORLD_DRIVER,   GONE ", " LET_GO},
    {"PROV-33: ... though nothing holds it",                 RECLAIM_DELETE, VOLUME_RELEASED,  FALSE, FALSE, WORLD_DRIVER,   GONE},
    {"PROV-33, PROV-39: deleted by hand while Bound: waits", RECLAIM_DELETE, VOLUME_BOUND,     TRUE,  TRUE,  WORLD_DRIVER,   ""},
    {"PROV-33, PROV-39: ... and Released: deleted",          RECLAIM_DELETE, VOLUME_RELEASED,  TRUE,  TRUE,  WORLD_DRIVER,   GONE ", " LET_GO},
    {"PROV-33: ... not held: left alone",                    RECLAIM_DELETE, VOLUME_RELEASED,  FALSE, TRUE,  WORLD_DRIVER,   ""},
    {"PROV-33: Failed is not Released",                      RECLAIM_DELETE, VOLUME_FAILED,    TRUE,  FALSE, WORLD_DRIVER,   ""},
    {"PROV-31: static, of this driver: deleted",             RECLAIM_DELETE, VOLUME_RELEASED,  FALSE, FALSE, NULL,           GONE},
    {"PROV-31: made by another",                             RECLAIM_DELETE, VOLUME_RELEASED,  FALSE, FALSE, "else.example", ""},
};
/* clang-format on */

static gboolean
set_volume_phase(Object *object, const void *phase)
{
    VOLUME(object)->phase = *(const uint32_t *)phase;
    return TRUE;
}

static void
try_volume(const VolumeCase *row)
{
    SidecarWorldOptions options = {.seed = 1, .driver = fast};
    g_autoptr(World) world = world_new(&options);
    Volume *volume = world_volume(world, "pv");

    volume->reclaim_policy = row->policy;
    object_add_finalizer(&volume->meta, world_intern(world, "test/other"));
    if (row->held)
        object_add_finalizer(&volume->meta, world_intern(world, FINALIZER_PROVISIONER));
    if (row->by != NULL)
        rules_annotate(world, &volume->meta, ANNOTATION_PROVISIONED_BY, row->by);
    world_create(world, &volume->meta);
    world_edit_status(world, KIND_VOLUME, "pv", set_volume_phase, &row->phase);
    if (row->terminating)
        world_delete(world, KIND_VOLUME, "pv");
    world_run(world, 100 * SIM_MS); /* before anything is tried again */
    g_autofree char *log = world_take_log(world);
    if (strcmp(log, row->log) != 0)
        fail_msg("%s: did \"%s\", not \"%s\"", row->title, log, row->log);
}

TEST(what_becomes_of_volumes)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(volume_cases); i++)
        try_volume(&volume_cases[i]);
}

/* ---- Deaths in the middle of a deletion ---- */

typedef struct {
    World *world;
    ApiVerb verb; /* dies as it is answered */
    gboolean is_dead;
} Death;

static ApiCode
die_at_request(void *data, const ApiRequest *request, GString *message)
{
    Death *self = data;

    if (self->is_dead || request->verb != self->verb || request->key->kind != KIND_VOLUME)
        return API_OK;
    self->is_dead = TRUE;
    cluster_crash(self->world->cluster, "external-provisioner", WORLD_DRIVER);
    g_string_assign(message, "nobody is there to read this");
    return API_TIMEOUT;
}

/* PROV-37: after DeleteVolume, before the DELETE; after the DELETE, before the finalizer goes. All
 * of it is done again. */
TEST(a_deletion_survives_deaths)
{
    static const ApiVerb verbs[] = {API_DELETE, API_PATCH};
    const uint32_t released = VOLUME_RELEASED;

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        SidecarWorldOptions options = {.seed = 1, .driver = fast};
        g_autoptr(World) world = world_new(&options);
        Death death = {.world = world, .verb = verbs[i]};
        Volume *volume = world_volume(world, "pv");
        volume->reclaim_policy = RECLAIM_DELETE;
        object_add_finalizer(&volume->meta, world_intern(world, FINALIZER_PROVISIONER));
        world_create(world, &volume->meta);
        world_edit_status(world, KIND_VOLUME, "pv", set_volume_phase, &released);
        api_server_set_fault(world->api, die_at_request, &death);
        world_run(world, SIM_SECOND);
        assert_true(death.is_dead);
        assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 0);
        const Object *left = world_get(world, KIND_VOLUME, "pv");
        assert_true(object_has_finalizer(left, FINALIZER_PROVISIONER));
        assert_int_equal(object_is_deleted(left), verbs[i] == API_PATCH);
        assert_true(cluster_restart(world->cluster, "external-provisioner", WORLD_DRIVER));
        world_run(world, 10 * SIM_SECOND);
        left = world_get(world, KIND_VOLUME, "pv");
        assert_int_equal(world_count(world, "DeleteVolume", NULL, NULL), 2);
        assert_true(object_is_deleted(left)); /* held by pv-protection, which does not run here */
        assert_false(object_has_finalizer(left, FINALIZER_PROVISIONER));
    }
}
