/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "kinds.h"

/* Rows of pods, nodes, workloads and events, as the API server prints them
 * (pkg/printers/internalversion of 1.32). */

#define COLUMN_NAME                                                                                \
    {                                                                                              \
        "Name", FALSE, TRUE                                                                        \
    }
#define COLUMN_AGE                                                                                 \
    {                                                                                              \
        "Age", FALSE, FALSE                                                                        \
    }
#define COLUMNS_END                                                                                \
    {                                                                                              \
        NULL, FALSE, FALSE                                                                         \
    }

const KindColumn pod_columns[] = {
    COLUMN_NAME,
    {"Ready",           FALSE, FALSE},
    {"Status",          FALSE, FALSE},
    {"Restarts",        FALSE, FALSE},
    COLUMN_AGE,
    {"IP",              TRUE,  FALSE},
    {"Node",            TRUE,  FALSE},
    {"Nominated Node",  TRUE,  FALSE},
    {"Readiness Gates", TRUE,  FALSE},
    COLUMNS_END,
};

/* What the containers of a pod add up to. */
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

/* Of a container that ended without a reason: its signal or exit code. */
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

/* Looks at the init containers up to the first that is not done. @sidecars: gets the restarts of
 * those that go on beside the pod's containers. Returns: whether there is one that is not done */
