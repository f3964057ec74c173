/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of pods, nodes, workloads and Events, as the API server prints them
 * (pkg/printers/internalversion of 1.32). The STATUS of a pod is computed from its phase, its init
 * containers up to the first that is not finished, and its containers; the last rule that applies
 * wins. Sidecars count only once they are started. */
#include <string.h>

#include "kinds.h"

/* The sum of a pod's containers. */
typedef struct {
    char *reason; /* the STATUS */
    int64_t restarts, ready, total;
    ValueTime restarted_at;
} PodSummary;

static void G_GNUC_PRINTF(2, 3) set_reason(PodSummary *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_free(self->reason);
    self->reason = g_strdup_vprintf(format, args);
    va_end(args);
}

static void
count_restarts(PodSummary *self, json_t *status)
{
    ValueTime at = value_time(status, "lastState.terminated.finishedAt");

    self->restarts += value_integer(status, "restartCount", 0);
    self->restarted_at = MAX(self->restarted_at, at);
}

/* Without a reason, tells the signal or exit code of a container that ended. */
static void
set_end(PodSummary *self, const char *prefix, json_t *terminated)
{
    const char *reason = value_text(terminated, "reason");
    int64_t signal = value_integer(terminated, "signal", 0);

    if (*reason != '\0')
        set_reason(self, "%s%s", prefix, reason);
    else if (signal != 0)
        set_reason(self, "%sSignal:%" PRId64, prefix, signal);
    else
        set_reason(self, "%sExitCode:%" PRId64, prefix, value_integer(terminated, "exitCode", 0));
}

static gboolean
is_sidecar(json_t *pod, const char *name)
{
    json_t *container = value_find(value_at(pod, "spec.initContainers"), "name", name);

    return strcmp(value_text(container, "restartPolicy"), "Always") == 0;
}

static gboolean
has_condition(json_t *pod, const char *type)
{
    json_t *condition = value_find(value_at(pod, "status.conditions"), "type", type);

    return strcmp(value_text(condition, "status"), "True") == 0;
}

/* Looks at the init containers up to the first unfinished one. @sidecars: gets the restarts of init
 * containers that keep running. Returns: whether there is an unfinished one */
static gboolean
summarize_init(PodSummary *self, json_t *pod, PodSummary *sidecars)
{
    json_t *status;
    gsize i;

    json_array_foreach(value_at(pod, "status.initContainerStatuses"), i, status) {
        json_t *terminated = value_at(status, "state.terminated");
        const char *waiting = value_text(status, "state.waiting.reason");
        gboolean restarts_always = is_sidecar(pod, value_text(status, "name"));

        count_restarts(self, status);
        if (restarts_always)
            count_restarts(sidecars, status);
        if (terminated != NULL && value_integer(terminated, "exitCode", 0) == 0)
            continue;
        if (restarts_always && value_is_true(status, "started")) {
            self->ready += value_is_true(status, "ready");
            continue;
        }
        if (terminated != NULL)
            set_end(self, "Init:", terminated);
        else if (*waiting != '\0' && strcmp(waiting, "PodInitializing") != 0)
            set_reason(self, "Init:%s", waiting);
        else
            set_reason(self, "Init:%" G_GSIZE_FORMAT "/%" G_GSIZE_FORMAT, i,
                       value_length(pod, "spec.initContainers"));
        return TRUE;
    }
    return FALSE;
}

static void
summarize_containers(PodSummary *self, json_t *pod)
{
    json_t *statuses = value_at(pod, "status.containerStatuses");
    gboolean has_running = FALSE;

    for (gsize i = json_array_size(statuses); i-- > 0;) {
        json_t *status = json_array_get(statuses, i);
        json_t *terminated = value_at(status, "state.terminated");
        const char *waiting = value_text(status, "state.waiting.reason");

        count_restarts(self, status);
        if (*waiting != '\0') {
            set_reason(self, "%s", waiting);
        } else if (terminated != NULL) {
            set_end(self, "", terminated);
        } else if (value_is_true(status, "ready") && value_at(status, "state.running") != NULL) {
            has_running = TRUE;
            self->ready++;
        }
    }
    if (has_running && strcmp(self->reason, "Completed") == 0)
        set_reason(self, "%s", has_condition(pod, "Ready") ? "Running" : "NotReady");
}

