/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/api/fields.h"
#include "models/cluster/model.h"
#include "models/pv-controller/in-tree-volume.h"

#include <string.h>

const ModelClass *const model_classes[] = {NULL};

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static void
no_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
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
    ApiParser parser = {.objects = objects, .report = no_fault, .path = path};
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

static void
volumes_of_plugins(void **state)
{
    (void)state;
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

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(volumes_of_plugins)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
