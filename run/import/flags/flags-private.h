/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "flags.h"
#include "run/scenario/process-args.h"

/**
 * flags_of_container:
 * @class: the process in @container
 * @minor: of Kubernetes 1.x, on which defaults of sidecars depend
 * Returns: (owned): its flags that the model has, as values of a scenario
 */
json_t *flags_of_container(const ProcessClass *class,
                           const json_t *container,
                           int minor,
                           ImportReport *report);
/* The tag of the container's image, "v5.2.0". (owned): %NULL: it has none, or its vendor's */
char *flags_image_release(const json_t *container);
/* Of the first node; RELEASE_DEFAULT_MINOR if there is none. @dump: (nullable) */
int flags_minor(const Dump *dump);
