/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

/**
 * as_printed:
 * @list: a snapshot of a run
 * @more: the fields of as-printed.yaml, by kind
 * Returns: (owned): a List as `kubectl get -o json --show-managed-fields` of a real server prints
 * it: with the fields that servers, kubelets and container runtimes add, with hashes of revisions
 * that are not kvolsim's, and without the kinds that people do not dump
 */
json_t *as_printed(json_t *list, json_t *more);
