/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario-private.h"
#include "sim/strings.h"

/* What a run will do otherwise than a cluster, though the files are sound. A dump has the same
 * cause in hundreds of objects: they make one warning. */

typedef struct {
    char *cause, *first;
    unsigned n;
} Warning;

static void
warning_free(void *data)
{
    Warning *warning = data;

    g_free(warning->cause);
    g_free(warning->first);
    g_free(warning);
}

GPtrArray *
loader_warnings_new(void)
{
    return g_ptr_array_new_with_free_func(warning_free);
}

void
loader_warn(Loader *self,
            const YamlPosition *at,
            const char *object,
            const char *hint,
            const char *format,
            ...)
{
    FORMATTED(message, format);
    g_autofree char *cause =
        hint == NULL ? g_strdup(message) : g_strdup_printf("%s (%s)", message, hint);
    for (unsigned i = 0; i < self->warnings->len; i++) {
        Warning *warning = self->warnings->pdata[i];
        if (!g_str_equal(warning->cause, cause))
            continue;
        warning->n++;
        return;
    }
    Warning *warning = g_new0(Warning, 1);
    warning->cause = g_steal_pointer(&cause);
    warning->first = at->line == 0 ? g_strdup_printf("%s: %s", at->file, object)
                                   : g_strdup_printf("%s:%u: %s", at->file, at->line, object);
    warning->n = 1;
    g_ptr_array_add(self->warnings, warning);
}

void
loader_tell_warnings(Loader *self)
{
    for (unsigned i = 0; i < self->warnings->len; i++) {
        const Warning *warning = self->warnings->pdata[i];
        g_autofree char *more =
            warning->n == 1 ? g_strdup("") : g_strdup_printf("; %u objects in all", warning->n);
        g_ptr_array_add(self->scenario.warnings,
                        g_strconcat(warning->first, ": ", warning->cause, more, NULL));
    }
}
