/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/engine.h"

/* A CSI driver that answers as a case says, at once if it says nothing else, and remembers what it
 * was asked, as CSI messages in JSON. */
typedef struct ScriptDriver ScriptDriver;

typedef struct {
    CsiPluginCapabilities plugin;
    CsiControllerCapabilities controller;
    /* Fills in @response for a call other than the questions at the start; may be NULL: OK and
     * nothing else. */
    void (*answer)(void *data, unsigned number, const CsiRequest *request, CsiResponse *response);
    SimTime (*delay)(void *data, unsigned number); /* of the answer; may be NULL: none */
    void *data;
} ScriptOptions;

/* Returns: (owned): free it as a CsiDriver, after the case's cluster */
ScriptDriver *script_driver_new(Case *self, const char *name, const ScriptOptions *options);
CsiDriver *script_driver_base(ScriptDriver *self);
/* Returns: (borrowed): [{call, request}] since the start, those of the start aside */
json_t *script_driver_calls(const ScriptDriver *self);

/* Frees @data with the driver: what answers lead to. Returns: @data */
void *script_driver_keep(ScriptDriver *self, void *data, GDestroyNotify free_data);

/* Masks of lists of names: "CREATE_DELETE_VOLUME", "VOLUME_ACCESSIBILITY_CONSTRAINTS". */
CsiPluginCapabilities script_plugin_capabilities(const json_t *names);
CsiControllerCapabilities script_controller_capabilities(const json_t *names);
/* Returns: (owned): {"key": "value"} */
json_t *script_map_json(const StringMap *map);
/* Returns: (owned): NULL: empty */
StringMap *script_map(Case *self, const json_t *object);
