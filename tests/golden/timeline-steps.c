/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "timeline-private.h"

/* The steps of a recording as actions of a scenario: what the recording's own client did is input,
 * so each request has its recorded instant. */

#define STEP_LASTS_S 60.0 /* a step's requests begin within this time */
#define NEVER_S 1e6

typedef struct {
    const Timeline *timeline;
    GoldenReplay *replay; /* NULL: planned instants */
    json_t *workload, *faults;
} TimelineSteps;

static const char *
timeline_steps_member(const json_t *value, const char *name)
{
    return json_string_value(json_object_get(value, name));
}

static double
timeline_steps_number(const json_t *value, const char *name)
{
    return json_number_value(json_object_get(value, name));
}

/* Takes @action. */
static void
add_action(TimelineSteps *self, double at, const char *what, json_t *action)
{
    json_array_append_new(self->workload,
                          json_pack("{s:o, s:o}", "at", timeline_instant(at), what, action));
}

/* Returns: the recorded request of a step; NULL: there is none */
static const json_t *
timeline_steps_take(
    TimelineSteps *self, const json_t *step, const char *verb, const char *kind, ReplayAsked asked)
{
    ObjectKind found;

    if (!kind_find(NULL, kind, &found))
        return NULL;
    asked.client = "lab";
    asked.verb = verb;
    asked.resource = kind_class(found)->resource;
    asked.from = timeline_steps_number(step, "at") - 0.01;
    asked.until = timeline_steps_number(step, "at") + STEP_LASTS_S;
    return replay_take(self->replay, &asked);
}

/* The instant of a step with one request. */
static double
take_instant(
    TimelineSteps *self, const json_t *step, const char *verb, const char *kind, const char *name)
{
    const json_t *request =
        timeline_steps_take(self, step, verb, kind, (ReplayAsked){.name = name});

    return timeline_steps_number(request != NULL ? request : step, request != NULL ? "t" : "at");
}

/* The instant of a step without a request: what the recorder noted, or the plan. */
static double
noted_instant(TimelineSteps *self, const json_t *step)
{
    const json_t *noted = replay_take_step(self->replay, timeline_steps_member(step, "do"));

    return timeline_steps_number(noted != NULL ? noted : step, noted != NULL ? "t" : "at");
}

/* Objects whose creation was not recorded (secrets, configmaps) follow the object before them. */
static gboolean
add_create(TimelineSteps *self, const json_t *step, GError **error)
{
    json_auto_t *objects = timeline_objects(json_object_get(step, "objects"));
    double at = timeline_steps_number(step, "at");
    json_t *object, *list = NULL;
    size_t i;

    (void)error;
    json_array_foreach(objects, i, object) {
        const char *name = timeline_steps_member(json_object_get(object, "metadata"), "name");
        const json_t *request =
            timeline_steps_take(self, step, "create", timeline_steps_member(object, "kind"),
                                (ReplayAsked){.name = name == NULL ? "" : name});
        if (request != NULL)
            at = timeline_steps_number(request, "t");
        if (request != NULL || list == NULL) {
            list = json_array();
            add_action(self, at, "create", json_pack("{s:o}", "manifest", list));
        }
        json_array_append(list, object);
    }
    return TRUE;
}

static json_t *
timeline_steps_target_json(const json_t *step, const char *kind, const char *name)
{
    json_t *grace = json_object_get(step, "gracePeriodSeconds");
    ObjectKind found;
    gboolean is_global = kind_find(NULL, kind, &found) && !kind_class(found)->namespaced;

    return json_pack("{s:s, s:s, s:s*, s:O*}", "kind", kind, "name", name, "namespace",
                     is_global ? NULL : NAMESPACE, "gracePeriodSeconds", grace);
}

static gboolean
add_delete(TimelineSteps *self, const json_t *step, GError **error)
{
    const char *kind = timeline_steps_member(step, "kind"),
               *name = timeline_steps_member(step, "name");

    (void)error;
    add_action(self, take_instant(self, step, "delete", kind, name), "delete",
               timeline_steps_target_json(step, kind, name));
    return TRUE;
}