static void
summarize_pod(PodSummary *self, json_t *pod)
{
    PodSummary sidecars = {.restarted_at = VALUE_TIME_NONE};
    const char *phase = value_text(pod, "status.phase"), *reason = value_text(pod, "status.reason");
    json_t *item;
    gsize i;

    set_reason(self, "%s", *reason != '\0' ? reason : phase);
    json_array_foreach(value_at(pod, "status.conditions"), i, item)
        if (strcmp(value_text(item, "type"), "PodScheduled") == 0 &&
            strcmp(value_text(item, "reason"), "SchedulingGated") == 0)
            set_reason(self, "SchedulingGated");

    self->total = (int64_t)value_length(pod, "spec.containers");
    json_array_foreach(value_at(pod, "spec.initContainers"), i, item)
        self->total += strcmp(value_text(item, "restartPolicy"), "Always") == 0;

    if (!summarize_init(self, pod, &sidecars) || has_condition(pod, "Initialized")) {
        self->restarts = sidecars.restarts;
        self->restarted_at = sidecars.restarted_at;
        summarize_containers(self, pod);
    }

    if (value_at(pod, "metadata.deletionTimestamp") == NULL)
        return;
    if (strcmp(reason, "NodeLost") == 0)
        set_reason(self, "Unknown");
    else if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
        set_reason(self, "Terminating");
}

static PodSummary
pod_summary(json_t *pod)
{
    PodSummary summary = {.restarted_at = VALUE_TIME_NONE};

    summarize_pod(&summary, pod);
    return summary;
}

static void
cell_pod_ready(Cell *cell)
{
    PodSummary summary = pod_summary(cell->object);

    g_string_append_printf(cell->text, "%" PRId64 "/%" PRId64, summary.ready, summary.total);
    g_free(summary.reason);
}

static void
cell_pod_status(Cell *cell)
{
    PodSummary summary = pod_summary(cell->object);

    g_string_append(cell->text, summary.reason);
    g_free(summary.reason);
}

static void
cell_restarts(Cell *cell)
{
    PodSummary summary = pod_summary(cell->object);

    g_string_append_printf(cell->text, "%" PRId64, summary.restarts);
    if (summary.restarts != 0 && summary.restarted_at != VALUE_TIME_NONE) {
        g_string_append(cell->text, " (");
        value_append_age(cell->text, summary.restarted_at, cell->now);
        g_string_append(cell->text, " ago)");
    }
    g_free(summary.reason);
}

static void
cell_pod_address(Cell *cell)
{
    g_string_append(cell->text, value_text(json_array_get(cell->value, 0), "ip"));
}

static void
cell_gates(Cell *cell)
{
    json_t *gate;
    unsigned n_true = 0;
    gsize i;

    json_array_foreach(cell->value, i, gate)
        n_true += has_condition(cell->object, value_text(gate, "conditionType"));
    if (json_array_size(cell->value) > 0)
        g_string_append_printf(cell->text, "%u/%" G_GSIZE_FORMAT, n_true,
                               json_array_size(cell->value));
}

const KindColumn pod_columns[] = {
    {"Name",            cell_value,       "metadata.name",              "",          COLUMN_NAME},
    {"Ready",           cell_pod_ready,   "",                           "",          0          },
    {"Status",          cell_pod_status,  "",                           "",          0          },
    {"Restarts",        cell_restarts,    "",                           "",          0          },
    {"Age",             cell_age,         "metadata.creationTimestamp", "<unknown>", 0          },
    {"IP",              cell_pod_address, "status.podIPs",              "<none>",    COLUMN_WIDE},
    {"Node",            cell_value,       "spec.nodeName",              "<none>",    COLUMN_WIDE},
    {"Nominated Node",  cell_value,       "status.nominatedNodeName",   "<none>",    COLUMN_WIDE},
    {"Readiness Gates", cell_gates,       "spec.readinessGates",        "<none>",    COLUMN_WIDE},
    {NULL,              NULL,             NULL,                         NULL,        0          },
};

