/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/import/dump.h"

/**
 * migrated_translate:
 *
 * Makes CSI volumes of those volumes of in-tree plugins that CSI drivers have taken over, and gives
 * their classes the drivers' names, as all of Kubernetes reads them (csi-translation-lib 1.32).
 * @report: %NULL: it was told for an earlier dump
 */
void migrated_translate(const Dump *dump, ImportReport *report);
