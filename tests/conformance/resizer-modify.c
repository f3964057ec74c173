/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"
#include "models/external-resizer/resizer-test.h"
#include "models/external-resizer/resizer.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/resizer-acts.h"
#include "tests/conformance/script-driver.h"

#include <string.h>

/* Changes of attributes: single syncs of the resizer's second controller, and the edits that it
 * makes. */

#define DRIVER "mock"

/* ---- The driver ---- */

/* The recorded driver could also fail without a code, as a call that was never made. Ours cannot:
 * there the write after it is refused, which ends in the same way (RSZ-67). */
static gboolean
fails_without_code(const Case *self)
{
    return case_flag(self, "inject.driver_error");
}

static void
resizer_modify_answer_call(void *data,
                           unsigned number,
                           const CsiRequest *request,
                           CsiResponse *response)
{
    const char *error = case_string(data, "inject.driver_error");

    (void)number, (void)request;
    if (error == NULL)
        return;
    response->message = error;
    if (!csi_code_parse(error, &response->code))
        response->code = CSI_UNKNOWN;
}

static unsigned
n_modify_calls(const ScriptDriver *driver)
{
    const json_t *call;
    unsigned n = 0;
    size_t i;

    json_array_foreach(script_driver_calls(driver), i, call)
        n += g_strcmp0(json_path_string(call, "call"), "ControllerModifyVolume") == 0;
    return n;
}

static void
resizer_modify_expect_calls(Case *self, const char *path, const ScriptDriver *driver)
{
    const json_t *expected = case_get(self, path);

    if (expected != NULL && json_integer_value(expected) != n_modify_calls(driver))
        case_fail(self, "%s: %u", path, n_modify_calls(driver));
}

/* ---- The world ---- */

static void *
resizer_modify_options_of(void *data, const ProcessClass *class)
{
    const Case *self = data;
    Strings *strings = objects_strings(self->objects);

    if (class != &external_resizer_process)
        return NULL;
    ExternalResizerOptions *options = process_options_new(class, strings);
    options->common.n_workers = 0; /* nothing comes by itself */
    options->extra_modify_metadata = case_flag(self, "config.extra_metadata");
    options->feature_gates =
        strings_internf(strings, "VolumeAttributesClass=%s",
                        case_gate(self, "VolumeAttributesClass", FALSE) ? "true" : "false");
    return options;
}

/* A case that lists no classes has those that its claim names. */
static void
import_classes(Case *self, const Claim *claim)
{
    const char *const names[] = {claim->attributes_class, claim->current_attributes_class};
    const json_t *listed = case_get(self, "initial.attribute_classes");

    case_get(self, "config.target_class_exists"); /* as the list says */
    case_import(self, "initial.attribute_classes", KIND_ATTRIBUTES_CLASS, CASE_API);
    for (unsigned i = 0; listed == NULL && i < G_N_ELEMENTS(names); i++) {
        if (names[i] == NULL)
            continue;
        json_t *class = json_pack("{s:{s:s}, s:s, s:{s:s}}", "metadata", "name", names[i],
                                  "driverName", DRIVER, "parameters", "iops", "1");
        case_import_object(self, case_object(self, class, KIND_ATTRIBUTES_CLASS), CASE_API);
        json_decref(class);
    }
}

/* The recorded tests pass volumes on that are not listed, but seen later. */
static void
import_volume(Case *self)
{
    const json_t *volume = case_get(self, "initial.volume");

    if (volume == NULL)
        case_import(self, "observed.volumes", KIND_VOLUME, CASE_API);
    else
        case_import_object(self, case_object(self, volume, KIND_VOLUME), CASE_API);
}

/* ---- Syncs ---- */

static void
resizer_modify_expect_text(Case *self, const char *what, const char *expected, const char *found)
{
    if (g_strcmp0(expected, found) != 0)
        case_fail(self, "%s: %s", what, found == NULL ? "none" : found);
}

static void
expect_outcome(Case *self, const ObjectKey *key, const ScriptDriver *driver)
{
    const Claim *claim = CLAIM_CONST(api_server_get(self->api, key));
    const Volume *volume = VOLUME_CONST(
        api_server_get(self->api, case_key(self, KIND_VOLUME, claim_volume_name(claim))));
    const json_t *status = case_get(self, "expected.modify_status");

    resizer_expect_flag(self, "expected.csi_modify_called", n_modify_calls(driver) > 0);
    resizer_expect_flag(self, "expected.modify_called", n_modify_calls(driver) > 0);
    if (case_get(self, "expected.current_class") != NULL)
        resizer_modify_expect_text(self, "current class",
                                   case_string(self, "expected.current_class"),
                                   claim->current_attributes_class);
    if (case_get(self, "expected.volume_class") != NULL)
        resizer_modify_expect_text(self, "class of the volume",
                                   case_string(self, "expected.volume_class"),
                                   volume->attributes_class);
    if (status != NULL) {
        const char *word = json_path_string(status, "status");
        resizer_modify_expect_text(self, "status", g_strcmp0(word, "") == 0 ? NULL : word,
                                   claim->modify_status);
        resizer_modify_expect_text(self, "target",
                                   json_path_string(status, "targetVolumeAttributesClassName"),
                                   claim->modify_target);
    }
}

