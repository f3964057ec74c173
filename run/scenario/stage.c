/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stage.h"

static const char *const names[] = {
#define STAGE_NAME(member, name, meaning) name,
    STAGES(STAGE_NAME)
#undef STAGE_NAME
};

const char *
stage_name(Stage stage)
{
    return names[stage];
}

gboolean
stage_find(const char *name, Stage *stage)
{
    for (unsigned i = 0; i < N_STAGES; i++)
        if (g_str_equal(names[i], name)) {
            *stage = (Stage)i;
            return TRUE;
        }
    return FALSE;
}
