/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"
#include "models/client/process-private.h"
#include "models/workloads/stateful-set/private.h"
#include "models/workloads/stateful-set/stateful-set-test.h"
#include "models/workloads/stateful-set/stateful-set.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/known.h"

#include <string.h>

/* The claims of StatefulSets: functions on owner references, and the plans of one pod. */

/* ---- Arguments ---- */

static const StatefulSet *
set_of(Case *self)
{
    return (const StatefulSet *)case_object(self, case_get(self, "args.set"), KIND_STATEFUL_SET);
}

static Pod *
suite_stateful_set_pod_of(Case *self)
{
    return POD(case_object(self, case_get(self, "args.pod"), KIND_POD));
}

static Object *
suite_stateful_set_claim_of(Case *self, const char *path)
{
    return case_object(self, case_get(self, path), KIND_CLAIM);
}

/* A pod without an ordinal in its name is outside every range. */
static ClaimOwners
owners_of(Case *self)
{
    const StatefulSet *set = set_of(self);
    const Pod *pod = suite_stateful_set_pod_of(self);
    ObjectKey *key = stateful_pod_key_of(self->objects, set, pod);
    int64_t position = stateful_position(set, key);

    case_known(self, "args", "claim", "pod", "set");
    return (ClaimOwners){
        .set = set,
        .pod = &pod->meta,
        .pod_key = (ObjectKey *)pod->meta.key,
        .is_in_range = position >= 0 && position < set->replicas,
    };
}

static ObjectUid
uid_of(Case *self, const json_t *manifest)
{
    return case_object(self, manifest, KIND_CLAIM)->uid;
}

/* "obj" and "ref" may be bare names with a uid. @wrapped: what they are as metadata */
static OwnerName
name_of(Case *self, const json_t *object)
{
    Strings *strings = objects_strings(self->objects);
    const char *group = case_string(self, "args.gvk.group");
    const char *version = case_string(self, "args.gvk.version");
    const char *kind = case_string(self, "args.gvk.kind");
    gboolean is_bare = json_object_get(object, "metadata") == NULL;
    json_t *wrapped =
        is_bare ? json_pack("{s:O}", "metadata", object) : json_incref((json_t *)object);
    const char *name = json_path_string(wrapped, "metadata.name");
    OwnerName result = {
        .api_version = group == NULL || group[0] == '\0'
                           ? strings_intern(strings, version)
                           : strings_internf(strings, "%s/%s", group, version),
        .kind = strings_intern(strings, kind),
        .name = strings_intern(strings, name == NULL ? "" : name),
        .uid = uid_of(self, wrapped),
    };

    json_decref(wrapped);
    return result;
}

/* ---- Functions ---- */

static void
run_retention_policy(Case *self)
{
    const StatefulSet *set = set_of(self);
    json_t *found =
        json_pack("{s:s, s:s}", "whenDeleted", set->delete_when_deleted ? "Delete" : "Retain",
                  "whenScaled", set->delete_when_scaled ? "Delete" : "Retain");

    case_known(self, "args", "set");
    case_expect_json(self, "policy", case_get(self, "expected.result"), found);
    json_decref(found);
}

static void
run_matches_ref(Case *self)
{
    OwnerName name = name_of(self, case_get(self, "args.obj"));
    json_t *holder =
        json_pack("{s:{s:[O]}}", "metadata", "ownerReferences", case_get(self, "args.ref"));
    const Object *claim = case_object(self, holder, KIND_CLAIM);

    case_known(self, "args", "gvk", "obj", "ref");
    json_decref(holder);
    case_expect_flag(self, "expected.result",
                     claim->owners != NULL && owner_name_matches(&name, &claim->owners->items[0]));
}

static void
run_has_owner_ref(Case *self)
{
    const Object *owner = suite_stateful_set_claim_of(self, "args.owner");

    case_known(self, "args", "owner", "target");
    case_expect_flag(self, "expected.result",
                     object_is_owned_by(suite_stateful_set_claim_of(self, "args.target"), owner));
}

static void
run_has_stale_owner_ref(Case *self)
{
    OwnerName name = name_of(self, case_get(self, "args.obj"));

    case_known(self, "args", "gvk", "obj", "target");
    case_expect_flag(
        self, "expected.result",
        claim_has_stale_owner(suite_stateful_set_claim_of(self, "args.target"), &name));
}

static void
run_has_unexpected_controller(Case *self)
{
    ClaimOwners owners = owners_of(self);

    case_expect_flag(
        self, "expected.result",
        claim_has_other_controller(suite_stateful_set_claim_of(self, "args.claim"), &owners));
}

