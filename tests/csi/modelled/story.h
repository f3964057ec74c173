/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/modelled/modelled-driver.h"
#include "tests/lib/test.h"

/* A driver, two nodes (n1 in zone a, n2 in zone b, both with linux), and calls told in a few words:
 *
 *     "create v 5Gi; attach v n1; attach v n2 >FAILED_PRECONDITION; volumes 1"
 *
 * Steps are separated by ";". A call is expected to end with the code after ">", OK without one;
 * "&" before it starts it without waiting for its end, "join" waits for all. "-" is a missing
 * argument.
 *
 * A place is a zone, or a zone and an operating system: "a", "a+linux", "+linux".
 *
 * Calls: create NAME [SIZE], delete ID, attach ID NODE, detach ID [NODE], stage ID NODE, unstage ID
 * NODE, mount ID NODE, unmount ID NODE, expand ID SIZE, grow ID NODE SIZE (NodeExpandVolume), stats
 * ID NODE, snapshot NAME ID, delete-snapshot ID, get-snapshot ID, snapshots, list, get ID, validate
 * ID, modify ID, capacity, probe, plugin-info, plugin-capabilities, controller-capabilities,
 * node-capabilities NODE, node-info NODE. Their words: limit=SIZE,
 * mode=RWO|ROX|RWX|RWOP|SNMW|SNRO|MNSW|none, block, fs=TYPE, zones=a,b (preferred and requisite),
 * requisite=a,b, from=snapshot:ID|volume:ID, parameter=K:V, mutable=K:V, path=P (staging),
 * target=P, ro, secrets, inline, max=N, token=T, source=ID, timeout=T, id=ID (ListSnapshots).
 *
 * Checks of the last answer: size SIZE, id ID, took TIME, entries N, next TOKEN, in ZONE, available
 * SIZE, ready 0|1, confirmed 0|1, node-expansion 0|1, max-volumes N, source ID, largest SIZE, total
 * SIZE, written SIZE, inodes N (used). Checks of the back end: volumes N, snapshots-left N,
 * published NODE N, used SIZE, staged ID NODE 0|1, targets ID NODE N. Others: join, until TIME
 * (virtual), fail METHOD CODE [COUNT], remove-node NODE, reboot NODE, abnormal ID. */
typedef struct DriverStory DriverStory;

/* @options: words that change the driver: see story-options.c. */
DriverStory *story_new(const char *options);
void story_free(DriverStory *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DriverStory, story_free)
CsiModelledDriver *story_driver(DriverStory *self);
Sim *story_sim(DriverStory *self);
Strings *story_strings(DriverStory *self);
/* Fails the test, naming @title and the step, at the first surprise. */
void story_tell(DriverStory *self, const char *title, const char *steps);
