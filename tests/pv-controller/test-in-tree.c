/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"
#include "models/cluster/model.h"
#include "models/csi/modelled/modelled-driver.h"
#include "models/pv-controller/in-tree-volume.h"
#include "models/pv-controller/pv-controller.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

#include <string.h>

const ModelClass *const model_classes[] = {&pv_controller_class, NULL};

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static void
in_tree_no_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    (void)parser;
    (void)where;
    (void)hint;
    fail_msg("%s", message);
}

/* Returns: (owned) */
static Object *
object_of(Objects *objects, ObjectKind kind, const char *name, const char *text)
{
    g_autoptr(GString) path = g_string_new(NULL);
    ApiParser parser = {.objects = objects, .report = in_tree_no_fault, .path = path};
    json_t *manifest = json_loads(text, 0, NULL);

    assert_non_null(manifest);
    Object *object = api_parser_template(
        &parser, manifest, objects_key(objects, kind, kind == KIND_CLAIM ? "default" : NULL, name));
    json_decref(manifest);
    return object;
}

#define WANTS(modes, size)                                                                         \
    "{\"spec\": {\"accessModes\": [" modes                                                         \
    "], \"resources\": {\"requests\": {\"storage\": \"" size "\"}}}}"
#define RWO "\"ReadWriteOnce\""
#define ROX "\"ReadOnlyMany\""
#define CLASS(rest) "{\"provisioner\": \"x\"" rest "}"
#define PARAMETERS(text) CLASS(", \"parameters\": {" text "}")
#define ALLOWED(zones)                                                                             \
    CLASS(", \"allowedTopologies\": [{\"matchLabelExpressions\": [{\"key\": "                      \
          "\"failure-domain.beta.kubernetes.io/zone\", \"values\": [" zones "]}]}]")
#define IN_ZONE(zone)                                                                              \
    "{\"metadata\": {\"name\": \"n\", \"labels\": {\"topology.kubernetes.io/zone\": \"" zone "\"}" \
    "}}"
#define THREE ALLOWED("\"b\", \"c\", \"a\"")
#define EBS "kubernetes.io/aws-ebs"
#define PD "kubernetes.io/gce-pd"
#define VSPHERE "kubernetes.io/vsphere-volume"
#define PORTWORX "kubernetes.io/portworx-volume"

/* INT-31 to INT-33 */
/* clang-format off */
static const struct {
    const char *plugin, *claim, *name, *class;
    int64_t bytes;
    const char *node, *zone, *refused, *error; /* NULL: none */
} cases[] = {
    {PD,                                               WANTS(RWO, "1"),      "c",                                                           CLASS(""), GIB,                                             .zone = NULL                                                                                                                                                                                                                                            },
    {PD,                                               WANTS(RWO, "1500Mi"), "c",                                                           CLASS(""), 2 * GIB,                                         .node = IN_ZONE("b"),                                                                                                                                                                                                                                     .zone = "b"},
    {PD,                                                WANTS(RWO "," ROX,                                                        "2Gi"), "c", CLASS(""),       2 * GIB,                                             .zone = NULL                                                                                                                                                                                                                                                                                       },
    {VSPHERE,                                                WANTS(RWO,                                                   "1500001Ki"),    "c",   CLASS(""),      1465 * MIB,                                          .node = IN_ZONE("b"),
     .zone = "b"},
    {PORTWORX,                                      WANTS(RWO,                                               "1Gi"),                                                 "c",                                                                CLASS(""),                     GIB,                 .node = IN_ZONE("b"),                                                                                                                                                                                                 .zone = NULL},
 /* Replicas take turns. */
    {EBS,                            WANTS(RWO,                         "1Gi"),                                  "data-web-0",                                                                                             THREE,                                                                  GIB,                                                                   .zone = "a"                                                                             },
    {EBS,                                             WANTS(RWO,                                           "1Gi"),                                                    "data-web-1",                                                                                                               THREE,  GIB,.zone = "b"                                          },
    {EBS,                                             WANTS(RWO,                                           "1Gi"),                                                    "data-web-2",                                                                                                               THREE,                                                                  GIB,                                                                                                                                   .zone = "c"                                                                                                                                                                                                                                                                                 },
    {EBS,                                             WANTS(RWO,                                           "1Gi"),                                                    "data-web-1",                                                                                                               PARAMETERS("\"Zones\": \"c, b\""),  GIB,.zone = "b"},
    {EBS,                                             WANTS(RWO,                                           "1Gi"),                                                    "c",                                                                                                               PARAMETERS("\"zone\": \"z\""),                                                                  GIB,                                                                                                                                                                                                   .zone = "z"                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              },
    {EBS,                                             WANTS(RWO,                                           "1Gi"),                                                    "c",                                                                                                               PARAMETERS("\"zone\": \"z\""),  GIB,.node = IN_ZONE("b"),
     .error = "zone[s] cannot"},
    {EBS,                                             WANTS(RWO,                                  "1Gi"),                                              "c",                                                                                                           PARAMETERS("\"zone\": \"z\", \"zones\": \"a\""),                                                                                                                  GIB,
     .error = "both zone and zones"                                                                                                                                                                                                                                                                                                                            },
    {EBS, WANTS(ROX,       "1Gi"),                                         "c",                                                                                                      CLASS(""),                                                                                                             GIB,
     .refused =
         "invalid AccessModes [ReadOnlyMany]: only AccessModes [ReadWriteOnce] are supported"                                                                  },
};
/* clang-format on */

