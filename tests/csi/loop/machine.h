/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/loop/device.h"
#include "models/csi/loop/loop-backend.h"
#include "models/csi/loop/mount.h"
#include "tests/lib/test.h"

/* This machine, for tests that need its loop devices: they are skipped with a reason if it has
 * none, and run one at a time (a lock keeps tests of other builds away). Devices and mounts of the
 * test's folder, and numbers that the driver made, are compared before and after. Others may use
 * loop devices meanwhile. */
typedef struct {
    char *folder; /* of this test's own */
} Machine;

/* Skips the test if it may not. */
void machine_enter(Machine *self);
/* Fails the test if anything is left. */
void machine_leave(Machine *self);
/* The loop devices that are bound to files below the test's folder, and the mounts there: as text.
 * (owned) */
char *machine_picture(const Machine *self);
/* Numbers of loop devices that the driver made and has not given back. Returns: (owned): of int */
GArray *machine_numbers(LoopBackend *backend);
/* Fails the test if one of them is left unused. */
void machine_numbers_are_gone(const GArray *numbers);
char *machine_path(const Machine *self, const char *name); /* (owned) */
/* A file system of its own below the folder, on a loop device of its own: for tests of hosts with a
 * file system that can do less, or is full. Returns: (owned): its mount point */
char *machine_host(const Machine *self, const char *name, const char *type, int64_t bytes);
void machine_host_end(const Machine *self, const char *name);
/* Runs a shell command and fails the test if it fails. */
void machine_run(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* ---- Calls in a few words ---- */

typedef struct {
    LoopBackend *backend;
    Strings *strings;
    LoopAnswer answer; /* the last */
    CsiCapability capability;
    const StringMap *parameters;
    const char *node;
    gboolean readonly;
} Caller;

/* With nodes n1 and n2; ext4, SINGLE_NODE_WRITER; the calls below are for n1 unless @node says
 * otherwise. */
void caller_open(Caller *self, const LoopOptions *options);
void caller_close(Caller *self);
/* Each fails the test unless it ends with @code. Paths are those of volume and node. */
const char *
caller_create(Caller *self, const char *name, int64_t bytes, CsiCode code); /* interned id */
const char *caller_restore(
    Caller *self, const char *name, CsiSourceKind kind, const char *source, int64_t bytes);
void caller_do(Caller *self, CsiMethod method, const char *id, CsiCode code);
void caller_expand(Caller *self, const char *id, int64_t bytes, CsiCode code);
const char *caller_snapshot(Caller *self, const char *name, const char *id, CsiCode code);
/* ControllerPublish, Stage, Publish; and back. */
void caller_up(Caller *self, const char *id);
void caller_down(Caller *self, const char *id);
/* The path on this machine at which the volume is published. (owned) */
char *caller_target(Caller *self, const char *id);
/* Deletes everything and checks that nothing is left. */
void caller_end(Caller *self);

/* Data: @n blocks of 4 KiB that only this seed has, into a file or device, flushed; and back. */
void data_write(const char *path, uint32_t seed, unsigned n);
void data_check(const char *path, uint32_t seed, unsigned n);