static void
run_has_non_controller_owner(Case *self)
{
    ClaimOwners owners = owners_of(self);

    case_expect_flag(
        self, "expected.result",
        claim_has_weak_owner(suite_stateful_set_claim_of(self, "args.claim"), &owners));
}

static void
run_is_claim_owner_up_to_date(Case *self)
{
    ClaimOwners owners = owners_of(self);

    case_expect_flag(
        self, "expected.result",
        claim_owners_are_right(suite_stateful_set_claim_of(self, "args.claim"), &owners));
}

static void
suite_stateful_set_expect_object(Case *self, const char *path, Object *found, ObjectKind kind)
{
    json_t *wanted = case_comparable(self, case_object(self, case_get(self, path), kind));
    json_t *is = case_comparable(self, found);

    case_expect_json(self, path, wanted, is);
    json_decref(wanted);
    json_decref(is);
}

static void
run_update_claim_owner_refs(Case *self)
{
    ClaimOwners owners = owners_of(self);
    Object *claim = suite_stateful_set_claim_of(self, "args.claim");

    claim_edit_owners(claim, &owners);
    suite_stateful_set_expect_object(self, "expected.claim", claim, KIND_CLAIM);
}

static void
run_claims_of_pod(Case *self)
{
    const StatefulSet *set = set_of(self);
    const Pod *pod = suite_stateful_set_pod_of(self);
    ObjectKey *key = stateful_pod_key_of(self->objects, set, pod);
    unsigned n = set->claim_templates == NULL ? 0 : set->claim_templates->n_items;

    case_known(self, "args", "pod", "set");
    if (json_object_size(case_get(self, "expected.claims")) != n)
        case_fail(self, "%u claims", n);
    for (unsigned i = 0; i < n; i++) {
        const Claim *template = set->claim_templates->items[i];
        g_autofree char *path = g_strdup_printf("expected.claims.%s", object_name(&template->meta));
        Object *claim =
            stateful_claim_new(set, template, stateful_claim_key(self->objects, template, key));
        suite_stateful_set_expect_object(self, path, claim, KIND_CLAIM);
        object_unref(claim);
    }
}

static void
run_pod_volumes_match(Case *self)
{
    case_known(self, "args", "pod", "set");
    case_expect_flag(
        self, "expected.result",
        stateful_volumes_match(self->objects, set_of(self), suite_stateful_set_pod_of(self)));
}

static void
run_update_pod_volumes(Case *self)
{
    const StatefulSet *set = set_of(self);
    Pod *pod = suite_stateful_set_pod_of(self);
    PodVolumes *volumes = stateful_pod_volumes(
        self->objects, set, stateful_pod_key_of(self->objects, set, pod), pod->spec, pod->volumes);

    case_known(self, "args", "pod", "set");
    pod_set_spec(pod, pod->spec, volumes);
    pod_volumes_unref(volumes);
    suite_stateful_set_expect_object(self, "expected.pod", &pod->meta, KIND_POD);
}

/* ---- Plans of one pod ----
 *
 * The recorded API has reads of the caches and writes. The answers to reads up to the first write
 * are what the caches hold at first; those after a write are what they hold from then on. */

static const WorldOptions set_world = {.only = &stateful_set_controller_class};

static const struct {
    const char *call, *object;
    ObjectKind kind;
    ApiVerb verb;
} calls[] = {
    {"create_claim", "claim", KIND_CLAIM, API_CREATE},
    {"update_claim", "claim", KIND_CLAIM, API_UPDATE},
    {"create_pod",   "pod",   KIND_POD,   API_CREATE},
    {"update_pod",   "pod",   KIND_POD,   API_UPDATE},
    {"delete_pod",   "pod",   KIND_POD,   API_DELETE},
    {"get_claim",    "claim", KIND_CLAIM, API_GET   },
    {"get_pod",      "pod",   KIND_POD,   API_GET   },
};

static const struct {
    const char *error;
    ApiCode code;
} errors[] = {
    {"not found",      API_NOT_FOUND},
    {"already exists", API_EXISTS   },
    {"conflict",       API_CONFLICT },
};

/* A run under way. */
typedef struct {
    Case *self;
    json_t *writes; /* as in "expected.api" */
    json_t *errors; /* "inject.api_answers" that are still to come */
    size_t at;      /* entries of "expected.api" that are over */
} StatefulSetReplay;

static int
find_call(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++)
        if (g_strcmp0(calls[i].call, name) == 0)
            return (int)i;
    return -1;
}

