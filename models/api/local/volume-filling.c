/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/local/volume-filling.h"

#include <string.h>

#include "models/api/field.h"

const char *
volume_filling_fault(const VolumeFilling *self)
{
    if (self->step_bytes > 0 && self->every == 0)
        return "\"step\" needs \"every\", the time between two steps";
    return self->step_bytes == 0 && self->every > 0 ? "\"every\" needs \"step\"" : NULL;
}

static gboolean
word_parse(const char *word, VolumeFilling *filling, GError **error)
{
    const struct {
        const char *name;
        int64_t *bytes;
    } sizes[] = {
        {"start=",    &filling->start_bytes},
        {"step=",     &filling->step_bytes },
        {"fileSize=", &filling->file_bytes },
    };

    if (g_str_has_prefix(word, "every="))
        return sim_time_parse(word + strlen("every="), &filling->every, error);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (g_str_has_prefix(word, sizes[i].name))
            return quantity_parse(word + strlen(sizes[i].name), sizes[i].bytes, NULL, error);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                "\"%s\" is none of start=, step=, every=, fileSize=", word);
    return FALSE;
}

gboolean
volume_filling_parse(const char *text, VolumeFilling *filling, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text, " ", -1);

    *filling = (VolumeFilling){0};
    for (unsigned i = 0; words[i] != NULL; i++)
        if (words[i][0] != '\0' && !word_parse(words[i], filling, error))
            return FALSE;
    if (MIN(MIN(filling->start_bytes, filling->step_bytes),
            MIN(filling->file_bytes, filling->every)) < 0)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" has a negative value", text);
    else if (volume_filling_fault(filling) != NULL)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s", volume_filling_fault(filling));
    else
        return TRUE;
    return FALSE;
}
