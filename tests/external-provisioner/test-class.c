/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/cluster/model.h"
#include "models/external-provisioner/provisioner-test.h"
#include "models/external-provisioner/provisioner.h"
#include "tests/lib/test.h"

/* The parameters of a StorageClass: some go to the driver, some name secrets. And the names of
 * volumes. */

const ModelClass *const model_classes[] = {NULL};

/* "k=v l=w". (owned) */
static StringMap *
map_of(Strings *strings, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    for (unsigned i = 0; words[i] != NULL && words[i][0] != '\0'; i++) {
        g_auto(GStrv) halves = g_strsplit(words[i], "=", 2);
        StringPair pair = {strings_intern(strings, halves[0]), strings_intern(strings, halves[1])};
        g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}

#define S(key) "csi.storage.k8s.io/" key

/* SEC-1, SEC-2. Of claim team/data, whose volume is pvc-1, with an annotation vault=v1. */
typedef struct {
    SecretUse use;
    const char *parameters;
    const char *expected; /* "namespace/name"; "": none; else a part of the error after "!" */
} SecretCase;

static const SecretCase secret_cases[] = {
    {SECRET_USE_PROVISIONER,        "",                                                                      ""               },
    {SECRET_USE_PROVISIONER,
     S("provisioner-secret-name") "=n " S("provisioner-secret-namespace") "=s",                              "s/n"            },
    {SECRET_USE_CONTROLLER_PUBLISH,
     S("controller-publish-secret-name") "=n " S("controller-publish-secret-namespace") "=s",
     "s/n"                                                                                                                    },
    {SECRET_USE_NODE_STAGE,         S("node-stage-secret-name") "=n " S("node-stage-secret-namespace") "=s",
     "s/n"                                                                                                                    },
    {SECRET_USE_NODE_PUBLISH,
     S("node-publish-secret-name") "=n " S("node-publish-secret-namespace") "=s",                            "s/n"            },
    {SECRET_USE_CONTROLLER_EXPAND,
     S("controller-expand-secret-name") "=n " S("controller-expand-secret-namespace") "=s",                  "s/n"            },
    {SECRET_USE_NODE_EXPAND,
     S("node-expand-secret-name") "=n " S("node-expand-secret-namespace") "=s",                              "s/n"            },
 /* The default pair stands in for each use; a pair of its own wins; pairs of other uses do not
  matter. */
    {SECRET_USE_NODE_STAGE,         S("secret-name") "=n " S("secret-namespace") "=s",                       "s/n"            },
    {SECRET_USE_NODE_STAGE,
     S("secret-name") "=n " S("secret-namespace") "=s " S("node-stage-secret-name") "=m " S(
         "node-stage-secret-namespace") "=t",
     "t/m"                                                                                                                    },
    {SECRET_USE_NODE_STAGE,
     S("node-publish-secret-name") "=n " S("node-publish-secret-namespace") "=s",                            ""               },
 /* The old keys, where there are any. */
    {SECRET_USE_PROVISIONER,        "csiProvisionerSecretName=n csiProvisionerSecretNamespace=s",            "s/n"            },
    {SECRET_USE_NODE_STAGE,         "csiNodeStageSecretName=n csiNodeStageSecretNamespace=s",                "s/n"            },
    {SECRET_USE_NODE_EXPAND,        "csiNodeExpandSecretName=n csiNodeExpandSecretNamespace=s",              ""               },
    {SECRET_USE_PROVISIONER,
     "csiProvisionerSecretName=n csiProvisionerSecretNamespace=s " S(
         "provisioner-secret-name") "=m",
     "!both"                                                                                                                  },
 /* Half a pair, an empty one. */
    {SECRET_USE_PROVISIONER,        S("provisioner-secret-name") "=n",                                       "!Both must"     },
    {SECRET_USE_PROVISIONER,        S("provisioner-secret-namespace") "=s",                                  "!Both must"     },
    {SECRET_USE_NODE_STAGE,         S("secret-name") "=n",                                                   "!Both must"     },
    {SECRET_USE_PROVISIONER,
     S("provisioner-secret-name") "= " S("provisioner-secret-namespace") "=s",                               "!empty"         },
 /* Templates. */
    {SECRET_USE_PROVISIONER,
     S("secret-name") "=of-${pv.name} " S("secret-namespace") "=${pvc.namespace}",                           "team/of-pvc-1"  },
    {SECRET_USE_PROVISIONER,
     S("secret-name") "=${pvc.namespace}-${pvc.name} " S("secret-namespace") "=${pv.name}",
     "pvc-1/team-data"                                                                                                        },
    {SECRET_USE_PROVISIONER,
     S("secret-name") "=${pvc.annotations['vault']} " S("secret-namespace") "=s",                            "s/v1"           },
    {SECRET_USE_PROVISIONER,
     S("secret-name") "=${pvc.annotations['else']} " S("secret-namespace") "=s",                             "!invalid tokens"},
    {SECRET_USE_PROVISIONER,        S("secret-name") "=${pvc.uid} " S("secret-namespace") "=s",
     "!invalid tokens"                                                                                                        },
 /* A claim's name and annotations must not choose the namespace. */
    {SECRET_USE_PROVISIONER,        S("secret-name") "=n " S("secret-namespace") "=${pvc.name}",
     "!invalid tokens"                                                                                                        },
    {SECRET_USE_PROVISIONER,
     S("secret-name") "=n " S("secret-namespace") "=${pvc.annotations['vault']}",
     "!invalid tokens"                                                                                                        },
    {SECRET_USE_PROVISIONER,        S("secret-name") "=No_Name " S("secret-namespace") "=s",
     "!not a valid"                                                                                                           },
    {SECRET_USE_PROVISIONER,        S("secret-name") "=n " S("secret-namespace") "=a.b",                     "!not a valid"   },
};

TEST(secrets_are_resolved)
{
    g_autoptr(Objects) objects = objects_new(1);
    Strings *strings = objects_strings(objects);
    const ObjectKey *claim = objects_key(objects, KIND_CLAIM, "team", "data");
    g_autoptr(StringMap) annotations = map_of(strings, "vault=v1");

    for (unsigned i = 0; i < G_N_ELEMENTS(secret_cases); i++) {
        const SecretCase *row = &secret_cases[i];
        g_autoptr(StringMap) parameters = map_of(strings, row->parameters);
        SecretReference reference;
        g_autofree char *error =
            secret_resolve(strings, row->use, parameters, "pvc-1", claim, annotations, &reference);
        g_autofree char *found =
            error != NULL ? g_strconcat("!", error, NULL)
            : reference.name == NULL
                ? g_strdup("")
                : g_strdup_printf("%s/%s", reference.namespace, reference.name);
        gboolean good = row->expected[0] == '!'
                            ? found[0] == '!' && strstr(found, row->expected + 1) != NULL
                            : strcmp(found, row->expected) == 0;
        if (!good)
            fail_msg("%s: %s, not %s", row->parameters, found, row->expected);
    }
}

/* PROV-20.10, PROV-21, SEC-1: ours are taken out, an unknown one of ours is an error, the old keys
 * of secrets stay. */
static const struct {
    const char *parameters, *passed;
    gboolean is_sound;
} parameter_cases[] = {
    {"",                                                                  "",                           TRUE },
    {"type=gp3 iops=3000",                                                "iops=3000 type=gp3",         TRUE },
    {"type=gp3 " S("fstype") "=xfs",                                      "type=gp3",                   TRUE },
    {"fstype=xfs",                                                        "fstype=xfs",                 TRUE },
    {"a=b " S("node-stage-secret-name") "=n " S("secret-namespace") "=s", "a=b",                        TRUE },
    {"csiProvisionerSecretName=n",                                        "csiProvisionerSecretName=n", TRUE },
    {S("no-such-key") "=x",                                               "",                           FALSE},
};

TEST(parameters_are_passed)
{
    g_autoptr(Objects) objects = objects_new(1);
    Strings *strings = objects_strings(objects);

    for (unsigned i = 0; i < G_N_ELEMENTS(parameter_cases); i++) {
        g_autoptr(StringMap) parameters = map_of(strings, parameter_cases[i].parameters);
        g_autoptr(StringMap) expected = map_of(strings, parameter_cases[i].passed);
        g_autofree char *error = NULL;
        g_autoptr(StringMap) passed = class_pass_parameters(parameters, &error);
        assert_int_equal(error == NULL, parameter_cases[i].is_sound);
        assert_true(error != NULL || string_map_equal(passed, expected));
    }
}

/* PROV-20.6: with a length the dashes go first. */
static const struct {
    const char *prefix;
    int length;
    const char *name;
} name_cases[] = {
    {"pvc",  -1, "pvc-6b18f9ae-2a1a-4c5e-8f4f-3c1d2e3f4a5b" },
    {"disk", -1, "disk-6b18f9ae-2a1a-4c5e-8f4f-3c1d2e3f4a5b"},
    {"pvc",  8,  "pvc-6b18f9ae"                             },
    {"pvc",  12, "pvc-6b18f9ae2a1a"                         },
    {"pvc",  99, "pvc-6b18f9ae2a1a4c5e8f4f3c1d2e3f4a5b"     },
};

TEST(volumes_are_named_after_claims)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(name_cases); i++) {
        ExternalProvisionerOptions options = {.volume_name_prefix = name_cases[i].prefix,
                                              .volume_name_uuid_length = name_cases[i].length};
        g_autofree char *name =
            provisioner_volume_name(&options, "6b18f9ae-2a1a-4c5e-8f4f-3c1d2e3f4a5b");
        assert_string_equal(name, name_cases[i].name);
    }
}
