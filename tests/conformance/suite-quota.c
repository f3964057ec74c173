/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/api/quota/quota.h"
#include "models/apiserver/apiserver-private.h"
#include "models/apiserver/checks.h"
#include "models/resource-quota-controller/resource-quota-controller.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/known.h"

#include <string.h>

/* Quotas and claims: what counts, how much, and the admission of a claim. */

static const struct {
    const char *operation;
    ApiVerb of_object, of_subresource;
} operations[] = {
    {"CREATE",  API_CREATE, API_BIND         },
    {"UPDATE",  API_UPDATE, API_UPDATE_STATUS},
    {"DELETE",  API_DELETE, API_EVICT        },
    {"CONNECT", API_GET,    API_GET          },
};

static ApiVerb
verb_of(Case *self)
{
    const char *operation = case_string(self, "args.operation");
    const char *subresource = case_string(self, "args.subresource");
    gboolean of_object = subresource == NULL || subresource[0] == '\0';

    for (unsigned i = 0; i < G_N_ELEMENTS(operations); i++)
        if (g_strcmp0(operations[i].operation, operation) == 0)
            return of_object ? operations[i].of_object : operations[i].of_subresource;
    case_fail(self, "no such operation: %s", operation);
    return API_GET;
}

/* The kind of the object does not matter: this is asked for claims only. */
static void
run_handles(Case *self)
{
    case_known(self, "args", "operation", "subresource", "resource");
    case_expect_flag(self, "expected.handles", quota_handles(KIND_CLAIM, verb_of(self)));
}

static void
run_matching_resources(Case *self)
{
    const json_t *expected = case_get(self, "expected.matching"), *item;
    size_t i, k, n = 0;

    case_known(self, "args", "resources");
    json_array_foreach(case_get(self, "args.resources"), i, item) {
        const json_t *other;
        gboolean is_expected = FALSE,
                 matches = quota_resource_is_of(json_string_value(item), KIND_CLAIM);
        json_array_foreach(expected, k, other)
            is_expected = is_expected || json_equal((json_t *)other, (json_t *)item);
        if (is_expected != matches)
            case_fail(self, "%s: expected %s", json_string_value(item),
                      is_expected ? "to match" : "not to match");
        n += matches;
    }
    if (n != json_array_size(expected))
        case_fail(self, "%zu resources match", n);
}

/* ---- Usage ---- */

static void
add_usage(json_t *usage, const Claim *claim, const char *resource)
{
    char buffer[QUANTITY_BUFFER];
    ResourceAmount amount = quota_usage(NULL, &claim->meta, resource, QUOTA_ALWAYS);

    json_object_set_new(usage, resource, json_string(resource_amount_format(&amount, buffer)));
}

static void
run_claim_usage(Case *self)
{
    static const char *const resources[] = {"persistentvolumeclaims", "requests.storage"};
    const Claim *claim = CLAIM(case_object(self, case_get(self, "args.claim"), KIND_CLAIM));
    json_t *usage = json_object();

    case_known(self, "args", "claim");
    add_usage(usage, claim, "count/persistentvolumeclaims");
    for (unsigned i = 0; i < G_N_ELEMENTS(resources); i++) {
        g_autofree char *of_class =
            g_strdup_printf("%s.storageclass.storage.k8s.io/%s", claim_class(claim), resources[i]);
        add_usage(usage, claim, resources[i]);
        if (claim_class(claim)[0] != '\0')
            add_usage(usage, claim, of_class);
    }
    case_expect_json(self, "usage", case_get(self, "expected.usage"), usage);
    case_expect_flag(self, "expected.error", FALSE);
    json_decref(usage);
}

/* ---- Admission ---- */

static const ResourceQuota *
only_quota(Case *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_RESOURCE_QUOTA); i++) {
        const Object *quota =
            api_server_get(self->api, objects_key_at(self->objects, KIND_RESOURCE_QUOTA, i));
        if (quota != NULL)
            return RESOURCE_QUOTA_CONST(quota);
    }
    return NULL;
}

static void
expect_used(Case *self, const ResourceQuota *quota)
{
    const json_t *expected = case_get(self, "expected.quota_used_after");
    json_t *json = object_to_json(&quota->meta);

    if (expected != NULL)
        case_expect_json(self, "status.used", expected, json_path_get(json, "status.used"));
    json_decref(json);
}

/* The plugin alone, as recorded: without the server's other checks of an update. */
static void
run_admit_claim(Case *self)
{
    static const WorldOptions options = {.only = &resource_quota_controller_class};
    const json_t *manifest, *old = case_get(self, "args.old_claim");
    const char *part = case_string(self, "expected.message_part");
    g_autoptr(GString) message = g_string_new(NULL);
    size_t i;

    case_known(self, "args", "operation", "claim", "old_claim", "subresource");
    case_known(self, "expected", "allowed", "message_part", "quota_written", "quota_used_after");
    case_world_new(self, &options);
    json_array_foreach(case_get(self, "initial.objects"), i, manifest)
        case_import_object(self, case_object_of_manifest(self, manifest), CASE_API);
    const Claim *before = old == NULL ? NULL : CLAIM(case_object(self, old, KIND_CLAIM));
    const Claim *after = CLAIM(case_object(self, case_get(self, "args.claim"), KIND_CLAIM));
    const ResourceQuota *quota = only_quota(self);
    uint64_t version = quota == NULL ? 0 : quota->meta.resource_version;
    ApiCode code = quota_handles(KIND_CLAIM, verb_of(self))
                       ? quota_admit(&self->api->store, before == NULL ? NULL : &before->meta,
                                     &after->meta, message)
                       : API_OK;

    quota = only_quota(self);
    case_expect_flag(self, "expected.allowed", code == API_OK);
    if (part != NULL && strstr(message->str, part) == NULL)
        case_fail(self, "the message is: %s", message->str);
    if (quota == NULL)
        return;
    if (case_get(self, "expected.quota_written") != NULL)
        case_expect_flag(self, "expected.quota_written", quota->meta.resource_version != version);
    expect_used(self, quota);
}

static const Act quota_acts[] = {
    {"handles",            run_handles           },
    {"matching_resources", run_matching_resources},
    {"claim_usage",        run_claim_usage       },
    {"admit_claim",        run_admit_claim       },
    {NULL,                 NULL                  },
};

const Suite quota_suite = {"quota", quota_acts};