/* The cache and the API server have the same version of it. */
static void
put_into_cache(Case *self, Object *object, ObjectKey *stored_as)
{
    Informer *informer = case_informer(self, &stateful_set_controller_class, object_kind(object));
    g_autoptr(Object) stored = object_edit(object);

    stored->key = stored_as;
    case_import_object(self, stored, CASE_API);
    object->resource_version = api_server_get(self->api, stored_as)->resource_version;
    informer_put(informer, object);
}

/* Carries the answers to reads up to the next write into the caches. */
static void
read_on(StatefulSetReplay *replay)
{
    Case *self = replay->self;
    const json_t *api = case_get(self, "expected.api");

    for (; replay->at < json_array_size(api); replay->at++) {
        const json_t *entry = json_array_get(api, replay->at);
        int call = find_call(json_path_string(entry, "call"));
        if (call < 0) {
            case_fail(self, "no such call: %s", json_path_string(entry, "call"));
            continue;
        }
        if (calls[call].verb != API_GET)
            return;
        const json_t *manifest = json_object_get(entry, calls[call].object);
        if (manifest != NULL) {
            Object *object = case_object(self, manifest, calls[call].kind);
            put_into_cache(self, object, (ObjectKey *)object->key);
        } else if (g_strcmp0(json_path_string(entry, "error"), "not found") != 0) {
            case_fail(self, "a cache that cannot be read");
        }
    }
}

/* The recorded errors have no kind. A write that is tried again met a conflict. */
static ApiCode
code_of_error(const StatefulSetReplay *replay, const json_t *error, const char *call)
{
    const json_t *api = case_get(replay->self, "expected.api");

    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++)
        if (g_strcmp0(json_string_value(error), errors[i].error) == 0)
            return errors[i].code;
    if (!json_is_true(error))
        case_fail(replay->self, "no such error: %s", json_string_value(error));
    for (size_t i = replay->at + 1; i < json_array_size(api); i++)
        if (g_strcmp0(json_path_string(json_array_get(api, i), "call"), call) == 0)
            return API_CONFLICT;
    return API_INVALID;
}

/* Takes the error of the call out of the list. Returns: (nullable) (owned) */
static json_t *
take_error(StatefulSetReplay *replay, const char *call, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(replay->errors, i, item) {
        const char *wanted = json_path_string(item, "name");
        if (g_strcmp0(json_path_string(item, "call"), call) != 0 ||
            (wanted != NULL && strcmp(wanted, name) != 0))
            continue;
        json_t *error = json_incref(json_object_get(item, "error"));
        json_array_remove(replay->errors, i);
        return error;
    }
    return NULL;
}

static ApiCode
suite_stateful_set_answer_call(void *data, const ApiRequest *request, GString *message)
{
    StatefulSetReplay *replay = data;
    Case *self = replay->self;
    unsigned i = 0;

    while (i < G_N_ELEMENTS(calls) &&
           (calls[i].kind != request->key->kind || calls[i].verb != request->verb))
        i++;
    if (i == G_N_ELEMENTS(calls)) {
        case_fail(self, "a call that the controller does not make: %s", request->key->text);
        return API_OK;
    }
    const Object *object =
        request->object != NULL ? request->object : api_server_get(self->api, request->key);
    json_t *error = take_error(replay, calls[i].call, request->key->name);
    json_t *entry = json_pack("{s:s, s:o}", "call", calls[i].call, calls[i].object,
                              object == NULL ? json_null() : case_comparable(self, object));
    ApiCode code = error == NULL ? API_OK : code_of_error(replay, error, calls[i].call);
    if (error != NULL)
        json_object_set_new(entry, "error", error);
    json_array_append_new(replay->writes, entry);
    g_string_assign(message, "injected");
    replay->at++;
    read_on(replay);
    return code;
}

/* The uids that a case does not tell are ours. */
static void
expect_writes(Case *self, const StatefulSetReplay *replay)
{
    json_t *wanted = json_array();
    const json_t *entry;
    size_t i;

    json_array_foreach(case_get(self, "expected.api"), i, entry) {
        int call = find_call(json_path_string(entry, "call"));
        if (call < 0 || calls[call].verb == API_GET)
            continue;
        json_t *copy = json_copy((json_t *)entry);
        Object *object =
            case_object(self, json_object_get(entry, calls[call].object), calls[call].kind);
        json_object_set_new(copy, calls[call].object, case_comparable(self, object));
        json_object_del(copy, "name");
        json_t *found = json_object_get(json_array_get(replay->writes, json_array_size(wanted)),
                                        calls[call].object);
        if (!object_uid_is_set(object->uid))
            json_object_del(json_object_get(found, "metadata"), "uid");
        json_array_append_new(wanted, copy);
    }
    case_expect_json(self, "writes", wanted, replay->writes);
    json_decref(wanted);
}

