/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thresholds of eviction: pkg/kubelet/eviction/api and helpers.go. The four flags become a list of
 * thresholds, each with its signal, its value as a quantity or a share of the capacity, its grace
 * and what is to be free beside that; a flag that does not parse is an error of the scenario.
 * thresholds_met() holds them against observations, and eviction_rank_compare() orders the pods of
 * a signal as Kubernetes does: over their requests, then priority, then usage. Pure functions. */
#include "thresholds.h"

#include <string.h>

#include "models/api/field.h"
#include "sim/order.h"

/* signalToNodeCondition and signalToResource in helpers.go. */
static const struct {
    const char *name, *resource;
    NodeTrouble condition;
} signals[N_SIGNALS] = {
    [SIGNAL_MEMORY] = {"memory.available",   "memory",            NODE_MEMORY_PRESSURE},
    [SIGNAL_NODEFS] = {"nodefs.available",   "ephemeral-storage", NODE_DISK_PRESSURE  },
    [SIGNAL_NODEFS_INODES] = {"nodefs.inodesFree",  "inodes",            NODE_DISK_PRESSURE  },
    [SIGNAL_IMAGEFS] = {"imagefs.available",  "ephemeral-storage", NODE_DISK_PRESSURE  },
    [SIGNAL_IMAGEFS_INODES] = {"imagefs.inodesFree", "inodes",            NODE_DISK_PRESSURE  },
    [SIGNAL_PIDS] = {"pid.available",      "pids",              NODE_PID_PRESSURE   },
};

NodeTrouble
signal_condition(EvictionSignal signal)
{
    return signals[signal].condition;
}

const char *
signal_resource(EvictionSignal signal)
{
    return signals[signal].resource;
}

const char *
eviction_cause_name(unsigned cause)
{
    static const char *const limits[] = {
        /* signalEmptyDirFsLimit and so on */
        [CAUSE_EMPTY_DIR - N_SIGNALS] = "emptydirfs.limit",
        [CAUSE_POD - N_SIGNALS] = "ephemeralpodfs.limit",
        [CAUSE_CONTAINER - N_SIGNALS] = "ephemeralcontainerfs.limit",
    };

    g_assert(cause < N_EVICTION_CAUSES);
    return cause < N_SIGNALS ? signals[cause].name : limits[cause - N_SIGNALS];
}

/* Returns: the signal; -1: none */
static int
signal_parse(const char *name)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (strcmp(name, signals[i].name) == 0)
            return i;
    return -1;
}

/* parseThresholdStatement() in helpers.go. */
static gboolean
value_parse(const char *text, ThresholdValue *value, GError **error)
{
    size_t length = strlen(text);

    *value = (ThresholdValue){0, -1};
    if (length > 0 && text[length - 1] == '%') {
        char *end;
        double percent = g_ascii_strtod(text, &end);
        value->share = (float)percent / 100;
        if (end == text + length - 1 && percent >= 0 && percent <= 100)
            return TRUE;
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "eviction percentage threshold must be from 0%% to 100%%: %s", text);
        return FALSE;
    }
    if (!quantity_parse(text, &value->quantity, NULL, error))
        return FALSE;
    if (value->quantity >= 0)
        return TRUE;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "eviction threshold must be positive: %s",
                text);
    return FALSE;
}

typedef gboolean (*TakeSetting)(int signal, const char *value, void *data, GError **error);

/* "memory.available=100Mi,nodefs.available=10%"; the flag has "<" in place of "=". */
static gboolean
settings_walk(const char *text, TakeSetting take, void *data, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);

    for (unsigned i = 0; parts[i] != NULL; i++) {
        char *name = g_strstrip(parts[i]), *value = strpbrk(name, "=<");
        if (*name == '\0')
            continue;
        if (value == NULL) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" has no value", name);
            return FALSE;
        }
        *value++ = '\0';
        int signal = signal_parse(g_strstrip(name));
        if (signal < 0) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "unsupported eviction signal %s",
                        name);
            return FALSE;
        }
        if (!take(signal, g_strstrip(value), data, error))
            return FALSE;
    }
    return TRUE;
}

