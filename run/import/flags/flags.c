/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flags of one container, and those of the control plane, as settings of a scenario's
 * processes. Values are checked with the process's own table; variables of the container are put
 * in. Flags with an unknown value or without a model are left out and reported. A default that
 * differs between releases of a sidecar follows the release of its image. A feature gate of
 * Kubernetes has the API server's value. */
#include <stdio.h>
#include <string.h>

#include "flags-private.h"
#include "models/api/fields.h"
#include "models/api/release.h"

/* Defaults of other releases of the sidecars than the simulated ones (their CHANGELOG files): the
 * release that turned the flag or gate on. */
static const struct {
    const char *process, *gate, *flag; /* a gate of --feature-gates, or a flag */
    int major, minor;
    int kubernetes; /* ... and the release of Kubernetes that it needs */
    gboolean simulated;
} defaults[] = {
    {"external-provisioner", "Topology",                      NULL,                             5, 0,  0,  TRUE },
    {"external-provisioner", "HonorPVReclaimPolicy",          NULL,                             5, 0,  0,  TRUE },
    {"external-provisioner", "VolumeAttributesClass",         NULL,                             6, 0,  34, FALSE},
    {"external-provisioner", NULL,                            "prevent-volume-mode-conversion", 4, 0,  0,  TRUE },
    {"external-resizer",     "RecoverVolumeExpansionFailure", NULL,                             1, 13, 0,  TRUE },
    {"external-resizer",     "VolumeAttributesClass",         NULL,                             2, 0,  34, FALSE},
};

/* ---- Values ---- */

/* Go's flags take 1, t, T, TRUE, true and True, and the like for false. (owned) */
static char *
go_bool(const char *text)
{
    static const char *const yes[] = {"1", "t", "T", "TRUE", "True", NULL};
    static const char *const no[] = {"0", "f", "F", "FALSE", "False", NULL};

    return g_strdup(g_strv_contains(yes, text)  ? "true"
                    : g_strv_contains(no, text) ? "false"
                                                : text);
}

/* (owned): as people write it in a scenario; NULL: the flag does not take it */
static json_t *
value_json(const ProcessClass *class, const ProcessFlag *flag, const char *text)
{
    g_autoptr(Strings) strings = strings_new();
    g_autofree void *options = process_options_new(class, strings);
    g_autofree char *value = flag->type == FLAG_BOOL ? go_bool(text) : g_strdup(text);
    double number;

    if (!process_flag_set(flag, options, value, strings, NULL))
        return NULL;
    switch (flag->type) {
    case FLAG_BOOL:
        return json_boolean(strcmp(value, "true") == 0);
    case FLAG_INT:
    case FLAG_SIGNED_INT:
        return json_integer(g_ascii_strtoll(value, NULL, 10));
    case FLAG_NUMBER: /* mostly whole: "20", not "20.0" */
        number = g_ascii_strtod(value, NULL);
        return number == (double)(json_int_t)number ? json_integer((json_int_t)number)
                                                    : json_real(number);
    case FLAG_DURATION:
    case FLAG_STRING:
    case FLAG_MAP:
        return json_string(value);
    }
    g_assert_not_reached();
}

#define VALUE_BYTES_MAX 4096 /* of a flag; variables in variables could make it endless */

/* "$(TIMEOUT)" is the container's variable of that name. (owned): NULL: its value is not in the
 * manifest */
static char *
flags_expand(const json_t *container, const char *text)
{
    g_autoptr(GString) expanded = g_string_new(text);
    const json_t *variable;
    gsize i;

    json_array_foreach(json_object_get(container, "env"), i, variable) {
        const char *name = json_path_string(variable, "name");
        const char *value = json_path_string(variable, "value");
        g_autofree char *reference = g_strdup_printf("$(%s)", name != NULL ? name : "");
        if (value != NULL && expanded->len + strlen(value) <= VALUE_BYTES_MAX)
            g_string_replace(expanded, reference, value, 0);
    }
    return strstr(expanded->str, "$(") != NULL ? NULL
                                               : g_string_free(g_steal_pointer(&expanded), FALSE);
}

/* ---- One container ---- */

static void
leave_out(ImportReport *report, const ProcessClass *class, const char *why, const char *name)
{
    g_autofree char *reason = g_strdup_printf("Flags of %s %s", class->name, why);
    g_autofree char *flag = g_strconcat("--", name, NULL);

    import_report_count(report, REPORT_LEFT_OUT, reason, flag);
}

typedef struct {
    const ProcessClass *class;
    const json_t *container;
    ImportReport *report;
    json_t *flags;
} Args;

