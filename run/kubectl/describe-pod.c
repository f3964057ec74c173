/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `kubectl describe` of pods and of templates of pods: containers with their states, volumes,
 * tolerations, spread and conditions, in kubectl's order and words. A template is printed by the
 * same functions with another indent. The quality class is computed if the status does not tell it.
 */
#include <string.h>

#include "describe.h"
#include "models/api/field.h"

static void
put_resources(Description *self, json_t *resources)
{
    static const struct {
        const char *path, *title;
    } lists[] = {
        {"limits",   "Limits"  },
        {"requests", "Requests"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        json_t *list = value_at(resources, lists[i].path);
        g_auto(GStrv) keys = value_keys(list);

        if (keys[0] != NULL)
            put(self, 2, "%s:\n", lists[i].title);
        for (unsigned k = 0; keys[k] != NULL; k++)
            put_quantity(self, 3, keys[k], json_object_get(list, keys[k]));
    }
}

/* "State:\tRunning" and its details. */
static void
put_state(Description *self, const char *title, json_t *state)
{
    json_t *running = value_at(state, "running"), *waiting = value_at(state, "waiting");
    json_t *terminated = value_at(state, "terminated");
    const char *reason = value_text(waiting != NULL ? waiting : terminated, "reason");

    if (running != NULL) {
        put(self, 2, "%s:\tRunning\n", title);
        put_date(self, 3, "Started", running, "startedAt");
        return;
    }
    put(self, 2, "%s:\t%s\n", title,
        waiting == NULL && terminated != NULL ? "Terminated" : "Waiting");
    if (*reason != '\0')
        put_text(self, 3, "Reason", reason);
    if (waiting != NULL || terminated == NULL)
        return;
    put_optional_text(self, 3, "Message", terminated, "message");
    put(self, 3, "Exit Code:\t%" PRId64 "\n", value_integer(terminated, "exitCode", 0));
    if (value_integer(terminated, "signal", 0) > 0)
        put(self, 3, "Signal:\t%" PRId64 "\n", value_integer(terminated, "signal", 0));
    put_date(self, 3, "Started", terminated, "startedAt");
    put_date(self, 3, "Finished", terminated, "finishedAt");
}

/* "Port:\t8080/TCP"; "Ports:" if there are several. */
static void
put_ports(Description *self, const char *title, json_t *ports, const char *field)
{
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *port;
    gsize i;

    json_array_foreach(ports, i, port)
        g_string_append_printf(text, "%s%" PRId64 "/%s", i > 0 ? ", " : "",
                               value_integer(port, field, 0), value_text(port, "protocol"));
    put(self, 2, "%s%s:\t%s\n", title, json_array_size(ports) > 1 ? "s" : "",
        text->len > 0 ? text->str : "<none>");
}

/* A command or its arguments, one a line. */
static void
put_words(Description *self, const char *title, json_t *words)
{
    json_t *word;
    gsize i;

    if (json_array_size(words) > 0)
        put(self, 2, "%s:\n", title);
    json_array_foreach(words, i, word) {
        g_auto(GStrv) lines = g_strsplit(json_string_value(word), "\n", -1);

        for (unsigned l = 0; lines[l] != NULL; l++)
            put(self, 3, "%s\n", lines[l]);
    }
}

static void
append_probe(GString *out, json_t *probe)
{
    json_t *exec = value_at(probe, "exec"), *http = value_at(probe, "httpGet"),
           *tcp = value_at(probe, "tcpSocket");
    json_t *grpc = value_at(probe, "grpc");

    if (exec != NULL) {
        g_string_append(out, "exec [");
        value_append_joined(out, value_at(exec, "command"), " ");
        g_string_append_c(out, ']');
    } else if (http != NULL) {
        g_autofree char *scheme = g_ascii_strdown(value_text(http, "scheme"), -1);
        const char *path = value_text(http, "path");

        g_string_append_printf(out, "http-get %s://%s:", scheme, value_text(http, "host"));
        value_append_go(out, value_at(http, "port"));
        g_string_append_printf(out, "%s%s", *path != '\0' && *path != '/' ? "/" : "", path);
    } else if (tcp != NULL) {
        g_string_append_printf(out, "tcp-socket %s:", value_text(tcp, "host"));
        value_append_go(out, value_at(tcp, "port"));
    } else if (grpc != NULL) {
        g_string_append_printf(out, "grpc <pod>:%" PRId64 " %s", value_integer(grpc, "port", 0),
                               value_text(grpc, "service"));
    } else {
        g_string_append(out, "unknown");
    }
    g_string_append_printf(
        out,
        " delay=%" PRId64 "s timeout=%" PRId64 "s period=%" PRId64 "s #success=%" PRId64
        " #failure=%" PRId64,
        value_integer(probe, "initialDelaySeconds", 0), value_integer(probe, "timeoutSeconds", 0),
        value_integer(probe, "periodSeconds", 0), value_integer(probe, "successThreshold", 0),
        value_integer(probe, "failureThreshold", 0));
}

static void
put_probes(Description *self, json_t *container)
{
    static const struct {
        const char *path, *title;
    } probes[] = {
        {"livenessProbe",  "Liveness" },
        {"readinessProbe", "Readiness"},
        {"startupProbe",   "Startup"  },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(probes); i++) {
        json_t *probe = value_at(container, probes[i].path);
        g_autoptr(GString) text = g_string_new(NULL);

        if (probe == NULL)
            continue;
        append_probe(text, probe);
        put_text(self, 2, probes[i].title, text->str);
    }
}

/* Appends the field of the pod that a fieldRef names. @pod: NULL in a template: appends nothing */
static void
append_field_value(GString *out, json_t *pod, const char *path)
{
    gsize length = strlen(path);
    const char *open = strchr(path, '[');

    if (pod == NULL)
        return;
    if (open != NULL && length > 4 && path[length - 2] == '\'') { /* metadata.labels['app'] */
        g_autofree char *map = g_strndup(path, (gsize)(open - path));
        g_autofree char *key = g_strndup(open + 2, (gsize)(path + length - 2 - (open + 2)));
        const char *text = json_string_value(json_object_get(value_at(pod, map), key));

        g_string_append(out, text != NULL ? text : "");
    } else if (value_at(pod, path) != NULL) {
        value_append_go(out, value_at(pod, path));
    }
}

static void
put_environment_from(Description *self, json_t *sources)
{
    json_t *source;
    gsize i;

    if (json_array_size(sources) == 0)
        return;
    put(self, 2, "Environment Variables from:\n");
    json_array_foreach(sources, i, source) {
        json_t *map = value_at(source, "configMapRef"), *secret = value_at(source, "secretRef");
        json_t *reference = map != NULL ? map : secret;
        const char *prefix = value_text(source, "prefix");
        g_autofree char *with =
            *prefix != '\0' ? g_strdup_printf(" with prefix '%s'", prefix) : g_strdup("");

        put(self, 3, "%s\t%s%s\tOptional: %s\n", value_text(reference, "name"),
            map != NULL      ? "ConfigMap"
            : secret != NULL ? "Secret"
                             : "",
            with, value_is_true(reference, "optional") ? "true" : "false");
    }
}

static void
put_variable(Description *self, json_t *variable, json_t *pod)
{
    const char *name = value_text(variable, "name");
    json_t *field = value_at(variable, "valueFrom.fieldRef"),
           *key = value_at(variable, "valueFrom.secretKeyRef");
    json_t *resource = value_at(variable, "valueFrom.resourceFieldRef");
    g_autoptr(GString) value = g_string_new(NULL);

    if (value_at(variable, "valueFrom") == NULL) {
        g_auto(GStrv) lines = g_strsplit(value_text(variable, "value"), "\n", -1);

        put(self, 3, "%s:\t%s\n", name, lines[0] != NULL ? lines[0] : "");
        for (unsigned i = 1; lines[0] != NULL && lines[i] != NULL; i++)
            put(self, 3, "\t%s\n", lines[i]);
    } else if (field != NULL) {
        append_field_value(value, pod, value_text(field, "fieldPath"));
        put(self, 3, "%s:\t%s (%s:%s)\n", name, value->str, value_text(field, "apiVersion"),
            value_text(field, "fieldPath"));
    } else if (resource != NULL) {
        put(self, 3, "%s:\t (%s)\n", name, value_text(resource, "resource"));
    } else if (key != NULL) {
        put(self, 3, "%s:\t<set to the key '%s' in secret '%s'>\tOptional: %s\n", name,
            value_text(key, "key"), value_text(key, "name"),
            value_is_true(key, "optional") ? "true" : "false");
    } else if ((key = value_at(variable, "valueFrom.configMapKeyRef")) != NULL) {
        put(self, 3, "%s:\t<set to the key '%s' of config map '%s'>\tOptional: %s\n", name,
            value_text(key, "key"), value_text(key, "name"),
            value_is_true(key, "optional") ? "true" : "false");
    }
}

static int
compare_fields(const void *a, const void *b, void *path)
{
    return strcmp(value_text(*(json_t *const *)a, path), value_text(*(json_t *const *)b, path));
}

/* Returns: (owned): the items of a list, sorted by the text at @path */
static GPtrArray *
sorted(json_t *list, const char *path)
{
    GPtrArray *items = g_ptr_array_new();
    json_t *item;
    gsize i;

    json_array_foreach(list, i, item)
        g_ptr_array_add(items, item);
    g_ptr_array_sort_with_data(items, compare_fields, (char *)path);
    return items;
}

static void
put_mounts(Description *self, json_t *container)
{
    g_autoptr(GPtrArray) mounts = sorted(value_at(container, "volumeMounts"), "mountPath");
    g_autoptr(GPtrArray) devices = sorted(value_at(container, "volumeDevices"), "devicePath");
    const char *none = mounts->len == 0 ? "\t<none>" : "";

    put(self, 2, "Mounts:%s\n", none);
    for (unsigned i = 0; i < mounts->len; i++) {
        json_t *mount = mounts->pdata[i];
        const char *sub_path = value_text(mount, "subPath");
        g_autofree char *path =
            *sub_path != '\0' ? g_strdup_printf(",path=\"%s\"", sub_path) : g_strdup("");

        put(self, 3, "%s from %s (%s%s)\n", value_text(mount, "mountPath"),
            value_text(mount, "name"), value_is_true(mount, "readOnly") ? "ro" : "rw", path);
    }
    if (devices->len == 0)
        return;
    put(self, 2, "Devices:%s\n", none); /* kubectl too looks at the mounts here */
    for (unsigned i = 0; i < devices->len; i++)
        put(self, 3, "%s from %s\n", value_text(devices->pdata[i], "devicePath"),
            value_text(devices->pdata[i], "name"));
}

static void
put_seccomp(Description *self, unsigned level, json_t *profile)
{
    if (profile == NULL)
        return;
    put_text(self, level, "SeccompProfile", value_text(profile, "type"));
    if (strcmp(value_text(profile, "type"), "Localhost") == 0)
        put_text(self, level == 0 ? 0 : level + 1, "LocalhostProfile",
                 value_text(profile, "localhostProfile"));
}

/* @status: NULL if there is none yet. @pod: NULL in a template */
static void
put_container(Description *self, json_t *container, json_t *status, json_t *pod, const char *indent)
{
    json_t *ports = value_at(container, "ports"), *variables = value_at(container, "env"),
           *variable;
    gsize i;

    put(self, 1, "%s%s:\n", *indent != '\0' ? " " : "", value_text(container, "name"));
    if (status != NULL)
        put_text(self, 2, "Container ID", value_text(status, "containerID"));
    put_text(self, 2, "Image", value_text(container, "image"));
    if (status != NULL)
        put_text(self, 2, "Image ID", value_text(status, "imageID"));
    put_ports(self, "Port", ports, "containerPort");
    put_ports(self, "Host Port", ports, "hostPort");
    put_seccomp(self, 2, value_at(container, "securityContext.seccompProfile"));
    put_words(self, "Command", value_at(container, "command"));
    put_words(self, "Args", value_at(container, "args"));
    if (status != NULL) {
        put_state(self, "State", value_at(status, "state"));
        if (value_at(status, "lastState.terminated") != NULL)
            put_state(self, "Last State", value_at(status, "lastState"));
        put_text(self, 2, "Ready", value_is_true(status, "ready") ? "True" : "False");
        put(self, 2, "Restart Count:\t%" PRId64 "\n", value_integer(status, "restartCount", 0));
    }
    put_resources(self, value_at(container, "resources"));
    put_probes(self, container);
    put_environment_from(self, value_at(container, "envFrom"));
    put(self, 2, "Environment:%s\n", json_array_size(variables) == 0 ? "\t<none>" : "");
    json_array_foreach(variables, i, variable)
        put_variable(self, variable, pod);
    put_mounts(self, container);
}

static void
put_containers(Description *self,
               const char *title,
               json_t *containers,
               json_t *statuses,
               json_t *pod,
               const char *indent)
{
    json_t *container;
    gsize i;

    put(self, 0, "%s%s:%s\n", indent, title, json_array_size(containers) == 0 ? " <none>" : "");
    json_array_foreach(containers, i, container)
        put_container(self, container, value_find(statuses, "name", value_text(container, "name")),
                      pod, indent);
}

static void
put_volumes(Description *self, json_t *volumes, const char *indent)
{
    json_t *volume;
    gsize i;

    put(self, 0, "%sVolumes:%s\n", indent, json_array_size(volumes) == 0 ? "\t<none>" : "");
    json_array_foreach(volumes, i, volume) {
        put(self, 1, "%s%s:\n", *indent != '\0' ? " " : "", value_text(volume, "name"));
        describe_volume_source(self, volume, FALSE);
    }
}

static void
append_toleration(GString *out, json_t *toleration)
{
    const char *key = value_text(toleration, "key"), *value = value_text(toleration, "value");
    const char *effect = value_text(toleration, "effect");
    json_t *seconds = value_at(toleration, "tolerationSeconds");

    g_string_append(out, key);
    if (*value != '\0')
        g_string_append_printf(out, "=%s", value);
    if (*effect != '\0')
        g_string_append_printf(out, ":%s", effect);
    if (strcmp(value_text(toleration, "operator"), "Exists") == 0 && *value == '\0')
        g_string_append(out, *key != '\0' || *effect != '\0' ? " op=Exists" : "op=Exists");
    if (seconds != NULL)
        g_string_append_printf(out, " for %" JSON_INTEGER_FORMAT "s", json_integer_value(seconds));
}

static void
put_tolerations(Description *self, const char *indent, json_t *tolerations)
{
    g_autoptr(GPtrArray) items = sorted(tolerations, "key");

    put(self, 0, "%sTolerations:\t", indent);
    if (items->len == 0)
        put(self, 0, "<none>\n");
    for (unsigned i = 0; i < items->len; i++) {
        g_autoptr(GString) text = g_string_new(i > 0 ? "\t" : NULL);

        append_toleration(text, items->pdata[i]);
        put(self, 0, "%s\n", text->str);
    }
}

static void
put_spread(Description *self, const char *indent, json_t *constraints)
{
    g_autoptr(GPtrArray) items = sorted(constraints, "topologyKey");

    if (items->len == 0)
        return;
    put(self, 0, "%sTopology Spread Constraints:\t", indent);
    for (unsigned i = 0; i < items->len; i++) {
        json_t *constraint = items->pdata[i], *selector = value_at(constraint, "labelSelector");
        g_autoptr(GString) text = g_string_new(NULL);

        if (selector != NULL) {
            g_string_append(text, " for selector ");
            append_label_selector(text, selector);
        }
        put(self, 0, "%s%s%s:%s when max skew %" PRId64 " is exceeded%s\n", i > 0 ? indent : "",
            i > 0 ? "\t" : "", value_text(constraint, "topologyKey"),
            value_text(constraint, "whenUnsatisfiable"), value_integer(constraint, "maxSkew", 0),
            text->str);
    }
}

/* In thousandths; 0 for a missing quantity. */
static int64_t
milli_of(json_t *quantity)
{
    int64_t value, milli = 0;

    if (json_is_string(quantity))
        quantity_parse(json_string_value(quantity), &value, &milli, NULL);
    else if (json_is_integer(quantity))
        milli = json_integer_value(quantity) * 1000;
    return milli;
}

/* BestEffort: no container has requests or limits. Guaranteed: each has limits, and requests equal
 * to them. */
static const char *
quality_class(json_t *pod)
{
    static const char *const lists[] = {"spec.containers", "spec.initContainers"};
    static const char *const names[] = {"cpu", "memory"};
    gboolean asks = FALSE, is_guaranteed = TRUE;
    const char *told = value_text(pod, "status.qosClass");
    json_t *container;
    gsize i;

    if (*told != '\0')
        return told;
    for (unsigned l = 0; l < G_N_ELEMENTS(lists); l++)
        json_array_foreach(value_at(pod, lists[l]), i, container)
            for (unsigned n = 0; n < G_N_ELEMENTS(names); n++) {
                int64_t request =
                    milli_of(json_object_get(value_at(container, "resources.requests"), names[n]));
                int64_t limit =
                    milli_of(json_object_get(value_at(container, "resources.limits"), names[n]));

                asks = asks || request > 0 || limit > 0;
                is_guaranteed = is_guaranteed && limit > 0 && (request == 0 || request == limit);
            }
    return !asks ? "BestEffort" : is_guaranteed ? "Guaranteed" : "Burstable";
}

static void
put_status(Description *self, json_t *pod)
{
    const char *phase = value_text(pod, "status.phase");

    if (value_at(pod, "metadata.deletionTimestamp") != NULL && strcmp(phase, "Failed") != 0 &&
        strcmp(phase, "Succeeded") != 0) {
        put_phase(self, pod);
        put(self, 0, "Termination Grace Period:\t%" PRId64 "s\n",
            value_integer(pod, "metadata.deletionGracePeriodSeconds", 0));
    } else {
        put_text(self, 0, "Status", phase);
    }
    put_optional_text(self, 0, "Reason", pod, "status.reason");
    put_optional_text(self, 0, "Message", pod, "status.message");
    put_seccomp(self, 0, value_at(pod, "spec.securityContext.seccompProfile"));
}

static void
put_addresses(Description *self, json_t *pod)
{
    json_t *addresses = value_at(pod, "status.podIPs"), *address;
    gsize i;

    put_text(self, 0, "IP", value_text(pod, "status.podIP"));
    put(self, 0, "IPs:%s\n", json_array_size(addresses) == 0 ? "\t<none>" : "");
    json_array_foreach(addresses, i, address)
        put_text(self, 1, "IP", value_text(address, "ip"));
}

static void
put_pod_conditions(Description *self, json_t *pod)
{
    json_t *conditions = value_at(pod, "status.conditions"),
           *gates = value_at(pod, "spec.readinessGates"), *item;
    gsize i;

    if (json_array_size(gates) > 0)
        put(self, 0, "Readiness Gates:\n  Type\tStatus\n");
    json_array_foreach(gates, i, item) {
        const char *type = value_text(item, "conditionType");
        json_t *condition = value_find(conditions, "type", type);

        put(self, 1, "%s \t%s \n", type,
            condition != NULL ? value_text(condition, "status") : "<none>");
    }
    if (json_array_size(conditions) > 0)
        put(self, 0, "Conditions:\n  Type\tStatus\n");
    json_array_foreach(conditions, i, item)
        put(self, 1, "%s \t%s \n", value_text(item, "type"), value_text(item, "status"));
}

void
describe_pod(Description *self, json_t *pod)
{
    json_t *priority = value_at(pod, "spec.priority");
    const char *node = value_text(pod, "spec.nodeName");

    put_name(self, pod);
    if (priority != NULL)
        put(self, 0, "Priority:\t%" JSON_INTEGER_FORMAT "\n", json_integer_value(priority));
    put_optional_text(self, 0, "Priority Class Name", pod, "spec.priorityClassName");
    put_optional_text(self, 0, "Runtime Class Name", pod, "spec.runtimeClassName");
    put_optional_text(self, 0, "Service Account", pod, "spec.serviceAccountName");
    if (*node == '\0')
        put_text(self, 0, "Node", "<none>");
    else
        put(self, 0, "Node:\t%s/%s\n", node, value_text(pod, "status.hostIP"));
    if (value_at(pod, "status.startTime") != NULL)
        put_date(self, 0, "Start Time", pod, "status.startTime");
    put_labels(self, pod);
    put_status(self, pod);
    put_addresses(self, pod);
    put_controller(self, pod);
    put_optional_text(self, 0, "NominatedNodeName", pod, "status.nominatedNodeName");
    if (value_length(pod, "spec.initContainers") > 0)
        put_containers(self, "Init Containers", value_at(pod, "spec.initContainers"),
                       value_at(pod, "status.initContainerStatuses"), pod, "");
    put_containers(self, "Containers", value_at(pod, "spec.containers"),
                   value_at(pod, "status.containerStatuses"), pod, "");
    if (value_length(pod, "spec.ephemeralContainers") > 0)
        put_containers(self, "Ephemeral Containers", value_at(pod, "spec.ephemeralContainers"),
                       value_at(pod, "status.ephemeralContainerStatuses"), pod, "");
    put_pod_conditions(self, pod);
    put_volumes(self, value_at(pod, "spec.volumes"), "");
    put_text(self, 0, "QoS Class", quality_class(pod));
    put_map(self, "", "Node-Selectors", value_at(pod, "spec.nodeSelector"));
    put_tolerations(self, "", value_at(pod, "spec.tolerations"));
    put_spread(self, "", value_at(pod, "spec.topologySpreadConstraints"));
}

void
describe_pod_template(Description *self, json_t *template)
{
    json_t *spec = value_at(template, "spec");

    put(self, 0, "Pod Template:\n");
    put_map(self, "  ", "Labels", value_at(template, "metadata.labels"));
    if (value_length(template, "metadata.annotations") > 0)
        put_annotations(self, "  Annotations", value_at(template, "metadata.annotations"));
    put_optional_text(self, 1, "Service Account", spec, "serviceAccountName");
    if (value_length(spec, "initContainers") > 0)
        put_containers(self, "Init Containers", value_at(spec, "initContainers"), NULL, NULL, "  ");
    put_containers(self, "Containers", value_at(spec, "containers"), NULL, NULL, "  ");
    put_volumes(self, value_at(spec, "volumes"), "  ");
    put_spread(self, "  ", value_at(spec, "topologySpreadConstraints"));
    put_optional_text(self, 1, "Priority Class Name", spec, "priorityClassName");
    put_map(self, "  ", "Node-Selectors", value_at(spec, "nodeSelector"));
    put_tolerations(self, "  ", value_at(spec, "tolerations"));
}
