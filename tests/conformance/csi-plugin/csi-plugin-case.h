/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/plugin-manager/plugin-manager.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/script-driver.h"

/* The world of cases about the kubelet's CSI plugin: a kubelet without loops at work, its drivers,
 * and the volumes of which the calls speak. */

#define FAKE_NODE                                                                                  \
    "fakeNode" /* as the recorded tests call it: names of attachments depend on it                 \
                */

/* What a call did. */
typedef struct {
    json_t *returns;   /* (owned); NULL: nothing */
    const char *error; /* NULL: none; "plain"; or a kind: "transient", "uncertain", ... */
    json_t *decisions; /* (owned): {name: value} */
    json_t *saved;     /* (owned): [{dir, file, data}] */
} CsiOutcome;

typedef struct {
    Case *self;
    Kubelet *kubelet;
    json_t *json;        /* (owned): the case as the model can have it */
    GPtrArray *drivers;  /* of ScriptDriver */
    json_t *files;       /* {path: data}: saved by an earlier mount */
    json_t *expected;    /* (borrowed): of the call under way: the driver's errors */
    json_t *environment; /* [step]: what happens while the next call waits */
    json_t *calls;       /* [{call, request, error}] of the call under way, questions aside */
    CsiNodeCapabilities can;
    gboolean no_client; /* the drivers have gone */
} CsiWorld;

/* Starts the world. */
void csi_world_new(CsiWorld *world, Case *self);
void csi_world_free(CsiWorld *world);
/* Registers all drivers, or takes those away that the call must not find. @driver: of the call; may
 * be NULL */
void csi_world_set_registered(CsiWorld *world, const char *driver);
const char *csi_world_word(const CsiWorld *world, const char *text); /* interned; NULL is fine */

/* ---- What a call is about ---- */

/* A spec has one volume, of either kind. Returns: (borrowed): NULL: neither or both */
const json_t *csi_spec_persistent(const json_t *spec);
const json_t *csi_spec_inline(const json_t *spec);
/* Returns: (borrowed): its PersistentVolume, or what stands for one; NULL: it has no CSI volume.
 * @pod: NULL: none is known */
const Volume *
csi_world_volume(CsiWorld *world, const json_t *spec, const json_t *pod, gboolean block);
const CsiDriverObject *csi_world_driver(const CsiWorld *world, const char *name);

/* A mount of a volume in a pod, as the kubelet has it. */
typedef struct {
    PendingOperation operation;
    CsiPluginResult result;
    void (*begin)(const Kubelet *self, Plan *plan, CsiPluginThen then);
    CsiMethod method; /* of the client alone, with this context of the publication */
    const StringMap *context;
    int64_t bytes;
    json_t *told; /* (owned by the caller): what an answer told */
} CsiTry;

/* @on: has spec and pod; @args: of the call, with its fsGroup. Returns: (owned): free it with
 * g_free(); NULL: there is no such volume */
CsiTry *csi_try_new(CsiWorld *world, const json_t *on, const json_t *args, gboolean block);
/* Runs a function of the plugin. Returns: the kind of its error; NULL: it worked */
const char *csi_try_run(CsiWorld *world,
                        CsiTry *try,
                        void (*begin)(const Kubelet *self, Plan *plan, CsiPluginThen then));
/* Runs any plan of the kubelet. Returns: whether it ended well */
gboolean csi_world_run(CsiWorld *world, Component *component, PlanDecide decide, void *operation);

/* ---- Calls ---- */

/* A call of a case: its name, the object on which it is called, its arguments. */
typedef struct {
    const char *name;
    const json_t *on, *args;
} CsiCallArgs;

typedef struct {
    const char *name; /* NULL ends a table */
    void (*run)(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome);
} CsiCallRow;

/* suite-csi-plugin.c, csi-plugin-node.c */
extern const CsiCallRow csi_plugin_calls[], csi_node_calls[];

/* ---- csi-plugin-attach.c: calls of the attach/detach controller ---- */

gboolean csi_is_attach_call(const char *name);
/* In a world of its own. @environment: [step]: what happens while it waits */
void csi_run_attach_call(Case *self,
                         const char *name,
                         const json_t *args,
                         const json_t *expected,
                         const json_t *environment);

/* ---- Outcomes ---- */

void csi_outcome_decide(CsiOutcome *outcome, const char *name, json_t *value /* taken */);
void csi_outcome_save(CsiOutcome *outcome, const char *dir, const StringMap *data);
/* Compares; drops what the outcome has. @expected: a step, or "expected" of the case */
void
csi_outcome_expect(CsiWorld *world, const char *call, const json_t *expected, CsiOutcome *outcome);
