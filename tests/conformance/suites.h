/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The suites that the runner knows, in the order of their files' names: SUITE(x) stands for the
 * table x_suite. Included with different meanings of SUITE, so there is no guard. */
SUITE(attach_detach)
SUITE(external_attacher)
SUITE(external_provisioner)
SUITE(external_resizer)
SUITE(kubelet_volumes)
SUITE(protection)
SUITE(provisioner_topology)
SUITE(pv_controller)
SUITE(pv_matching)
SUITE(scheduler_limits)
SUITE(scheduler_binding)
SUITE(scheduler_restrictions)
SUITE(scheduler_zone)
SUITE(stateful_set_pvc)
SUITE(storage_capacity)
SUITE(volume_operations)
