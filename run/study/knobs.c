/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The knobs of a scenario: numeric flags of its processes and limits of its drivers, each with its
 * path, its present value and whether it is a capacity (more is faster and loads the API server).
 * Processes come in the order of the registry, groups of nodes with equal flags are one knob. A
 * limit is written anew as a whole with one value open, so it does not matter whether a profile set
 * it. */
#include "knobs.h"

#include <string.h>

/* Capacities: more is faster, and loads the API server. */
static const char *const capacities[] = {
    "worker-threads", "workers",      "kube-api-qps",       "kube-api-burst",
    "kubeAPIQPS",     "kubeAPIBurst", "concurrent-*-syncs",
};

static void
knob_free(Knob *self)
{
    g_free(self->name);
    g_free(self->text);
    g_strfreev(self->before);
    g_free(self->after);
    g_free(self);
}

/* Returns: FALSE: the flag is no number, or is switched off */
static gboolean
knobs_parse(FlagType type, const char *text, double *number)
{
    SimTime time;

    switch (type) {
    case FLAG_INT:
    case FLAG_SIGNED_INT:
    case FLAG_NUMBER:
        *number = g_ascii_strtod(text, NULL);
        return *number > 0;
    case FLAG_DURATION:
        if (!sim_time_parse(text, &time, NULL))
            return FALSE;
        *number = (double)time;
        return time > 0;
    case FLAG_BOOL:
    case FLAG_STRING:
    case FLAG_MAP:
        break;
    }
    return FALSE;
}

/* Takes @name, @before and @after. */
static void
knobs_add(GPtrArray *knobs, FlagType type, const char *text, char *name, char **before, char *after)
{
    Knob *knob = g_new0(Knob, 1);

    knob->name = name;
    knob->type = type == FLAG_SIGNED_INT ? FLAG_INT : type;
    knob->text = g_strdup(text);
    knob->before = before;
    knob->after = after;
    if (knobs_parse(type, text, &knob->number))
        g_ptr_array_add(knobs, knob);
    else
        knob_free(knob);
}

/* ---- Flags ---- */

/* How a lone process elects itself matters to nobody. */
static gboolean
is_of_election(const ProcessClass *class, const ProcessFlag *flag)
{
    return class->election != NULL && flag->offset >= class->election->offset &&
           flag->offset < class->election->offset + sizeof(LeaderElectionOptions);
}

static const char *
knobs_value_of(const ProcessFlag *flag, GHashTable *flags)
{
    const char *text = flags == NULL ? NULL : g_hash_table_lookup(flags, flag->name);

    return text != NULL ? text : flag->default_value;
}

static gboolean
has_replicas(const ProcessClass *class, GHashTable *flags)
{
    const ProcessFlag *flag = process_class_flag(class, "replicas");

    return flag != NULL && g_ascii_strtod(knobs_value_of(flag, flags), NULL) > 1;
}

static gboolean
is_capacity(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(capacities); i++)
        if (g_pattern_match_simple(capacities[i], name))
            return TRUE;
    return FALSE;
}

/* The flags of one process. @places: NULL-terminated: the places of its flags:
 * "spec.nodes[0].kubelet" */
static void
add_flags(GPtrArray *knobs,
          const ProcessClass *class,
          const char *called,
          GHashTable *flags,
          const char *const *places)
{
    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++) {
        g_autoptr(GPtrArray) before = g_ptr_array_new_with_free_func(g_free);
        guint n = knobs->len;
        if (is_of_election(class, flag) && !has_replicas(class, flags))
            continue;
        for (unsigned i = 0; places[i] != NULL; i++)
            g_ptr_array_add(before, g_strdup_printf("%s.%s=", places[i], flag->name));
        g_ptr_array_add(before, NULL);
        knobs_add(knobs, flag->type, knobs_value_of(flag, flags),
                  g_strdup_printf("%s %s", called, flag->name), g_strdupv((char **)before->pdata),
                  g_strdup(""));
        if (knobs->len == n)
            continue;
        Knob *knob = knobs->pdata[n];
        knob->help = flag->help;
        knob->is_capacity = is_capacity(flag->name);
    }
}

/* The processes of the scope, each once, in the registry's order. Returns: (owned): of const
 * ProcessClass * */
static GPtrArray *
processes_of(ProcessScope scope)
{
    GPtrArray *found = g_ptr_array_new();

    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->scope == scope && !g_ptr_array_find(found, class, NULL))
            g_ptr_array_add(found, (void *)class);
    }
    return found;
}

