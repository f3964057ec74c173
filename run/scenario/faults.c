/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults: their targets, the types of each target, and the fields of each type. The fields say the
 * target (component, driver or node), the target and `do` find the row, and the row says which
 * further fields the fault takes or needs. "slow" has a row for each target. A field that the row
 * does not take is a fault of the file, as it would have no effect. */

#include "models/api/fields.h"
#include "scenario-private.h"

#define API_SERVER "kube-apiserver"
#define REBOOT_TAKES SIM_MINUTE

/* Further fields of a fault. */
typedef enum {
    TAKES_FOR = 1 << 0,
    TAKES_RESTART = 1 << 1,
    TAKES_FACTOR = 1 << 2, /* and needs it */
    TAKES_SEATS = 1 << 3,  /* and needs it */
    TAKES_CLAIM = 1 << 4,
    TAKES_PLUGIN = 1 << 5, /* a node selects the plugin of a driver */
    NEEDS_PLUGIN = 1 << 6, /* ... and is required */
    TAKES_MESSAGE = 1 << 7,
    TAKES_VERSION = 1 << 8,
} FaultParts;

typedef struct {
    const char *name;
    FaultTarget target;
    FaultType type;
    unsigned parts;
    SimTime lasts; /* the default; -1: for ever */
} FaultsRow;

/* clang-format off */
static const FaultsRow rows[] = {
    {"power-off",           FAULT_OF_NODE,    FAULT_POWER_OFF,           TAKES_RESTART,                               -1},
    {"reboot",              FAULT_OF_NODE,    FAULT_POWER_OFF,           TAKES_RESTART,                               REBOOT_TAKES},
    {"shut-down",           FAULT_OF_NODE,    FAULT_SHUT_DOWN,           TAKES_RESTART,                               -1},
    {"stop-kubelet",        FAULT_OF_NODE,    FAULT_STOP_KUBELET,        TAKES_RESTART | TAKES_VERSION,               -1},
    {"cut-network",         FAULT_OF_NODE,    FAULT_CUT_NETWORK,         TAKES_FOR,                                   -1},
    {"memory-pressure",     FAULT_OF_NODE,    FAULT_MEMORY_PRESSURE,     TAKES_FOR,                                   -1},
    {"disk-pressure",       FAULT_OF_NODE,    FAULT_DISK_PRESSURE,       TAKES_FOR,                                   -1},
    {"pid-pressure",        FAULT_OF_NODE,    FAULT_PID_PRESSURE,        TAKES_FOR,                                   -1},
    {"network-unavailable", FAULT_OF_NODE,    FAULT_NETWORK_UNAVAILABLE, TAKES_FOR,                                   -1},
    {"crash",               FAULT_OF_PROCESS, FAULT_CRASH,               TAKES_RESTART,                               -1},
    {"restart",             FAULT_OF_PROCESS, FAULT_CRASH,               0,                                           0},
    {"hang",                FAULT_OF_PROCESS, FAULT_HANG,                TAKES_FOR,                                   -1},
    {"slow",                FAULT_OF_PROCESS, FAULT_SLOW,                TAKES_FOR | TAKES_FACTOR,                    -1},
    {"lose-leadership",     FAULT_OF_PROCESS, FAULT_LOSE_LEADERSHIP,     0,                                           0},
    {"outage",              FAULT_OF_API,     FAULT_API_OUTAGE,          TAKES_FOR,                                   -1},
    {"slow",                FAULT_OF_API,     FAULT_API_SLOW,            TAKES_FOR | TAKES_FACTOR,                    -1},
    {"drop-watches",        FAULT_OF_API,     FAULT_DROP_WATCHES,        0,                                           0},
    {"limit-seats",         FAULT_OF_API,     FAULT_LIMIT_SEATS,         TAKES_FOR | TAKES_SEATS,                     -1},
    {"hang",                FAULT_OF_DRIVER,  FAULT_DRIVER_HANG,         TAKES_FOR,                                   -1},
    {"slow",                FAULT_OF_DRIVER,  FAULT_DRIVER_SLOW,         TAKES_FOR | TAKES_FACTOR,                    -1},
    {"restart",             FAULT_OF_DRIVER,  FAULT_DRIVER_AWAY,         TAKES_RESTART | TAKES_PLUGIN,                SIM_SECOND},
    {"replace-pod",         FAULT_OF_DRIVER,  FAULT_REPLACE_PLUGIN,      TAKES_RESTART | TAKES_PLUGIN | NEEDS_PLUGIN, SIM_SECOND},
    {"kill-registrar",      FAULT_OF_DRIVER,  FAULT_KILL_REGISTRAR,      TAKES_PLUGIN | NEEDS_PLUGIN,                 0},
    {"uninstall",           FAULT_OF_DRIVER,  FAULT_UNINSTALL,           TAKES_FOR | TAKES_PLUGIN,                    -1},
    {"lose-volumes",        FAULT_OF_DRIVER,  FAULT_LOSE_VOLUMES,        TAKES_CLAIM,                                 0},
    {"abnormal-volumes",    FAULT_OF_DRIVER,  FAULT_ABNORMAL_VOLUMES,    TAKES_FOR | TAKES_CLAIM | TAKES_MESSAGE,     -1},
    {"keep-volumes",        FAULT_OF_DRIVER,  FAULT_KEEP_VOLUMES,        TAKES_FOR,                                   -1},
};
/* clang-format on */

