/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"
#include "models/apiserver/claim-strategy.h"
#include "models/apiserver/update-checks.h"
#include "models/pvc-pv-protection/pvc-pv-protection.h"
#include "tests/conformance/claim-acts.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/known.h"

#include <string.h>

/* What the API server does to claims, volumes and classes: validation, dropped fields, warnings. */

/* ---- Faults ---- */

static void
suite_claim_api_keep_fault(ApiParser *parser,
                           const json_t *where,
                           const char *message,
                           const char *hint)
{
    (void)where;
    (void)hint;
    g_ptr_array_add(parser->data, g_strdup(message));
}

/* As the API server says it: "spec.volumeMode: Unsupported value: ...". */
static json_t *
fault_to_json(Case *self, const char *fault)
{
    static const struct {
        const char *words, *type;
    } types[] = {
        {"Invalid value",     "Invalid"     },
        {"Required value",    "Required"    },
        {"Unsupported value", "NotSupported"},
        {"Forbidden",         "Forbidden"   },
        {"Too long",          "TooLong"     },
        {"Too many",          "TooMany"     },
        {"Duplicate value",   "Duplicate"   },
        {"Not found",         "NotFound"    },
    };
    const char *colon = strstr(fault, ": ");

    for (unsigned i = 0; colon != NULL && i < G_N_ELEMENTS(types); i++)
        if (g_str_has_prefix(colon + 2, types[i].words))
            return json_pack("{s:s%, s:s}", "field", fault, (size_t)(colon - fault), "type",
                             types[i].type);
    case_fail(self, "a fault without a type: %s", fault);
    return json_null();
}

static gboolean
has_item(const json_t *list, const json_t *wanted)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        if (json_equal((json_t *)item, (json_t *)wanted))
            return TRUE;
    return FALSE;
}

/* As sets: the order is that of the checks, and one field may have two faults of one type. */
static void
expect_faults(Case *self, const GPtrArray *faults)
{
    const json_t *expected = case_get(self, "expected.errors"), *item;
    json_t *found = json_array();
    gboolean same = TRUE;
    size_t i;

    case_known(self, "expected", "valid", "errors");
    for (unsigned k = 0; k < faults->len; k++)
        json_array_append_new(found, fault_to_json(self, faults->pdata[k]));
    json_array_foreach(expected, i, item)
        same = same && has_item(found, item);
    json_array_foreach(found, i, item)
        same = same && has_item(expected, item);
    if (!same)
        case_expect_json(self, "faults", expected, found);
    case_expect_flag(self, "expected.valid", faults->len == 0);
    json_decref(found);
}

/* ---- Validation ---- */

/* Returns: (owned): the faults that the parser finds in the manifest at @path */
static GPtrArray *
parse_faults(Case *self, const char *path, ObjectKind kind)
{
    g_autoptr(GString) where = g_string_new(NULL);
    GPtrArray *faults = g_ptr_array_new_with_free_func(g_free);
    json_t *manifest = json_deep_copy(case_get(self, path));
    gboolean has_classes = kind == KIND_ATTRIBUTES_CLASS ||
                           case_flag(self, "args.options.enable_volume_attributes_class");
    ApiParser parser = {
        .objects = self->objects,
        .report = suite_claim_api_keep_fault,
        .data = faults,
        .path = where,
        .any_api_group =
            case_flag(self, "args.options.allow_invalid_api_group_in_data_source_or_ref"),
        .no_attributes_classes = !has_classes,
    };

    case_known(self, "args.options", "allow_invalid_api_group_in_data_source_or_ref",
               "allow_invalid_label_value_in_selector", "enable_recover_from_expansion_failure",
               "enable_volume_attributes_class");
    if (case_flag(self, "args.options.allow_invalid_label_value_in_selector"))
        case_fail(self, "faulty labels in selectors are never allowed");
    json_object_set_new(manifest, "kind", json_string(kind_class(kind)->kind));
    json_object_set_new(manifest, "apiVersion", json_string(kind_class(kind)->api_version));
    object_unref(api_parser_object(&parser, manifest));
    json_decref(manifest);
    return faults;
}

