/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "calls-log.h"
#include "messages.h"
#include "models/csi/loop/loop-backend.h"
#include "mounts.h"
#include "run/scenario/scenario.h"

/* A driver in real time, without its socket: takes requests as bytes, lets the back end work on
 * them, keeps its memory in a file, and gives answers as messages. All functions are for one
 * thread, unless they say otherwise. */
typedef struct CsiPlugin CsiPlugin;

typedef struct {
    const Scenario *scenario;     /* (borrowed) of both: errors, faults and nodes come from it */
    const ScenarioDriver *driver; /* (borrowed) */
    const char *name;             /* of the driver; NULL: as the scenario says */
    const char *node;      /* the node that node calls are about; NULL: the service has no node */
    char *const *topology; /* "key=value" each, of the node; NULL: the scenario's, or made up */
    gboolean has_scenario_nodes;       /* the driver knows the nodes of the scenario */
    gboolean has_controller, has_node; /* the services */
    uint64_t seed;
    double speed;             /* virtual seconds in a real one; 1 with @backend */
    const char *state_folder; /* of the file; NULL: the memory ends with the process */
    LoopBackend *backend;     /* (borrowed): real devices; NULL: the modelled back end */
    CsiMounts mounts;
    const char *journal; /* a file for all calls, as of kvolsim validate; NULL: none */
    const char *profile; /* for the journal's first line; NULL: not known */
    CsiCallsLog *log;    /* (borrowed); NULL: none */
    /* The answer to the call of this @data: once, from csi_plugin_turn(). @message: NULL unless OK
     */
    void (*answer)(void *data, CsiCode code, const char *text, const ProtobufCMessage *message);
    /* Called in other threads: it is time for csi_plugin_turn(). */
    void (*wake)(void *data);
    void *wake_data;
} CsiPluginOptions;

/* Returns: (owned): %NULL with @error, which is for the user */
CsiPlugin *csi_plugin_new(const CsiPluginOptions *options, GError **error);
void csi_plugin_free(CsiPlugin *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsiPlugin, csi_plugin_free)

typedef struct CsiPluginCall CsiPluginCall;

/**
 * csi_plugin_call:
 * A request has come.
 * @timeout_ns: real time until the caller's deadline; 0: none
 * @data: for the answer
 * Returns: (borrowed): until its answer
 */
CsiPluginCall *csi_plugin_call(CsiPlugin *self,
                               CsiMethod method,
                               const uint8_t *bytes,
                               size_t n_bytes,
                               int64_t timeout_ns,
                               void *data);
/* The caller is gone: there will be no answer; the back end goes on (CSI-5). */
void csi_plugin_abandon(CsiPlugin *self, CsiPluginCall *call);
/* Lets the back end do all that is due, writes its memory, and gives the answers. Returns: the
 * monotonic time in ns at which it is due next; INT64_MAX: not before the next call */
int64_t csi_plugin_turn(CsiPlugin *self);
/* Now, by the clock of csi_plugin_turn(). */
int64_t csi_plugin_clock(void);
/* Everything in Prometheus' text format. (owned) */
char *csi_plugin_metrics(CsiPlugin *self);