const char *
scenario_fault_name(FaultType type)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].type == type)
            return rows[i].name;
    g_assert_not_reached();
}

static const char *const target_words[] = {
    [FAULT_OF_NODE] = "a node",
    [FAULT_OF_PROCESS] = "a component",
    [FAULT_OF_API] = API_SERVER,
    [FAULT_OF_DRIVER] = "a driver",
};

/* ---- Components ---- */

/* A sidecar on nodes is named after driver and node. */
static const char *
sidecar_instance(Loader *self, const char *driver)
{
    g_autofree char *name = driver == NULL || self->acting->node == NULL
                                ? NULL
                                : g_strdup_printf("%s/%s", driver, self->acting->node);

    return name == NULL ? driver : schema_intern(&self->reader, name);
}

static const char *
crash_instance(Loader *self, const ProcessClass *class)
{
    const ActionFields *fields = self->acting;

    switch (class->scope) {
    case PER_CLUSTER:
        return NULL;
    case PER_DRIVER:
        return sidecar_instance(
            self, loader_driver_named(self, fields->driver, fields->source, "driver"));
    case PER_NODE:
        if ((fields->node == NULL) == (fields->pod_of_node == NULL))
            schema_fault(&self->reader, "node: the name of a node",
                         "\"%s\" runs on every node: say which", class->name);
        return fields->node;
    }
    g_assert_not_reached();
}

static unsigned
n_replicas(const Loader *self, const ProcessClass *class, const char *driver)
{
    GHashTable *processes = class->scope == PER_CLUSTER ? self->scenario.components : NULL;

    for (unsigned i = 0; driver != NULL && i < self->scenario.n_drivers; i++)
        if (g_strcmp0(self->scenario.drivers[i].name, driver) == 0)
            processes = self->scenario.drivers[i].sidecars;
    GHashTable *flags = processes == NULL ? NULL : g_hash_table_lookup(processes, class->name);
    const char *replicas = flags == NULL ? NULL : g_hash_table_lookup(flags, "replicas");
    return replicas == NULL ? 1 : (unsigned)g_ascii_strtoull(replicas, NULL, 10);
}

static void
check_replica(Loader *self, const ProcessClass *class, const char *driver)
{
    const ActionFields *fields = self->acting;
    unsigned n = class->scope == PER_NODE ? 1 : n_replicas(self, class, driver);

    if (fields->replica != REPLICA_LEADER && fields->replica >= n)
        schema_fault_member(&self->reader, fields->source, "replica", "they count from 0",
                            "there is no replica %u of %u of %s", fields->replica, n, class->name);
}

static void
fault_unknown_component(Loader *self, const ActionFields *fields)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    g_ptr_array_add(names, (char *)API_SERVER); /* borrowed, only compared */
    for (unsigned i = 0; model_classes[i] != NULL; i++)
        g_ptr_array_add(names, (char *)model_classes[i]->process->name);
    g_autofree char *nearest =
        name_hint(fields->component, (const char *const *)names->pdata, names->len);
    schema_fault_member(&self->reader, fields->source, "component", nearest,
                        "there is no component \"%s\" here", fields->component);
}

static void
build_of_process(Loader *self, ScenarioAction *action)
{
    const ActionFields *fields = self->acting;
    const ProcessClass *class = process_class_find(fields->component);

    if (class == NULL) {
        fault_unknown_component(self, fields);
        return;
    }
    action->process = (char *)class->name;
    action->instance = (char *)crash_instance(self, class);
    action->replica = fields->replica;
    check_replica(self, class, action->instance);
    action->pod_of_instance = (char *)fields->pod_of_node;
}

/* ---- Whom it happens to ---- */

static gboolean
names_nodes(const ActionFields *fields)
{
    return fields->node != NULL || fields->zone != NULL || fields->pod_of_node != NULL;
}

/* Returns: FALSE: the target is missing */
static gboolean
find_target(const ActionFields *fields, FaultTarget *target)
{
    if (fields->component != NULL)
        *target = g_str_equal(fields->component, API_SERVER) ? FAULT_OF_API : FAULT_OF_PROCESS;
    else if (fields->driver != NULL)
        *target = FAULT_OF_DRIVER;
    else
        *target = FAULT_OF_NODE;
    return fields->component != NULL || fields->driver != NULL || names_nodes(fields);
}