static void
add_cluster_flags(const Scenario *scenario, GPtrArray *knobs)
{
    g_autoptr(GPtrArray) classes = processes_of(PER_CLUSTER);

    for (unsigned i = 0; i < classes->len; i++) {
        const ProcessClass *class = classes->pdata[i];
        if (!scenario_has_process(scenario, class))
            continue;
        g_autofree char *place = g_strdup_printf("spec.components.%s", class->name);
        const char *const places[] = {place, NULL};
        GHashTable *flags = scenario->components == NULL
                                ? NULL
                                : g_hash_table_lookup(scenario->components, class->name);
        add_flags(knobs, class, class->name, flags, places);
    }
}

static void
add_sidecar_flags(const Scenario *scenario, unsigned number, GPtrArray *knobs)
{
    const ScenarioDriver *driver = &scenario->drivers[number];
    g_autoptr(GPtrArray) classes = processes_of(PER_DRIVER);

    for (unsigned i = 0; i < classes->len; i++) {
        const ProcessClass *class = classes->pdata[i];
        if (!scenario_has_process(scenario, class) ||
            (driver->absent_sidecars != NULL &&
             g_strv_contains((const char *const *)driver->absent_sidecars, class->name)))
            continue;
        g_autofree char *place =
            g_strdup_printf("spec.drivers[%u].sidecars.%s", number, class->name);
        const char *const places[] = {place, NULL};
        g_autofree char *called = scenario->n_drivers == 1
                                      ? g_strdup(class->name)
                                      : g_strdup_printf("%s/%s", driver->name, class->name);
        GHashTable *flags =
            driver->sidecars == NULL ? NULL : g_hash_table_lookup(driver->sidecars, class->name);
        add_flags(knobs, class, called, flags, places);
    }
}

static gboolean
same_flags(GHashTable *one, GHashTable *other, const ProcessClass *class)
{
    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++)
        if (g_strcmp0(knobs_value_of(flag, one), knobs_value_of(flag, other)) != 0)
            return FALSE;
    return TRUE;
}

/* Groups of nodes with the same flags are turned together. */
static void
add_kubelet_flags(const Scenario *scenario, const ProcessClass *class, GPtrArray *knobs)
{
    for (unsigned i = 0; i < scenario->n_nodes; i++) {
        g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
        GHashTable *flags = scenario->nodes[i].kubelet;
        gboolean is_first = TRUE;
        for (unsigned k = 0; k < scenario->n_nodes; k++) {
            if (!same_flags(flags, scenario->nodes[k].kubelet, class))
                continue;
            is_first &= k >= i;
            g_ptr_array_add(places, g_strdup_printf("spec.nodes[%u].%s", k, class->name));
        }
        if (!is_first)
            continue;
        g_autofree char *called =
            places->len == scenario->n_nodes
                ? g_strdup(class->name)
                : g_strdup_printf("%s (%s)", class->name, scenario->nodes[i].name);
        g_ptr_array_add(places, NULL);
        add_flags(knobs, class, called, flags, (const char *const *)places->pdata);
    }
}

/* ---- Limits of drivers ---- */

/* The value of a limit that the knob sets. */
typedef enum {
    OPEN_CONCURRENT,
    OPEN_QPS,
    OPEN_BURST,
    OPEN_NONE,
} OpenValue;

static void
append_value(GString *text, const char *before, double value, gboolean is_open)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(text, "%s%s", before,
                           is_open ? "\n" : g_ascii_formatd(number, sizeof number, "%.15g", value));
}

/* The limit in the format of the scenario file. */
static void
append_limit(const CsiModelledLimit *limit, OpenValue open, GString *text)
{
    const char *comma = "";

    g_string_append(text, "{");
    if (limit->methods != 0) {
        g_string_append(text, "methods: [");
        for (unsigned i = 0; i < CSI_N_METHODS; i++)
            if ((limit->methods & (UINT32_C(1) << i)) != 0) {
                g_string_append_printf(text, "%s%s", comma, csi_method_name((CsiMethod)i));
                comma = ", ";
            }
        g_string_append(text, "], ");
    }
    append_value(text, "concurrent: ", limit->concurrent, open == OPEN_CONCURRENT);
    if (limit->qps > 0) {
        append_value(text, ", rate: {qps: ", limit->qps, open == OPEN_QPS);
        append_value(text, ", burst: ", limit->burst, open == OPEN_BURST);
        g_string_append(text, "}");
    }
    g_string_append_printf(text, ", perNode: %s}", limit->per_node ? "true" : "false");
}

/* Writes all limits again with one value left open, so it does not matter whether a profile set
 * them. */