static void
suite_stateful_set_up(Case *self, StatefulSetReplay *replay)
{
    *replay = (StatefulSetReplay){
        .self = self,
        .writes = json_array(),
        .errors = json_deep_copy(case_get(self, "inject.api_answers")),
    };
    case_known(self, "args", "pod", "set");
    case_known(self, "inject", "api_answers");
    if (!case_gate(self, "StatefulSetAutoDeletePVC", TRUE))
        case_fail(self, "StatefulSetAutoDeletePVC cannot be off: it is locked in 1.32");
    case_world_new(self, &set_world);
    case_start(self, &set_world);
    api_server_set_fault(self->api, suite_stateful_set_answer_call, replay);
}

static void
suite_stateful_set_tear_down(StatefulSetReplay *replay)
{
    json_decref(replay->writes);
    json_decref(replay->errors);
}

static void
run_item(Case *self, ItemAction action)
{
    const StatefulSet *set = set_of(self);
    Pod *pod = suite_stateful_set_pod_of(self);
    StatefulSetReplay replay;

    suite_stateful_set_up(self, &replay);
    const StatefulSetController *controller = case_model(self, &stateful_set_controller_class);
    if (action != ITEM_CREATE)
        put_into_cache(self, &pod->meta, stateful_pod_key_of(self->objects, set, pod));
    read_on(&replay);
    PlanStart start = stateful_item_start(controller, set, action, (ObjectKey *)pod->meta.key,
                                          action == ITEM_CREATE ? object_edit(&pod->meta) : NULL);
    case_run_start(self, &start);
    case_expect_error(self, "expected.error");
    expect_writes(self, &replay);
    suite_stateful_set_tear_down(&replay);
}

static void
run_create_pod(Case *self)
{
    run_item(self, ITEM_CREATE);
}

static void
run_update_pod(Case *self)
{
    run_item(self, ITEM_UPDATE);
}

static void
run_delete_pod(Case *self)
{
    run_item(self, ITEM_DELETE);
}

static void
run_create_missing_claims(Case *self)
{
    run_item(self, ITEM_CLAIMS);
}

static void
run_update_claims(Case *self)
{
    run_item(self, ITEM_OWNERS);
}

/* Questions that read the cache; they cannot fail. */
static void
suite_stateful_set_ask(Case *self, gboolean is_about_stale)
{
    const StatefulSet *set = set_of(self);
    const Pod *pod = suite_stateful_set_pod_of(self);
    StatefulSetReplay replay;

    suite_stateful_set_up(self, &replay);
    const StatefulSetController *controller = case_model(self, &stateful_set_controller_class);
    read_on(&replay);
    case_expect_flag(self, "expected.result",
                     is_about_stale ? stateful_has_stale_claim(controller, set, &pod->meta)
                                    : stateful_claims_are_right(controller, set, pod));
    case_expect_flag(self, "expected.error", FALSE);
    suite_stateful_set_tear_down(&replay);
}

static void
run_claims_match(Case *self)
{
    suite_stateful_set_ask(self, FALSE);
}

static void
run_claim_is_stale(Case *self)
{
    suite_stateful_set_ask(self, TRUE);
}

static const Act stateful_set_acts[] = {
    {"retention_policy",                   run_retention_policy         },
    {"matches_ref",                        run_matches_ref              },
    {"has_owner_ref",                      run_has_owner_ref            },
    {"has_stale_owner_ref",                run_has_stale_owner_ref      },
    {"has_unexpected_controller",          run_has_unexpected_controller},
    {"has_non_controller_owner",           run_has_non_controller_owner },
    {"is_claim_owner_up_to_date",          run_is_claim_owner_up_to_date},
    {"update_claim_owner_refs",            run_update_claim_owner_refs  },
    {"claims_of_pod",                      run_claims_of_pod            },
    {"pod_volumes_match",                  run_pod_volumes_match        },
    {"update_pod_volumes",                 run_update_pod_volumes       },
    {"create_pod",                         run_create_pod               },
    {"update_pod",                         run_update_pod               },
    {"delete_pod",                         run_delete_pod               },
    {"create_missing_claims",              run_create_missing_claims    },
    {"update_claims_for_retention_policy", run_update_claims            },
    {"claims_match_retention_policy",      run_claims_match             },
    {"pod_claim_is_stale",                 run_claim_is_stale           },
    {NULL,                                 NULL                         },
};

const Suite stateful_set_pvc_suite = {"stateful_set_pvc", stateful_set_acts};