static const FaultsRow *
faults_find_row(Loader *self, FaultTarget target)
{
    const ActionFields *fields = self->acting;
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].target != target)
            continue;
        if (g_str_equal(rows[i].name, fields->what))
            return &rows[i];
        g_ptr_array_add(names, (char *)rows[i].name); /* borrowed, only compared */
    }
    g_autofree char *hint =
        name_hint_or_list(fields->what, (const char *const *)names->pdata, names->len);
    schema_fault_member(&self->reader, fields->source, "do", hint, "\"%s\" does not happen to %s",
                        fields->what, target_words[target]);
    return NULL;
}

static void
build_target(Loader *self, FaultTarget target, ScenarioAction *action)
{
    const ActionFields *fields = self->acting;

    if (target == FAULT_OF_PROCESS)
        build_of_process(self, action);
    if (target == FAULT_OF_DRIVER) {
        action->driver =
            (char *)loader_driver_named(self, fields->driver, fields->source, "driver");
        action->instance = (char *)fields->node;
    }
    if (target == FAULT_OF_NODE) {
        action->instance = (char *)fields->node;
        action->zone = (char *)fields->zone;
        action->pod_of_instance = (char *)fields->pod_of_node;
        if ((fields->node != NULL) + (fields->zone != NULL) + (fields->pod_of_node != NULL) > 1)
            schema_fault(&self->reader, NULL, "one of node, zone, nodeOfPod says which nodes");
    }
}

/* ---- What else is said ---- */

typedef struct {
    const char *member;
    unsigned part;
    gboolean is_needed;
} FaultsPart;

static const FaultsPart parts[] = {
    {"for",          TAKES_FOR,     FALSE},
    {"restartAfter", TAKES_RESTART, FALSE},
    {"factor",       TAKES_FACTOR,  TRUE },
    {"seats",        TAKES_SEATS,   TRUE },
    {"claim",        TAKES_CLAIM,   FALSE},
    {"message",      TAKES_MESSAGE, FALSE},
    {"version",      TAKES_VERSION, FALSE},
};

/* The field for the end of the fault, if the user gave the other one. */
static const char *
other_word(const FaultsRow *row, unsigned part)
{
    if (part == TAKES_FOR && (row->parts & TAKES_RESTART) != 0)
        return "restartAfter";
    return part == TAKES_RESTART && (row->parts & TAKES_FOR) != 0 ? "for" : NULL;
}

static void
check_parts(Loader *self, const FaultsRow *row)
{
    const ActionFields *fields = self->acting;

    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        gboolean is_there = json_object_get(fields->source, parts[i].member) != NULL;
        if (is_there && (row->parts & parts[i].part) == 0)
            schema_fault_member(&self->reader, fields->source, parts[i].member,
                                other_word(row, parts[i].part), "\"%s\" of %s has no such field",
                                row->name, target_words[row->target]);
        else if (!is_there && parts[i].is_needed && (row->parts & parts[i].part) != 0)
            schema_fault(&self->reader, NULL, "\"%s\" needs \"%s\"", row->name, parts[i].member);
    }
    if (fields->factor < 1 && (row->parts & TAKES_FACTOR) != 0 &&
        json_object_get(fields->source, "factor") != NULL)
        schema_fault_member(&self->reader, fields->source, "factor", "such as 10",
                            "must be at least 1");
    if (row->type == FAULT_UNINSTALL && strchr(fields->driver, '/') == NULL)
        schema_fault_member(&self->reader, fields->source, "driver", "use \"restart\"",
                            "\"%s\" is no FlexVolume driver, whose name is VENDOR/DRIVER",
                            fields->driver);
    if ((row->parts & NEEDS_PLUGIN) != 0 && fields->node == NULL)
        schema_fault(&self->reader, NULL, "\"%s\" needs \"node\"", row->name);
    if (row->target == FAULT_OF_DRIVER && (row->parts & TAKES_PLUGIN) == 0 && names_nodes(fields))
        schema_fault(&self->reader, NULL, "\"%s\" happens to the whole driver, not on one node",
                     row->name);
}

void
loader_build_fault(Loader *self, ScenarioAction *action)
{
    const ActionFields *fields = self->acting;
    FaultTarget target;

    action->type = ACTION_FAULT;
    action->fault = FAULT_CRASH;
    if (!find_target(fields, &target)) {
        schema_fault(&self->reader, "component, driver, node, zone, or nodeOfPod",
                     "whom it happens to is missing");
        return;
    }
    const FaultsRow *row = fields->what == NULL ? NULL : faults_find_row(self, target);
    build_target(self, target, action);
    if (row == NULL)
        return;
    check_parts(self, row);
    action->fault = row->type;
    action->lasts = fields->lasts >= 0           ? fields->lasts
                    : fields->restart_after >= 0 ? fields->restart_after
                                                 : row->lasts;
    action->factor = fields->factor;
    action->seats = fields->seats;
    action->minor = fields->minor;
    action->name = (char *)fields->claim;
    action->message = (char *)fields->message;
}