void
append_node_roles(GString *out, json_t *node)
{
    json_t *labels = value_at(node, "metadata.labels");
    g_auto(GStrv) keys = value_keys(labels);
    json_auto_t *roles = json_object(); /* a set */

    for (unsigned i = 0; keys[i] != NULL; i++) {
        const char *value = json_string_value(json_object_get(labels, keys[i]));

        if (g_str_has_prefix(keys[i], "node-role.kubernetes.io/"))
            value = strchr(keys[i], '/') + 1;
        else if (strcmp(keys[i], "kubernetes.io/role") != 0)
            continue;
        if (value != NULL && *value != '\0')
            json_object_set_new(roles, value, json_true());
    }

    g_auto(GStrv) words = value_keys(roles);
    g_autofree char *joined = g_strjoinv(",", words);
    g_string_append(out, *joined != '\0' ? joined : "<none>");
}

static void
cell_roles(Cell *cell)
{
    append_node_roles(cell->text, cell->object);
}

static void
cell_node_status(Cell *cell)
{
    json_t *ready = value_find(value_at(cell->object, "status.conditions"), "type", "Ready");

    g_string_append(cell->text, ready == NULL                                      ? "Unknown"
                                : strcmp(value_text(ready, "status"), "True") == 0 ? "Ready"
                                                                                   : "NotReady");
    if (value_is_true(cell->object, "spec.unschedulable"))
        g_string_append(cell->text, ",SchedulingDisabled");
}

static void
cell_address(Cell *cell)
{
    json_t *addresses = value_at(cell->object, "status.addresses");

    g_string_append(cell->text,
                    value_text(value_find(addresses, "type", cell->column->path), "address"));
}

/* clang-format off */
const KindColumn node_columns[] = {
    {"Name",              cell_value,       "metadata.name",                           "",          COLUMN_NAME},
    {"Status",            cell_node_status, "",                                        "",          0},
    {"Roles",             cell_roles,       "",                                        "",          0},
    {"Age",               cell_age,         "metadata.creationTimestamp",              "<unknown>", 0},
    {"Version",           cell_value,       "status.nodeInfo.kubeletVersion",          "",          0},
    {"Internal-IP",       cell_address,     "InternalIP",                              "<none>",    COLUMN_WIDE},
    {"External-IP",       cell_address,     "ExternalIP",                              "<none>",    COLUMN_WIDE},
    {"OS-Image",          cell_value,       "status.nodeInfo.osImage",                 "<unknown>", COLUMN_WIDE},
    {"Kernel-Version",    cell_value,       "status.nodeInfo.kernelVersion",           "<unknown>", COLUMN_WIDE},
    {"Container-Runtime", cell_value,       "status.nodeInfo.containerRuntimeVersion", "<unknown>", COLUMN_WIDE},
    {NULL,                NULL,             NULL,                                      NULL,        0},
};
/* clang-format on */

/* One field of each of a template's containers. */
void
cell_containers(Cell *cell)
{
    json_t *container;
    gsize i;

    json_t *containers = value_at(cell->object, "spec.template.spec.containers");

    if (containers == NULL)
        containers = value_at(cell->object, "spec.jobTemplate.spec.template.spec.containers");
    if (containers == NULL) /* a PodTemplate's */
        containers = value_at(cell->object, "template.spec.containers");
    json_array_foreach(containers, i, container)
        g_string_append_printf(cell->text, "%s%s", i > 0 ? "," : "",
                               value_text(container, cell->column->path));
}