TEST(volumes_of_plugins)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        Objects *objects = objects_new(1);
        Object *claim = object_of(objects, KIND_CLAIM, cases[i].name, cases[i].claim);
        Object *class = object_of(objects, KIND_STORAGE_CLASS, "class", cases[i].class);
        Object *node =
            cases[i].node == NULL ? NULL : object_of(objects, KIND_NODE, "n", cases[i].node);
        InTreeQuery query = {.strings = objects_strings(objects),
                             .plugin = in_tree_plugin_find(cases[i].plugin),
                             .class = (const StorageClass *)class,
                             .claim = CLAIM_CONST(claim),
                             .node = node};
        InTreePlace place;

        const char *refused = in_tree_refusal(&query);
        if (cases[i].refused == NULL)
            assert_null(refused);
        else
            assert_string_equal(refused, cases[i].refused);
        const char *error = in_tree_choose_place(&query, &place);
        if (cases[i].error == NULL)
            assert_null(error);
        else
            assert_true(g_str_has_prefix(error, cases[i].error));
        if (g_strcmp0(place.zone, cases[i].zone) != 0)
            fail_msg("row %u: zone %s", i, place.zone == NULL ? "none" : place.zone);
        if (in_tree_size(&query) != cases[i].bytes)
            fail_msg("row %u: %" G_GINT64_FORMAT " bytes", i, in_tree_size(&query));
        object_unref(claim);
        object_unref(class);
        if (node != NULL)
            object_unref(node);
        objects_free(objects);
    }
}

static void *
in_tree_no_options(void *data, const ProcessClass *class)
{
    (void)data;
    (void)class;
    return NULL;
}

static void
add_ebs(StorageWorld *world)
{
    CsiModelledOptions options;

    csi_modelled_options_init(&options);
    options.name = storage_world_intern(world, "ebs.csi.aws.com");
    options.adopts_unknown_volumes = TRUE;
    world->driver = csi_modelled_driver_base(
        csi_modelled_driver_new(world->sim, objects_strings(world->objects), &options, NULL));
    cluster_add_driver(world->cluster, world->driver, options.name, &(NodePluginOptions){0},
                       in_tree_no_options, NULL);
}

/* INT-36, findDeletablePlugin(): an annotation that names nobody leaves it to the plugin of the
 * source. */
TEST(released_volumes_go)
{
    static const struct {
        const char *made_by, *log; /* annotation; NULL: none */
    } rows[] = {
        {EBS,        "GET pv/v, DELETE pv/v"},
        {NULL,       "GET pv/v, DELETE pv/v"},
        {"",         "GET pv/v, DELETE pv/v"},
        {"csi.test", "GET pv/v"             },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.minor_version = 22});
        add_ebs(&world);
        const VolumeSource source = {.refs = REF_COUNT_ONE,
                                     .plugin = "awsElasticBlockStore",
                                     .handle = storage_world_intern(&world, "vol-1"),
                                     .in_tree = in_tree_plugin_find(EBS)};
        Volume *volume = storage_world_volume(&world, "v", 5, "");
        volume_source_unref(volume->source);
        volume->source = volume_source_new(&source);
        volume->reclaim_policy = RECLAIM_DELETE;
        volume->phase = VOLUME_RELEASED;
        volume->claim_ref.claim = storage_world_claim_key(&world, "c");
        volume->claim_ref.uid = (ObjectUid){1, 1};
        if (rows[i].made_by != NULL)
            object_set_annotation(&volume->meta,
                                  storage_world_intern(&world, ANNOTATION_PROVISIONED_BY),
                                  storage_world_intern(&world, rows[i].made_by));
        storage_world_import(&world, volume);
        storage_world_start(&world);
        storage_world_run(&world, 10 * SIM_SECOND);
        assert_string_equal(storage_world_log(&world), rows[i].log);
        storage_world_clear(&world);
    }
}

typedef struct {
    const Sim *sim;
    GString *seconds; /* of each look */
} Looks;

static ApiCode
refuse_reads(void *data, const ApiRequest *request, GString *message)
{
    Looks *looks = data;

    if (request->key->kind != KIND_VOLUME || request->verb != API_GET)
        return API_OK;
    g_string_append_printf(looks->seconds, " %d", (int)(sim_now(looks->sim) / SIM_SECOND));
    g_string_assign(message, "refused by the test");
    return API_ERROR;
}

/* INT-30: each resync, every 15 s, looks for the volume first, except in the back-off of an earlier
 * failure: 500 ms, doubled up to 122 s. */
TEST(looks_that_fail_back_off)
{
    StorageWorld world;
    Looks looks = {.seconds = g_string_new(NULL)};

    storage_world_init(&world, &(StorageWorldOptions){.minor_version = 22});
    add_ebs(&world);
    looks.sim = world.sim;
    api_server_set_fault(world.api, refuse_reads, &looks);
    storage_world_class(&world, "fast", EBS, BINDING_IMMEDIATE);
    storage_world_start(&world);
    storage_world_create(&world, storage_world_claim(&world, "c", 5, "fast"));
    storage_world_run(&world, 300 * SIM_SECOND);
    assert_string_equal(looks.seconds->str, " 0 10 25 40 55 70 100 145 220");
    storage_world_clear(&world);
    g_string_free(looks.seconds, TRUE);
}