/* The second of two syncs, with what the first one wrote. */
static void
sync_again(Case *self, ExternalResizer *resizer, ObjectKey *key, const ScriptDriver *driver)
{
    const char *outcome = case_string(self, "expected.second_sync");

    if (case_flag(self, "inject.slow_retry_delay_expires_between"))
        case_wait(self, resizer->options->common.retry_interval_max);
    case_run_plan(self, resizer, resizer_modify, key);
    if (outcome != NULL && g_str_has_prefix(outcome, "delayed") != (n_modify_calls(driver) == 1))
        case_fail(self, "second sync: %u calls", n_modify_calls(driver));
    resizer_modify_expect_calls(self, "observed_second.modify_calls", driver);
    resizer_modify_expect_calls(self, "expected.csi_modify_calls", driver);
}

void
run_modify(Case *self)
{
    const NodePluginOptions plugin = {.preregistered = TRUE};
    const ScriptOptions script = {.plugin = CSI_PLUGIN_CONTROLLER_SERVICE,
                                  .controller = CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY |
                                                CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY,
                                  .answer = resizer_modify_answer_call,
                                  .data = self};
    const WorldOptions options = {.only = &external_resizer_class, .live = TRUE};

    case_world_new(self, &options);
    ScriptDriver *driver = script_driver_new(self, DRIVER, &script);
    cluster_add_driver(self->cluster, script_driver_base(driver), DRIVER, &plugin,
                       resizer_modify_options_of, self);
    case_start(self, &options);
    Object *claim = case_object(self, case_get(self, "initial.claim"), KIND_CLAIM);
    ObjectKey *key = (ObjectKey *)claim->key;
    import_classes(self, CLAIM(claim));
    import_volume(self);
    case_import_object(self, claim, CASE_API);
    case_wait(self, SIM_SECOND);
    if (fails_without_code(self))
        api_server_set_fault(self->api, resizer_refuse_volumes, self);
    case_forget(self);
    ExternalResizer *resizer = cluster_model(self->cluster, &external_resizer_class, DRIVER);
    case_run_plan(self, resizer, resizer_modify, key);
    case_expect_error(self, "observed.error");
    case_expect_error(self, "expected.error");
    resizer_modify_expect_calls(self, "observed.modify_calls", driver);
    resizer_expect_objects(self, "observed.claims", KIND_CLAIM);
    resizer_expect_objects(self, "observed.volumes", KIND_VOLUME);
    resizer_expect_writes(self);
    expect_outcome(self, key, driver);
    if (strchr(case_string(self, "act"), ',') != NULL)
        sync_again(self, resizer, key, driver);
    cluster_free(self->cluster);
    self->cluster = NULL;
    csi_driver_free(script_driver_base(driver));
}

/* ---- Edits ---- */

static void
expect_conditions(Case *self, const Claim *claim)
{
    json_t *found = json_array();

    for (unsigned i = 0; claim->conditions != NULL && i < claim->conditions->n_items; i++)
        json_array_append_new(found,
                              json_pack("{s:s, s:s}", "type", claim->conditions->items[i].type,
                                        "status", claim->conditions->items[i].status));
    json_t *none = json_array();
    const json_t *expected = case_get(self, "expected.conditions");
    case_expect_json(self, "conditions", json_is_array(expected) ? expected : none, found);
    json_decref(none);
    json_decref(found);
}

/* @with_conditions: compares those of expected.claim, too */
static void
expect_claim(Case *self, const Object *claim, gboolean with_conditions)
{
    Object *expected = case_object(self, case_get(self, "expected.claim"), KIND_CLAIM);
    json_t *wanted = case_comparable(self, expected), *found = case_comparable(self, claim);

    if (!with_conditions) {
        json_object_del(json_object_get(wanted, "status"), "conditions");
        json_object_del(json_object_get(found, "status"), "conditions");
    }
    case_expect_json(self, "claim", wanted, found);
    json_decref(wanted);
    json_decref(found);
}

static Object *
mark_claim(Case *self, ModifyStep step, const char *error)
{
    Object *claim = case_object(self, case_get(self, "initial.claim"), KIND_CLAIM);
    ModifyMark mark;

    modify_mark_init(&mark, step,
                     step == MODIFY_COMPLETED ? CLAIM(claim)->modify_target
                                              : CLAIM(claim)->attributes_class,
                     error, 0, objects_strings(self->objects));
    modify_mark_apply(claim, &mark);
    return claim;
}

void
run_mark_modify_status(Case *self)
{
    static const struct {
        const char *status, *error;
        ModifyStep step;
    } rows[] = {
        {"Pending",    NULL,    MODIFY_PENDING    },
        {"InProgress", NULL,    MODIFY_IN_PROGRESS},
        {"Infeasible", "error", MODIFY_INFEASIBLE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (g_strcmp0(rows[i].status, case_string(self, "args.status")) != 0)
            continue;
        const Object *claim = mark_claim(self, rows[i].step, rows[i].error);
        expect_claim(self, claim, FALSE);
        expect_conditions(self, CLAIM_CONST(claim));
        return;
    }
    case_fail(self, "no such status");
}

void
run_mark_modify_error(Case *self)
{
    expect_conditions(self, CLAIM_CONST(mark_claim(self, MODIFY_FAILED, "error")));
}

void
run_mark_modify_over(Case *self)
{
    const Object *before = case_object(self, case_get(self, "initial.claim"), KIND_CLAIM);
    Object *volume = case_object(self, case_get(self, "initial.volume"), KIND_VOLUME);
    Object *wanted = case_object(self, case_get(self, "expected.volume"), KIND_VOLUME);

    modify_volume_apply(volume, CLAIM_CONST(before)->modify_target);
    expect_claim(self, mark_claim(self, MODIFY_COMPLETED, NULL), TRUE);
    json_t *expected = case_comparable(self, wanted), *found = case_comparable(self, volume);
    case_expect_json(self, "volume", expected, found);
    json_decref(expected);
    json_decref(found);
}