void
append_label_selector(GString *out, json_t *selector)
{
    static const struct {
        const char *operator, * before, *after;
    } operators[] = {
        {"In",           "",  " in ("   },
        {"NotIn",        "",  " notin ("},
        {"Exists",       "",  NULL      },
        {"DoesNotExist", "!", NULL      },
    };
    json_t *labels = value_at(selector, "matchLabels"), *expression;
    json_t *expressions = value_at(selector, "matchExpressions");
    gsize i;

    if (json_is_string(json_object_iter_value(json_object_iter(selector))))
        labels = selector;
    if (json_object_size(labels) > 0 || json_array_size(expressions) == 0)
        value_append_map(out, labels);
    json_array_foreach(expressions, i, expression) {
        if (i > 0 || json_object_size(labels) > 0)
            g_string_append_c(out, ',');
        for (unsigned o = 0; o < G_N_ELEMENTS(operators); o++) {
            if (strcmp(value_text(expression, "operator"), operators[o].operator) != 0)
                continue;
            g_string_append_printf(out, "%s%s", operators[o].before, value_text(expression, "key"));
            if (operators[o].after == NULL)
                continue;
            g_string_append(out, operators[o].after);
            value_append_joined(out, value_at(expression, "values"), ",");
            g_string_append_c(out, ')');
        }
    }
}

void
cell_selector(Cell *cell)
{
    append_label_selector(cell->text, cell->value);
}

void
cell_map(Cell *cell)
{
    value_append_map(cell->text, cell->value);
}

/* "ready/wanted" */
static void
cell_ready(Cell *cell)
{
    g_string_append_printf(cell->text, "%" PRId64 "/%" PRId64,
                           value_integer(cell->object, "status.readyReplicas", 0),
                           value_integer(cell->object, "spec.replicas", 1));
}

const KindColumn stateful_set_columns[] = {
    {"Name",       cell_value,      "metadata.name",              "",          COLUMN_NAME},
    {"Ready",      cell_ready,      "",                           "",          0          },
    {"Age",        cell_age,        "metadata.creationTimestamp", "<unknown>", 0          },
    {"Containers", cell_containers, "name",                       "",          COLUMN_WIDE},
    {"Images",     cell_containers, "image",                      "",          COLUMN_WIDE},
    {NULL,         NULL,            NULL,                         NULL,        0          },
};

const KindColumn deployment_columns[] = {
    {"Name",       cell_value,      "metadata.name",              "",          COLUMN_NAME },
    {"Ready",      cell_ready,      "",                           "",          0           },
    {"Up-to-date", cell_value,      "status.updatedReplicas",     "0",         COLUMN_TYPED},
    {"Available",  cell_value,      "status.availableReplicas",   "0",         COLUMN_TYPED},
    {"Age",        cell_age,        "metadata.creationTimestamp", "<unknown>", 0           },
    {"Containers", cell_containers, "name",                       "",          COLUMN_WIDE },
    {"Images",     cell_containers, "image",                      "",          COLUMN_WIDE },
    {"Selector",   cell_selector,   "spec.selector",              "",          COLUMN_WIDE },
    {NULL,         NULL,            NULL,                         NULL,        0           },
};

const KindColumn replica_set_columns[] = {
    {"Name",       cell_value,      "metadata.name",              "",          COLUMN_NAME   },
    {"Desired",    cell_value,      "spec.replicas",              "1",         COLUMN_INTEGER},
    {"Current",    cell_value,      "status.replicas",            "0",         COLUMN_INTEGER},
    {"Ready",      cell_value,      "status.readyReplicas",       "0",         COLUMN_INTEGER},
    {"Age",        cell_age,        "metadata.creationTimestamp", "<unknown>", 0             },
    {"Containers", cell_containers, "name",                       "",          COLUMN_WIDE   },
    {"Images",     cell_containers, "image",                      "",          COLUMN_WIDE   },
    {"Selector",   cell_selector,   "spec.selector",              "",          COLUMN_WIDE   },
    {NULL,         NULL,            NULL,                         NULL,        0             },
};

const KindColumn daemon_set_columns[] = {
    {"Name",          cell_value,      "metadata.name",                   "",          COLUMN_NAME   },
    {"Desired",       cell_value,      "status.desiredNumberScheduled",   "0",         COLUMN_INTEGER},
    {"Current",       cell_value,      "status.currentNumberScheduled",   "0",         COLUMN_INTEGER},
    {"Ready",         cell_value,      "status.numberReady",              "0",         COLUMN_INTEGER},
    {"Up-to-date",    cell_value,      "status.updatedNumberScheduled",   "0",         COLUMN_INTEGER},
    {"Available",     cell_value,      "status.numberAvailable",          "0",         COLUMN_INTEGER},
    {"Node Selector", cell_map,        "spec.template.spec.nodeSelector", "",          0             },
    {"Age",           cell_age,        "metadata.creationTimestamp",      "<unknown>", 0             },
    {"Containers",    cell_containers, "name",                            "",          COLUMN_WIDE   },
    {"Images",        cell_containers, "image",                           "",          COLUMN_WIDE   },
    {"Selector",      cell_selector,   "spec.selector",                   "",          COLUMN_WIDE   },
    {NULL,            NULL,            NULL,                              NULL,        0             },
};