/* (owned): the settings of @text for gates that the process has here */
static char *
known_gates(const Args *self, const char *text)
{
    g_auto(GStrv) settings = g_strsplit(text, ",", -1);
    g_autoptr(GPtrArray) known = g_ptr_array_new();

    for (unsigned i = 0; settings[i] != NULL; i++) {
        g_autofree char *gate = NULL;
        g_autofree char *flag = g_strconcat("feature-gates=", settings[i], NULL);
        if (process_gates_check(self->class, settings[i], &gate, NULL))
            g_ptr_array_add(known, settings[i]);
        else
            leave_out(self->report, self->class,
                      gate != NULL ? "that no model has" : "with a value that is not understood",
                      flag);
    }
    g_ptr_array_add(known, NULL);
    return g_strjoinv(",", (char **)known->pdata);
}

static void
flags_set_flag(const Args *self, const char *name, const char *text)
{
    const ProcessFlag *flag = process_class_flag(self->class, name);
    g_autofree char *expanded = flags_expand(self->container, text);
    if (expanded != NULL && self->class->gates != NULL && strcmp(name, "feature-gates") == 0) {
        g_autofree char *all = g_steal_pointer(&expanded);
        expanded = known_gates(self, all);
        if (*expanded == '\0')
            return;
    }
    json_t *value = expanded == NULL ? NULL : value_json(self->class, flag, expanded);

    if (expanded == NULL)
        leave_out(self->report, self->class, "whose value is in no manifest", name);
    else if (value == NULL)
        leave_out(self->report, self->class, "with a value that is not understood", name);
    else
        json_object_set_new(self->flags, name, value);
}

/* "--timeout", "60s" and "--timeout=60s" are the same; a flag of a truth needs no value. */
static void
read_list(const Args *self, const json_t *list)
{
    for (gsize i = 0; i < json_array_size(list); i++) {
        const char *argument = json_string_value(json_array_get(list, i)), *value;
        const char *next = json_string_value(json_array_get(list, i + 1));
        g_autofree char *name = NULL;
        ArgumentKind kind = argument == NULL
                                ? ARGUMENT_NO_FLAG
                                : process_argument(self->class, argument, &name, &value);
        if (kind == ARGUMENT_UNKNOWN && strcmp(name, "config") == 0)
            leave_out(self->report, self->class, "whose file is in no dump", name);
        else if (kind == ARGUMENT_UNKNOWN &&
                 (self->class->scope == PER_DRIVER || strcmp(name, "feature-gates") != 0))
            leave_out(self->report, self->class, "that no model has", name);
        if (kind != ARGUMENT_FLAG)
            continue;
        if (value == NULL && process_class_flag(self->class, name)->type == FLAG_BOOL)
            value = "true";
        else if (value == NULL)
            value = next != NULL ? next : "";
        flags_set_flag(self, name, value);
    }
}

char *
flags_image_release(const json_t *container)
{
    const char *image = json_path_string(container, "image");
    g_autofree char *base = g_path_get_basename(image != NULL ? image : "");
    g_auto(GStrv) parts = g_strsplit_set(base, ":@", -1);

    /* Vendors' builds, such as "ose-csi-external-provisioner:v4.18", have their own numbers. */
    if (g_str_has_prefix(base, "ose-") || g_str_has_prefix(base, "origin-") ||
        g_strv_length(parts) < 2 || base[strlen(parts[0])] == '@')
        return NULL;
    return g_strdup(parts[1]);
}

/* Adds "Topology=false" to --feature-gates. Returns: FALSE: the flag names the gate already */
static gboolean
set_gate(json_t *flags, const char *gate, gboolean on)
{
    const char *gates = json_path_string(flags, "feature-gates");
    g_autofree char *setting = g_strdup_printf("%s=%s", gate, on ? "true" : "false");
    g_autofree char *all = g_strdup_printf("%s%s%s", gates != NULL ? gates : "",
                                           gates != NULL && *gates != '\0' ? "," : "", setting);
    g_autofree char *searched = g_strdup_printf(",%s", gates != NULL ? gates : "");
    g_autofree char *named = g_strdup_printf(",%s=", gate);

    if (strstr(searched, named) != NULL)
        return FALSE;
    json_object_set_new(flags, "feature-gates", json_string(all));
    return TRUE;
}

/* Returns: FALSE: the flag is given already */
static gboolean
set_bool(json_t *flags, const char *flag, gboolean on)
{
    return json_object_get(flags, flag) == NULL &&
           json_object_set_new(flags, flag, json_boolean(on)) == 0;
}

static void
set_defaults(const Args *self, int kubernetes)
{
    g_autofree char *release = flags_image_release(self->container);
    int major, minor;

    if (release == NULL || sscanf(release + (*release == 'v'), "%d.%d", &major, &minor) != 2)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(defaults); i++) {
        gboolean on = (major > defaults[i].major ||
                       (major == defaults[i].major && minor >= defaults[i].minor)) &&
                      kubernetes >= defaults[i].kubernetes;
        const char *what = defaults[i].gate != NULL ? defaults[i].gate : defaults[i].flag;
        if (strcmp(defaults[i].process, self->class->name) != 0 || on == defaults[i].simulated)
            continue;
        if (!(defaults[i].gate != NULL ? set_gate : set_bool)(self->flags, what, on))
            continue;
        import_report_say(self->report, REPORT_GUESSED,
                          "%s %s: %s is %s, the default of that release.", self->class->name,
                          release, what, on ? "on" : "off");
    }
}

