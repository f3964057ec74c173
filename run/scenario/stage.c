/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stage.h"

static const struct {
    const char *name, *meaning;
} stage_table[] = {
#define STAGE_ROW(member, name, meaning) {name, meaning},
    STAGES(STAGE_ROW)
#undef STAGE_ROW
};

const char *
stage_name(Stage stage)
{
    return stage_table[stage].name;
}

const char *
stage_meaning(Stage stage)
{
    return stage_table[stage].meaning;
}

gboolean
stage_find(const char *name, Stage *stage)
{
    for (unsigned i = 0; i < N_STAGES; i++)
        if (g_str_equal(stage_table[i].name, name)) {
            *stage = (Stage)i;
            return TRUE;
        }
    return FALSE;
}