/* The first condition of the list that holds. */
static void
cell_job_status(Cell *cell)
{
    static const char *const conditions[] = {"Complete", "Failed", "Suspended", "FailureTarget",
                                             "SuccessCriteriaMet"};
    const char *status = "Running";

    for (unsigned i = G_N_ELEMENTS(conditions); i-- > 0;)
        if (has_condition(cell->object, conditions[i]))
            status = conditions[i];
    if (*value_text(cell->object, "metadata.deletionTimestamp") != '\0' &&
        !has_condition(cell->object, "Complete") && !has_condition(cell->object, "Failed"))
        status = "Terminating";
    g_string_append(cell->text, status);
}

/* "0/1 of 3" for a job that needs any one success. */
static void
cell_completions(Cell *cell)
{
    int64_t parallelism = value_integer(cell->object, "spec.parallelism", 1);

    g_string_append_printf(cell->text, "%" PRId64 "/%" PRId64,
                           value_integer(cell->object, "status.succeeded", 0),
                           value_integer(cell->object, "spec.completions", 1));
    if (value_at(cell->object, "spec.completions") == NULL && parallelism > 1)
        g_string_append_printf(cell->text, " of %" PRId64, parallelism);
}

static void
cell_duration(Cell *cell)
{
    ValueTime started_at = value_time(cell->object, "status.startTime");
    ValueTime completed_at = value_time(cell->object, "status.completionTime");

    if (started_at != VALUE_TIME_NONE)
        value_append_age(cell->text, started_at,
                         completed_at == VALUE_TIME_NONE ? cell->now : completed_at);
}

const KindColumn job_columns[] = {
    {"Name",        cell_value,       "metadata.name",              "",          COLUMN_NAME},
    {"Status",      cell_job_status,  "",                           "",          0          },
    {"Completions", cell_completions, "",                           "",          0          },
    {"Duration",    cell_duration,    "",                           "",          0          },
    {"Age",         cell_age,         "metadata.creationTimestamp", "<unknown>", 0          },
    {"Containers",  cell_containers,  "name",                       "",          COLUMN_WIDE},
    {"Images",      cell_containers,  "image",                      "",          COLUMN_WIDE},
    {"Selector",    cell_selector,    "spec.selector",              "",          COLUMN_WIDE},
    {NULL,          NULL,             NULL,                         NULL,        0          },
};

static void
cell_suspend(Cell *cell)
{
    g_string_append(cell->text, value_is_true(cell->object, "spec.suspend") ? "True" : "False");
}

static void
cell_active(Cell *cell)
{
    g_string_append_printf(cell->text, "%" G_GSIZE_FORMAT,
                           value_length(cell->object, "status.active"));
}

const KindColumn cron_job_columns[] = {
    {"Name",          cell_value,      "metadata.name",                  "",          COLUMN_NAME   },
    {"Schedule",      cell_value,      "spec.schedule",                  "",          0             },
    {"Timezone",      cell_value,      "spec.timeZone",                  "<none>",    0             },
    {"Suspend",       cell_suspend,    "",                               "",          COLUMN_BOOLEAN},
    {"Active",        cell_active,     "",                               "",          COLUMN_INTEGER},
    {"Last Schedule", cell_age,        "status.lastScheduleTime",        "<none>",    0             },
    {"Age",           cell_age,        "metadata.creationTimestamp",     "<unknown>", 0             },
    {"Containers",    cell_containers, "name",                           "",          COLUMN_WIDE   },
    {"Images",        cell_containers, "image",                          "",          COLUMN_WIDE   },
    {"Selector",      cell_selector,   "spec.jobTemplate.spec.selector", "",          COLUMN_WIDE   },
    {NULL,            NULL,            NULL,                             NULL,        0             },
};

