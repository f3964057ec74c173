/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/client/leader-election.h"
#include "models/plan/component.h"
#include "models/plan/rules.h"

/* How many there are of a process. */
typedef enum {
    PER_CLUSTER,
    PER_DRIVER, /* the sidecars of a CSI driver */
    PER_NODE,
} ProcessScope;

typedef enum {
    FLAG_BOOL,       /* gboolean */
    FLAG_INT,        /* int32_t, not negative */
    FLAG_SIGNED_INT, /* int32_t; -1 mostly stands for none */
    FLAG_NUMBER,     /* double */
    FLAG_DURATION,   /* SimTime, not negative */
    FLAG_STRING,     /* const char *, interned */
} FlagType;

/* A flag under its own name, and where it goes in the process's options. */
typedef struct {
    const char *name;
    FlagType type;
    size_t offset;
    const char *default_value; /* as a user would write it */
    const char *help;          /* one line, with the rule */
} ProcessFlag;

#define PROCESS_REPLICAS_MAX 16

/* How the replicas of a process choose who works (CGO-66). */
typedef struct {
    size_t offset;          /* of LeaderElectionOptions in its options */
    const char *lock;       /* of the Lease; of a sidecar: before the driver's name */
    gboolean always;        /* if there are several: they never all work */
    gboolean is_warm;       /* its informers run before: it works as soon as it leads */
    gboolean has_host_name; /* its identity is the host's name alone: after a restart it is still
                               the holder (CGO-61) */
} ProcessElection;

/* A process: what a user starts, with flags. Several models may run in it. */
typedef struct {
    const char
        *name; /* in scenarios: "kube-controller-manager", "external-provisioner", "kubelet" */
    ProcessScope scope;
    size_t options_size;
    const ProcessFlag *flags;        /* ends with a NULL name */
    SimTime startup;                 /* start to working, after a crash (TIM-90..94) */
    const ProcessElection *election; /* NULL: there is one of it */
    /* PER_DRIVER: whether with these options there is one on each node with the driver's plugin,
     * not one for all. NULL: no */
    gboolean (*runs_on_nodes)(const void *options);
    gboolean renews_lease; /* PER_NODE: its node counts as alive while this process runs (NL-2) */
} ProcessClass;

/* Flags of a process that has a LeaderElectionOptions @member in its options of type @Type;
 * sidecars' and others' names. */
#define ELECTION_FLAG(name, type, Type, member, value, help)                                       \
    {                                                                                              \
        name, type, offsetof(Type, member), value, help                                            \
    }
#define ELECTION_FLAGS(prefix, enabled_flag, Type, member, retry)                                  \
    ELECTION_FLAG("replicas", FLAG_INT, Type, member.replicas, "1",                                \
                  "How many there are of it (CGO-60)"),                                            \
        ELECTION_FLAG(enabled_flag, FLAG_BOOL, Type, member.enabled, "false",                      \
                      "One of several replicas works (CGO-61)"),                                   \
        ELECTION_FLAG(prefix "-lease-duration", FLAG_DURATION, Type, member.lease_duration, "15s", \
                      "How long a silent leader is respected (CGO-61)"),                           \
        ELECTION_FLAG(prefix "-renew-deadline", FLAG_DURATION, Type, member.renew_deadline, "10s", \
                      "How long a leader tries to renew (CGO-62)"),                                \
        ELECTION_FLAG(prefix "-retry-period", FLAG_DURATION, Type, member.retry_period, retry,     \
                      "Between two tries (CGO-60)")
#define SIDECAR_ELECTION_FLAGS(Type)                                                               \
    ELECTION_FLAGS("leader-election", "leader-election", Type, election, "5s")

/* What happens to a machine while the process that renews its lease runs there. */
typedef enum {
    MACHINE_PLUGIN_CHANGED,   /* a driver's registrar: cluster_plugin_pod() tells how it stands */
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
    size_t size; /* of its struct, which begins with a Component; zeroed before init() */
    const char *event_source; /* NULL: records no events */
    EventStyle event_style;
    gboolean event_source_names_driver; /* "external-resizer csi.example.com" */
    gboolean separate_event_client;     /* events have their own token bucket (API-109) */
    double (*client_qps)(const void *options, unsigned *burst);
    const RuleTable *const *rule_tables; /* what it decides by; ends with NULL. NULL: none */
    void (*init)(void *self);            /* subscribes, makes queues and tickers */
    void (*clear)(void *self);           /* frees what init() and changes made */
    /* The one place where private state changes because of a plan (DESIGN §2, 4). May be NULL. */
    void (*apply_change)(void *self, const PlanChange *change);
    /* Something has happened to its machine. NULL: the model takes no notice, and dies with it. */
    void (*machine_event)(void *self, const MachineEvent *event);
    void (*free_disk)(void *disk); /* NULL: it keeps nothing. One model of a process at most does */
};

extern const ModelClass *const
    model_classes[]; /* registry.c; ends with NULL. The order is part of every result: append */
/* Returns: NULL: no such process */
const ProcessClass *process_class_find(const char *name);
/* A comma-separated list of the names of this scope, for messages. (owned) */
char *process_class_names(ProcessScope scope);
/* (owned): options with defaults; strings interned */
void *process_options_new(const ProcessClass *class, Strings *strings);
/* The flag of that name, NULL: none. */
const ProcessFlag *process_class_flag(const ProcessClass *class, const char *name);
/* Sets a flag from text as on a command line. FALSE with an error in the user's words. */
gboolean process_flag_set(
    const ProcessFlag *flag, void *options, const char *text, Strings *strings, GError **error);
