/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "models/cluster/model.h"

/* Programs and their flags in the containers of a manifest. */

/**
 * process_of_container:
 * @container: of a pod's spec
 * Returns: the process that its image, command or name tells: a sidecar of a driver or a component
 * of the control plane; %NULL: no model, as for the driver itself
 */
const ProcessClass *process_of_container(const json_t *container);

typedef enum {
    ARGUMENT_FLAG,      /* of the model */
    ARGUMENT_NO_EFFECT, /* changes nothing here, such as a log level: see docs/fields.md */
    ARGUMENT_UNKNOWN,   /* a flag that the model does not have */
    ARGUMENT_NO_FLAG,   /* the program, or a value of the flag before it */
} ArgumentKind;

/**
 * process_argument:
 * @argument: "--worker-threads=100", "-leader-election"
 * @name: (out) (owned): of the flag, without dashes; %NULL: no flag
 * @value: (out) (borrowed): from @argument; %NULL: none is given
 */
ArgumentKind
process_argument(const ProcessClass *class, const char *argument, char **name, const char **value);