static void
cell_ports(Cell *cell)
{
    json_t *port;
    gsize i;

    json_array_foreach(cell->value, i, port) {
        int64_t node_port = value_integer(port, "nodePort", 0);

        g_string_append_printf(cell->text, "%s%" PRId64, i > 0 ? "," : "",
                               value_integer(port, "port", 0));
        if (node_port != 0)
            g_string_append_printf(cell->text, ":%" PRId64, node_port);
        g_string_append_printf(cell->text, "/%s", value_text(port, "protocol"));
    }
}

/* getServiceExternalIP() of pkg/printers/internalversion. */
static void
cell_external_address(Cell *cell)
{
    const char *type = value_text(cell->object, "spec.type");
    json_t *ingress, *addresses = value_at(cell->object, "spec.externalIPs"), *address;
    gsize i;

    if (strcmp(type, "ExternalName") == 0) {
        g_string_append(cell->text, value_text(cell->object, "spec.externalName"));
        return;
    }
    if (strcmp(type, "LoadBalancer") == 0)
        json_array_foreach(value_at(cell->object, "status.loadBalancer.ingress"), i, ingress) {
            const char *ip = value_text(ingress, "ip");
            g_string_append_printf(cell->text, "%s%s", cell->text->len > 0 ? "," : "",
                                   *ip != '\0' ? ip : value_text(ingress, "hostname"));
        }
    json_array_foreach(addresses, i, address)
        g_string_append_printf(cell->text, "%s%s", cell->text->len > 0 ? "," : "",
                               json_string_value(address));
    if (cell->text->len == 0)
        g_string_append(cell->text, strcmp(type, "LoadBalancer") == 0 ? "<pending>" : "<none>");
}

const KindColumn service_columns[] = {
    {"Name",        cell_value,            "metadata.name",              "",          COLUMN_NAME},
    {"Type",        cell_value,            "spec.type",                  "",          0          },
    {"Cluster-IP",  cell_value,            "spec.clusterIP",             "<none>",    0          },
    {"External-IP", cell_external_address, "",                           "",          0          },
    {"Port(s)",     cell_ports,            "spec.ports",                 "<none>",    0          },
    {"Age",         cell_age,              "metadata.creationTimestamp", "<unknown>", 0          },
    {"Selector",    cell_map,              "spec.selector",              "",          COLUMN_WIDE},
    {NULL,          NULL,                  NULL,                         NULL,        0          },
};