static UpdateGates
gates_of(Case *self)
{
    return (UpdateGates){
        .recovers = case_flag(self, "args.options.enable_recover_from_expansion_failure"),
        .attributes_classes = case_gate(self, "VolumeAttributesClass", FALSE),
    };
}

void
run_validate_claim(Case *self)
{
    g_autoptr(GPtrArray) faults = parse_faults(self, "args.claim", KIND_CLAIM);

    case_known(self, "args", "claim", "options");
    expect_faults(self, faults);
}

void
run_validate_claim_update(Case *self)
{
    g_autoptr(GPtrArray) faults = parse_faults(self, "args.claim", KIND_CLAIM);
    const json_t *before = case_get(self, "args.old_claim"), *after = case_get(self, "args.claim");
    UpdateGates gates = gates_of(self);

    case_known(self, "args", "claim", "old_claim", "options");
    check_metadata_update(before, after, faults);
    check_claim_update(before, after, &gates, faults);
    expect_faults(self, faults);
}

void
run_validate_claim_status_update(Case *self)
{
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

    case_known(self, "args", "claim", "old_claim", "options");
    check_claim_status_update(case_get(self, "args.old_claim"), case_get(self, "args.claim"),
                              faults);
    expect_faults(self, faults);
}

void
run_validate_volume(Case *self)
{
    g_autoptr(GPtrArray) faults = parse_faults(self, "args.volume", KIND_VOLUME);

    case_known(self, "args", "volume", "options");
    expect_faults(self, faults);
}

void
run_validate_volume_update(Case *self)
{
    g_autoptr(GPtrArray) faults = parse_faults(self, "args.volume", KIND_VOLUME);
    UpdateGates gates = gates_of(self);

    case_known(self, "args", "volume", "old_volume", "options");
    check_volume_update(case_get(self, "args.old_volume"), case_get(self, "args.volume"), &gates,
                        faults);
    expect_faults(self, faults);
}

void
run_validate_class(Case *self)
{
    g_autoptr(GPtrArray) faults = parse_faults(self, "args.class", KIND_ATTRIBUTES_CLASS);

    case_known(self, "args", "class");
    expect_faults(self, faults);
}

void
run_validate_class_update(Case *self)
{
    g_autoptr(GPtrArray) faults = parse_faults(self, "args.class", KIND_ATTRIBUTES_CLASS);
    const json_t *before = case_get(self, "args.old_class"), *after = case_get(self, "args.class");

    case_known(self, "args", "class", "old_class");
    check_metadata_update(before, after, faults);
    check_attributes_class_update(before, after, faults);
    expect_faults(self, faults);
}

/* ---- Dropped fields ---- */

static ClaimGates
claim_gates(Case *self)
{
    case_known(self, "feature_gates", "VolumeAttributesClass", "AnyVolumeDataSource",
               "CrossNamespaceVolumeDataSource", "RecoverVolumeExpansionFailure");
    return (ClaimGates){
        .attributes_classes = case_gate(self, "VolumeAttributesClass", FALSE),
        .any_source = case_gate(self, "AnyVolumeDataSource", TRUE),
        .cross_namespace = case_gate(self, "CrossNamespaceVolumeDataSource", FALSE),
        .recovers = case_gate(self, "RecoverVolumeExpansionFailure", TRUE),
    };
}

/* A claim with the spec at @path. Returns: (nullable): NULL: there is none */
static Claim *
claim_of_spec(Case *self, const char *path)
{
    const json_t *spec = case_get(self, path);

    if (spec == NULL)
        return NULL;
    json_t *manifest = json_pack("{s:O}", "spec", spec);
    Object *claim = case_object(self, manifest, KIND_CLAIM);
    json_decref(manifest);
    return CLAIM(claim);
}

static Claim *
claim_at(Case *self, const char *path)
{
    const json_t *manifest = case_get(self, path);

    return manifest == NULL ? NULL : CLAIM(case_object(self, manifest, KIND_CLAIM));
}

static void
expect_claim(Case *self, const Claim *expected, const Claim *found)
{
    json_t *wanted = case_comparable(self, &expected->meta);
    json_t *is = case_comparable(self, &found->meta);

    case_expect_json(self, "claim", wanted, is);
    json_decref(wanted);
    json_decref(is);
}