json_t *
flags_of_container(const ProcessClass *class,
                   const json_t *container,
                   int minor,
                   ImportReport *report)
{
    Args self = {class, container, report, json_object()};

    read_list(&self, json_object_get(container, "command"));
    read_list(&self, json_object_get(container, "args"));
    if (class->scope == PER_DRIVER)
        set_defaults(&self, minor);
    return self.flags;
}

int
flags_minor(const Dump *dump)
{
    guint i = 0;
    const json_t *node = dump == NULL ? NULL : dump_next(dump, "Node", &i);
    const char *version =
        node == NULL ? NULL : json_path_string(node, "status.nodeInfo.kubeletVersion");
    int minor;

    return version != NULL && sscanf(version, "v1.%d", &minor) == 1 ? minor : RELEASE_DEFAULT_MINOR;
}

/* ---- Control plane ---- */

typedef struct {
    const ProcessClass *class;
    json_t *flags; /* of the first pod */
    unsigned n;    /* pods */
} FoundComponent;

static void
see_component(
    GArray *found, const json_t *pod, const json_t *container, int minor, ImportReport *report)
{
    const ProcessClass *class = process_of_container(container);

    if (class == NULL || class->scope != PER_CLUSTER)
        return;
    for (unsigned i = 0; i < found->len; i++)
        if (g_array_index(found, FoundComponent, i).class == class) {
            g_array_index(found, FoundComponent, i).n++;
            return;
        }
    FoundComponent component = {class, flags_of_container(class, container, minor, report), 1};
    g_array_append_val(found, component);
    g_autofree char *release = flags_image_release(container);
    import_report_say(report, REPORT_TAKEN, "%s%s%s: flags from pod %s/%s.", class->name,
                      release != NULL ? " " : "", release != NULL ? release : "",
                      dump_meta(pod, "namespace"), dump_meta(pod, "name"));
}

json_t *
flags_of_components(const Dump *dump, ImportReport *report)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(FoundComponent));
    json_t *components = json_object(), *pod, *container;
    int minor = flags_minor(dump);
    gsize k;

    for (guint i = 0; (pod = dump_next(dump, "Pod", &i)) != NULL;)
        json_array_foreach(json_path_get(pod, "spec.containers"), k, container)
            see_component(found, pod, container, minor, report);
    for (unsigned i = 0; i < found->len; i++) {
        FoundComponent *component = &g_array_index(found, FoundComponent, i);
        if (component->n > 1 && process_class_flag(component->class, "replicas") != NULL)
            json_object_set_new(component->flags, "replicas",
                                json_integer(MIN((int)component->n, PROCESS_REPLICAS_MAX)));
        if (json_object_size(component->flags) > 0)
            json_object_set(components, component->class->name, component->flags);
        json_decref(component->flags);
    }
    if (found->len == 0)
        import_report_say(report, REPORT_GUESSED,
                          "kube-controller-manager and kube-scheduler have default flags, as the "
                          "dump has no pod of theirs.");
    if (json_object_size(components) > 0)
        return components;
    json_decref(components);
    return NULL;
}

/* ---- Feature gates ---- */

static void
read_gates(json_t *gates, const char *text)
{
    g_auto(GStrv) settings = g_strsplit(text, ",", -1);

    for (unsigned i = 0; settings[i] != NULL; i++) {
        char *equals = strchr(settings[i], '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        g_autofree char *value = go_bool(equals + 1);
        if (release_knows_gate(g_strstrip(settings[i])))
            json_object_set_new(gates, settings[i], json_boolean(strcmp(value, "true") == 0));
    }
}

static void
read_gate_flags(json_t *gates, const json_t *container, const char *member)
{
    static const char flag[] = "--feature-gates=";
    const json_t *argument;
    gsize i;

    json_array_foreach(json_object_get(container, member), i, argument) {
        const char *text = json_string_value(argument);
        if (text != NULL && g_str_has_prefix(text, flag))
            read_gates(gates, text + strlen(flag));
    }
}

/* A gate of Kubernetes is set alike in all components; the one of the API server counts first. */
json_t *
flags_feature_gates(const Dump *dump)
{
    static const char *const programs[] = {"kube-scheduler", "kube-controller-manager",
                                           "kube-apiserver"};
    json_t *gates = json_object(), *pod, *container;
    gsize k;

    for (unsigned program = 0; program < G_N_ELEMENTS(programs); program++)
        for (guint i = 0; (pod = dump_next(dump, "Pod", &i)) != NULL;)
            json_array_foreach(json_path_get(pod, "spec.containers"), k, container) {
                const char *name = json_path_string(container, "name");
                if (g_strcmp0(name, programs[program]) != 0)
                    continue;
                read_gate_flags(gates, container, "command");
                read_gate_flags(gates, container, "args");
            }
    if (json_object_size(gates) > 0)
        return gates;
    json_decref(gates);
    return NULL;
}
