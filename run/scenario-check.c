/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "scenario-private.h"

void
loader_check_references(Loader *self)
{
    (void)self;
}
