/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi-backend.h"
#include "models/csi/loop/loop-driver.h"
#include "models/csi/modelled/modelled-driver.h"
#include "plugin.h"
#include "run/world/call-log.h"
#include "store.h"

/* Within the plugin: plugin.c lets time pass; memory.c keeps what the back end remembers;
 * surroundings.c has nodes and faults. */

#define LOOP_WORKERS 64 /* as kvolsim validate */
#define STRINGS_BYTES_MAX                                                                          \
    (256u << 20) /* names of callers are kept as long as the process lives                         \
                  */
#define CONTEXT_BYTES                                                                              \
    "kvolsim.io/bytes" /* in a volume's context: its size, for a node on another machine */

extern const SimFamily csi_plugin_durations;

struct CsiPluginCall {
    CsiPlugin *plugin;
    void *data; /* NULL: nobody wants the answer */
    CsiMessage message, answer;
    CsiCallId id; /* 0: answered */
    int64_t came_at;
    CsiCode code;
    char *text;
};

struct CsiPlugin {
    CsiPluginOptions options;
    Sim *sim;
    Strings *strings;
    CsiDriver *driver;        /* (owned): one of these two */
    CsiModelledDriver *model; /* NULL: another back end */
    LoopDriver *loop;
    int64_t start;           /* the monotonic clock at virtual time 0 */
    int64_t epoch;           /* ns since 1970 at virtual time 0 */
    const char *node;        /* interned; NULL: none */
    CallLog *journal;        /* NULL: none */
    CsiStore *store;         /* NULL: the memory ends with the process */
    GHashTable *changed;     /* set of "KIND NAME-OR-ID" (owned): to be written */
    GPtrArray *answers;      /* of CsiPluginCall (owned): to be given at the end of the turn */
    StringMap *told_context; /* of the answer that is being packed */
    SimMetrics *metrics;
};

/* ---- memory.c ---- */

/* Reads what an earlier process remembered, and watches the driver from now on. */
gboolean csi_plugin_remember(CsiPlugin *self, GError **error);
/* Writes all changes. Returns: (owned): what went wrong; %NULL: nothing */
char *csi_plugin_keep(CsiPlugin *self);
void csi_plugin_changed(CsiPlugin *self, CsiStoreKind kind, const char *name_or_id);

/* ---- surroundings.c ---- */

gboolean csi_plugin_add_nodes(CsiPlugin *self, GError **error);
void csi_plugin_add_unknown_node(CsiPlugin *self, const char *node_id, const StringMap *segments);
/* What a request and an answer need if controller and node are in two processes. */
void csi_plugin_prepare(CsiPlugin *self, CsiRequest *request);
void csi_plugin_complete(CsiPlugin *self, const CsiRequest *request, CsiResponse *response);
/* The scenario's changes of the driver, from now on by the clock. */
void csi_plugin_schedule_faults(CsiPlugin *self);
