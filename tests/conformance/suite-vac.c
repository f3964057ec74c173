/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/client/client-test.h"
#include "models/client/process-private.h"
#include "models/pvc-pv-protection/pvc-pv-protection.h"
#include "tests/conformance/claim-acts.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/known.h"

#include <string.h>

/* VolumeAttributesClass: the controller that protects classes in use. The acts of validation are
 * shared with claims. */

static const WorldOptions world = {.only = &vac_protection_class};

static Object *
object_at(Case *self, const json_t *event, const char *which)
{
    const json_t *manifest = json_object_get(event, which);

    return manifest == NULL ? NULL : case_object_of_manifest(self, manifest);
}

static void
tell_event(Case *self, const json_t *event)
{
    static const struct {
        const char *event, *before, *after;
        ObjectKind kind;
    } events[] = {
        {"vac_added_updated", NULL,  "obj", KIND_ATTRIBUTES_CLASS},
        {"pv_updated",        "old", "new", KIND_VOLUME          },
        {"pv_deleted",        "obj", NULL,  KIND_VOLUME          },
        {"pvc_updated",       "old", "new", KIND_CLAIM           },
        {"pvc_deleted",       "obj", NULL,  KIND_CLAIM           },
    };
    const char *name = json_path_string(event, "event");

    for (unsigned i = 0; i < G_N_ELEMENTS(events); i++)
        if (g_strcmp0(events[i].event, name) == 0) {
            informer_tell(case_informer(self, &vac_protection_class, events[i].kind),
                          events[i].before == NULL ? NULL
                                                   : object_at(self, event, events[i].before),
                          events[i].after == NULL ? NULL : object_at(self, event, events[i].after));
            return;
        }
    case_fail(self, "no such event: %s", name);
}

/* What the API server is told. */
static json_t *
comparable_writes(Case *self, const json_t *expected)
{
    json_t *list = json_array(), *item;
    size_t i;

    json_array_foreach((json_t *)expected, i, item) {
        const json_t *manifest = json_object_get(item, "object");
        json_t *copy = json_copy(item);
        if (manifest != NULL)
            json_object_set_new(copy, "object",
                                case_comparable(self, case_object_of_manifest(self, manifest)));
        json_array_append_new(list, copy);
    }
    return list;
}

/* The record has one entry for each time that the key came out of the queue. Ours tells the writes,
 * refused ones, too: they are those of the entries that failed. */
static void
expect_processed(Case *self)
{
    const json_t *entry;
    json_t *expected = json_array(), *found = json_array(), *item;
    size_t i;

    json_array_foreach(case_get(self, "expected.processed"), i, entry)
        if (json_is_true(json_object_get(entry, "error")) ||
            json_array_size(json_object_get(entry, "writes")) > 0)
            json_array_append_new(expected,
                                  json_boolean(json_is_true(json_object_get(entry, "error"))));
    json_t *writes = comparable_writes(self, case_get(self, "expected.writes"));
    size_t n_refused = json_array_size(self->writes) - json_array_size(writes);
    json_array_foreach(self->writes, i, item) {
        json_object_del(json_path_get(item, "object.metadata") == NULL
                            ? item
                            : json_object_get(json_object_get(item, "object"), "metadata"),
                        "uid");
        json_array_append_new(found, json_boolean(i < n_refused));
    }
    case_expect_json(self, "processed", expected, found);
    for (i = 0; i < n_refused; i++)
        json_array_remove(self->writes, 0);
    case_expect_json(self, "writes", writes, self->writes);
    json_decref(writes);
    json_decref(expected);
    json_decref(found);
}

static void
run_protection(Case *self)
{
    const json_t *manifest, *event;
    size_t i;

    case_known(self, "args", "events");
    case_known(self, "expected", "processed", "writes");
    case_world_new(self, &world);
    case_start(self, &world);
    json_array_foreach(case_get(self, "initial.objects"), i, manifest)
        case_import_object(self, case_object_of_manifest(self, manifest), CASE_API | CASE_INFORMER);
    json_array_foreach(case_get(self, "args.events"), i, event)
        tell_event(self, event);
    case_wait(self, 60 * SIM_SECOND);
    expect_processed(self);
}

static const Act vac_acts[] = {
    {"deliver events, then process the queue until empty", run_protection                  },
    {"validate_class",                                     run_validate_class              },
    {"validate_class_update",                              run_validate_class_update       },
    {"drop_disabled_fields",                               run_drop_disabled_fields        },
    {"drop_disabled_fields_from_status",                   run_drop_disabled_status        },
    {"validate_claim",                                     run_validate_claim              },
    {"validate_claim_update",                              run_validate_claim_update       },
    {"validate_claim_status_update",                       run_validate_claim_status_update},
    {"validate_volume",                                    run_validate_volume             },
    {"validate_volume_update",                             run_validate_volume_update      },
    {NULL,                                                 NULL                            },
};

const Suite vac_suite = {"vac", vac_acts};