typedef struct {
    gboolean given[N_SIGNALS];
    ThresholdValue values[N_SIGNALS];
    SimTime periods[N_SIGNALS];
} Settings;

static gboolean
take_value(int signal, const char *value, void *data, GError **error)
{
    Settings *settings = data;

    settings->given[signal] = TRUE;
    return value_parse(value, &settings->values[signal], error);
}

static gboolean
take_period(int signal, const char *value, void *data, GError **error)
{
    Settings *settings = data;

    settings->given[signal] = TRUE;
    if (!sim_time_parse(value, &settings->periods[signal], error))
        return FALSE;
    if (settings->periods[signal] >= 0)
        return TRUE;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "invalid eviction grace period specified: %s",
                value);
    return FALSE;
}

typedef struct {
    const char *name, *text; /* NULL: not given */
    TakeSetting take;
    Settings *into;
} SettingWalk;

static void
add_all(Thresholds *self, const Settings *values, const Settings *periods, const Settings *reclaims)
{
    static const ThresholdValue none = {0, -1};

    for (int i = 0; i < N_SIGNALS; i++)
        if (values->given[i])
            self->items[self->n++] = (Threshold){
                .signal = (EvictionSignal)i,
                .value = values->values[i],
                .reclaim = reclaims->given[i] ? reclaims->values[i] : none,
                .grace = periods == NULL ? 0 : periods->periods[i],
            };
}

/* ParseThresholdConfig() in helpers.go. */
gboolean
thresholds_parse(Thresholds *self, const ThresholdSettings *settings, GError **error)
{
    Settings hard = {0}, soft = {0}, periods = {0}, reclaims = {0};

    const SettingWalk walks[] = {
        {"evictionHard",            settings->hard_defaults, take_value,  &hard    },
        {"evictionHard",            settings->hard,          take_value,  &hard    },
        {"evictionSoft",            settings->soft,          take_value,  &soft    },
        {"evictionSoftGracePeriod", settings->soft_grace,    take_period, &periods },
        {"evictionMinimumReclaim",  settings->reclaim,       take_value,  &reclaims},
    };

    self->n = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(walks); i++)
        if (walks[i].text != NULL &&
            !settings_walk(walks[i].text, walks[i].take, walks[i].into, error)) {
            g_prefix_error(error, "%s: ", walks[i].name);
            return FALSE;
        }
    for (int i = 0; i < N_SIGNALS; i++)
        if (soft.given[i] && !periods.given[i]) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "grace period must be specified for the soft eviction threshold %s",
                        signals[i].name);
            return FALSE;
        }
    add_all(self, &hard, NULL, &reclaims);
    add_all(self, &soft, &periods, &reclaims);
    return TRUE;
}

/* GetThresholdQuantity() in eviction/api/types.go: the share is a float there, too. */
int64_t
threshold_quantity(ThresholdValue value, int64_t capacity)
{
    return value.share < 0 ? value.quantity : (int64_t)((double)capacity * (double)value.share);
}

/* thresholdsMet() in helpers.go. */
unsigned
thresholds_met(const Thresholds *self, const Observation *observations, gboolean with_reclaim)
{
    unsigned met = 0;

    for (unsigned i = 0; i < self->n; i++) {
        const Threshold *threshold = &self->items[i];
        const Observation *seen = &observations[threshold->signal];
        int64_t wanted = threshold_quantity(threshold->value, seen->capacity);
        if (with_reclaim)
            wanted = sim_time_add(wanted, threshold_quantity(threshold->reclaim, seen->capacity));
        if (seen->capacity >= 0 && wanted > seen->available)
            met |= 1u << i;
    }
    return met;
}

/* rankMemoryPressure(), rankDiskPressureFunc() and rankPIDPressure() in helpers.go. */
int
eviction_rank_compare(const EvictionRank *a, const EvictionRank *b)
{
    return ORDER(!a->exceeds, !b->exceeds)
           ?: ORDER(a->priority, b->priority)
           ?: ORDER(b->excess, a->excess);
}