/* Names that end in five drawn letters are others in each run. */
static gboolean
timeline_steps_is_drawn(const char *name)
{
    return g_regex_match_simple("-[bcdfghjklmnpqrstvwxz2456789]{5}$", name, 0, 0);
}

static gboolean
add_delete_matching(TimelineSteps *self, const json_t *step, GError **error)
{
    const char *what = timeline_steps_member(step, "do"),
               *kind = timeline_steps_member(step, "kind");
    const char *prefix = timeline_steps_member(
        step, timeline_steps_member(step, "prefix") == NULL ? "name" : "prefix");
    const json_t *request;
    gboolean is_all = FALSE;

    (void)error;
    prefix = prefix == NULL ? "" : prefix;
    if (kind == NULL)
        kind = strcmp(what, "deletePodsMatching") == 0 ? "Pod" : "PersistentVolumeClaim";
    g_autofree char *pattern = g_strconcat(prefix, "*", NULL);
    const ReplayAsked asked = {.name = prefix, .is_prefix = TRUE};
    while ((request = timeline_steps_take(self, step, "delete", kind, asked)) != NULL) {
        const char *name = timeline_steps_member(request, "name");
        if (name == NULL)
            continue;
        if (!is_all || !timeline_steps_is_drawn(name))
            add_action(self, timeline_steps_number(request, "t"), "delete",
                       timeline_steps_target_json(step, kind,
                                                  timeline_steps_is_drawn(name) ? pattern : name));
        is_all = TRUE;
    }
    if (!is_all)
        add_action(self, timeline_steps_number(step, "at"), "delete",
                   timeline_steps_target_json(step, kind, pattern));
    return TRUE;
}

static gboolean
add_delete_volume_of(TimelineSteps *self, const json_t *step, GError **error)
{
    static const char *const members[] = {"name", "pvc", "claim"};
    const char *claim = NULL;

    (void)error;
    for (unsigned i = 0; i < G_N_ELEMENTS(members) && claim == NULL; i++)
        claim = timeline_steps_member(step, members[i]);
    add_action(self, take_instant(self, step, "delete", "PersistentVolume", NULL), "delete",
               json_pack("{s:s, s:s, s:s*}", "kind", "PersistentVolume", "namespace", NAMESPACE,
                         "volumeOfClaim", claim));
    return TRUE;
}

static gboolean
add_patch(TimelineSteps *self, const json_t *step, GError **error)
{
    const char *kind = timeline_steps_member(step, "kind"),
               *name = timeline_steps_member(step, "name");
    json_t *target = timeline_steps_target_json(step, kind, name);

    (void)error;
    json_object_set(target, "patch", json_object_get(step, "patch"));
    add_action(self, take_instant(self, step, "patch", kind, name), "patch", target);
    return TRUE;
}

static gboolean
add_taint_node_of(TimelineSteps *self, const json_t *step, GError **error)
{
    g_autofree char *pattern = g_strconcat(timeline_steps_member(step, "name"), "*", NULL);

    (void)error;
    add_action(self, take_instant(self, step, "patch", "Node", NULL), "patch",
               json_pack("{s:s, s:s, s:O}", "kind", "Node", "nodeOfPod", pattern, "patch",
                         json_object_get(step, "patch")));
    return TRUE;
}

static gboolean
add_set_driver(TimelineSteps *self, const json_t *step, GError **error)
{
    const json_t *given = json_object_get(step, "driver");
    json_t *change = timeline_driver_change_json(
        given != NULL ? given : json_object_get(step, "settings"), error);

    if (change != NULL)
        add_action(self, noted_instant(self, step), "setDriver", change);
    return change != NULL;
}

/* ---- Processes ---- */

static const struct {
    const char *recorded, *lease, *process;
    gboolean is_sidecar;
} processes[] = {
    {"csi-provisioner",     "external-provisioner",    "external-provisioner",    TRUE },
    {"csi-provisioner",     "csi-lab",                 "external-provisioner",    TRUE },
    {"csi-attacher",        "external-attacher",       "external-attacher",       TRUE },
    {"csi-resizer",         "external-resizer",        "external-resizer",        TRUE },
    {"csi-snapshotter",     "external-snapshotter",    "external-snapshotter",    TRUE },
    {"snapshot-controller", "snapshot-controller",     "snapshot-controller",     FALSE},
    {"kcm",                 "kube-controller-manager", "kube-controller-manager", FALSE},
    {"sched",               "kube-scheduler",          "kube-scheduler",          FALSE},
};

