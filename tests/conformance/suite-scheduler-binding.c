/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/compare.h"
#include "tests/conformance/scheduler-binder.h"
#include "tests/conformance/scheduler-case.h"
#include "tests/conformance/stories/story.h"

#include "models/api/fields.h"
#include "models/client/process-private.h"
#include "models/scheduler/scheduler-test.h"

#include <string.h>

/* VolumeBinding: its search for volumes and all its extension points. scheduler-binder.c has the
 * acts of the binder. */

/* ---- FindPodVolumes ---- */

static void
set_add(json_t *set, const char *text)
{
    json_object_set_new(set, text, json_true());
}

static json_t *
set_of_list(const json_t *list)
{
    json_t *set = json_object();
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        set_add(set, json_string_value(item));
    return set;
}

static void
expect_set(Case *self, const char *path, json_t *found)
{
    json_t *expected = set_of_list(case_get(self, path));

    case_expect_json(self, path, expected, found);
    json_decref(expected);
    json_decref(found);
}

static const json_t *
find_expected_binding(const json_t *bindings, const char *claim)
{
    const json_t *item;
    size_t i;

    json_array_foreach(bindings, i, item)
        if (g_strcmp0(json_path_string(item, "claim"), claim) == 0)
            return item;
    return NULL;
}

static gboolean
list_names(const json_t *list, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        if (g_strcmp0(json_string_value(item), name) == 0)
            return TRUE;
    return FALSE;
}

/* Static ones against {claim, volume} or {claim, volume_any_of}, others against names. */
static void
expect_choices(Case *self, const Cycle *cycle)
{
    const json_t *bindings = case_get(self, "expected.static_bindings");
    json_t *provisions = json_object();
    unsigned n_static = 0;

    for (unsigned i = 0; i < cycle->choices->len; i++) {
        const VolumeChoice *choice = &g_array_index(cycle->choices, VolumeChoice, i);
        if (!volume_choice_is_static(choice)) {
            set_add(provisions, choice->claim->text);
            continue;
        }
        const json_t *expected = find_expected_binding(bindings, choice->claim->text);
        const char *volume = choice->chosen->key->name;
        n_static++;
        if (g_strcmp0(json_path_string(expected, "volume"), volume) != 0 &&
            !list_names(json_object_get(expected, "volume_any_of"), volume))
            case_fail(self, "%s takes %s", choice->claim->text, volume);
    }
    if (n_static != json_array_size(bindings))
        case_fail(self, "%u static bindings", n_static);
    expect_set(self, "expected.dynamic_provisions", provisions);
}

/* Returns: what filter says */
static Verdict
find_volumes(Case *self, const Pod *pod, const NodeInfo *node)
{
    Cycle *cycle = scheduler_case(self)->cycle;

    cycle_begin(cycle, pod, 1);
    Verdict verdict = volume_binding_pre_filter(cycle);
    if (verdict == VERDICT_SKIP)
        return VERDICT_OK;
    if (verdict == VERDICT_OK || verdict == VERDICT_ANY_NODE)
        return volume_binding_filter(cycle, node);
    return VERDICT_ERROR; /* the recorded tests go no further either */
}

static void
expect_found(Case *self, Verdict verdict)
{
    const Cycle *cycle = scheduler_case(self)->cycle;
    json_t *reasons = json_object();

    for (unsigned i = 0; verdict != VERDICT_ERROR && i < cycle->reasons->len; i++)
        set_add(reasons, g_array_index(cycle->reasons, Reason, i).text);
    expect_set(self, "expected.reasons", reasons);
    if ((verdict == VERDICT_ERROR) != case_flag(self, "expected.error"))
        case_fail(self, verdict == VERDICT_ERROR ? "failed: %s" : "did not fail%s",
                  cycle->text->str);
    if (verdict == VERDICT_OK)
        expect_choices(self, cycle);
}

static void
run_find(Case *self)
{
    scheduler_case_new(self);
    scheduler_case_seed(self);
    const NodeInfo *node = scheduler_case_node(self, case_get(self, "initial.node"));
    expect_found(
        self, find_volumes(self, scheduler_case_pod(self, case_get(self, "initial.pod"), 0), node));
}

static gboolean
same_choices(const GArray *a, const GArray *b)
{
    if (a->len != b->len)
        return FALSE;
    for (unsigned i = 0; i < a->len; i++) {
        const VolumeChoice *x = &g_array_index(a, VolumeChoice, i),
                           *y = &g_array_index(b, VolumeChoice, i);
        if (x->claim != y->claim || x->chosen->key != y->chosen->key)
            return FALSE;
    }
    return TRUE;
}

/* Assumes the volumes that were found: from then on the search finds the same. */
static void
run_find_assume_find(Case *self)
{
    Scheduler *scheduler = scheduler_case_new(self);
    g_autoptr(GArray) first = scheduler_case_choices_new();

    scheduler_case_seed(self);
    const NodeInfo *node = scheduler_case_node(self, case_get(self, "initial.node"));
    const Pod *pod = scheduler_case_pod(self, case_get(self, "initial.pod"), 0);
    expect_found(self, find_volumes(self, pod, node));
    for (unsigned i = 0; i < scheduler->cycle->choices->len; i++) {
        VolumeChoice choice = g_array_index(scheduler->cycle->choices, VolumeChoice, i);
        object_ref(choice.chosen);
        g_array_append_val(first, choice);
    }
    g_autofree char *why = volume_binder_reserve(&scheduler->binder, scheduler_case_choices(first),
                                                 first->len, node->key->name);
    if (why != NULL)
        case_fail(self, "%s", why);
    for (unsigned i = 0; i < 50; i++) {
        find_volumes(self, pod, node);
        if (!same_choices(scheduler->cycle->choices, first))
            case_fail(self, "search %u finds something else", i + 1);
    }
}