const KindColumn namespace_columns[] = {
    {"Name",   cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"Status", cell_value, "status.phase",               "",          0          },
    {"Age",    cell_age,   "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,     NULL,       NULL,                         NULL,        0          },
};

const KindColumn lease_columns[] = {
    {"Name",   cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"Holder", cell_value, "spec.holderIdentity",        "",          0          },
    {"Age",    cell_age,   "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,     NULL,       NULL,                         NULL,        0          },
};

const KindColumn disruption_budget_columns[] = {
    {"Name",                cell_value, "metadata.name",              "",          COLUMN_NAME   },
    {"Min Available",       cell_value, "spec.minAvailable",          "N/A",       0             },
    {"Max Unavailable",     cell_value, "spec.maxUnavailable",        "N/A",       0             },
    {"Allowed Disruptions", cell_value, "status.disruptionsAllowed",  "0",         COLUMN_INTEGER},
    {"Age",                 cell_age,   "metadata.creationTimestamp", "<unknown>", 0             },
    {NULL,                  NULL,       NULL,                         NULL,        0             },
};

const KindColumn priority_class_columns[] = {
    {"Name",             cell_value, "metadata.name",              "",                     COLUMN_NAME },
    {"Value",            cell_value, "value",                      "0",                    COLUMN_TYPED},
    {"Global-Default",   cell_value, "globalDefault",              "false",                COLUMN_TYPED},
    {"Age",              cell_age,   "metadata.creationTimestamp", "<unknown>",            0           },
    {"PreemptionPolicy", cell_value, "preemptionPolicy",           "PreemptLowerPriority", 0           },
    {NULL,               NULL,       NULL,                         NULL,                   0           },
};

/* "statefulset.apps/web" */
static void
cell_controller(Cell *cell)
{
    json_t *owner = value_controller(cell->object);
    g_autofree char *kind = g_ascii_strdown(value_text(owner, "kind"), -1);
    const char *version = value_text(owner, "apiVersion"), *slash = strchr(version, '/');

    if (owner != NULL)
        g_string_append_printf(cell->text, "%s%s%.*s/%s", kind, slash != NULL ? "." : "",
                               slash != NULL ? (int)(slash - version) : 0, version,
                               value_text(owner, "name"));
}

const KindColumn controller_revision_columns[] = {
    {"Name",       cell_value,      "metadata.name",              "",          COLUMN_NAME },
    {"Controller", cell_controller, "",                           "<none>",    0           },
    {"Revision",   cell_value,      "revision",                   "0",         COLUMN_TYPED},
    {"Age",        cell_age,        "metadata.creationTimestamp", "<unknown>", 0           },
    {NULL,         NULL,            NULL,                         NULL,        0           },
};

static void
cell_involved(Cell *cell)
{
    g_autofree char *kind = g_ascii_strdown(value_text(cell->object, "involvedObject.kind"), -1);
    const char *name = value_text(cell->object, "involvedObject.name");

    g_string_append_printf(cell->text, "%s%s%s", kind, *name != '\0' ? "/" : "", name);
}

static void
cell_source(Cell *cell)
{
    const char *component = value_text(cell->object, "source.component"),
               *host = value_text(cell->object, "source.host");

    if (*component == '\0')
        component = value_text(cell->object, "reportingComponent");
    if (*host == '\0')
        host = value_text(cell->object, "reportingInstance");
    g_string_append_printf(cell->text, "%s%s%s", component, *host != '\0' ? ", " : "", host);
}

static void
cell_message(Cell *cell)
{
    g_autofree char *message = g_strstrip(g_strdup(value_text(cell->object, cell->column->path)));

    g_string_append(cell->text, message);
}

static ValueTime
first_seen(json_t *event)
{
    ValueTime first = value_time(event, "firstTimestamp");

    return first != VALUE_TIME_NONE ? first : value_time(event, "eventTime");
}

static void
cell_first_seen(Cell *cell)
{
    value_append_age(cell->text, first_seen(cell->object), cell->now);
}

static void
cell_last_seen(Cell *cell)
{
    ValueTime last = value_time(cell->object, "lastTimestamp");

    if (value_at(cell->object, "series") != NULL)
        last = value_time(cell->object, "series.lastObservedTime");
    else if (last == VALUE_TIME_NONE)
        last = first_seen(cell->object);
    value_append_age(cell->text, last, cell->now);
}

static void
cell_count(Cell *cell)
{
    int64_t count = value_integer(cell->object, "count", 0);

    if (value_at(cell->object, "series") != NULL)
        count = value_integer(cell->object, "series.count", 0);
    else if (count == 0)
        count = 1; /* events.k8s.io counts from the second time on */
    g_string_append_printf(cell->text, "%" PRId64, count);
}

const KindColumn event_columns[] = {
    {"Last Seen",  cell_last_seen,  "",                         "",   0                         },
    {"Type",       cell_value,      "type",                     "",   0                         },
    {"Reason",     cell_value,      "reason",                   "",   0                         },
    {"Object",     cell_involved,   "",                         "",   0                         },
    {"Subobject",  cell_value,      "involvedObject.fieldPath", "",   COLUMN_WIDE               },
    {"Source",     cell_source,     "",                         "",   COLUMN_WIDE               },
    {"Message",    cell_message,    "message",                  "",   0                         },
    {"First Seen", cell_first_seen, "",                         "",   COLUMN_WIDE               },
    {"Count",      cell_count,      "",                         "",   COLUMN_WIDE | COLUMN_TYPED},
    {"Name",       cell_value,      "metadata.name",            "",   COLUMN_WIDE | COLUMN_NAME },
    {NULL,         NULL,            NULL,                       NULL, 0                         },
};
