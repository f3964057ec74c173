/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"

/* A dump without a kind, such as `kubectl get deployments,pods`, has pods whose owners it lacks.
 * The garbage collector of a run would delete them all. ReplicaSets are made of their pods; objects
 * of other owners stay, and nobody replaces them. */
void owners_complete(Dump *dump, ImportReport *report);