static gboolean
summarize_init(PodSummary *self, json_t *pod, PodSummary *sidecars)
{
    json_t *status;
    gsize i;

    json_array_foreach(value_at(pod, "status.initContainerStatuses"), i, status)
    {
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
    json_array_foreach(value_at(pod, "status.conditions"), i,
                       item) if (strcmp(value_text(item, "type"), "PodScheduled") == 0 &&
                                 strcmp(value_text(item, "reason"), "SchedulingGated") == 0)
        set_reason(self, "SchedulingGated");

    self->total = (int64_t)value_length(pod, "spec.containers");
    json_array_foreach(value_at(pod, "spec.initContainers"), i, item) self->total +=
        strcmp(value_text(item, "restartPolicy"), "Always") == 0;

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

static const char *
text_or_none(const char *text)
{
    return *text != '\0' ? text : "<none>";
}

static void
add_gates(GPtrArray *cells, json_t *pod)
{
    json_t *gates = value_at(pod, "spec.readinessGates"), *gate;
    unsigned n_true = 0;
    gsize i;

    if (json_array_size(gates) == 0) {
        cell_add(cells, "<none>");
        return;
    }
    json_array_foreach(gates, i, gate) n_true +=
        has_condition(pod, value_text(gate, "conditionType"));
    cell_add(cells, "%u/%" G_GSIZE_FORMAT, n_true, json_array_size(gates));
}

void
pod_row(GPtrArray *cells, json_t *pod, ValueTime now)
{
    PodSummary summary = {.restarted_at = VALUE_TIME_NONE};
    g_autoptr(GString) restarts = g_string_new(NULL);

    summarize_pod(&summary, pod);
    cell_add(cells, "%s", value_text(pod, "metadata.name"));
    cell_add(cells, "%" PRId64 "/%" PRId64, summary.ready, summary.total);
    cell_add(cells, "%s", summary.reason);
    g_string_printf(restarts, "%" PRId64, summary.restarts);
    if (summary.restarts != 0 && summary.restarted_at != VALUE_TIME_NONE) {
        g_string_append(restarts, " (");
        value_append_age(restarts, summary.restarted_at, now);
        g_string_append(restarts, " ago)");
    }
    cell_add(cells, "%s", restarts->str);
    cell_add_age(cells, pod, now);
    cell_add(cells, "%s",
             text_or_none(value_text(json_array_get(value_at(pod, "status.podIPs"), 0), "ip")));
    cell_add(cells, "%s", text_or_none(value_text(pod, "spec.nodeName")));
    cell_add(cells, "%s", text_or_none(value_text(pod, "status.nominatedNodeName")));
    add_gates(cells, pod);
    g_free(summary.reason);
}

const KindColumn node_columns[] = {
    COLUMN_NAME,
    {"Status",            FALSE, FALSE},
    {"Roles",             FALSE, FALSE},
    COLUMN_AGE,
    {"Version",           FALSE, FALSE},
    {"Internal-IP",       TRUE,  FALSE},
    {"External-IP",       TRUE,  FALSE},
    {"OS-Image",          TRUE,  FALSE},
    {"Kernel-Version",    TRUE,  FALSE},
    {"Container-Runtime", TRUE,  FALSE},
    COLUMNS_END,
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
    g_string_append(out, text_or_none(joined));
}

static const char *
address_of(json_t *node, const char *type)
{
    json_t *address = value_find(value_at(node, "status.addresses"), "type", type);

    return address != NULL ? value_text(address, "address") : "<none>";
}

void
node_row(GPtrArray *cells, json_t *node, ValueTime now)
{
    static const char *const facts[] = {"osImage", "kernelVersion", "containerRuntimeVersion"};
    json_t *ready = value_find(value_at(node, "status.conditions"), "type", "Ready");
    g_autoptr(GString) roles = g_string_new(NULL);

    cell_add(cells, "%s", value_text(node, "metadata.name"));
    cell_add(cells, "%s%s",
             ready == NULL                                      ? "Unknown"
             : strcmp(value_text(ready, "status"), "True") == 0 ? "Ready"
                                                                : "NotReady",
             value_is_true(node, "spec.unschedulable") ? ",SchedulingDisabled" : "");
    append_node_roles(roles, node);
    cell_add(cells, "%s", roles->str);
    cell_add_age(cells, node, now);
    cell_add(cells, "%s", value_text(node, "status.nodeInfo.kubeletVersion"));
    cell_add(cells, "%s", address_of(node, "InternalIP"));
    cell_add(cells, "%s", address_of(node, "ExternalIP"));
    for (unsigned i = 0; i < G_N_ELEMENTS(facts); i++) {
        const char *text = value_text(value_at(node, "status.nodeInfo"), facts[i]);

        cell_add(cells, "%s", *text != '\0' ? text : "<unknown>");
    }
}

/* The names and images of a template's containers: two cells. */
static void
add_containers(GPtrArray *cells, json_t *object)
{
    static const char *const fields[] = {"name", "image"};
    json_t *containers = value_at(object, "spec.template.spec.containers"), *container;

    for (unsigned f = 0; f < G_N_ELEMENTS(fields); f++) {
        g_autoptr(GString) text = g_string_new(NULL);
        gsize i;

        json_array_foreach(containers, i, container) g_string_append_printf(
            text, "%s%s", i > 0 ? "," : "", value_text(container, fields[f]));
        cell_add(cells, "%s", text->str);
    }
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

    if (json_object_size(labels) > 0 || json_array_size(expressions) == 0)
        value_append_map(out, labels);
    json_array_foreach(expressions, i, expression)
    {
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

static void
add_selector(GPtrArray *cells, json_t *object)
{
    g_autoptr(GString) text = g_string_new(NULL);

    append_label_selector(text, value_at(object, "spec.selector"));
    cell_add(cells, "%s", text->str);
}

static void
add_number(GPtrArray *cells, json_t *object, const char *path)
{
    cell_add(cells, "%" PRId64, value_integer(object, path, 0));
}

/* "ready/wanted" */
static void
add_ready(GPtrArray *cells, json_t *object)
{
    cell_add(cells, "%" PRId64 "/%" PRId64, value_integer(object, "status.readyReplicas", 0),
             value_integer(object, "spec.replicas", 1));
}

const KindColumn stateful_set_columns[] = {
    COLUMN_NAME,
    {"Ready",      FALSE, FALSE},
    COLUMN_AGE,
    {"Containers", TRUE,  FALSE},
    {"Images",     TRUE,  FALSE},
    COLUMNS_END,
};

void
stateful_set_row(GPtrArray *cells, json_t *set, ValueTime now)
{
    cell_add(cells, "%s", value_text(set, "metadata.name"));
    add_ready(cells, set);
    cell_add_age(cells, set, now);
    add_containers(cells, set);
}

const KindColumn deployment_columns[] = {
    COLUMN_NAME,
    {"Ready",      FALSE, FALSE},
    {"Up-to-date", FALSE, FALSE},
    {"Available",  FALSE, FALSE},
    COLUMN_AGE,
    {"Containers", TRUE,  FALSE},
    {"Images",     TRUE,  FALSE},
    {"Selector",   TRUE,  FALSE},
    COLUMNS_END,
};

void
deployment_row(GPtrArray *cells, json_t *deployment, ValueTime now)
{
    cell_add(cells, "%s", value_text(deployment, "metadata.name"));
    add_ready(cells, deployment);
    add_number(cells, deployment, "status.updatedReplicas");
    add_number(cells, deployment, "status.availableReplicas");
    cell_add_age(cells, deployment, now);
    add_containers(cells, deployment);
    add_selector(cells, deployment);
}

const KindColumn replica_set_columns[] = {
    COLUMN_NAME, {"Desired",    FALSE, FALSE},
     {"Current",    FALSE, FALSE},
     {"Ready",      FALSE, FALSE},
    COLUMN_AGE,  {"Containers", TRUE,  FALSE},
     {"Images",     TRUE,  FALSE},
     {"Selector",   TRUE,  FALSE},
    COLUMNS_END,
};

void
replica_set_row(GPtrArray *cells, json_t *set, ValueTime now)
{
    cell_add(cells, "%s", value_text(set, "metadata.name"));
    cell_add(cells, "%" PRId64, value_integer(set, "spec.replicas", 1));
    add_number(cells, set, "status.replicas");
    add_number(cells, set, "status.readyReplicas");
    cell_add_age(cells, set, now);
    add_containers(cells, set);
    add_selector(cells, set);
}

const KindColumn daemon_set_columns[] = {
    COLUMN_NAME,
    {"Desired",       FALSE, FALSE},
    {"Current",       FALSE, FALSE},
    {"Ready",         FALSE, FALSE},
    {"Up-to-date",    FALSE, FALSE},
    {"Available",     FALSE, FALSE},
    {"Node Selector", FALSE, FALSE},
    COLUMN_AGE,
    {"Containers",    TRUE,  FALSE},
    {"Images",        TRUE,  FALSE},
    {"Selector",      TRUE,  FALSE},
    COLUMNS_END,
};

void
daemon_set_row(GPtrArray *cells, json_t *set, ValueTime now)
{
    g_autoptr(GString) selector = g_string_new(NULL);

    cell_add(cells, "%s", value_text(set, "metadata.name"));
    add_number(cells, set, "status.desiredNumberScheduled");
    add_number(cells, set, "status.currentNumberScheduled");
    add_number(cells, set, "status.numberReady");
    add_number(cells, set, "status.updatedNumberScheduled");
    add_number(cells, set, "status.numberAvailable");
    value_append_map(selector, value_at(set, "spec.template.spec.nodeSelector"));
    cell_add(cells, "%s", selector->str);
    cell_add_age(cells, set, now);
    add_containers(cells, set);
    add_selector(cells, set);
}

const KindColumn job_columns[] = {
    COLUMN_NAME,
    {"Status",      FALSE, FALSE},
    {"Completions", FALSE, FALSE},
    {"Duration",    FALSE, FALSE},
    COLUMN_AGE,
    {"Containers",  TRUE,  FALSE},
    {"Images",      TRUE,  FALSE},
    {"Selector",    TRUE,  FALSE},
    COLUMNS_END,
};

static const char *
job_status(json_t *job)
{
    static const struct {
        const char *condition, *word;
    } words[] = {
        {"Complete",           "Complete"          },
        {"Failed",             "Failed"            },
        {"Suspended",          "Suspended"         },
        {"FailureTarget",      "FailureTarget"     },
        {"SuccessCriteriaMet", "SuccessCriteriaMet"},
    };

    if (*value_text(job, "metadata.deletionTimestamp") != '\0' && !has_condition(job, "Complete") &&
        !has_condition(job, "Failed"))
        return "Terminating";
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (has_condition(job, words[i].condition))
            return words[i].word;
    return "Running";
}

/* Of one that only needs any success: "0/1 of 3". */
static void
add_completions(GPtrArray *cells, json_t *job)
{
    int64_t succeeded = value_integer(job, "status.succeeded", 0);
    int64_t parallelism = value_integer(job, "spec.parallelism", 1);

    if (value_at(job, "spec.completions") != NULL)
        cell_add(cells, "%" PRId64 "/%" PRId64, succeeded,
                 value_integer(job, "spec.completions", 1));
    else if (parallelism > 1)
        cell_add(cells, "%" PRId64 "/1 of %" PRId64, succeeded, parallelism);
    else
        cell_add(cells, "%" PRId64 "/1", succeeded);
}

void
job_row(GPtrArray *cells, json_t *job, ValueTime now)
{
    ValueTime started_at = value_time(job, "status.startTime");
    ValueTime completed_at = value_time(job, "status.completionTime");

    g_autoptr(GString) duration = g_string_new(NULL);

    cell_add(cells, "%s", value_text(job, "metadata.name"));
    cell_add(cells, "%s", job_status(job));
    add_completions(cells, job);
    if (started_at != VALUE_TIME_NONE)
        value_append_age(duration, started_at,
                         completed_at == VALUE_TIME_NONE ? now : completed_at);
    cell_add(cells, "%s", duration->str);
    cell_add_age(cells, job, now);
    add_containers(cells, job);
    add_selector(cells, job);
}

const KindColumn service_columns[] = {
    COLUMN_NAME,
    {"Type",        FALSE, FALSE},
    {"Cluster-IP",  FALSE, FALSE},
    {"External-IP", FALSE, FALSE},
    {"Port(s)",     FALSE, FALSE},
    COLUMN_AGE,
    {"Selector",    TRUE,  FALSE},
    COLUMNS_END,
};

void
service_row(GPtrArray *cells, json_t *service, ValueTime now)
{
    json_t *ports = value_at(service, "spec.ports"), *port;
    g_autoptr(GString) text = g_string_new(NULL), selector = g_string_new(NULL);
    g_autoptr(GString) external = g_string_new(NULL);
    gsize i;

    cell_add(cells, "%s", value_text(service, "metadata.name"));
    cell_add(cells, "%s", value_text(service, "spec.type"));
    cell_add(cells, "%s", text_or_none(value_text(service, "spec.clusterIP")));
    value_append_joined(external, value_at(service, "spec.externalIPs"), ",");
    cell_add(cells, "%s", text_or_none(external->str));
    json_array_foreach(ports, i, port)
    {
        int64_t node_port = value_integer(port, "nodePort", 0);

        g_string_append_printf(text, "%s%" PRId64, i > 0 ? "," : "",
                               value_integer(port, "port", 0));
        if (node_port != 0)
            g_string_append_printf(text, ":%" PRId64, node_port);
        g_string_append_printf(text, "/%s", value_text(port, "protocol"));
    }
    cell_add(cells, "%s", text_or_none(text->str));
    cell_add_age(cells, service, now);
    value_append_map(selector, value_at(service, "spec.selector"));
    cell_add(cells, "%s", selector->str);
}

const KindColumn namespace_columns[] = {
    COLUMN_NAME, {"Status", FALSE, FALSE},
     COLUMN_AGE, COLUMNS_END
};

void
namespace_row(GPtrArray *cells, json_t *namespace, ValueTime now)
{
    cell_add(cells, "%s", value_text(namespace, "metadata.name"));
    cell_add(cells, "%s", value_text(namespace, "status.phase"));
    cell_add_age(cells, namespace, now);
}

const KindColumn lease_columns[] = {
    COLUMN_NAME, {"Holder", FALSE, FALSE},
     COLUMN_AGE, COLUMNS_END
};

void
lease_row(GPtrArray *cells, json_t *lease, ValueTime now)
{
    cell_add(cells, "%s", value_text(lease, "metadata.name"));
    cell_add(cells, "%s", value_text(lease, "spec.holderIdentity"));
    cell_add_age(cells, lease, now);
}

const KindColumn event_columns[] = {
    {"Last Seen",  FALSE, FALSE},
    {"Type",       FALSE, FALSE},
    {"Reason",     FALSE, FALSE},
    {"Object",     FALSE, FALSE},
    {"Subobject",  TRUE,  FALSE},
    {"Source",     TRUE,  FALSE},
    {"Message",    FALSE, FALSE},
    {"First Seen", TRUE,  FALSE},
    {"Count",      TRUE,  FALSE},
    {"Name",       TRUE,  TRUE },
    COLUMNS_END,
};

static void
add_source(GPtrArray *cells, json_t *event)
{
    const char *component = value_text(event, "source.component"),
               *host = value_text(event, "source.host");

    if (*component == '\0')
        component = value_text(event, "reportingComponent");
    if (*host == '\0')
        host = value_text(event, "reportingInstance");
    cell_add(cells, "%s%s%s", component, *host != '\0' ? ", " : "", host);
}

void
event_row(GPtrArray *cells, json_t *event, ValueTime now)
{
    ValueTime first = value_time(event, "firstTimestamp"),
              last = value_time(event, "lastTimestamp");
    int64_t count = value_integer(event, "count", 0);
    g_autoptr(GString) first_age = g_string_new(NULL), last_age = g_string_new(NULL);
    g_autofree char *kind = g_ascii_strdown(value_text(event, "involvedObject.kind"), -1);
    g_autofree char *message = g_strstrip(g_strdup(value_text(event, "message")));
    const char *name = value_text(event, "involvedObject.name");

    if (first == VALUE_TIME_NONE)
        first = value_time(event, "eventTime");
    if (last == VALUE_TIME_NONE)
        last = first;
    if (value_at(event, "series") != NULL) {
        last = value_time(event, "series.lastObservedTime");
        count = value_integer(event, "series.count", 0);
    } else if (count == 0) {
        count = 1; /* of the new kind of recorder, which counts nothing that came once */
    }

    value_append_age(last_age, last, now);
    cell_add(cells, "%s", last_age->str);
    cell_add(cells, "%s", value_text(event, "type"));
    cell_add(cells, "%s", value_text(event, "reason"));
    cell_add(cells, "%s%s%s", kind, *name != '\0' ? "/" : "", name);
    cell_add(cells, "%s", value_text(event, "involvedObject.fieldPath"));
    add_source(cells, event);
    cell_add(cells, "%s", message);
    value_append_age(first_age, first, now);
    cell_add(cells, "%s", first_age->str);
    cell_add(cells, "%" PRId64, count);
    cell_add(cells, "%s", value_text(event, "metadata.name"));
}