static void
add_limit(const ScenarioDriver *driver,
          unsigned number,
          const char *called,
          unsigned i,
          OpenValue open,
          double value,
          GPtrArray *knobs)
{
    static const char *const names[] = {"calls at once", "calls a second", "burst of calls"};
    const CsiModelledLimit *limit = &driver->model.limits[i];
    g_autoptr(GString) text = g_string_new(NULL);
    char now[G_ASCII_DTOSTR_BUF_SIZE];
    CsiMethod method = 0;

    g_string_append_printf(text, "spec.drivers[%u].limits=[", number);
    for (unsigned k = 0; k < driver->model.n_limits; k++) {
        g_string_append(text, k > 0 ? ", " : "");
        append_limit(&driver->model.limits[k], k == i ? open : OPEN_NONE, text);
    }
    g_string_append(text, "]");
    g_auto(GStrv) parts = g_strsplit(text->str, "\n", 2);
    const char *const before[] = {parts[0], NULL};
    while (limit->methods != 0 && (limit->methods & (UINT32_C(1) << method)) == 0)
        method++;
    const char *of = limit->methods == 0 ? "all" : csi_method_name(method);
    const char *more = (limit->methods & (limit->methods - 1)) != 0 ? "…" : "";
    knobs_add(knobs, open == OPEN_QPS ? FLAG_NUMBER : FLAG_INT,
              g_ascii_formatd(now, sizeof now, "%.15g", value),
              g_strdup_printf("%s limit of %s%s: %s", called, of, more, names[open]),
              g_strdupv((char **)before), g_strdup(parts[1]));
}

static void
add_driver_limits(const Scenario *scenario, unsigned number, GPtrArray *knobs)
{
    const ScenarioDriver *driver = &scenario->drivers[number];
    const char *called = scenario->n_drivers == 1 ? "driver" : driver->name;

    for (unsigned i = 0; i < driver->model.n_limits; i++) {
        const CsiModelledLimit *limit = &driver->model.limits[i];
        add_limit(driver, number, called, i, OPEN_CONCURRENT, limit->concurrent, knobs);
        if (limit->qps <= 0)
            continue;
        add_limit(driver, number, called, i, OPEN_QPS, limit->qps, knobs);
        add_limit(driver, number, called, i, OPEN_BURST, limit->burst, knobs);
    }
    g_autofree char *before = g_strdup_printf("spec.drivers[%u].attachLimit=", number);
    g_autofree char *now = g_strdup_printf("%d", driver->attach_limit);
    const char *const all[] = {before, NULL};
    knobs_add(knobs, FLAG_INT, now, g_strdup_printf("%s attach limit", called),
              g_strdupv((char **)all), g_strdup(""));
}

GPtrArray *
knobs_of(const Scenario *scenario)
{
    GPtrArray *knobs = g_ptr_array_new_with_free_func((GDestroyNotify)knob_free);
    g_autoptr(GPtrArray) on_nodes = processes_of(PER_NODE);

    add_cluster_flags(scenario, knobs);
    for (unsigned i = 0; i < scenario->n_drivers; i++)
        add_sidecar_flags(scenario, i, knobs);
    for (unsigned i = 0; i < on_nodes->len; i++)
        if (scenario_has_process(scenario, on_nodes->pdata[i]))
            add_kubelet_flags(scenario, on_nodes->pdata[i], knobs);
    for (unsigned i = 0; i < scenario->n_drivers; i++)
        add_driver_limits(scenario, i, knobs);
    return knobs;
}

#define ANY "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"number\"}"
const ColumnType column_setting = {ANY "]}", FALSE, "text or number"},
                 column_maybe_setting = {ANY ", {\"type\": \"null\"}]}", TRUE, "text or number"};

/* ---- Values ---- */

char *
knob_value_text(const Knob *self, double value)
{
    char buffer[MAX(G_ASCII_DTOSTR_BUF_SIZE, SIM_TIME_BUFFER)];

    if (self->type == FLAG_DURATION)
        return value >= 1 && value < (double)(G_MAXINT64 / 4)
                   ? g_strdup(sim_time_format((SimTime)value, buffer))
                   : NULL;
    if (self->type == FLAG_INT && (value < 1 || value > G_MAXINT32))
        return NULL;
    if (self->type == FLAG_INT)
        return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)value);
    return value > 0 && value <= 1e12
               ? g_strdup(g_ascii_formatd(buffer, sizeof buffer, "%.15g", value))
               : NULL;
}

void
knob_add_settings(const Knob *self, const char *text, GPtrArray *set)
{
    for (unsigned i = 0; self->before[i] != NULL; i++)
        g_ptr_array_add(set, g_strconcat(self->before[i], text, self->after, NULL));
}

json_t *
knob_paths(const Knob *knob)
{
    json_t *paths = json_array();

    for (unsigned i = 0; knob->before[i] != NULL; i++) {
        const char *end = strchr(knob->before[i], '=');
        json_array_append_new(paths, json_stringn(knob->before[i], (gsize)(end - knob->before[i])));
    }
    return paths;
}