void
run_drop_disabled_fields(Case *self)
{
    ClaimGates gates = claim_gates(self);
    Claim *claim = claim_of_spec(self, "args.spec");

    case_known(self, "args", "spec", "old_spec");
    claim_drop_disabled_fields(claim, claim_of_spec(self, "args.old_spec"), &gates);
    expect_claim(self, claim_of_spec(self, "expected.spec"), claim);
}

void
run_drop_disabled_status(Case *self)
{
    ClaimGates gates = claim_gates(self);
    Claim *claim = claim_at(self, "args.claim");

    case_known(self, "args", "claim", "old_claim");
    claim_drop_disabled_status(claim, claim_at(self, "args.old_claim"), &gates);
    expect_claim(self, claim_at(self, "expected.claim"), claim);
}

static void
run_normalize(Case *self)
{
    ClaimGates gates = claim_gates(self);
    Claim *claim = claim_of_spec(self, "args.spec");

    case_known(self, "args", "spec");
    claim_normalize_sources(claim, &gates);
    expect_claim(self, claim_of_spec(self, "expected.spec"), claim);
}

static void
run_enforce(Case *self)
{
    Claim *claim = claim_of_spec(self, "args.spec");

    case_known(self, "args", "spec", "old_spec");
    claim_drop_odd_source(claim, claim_of_spec(self, "args.old_spec"));
    expect_claim(self, claim_of_spec(self, "expected.spec"), claim);
}

/* ---- Warnings, admission ---- */

/* "about": the fields that they begin with. */
static void
run_warnings(Case *self)
{
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    json_t *about = json_array();

    case_known(self, "args", "claim");
    case_known(self, "expected", "warnings", "about");
    claim_warnings(case_get(self, "args.claim"), warnings);
    for (unsigned i = 0; i < warnings->len; i++) {
        const char *warning = warnings->pdata[i];
        json_array_append_new(about,
                              json_stringn(warning, (size_t)(strstr(warning, ": ") - warning)));
    }
    if (json_integer_value(case_get(self, "expected.warnings")) != warnings->len)
        case_fail(self, "%u warnings", warnings->len);
    case_expect_json(self, "about", case_get(self, "expected.about"), about);
    json_decref(about);
}

/* One plugin was recorded, ours is the whole server: only the metadata is compared. */
static void
run_admit_create(Case *self)
{
    static const WorldOptions options = {.only = &pvc_protection_class};
    Object *object = case_object_of_manifest(self, case_get(self, "args.object"));
    Object *expected = case_object_of_manifest(self, case_get(self, "expected.object"));
    ApiRequest request = {
        .verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object, .client = "user"};
    ApiResponse response;

    case_known(self, "args", "object");
    case_world_new(self, &options);
    api_server_commit(self->api, &request, &response);
    const Object *stored = api_server_get(self->api, object->key);
    if (stored == NULL) {
        case_fail(self, "not created: %s", response.message);
        return;
    }
    json_t *wanted = case_comparable(self, expected), *found = case_comparable(self, stored);
    json_object_del(json_object_get(found, "metadata"), "uid");
    case_expect_json(self, "metadata", json_object_get(wanted, "metadata"),
                     json_object_get(found, "metadata"));
    json_decref(wanted);
    json_decref(found);
}

static const Act claim_api_acts[] = {
    {"drop_disabled_fields",                        run_drop_disabled_fields        },
    {"drop_disabled_fields_from_status",            run_drop_disabled_status        },
    {"normalize_data_sources",                      run_normalize                   },
    {"enforce_data_source_backwards_compatibility", run_enforce                     },
    {"get_warnings_for_persistent_volume_claim",    run_warnings                    },
    {"admit_create",                                run_admit_create                },
    {"validate_claim",                              run_validate_claim              },
    {"validate_claim_update",                       run_validate_claim_update       },
    {"validate_claim_status_update",                run_validate_claim_status_update},
    {"validate_volume",                             run_validate_volume             },
    {"validate_volume_update",                      run_validate_volume_update      },
    {NULL,                                          NULL                            },
};

const Suite claim_api_suite = {"claim_api", claim_api_acts};
