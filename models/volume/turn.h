/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* TOPO-6: which of @n sorted places a claim of this name prefers: replicas of a StatefulSet take
 * turns. In-tree plugins and the external-provisioner count alike. @n > 0 */
unsigned volume_turn(const char *claim_name, unsigned n);
