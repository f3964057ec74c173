/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/apiserver/update-checks.h"
#include "tests/lib/test.h"

#include <string.h>

/* What updates of claims may change, on manifests (API-122, API-131, API-132). */

#define MODES "'accessModes': ['ReadWriteOnce']"
#define ASKS(size) MODES ", 'resources': {'requests': {'storage': '" size "'}}"
#define IMMUTABLE "spec: Forbidden: spec is immutable after creation"

static const struct {
    const char *title, *before, *after; /* of the spec */
    gboolean is_bound;
    const char *error; /* the beginning of the first; NULL: there is none */
} cases[] = {
    {"nothing",                  ASKS("1Gi"),                       ASKS("1Gi"),                                        FALSE, NULL     },
    {"null is nothing",          MODES,                             MODES ", 'selector': null",                         FALSE, NULL     },
    {"an empty list is nothing", MODES ", 'selector': {}",
     MODES ", 'selector': {'matchExpressions': []}",                                                                    FALSE, NULL     },
    {"a list is something",      MODES,                             "'accessModes': ['ReadWriteMany']",                 FALSE, IMMUTABLE},
    {"one more of a list",       MODES,                             "'accessModes': ['ReadWriteOnce', 'ReadOnlyMany']", FALSE,
     IMMUTABLE                                                                                                                          },
    {"a list that goes",         MODES,                             "'accessModes': []",                                FALSE, IMMUTABLE},
    {"in other words",           ASKS("1Gi"),                       ASKS("1024Mi"),                                     FALSE, NULL     },
    {"more, unbound",            ASKS("1Gi"),                       ASKS("2Gi"),                                        FALSE, IMMUTABLE},
    {"more, bound",              ASKS("1Gi"),                       ASKS("2Gi"),                                        TRUE,  NULL     },
    {"the volume, once",         MODES,                             MODES ", 'volumeName': 'v'",                        FALSE, NULL     },
    {"the volume, again",        MODES ", 'volumeName': 'v'",       MODES ", 'volumeName': 'w'",                        FALSE,
     IMMUTABLE                                                                                                                          },
    {"the class, once",          MODES,                             MODES ", 'storageClassName': 'a'",                  FALSE, NULL     },
    {"the class, again",         MODES ", 'storageClassName': 'a'", MODES ", 'storageClassName': 'b'",
     FALSE,                                                                                                                    IMMUTABLE},
};

/* Returns: (owned) */
static json_t *
update_checks_claim_of(const char *spec, gboolean is_bound)
{
    g_autofree char *text = g_strdup_printf("{'spec': {%s}, 'status': {'phase': '%s'}}", spec,
                                            is_bound ? "Bound" : "Pending");
    json_t *claim = json_loads(g_strdelimit(text, "'", '"'), 0, NULL);

    assert_non_null(claim);
    return claim;
}

TEST(claims_change_as_they_may)
{
    const UpdateGates gates = {.recovers = TRUE};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
        json_t *before = update_checks_claim_of(cases[i].before, cases[i].is_bound);
        json_t *after = update_checks_claim_of(cases[i].after, cases[i].is_bound);
        check_claim_update(before, after, &gates, errors);
        const char *error = errors->len == 0 ? NULL : errors->pdata[0];
        if ((error == NULL) != (cases[i].error == NULL) ||
            (error != NULL && !g_str_has_prefix(error, cases[i].error)))
            fail_msg("%s: %s", cases[i].title, error == NULL ? "no error" : error);
        json_decref(before);
        json_decref(after);
    }
}