/* ---- All extension points ---- */

static void
expect_claims(Case *self, const char *path, const Cycle *cycle, gboolean bound)
{
    json_t *found = json_object();

    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        if (claim->is_bound == bound)
            set_add(found, claim->key->name);
    }
    expect_set(self, path, found);
}

static void
run_extension_points(Case *self)
{
    const Plugin *plugin = &plugins[PLUGIN_VOLUME_BINDING];
    Scheduler *scheduler = scheduler_case_new(self);
    Cycle *cycle = scheduler->cycle;
    const json_t *manifest;
    size_t i;

    scheduler_case_seed(self);
    cycle_begin(cycle, scheduler_case_pod(self, case_get(self, "initial.pod"), 0), 1);
    Verdict verdict = plugin->pre_filter(cycle);
    scheduler_case_expect(self, "prefilter", case_get(self, "expected.prefilter"), verdict);
    if (case_get(self, "expected.state") != NULL) {
        expect_claims(self, "expected.state.bound_claims", cycle, TRUE);
        expect_claims(self, "expected.state.unbound_delayed_claims", cycle, FALSE);
    }
    if (verdict != VERDICT_OK && verdict != VERDICT_ANY_NODE)
        return;
    json_array_foreach(case_get(self, "initial.nodes"), i, manifest) {
        const NodeInfo *node = scheduler_case_node(self, manifest);
        g_array_set_size(cycle->reasons, 0);
        verdict = plugin->filter(cycle, node);
        scheduler_case_expect(self, node->key->name,
                              json_array_get(case_get(self, "expected.filter"), i), verdict);
        if (verdict == VERDICT_OK)
            g_ptr_array_add(cycle->feasible, (void *)node);
    }
    gboolean scores = plugin->pre_score != NULL && plugin->pre_score(cycle);
    g_array_set_size(cycle->reasons, 0);
    scheduler_case_expect(self, "prescore", case_get(self, "expected.prescore"),
                          scores ? VERDICT_OK : VERDICT_SKIP);
    json_array_foreach(case_get(self, "initial.nodes"), i, manifest) {
        const ObjectKey *key = case_object(self, manifest, KIND_NODE)->key;
        json_int_t expected =
            json_integer_value(json_array_get(case_get(self, "expected.scores"), i));
        int64_t score =
            scores ? plugin->score(cycle, scheduler_cache_find_node(scheduler->cache, key)) : 0;
        if (score != expected)
            case_fail(self, "%s: score %d", key->name, (int)score);
    }
}

/* The shape's scores are those of plugins already. */
static void
run_score(Case *self)
{
    g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(ClassUse));
    g_autoptr(GArray) shape = g_array_new(FALSE, FALSE, sizeof(ShapePoint));
    const json_t *item;
    const char *class;
    json_t *value;
    size_t i;

    json_array_foreach(case_get(self, "initial.shape"), i, item) {
        ShapePoint point = {json_integer_value(json_object_get(item, "utilization")),
                            json_integer_value(json_object_get(item, "score"))};
        g_array_append_val(shape, point);
    }
    json_object_foreach((json_t *)case_get(self, "initial.classes"), class, value) {
        ClassUse use = {class, json_integer_value(json_object_get(value, "requested")),
                        json_integer_value(json_object_get(value, "capacity"))};
        g_array_append_val(uses, use);
    }
    int64_t score = capacity_score((const ClassUse *)(void *)uses->data, uses->len,
                                   (const ShapePoint *)(void *)shape->data, shape->len);
    if (score != json_integer_value(case_get(self, "expected.score")))
        case_fail(self, "score %d", (int)score);
}

static void
run_hint(Case *self)
{
    scheduler_case_new(self);
    scheduler_case_expect_hint(self, PLUGIN_VOLUME_BINDING, case_get(self, "initial.old"),
                               case_get(self, "initial.new"));
}

static const Act binding_acts[] = {
    {"AssumeCache",                                           story_assume_cache               },
    {"FindPodVolumes",                                        run_find                         },
    {"FindPodVolumes,Assume,FindPodVolumes",                  run_find_assume_find             },
    {"assume",                                                scheduler_binder_assume          },
    {"AssumePodVolumes",                                      scheduler_binder_reserve         },
    {"AssumePodVolumes,RevertAssumedPodVolumes",              scheduler_binder_reserve_and_back},
    {"bindAPIUpdate",                                         scheduler_binder_write           },
    {"checkBindings",                                         scheduler_binder_check           },
    {"BindPodVolumes",                                        scheduler_binder_bind            },
    {"PreFilter,Filter(each node),PreScore,Score(each node)", run_extension_points             },
    {"score",                                                 run_score                        },
    {"queueing_hint",                                         run_hint                         },
    {NULL,                                                    NULL                             },
};

const Suite scheduler_binding_suite = {"scheduler_volumebinding", binding_acts};
