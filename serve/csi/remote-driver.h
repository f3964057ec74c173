/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi-backend.h"
#include "models/csi/loop/loop-driver.h"

/* A driver of a run whose calls go to real CSI drivers on sockets: `kvolsim csi` or any other one.
 * The run is paced by real time, as with the loop driver. */
typedef struct RemoteDriver RemoteDriver;

/* @endpoints: NULL-terminated: "SOCKET", for the controller and for nodes without their own; or
 * "NODE=SOCKET". Returns: (owned), to be freed as a CsiDriver */
RemoteDriver *remote_driver_new(
    Sim *sim, Strings *strings, const char *name, const CsiWaits *waits, char *const *endpoints);
CsiDriver *remote_driver_base(RemoteDriver *self);
/* As loop_driver_collect(), loop_driver_wait() and loop_driver_pace(). */
gboolean remote_driver_collect(RemoteDriver *self, gint64 start_us);
void remote_driver_wait(RemoteDriver *self, gint64 until_us);
LoopPace remote_driver_pace(const RemoteDriver *self);
/* For call_log_watch(): the real time of the call that ends just now, from the request to the
 * answer. The delay of the event that made the call is not the driver's. */
SimTime remote_driver_work(const RemoteDriver *self);
