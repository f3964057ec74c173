/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/client/leader-election.h"
#include "models/cluster/parts.h"
#include "models/plan/rules.h"

/* How many instances a process has. */
typedef enum {
    PER_CLUSTER,
    PER_DRIVER, /* the sidecars of a CSI driver */
    PER_NODE,
} ProcessScope;

typedef enum {
    FLAG_BOOL,       /* gboolean */
    FLAG_INT,        /* int32_t, not negative */
    FLAG_SIGNED_INT, /* int32_t; -1 usually means none */
    FLAG_NUMBER,     /* double */
    FLAG_DURATION,   /* SimTime, not negative */
    FLAG_STRING,     /* const char *, interned */
    FLAG_MAP,        /* the same: "name=value,name=value"; scenarios may have a mapping */
} FlagType;

/* A flag under its real name, and its place in the process's options. */
typedef struct {
    const char *name;
    FlagType type;
    size_t offset;
    const char *default_value; /* as typed on a command line */
    const char *help;          /* one line, with the rule */
} ProcessFlag;

#define PROCESS_REPLICAS_MAX 16

/* How the replicas of a process elect a leader (CGO-66). */
typedef struct {
    size_t offset;          /* of LeaderElectionOptions in its options */
    const char *lock;       /* of the Lease; of a sidecar: before the driver's name */
    gboolean always;        /* several replicas always elect, whatever the flag says */
    gboolean is_warm;       /* informers run before the election: a new leader works at once */
    gboolean has_host_name; /* the identity is the host name: a restarted holder still holds the
                               Lease (CGO-61) */
} ProcessElection;

/* A feature gate of a program with its own gates, such as a sidecar. */
typedef struct {
    const char *name;
    gboolean is_on; /* unless --feature-gates says otherwise */
} ProcessGate;

/* A program with flags, as a user starts it. Several models may run in it. */
typedef struct {
    const char
        *name; /* in scenarios: "kube-controller-manager", "external-provisioner", "kubelet" */
    ProcessScope scope;
    size_t options_size;
    const ProcessFlag *flags; /* ends with a NULL name */
    size_t startup;           /* offset in Timing: from the start to the first work, after a crash
                                 (TIM-90..94) */
    SimTime first_look;       /* ... and then until its informers are full; 0: part of its models */
    const ProcessElection *election; /* NULL: a single replica */
    const ProcessGate *gates;        /* of its flag feature-gates; ends with a NULL name */
    /* PER_DRIVER: whether these options ask for an instance on each node with the driver's plugin,
     * in place of one for the cluster. NULL: never */
    gboolean (*runs_on_nodes)(const void *options);
    /* Whether flags fit together. Returns: FALSE with SIM_ERROR_INVALID. NULL: all do */
    gboolean (*check)(const void *options, GError **error);
    gboolean is_optional;  /* it runs only if somebody names it */
    gboolean renews_lease; /* PER_NODE: its node counts as alive while this process runs (NL-2) */
} ProcessClass;

/* Flags of a process whose options of type @Type have a LeaderElectionOptions @member. */
#define PROCESS_FLAG(name, type, Type, member, value, help)                                        \
    {                                                                                              \
        name, type, offsetof(Type, member), value, help                                            \
    }
#define ELECTION_FLAGS(prefix, enabled_flag, Type, member, retry)                                  \
    PROCESS_FLAG("replicas", FLAG_INT, Type, member.replicas, "1",                                 \
                 "Number of instances (CGO-60)"),                                                  \
        PROCESS_FLAG(enabled_flag, FLAG_BOOL, Type, member.enabled, "false",                       \
                     "Only one of several replicas works (CGO-61)"),                               \
        PROCESS_FLAG(prefix "-lease-duration", FLAG_DURATION, Type, member.lease_duration, "15s",  \
                     "Time for which a silent leader keeps the Lease (CGO-61)"),                   \
        PROCESS_FLAG(prefix "-renew-deadline", FLAG_DURATION, Type, member.renew_deadline, "10s",  \
                     "Time for which a leader tries to renew (CGO-62)"),                           \
        PROCESS_FLAG(prefix "-retry-period", FLAG_DURATION, Type, member.retry_period, retry,      \
                     "Time between two tries (CGO-60)")
