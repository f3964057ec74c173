/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"
#include "tests/lib/test.h"

#include "models/api/reference-grant.h"

/* SRC-6: a claim of namespace test is to be made of the snapshot production/cut. Rows: what the
 * grant in production says, and whether it admits the claim; after IsGranted() of
 * external-provisioner. */
static const struct {
    const char *title, *from, *to;
    gboolean admits;
} cases[] = {
  /* clang-format off */
#define CLAIMS_OF(namespace) "{'group': '', 'kind': 'PersistentVolumeClaim', 'namespace': '" namespace "'}"
#define SNAPSHOTS "'group': 'snapshot.storage.k8s.io', 'kind': 'VolumeSnapshot'"
    {"any snapshot",                 CLAIMS_OF("test"),                                                   "{" SNAPSHOTS "}",                                  TRUE },
    {"an empty name is any",         CLAIMS_OF("test"),                                                   "{" SNAPSHOTS ", 'name': ''}",                      TRUE },
    {"this snapshot",                CLAIMS_OF("test"),                                                   "{" SNAPSHOTS ", 'name': 'cut'}",                   TRUE },
    {"another snapshot",             CLAIMS_OF("test"),                                                   "{" SNAPSHOTS ", 'name': 'other'}",                 FALSE},
    {"the second item",              CLAIMS_OF("staging") ", " CLAIMS_OF("test"),                         "{'group': '', 'kind': 'Secret'}, {" SNAPSHOTS "}", TRUE },
    {"another namespace",            CLAIMS_OF("staging"),                                                "{" SNAPSHOTS "}",                                  FALSE},
    {"another kind refers",          "{'group': '', 'kind': 'Pod', 'namespace': 'test'}",                 "{" SNAPSHOTS "}",                                  FALSE},
    {"another group refers",         "{'group': 'x.io', 'kind': 'PersistentVolumeClaim', 'namespace': 'test'}", "{" SNAPSHOTS "}",                            FALSE},
    {"the kind without its group",   CLAIMS_OF("test"),                                                   "{'group': '', 'kind': 'VolumeSnapshot'}",          FALSE},
    {"another kind is referred to",  CLAIMS_OF("test"),                                                   "{'group': '', 'kind': 'PersistentVolumeClaim'}",   FALSE},
  /* clang-format on */
};

TEST(admits_claims)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ApiTest) test = api_test_new();
        g_autofree char *text = g_strdup_printf(
            "{'apiVersion': 'gateway.networking.k8s.io/v1beta1', 'kind': 'ReferenceGrant', "
            "'metadata': {'name': 'g', 'namespace': 'production'}, 'spec': {'from': [%s], 'to': "
            "[%s]}}",
            cases[i].from, cases[i].to);
        g_autoptr(Object) grant = api_test_read(test, text);
        g_autoptr(Object) claim = api_test_read(
            test, "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'c', "
                  "'namespace': 'test'}, 'spec': {'accessModes': ['ReadWriteOnce'], 'resources': "
                  "{'requests': {'storage': '1Gi'}}, 'dataSourceRef': {'apiGroup': "
                  "'snapshot.storage.k8s.io', 'kind': 'VolumeSnapshot', 'name': 'cut', "
                  "'namespace': 'production'}}}");
        print_message("%s\n", cases[i].title);
        assert_string_equal(test->faults->str, "");
        assert_int_equal(reference_grant_admits((const ReferenceGrant *)grant, CLAIM_CONST(claim)),
                         cases[i].admits);
        json_t *printed = object_to_json(grant);
        g_autoptr(Object) again = api_test_read_json(test, printed);
        assert_true(object_equal(grant, again));
        json_decref(printed);
    }
}