/* Takes @fault: the death of the process of a step. */
static gboolean
add_death(TimelineSteps *self, const json_t *step, double at, const char *start, json_t *fault)
{
    const json_t *later;
    size_t i;

    json_array_foreach(json_object_get(self->timeline->root, "steps"), i, later) {
        if (start == NULL ||
            timeline_steps_number(later, "at") <= timeline_steps_number(step, "at") ||
            g_strcmp0(timeline_steps_member(later, "do"), start) != 0 ||
            (strcmp(start, "startProc") == 0 &&
             g_strcmp0(timeline_steps_member(later, "name"), timeline_steps_member(step, "name")) !=
                 0))
            continue;
        json_object_set_new(fault, "restartAfter",
                            timeline_duration(timeline_steps_number(later, "at") - at));
        break;
    }
    json_object_update_new(fault,
                           json_pack("{s:o, s:s}", "at", timeline_instant(at), "do", "crash"));
    json_array_append_new(self->faults, fault);
    return TRUE;
}

static gboolean
add_process_death(TimelineSteps *self, const json_t *step, GError **error)
{
    const char *name = timeline_steps_member(step, "name");
    gboolean is_leader = strcmp(timeline_steps_member(step, "do"), "killLeader") == 0;
    const char *driver =
        timeline_steps_member(json_object_get(self->timeline->root, "driver"), "name");

    for (unsigned i = 0; i < G_N_ELEMENTS(processes); i++) {
        if (name == NULL || (!g_str_equal(name, processes[i].recorded) &&
                             !(is_leader && g_str_has_prefix(name, processes[i].lease))))
            continue;
        json_t *fault = json_pack("{s:s, s:s*}", "component", processes[i].process, "driver",
                                  processes[i].is_sidecar ? driver : NULL);
        return add_death(self, step, noted_instant(self, step), is_leader ? NULL : "startProc",
                         fault);
    }
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: there is no process \"%s\"",
                timeline_steps_member(step, "do"), name == NULL ? "" : name);
    return FALSE;
}

static gboolean
add_kubelet_death(TimelineSteps *self, const json_t *step, GError **error)
{
    json_t *fault = json_pack("{s:s}", "component", "kubelet");

    (void)error;
    if (timeline_steps_member(step, "node") != NULL)
        json_object_set(fault, "node", json_object_get(step, "node"));
    else
        json_object_set_new(fault, "nodeOfPod",
                            json_sprintf("%s*", timeline_steps_member(step, "name")));
    return add_death(self, step, noted_instant(self, step), "startKubelet", fault);
}

/* Part of the step that stopped it. */
static gboolean
add_nothing(TimelineSteps *self, const json_t *step, GError **error)
{
    (void)self, (void)step, (void)error;
    return TRUE;
}

/* ---- Registration of the driver ---- */

double
timeline_step_at(const Timeline *self, const char *what, const char *node, double after)
{
    const json_t *step;
    size_t i;

    json_array_foreach(json_object_get(self->root, "steps"), i, step) {
        const char *of = timeline_steps_member(step, "node");
        if (g_strcmp0(timeline_steps_member(step, "do"), what) == 0 &&
            timeline_steps_number(step, "at") >= after && (of == NULL || g_strcmp0(of, node) == 0))
            return timeline_steps_number(step, "at");
    }
    return -1;
}

/* The driver is away from the node for a while. */
static void
add_absence(TimelineSteps *self, const char *node, json_t *from, double seconds)
{
    json_array_append_new(
        self->faults,
        json_pack("{s:o, s:O, s:s, s:s, s:o}", "at", from, "driver",
                  json_object_get(json_object_get(self->timeline->root, "driver"), "name"), "node",
                  node, "do", "replace-pod", "restartAfter", timeline_duration(seconds)));
}