#define SIDECAR_ELECTION_FLAGS(Type)                                                               \
    ELECTION_FLAGS("leader-election", "leader-election", Type, election, "5s")

/* What happens to a machine while the process that renews its lease runs there. */
typedef enum {
    MACHINE_PLUGIN_CHANGED,   /* a driver's registrar: cluster_plugin_pod() tells how it stands */
    MACHINE_FLEX_CHANGED,     /* the directory of a FlexVolume driver came, changed or went */
    MACHINE_PRESSURE_CHANGED, /* it runs short of something, or no longer: cluster_pressures() */
    MACHINE_SHUTS_DOWN,       /* end well, then call cluster_machine_may_stop() */
} MachineEventKind;

typedef struct {
    MachineEventKind what;
    unsigned driver; /* MACHINE_PLUGIN_CHANGED: the number of the driver */
} MachineEvent;

/* A model: one row of the table in registry.c. */
struct ModelClass {
    const char *name; /* also its client's */
    const ProcessClass *process;
    size_t size; /* of its struct, which begins with a Component and is zeroed before init() */
    const char *event_source; /* NULL: records no events */
    EventStyle event_style;
    char
        before_driver; /* in its Events' source: "external-resizer csi.example.com"; 0: no driver */
    gboolean separate_event_client; /* events have their own token bucket (API-109) */
    double (*client_qps)(const void *options, unsigned *burst);
    const RuleTable *const *rule_tables; /* its decision tables; ends with NULL. NULL: none */
    const ComponentPart *parts;          /* what it consists of */
    unsigned n_parts;
    gboolean starts_late;       /* it calls component_start() itself */
    void (*init)(void *self);   /* makes what has no row. May be NULL, as the next two */
    void (*filled)(void *self); /* its parts are made, and no handler has been called */
    void (*clear)(void *self);  /* frees what has no row */
    /* Carries out a plan's change of the model's own state: the only place where a plan changes it.
     * May be NULL. */
    void (*apply_change)(void *self, const PlanChange *change);
    /* An event of its machine. NULL: the model does not react, and dies with the machine. */
    void (*machine_event)(void *self, const MachineEvent *event);
    void (*free_disk)(void *disk); /* NULL: the model keeps nothing on disk. At most one model of a
                                      process does */
};

extern const ModelClass *const
    model_classes[]; /* in registry.c; ends with NULL. The order is part of every result: append */
/* Returns: NULL: no such process */
const ProcessClass *process_class_find(const char *name);
/* A comma-separated list of the names of this scope, for messages. (owned) */
char *process_class_names(ProcessScope scope);
/* (owned): options with defaults; strings interned */
void *process_options_new(const ProcessClass *class, Strings *strings);
/* The flag of that name, NULL: none. */
const ProcessFlag *process_class_flag(const ProcessClass *class, const char *name);
/* @setting: of --feature-gates: "Topology=true,Other=false"; (nullable). @name: a row of
 * class->gates, any other is a bug. Returns: the setting of that gate, or its default */
gboolean process_gate(const ProcessClass *class, const char *setting, const char *name);
/**
 * process_gates_check:
 * @name: (out) (owned) (nullable): the gate that is unknown; NULL: another fault
 * Returns: whether the process takes @setting; with @error it ends at its start, and says so in
 *   these words (component-base/featuregate)
 */
gboolean
process_gates_check(const ProcessClass *class, const char *setting, char **name, GError **error);
/* Sets a flag from command-line text. Returns: FALSE with an error for the user */
gboolean process_flag_set(
    const ProcessFlag *flag, void *options, const char *text, Strings *strings, GError **error);