/* A node that registers later than the first one. */
static gboolean
add_registration(TimelineSteps *self, const json_t *step, GError **error)
{
    g_autofree const char **nodes = timeline_node_names(self->timeline);
    double first = NEVER_S, at = timeline_steps_number(step, "at");

    (void)error;
    if (!json_is_true(
            json_object_get(json_object_get(self->timeline->root, "driver"), "lateRegister")))
        return TRUE;
    for (unsigned i = 0; nodes[i] != NULL; i++) {
        double of_node = timeline_step_at(self->timeline, "registerDriver", nodes[i], 0);
        first = of_node < 0 ? first : MIN(first, of_node);
    }
    for (unsigned i = 0; nodes[i] != NULL; i++)
        if (at > first && timeline_step_at(self->timeline, "registerDriver", nodes[i], 0) == at)
            add_absence(self, nodes[i], json_string("0s"),
                        at + (double)TIMELINE_LEAD / (double)SIM_SECOND);
    return TRUE;
}

static gboolean
add_deregistration(TimelineSteps *self, const json_t *step, GError **error)
{
    g_autofree const char **nodes = timeline_node_names(self->timeline);
    double at = timeline_steps_number(step, "at");

    (void)error;
    for (unsigned i = 0; nodes[i] != NULL; i++) {
        if (timeline_steps_member(step, "node") != NULL &&
            strcmp(timeline_steps_member(step, "node"), nodes[i]) != 0)
            continue;
        double back = timeline_step_at(self->timeline, "registerDriver", nodes[i], at);
        add_absence(self, nodes[i], timeline_instant(at), back < 0 ? NEVER_S : back - at);
    }
    return TRUE;
}

/* ---- The table ---- */

#define STEP_KEYS 5

static const struct {
    const char *what;
    gboolean (*add)(TimelineSteps *self, const json_t *step, GError **error);
    const char *keys[STEP_KEYS]; /* besides at and do */
} rules[] = {
    {"create",             add_create,           {"objects"}                                     },
    {"delete",             add_delete,           {"kind", "name", "gracePeriodSeconds"}          },
    {"deleteMatching",     add_delete_matching,  {"kind", "name", "prefix", "gracePeriodSeconds"}},
    {"deletePodsMatching", add_delete_matching,  {"name", "prefix", "gracePeriodSeconds"}        },
    {"deletePVCsMatching", add_delete_matching,  {"name", "prefix"}                              },
    {"deletePVOf",         add_delete_volume_of, {"name", "pvc", "claim"}                        },
    {"patch",              add_patch,            {"kind", "name", "patch"}                       },
    {"taintNodeOfPod",     add_taint_node_of,    {"name", "patch"}                               },
    {"setDriver",          add_set_driver,       {"driver", "settings"}                          },
    {"killProc",           add_process_death,    {"name"}                                        },
    {"killLeader",         add_process_death,    {"name"}                                        },
    {"startProc",          add_nothing,          {"name"}                                        },
    {"stopKubelet",        add_kubelet_death,    {"node"}                                        },
    {"stopKubeletOfPod",   add_kubelet_death,    {"name"}                                        },
    {"startKubelet",       add_nothing,          {NULL}                                          },
    {"registerDriver",     add_registration,     {"node"}                                        },
    {"unregisterDriver",   add_deregistration,   {"node"}                                        },
};

static gboolean
add_step(TimelineSteps *self, const json_t *step, GError **error)
{
    const char *what = timeline_steps_member(step, "do");

    if (g_strcmp0(what, "kubectl") == 0)
        return timeline_add_kubectl(step, self->replay, self->workload, error);
    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++) {
        const char *known[STEP_KEYS + 3] = {"at", "do"};
        if (g_strcmp0(rules[i].what, what) != 0)
            continue;
        memcpy(&known[2], rules[i].keys, sizeof rules[i].keys);
        return timeline_check_keys(step, what, known, error) && rules[i].add(self, step, error);
    }
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "the step \"%s\" is not known",
                what == NULL ? "" : what);
    return FALSE;
}

gboolean
timeline_add_steps(
    const Timeline *self, GoldenReplay *replay, json_t *workload, json_t *faults, GError **error)
{
    TimelineSteps steps = {self, replay, workload, faults};
    const json_t *step;
    size_t i;

    json_array_foreach(json_object_get(self->root, "steps"), i, step)
        if (!add_step(&steps, step, error))
            return FALSE;
    return TRUE;
}
